#!/usr/bin/env python3
"""Tiny encoders and image classifiers with their outputs and gradients: tests/data/encoders/NAME/.

    python encoder_fixtures.py OUT [NAME ...]        (transformers 5, torch, safetensors)

Random weights far from their usual start. Everything is computed by transformers in float64 (rotary tables stay
float32 there). case.json: kind (classes, tokens, embedding, image); cases with input_ids, token_type_ids or
pixel_values; logits or embedding; and of a class's score the gradient by word embedding (2-norm, and times the
embedding) or by pixel.
"""
import json
import os
import shutil
import sys

import torch
from transformers import (AlbertConfig, AlbertForSequenceClassification, AlbertModel, BertConfig, BertForTokenClassification, DebertaConfig,
                          DebertaForSequenceClassification, DebertaForTokenClassification, DebertaV2Config,
                          DebertaV2ForSequenceClassification, DebertaV2ForTokenClassification, DebertaV2Model, DeiTConfig, DeiTForImageClassification,
                          DeiTForImageClassificationWithTeacher, ElectraConfig, ElectraForSequenceClassification,
                          ModernBertConfig, ModernBertForSequenceClassification, MPNetConfig, MPNetModel, NomicBertConfig,
                          NomicBertForSequenceClassification, NomicBertModel,
                          XLMRobertaConfig, XLMRobertaForSequenceClassification)

V, D, H, F = 40, 12, 2, 20
COMMON = dict(vocab_size=V, hidden_size=D, num_hidden_layers=2, num_attention_heads=H, intermediate_size=F,
              max_position_embeddings=40, attn_implementation="eager")


def models():
    yield "modernbert", "classes", ModernBertForSequenceClassification, ModernBertConfig(
        **{**COMMON, "num_hidden_layers": 4}, local_attention=4, num_labels=3, pad_token_id=0, cls_token_id=1,
        sep_token_id=2, bos_token_id=1, eos_token_id=2, classifier_pooling="mean", norm_eps=1e-4)
    yield "xlm-roberta", "classes", XLMRobertaForSequenceClassification, XLMRobertaConfig(
        **COMMON, type_vocab_size=1, pad_token_id=1, num_labels=2, hidden_act="gelu_new")
    yield "electra", "classes", ElectraForSequenceClassification, ElectraConfig(**COMMON, embedding_size=D, num_labels=2)
    yield "bert-tokens", "tokens", BertForTokenClassification, BertConfig(**COMMON, num_labels=4, layer_norm_eps=1e-3)
    yield "mpnet", "embedding", MPNetModel, MPNetConfig(**COMMON)
    yield "nomic", "embedding", NomicBertModel, NomicBertConfig(**COMMON, hidden_act="silu")
    yield "nomic-classes", "classes", NomicBertForSequenceClassification, NomicBertConfig(
        **COMMON, hidden_act="gelu", num_labels=3, layer_norm_eps=1e-3,
        rope_parameters={"rope_type": "default", "rope_theta": 50.0})
    yield "deberta-v3", "classes", DebertaV2ForSequenceClassification, DebertaV2Config(  # as deberta-v3-base
        **COMMON, relative_attention=True, position_buckets=6, norm_rel_ebd="layer_norm", share_att_key=True,
        pos_att_type="p2c|c2p", position_biased_input=False, max_relative_positions=-1, num_labels=3)
    yield "deberta-places", "classes", DebertaV2ForSequenceClassification, DebertaV2Config(
        **COMMON, relative_attention=True, pos_att_type=["c2p"], type_vocab_size=2, max_relative_positions=5,
        pooler_hidden_act="tanh", num_labels=2)
    yield "deberta-key", "embedding", DebertaV2Model, DebertaV2Config(
        **COMMON, relative_attention=True, pos_att_type=["p2c", "c2p"], position_biased_input=False, position_buckets=4)
    yield "deberta-plain", "tokens", DebertaV2ForTokenClassification, DebertaV2Config(
        **COMMON, pos_att_type=["p2c"], num_labels=3)
    yield "electra-small", "classes", ElectraForSequenceClassification, ElectraConfig(
        **COMMON, embedding_size=6, num_labels=2)
    yield "albert", "classes", AlbertForSequenceClassification, AlbertConfig(
        **{**COMMON, "num_hidden_layers": 4}, embedding_size=8, num_hidden_groups=2, num_labels=3)
    yield "albert-wide", "embedding", AlbertModel, AlbertConfig(**COMMON, embedding_size=D)
    yield "albert-inner", "classes", AlbertForSequenceClassification, AlbertConfig(
        **{**COMMON, "num_hidden_layers": 5}, embedding_size=8, num_hidden_groups=2, inner_group_num=3, num_labels=3)
    yield "deberta-v1", "classes", DebertaForSequenceClassification, DebertaConfig(  # as deberta-base
        **COMMON, relative_attention=True, pos_att_type="c2p|p2c", position_biased_input=False, num_labels=3)
    yield "deberta-v1-places", "tokens", DebertaForTokenClassification, DebertaConfig(
        **COMMON, relative_attention=True, pos_att_type=["p2c"], type_vocab_size=2, max_relative_positions=5, num_labels=3)
    image = dict(hidden_size=D, num_hidden_layers=2, num_attention_heads=H, intermediate_size=F, image_size=8,
                 patch_size=4, num_labels=3, attn_implementation="eager")
    yield "deit", "image", DeiTForImageClassification, DeiTConfig(**image)
    yield "deit-teacher", "image", DeiTForImageClassificationWithTeacher, DeiTConfig(**image)


def text_case(kind, model, ids, types):
    table = model.get_input_embeddings().weight.detach()
    x = table[ids].clone().requires_grad_(True)
    more = {"token_type_ids": torch.tensor([types])} if types else {}
    out = model(inputs_embeds=x[None], attention_mask=torch.ones(1, len(ids), dtype=torch.long), **more)
    case = {"input_ids": ids, **({"token_type_ids": types} if types else {})}
    if kind == "embedding":
        e = torch.nn.functional.normalize(out.last_hidden_state.mean(dim=1), dim=1)[0]
        case["embedding"] = e.tolist()
        return case
    case["logits"] = out.logits[0].tolist()
    if kind == "classes":
        (g,) = torch.autograd.grad(out.logits[0, 1], x)
        case |= {"class": 1, "saliency_l2": g.norm(dim=1).tolist(), "input_x_gradient": (g * x).sum(dim=1).tolist()}
    return case


def image_case(model):
    x = torch.randn(1, 3, 8, 8, dtype=torch.float64).float().double().requires_grad_(True)
    logits = model(pixel_values=x).logits
    (g,) = torch.autograd.grad(logits[0, 1], x)
    return {"pixel_values": x.detach().flatten().tolist(), "logits": logits[0].tolist(), "class": 1,
            "gradient": g.flatten().tolist()}


def first_config(folder):
    """The config that Nomic's own first files have, of the same model: sizes as GPT-2 calls them."""
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as f:
        c = json.load(f)
    return {"activation_function": "swiglu", "architectures": c["architectures"], "causal": False,
            "layer_norm_epsilon": c["layer_norm_eps"], "max_trained_positions": 16, "mlp_fc1_bias": False,
            "mlp_fc2_bias": False, "model_type": "nomic_bert", "n_embd": c["hidden_size"],
            "n_head": c["num_attention_heads"], "n_inner": c["intermediate_size"], "n_layer": c["num_hidden_layers"],
            "n_positions": c["max_position_embeddings"], "parallel_block": False, "prenorm": False,
            "qkv_proj_bias": False, "rotary_emb_base": c["rope_parameters"]["rope_theta"], "rotary_emb_fraction": 1.0,
            "rotary_emb_interleaved": False, "rotary_emb_scale_base": None, "rotary_scaling_factor": None,
            "type_vocab_size": c["type_vocab_size"], "use_rms_norm": False, "vocab_size": c["vocab_size"]}


def main():
    out, only = sys.argv[1], sys.argv[2:]
    for name, kind, cls, config in models():
        if only and name not in only:
            continue
        torch.manual_seed(len(name) * 7 + len(kind))
        model = cls(config).eval()
        for p in model.parameters():
            p.data = (torch.randn_like(p) * 0.35 + (1.0 if p.dim() == 1 and p.mean() > 0.5 else 0.0))
        folder = os.path.join(out, name)
        shutil.rmtree(folder, ignore_errors=True)
        model.save_pretrained(folder)
        model = model.double()
        if kind == "image":
            cases = [image_case(model)]
        else:
            types = [0] * 4 + [1] * 5 if name in ("bert-tokens", "electra", "nomic-classes", "deberta-places", "albert",
                                                      "deberta-v1-places", "albert-inner") else None
            cases = [text_case(kind, model, [5, 9, 30, 3, 7, 38, 11, 12, 20], types),
                     text_case(kind, model, [8, 4], None)]
        with open(os.path.join(folder, "case.json"), "w", encoding="utf-8") as f:
            json.dump({"kind": kind, "cases": cases}, f)
            f.write("\n")
        if name == "nomic":
            first = os.path.join(out, "nomic-first")
            shutil.rmtree(first, ignore_errors=True)
            shutil.copytree(folder, first)
            with open(os.path.join(first, "config.json"), "w", encoding="utf-8") as f:
                json.dump(first_config(folder), f, indent=2)
                f.write("\n")


if __name__ == "__main__":
    main()
