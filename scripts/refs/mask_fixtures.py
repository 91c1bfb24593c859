#!/usr/bin/env python3
"""Writes tests/data/mask_values.json: log-probabilities of an answer with some prompt tokens hidden by an attention mask.

usage: mask_fixtures.py OUTPUT.json (in the root of the tree: reads tests/data/hf)
Made with transformers 5.24 on torch 2.15 in float64: eager attention, position_ids of the whole prompt, attention_mask 0 at the
hidden tokens, so that nothing attends to them. Token 0 is never hidden, and in models with windows no run of tokens: a token
that sees nothing is NaN in torch."""
import json
import sys

import torch
import transformers as tr

torch.set_default_dtype(torch.float64)
models = []
for name, runs in [("llama-bias-linear", True), ("gpt2-plain-names", True), ("qwen2-window", False)]:
    model = tr.AutoModelForCausalLM.from_pretrained("tests/data/hf/" + name, attn_implementation="eager", dtype=torch.float64)
    model.eval()
    g = torch.Generator().manual_seed(5)
    v = model.config.vocab_size
    prompt = torch.randint(0, v, (12,), generator=g).tolist()
    target = torch.randint(0, v, (3,), generator=g).tolist()
    cases = []
    for hidden in [[], [1], [3], [10], [1, 5, 9]] + ([[2, 3, 4], list(range(1, 11))] if runs else []):
        ids = torch.tensor([prompt + target[:-1]])
        seen = torch.ones_like(ids)
        seen[0, hidden] = 0
        with torch.no_grad():
            z = model(input_ids=ids, attention_mask=seen, position_ids=torch.arange(ids.shape[1])[None]).logits[0].double()
        lp = torch.log_softmax(z, -1)
        cases.append({"hidden": hidden, "values": [lp[len(prompt) - 1 + k, t].item() for k, t in enumerate(target)]})
    models.append({"model": "hf/" + name, "prompt": prompt, "target": target, "cases": cases})
with open(sys.argv[1], "w") as f:
    json.dump(models, f, indent=1)
    f.write("\n")
