#!/usr/bin/env python3
"""Writes tiny random language models as Hugging Face folders, each with case.json: logits in float64.

usage: hf_folders.py OUT [--small | NAME ...]        (made with transformers 5.24 on torch 2.15; without names: all)
--small writes those that tests/data/hf holds, with half the width and vocabulary.
The folders are those of save_pretrained; `old` rewrites config.json in the layout of transformers 4, `edit` changes it
otherwise. Expected logits come from the saved files, loaded again with every float32 inside of the model replaced by
float64 (rotary tables, norms, softmax); `f32_noise` is the largest difference of a float32 run. The case format is
that of the zoo of goldens, less attributions; a model that must be refused has `expect` error and no cases."""
import json
import os
import shutil
import sys

import numpy
import torch
import transformers
from transformers import CONFIG_MAPPING, AutoConfig, AutoModelForCausalLM

transformers.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
torch.set_num_threads(1)  # threads that wait cost more than these models
REAL = torch.float32
SIZES = dict(vocab_size=48, hidden_size=32, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=64, bos_token_id=1, eos_token_id=2, pad_token_id=0)


def rope(kind="default", theta=10000.0, **more):
    return dict(rope_type=kind, rope_theta=theta, **more)


# name: (model_type, config, dtype, {old, edit, drop, shard})
CASES = {
    "llama-bias-linear": ("llama", dict(attention_bias=True, mlp_bias=True, tie_word_embeddings=True,
                                        rope_parameters=rope("linear", factor=3.0)), "bfloat16", dict(old=True)),
    "llama-yarn": ("llama", dict(head_dim=16, num_key_value_heads=4, rope_parameters=rope(
        "yarn", factor=4.0, original_max_position_embeddings=16, attention_factor=1.3, beta_fast=20.0, beta_slow=2.0,
        truncate=False)), "float32", {}),
    "llama-yarn-mscale": ("llama", dict(rope_parameters=rope(
        "yarn", factor=4.0, original_max_position_embeddings=16, mscale=0.7, mscale_all_dim=1.2)), "float16",
        dict(old=True)),
    "llama-llama3": ("llama", dict(rope_parameters=rope(
        "llama3", theta=500.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
        original_max_position_embeddings=32)), "float32", dict(shard="4KB")),
    "llama-f64": ("llama", dict(tie_word_embeddings=True), "float64", {}),
    "llama-dynamic": ("llama", dict(rope_parameters=rope("dynamic", factor=2.0)), "bfloat16", {}),
    "mistral-full": ("mistral", dict(sliding_window=None, head_dim=8), "bfloat16", {}),
    "mistral-window": ("mistral", dict(sliding_window=3, tie_word_embeddings=True), "float16", dict(old=True)),
    "qwen2-window": ("qwen2", dict(num_hidden_layers=3, use_sliding_window=True, sliding_window=3,
                                   max_window_layers=1), "bfloat16", dict(old=True)),
    "qwen2-types": ("qwen2", dict(num_hidden_layers=3, use_sliding_window=True, sliding_window=4,
                                  layer_types=["sliding_attention", "full_attention", "sliding_attention"]),
                    "float16", {}),
    "qwen3-bias": ("qwen3", dict(attention_bias=True, head_dim=12, tie_word_embeddings=False), "bfloat16", {}),
    "qwen3_moe": ("qwen3_moe", dict(num_hidden_layers=3, num_local_experts=4, num_experts_per_tok=2, head_dim=8,
                                    moe_intermediate_size=12, decoder_sparse_step=1, mlp_only_layers=[1],
                                    norm_topk_prob=False), "float32", {}),
    "qwen3_moe-norm": ("qwen3_moe", dict(num_local_experts=6, num_experts_per_tok=3, head_dim=8,
                                         moe_intermediate_size=12, decoder_sparse_step=2, norm_topk_prob=True,
                                         use_sliding_window=True, sliding_window=4), "bfloat16", dict(old=True)),
    "mixtral": ("mixtral", dict(num_local_experts=4, num_experts_per_tok=2), "bfloat16", {}),
    "mixtral-window": ("mixtral", dict(num_local_experts=3, num_experts_per_tok=1, sliding_window=3), "float32",
                       dict(old=True)),
    "gemma": ("gemma", dict(num_key_value_heads=1, head_dim=16), "float32", {}),
    "gemma-legacy": ("gemma", dict(head_dim=8), "bfloat16", dict(old=True, edit=dict(hidden_act="gelu"))),
    "gemma2-old": ("gemma2", dict(num_hidden_layers=3, head_dim=8, sliding_window=3, query_pre_attn_scalar=20,
                                  attn_logit_softcapping=None, final_logit_softcapping=None), "bfloat16",
                   dict(old=True)),
    "gemma2-types": ("gemma2", dict(num_hidden_layers=3, head_dim=8, sliding_window=4, attn_logit_softcapping=5.0,
                                    layer_types=["full_attention", "sliding_attention", "full_attention"],
                                    tie_word_embeddings=False), "float32", {}),
    "gemma3_text": ("gemma3_text", dict(num_hidden_layers=3, head_dim=8, sliding_window=3, query_pre_attn_scalar=16,
                                        layer_types=["sliding_attention", "full_attention", "sliding_attention"],
                                        rope_parameters={"sliding_attention": rope(theta=100.0), "full_attention": rope(
                                            "linear", theta=1000.0, factor=4.0)}), "float32", {}),
    "gemma3_text-old": ("gemma3_text", dict(num_hidden_layers=4, head_dim=8, sliding_window=3, sliding_window_pattern=2,
                                            final_logit_softcapping=6.0), "bfloat16",
                        dict(old=True, edit=dict(sliding_window_pattern=2, rope_theta=5000.0, rope_local_base_freq=50.0,
                                                 rope_scaling=dict(rope_type="linear", factor=8.0)))),
    "phi3-window": ("phi3", dict(sliding_window=4), "float16", {}),
    "phi3-longrope": ("phi3", dict(num_key_value_heads=4, original_max_position_embeddings=8, rope_parameters=rope(
        "longrope", short_factor=[1.0, 1.1, 1.3, 1.7], long_factor=[1.2, 2.0, 4.0, 7.7], factor=6.0)), "float32", {}),
    "phi3-longrope-old": ("phi3", dict(original_max_position_embeddings=8, rope_parameters=rope(
        "longrope", partial_rotary_factor=0.5, short_factor=[1.0, 1.1], long_factor=[1.2, 2.9],
        attention_factor=1.7)), "bfloat16", dict(old=True, edit=dict(rope_scaling=dict(
            type="longrope", short_factor=[1.0, 1.1], long_factor=[1.2, 2.9], attention_factor=1.7)))),
    "gpt2-untied": ("gpt2", dict(n_inner=20, activation_function="relu", tie_word_embeddings=False), "float16", {}),
    "gpt2-plain-names": ("gpt2", dict(activation_function="gelu_fast"), "float32", dict(old=True, strip="transformer.")),
    "gpt2-unscaled": ("gpt2", dict(scale_attn_weights=False), "bfloat16", {}),
    "gpt_neox-serial": ("gpt_neox", dict(use_parallel_residual=False, rope_parameters=rope(
        theta=500.0, partial_rotary_factor=0.5), hidden_act="gelu_new"), "bfloat16", dict(old=True)),
    "gpt_neox-no-bias": ("gpt_neox", dict(attention_bias=False, tie_word_embeddings=True, rope_parameters=rope(
        "linear", factor=2.0, partial_rotary_factor=1.0)), "float32", {}),
    "olmo2-bias": ("olmo2", dict(attention_bias=True, tie_word_embeddings=True), "bfloat16", dict(old=True)),
    "olmo3": ("olmo3", dict(num_hidden_layers=4, sliding_window=3, rope_parameters={
        "sliding_attention": rope(theta=300.0), "full_attention": rope(
            "yarn", theta=300.0, factor=4.0, original_max_position_embeddings=16)}), "float32", {}),
    "smollm3": ("smollm3", dict(num_hidden_layers=4, no_rope_layers=[1, 0, 1, 0]), "bfloat16", {}),
    "smollm3-window": ("smollm3", dict(num_hidden_layers=4, use_sliding_window=True, sliding_window=3,
                                       no_rope_layer_interval=2, tie_word_embeddings=False), "float32", dict(
                                           old=True, drop=["no_rope_layers"])),
    "granite": ("granite", dict(embedding_multiplier=6.0, logits_scaling=4.0, residual_multiplier=0.3,
                                attention_multiplier=0.2, attention_bias=True), "float32", {}),
    "starcoder2": ("starcoder2", dict(sliding_window=4), "bfloat16", dict(old=True)),
    "starcoder2-no-bias": ("starcoder2", dict(use_bias=False, tie_word_embeddings=False), "float32", {}),
    "cohere": ("cohere", dict(logit_scale=0.3), "float32", {}),
    "cohere-qk": ("cohere", dict(logit_scale=0.3, use_qk_norm=True), "bfloat16", {}),
    "cohere2": ("cohere2", dict(num_hidden_layers=4, sliding_window=3), "float32", {}),
    "cohere2-old": ("cohere2", dict(num_hidden_layers=4, sliding_window=3, sliding_window_pattern=2), "bfloat16",
                    dict(old=True, edit=dict(sliding_window_pattern=2))),
    "phi": ("phi", dict(), "bfloat16", {}),
    "stablelm": ("stablelm", dict(use_qkv_bias=True), "float32", {}),
    "stablelm-parallel": ("stablelm", dict(use_parallel_residual=True), "bfloat16", dict(old=True)),
    "olmoe": ("olmoe", dict(num_experts=4, num_experts_per_tok=2), "float32", {}),
    "olmoe-clip": ("olmoe", dict(num_experts=3, num_experts_per_tok=2, clip_qkv=0.8), "bfloat16", {}),
    "gpt2-by-depth": ("gpt2", dict(n_layer=2, n_inner=24, scale_attn_by_inverse_layer_idx=True), "bfloat16", {}),
    "stablelm-qk": ("stablelm", dict(qk_layernorm=True), "bfloat16", {}),
    "phi-qk": ("phi", dict(qk_layernorm=True), "bfloat16", {}),
    "olmo": ("olmo", dict(clip_qkv=0.9), "bfloat16", {}),
    "qwen2_moe": ("qwen2_moe", dict(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=10, norm_topk_prob=True,
                                    shared_expert_intermediate_size=14, num_hidden_layers=3, decoder_sparse_step=2), "bfloat16", {}),
    "granitemoe": ("granitemoe", dict(num_local_experts=4, num_experts_per_tok=2, embedding_multiplier=6.0, logits_scaling=4.0,
                                      residual_multiplier=0.3, attention_multiplier=0.2), "bfloat16", {}),
    "arcee": ("arcee", dict(mlp_bias=True), "bfloat16", dict(old=True)),
    "nemotron": ("nemotron", dict(head_dim=16), "bfloat16", dict(old=True)),
    "helium": ("helium", dict(head_dim=8), "bfloat16", {}),
    "seed_oss": ("seed_oss", dict(head_dim=8, attention_out_bias=True), "bfloat16", {}),
    "ernie4_5": ("ernie4_5", dict(head_dim=8, use_bias=True), "bfloat16", {}),
    "ministral": ("ministral", dict(head_dim=8, sliding_window=3, layer_types=["full_attention", "sliding_attention"]), "bfloat16", {}),
    "glm": ("glm", dict(head_dim=8), "bfloat16", dict(old=True)),
    "glm4": ("glm4", dict(head_dim=8), "bfloat16", {}),
    "exaone4": ("exaone4", dict(sliding_window=3, num_hidden_layers=4, sliding_window_pattern=4), "bfloat16", {}),
    "exaone4-full": ("exaone4", dict(sliding_window=None, layer_types=["full_attention"] * 2), "bfloat16", {}),
    "hunyuan_v1_dense": ("hunyuan_v1_dense", dict(head_dim=8, rope_parameters=rope("dynamic", alpha=50.0, factor=1.0)), "bfloat16", {}),
    "gptj": ("gptj", dict(rotary_dim=4), "bfloat16", {}),
    "gpt_neo": ("gpt_neo", dict(window_size=3, attention_types=[[["global", "local"], 1]]), "bfloat16", {}),
    "gpt_bigcode": ("gpt_bigcode", dict(n_layer=2), "bfloat16", {}),
    "gpt_bigcode-heads": ("gpt_bigcode", dict(multi_query=False, n_inner=20), "bfloat16", {}),
    "opt": ("opt", dict(), "bfloat16", {}),
    "falcon-one": ("falcon", dict(bias=True), "bfloat16", {}),
    "falcon-groups": ("falcon", dict(new_decoder_architecture=True, num_kv_heads=2, num_attention_heads=4, hidden_size=32), "bfloat16", {}),
    "falcon-serial": ("falcon", dict(multi_query=False, parallel_attn=False), "bfloat16", {}),
    "persimmon": ("persimmon", dict(), "bfloat16", {}),
    "exaone4-default-window": ("exaone4", dict(sliding_window=4096, sliding_window_pattern=2), "bfloat16",
                               dict(drop=["sliding_window", "layer_types"])),
    "gpt_neo-types": ("gpt_neo", dict(window_size=3, attention_types=[[["local", "global"], 1]]), "bfloat16",
                      dict(drop=["attention_layers"])),
    "gptj-scaled": ("gptj", dict(rotary_dim=4), "bfloat16",
                    dict(edit=dict(rope_scaling=dict(type="linear", factor=2.0), rope_theta=50.0))),  # not looked at
    "seed_oss-defaults": ("seed_oss", dict(head_dim=8), "bfloat16",
                          dict(drop=["attention_bias", "attention_out_bias", "mlp_bias"])),
    "bloom": ("bloom", dict(n_head=3, hidden_size=18), "bfloat16", {}),
    "mpt": ("mpt", dict(attn_config=dict(clip_qkv=0.9, softmax_scale=0.3)), "bfloat16", {}),
    "falcon-alibi": ("falcon", dict(alibi=True, hidden_size=32, num_attention_heads=16, multi_query=False,
                                    parallel_attn=False, bias=True), "bfloat16", {}),
    "codegen": ("codegen", dict(rotary_dim=4), "bfloat16", {}),
    "gpt_oss": ("gpt_oss", dict(num_local_experts=4, num_experts_per_tok=2, head_dim=8, sliding_window=3, swiglu_limit=1.0,
                                rope_parameters=rope("yarn", theta=1500.0, factor=4.0, truncate=False,
                                                     original_max_position_embeddings=16)), "bfloat16", {}),
    "gpt_oss-mxfp4": ("gpt_oss", dict(num_local_experts=3, num_experts_per_tok=2, head_dim=8, hidden_size=32, intermediate_size=32,
                                      num_hidden_layers=1, sliding_window=3, rope_parameters=rope(theta=1500.0)), "bfloat16",
                      dict(mxfp4=True)),
    "glm4_moe": ("glm4_moe", dict(n_routed_experts=4, num_experts_per_tok=2, moe_intermediate_size=10, n_shared_experts=2, use_qk_norm=True,
                                  attention_bias=True, routed_scaling_factor=1.5, num_hidden_layers=2, head_dim=8), "bfloat16", {}),
    "ernie4_5_moe": ("ernie4_5_moe", dict(moe_num_experts=4, moe_k=2, moe_intermediate_size=10, moe_num_shared_experts=1,
                                          moe_layer_start_index=1, num_hidden_layers=3, moe_layer_end_index=1), "bfloat16", {}),
    "apertus": ("apertus", dict(rope_parameters=rope(
        "llama3", theta=500.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
        original_max_position_embeddings=32)), "bfloat16", {}),
    "granitemoeshared": ("granitemoeshared", dict(num_local_experts=4, num_experts_per_tok=2, shared_intermediate_size=14,
                                                  embedding_multiplier=6.0, logits_scaling=4.0), "bfloat16", {}),
    "llama4_text": ("llama4_text", dict(num_local_experts=4, num_experts_per_tok=2, head_dim=8, num_hidden_layers=4,
                                        intermediate_size_mlp=20, attention_chunk_size=4, interleave_moe_layer_step=2,
                                        floor_scale=3, attn_scale=0.5), "bfloat16", {}),
    "dbrx": ("dbrx", dict(attn_config=dict(kv_n_heads=1, clip_qkv=0.9, rope_theta=10000.0), ffn_config=dict(
        ffn_hidden_size=12, moe_num_experts=4, moe_top_k=2)), "bfloat16", {}),
    "gemma3_text-cap": ("gemma3_text", dict(head_dim=8, attn_logit_softcapping=2.0, query_pre_attn_scalar=1),
                        "bfloat16", {}),  # the cap is not looked at
}


SMALL = ["llama-bias-linear", "llama-f64", "llama-llama3", "qwen2-window", "qwen3_moe-norm", "mixtral", "gemma2-old",
         "gemma3_text-old", "phi3-longrope-old", "gpt2-plain-names", "smollm3-window",
         "granite", "cohere-qk", "cohere2", "phi", "olmoe-clip", "gpt2-by-depth", "phi-qk", "gemma3_text-cap",
         "stablelm-qk", "olmo", "qwen2_moe", "granitemoe", "arcee", "nemotron", "helium", "seed_oss", "ernie4_5", "ministral", "glm",
         "glm4", "exaone4", "exaone4-full", "hunyuan_v1_dense", "gptj", "gpt_neo", "gpt_bigcode", "gpt_bigcode-heads", "opt",
         "falcon-one", "falcon-groups", "falcon-serial", "persimmon", "exaone4-default-window", "gpt_neo-types", "gptj-scaled",
         "seed_oss-defaults", "bloom", "mpt", "falcon-alibi", "codegen", "gpt_oss", "gpt_oss-mxfp4", "glm4_moe", "ernie4_5_moe", "apertus", "granitemoeshared", "llama4_text",
         "dbrx"]


def build(model_type, more, dtype):
    sizes = dict(SIZES)
    if model_type in ("gpt2", "gptj", "gpt_bigcode", "codegen"):
        sizes = dict(vocab_size=SIZES["vocab_size"], n_embd=SIZES["hidden_size"], n_layer=1,
                     n_head=SIZES["num_attention_heads"], n_positions=64, bos_token_id=1, eos_token_id=2)
    if model_type in ("gpt_neox", "gpt_neo", "opt", "falcon", "persimmon"):
        del sizes["num_key_value_heads"]
    if model_type == "bloom":
        sizes = dict(vocab_size=SIZES["vocab_size"], hidden_size=SIZES["hidden_size"], n_layer=2, n_head=4, bos_token_id=1, eos_token_id=2)
    if model_type in ("mpt", "dbrx"):
        sizes = dict(vocab_size=SIZES["vocab_size"], d_model=SIZES["hidden_size"], n_layers=2, max_seq_len=64,
                     n_heads=SIZES["num_attention_heads"], bos_token_id=1, eos_token_id=2)
    if model_type == "gpt_neo":
        sizes["num_layers"], sizes["num_heads"] = sizes.pop("num_hidden_layers"), sizes.pop("num_attention_heads")
    if model_type == "opt":
        sizes["ffn_dim"], sizes["word_embed_proj_dim"] = sizes.pop("intermediate_size"), sizes["hidden_size"]
    if model_type == "falcon":
        sizes["ffn_hidden_size"] = sizes.pop("intermediate_size")
    sizes.update(more)
    config = CONFIG_MAPPING[model_type](**sizes)
    torch.manual_seed(len(model_type) + 7 * len(more))
    model = AutoModelForCausalLM.from_config(config)
    plus_one = model_type.startswith("gemma") or model_type == "nemotron"
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "norm" in name or "ln_" in name:
                base = torch.rand_like(p) + 0.5
                p.copy_(base - 1.0 if plus_one and name.endswith("weight") else base if name.endswith("weight")
                        else base - 1.0)
            elif name.endswith("bias"):
                p.copy_(torch.randn_like(p) * 0.4)
            else:
                p.copy_(torch.randn_like(p) * (0.6 if "embed" in name or "wte" in name else 0.35))
        for name, p in list(model.named_buffers()) + list(model.named_parameters()):
            if name.endswith("e_score_correction_bias"):
                p.copy_(torch.randn_like(p) * 0.3)
    return model.to(getattr(torch, dtype))


def pack(model):
    """Random experts in mxfp4 as gpt-oss is published, which the model gets as transformers reads them."""
    from transformers.integrations.mxfp4 import convert_moe_packed_tensors
    out = {}
    for i, layer in enumerate(model.model.layers):
        for name in ("gate_up_proj", "down_proj"):
            p = getattr(layer.mlp.experts, name)  # [E, in, out]
            e, k, n = p.shape
            blocks = torch.randint(0, 256, (e, n, k // 32, 16), dtype=torch.uint8)
            scales = torch.randint(122, 126, (e, n, k // 32), dtype=torch.uint8)
            with torch.no_grad():
                p.copy_(convert_moe_packed_tensors(blocks, scales))
            key = f"model.layers.{i}.mlp.experts.{name}"
            out[key + "_blocks"], out[key + "_scales"] = blocks, scales
    return out


def to_old(c):
    """The layout of transformers 4."""
    c = dict(c)
    c["torch_dtype"] = c.pop("dtype", "float32")
    c["transformers_version"] = "4.46.3"
    p = c.pop("rope_parameters", None) or {}
    full = p.get("full_attention", p)
    if full:
        theta, share = full.pop("rope_theta", 10000.0), full.pop("partial_rotary_factor", None)
        kind = full.pop("rope_type", "default")
        if c["model_type"] == "gpt_neox":
            c["rotary_emb_base"], c["rotary_pct"] = theta, share
        else:
            c["rope_theta"] = theta
            if share is not None:
                c["partial_rotary_factor"] = share
        c["rope_scaling"] = None if kind == "default" else dict(type=kind, **full)
    c.pop("layer_types", None)
    if c.get("tie_word_embeddings") is True and c["model_type"] in ("gpt2", "gemma", "gemma2", "gemma3_text", "cohere",
                                                                    "cohere2", "starcoder2", "smollm3"):
        c.pop("tie_word_embeddings")
    return c


def attributions(model, prompt, targets):
    """Scores of the prompt's tokens as the zoo defines them, with respect to rows of the embedding table."""
    table = model.get_input_embeddings()
    scale = getattr(table, "scalar_embed_scale", 1.0)
    whole = torch.tensor(prompt + targets[:-1])  # the last target is not read
    rows = table.weight.detach()[whole]
    n = len(prompt)

    def score(x):
        logits = model(inputs_embeds=(torch.cat([x, rows[n:]]) * scale)[None]).logits[0]
        logp = torch.log_softmax(logits, -1)
        return sum(logp[n - 1 + k, t] for k, t in enumerate(targets))

    def gradient(x):
        x = x.clone().requires_grad_(True)
        return torch.autograd.grad(score(x), x)[0]

    x = rows[:n]
    g = gradient(x)
    nodes, weights = numpy.polynomial.legendre.leggauss(16)
    out = dict(score=score(x).item(), saliency_l2=g.norm(dim=-1).tolist(), input_x_gradient=(g * x).sum(-1).tolist(),
               ig_gausslegendre_16={}, feature_ablation=[])
    for name, base in (("zero", torch.zeros_like(x)), ("token_2", table.weight.detach()[2].expand_as(x))):
        total = sum(w / 2 * gradient(base + (t + 1) / 2 * (x - base)) for t, w in zip(nodes, weights))
        out["ig_gausslegendre_16"][name] = (total * (x - base)).sum(-1).tolist()
    for i in range(n):
        y = x.clone()
        y[i] = table.weight.detach()[2]
        out["feature_ablation"].append((score(x) - score(y)).item())
    return out


def exact(folder, ids, targets, wide):
    """Logits of all positions, and attributions. wide: float64 throughout, by making float32 mean float64."""
    real_float, real_method = torch.float, torch.Tensor.float
    # Falcon's other implementation adds its ALiBi twice
    how = "sdpa" if getattr(AutoConfig.from_pretrained(folder), "alibi", False) is True else "eager"
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=REAL, attn_implementation=how).eval()
    try:
        if wide:
            state = model.state_dict()
            torch.float32 = torch.float = torch.float64
            torch.Tensor.float = lambda self, *a, **k: self.double()
            torch.set_default_dtype(torch.float64)
            model = AutoModelForCausalLM.from_config(model.config, dtype=torch.float64,
                                                     attn_implementation=how).eval()
            model.load_state_dict(state)
            assert all(b.dtype != REAL for _, b in model.named_buffers())
        if hasattr(model.config, "_experts_implementation"):
            model.config._experts_implementation = "eager"
        with torch.no_grad():
            out = [model(torch.tensor([i])).logits[0] for i in ids]
        assert not wide or all(o.dtype == torch.float64 for o in out)
        return [o.double() for o in out], [attributions(model, i, targets) for i in ids]
    finally:
        torch.float32, torch.float = REAL, real_float
        torch.Tensor.float = real_method
        torch.set_default_dtype(REAL)


def write(out, name):
    model_type, more, dtype, opts = CASES[name]
    if SIZES["vocab_size"] == 20 and dtype == "float32":
        dtype = "bfloat16"  # half the bytes
    folder = os.path.join(out, name)
    shutil.rmtree(folder, ignore_errors=True)
    model = build(model_type, more, dtype)
    packed = pack(model) if opts.get("mxfp4") else None
    model.save_pretrained(folder, max_shard_size=opts.get("shard", "5GB"))
    for extra in ("generation_config.json",):
        if os.path.exists(os.path.join(folder, extra)):
            os.remove(os.path.join(folder, extra))
    path = os.path.join(folder, "config.json")
    config = json.load(open(path))
    if opts.get("old"):
        config = to_old(config)
    config.update(opts.get("edit", {}))
    for key in opts.get("drop", []):
        config.pop(key, None)
    json.dump(config, open(path, "w"), indent=1, sort_keys=True)
    if "strip" in opts:
        from safetensors.torch import load_file, save_file
        f = os.path.join(folder, "model.safetensors")
        state = {k.removeprefix(opts["strip"]): v for k, v in load_file(f).items()}
        for i in range(config["n_layer"]):
            state[f"h.{i}.attn.bias"] = torch.tril(torch.ones(64, 64)).bool().reshape(1, 1, 64, 64)[:, :, :4, :4].contiguous()
        save_file(state, f, metadata={"format": "pt"})
    gen = torch.Generator().manual_seed(3)
    ids = [torch.randint(3, SIZES["vocab_size"], (n,), generator=gen).tolist() for n in (7, 12)]
    targets = torch.randint(3, SIZES["vocab_size"], (2,), generator=gen).tolist()
    (wide, scores), (narrow, rough) = exact(folder, ids, targets, True), exact(folder, ids, targets, False)
    noise = max(float((w - n).abs().max()) for w, n in zip(wide, narrow))
    if packed is not None:
        from safetensors.torch import load_file, save_file
        f = os.path.join(folder, "model.safetensors")
        state = {k: v for k, v in load_file(f).items() if k + "_blocks" not in packed}
        save_file({**state, **packed}, f, metadata={"format": "pt"})
        config["quantization_config"] = dict(quant_method="mxfp4", modules_to_not_convert=["lm_head"])
        json.dump(config, open(path, "w"), indent=1, sort_keys=True)
    case = dict(format="zoo-case-1", name=name, task="causal-lm", model_type=model_type, weights_dtype=dtype,
                expect="match", cases=[])
    for k, (i, w) in enumerate(zip(ids, wide)):
        rows = [[float(f"{v:.13g}") for v in row] for row in (w if k == 0 else w[-1:]).tolist()]
        expected = dict(logits=rows) if k == 0 else dict(logits_last=rows[0])
        floor = dict(logits=noise)
        for key, value in scores[k].items():
            parts = {key: value} if not isinstance(value, dict) else {f"{key}.{b}": v for b, v in value.items()}
            for name_, v in parts.items():
                r = rough[k][key] if name_ == key else rough[k][key][name_.split(".")[1]]
                floor[name_] = float(numpy.abs(numpy.array(v) - numpy.array(r)).max())
            expected[key] = json.loads(json.dumps(value), parse_float=lambda t: float(f"{float(t):.13g}"))
        case["cases"].append(dict(input_ids=i, targets=dict(token_ids=targets), expected=expected,
                                  f32_noise={key: float(f"{v:.3g}") for key, v in floor.items()}))
    json.dump(case, open(os.path.join(folder, "case.json"), "w"))
    print(f"{name:22} largest logit {max(float(w.abs().max()) for w in wide):8.3f}  f32 noise {noise:.2e}")


if __name__ == "__main__":
    names = sys.argv[2:] or list(CASES)
    if names == ["--small"]:
        names = SMALL
        SIZES.update(vocab_size=20, hidden_size=16, intermediate_size=12, num_attention_heads=2, num_key_value_heads=1)
    for n in names:
        try:
            write(sys.argv[1], n)
        except Exception as e:  # one family that this version cannot build does not stop the others
            print(f"{n:22} NOT WRITTEN: {type(e).__name__}: {str(e)[:200]}")
