#!/usr/bin/env python3
"""Writes tests/data/attr/moe_rules.txt: relevance on two tiny mixtures of experts, by PyTorch (2.15) in float64, as input x
modified gradient (Achtibat et al. 2024, section 3.3): halves for products, deviations, gates of SiLU and what the router
says held fixed. The models are written down here a second time.

usage: moe_rules_fixtures.py MIXTRAL.gguf QWEN3MOE.gguf OUTPUT        (needs gguf and torch)
A line: name, then numbers."""
import math
import sys

import numpy as np
import torch
from gguf import GGUFReader
from gguf.quants import dequantize

torch.set_default_dtype(torch.float64)
PROMPT, TARGET = [5, 17, 30, 9, 31, 22, 5, 3], [12, 7]
P = len(PROMPT)


class Half(torch.autograd.Function):
    """y = x; half of what arrives goes on."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return g / 2


def run(path):
    reader = GGUFReader(path)
    W = {t.name: torch.tensor(dequantize(t.data, t.tensor_type).astype(np.float64)) for t in reader.tensors}
    arch = reader.fields["general.architecture"].contents()
    field = lambda name, other=None: reader.fields[arch + "." + name].contents() if arch + "." + name in reader.fields else other
    layers, heads, groups = field("block_count"), field("attention.head_count"), field("attention.head_count_kv")
    width = field("attention.key_length", field("embedding_length") // heads)
    eps, used = field("attention.layer_norm_rms_epsilon"), field("expert_used_count")

    def norm(x, w):
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps).detach() * w

    def rope(x):  # [T, heads, width]
        t = torch.arange(x.shape[0]).reshape(-1, 1)
        f = field("rope.freq_base") ** (-torch.arange(0, width, 2) / width)
        c, s = torch.cos(t * f)[:, None], torch.sin(t * f)[:, None]
        if arch == "llama":
            a, b = x[..., 0::2], x[..., 1::2]
            return torch.stack((a * c - b * s, a * s + b * c), -1).reshape(x.shape)
        a, b = x[..., :width // 2], x[..., width // 2:]
        return torch.cat((a * c - b * s, a * s + b * c), -1)

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


with open(sys.argv[3], "w") as out:
    for name, path in zip(("mixtral", "qwen3moe"), sys.argv[1:3]):
        for what, t in run(path):
            out.write("%s_%s " % (name, what) + " ".join("%.12g" % v for v in t.detach().reshape(-1).tolist()) + "\n")
