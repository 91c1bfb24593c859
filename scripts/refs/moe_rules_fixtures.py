#!/usr/bin/env python3
"""Writes tests/data/attr/moe_rules.txt: relevance on two tiny mixtures of experts, by PyTorch (2.15) in float64, as input x
modified gradient (Achtibat et al. 2024, section 3.3): halves for products, deviations, gates of SiLU and what the router
says held fixed; and DeepLift's multipliers from a baseline (docs/rules.md). The models are written down here a second time.

usage: moe_rules_fixtures.py MIXTRAL.gguf QWEN3MOE.gguf OUTPUT        (needs gguf and torch)
A line: name, then numbers."""
import math
import sys

import numpy as np
import torch
from gguf import GGUFReader
from gguf.quants import dequantize

import pair_rules

torch.set_default_dtype(torch.float64)
PROMPT, TARGET, BASELINE = [5, 17, 30, 9, 31, 22, 5, 3], [12, 7], 1
P = len(PROMPT)


class Half(torch.autograd.Function):
    """y = x; half of what arrives goes on."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return g / 2


class Model:
    def __init__(self, path):
        reader = GGUFReader(path)
        self.W = {t.name: torch.tensor(dequantize(t.data, t.tensor_type).astype(np.float64)) for t in reader.tensors}
        self.arch = reader.fields["general.architecture"].contents()
        field = lambda name, other=None: (reader.fields[self.arch + "." + name].contents()
                                          if self.arch + "." + name in reader.fields else other)
        self.layers, self.heads, self.groups = (field("block_count"), field("attention.head_count"),
                                                field("attention.head_count_kv"))
        self.width = field("attention.key_length", field("embedding_length") // self.heads)
        self.eps, self.used = field("attention.layer_norm_rms_epsilon"), field("expert_used_count")
        self.base = field("rope.freq_base")

    def rope(self, x):  # [T, heads, width]
        t = torch.arange(x.shape[0]).reshape(-1, 1)
        f = self.base ** (-torch.arange(0, self.width, 2) / self.width)
        c, s = torch.cos(t * f)[:, None], torch.sin(t * f)[:, None]
        if self.arch == "llama":
            a, b = x[..., 0::2], x[..., 1::2]
            return torch.stack((a * c - b * s, a * s + b * c), -1).reshape(x.shape)
        a, b = x[..., :self.width // 2], x[..., self.width // 2:]
        return torch.cat((a * c - b * s, a * s + b * c), -1)


def relevance(m):
    W, arch, layers, heads, groups, width, rope = m.W, m.arch, m.layers, m.heads, m.groups, m.width, m.rope
    eps, used = m.eps, m.used

    def norm(x, w):
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps).detach() * w

    def mixture(h, w):
        p = torch.softmax(h @ w("ffn_gate_inp").T, -1)
        share, chosen = p.topk(used, -1)
        share = (share / share.sum(-1, keepdim=True)).detach()
        rows = []
        for t in range(h.shape[0]):
            y = 0
            for k in range(used):
                e = chosen[t, k]
                g = w("ffn_gate_exps")[e] @ h[t]
                u = Half.apply(g * torch.sigmoid(g).detach()) * Half.apply(w("ffn_up_exps")[e] @ h[t])
                y = y + share[t, k] * (w("ffn_down_exps")[e] @ u)
            rows.append(y)
        return torch.stack(rows)

    x = W["token_embd.weight"][PROMPT].clone().requires_grad_()
    v = torch.cat((x, W["token_embd.weight"][TARGET[:-1]]))
    t, keep = v.shape[0], []
    visible = torch.tril(torch.ones(t, t, dtype=torch.bool))
    for l in range(layers):
        w = lambda n: W["blk.%d.%s.weight" % (l, n)]
        h = norm(v, w("attn_norm"))
        q, k = (h @ w("attn_q").T).reshape(t, heads, width), (h @ w("attn_k").T).reshape(t, groups, width)
        if arch != "llama":
            q, k = norm(q, w("attn_q_norm")), norm(k, w("attn_k_norm"))
        wide = lambda a: a.transpose(0, 1).repeat_interleave(heads // groups, 0)
        q, k = rope(q).transpose(0, 1), wide(rope(k))
        s = (Half.apply(q) @ Half.apply(k.mT) / math.sqrt(width)).masked_fill(~visible, -1e30)
        o = Half.apply(torch.softmax(s, -1)) @ Half.apply(wide((h @ w("attn_v").T).reshape(t, groups, width)))
        v = v + o.transpose(0, 1).reshape(t, heads * width) @ w("attn_output").T
        v = v + mixture(norm(v, w("ffn_norm")), w)
        v.retain_grad()
        keep.append(v)
    z = norm(v[P - 1:], W["output_norm.weight"]) @ W.get("output.weight", W["token_embd.weight"]).T
    f = z[torch.arange(len(TARGET)), TARGET].sum()
    f.backward()
    return [("value", f), ("lrp", (x * x.grad).sum(-1))] + [
        ("out_%d" % l, (v * v.grad)[:P].sum(-1)) for l, v in enumerate(keep)]


# ---- DeepLift ----
def experts_back(w, c, c0):
    """y[i] = w[c[i]] x[i]. Both matrices' mean, and what the change of matrix does by the shortest vector that gives it."""
    def back(g, x, x0):
        rows = []
        for i in range(x.shape[0]):
            one, other, d = w[c[i]].T @ g[i], w[c0[i]].T @ g[i], x[i] - x0[i]
            jump = ((x[i] + x0[i]) / 2) @ (one - other)
            rows.append((one + other) / 2 + d * jump / (d @ d))
        return torch.stack(rows)
    return back


def experts(x, w, c, c0):
    choices = iter((c, c0))
    return pair_rules.rule(lambda t: torch.stack([w[e] @ t[i] for i, e in enumerate(next(choices))]),
                           experts_back(w, c, c0))(x)


def largest(p, k):
    c, c0 = p[0].topk(k, -1)[1], p[1].topk(k, -1)[1]

    def back(g, x, x0):
        m = torch.zeros_like(x)
        for i in range(x.shape[0]):
            d, jump = x[i] - x0[i], 0
            for r in range(k):
                if c[i, r] == c0[i, r]:
                    m[i, c[i, r]] += g[i, r]
                else:
                    jump = jump + g[i, r] * (x[i, c[i, r]] - x0[i, c0[i, r]])
            m[i] = m[i] + d * jump / (d @ d)
        return m

    return pair_rules.rule(lambda x: x.topk(k, -1)[0], back)(p), c, c0


def multipliers(m):
    R = pair_rules.pairs(m.eps)
    recip = pair_rules.rule(lambda b: 1 / b, lambda g, b, b0: -g / (b * b0))
    swapped = 0

    def mixture(h, w):
        nonlocal swapped
        share, c, c0 = largest(R.softmax(R.linear(h, w("ffn_gate_inp"))), m.used)
        share = R.mul(share, recip(R.each(lambda t: t.sum(-1, keepdim=True), share)))
        y = None
        for k in range(m.used):
            swapped += (c[:, k] != c0[:, k]).sum().item()
            of = lambda x, name: experts(x, w(name), c[:, k], c0[:, k])
            u = of(R.mul(R.silu(of(h, "ffn_gate_exps")), of(h, "ffn_up_exps")), "ffn_down_exps")
            u = R.mul(u, R.each(lambda t: t[:, k:k + 1], share))
            y = u if y is None else R.add(y, u)
        return y

    table = m.W["token_embd.weight"]
    x, x0 = table[PROMPT].clone().requires_grad_(), table[[BASELINE] * P].clone()
    v = R.each(lambda t: torch.cat((t, table[TARGET[:-1]])), (x, x0))
    t = v[0].shape[0]
    visible = torch.tril(torch.ones(t, t, dtype=torch.bool))
    for l in range(m.layers):
        w = lambda n: m.W["blk.%d.%s.weight" % (l, n)]
        h = R.norm(v, w("attn_norm"))
        q = R.each(lambda a: a.reshape(t, m.heads, m.width), R.linear(h, w("attn_q")))
        k = R.each(lambda a: a.reshape(t, m.groups, m.width), R.linear(h, w("attn_k")))
        if m.arch != "llama":
            q, k = R.norm(q, w("attn_q_norm")), R.norm(k, w("attn_k_norm"))
        wide = lambda a: a.transpose(0, 1).repeat_interleave(m.heads // m.groups, 0)
        q, k = R.each(lambda a: m.rope(a).transpose(0, 1), q), R.each(lambda a: wide(m.rope(a)).mT, k)
        s = R.each(lambda a: (a / math.sqrt(m.width)).masked_fill(~visible, -1e30), R.matmul(q, k))
        o = R.matmul(R.softmax(s), R.each(lambda a: wide(a.reshape(t, m.groups, m.width)), R.linear(h, w("attn_v"))))
        o = R.each(lambda a: a.transpose(0, 1).reshape(t, m.heads * m.width), o)
        v = R.add(v, R.linear(o, w("attn_output")))
        v = R.add(v, mixture(R.norm(v, w("ffn_norm")), w))
    z = R.linear(R.norm(R.each(lambda a: a[P - 1:], v), m.W["output_norm.weight"]), m.W.get("output.weight", table))
    f, f0 = R.each(lambda a: a[torch.arange(len(TARGET)), TARGET].sum(), R.log_softmax(z))
    f.backward()
    scores = ((x - x0) * x.grad).sum(-1)
    assert swapped > P and abs(scores.sum() - (f - f0)) < 1e-9
    return [("deep_lift_values", torch.stack((f, f0))), ("deep_lift", scores)]


with open(sys.argv[3], "w") as out:
    for name, path in zip(("mixtral", "qwen3moe"), sys.argv[1:3]):
        model = Model(path)
        for what, t in relevance(model) + multipliers(model):
            out.write("%s_%s " % (name, what) + " ".join("%.12g" % v for v in t.detach().reshape(-1).tolist()) + "\n")
