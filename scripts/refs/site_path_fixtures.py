#!/usr/bin/env python3
"""Writes tests/data/attr/site_paths.txt: Captum 0.9.0's LayerIntegratedGradients, LayerConductance, NeuronConductance and
NeuronIntegratedGradients on embeddings of small Hugging Face folders, by transformers 5 and torch 2.15 in float64 (rotary
tables stay float32 there).

usage: site_path_fixtures.py TESTS_DATA OUTPUT
A line: model, kind, rule, site, index, token, the largest sum of sizes of what is added up to one number, numbers by token.
Index -1: all columns; -2 - H: those of head H."""
import sys

import torch
from captum.attr import LayerConductance, LayerIntegratedGradients, NeuronConductance, NeuronIntegratedGradients
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification

DATA, OUT = sys.argv[1:]
IDS = [5, 14, 11, 9, 18, 3, 7, 12, 10]
BASE, TARGET, STEPS = 17, 13, 12
torch.set_num_threads(1)
out = open(OUT, "w", buffering=1)


class Explained(torch.nn.Module):
    """log p of the target behind the last token, or of class 1, for embeddings [B,T,D]."""

    def __init__(self, model, encoder):
        super().__init__()
        self.model, self.encoder = model, encoder

    def forward(self, x):
        logits = self.model(inputs_embeds=x, attention_mask=torch.ones(x.shape[:2], dtype=torch.long)).logits
        return torch.log_softmax(logits if self.encoder else logits[:, -1], -1)[:, 1 if self.encoder else TARGET]


def llama(m, layer):
    b = m.model.layers[layer]
    return {"attn.heads": (b.self_attn.o_proj, True), "mlp.act": (b.mlp.down_proj, True), "mlp.out": (b.mlp, False),
            "out": (b, False)}


def phi(m, layer):
    b = m.model.layers[layer]
    return {"attn.heads": (b.self_attn.dense, True), "mlp.act": (b.mlp.fc2, True), "mlp.out": (b.mlp, False),
            "out": (b, False)}


def roberta(m, layer):
    b = m.roberta.encoder.layer[layer]
    return {"mlp.act": (b.intermediate, False), "mlp.out": (b.output.dense, False), "out": (b, False)}


def write(name, kind, rule, site, index, token, parts):
    if isinstance(parts, tuple):
        (parts,) = parts
    parts = parts.detach()[0]
    if index <= -2:
        parts = parts[:, (-2 - index) * width:(-1 - index) * width]
    out.write(" ".join((name, kind, rule, site, str(index), str(token), "%.12g" % parts.abs().sum(1).max())) + " " +
              " ".join("%.12g" % v for v in parts.sum(1).tolist()) + "\n")


def captum_rule(rule):
    return {"gauss-legendre": "gausslegendre", "riemann-trapezoid": "riemann_trapezoid"}[rule]


for name, kind, sites, encoder in [("encoders/xlm-roberta", AutoModelForSequenceClassification, roberta, True),
                                   ("hf/llama-llama3", AutoModelForCausalLM, llama, False),
                                   ("hf/phi", AutoModelForCausalLM, phi, False)]:
    m = kind.from_pretrained(f"{DATA}/{name}", dtype=torch.float64, attn_implementation="eager").eval()
    last = m.config.num_hidden_layers - 1
    width = getattr(m.config, "head_dim", None) or m.config.hidden_size // m.config.num_attention_heads
    explained, table = Explained(m, encoder), m.get_input_embeddings().weight.detach()
    x, x0 = table[IDS][None], table[[BASE] * len(IDS)][None]
    for layer, site, index in [(0, "mlp.act", -1), (last, "mlp.out", -1), (1, "attn.heads", -3), (0, "out", -1),
                               (last, "out", -1)]:
        if site not in sites(m, layer):
            continue
        module, side = sites(m, layer)[site]
        for rule in ("gauss-legendre", "riemann-trapezoid"):
            how = {"n_steps": STEPS, "method": captum_rule(rule), "attribute_to_layer_input": side}
            key = (rule, f"blocks.{layer}.{site}", index, -1)
            if rule == "gauss-legendre" and index == -1:  # one head: the others' columns would move too
                write(name, "layer_ig", *key, LayerIntegratedGradients(explained, module).attribute(x, x0, **how))
            write(name, "layer_conductance", *key, LayerConductance(explained, module).attribute(x, x0, **how))
    for layer, site, index, token in [(0, "mlp.act", 3, 8), (last, "mlp.out", 7, 8), (1, "out", 2, 6)]:
        module, side = sites(m, layer)[site]
        for rule in ("gauss-legendre", "riemann-trapezoid"):
            how = {"n_steps": STEPS, "method": captum_rule(rule), "attribute_to_neuron_input": side}
            key = (rule, f"blocks.{layer}.{site}", index, token)
            write(name, "neuron_conductance", *key,
                  NeuronConductance(explained, module).attribute(x, (token, index), x0, **how))
            write(name, "neuron_ig", *key,
                  NeuronIntegratedGradients(explained, module).attribute(x, (token, index), x0, **how))
