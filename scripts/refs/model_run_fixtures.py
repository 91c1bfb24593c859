#!/usr/bin/env python3
"""Writes tests/data/models/model_run.txt: inner values of small Hugging Face folders, and what the model says when
they are replaced: transformers 5 and torch 2.15 in float64 (rotary tables stay float32 there), with forward hooks.

usage: model_run_fixtures.py TESTS_DATA OUTPUT
A line: model, kind, site, token, numbers. Kinds: value (the site's [tokens, width]); head (logits after the last
token, or scores of the classes), "-" as the site; patched (the same after row `token` of the site, -1 = every row,
became sin(0.7 token + 0.3 column)); follows (first 8 columns of the last block's output then, every token)."""
import sys

import torch
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification

DATA, OUT = sys.argv[1:]
IDS = [5, 14, 11, 9, 18, 3, 7, 12, 10]
torch.set_num_threads(1)
out = open(OUT, "w", buffering=1)


def folder(name, kind=AutoModelForCausalLM):
    return kind.from_pretrained(f"{DATA}/{name}", dtype=torch.float64, attn_implementation="eager").eval()


def llama(m, layer):
    b = m.model.layers[layer]
    return {"attn.heads": (b.self_attn.o_proj, "in"), "attn.out": (b.self_attn, "out"), "mlp.act": (b.mlp.down_proj, "in"),
            "mlp.out": (b.mlp, "out"), "out": (b, "out"), "final_norm": (m.model.norm, "out")}


def phi(m, layer):
    b = m.model.layers[layer]
    return {"attn.heads": (b.self_attn.dense, "in"), "attn.out": (b.self_attn, "out"), "mlp.act": (b.mlp.fc2, "in"),
            "mlp.out": (b.mlp, "out"), "out": (b, "out"), "final_norm": (m.model.final_layernorm, "out")}


def roberta(m, layer):
    b = m.roberta.encoder.layer[layer]
    return {"attn.heads": (b.attention.self, "out"), "mlp.act": (b.intermediate, "out"), "mlp.out": (b.output.dense, "out"),
            "out": (b, "out")}


def modernbert(m, layer):
    b = m.model.layers[layer]
    return {"attn.heads": (b.attn.Wo, "in"), "mlp.act": (b.mlp.Wo, "in"), "mlp.out": (b.mlp, "out"), "out": (b, "out")}


def run(m, spots):
    """Logits, and the values at spots: (module, side, change or None); a change maps [T,W] to [T,W]."""
    seen, hooks = [None] * len(spots), []

    def hook(k, side, change):
        def visit(module, args, result=None):
            given = args if side == "in" else result
            v = given[0] if isinstance(given, tuple) else given
            if change is not None:
                v = change(v[0])[None]
            seen[k] = v[0]
            return (v, *given[1:]) if isinstance(given, tuple) else v
        return visit

    for k, (module, side, change) in enumerate(spots):
        at = module.register_forward_pre_hook if side == "in" else module.register_forward_hook
        hooks.append(at(hook(k, side, change)))
    with torch.no_grad():
        logits = m(input_ids=torch.tensor([IDS]), attention_mask=torch.ones(1, len(IDS), dtype=torch.long)).logits[0]
    for h in hooks:
        h.remove()
    return logits, seen


def write(*words):
    out.write(" ".join(str(w) if isinstance(w, (str, int)) else " ".join("%.10g" % v for v in w.reshape(-1).tolist())
                       for w in words) + "\n")


def other(token):
    def change(v):
        t, w = torch.meshgrid(torch.arange(v.shape[0]), torch.arange(v.shape[1]), indexing="ij")
        new = torch.sin(0.7 * t.double() + 0.3 * w.double())
        rows = torch.ones(v.shape[0], dtype=torch.bool) if token < 0 else torch.arange(v.shape[0]) == token
        return torch.where(rows[:, None], new, v)
    return change


def model(name, m, sites, encoder):
    last = m.config.num_hidden_layers - 1
    head = (lambda logits: logits) if encoder else (lambda logits: logits[-1])
    write(name, "head", "-", -1, head(run(m, [])[0]))
    for layer, site in [(0, "attn.heads"), (1, "mlp.act"), (last, "mlp.out"), (last, "out")]:
        at = f"blocks.{layer}.{site}"
        write(name, "value", at, -1, run(m, [(*sites(m, layer)[site], None)])[1][0])
        for token in (-1, 4, len(IDS) - 1):
            logits, (_, follows) = run(m, [(*sites(m, layer)[site], other(token)), (*sites(m, last)["out"], None)])
            write(name, "patched", at, token, head(logits))
            if site != "out":
                write(name, "follows", at, token, follows[:, :8])
    if not encoder:
        write(name, "value", "final_norm", -1, run(m, [(*sites(m, 0)["final_norm"], None)])[1][0])
        write(name, "patched", "final_norm", -1, head(run(m, [(*sites(m, 0)["final_norm"], other(-1))])[0]))


for name, m, sites, encoder in [
        ("encoders/xlm-roberta", folder("encoders/xlm-roberta", AutoModelForSequenceClassification), roberta, True),
        ("encoders/modernbert", folder("encoders/modernbert", AutoModelForSequenceClassification), modernbert, True),
        ("hf/llama-llama3", folder("hf/llama-llama3"), llama, False),
        ("hf/phi", folder("hf/phi"), phi, False)]:
    model(name, m, sites, encoder)
