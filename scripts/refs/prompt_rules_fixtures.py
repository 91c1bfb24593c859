#!/usr/bin/env python3
"""Writes tests/data/attr/prompt_rules.txt: what gradient, rule, attention and patching methods give on a small llama,
by PyTorch (2.15) in float64. The model and every rule are written down here a second time, from the papers:
relevance as input x modified gradient (Achtibat et al. 2024, section 3.3), multipliers of pairs as functions of two runs.

usage: prompt_rules_fixtures.py MODEL.gguf OUTPUT        (needs gguf and torch)
A line: name, then numbers."""
import math
import sys

import numpy as np
import torch
from gguf import GGUFReader
from gguf.quants import dequantize

import pair_rules

torch.set_default_dtype(torch.float64)
reader = GGUFReader(sys.argv[1])
W = {t.name: torch.tensor(dequantize(t.data, t.tensor_type).astype(np.float64)) for t in reader.tensors}


def field(name):
    return reader.fields[name].contents()


L, H, G = field("llama.block_count"), field("llama.attention.head_count"), field("llama.attention.head_count_kv")
D, EPS, BASE = field("llama.attention.key_length"), field("llama.attention.layer_norm_rms_epsilon"), 10000.0
PROMPT = [54, 70, 21, 59, 28, 34, 77, 120]
OTHER = [54, 70, 33, 59, 28, 101, 77, 120]  # the corrupted prompt
TARGET, VERSUS, BASELINE = [193, 31], [7], 17
P = len(PROMPT)
out = open(sys.argv[2], "w")


def write(name, t):
    out.write(name + " " + " ".join("%.12g" % v for v in torch.as_tensor(t).reshape(-1).tolist()) + "\n")


# ---- ops: each rule set has these ----
class Plain:
    linear = staticmethod(lambda x, w: x @ w.T)
    add = staticmethod(lambda a, b: a + b)
    mul = staticmethod(lambda a, b: a * b)
    matmul = staticmethod(lambda a, b: a @ b)
    silu = staticmethod(torch.nn.functional.silu)
    softmax = staticmethod(lambda s: torch.softmax(s, -1))
    log_softmax = staticmethod(lambda s: torch.log_softmax(s, -1))
    norm = staticmethod(lambda x, w: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + EPS) * w)
    each = staticmethod(lambda f, x: f(x))  # a function that is linear in x


class Half(torch.autograd.Function):
    """y = x; half of what arrives goes on."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return g / 2


class Relevance(Plain):
    mul = staticmethod(lambda a, b: Half.apply(a) * Half.apply(b))
    matmul = staticmethod(lambda a, b: Half.apply(a) @ Half.apply(b))
    silu = staticmethod(lambda x: x * torch.sigmoid(x).detach())
    norm = staticmethod(lambda x, w: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + EPS).detach() * w)


Pairs = pair_rules.pairs(EPS)


# ---- the model ----
def rope(x):  # [T, heads, D]
    t = torch.arange(x.shape[0]).reshape(-1, 1)
    f = BASE ** (-torch.arange(0, D, 2) / D)
    if "rope_freqs.weight" in W:
        f = f / W["rope_freqs.weight"]
    c, s = torch.cos(t * f)[:, None], torch.sin(t * f)[:, None]
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * c - b * s, a * s + b * c), -1).reshape(x.shape)


def model(R, x, answer, output, keep=None, patch=None):
    """x: embeddings of the prompt [P, width], or a pair. keep: dict that receives inner values (with gradients kept).
    patch: (site, layer, token, value)."""
    follow = W["token_embd.weight"][answer[:-1]]
    x = R.each(lambda t: torch.cat((t, follow)), x)
    t = P + len(answer) - 1
    visible = torch.tril(torch.ones(t, t, dtype=torch.bool))

    def site(name, layer, v):
        if patch is not None and patch[:2] == (name, layer):
            v = v.clone()
            v[patch[2]] = patch[3][patch[2]]
        if keep is not None:
            if not isinstance(v, tuple) and v.requires_grad:
                v.retain_grad()
            keep[name, layer] = v
        return v

    for l in range(L):
        w = lambda n: W["blk.%d.%s.weight" % (l, n)]
        h = R.norm(x, w("attn_norm"))
        q = R.each(lambda v: rope(v.reshape(t, H, D)).transpose(0, 1), R.linear(h, w("attn_q")))
        wide = lambda v: v.transpose(0, 1).repeat_interleave(H // G, 0)
        k = R.each(lambda v: wide(rope(v.reshape(t, G, D))).mT, R.linear(h, w("attn_k")))
        v = R.each(lambda v: wide(v.reshape(t, G, D)), R.linear(h, w("attn_v")))
        s = R.each(lambda v: (v / math.sqrt(D)).masked_fill(~visible, -1e30), R.matmul(q, k))
        a = site("attention", l, R.softmax(s))
        o = site("heads", l, R.matmul(a, v))
        o = R.each(lambda v: v.transpose(0, 1).reshape(t, H * D), o)
        o = site("attn.out", l, R.linear(o, w("attn_output")))
        x = R.add(x, o)
        h = R.norm(x, w("ffn_norm"))
        u = R.mul(R.silu(R.linear(h, w("ffn_gate"))), R.linear(h, w("ffn_up")))
        x = R.add(x, site("mlp.out", l, R.linear(u, w("ffn_down"))))
        x = site("out", l, x)
    x = R.each(lambda v: v[P - 1:], x)
    z = R.linear(R.norm(x, W["output_norm.weight"]), W.get("output.weight", W["token_embd.weight"]))
    if output != "logit":
        z = R.log_softmax(z)
    return R.each(lambda v: v[torch.arange(len(answer)), answer].sum(), z)


def value(R, x, output, keep=None, versus=False, **more):
    if versus:
        a, b = value(R, x, output, keep, **more), model(R, x, VERSUS, output)
        return R.each(lambda v: v, R.add(a, R.each(lambda v: -v, b)))
    return model(R, x, TARGET, output, keep, **more)


def embed(ids):
    return W["token_embd.weight"][ids].clone()


def leaf(ids):
    return embed(ids).requires_grad_()


# ---- relevance ----
for versus in (False, True):
    x, keep = leaf(PROMPT), {}
    f = value(Relevance, x, "logit", keep, versus)
    f.backward()
    tag = "lrp_versus" if versus else "lrp"
    write(tag + "_value", f)
    write(tag, (x * x.grad).sum(-1))
    if not versus:
        for l in range(L):
            write("lrp_out_%d" % l, (keep["out", l] * keep["out", l].grad).sum(-1))

# ---- DeepLift ----
for versus in (False, True):
    x, x0 = leaf(PROMPT), embed([BASELINE] * P)
    f, f0 = value(Pairs, (x, x0), "logprob", None, versus)
    f.backward()
    tag = "deep_lift_versus" if versus else "deep_lift"
    write(tag + "_values", torch.stack((f.detach(), f0.detach())))
    write(tag, ((x.detach() - x0) * x.grad).sum(-1))
    assert abs(((x.detach() - x0) * x.grad).sum() - (f - f0)) < 1e-9

# ---- gradient x activation at sites, and attention ----
x, keep = leaf(PROMPT), {}
f = value(Plain, x, "logprob", keep)
f.backward()
write("input_x_gradient", (x * x.grad).sum(-1))
for l in range(L):
    for name in ("attn.out", "mlp.out", "out"):
        v = keep[name, l]
        write("gxa_%s_%d" % (name, l), (v * v.grad)[:P].sum(-1))
    v = keep["heads", l]
    write("gxa_heads_%d" % l, (v * v.grad)[:, :P].sum(-1))
t = P + len(TARGET) - 1
roll, chefer = torch.eye(t), torch.eye(t)
for l in range(L):
    a = keep["attention", l]
    mean = (a.mean(0) + torch.eye(t)) / 2
    roll = (mean / mean.sum(-1, keepdim=True)) @ roll
    chefer = chefer + (a * a.grad).clamp(min=0).mean(0) @ chefer
# the rows that predict the answer, averaged
write("rollout", roll[P - 1:].mean(0)[:P])
write("gradient_x_attention", chefer[P - 1:].mean(0)[:P])

# ---- patching: what is lost when one value is that of the other prompt ----
x1, other = embed(OTHER), {}
with torch.no_grad():
    f1 = value(Plain, x1, "logprob", other)
write("patch_values", torch.stack((f.detach(), f1)))
write("attribution_patching_embed", ((x.detach() - x1) * x.grad).sum(-1))
for name in ("attn.out", "mlp.out", "out"):
    for l in range(L):
        v = keep[name, l]
        write("attribution_patching_%s_%d" % (name, l), ((v.detach() - other[name, l]) * v.grad)[:P].sum(-1))
        with torch.no_grad():
            write("activation_patching_%s_%d" % (name, l),
                  torch.stack([f.detach() - value(Plain, embed(PROMPT), "logprob", patch=(name, l, i, other[name, l]))
                               for i in range(P)]))
rows = []
for i in range(P):
    mixed = embed(PROMPT)
    mixed[i] = x1[i]
    with torch.no_grad():
        rows.append(f.detach() - value(Plain, mixed, "logprob"))
write("activation_patching_embed", torch.stack(rows))
out.close()
