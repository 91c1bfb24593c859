#!/usr/bin/env python3
"""Tiny text encoders that the transformers library has no class for, with their outputs: tests/data/encoders/NAME/ and
tests/data/encoders/gguf/NAME.gguf, NAME.json.

    python encoder_formula_fixtures.py OUT        (torch, safetensors, gguf; OUT is tests/data/encoders)

Jina's BERT (jinaai/jina-embeddings-v2, no positions but ALiBi, gated MLP in one piece) and Nomic BERT with a mixture of plain
experts (nomic-embed-text-v2-moe) are written down here in float64, as their papers (Günther et al. 2023; Nussbaum and Duderstadt
2025) and the programs that serve them tell. Weights are random; names and configs are those of the models' own files, GGUF names
those of llama.cpp's converter (which leaves the experts' common bias out, so the GGUF file's numbers are without it).
case.json as in encoder_fixtures.py.
"""
import json
import math
import os
import shutil
import sys

import gguf
import numpy as np
import torch
from safetensors.torch import save_file

import encoder_gguf_fixtures as names

torch.set_default_dtype(torch.float64)
V, D, H, F, L = 40, 12, 3, 20, 2
EPS = 1e-12


def norm(x, w, name):
    return torch.nn.functional.layer_norm(x, (x.shape[-1],), w[name + ".weight"], w[name + ".bias"], EPS)


def linear(x, w, name):
    y = x @ w[name + ".weight"].T
    return y + w[name + ".bias"] if name + ".bias" in w else y


def slopes(heads):
    """Of ALiBi (Press et al. 2022): a geometric series; heads beyond a power of two are every second one of the next series."""
    n = 2 ** math.floor(math.log2(heads))
    first = [2 ** (-8 * (i + 1) / n) for i in range(n)]
    return first if n == heads else first + slopes_of_next(n)[: heads - n]


def slopes_of_next(n):
    return [2 ** (-8 * (i + 1) / (2 * n)) for i in range(2 * n)][0::2]


def attend(q, k, v, bias, heads):
    def cut(x):
        return x.view(x.shape[0], heads, -1).transpose(0, 1)

    q, k, v = cut(q), cut(k), cut(v)
    p = torch.softmax(q @ k.transpose(1, 2) / math.sqrt(q.shape[-1]) + bias, dim=-1)
    return (p @ v).transpose(0, 1).reshape(q.shape[1], -1)


def jina(w, x, types, heads, act):
    n = x.shape[0]
    at = torch.arange(n)
    bias = -torch.tensor(slopes(heads))[:, None, None] * (at[:, None] - at[None]).abs()
    x = norm(x + w["embeddings.token_type_embeddings.weight"][types], w, "embeddings.LayerNorm")
    for i in range(L):
        p = f"encoder.layer.{i}."
        q, k, v = (linear(x, w, p + "attention.self." + s) for s in ("query", "key", "value"))
        x = norm(x + linear(attend(q, k, v, bias, heads), w, p + "attention.output.dense"), w, p + "attention.output.LayerNorm")
        g, u = linear(x, w, p + "mlp.gated_layers").chunk(2, dim=-1)
        x = norm(x + linear(act(g) * u, w, p + "mlp.wo"), w, p + "mlp.layernorm")
    return x


def turn(x, heads, base):
    """Rotary positions of the columns i and i + n/2 of each head."""
    n = x.shape[-1] // heads
    x = x.view(x.shape[0], heads, n)
    f = base ** (-torch.arange(0, n, 2) / n)
    a = torch.arange(x.shape[0])[:, None, None] * f
    lo, hi = x[..., : n // 2], x[..., n // 2:]
    return torch.cat([lo * a.cos() - hi * a.sin(), hi * a.cos() + lo * a.sin()], -1).reshape(x.shape[0], -1)


def nomic(w, x, types, heads, experts, used, normalised, bias=True):
    x = norm(x + w["embeddings.token_type_embeddings.weight"][types], w, "emb_ln")
    for i in range(L + 1):
        p = f"encoder.layers.{i}."
        q, k, v = linear(x, w, p + "attn.Wqkv").chunk(3, dim=-1)
        o = attend(turn(q, heads, 10000.0), turn(k, heads, 10000.0), v, 0.0, heads)
        x = norm(x + linear(o, w, p + "attn.out_proj"), w, p + "norm1")
        if i % 2 == 1:
            share, chosen = torch.softmax(linear(x, w, p + "mlp.router.layer"), -1).topk(used, dim=-1)
            if normalised:
                share = share / share.sum(-1, keepdim=True)
            w1, w2 = (w[p + "mlp.experts.mlp." + s].view(experts, -1, x.shape[-1]) for s in ("w1", "w2"))
            y = torch.stack([sum(share[t, j] * (torch.nn.functional.gelu(x[t] @ w1[e].T) @ w2[e])
                                 for j, e in enumerate(chosen[t])) for t in range(x.shape[0])])
            y = y + w[p + "mlp.experts.bias"] if bias else y
        else:
            y = linear(torch.nn.functional.gelu(linear(x, w, p + "mlp.fc1")), w, p + "mlp.fc2")
        x = norm(x + y, w, p + "norm2")
    return x


def random(shapes, seed):
    torch.manual_seed(seed)
    out = {}
    for name, shape in shapes.items():
        is_norm = len(shape) == 1 and name.endswith("weight")
        out[name] = (torch.randn(shape) * 0.35 + (1.0 if is_norm else 0.0)).float().double()
    return out


def both(name, out, width=None):
    return {name + ".weight": (out, width) if width else (out,), name + ".bias": (out,)}


def jina_shapes(d, f, classes):
    s = {"embeddings.word_embeddings.weight": (V, d), "embeddings.token_type_embeddings.weight": (2, d)}
    s |= both("embeddings.LayerNorm", d)
    for i in range(L):
        p = f"encoder.layer.{i}."
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            s |= both(p + "attention." + part, d, d)
        s |= both(p + "attention.output.LayerNorm", d) | {p + "mlp.gated_layers.weight": (2 * f, d)}
        s |= both(p + "mlp.wo", d, f) | both(p + "mlp.layernorm", d)
    s |= both("pooler.dense", d, d)
    return {"bert." + k: v for k, v in s.items()} | both("classifier", classes, d) if classes else s


def nomic_shapes(d, f, experts):
    s = {"embeddings.word_embeddings.weight": (V, d), "embeddings.token_type_embeddings.weight": (1, d)} | both("emb_ln", d)
    for i in range(L + 1):
        p = f"encoder.layers.{i}."
        s |= both(p + "attn.Wqkv", 3 * d, d) | both(p + "attn.out_proj", d, d) | both(p + "norm1", d) | both(p + "norm2", d)
        if i % 2 == 1:
            s |= {p + "mlp.router.layer.weight": (experts, d), p + "mlp.experts.mlp.w1": (experts * f, d),
                  p + "mlp.experts.mlp.w2": (experts * f, d), p + "mlp.experts.bias": (d,)}
        else:
            s |= both(p + "mlp.fc1", f, d) | both(p + "mlp.fc2", d, f)
    return s


def embedding(x):
    return torch.nn.functional.normalize(x.mean(dim=0), dim=0).tolist()


TEXTS = [([5, 9, 30, 3, 7, 38, 11, 12, 20], [0] * 4 + [1] * 5), ([8, 4], None)]


def folder(out, name, config, weights, kind, hidden):
    where = os.path.join(out, name)
    shutil.rmtree(where, ignore_errors=True)
    os.makedirs(where)
    save_file({k: v.float().contiguous() for k, v in weights.items()}, os.path.join(where, "model.safetensors"),
              metadata={"format": "pt"})
    with open(os.path.join(where, "config.json"), "w", encoding="utf-8") as f:
        json.dump(config, f, indent=2)
        f.write("\n")
    base = {k.removeprefix("bert."): v for k, v in weights.items()}
    cases = []
    for ids, types in TEXTS:
        types = types if config["type_vocab_size"] > 1 else None
        case = {"input_ids": ids} | ({"token_type_ids": types} if types and kind == "classes" else {})
        given = torch.tensor(types if types and kind == "classes" else [0] * len(ids))
        x = base["embeddings.word_embeddings.weight"][ids].clone().requires_grad_(True)
        h = hidden(base, x, given)
        if kind == "embedding":
            case["embedding"] = embedding(h)
        else:
            z = linear(torch.tanh(linear(h[0], base, "pooler.dense")), base, "classifier")
            (g,) = torch.autograd.grad(z[1], x)
            case |= {"logits": z.tolist(), "class": 1, "saliency_l2": g.norm(dim=1).tolist(),
                     "input_x_gradient": (g * x).sum(dim=1).tolist()}
        cases.append(case)
    with open(os.path.join(where, "case.json"), "w", encoding="utf-8") as f:
        json.dump({"kind": kind, "cases": cases}, f)
        f.write("\n")


def gguf_file(out, name, arch, weights, d, heads, f, layers, hidden, more, rename=lambda k, t: (k, t)):
    table = gguf.get_tensor_name_map(arch, layers)
    path = os.path.join(out, "gguf", name + ".gguf")
    w = gguf.GGUFWriter(path, gguf.MODEL_ARCH_NAMES[arch])
    w.add_name(name)
    w.add_block_count(layers)
    w.add_context_length(24)
    w.add_embedding_length(d)
    w.add_feed_forward_length(f)
    w.add_head_count(heads)
    w.add_layer_norm_eps(EPS)
    w.add_causal_attention(False)
    w.add_pooling_type(gguf.PoolingType.MEAN)
    w.add_token_type_count(2)
    more(w)
    names.tokenizer(w, names.WORDS)
    for key, t in weights.items():
        if key.startswith("pooler.") or key.endswith("experts.bias"):
            continue
        key, t = rename(key, t)
        base, end = key.rsplit(".", 1)
        names.put(w, table.get_name(base) + "." + end, t, "f32")
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    cases = []
    for ids in ([2, 9, 30, 4, 7, 38, 11, 12, 3], [2, 5, 6, 3]):
        h = hidden(weights, weights["embeddings.word_embeddings.weight"][ids], torch.zeros(len(ids), dtype=torch.long))
        cases.append({"input_ids": ids, "embedding": embedding(h)})
    with open(os.path.join(out, "gguf", name + ".json"), "w", encoding="utf-8") as file:
        json.dump({"kind": "embedding", "cases": cases}, file)
        file.write("\n")


def main():
    out = sys.argv[1]
    gelu, relu = torch.nn.functional.gelu, torch.relu
    jina_config = {"architectures": ["JinaBertForMaskedLM"], "emb_pooler": "mean", "feed_forward_type": "geglu",
                   "hidden_act": "gelu", "hidden_size": D, "intermediate_size": F, "layer_norm_eps": EPS,
                   "max_position_embeddings": 40, "model_type": "bert", "num_attention_heads": H,
                   "num_hidden_layers": L, "pad_token_id": 0, "position_embedding_type": "alibi",
                   "type_vocab_size": 2, "vocab_size": V}
    folder(out, "jina", jina_config, random(jina_shapes(D, F, 0), 1), "embedding", lambda w, x, t: jina(w, x, t, H, gelu))
    folder(out, "jina-classes", jina_config | {"architectures": ["JinaBertForSequenceClassification"], "num_labels": 3,
                                               "feed_forward_type": "reglu", "num_attention_heads": 4},
           random(jina_shapes(D, F, 3), 2), "classes", lambda w, x, t: jina(w, x, t, 4, relu))
    nomic_config = {"activation_function": "gelu", "architectures": ["NomicBertModel"], "causal": False,
                    "expert_choice_router": False, "layer_norm_epsilon": EPS, "mlp_fc1_bias": True, "mlp_fc2_bias": True,
                    "model_type": "nomic_bert", "moe_every_n_layers": 2, "moe_normalize_expert_weights": False,
                    "moe_top_k": 2, "n_embd": D, "n_head": 2, "n_inner": F, "n_layer": L + 1, "n_positions": 40,
                    "num_experts": 5, "num_shared_experts": 0, "pad_token_id": 1, "prenorm": False, "qkv_proj_bias": True,
                    "rotary_emb_base": 10000, "rotary_emb_fraction": 1.0, "rotary_emb_interleaved": False,
                    "rotary_emb_scale_base": None, "rotary_scaling_factor": None, "type_vocab_size": 1, "vocab_size": V}
    folder(out, "nomic-moe", nomic_config, random(nomic_shapes(D, F, 5), 3), "embedding",
           lambda w, x, t: nomic(w, x, t, 2, 5, 2, False))
    d, f = 32, 48
    gguf_file(out, "jina-bert-v2", gguf.MODEL_ARCH.JINA_BERT_V2, random(jina_shapes(d, f, 0), 4), d, 4, f, L,
              lambda w, x, t: jina(w, x, t, 4, gelu), lambda w: None)

    def stacked(key, t):
        if ".mlp.experts.mlp." not in key:
            return key, t
        t = t.view(4, f, d)
        return key + ".weight", t if key.endswith("w1") else t.transpose(1, 2)

    def moe(w):
        w.add_rope_freq_base(10000.0)
        w.add_moe_every_n_layers(2)
        w.add_expert_count(4)
        w.add_expert_used_count(2)

    gguf_file(out, "nomic-bert-moe", gguf.MODEL_ARCH.NOMIC_BERT_MOE, random(nomic_shapes(d, f, 4), 5), d, 4, f, L + 1,
              lambda w, x, t: nomic(w, x, t, 4, 4, 2, False, bias=False), moe, stacked)


if __name__ == "__main__":
    main()
