#!/usr/bin/env python3
"""Tiny text encoders as GGUF files with their outputs: tests/data/encoders/gguf/NAME.gguf and NAME.json.

    python encoder_gguf_fixtures.py OUT [LLAMA]      (transformers 5, torch, gguf; LLAMA: also compare with llama-cpp-python)
    python encoder_gguf_fixtures.py --convert FOLDER OUT.gguf          (a BERT folder with vocab.txt, mean pooling)

Random weights, rounded to the type that they are stored in. Tensors have the names, and metadata the keys, of
llama.cpp's converter (its conversion/bert.py): WordPiece vocabularies with the begin of a word marked, RoBERTa's
positions cut by the rows in front of the first, no pooler. Numbers are transformers' in float64. NAME.json: kind
(embedding or classes) and cases with input_ids and embedding or logits; as in encoder_fixtures.py.
"""
import json
import os
import sys

import gguf
import numpy as np
import torch
from transformers import (BertConfig, BertForSequenceClassification, BertModel, ModernBertConfig,
                          ModernBertForSequenceClassification, NomicBertConfig, NomicBertModel, RobertaConfig,
                          RobertaForSequenceClassification)

V, D, H, F = 40, 32, 4, 48
COMMON = dict(vocab_size=V, hidden_size=D, num_hidden_layers=2, num_attention_heads=H, intermediate_size=F,
              attn_implementation="eager")
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + "a great film about rain and old houses , not".split() + [
    "##s", "##ing", "##ed"] + ["w%d" % i for i in range(V - 18)]


def models():
    yield "bert", gguf.MODEL_ARCH.BERT, BertModel, BertConfig(**COMMON, max_position_embeddings=24), "f32", 1
    yield "bert-cls", gguf.MODEL_ARCH.BERT, BertModel, BertConfig(
        **COMMON, max_position_embeddings=24, layer_norm_eps=1e-3), "f16", 2
    yield "roberta-rank", gguf.MODEL_ARCH.BERT, RobertaForSequenceClassification, RobertaConfig(
        **COMMON, max_position_embeddings=26, type_vocab_size=1, pad_token_id=1, num_labels=3), "f32", 4
    yield "nomic-bert", gguf.MODEL_ARCH.NOMIC_BERT, NomicBertModel, NomicBertConfig(
        **COMMON, max_position_embeddings=24, hidden_act="silu", type_vocab_size=2, rope_theta=1000.0), "f32", 1
    yield "modern-bert", gguf.MODEL_ARCH.MODERN_BERT, ModernBertForSequenceClassification, ModernBertConfig(
        **{**COMMON, "num_hidden_layers": 4}, max_position_embeddings=24, local_attention=4, num_labels=2,
        pad_token_id=0, cls_token_id=2, sep_token_id=3, bos_token_id=2, eos_token_id=3, classifier_pooling="mean",
        norm_eps=1e-4, hidden_activation="silu", classifier_activation="gelu"), "f32", 4


def tokenizer(w, tokens):
    special = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}
    kinds = [gguf.TokenType.CONTROL if t in special or t.startswith("[unused") else gguf.TokenType.NORMAL for t in tokens]
    phantom = [t if k == gguf.TokenType.CONTROL else t[2:] if t.startswith("##") else "\u2581" + t
               for t, k in zip(tokens, kinds)]
    w.add_tokenizer_model("bert")
    w.add_tokenizer_pre("default")
    w.add_token_list(phantom)
    w.add_token_types(kinds)
    at = tokens.index
    w.add_pad_token_id(at("[PAD]"))
    w.add_unk_token_id(at("[UNK]"))
    w.add_bos_token_id(at("[CLS]"))
    w.add_sep_token_id(at("[SEP]"))
    w.add_mask_token_id(at("[MASK]"))


def write(path, name, arch, config, state, kind, pooling, tokens):
    names = gguf.get_tensor_name_map(arch, config.num_hidden_layers)
    w = gguf.GGUFWriter(path, gguf.MODEL_ARCH_NAMES[arch])
    offset = 2 if config.model_type == "roberta" else 0
    w.add_name(name)
    w.add_block_count(config.num_hidden_layers)
    w.add_context_length(config.max_position_embeddings - offset)
    w.add_embedding_length(config.hidden_size)
    w.add_feed_forward_length(config.intermediate_size)
    w.add_head_count(config.num_attention_heads)
    w.add_layer_norm_eps(getattr(config, "layer_norm_eps", None) or getattr(config, "norm_eps", 1e-12))
    w.add_causal_attention(False)
    w.add_pooling_type(gguf.PoolingType(pooling))
    w.add_token_type_count(getattr(config, "type_vocab_size", 1))
    if pooling == 4:
        w.add_classifier_output_labels(["bad", "good", "neither"][: config.num_labels])
    if config.model_type == "nomic_bert":
        w.add_rope_freq_base(1000.0)
    if config.model_type == "modernbert":
        w.add_sliding_window(config.local_attention)
        w.add_sliding_window_pattern(3)
        w.add_rope_freq_base(160000.0)
        w.add_rope_freq_base_swa(10000.0)
        w.add_rope_scaling_type(gguf.RopeScalingType.NONE)
        w.add_vocab_size(V)
        w.add_string("modern-bert.hidden_activation", config.hidden_activation)
    tokenizer(w, tokens)
    fused = {}
    for key, t in state.items():
        for prefix in ("bert.", "roberta.", "model."):
            key = key.removeprefix(prefix)
        if key.startswith("pooler.") or key.endswith("position_ids"):
            continue
        if key == "embeddings.position_embeddings.weight":
            t = t[offset:]
        if config.model_type == "modernbert":
            key = key.replace("classifier.", "classifier.out_proj.")
        gate = {"gate_proj": "ffn_gate", "up_proj": "ffn_up", "down_proj": "ffn_down"}
        short = next((v for k, v in gate.items() if k in key), None)
        base, end = key.rsplit(".", 1)
        if config.model_type == "nomic_bert":
            layer = key.split(".")[1] if key.startswith("layers.") or key.startswith("encoder.") else None
            layer = next((p for p in key.split(".") if p.isdigit()), None)
            if short:
                new = "blk.%s.%s" % (layer, short)
            elif any(x in key for x in ("q_proj", "k_proj", "v_proj")):
                fused.setdefault("blk.%s.attn_qkv.%s" % (layer, end), {})[key.split("_proj")[0][-1]] = t
                continue
            elif "o_proj" in key:
                new = "blk.%s.attn_output" % layer
            elif layer and "post_attention_layernorm" in key:
                new = "blk.%s.attn_output_norm" % layer
            elif layer and "post_mlp_layernorm" in key:
                new = "blk.%s.layer_output_norm" % layer
            else:
                new = names.get_name(base)
        else:
            new = names.get_name(base)
        if new is None:
            raise SystemExit("no name for " + key)
        put(w, new + "." + end, t, kind)
    for key, parts in fused.items():
        put(w, key, torch.cat([parts["q"], parts["k"], parts["v"]]), kind)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def put(w, key, t, kind):
    a = np.ascontiguousarray(t.float().numpy())
    halves = kind == "f16" and a.ndim == 2 and not key.startswith(("position", "token_types"))
    w.add_tensor(key, a.astype(np.float16) if halves else a)


def convert(folder, out):
    model = BertModel.from_pretrained(folder)
    tokens = open(os.path.join(folder, "vocab.txt"), encoding="utf-8").read().split("\n")[: model.config.vocab_size]
    write(out, "converted", gguf.MODEL_ARCH.BERT, model.config, model.state_dict(), "f32", 1, tokens)


def main():
    if sys.argv[1] == "--convert":
        return convert(sys.argv[2], sys.argv[3])
    out = sys.argv[1]
    os.makedirs(out, exist_ok=True)
    for name, arch, cls, config, kind, pooling in models():
        torch.manual_seed(len(name) * 11)
        model = cls(config).eval()
        for key, p in model.named_parameters():
            p.data = torch.randn_like(p) * 0.25 + (1.0 if p.dim() == 1 and p.mean() > 0.5 else 0.0)
            if kind == "f16" and p.dim() == 2 and "position" not in key and "token_type" not in key:
                p.data = p.data.half().float()
        path = os.path.join(out, name + ".gguf")
        write(path, name, arch, config, model.state_dict(), kind, pooling, WORDS)
        model = model.double()
        cases = []
        for ids in ([2, 9, 30, 4, 7, 38, 11, 12, 3], [2, 5, 6, 3]):
            o = model(input_ids=torch.tensor([ids]), attention_mask=torch.ones(1, len(ids), dtype=torch.long))
            case = {"input_ids": ids}
            if pooling == 4:
                case["logits"] = o.logits[0].tolist()
            else:
                h = o.last_hidden_state
                e = h.mean(dim=1) if pooling == 1 else h[:, 0]
                case["embedding"] = torch.nn.functional.normalize(e, dim=1)[0].tolist()
            cases.append(case)
        with open(os.path.join(out, name + ".json"), "w", encoding="utf-8") as f:
            json.dump({"kind": "classes" if pooling == 4 else "embedding", "cases": cases}, f)
            f.write("\n")
        if len(sys.argv) > 2:
            llama(path, cases, pooling)


def llama(path, cases, pooling):
    """The same numbers by llama.cpp, which takes gelu's approximation by tanh from a table of halves."""
    import ctypes

    import llama_cpp
    m = llama_cpp.Llama(path, embedding=True, verbose=False, n_ctx=24, n_batch=24, n_ubatch=24, pooling_type=pooling)
    for case in cases:
        ids = case["input_ids"]
        batch = llama_cpp.llama_batch_init(24, 0, 1)
        for i, t in enumerate(ids):
            batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.logits[i] = t, i, 1, 1
            batch.seq_id[i][0] = 0
        batch.n_tokens = len(ids)
        assert llama_cpp.llama_encode(m.ctx, batch) == 0
        want = case.get("logits") or case["embedding"]
        p = llama_cpp.llama_get_embeddings_seq(m.ctx, 0)
        got = np.array([p[i] for i in range(len(want))])
        if pooling != 4:
            got /= np.linalg.norm(got)
        print(os.path.basename(path), len(ids), "largest difference from llama.cpp: %.2g of %.2g" %
              (np.abs(got - want).max(), np.abs(want).max()))
        llama_cpp.llama_batch_free(batch)


if __name__ == "__main__":
    main()
