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


# Values of both runs travel as pairs; gradients of the first of a pair are multipliers, those of the second are nothing.
def rule(forward, backward):
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *xs):
            ctx.save_for_backward(*xs)
            n = len(xs) // 2
            return forward(*xs[:n]), forward(*xs[n:])

        @staticmethod
        def backward(ctx, g, _):
            xs = ctx.saved_tensors
            n = len(xs) // 2
            gs = backward(g, *xs)
            gs = gs if isinstance(gs, tuple) else (gs,)
            return gs + (None,) * n

    def call(*pairs):
        return F.apply(*[p[0] for p in pairs], *[p[1] for p in pairs])

    return call


def secant(f, df):
    def back(g, x, x0):
        d = x - x0
        near = d.abs() < 1e-7
        return g * torch.where(near, df(x), (f(x) - f(x0)) / torch.where(near, torch.ones_like(d), d))

    return rule(f, back)


def shared(e_x, e_x0, x, x0):
    d = x - x0
    near = d.abs() < 1e-7
    return torch.where(near, e_x, (e_x - e_x0) / torch.where(near, torch.ones_like(d), d))


def unbroadcast(g, like):
    while g.dim() > like.dim():
        g = g.sum(0)
    for k, n in enumerate(like.shape):
        if n == 1 and g.shape[k] != 1:
            g = g.sum(k, keepdim=True)
    return g


def softmax_back(g, x, x0):
    top = torch.maximum(x.max(-1, keepdim=True)[0], x0.max(-1, keepdim=True)[0])
    e, e0 = torch.exp(x - top), torch.exp(x0 - top)
    s, s0 = e.sum(-1, keepdim=True), e0.sum(-1, keepdim=True)
    first, second = s / (s + s0), s0 / (s + s0)  # weights of the orders: e moves first at 1/s, or at 1/s0
    by_e = g * (first / s + second / s0)
    by_r = (g * (first * e0 + second * e)).sum(-1, keepdim=True)
    by_e = by_e - by_r / s / s0  # 1/s - 1/s0 = -(s - s0) / (s s0)
    return by_e * shared(e, e0, x, x0)


def log_softmax_back(g, x, x0):
    top = torch.maximum(x.max(-1, keepdim=True)[0], x0.max(-1, keepdim=True)[0])
    e, e0 = torch.exp(x - top), torch.exp(x0 - top)
    s, s0 = e.sum(-1, keepdim=True), e0.sum(-1, keepdim=True)
    log_slope = shared(torch.log(s), torch.log(s0), s, s0)
    log_slope = torch.where((s - s0).abs() < 1e-7, 1 / s, log_slope)
    return g - g.sum(-1, keepdim=True) * log_slope * shared(e, e0, x, x0)


def unit_back(g, x, x0):  # y = x r
    q, q0 = (x * x).mean(-1, keepdim=True) + EPS, (x0 * x0).mean(-1, keepdim=True) + EPS
    r, r0 = q ** -0.5, q0 ** -0.5
    first, second = r0 / (r + r0), r / (r + r0)  # x moves first at r, or at r0
    by_r = (g * (first * x0 + second * x)).sum(-1, keepdim=True)
    by_q = by_r * (r - r0) / torch.where(q == q0, torch.ones_like(q), q - q0)
    by_q = torch.where((q - q0).abs() < 1e-9, by_r * -0.5 * r ** 3, by_q)
    return g * (first * r + second * r0) + by_q * (x + x0) / x.shape[-1]


class Pairs:
    mul = staticmethod(rule(lambda a, b: a * b,
                            lambda g, a, b, a0, b0: (unbroadcast(g * (b + b0) / 2, a), unbroadcast(g * (a + a0) / 2, b))))
    matmul = staticmethod(rule(lambda a, b: a @ b,
                               lambda g, a, b, a0, b0: (unbroadcast(g @ ((b + b0) / 2).mT, a),
                                                        unbroadcast(((a + a0) / 2).mT @ g, b))))
    silu = staticmethod(secant(torch.nn.functional.silu,
                               lambda x: torch.sigmoid(x) * (1 + x * (1 - torch.sigmoid(x)))))
    unit = staticmethod(rule(lambda x: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + EPS), unit_back))
    softmax = staticmethod(rule(lambda s: torch.softmax(s, -1), softmax_back))
    log_softmax = staticmethod(rule(lambda s: torch.log_softmax(s, -1), log_softmax_back))

    @staticmethod
    def each(f, x):
        return f(x[0]), f(x[1])

    @staticmethod
    def linear(x, w):
        return Pairs.each(lambda t: t @ w.T, x)

    @staticmethod
    def add(a, b):
        return a[0] + b[0], a[1] + b[1]

    @staticmethod
    def norm(x, w):
        return Pairs.each(lambda t: t * w, Pairs.unit(x))


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
