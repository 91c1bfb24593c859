#!/usr/bin/env python3
"""More cases in the formats of captum_config_golden.jsonl and captum_llm_golden.json, by Captum 0.9 itself.

    captum_cases.py OUT [NAME...]      OUT/captum_config_more.jsonl (configurations, all or those named), OUT/captum_llm_more.json

The configurations and toy models are those that Captum brings (captum.testing); the language model is the one of its tests, made
from its description: every weight a row of x <- (16843009 x + 3014898611) mod 2^32 from 1, over 2^32 (tests/goldens/dummy_llm.c).
"""
import json
import sys
import warnings

import captum.attr as ca
import torch
from captum.testing.attr.helpers.test_config import config
from transformers import BatchEncoding

DRAWN = ("ShapleyValueSampling", "FeaturePermutation", "Lime", "KernelShap", "GradientShap", "LayerGradientShap", "NeuronGradientShap")


def plain(v):
    """As JSON."""
    if isinstance(v, torch.Tensor):
        data = v.detach().flatten().tolist()
        return {"shape": list(v.shape), "dtype": str(v.dtype).removeprefix("torch."),
                "data": [float("%.9g" % x) for x in data] if v.is_floating_point() else data}
    if isinstance(v, tuple):
        return {"tuple": [plain(x) for x in v]}
    if isinstance(v, list):
        return [plain(x) for x in v]
    if isinstance(v, slice):
        return {"slice": [v.start, v.stop, v.step or 1]}
    return {"callable": "sum over dimension 1"} if callable(v) else v


def one(i, c):
    model, args, layer, tunnel = c["model"], c["attribute_args"], c.get("layer"), c.get("noise_tunnel", False)
    line = dict(i=i, name=c["name"], model=type(model).__name__, multi_input_module=getattr(model, "multi_input_module", None), layer=layer,
                noise_tunnel=tunnel, target_delta=c.get("target_delta", 1e-4), args={k: plain(v) for k, v in args.items()}, results={})
    if "Conv" in line["model"]:  # of random weights
        line["state_dict"] = {k: plain(v) for k, v in model.state_dict().items()}
    for kind in c["algorithms"]:
        torch.manual_seed(7)
        where = [model.get_submodule(n) for n in layer] if isinstance(layer, list) else model.get_submodule(layer) if layer else None
        method = kind(model, where) if layer else kind(model)
        if tunnel:
            method = ca.NoiseTunnel(method)
        line["results"][kind.__name__] = dict(attr=plain(method.attribute(**args)), delta=None, stochastic=kind.__name__ in DRAWN)
    return line


class Words:
    """Its tokenizer: a word of one letter is that letter's code, others are 1; 0 stands before the text."""

    def encode(self, text, return_tensors=None, add_special_tokens=True):
        ids = [0] * add_special_tokens + [ord(w) if len(w) == 1 else 1 for w in text.split(" ")]
        return torch.tensor([ids]) if return_tensors else ids

    def convert_ids_to_tokens(self, ids):
        return [{0: "<sos>", 1: "<unk>"}.get(i, chr(i)) for i in ids]

    def decode(self, ids):
        return " ".join(self.convert_ids_to_tokens(ids.tolist()))

    def __call__(self, text, add_special_tokens=True, **_):
        starts = [0]
        for w in text.split(" "):
            starts.append(starts[-1] + len(w) + 1)
        spans = [(a, b - 1) for a, b in zip(starts, starts[1:])]
        return BatchEncoding(dict(input_ids=self.encode(text, None, add_special_tokens), offset_mapping=[(0, 0)] * add_special_tokens + spans))


class Model(torch.nn.Module):
    device = "cpu"

    def __init__(self):
        super().__init__()
        self.emb, self.linear = torch.nn.Embedding(256, 10), torch.nn.Linear(10, 256)
        self.trans = torch.nn.TransformerEncoderLayer(d_model=10, nhead=2, batch_first=True).eval()
        for name, p in self.named_parameters():
            if p.ndim == 2:
                x, values = 1, []
                for _ in range(p.numel()):
                    x = (16843009 * x + 3014898611) % 2**32
                    values.append(x / 2**32)
                p.data = torch.tensor(values).reshape(p.shape)
            elif "norm" not in name:
                p.data.fill_(0.5 if name == "linear.bias" else 0.0)

    def forward(self, input_ids, *_, **__):
        return BatchEncoding(dict(logits=self.linear(self.trans(self.emb(input_ids)))))


def language():
    m, words, torch_seed = Model().eval(), Words(), 0
    template, tokens = ca.TextTemplateInput("{} b {} {} e {}", list("acdf")), ca.TextTokenInput("a b c", words, skip_tokens=[0])
    asked = {"KernelShap|template|log_prob": (ca.LLMAttribution(ca.KernelShap(m), words), template, {}),
             "ShapleyValueSampling n_samples=5|template|prob": (ca.LLMAttribution(ca.ShapleyValueSampling(m), words, attr_target="prob"), template,
                                                                dict(n_samples=5)),
             "LayerIG n_steps=200 riemann_left|tokens skip sos": (ca.LLMGradientAttribution(ca.LayerIntegratedGradients(m, m.emb), words), tokens,
                                                                  dict(n_steps=200, method="riemann_left")),
             "LayerGradXAct|tokens skip sos": (ca.LLMGradientAttribution(ca.LayerGradientXActivation(m, m.emb), words), tokens, {})}
    out = {}
    for name, (method, text, options) in asked.items():
        torch.manual_seed(torch_seed)
        r = method.attribute(text, "m n o p q", **options, **(dict(use_cached_outputs=False) if isinstance(method, ca.LLMAttribution) else {}))
        out[name] = dict(input_tokens=r.input_tokens, output_tokens=r.output_tokens, seq_attr=r.seq_attr.flatten().tolist(),
                         token_attr=None if r.token_attr is None else r.token_attr.tolist())
    return out


warnings.simplefilter("ignore")
with open(sys.argv[1] + "/captum_config_more.jsonl", "w", encoding="utf-8") as f:
    for i, c in enumerate(config):
        if len(sys.argv) < 3 or c["name"] in sys.argv[2:]:
            f.write(json.dumps(one(i, c)) + "\n")
with open(sys.argv[1] + "/captum_llm_more.json", "w", encoding="utf-8") as f:
    json.dump(language(), f, indent=1)
    f.write("\n")
