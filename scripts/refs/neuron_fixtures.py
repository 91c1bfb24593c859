#!/usr/bin/env python3
"""Writes tests/data/attr/neurons.txt: scores of inner values, and at inner values, of small Hugging Face folders:
transformers 5 and torch 2.15 in float64 (rotary tables stay float32 there), with forward hooks.

usage: neuron_fixtures.py TESTS_DATA OUTPUT
A line: model, kind, site, index, token, the largest sum of sizes of what is added up to one number, numbers. Kinds: value, saliency (2-norm by token), ixg, ablation (each token by
17); of log p or the class: site_ixg (index -1: all columns), site_saliency."""
import sys

import torch
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification

DATA, OUT = sys.argv[1:]
IDS = [5, 14, 11, 9, 18, 3, 7, 12, 10]
BASE, TARGET = 17, 13
torch.set_num_threads(1)
out = open(OUT, "w", buffering=1)


def folder(name, kind=AutoModelForCausalLM):
    return kind.from_pretrained(f"{DATA}/{name}", dtype=torch.float64, attn_implementation="eager").eval()


def llama(m, layer):
    b = m.model.layers[layer]
    return {"attn.heads": (b.self_attn.o_proj, "in"), "mlp.act": (b.mlp.down_proj, "in"), "mlp.out": (b.mlp, "out"),
            "out": (b, "out")}


def phi(m, layer):
    b = m.model.layers[layer]
    return {"attn.heads": (b.self_attn.dense, "in"), "mlp.act": (b.mlp.fc2, "in"), "mlp.out": (b.mlp, "out"),
            "out": (b, "out")}


def roberta(m, layer):
    b = m.roberta.encoder.layer[layer]
    return {"attn.heads": (b.attention.self, "out"), "mlp.act": (b.intermediate, "out"), "mlp.out": (b.output.dense, "out"),
            "out": (b, "out")}


def modernbert(m, layer):
    b = m.model.layers[layer]
    return {"attn.heads": (b.attn.Wo, "in"), "mlp.act": (b.mlp.Wo, "in"), "mlp.out": (b.mlp, "out"), "out": (b, "out")}


def run(m, modules, site, x):
    """Value at a site [T,W] and the model's logits, of embeddings x [T,D]."""
    seen, first = [], lambda v: v[0] if isinstance(v, tuple) else v
    module, side = modules[site]
    if side == "in":
        h = module.register_forward_pre_hook(lambda mod, a: seen.append(first(a)))
    else:
        h = module.register_forward_hook(lambda mod, a, y: seen.append(first(y)))
    logits = m(inputs_embeds=x[None], attention_mask=torch.ones(1, len(x), dtype=torch.long)).logits[0]
    h.remove()
    return seen[0], logits


def write(*words):
    out.write(" ".join(str(w) if isinstance(w, (str, int)) else " ".join("%.12g" % v for v in w.reshape(-1).tolist())
                       for w in words) + "\n")


def neuron(name, m, modules, site, layer, index, token):
    table = m.get_input_embeddings().weight.detach()
    key = (f"blocks.{layer}.{site}", index, token)

    def value(x):
        return run(m, modules, site, x)[0][0, token, index]

    x = table[IDS].clone().requires_grad_(True)
    y = value(x)
    (g,) = torch.autograd.grad(y, x)
    write(name, "value", *key, y.detach().abs(), y.detach())
    write(name, "saliency", *key, g.norm(dim=1).max(), g.norm(dim=1))
    x = x.detach()
    write(name, "ixg", *key, (g * x).abs().sum(1).max(), (g * x).sum(1))
    less = []
    for i in range(len(IDS)):
        ids = list(IDS)
        ids[i] = BASE
        less.append(y.detach() - value(table[ids]).detach())
    less = torch.stack(less)
    write(name, "ablation", *key, y.detach().abs() + less.abs().max(), less)


def at_site(name, m, modules, site, layer, head, width, encoder):
    x = m.get_input_embeddings().weight.detach()[IDS].clone().requires_grad_(True)
    v, logits = run(m, modules, site, x)
    y = torch.log_softmax(logits if encoder else logits[-1], -1)[1 if encoder else TARGET]
    (g,) = torch.autograd.grad(y, v)
    g, v = g[0], v[0].detach()
    if head >= 0:
        g, v = (t[:, head * width:(head + 1) * width] for t in (g, v))
    key = (f"blocks.{layer}.{site}", head, -1)
    write(name, "site_ixg", *key, (g * v).abs().sum(1).max(), (g * v).sum(1))
    write(name, "site_saliency", *key, g.norm(dim=1).max(), g.norm(dim=1))


for name, m, sites, encoder in [
        ("encoders/xlm-roberta", folder("encoders/xlm-roberta", AutoModelForSequenceClassification), roberta, True),
        ("encoders/modernbert", folder("encoders/modernbert", AutoModelForSequenceClassification), modernbert, True),
        ("hf/llama-llama3", folder("hf/llama-llama3"), llama, False),
        ("hf/phi", folder("hf/phi"), phi, False)]:
    last = m.config.num_hidden_layers - 1
    width = getattr(m.config, "head_dim", None) or m.config.hidden_size // m.config.num_attention_heads
    for layer, site, index, token in [(0, "mlp.act", 3, 8), (last, "mlp.out", 7, 8), (last, "attn.heads", 5, 4),
                                      (last, "out", 2, 6), (1, "mlp.act", 11, 8)]:
        neuron(name, m, sites(m, layer), site, layer, index, token)
    for layer, site, head in [(0, "attn.heads", 1), (last, "attn.heads", 0), (1, "attn.heads", -1), (1, "mlp.act", -1)]:
        at_site(name, m, sites(m, layer), site, layer, head, width, encoder)
