#!/usr/bin/env python3
"""Writes tests/data/decoders/NAME.gguf and NAME.json: tiny random decoders of every family, with logits and gradients.

usage: decoder_fixtures.py OUTPUT_FOLDER [--folders DIR] [--llama-cpp] [--only NAME,NAME]
Made with transformers 5.24 on torch 2.15 (float64) and gguf 0.19. Weights are rounded to the type that they are stored in,
every internal cast to float32 is one to float64, and rotary tables are computed in float64. The metadata and the changes
of tensors are those of llama.cpp's converter: q and k rows of families with interleaved pairs are re-ordered, Gemma's norm
weights get 1 added, GPT-2's matrices are turned, GPT-NeoX's fused rows are sorted, experts are stacked.
--folders also saves each model as transformers does. --llama-cpp also runs llama.cpp on an F32 file of each model and
prints the largest difference of a logit: it should be about 1e-4 or less.

NAME.json: cases of {"input_ids", "logits" (last `rows` positions), "target", "score" (its log-probability), "gradient" [n, width]
by the embedding rows before any factor}."""
import json
import math
import os
import sys
import tempfile

import numpy as np
import torch

# Everything that the models do in float32 is done in float64.
torch.set_default_dtype(torch.float64)
import transformers as tr
from transformers.models.cohere import modeling_cohere  # noqa: F401  (imports all of torch's names before the change)

F32 = torch.float32
torch.Tensor.float = torch.Tensor.double
torch.float32 = torch.float = torch.float64
import gguf

V, IDS = 32, [5, 17, 30, 9, 31, 22, 5, 3]
TYPES = {"f32": gguf.GGMLQuantizationType.F32, "f16": gguf.GGMLQuantizationType.F16, "bf16": gguf.GGMLQuantizationType.BF16}
BASE = dict(vocab_size=V, hidden_size=16, intermediate_size=20, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
            max_position_embeddings=64, bos_token_id=1, eos_token_id=2, pad_token_id=None, attn_implementation="eager")


def rope(theta=10000.0, **more):
    return dict(rope_theta=theta, rope_type="default", **more)


# name: (architecture in GGUF, configuration, matrix type, what differs)
MODELS = {
    "gemma": ("gemma", tr.GemmaConfig(**BASE, head_dim=8, rope_parameters=rope()), "f16"),
    "gemma3": ("gemma3", tr.Gemma3TextConfig(**{**BASE, "num_hidden_layers": 7}, head_dim=8, sliding_window=3, query_pre_attn_scalar=8,
               rope_parameters={"sliding_attention": rope(), "full_attention": dict(rope_theta=1e6, rope_type="linear", factor=8.0)}), "f16"),
    "smollm3": ("smollm3", tr.SmolLM3Config(**{**BASE, "num_hidden_layers": 5}, rope_parameters=rope(5e4)), "bf16"),
    "granite": ("granite", tr.GraniteConfig(**BASE, embedding_multiplier=3.0, residual_multiplier=0.375, attention_multiplier=0.25,
                logits_scaling=0.5, rope_parameters=rope()), "f32"),
    "starcoder2": ("starcoder2", tr.Starcoder2Config(**BASE, use_bias=True, rope_parameters=rope(), sliding_window=None), "f16"),
    "cohere": ("command-r", tr.CohereConfig(**BASE, logit_scale=0.3125, rope_parameters=rope()), "f16"),
    "cohere_qk": ("command-r", tr.CohereConfig(**BASE, logit_scale=0.3125, rope_parameters=rope(), use_qk_norm=True), "f16"),
    "cohere2": ("cohere2", tr.Cohere2Config(**{**BASE, "num_hidden_layers": 5}, logit_scale=0.3125, sliding_window=3,
                rope_parameters=rope()), "bf16"),
    "qwen3moe": ("qwen3moe", tr.Qwen3MoeConfig(**BASE, head_dim=8, num_experts=5, num_experts_per_tok=2, moe_intermediate_size=12,
                 norm_topk_prob=True, rope_parameters=rope(), mlp_only_layers=[]), "f16"),
    "mixtral": ("llama", tr.MixtralConfig(**BASE, num_local_experts=3, num_experts_per_tok=2, rope_parameters=rope(),
                sliding_window=None), "f32"),
    "phi3": ("phi3", tr.Phi3Config(**{**BASE, "hidden_size": 32, "max_position_embeddings": 65536}, original_max_position_embeddings=16, rope_parameters=dict(
             rope_theta=10000.0, rope_type="longrope", short_factor=[1.0, 1.25, 1.5], long_factor=[1.125, 2.0, 5.0],
             original_max_position_embeddings=16, partial_rotary_factor=0.75)), "bf16"),
    "gpt2": ("gpt2", tr.GPT2Config(vocab_size=V, n_embd=16, n_layer=2, n_head=4, n_positions=32, bos_token_id=1, eos_token_id=2,
             attn_implementation="eager"), "f16"),
    "gptneox": ("gptneox", tr.GPTNeoXConfig(**{k: v for k, v in BASE.items() if k != "num_key_value_heads"}, hidden_act="gelu",
                rope_parameters=rope(partial_rotary_factor=0.5)), "f16"),
    "gptneox_serial": ("gptneox", tr.GPTNeoXConfig(**{k: v for k, v in BASE.items() if k != "num_key_value_heads"}, hidden_act="gelu",
                       use_parallel_residual=False, rope_parameters=rope(partial_rotary_factor=1.0)), "bf16"),
    "olmo2": ("olmo2", tr.Olmo2Config(**BASE, rope_parameters=rope(5e5)), "f16"),
    "olmo3": ("olmo2", tr.Olmo3Config(**{**BASE, "num_hidden_layers": 4}, sliding_window=3, rope_parameters=dict(rope_theta=5e5,
              rope_type="yarn", factor=4.0, original_max_position_embeddings=16, attention_factor=1.1386294361119891)), "f16"),
}
NO_KV = {k: v for k, v in BASE.items() if k != "num_key_value_heads"}
MODELS |= {
    "qwen2moe": ("qwen2moe", tr.Qwen2MoeConfig(**BASE, num_experts=5, num_experts_per_tok=2, moe_intermediate_size=12,
                 shared_expert_intermediate_size=10, norm_topk_prob=False, rope_parameters=rope(), mlp_only_layers=[]), "f16"),
    "olmoe": ("olmoe", tr.OlmoeConfig(**BASE, num_experts=4, num_experts_per_tok=2, norm_topk_prob=False,
              rope_parameters=rope()), "f16"),
    "granitemoe": ("granitemoe", tr.GraniteMoeConfig(**BASE, num_local_experts=4, num_experts_per_tok=2, embedding_multiplier=3.0,
                   residual_multiplier=0.375, attention_multiplier=0.25, logits_scaling=0.5, rope_parameters=rope()), "f16"),
    "arcee": ("arcee", tr.ArceeConfig(**BASE, rope_parameters=rope()), "f16"),
    "nemotron": ("nemotron", tr.NemotronConfig(**BASE, rope_parameters=rope(partial_rotary_factor=0.5)), "f16"),
    "ernie4_5": ("ernie4_5", tr.Ernie4_5Config(**BASE, head_dim=4, rope_parameters=rope(5e5)), "f16"),
    "seed_oss": ("seed_oss", tr.SeedOssConfig(**BASE, head_dim=8, rope_parameters=rope()), "f16"),
    "chatglm": ("chatglm", tr.GlmConfig(**BASE, head_dim=8, rope_parameters=rope(partial_rotary_factor=0.5)), "f16"),
    "glm4": ("glm4", tr.Glm4Config(**BASE, head_dim=8, rope_parameters=rope(partial_rotary_factor=0.5)), "f16"),
    "exaone4": ("exaone4", tr.Exaone4Config(**{**BASE, "num_hidden_layers": 4}, sliding_window=3, sliding_window_pattern=4,
                rope_parameters=rope()), "f16"),
    "exaone4_full": ("exaone4", tr.Exaone4Config(**BASE, sliding_window=None, layer_types=["full_attention"] * 2,
                     rope_parameters=rope()), "f16"),
    "hunyuan": ("hunyuan-dense", tr.HunYuanDenseV1Config(**BASE, head_dim=8, rope_parameters=rope()), "f16"),
    "olmo": ("olmo", tr.OlmoConfig(**BASE, clip_qkv=0.75, rope_parameters=rope()), "f16"),
    "starcoder": ("starcoder", tr.GPTBigCodeConfig(vocab_size=V, n_embd=16, n_layer=2, n_head=4, n_positions=32, bos_token_id=1,
                  eos_token_id=2, attn_implementation="eager"), "f16"),
    "falcon": ("falcon", tr.FalconConfig(**NO_KV, ffn_hidden_size=20, rope_parameters=rope()), "f16"),
    "falcon_groups": ("falcon", tr.FalconConfig(**NO_KV, ffn_hidden_size=20, num_kv_heads=2, new_decoder_architecture=True,
                      rope_parameters=rope()), "f16"),
    "phi2": ("phi2", tr.PhiConfig(**BASE, rope_parameters=rope(partial_rotary_factor=0.5)), "f16"),
    "stablelm": ("stablelm", tr.StableLmConfig(**BASE, use_qkv_bias=True, rope_parameters=rope(partial_rotary_factor=0.5)), "f16"),
}
MODELS |= {
    "gpt_oss": ("gpt-oss", tr.GptOssConfig(**{**BASE, "max_position_embeddings": 2048}, num_local_experts=4, num_experts_per_tok=2, head_dim=8, sliding_window=3,
                rope_parameters=dict(rope_type="yarn", rope_theta=150000.0, factor=32.0, beta_fast=32.0, beta_slow=1.0,
                truncate=False, original_max_position_embeddings=16)), "f16"),
    "llama4": ("llama4", tr.Llama4TextConfig(**{**BASE, "num_hidden_layers": 4}, num_local_experts=4, num_experts_per_tok=1, head_dim=8,
               intermediate_size_mlp=24, interleave_moe_layer_step=2, rope_parameters=rope(5e5)), "f16"),
    "apertus": ("apertus", tr.ApertusConfig(**BASE, rope_parameters=rope(12e6)), "f16"),
    "bloom": ("bloom", tr.BloomConfig(vocab_size=V, hidden_size=18, n_layer=2, n_head=3, bos_token_id=1, eos_token_id=2,
              attn_implementation="eager"), "f16"),
    "mpt": ("mpt", tr.MptConfig(vocab_size=V, d_model=16, n_layers=2, n_heads=4, max_seq_len=64, attn_config=dict(clip_qkv=1.25),
            attn_implementation="eager"), "f16"),
    "dbrx": ("dbrx", tr.DbrxConfig(vocab_size=V, d_model=16, n_layers=2, n_heads=4, max_seq_len=64, attn_config=dict(
             kv_n_heads=2, clip_qkv=1.25, rope_theta=10000.0), ffn_config=dict(ffn_hidden_size=12, moe_num_experts=4, moe_top_k=2),
             attn_implementation="eager"), "f16"),
    # no classes of their own in transformers: the formulas are Llama's
    "exaone": ("exaone", tr.LlamaConfig(**BASE, rope_parameters=rope(1e6)), "f16"),
    "internlm2": ("internlm2", tr.LlamaConfig(**BASE, rope_parameters=rope(1e6)), "f16"),
    "granitemoe_shared": ("granitemoe", tr.GraniteMoeSharedConfig(**BASE, num_local_experts=4, num_experts_per_tok=2, shared_intermediate_size=10,
                          embedding_multiplier=3.0, residual_multiplier=0.375, attention_multiplier=0.25, logits_scaling=0.5,
                          rope_parameters=rope()), "f16"),
}
MODELS |= {
    # one layer more than the model has, which predicts a further token
    "glm4moe": ("glm4moe", tr.Glm4MoeConfig(**{**BASE, "num_hidden_layers": 3}, head_dim=8, n_routed_experts=4, num_experts_per_tok=2,
                moe_intermediate_size=12, n_shared_experts=2, use_qk_norm=True, attention_bias=True, routed_scaling_factor=1.5,
                first_k_dense_replace=1, norm_topk_prob=True, rope_parameters=rope(1e6, partial_rotary_factor=0.5)), "f16"),
    "ernie4_5_moe": ("ernie4_5-moe", tr.Ernie4_5_MoeConfig(**{**BASE, "num_hidden_layers": 4}, moe_num_experts=4, moe_k=2, head_dim=4,
                     moe_intermediate_size=12, moe_num_shared_experts=2, moe_layer_start_index=1, moe_layer_interval=2, moe_layer_end_index=3,
                     rope_parameters=rope(5e5)), "f16"),
    "dots1": ("dots1", tr.Dots1Config(**{**BASE, "num_hidden_layers": 3, "num_key_value_heads": 4}, head_dim=4, n_routed_experts=4, num_experts_per_tok=2,
              moe_intermediate_size=12, n_shared_experts=1, first_k_dense_replace=1, norm_topk_prob=True, routed_scaling_factor=2.5,
              n_group=1, topk_group=1, rope_parameters=rope()), "f16"),
    "hunyuan_moe": ("hunyuan-moe", tr.HunYuanMoEV1Config(**BASE, head_dim=8, num_experts=4, moe_topk=2, rope_parameters=rope()), "f16"),
    "mistral3": ("mistral3", tr.Ministral3Config(**{**BASE, "max_position_embeddings": 64}, head_dim=8, rope_parameters=dict(
                 rope_type="yarn", rope_theta=1e6, factor=16.0, original_max_position_embeddings=4, beta_fast=32.0, beta_slow=1.0,
                 mscale=1.0, mscale_all_dim=1.0, llama_4_scaling_beta=0.25)), "f16"),
    "qwen2vl": ("qwen2vl", tr.Qwen2Config(**BASE, rope_parameters=rope(1e6)), "f16"),  # of a text all three positions are one
    "minicpm": ("minicpm", tr.GraniteConfig(**BASE, embedding_multiplier=12.0, residual_multiplier=0.5, attention_multiplier=0.5,
                logits_scaling=4.0, rope_parameters=rope()), "f16"),
    "minicpm_old": ("minicpm", tr.GraniteConfig(**BASE, embedding_multiplier=12.0, residual_multiplier=1.4 / math.sqrt(2.0),
                    attention_multiplier=0.5, logits_scaling=16 / 256.0, rope_parameters=rope()), "f16"),
    "orion": ("orion", tr.LlamaConfig(**BASE, rope_parameters=rope()), "f16"),
}
PERMUTED = {"mistral3", "minicpm", "minicpm_old", "smollm3", "granite", "mixtral", "granitemoe", "granitemoe_shared", "arcee", "olmo", "internlm2"}
# BLOOM writes the factor of its GELU with 8 digits
import transformers.models.bloom.modeling_bloom as bloom_code
bloom_code.BloomGelu.forward = lambda self, x: torch.nn.functional.gelu(x, approximate="tanh")


def key_heads(cfg):
    if cfg.model_type == "falcon":
        return cfg.num_kv_heads if cfg.new_decoder_architecture else 1
    if cfg.model_type == "gpt_bigcode":
        return 1
    if cfg.model_type == "dbrx":
        return cfg.attn_config.kv_n_heads
    return getattr(cfg, "num_key_value_heads", cfg.num_attention_heads)


def rounded(t, kind):
    return {"f32": torch.tensor(t.detach().numpy().astype(np.float32).astype(np.float64)), "f16": t.half().double(),
            "bf16": t.bfloat16().double()}[kind].detach()


def make(name):
    arch, cfg, kind = MODELS[name]
    torch.manual_seed(sum(map(ord, name)))
    for attr in ("rms_norm_eps", "layer_norm_eps", "norm_epsilon", "layer_norm_epsilon", "norm_eps"):
        if getattr(cfg, attr, None) is not None:
            setattr(cfg, attr, 2.0**-17)  # exact in the float32 of metadata, as every other number here
    model = tr.AutoModelForCausalLM.from_config(cfg, experts_implementation="eager").double().eval()
    if arch == "orion":  # Llama with layer norms
        for module in list(model.modules()):
            for key, child in list(module.named_children()):
                if type(child).__name__ == "LlamaRMSNorm":
                    setattr(module, key, torch.nn.LayerNorm(cfg.hidden_size, eps=2.0**-17).double())
    with torch.no_grad():
        for key, p in model.named_buffers():
            if "e_score_correction_bias" in key:
                p.copy_(rounded(0.3 * torch.randn_like(p), "f32"))
        for key, p in model.named_parameters():
            near_one = "norm" in key or ".ln_" in key
            if "act_fn" in key:
                p.copy_(rounded(0.3 * torch.randn_like(p), "f32"))
                continue
            less = arch.startswith("gemma") or arch == "nemotron"
            if p.dim() == 1:
                centre = 1.0 if near_one and key.endswith("weight") else 0.0
                p.copy_(rounded(centre + 0.4 * torch.randn_like(p), "f32") - (centre if less else 0.0))
            else:
                p.copy_(rounded(torch.randn_like(p) * (1.0 if "embed" in key or "wte" in key or "wpe" in key else
                                                       1.3 / math.sqrt(p.shape[-1])), kind))
    return model, arch, cfg, kind


def run(model, ids, rows, target):
    x = torch.tensor([ids])
    emb = model.get_input_embeddings()
    kept = {}

    def hook(_, __, out):
        out.retain_grad()
        kept["x"] = out
        return out

    h = emb.register_forward_hook(hook)
    logits = model(x, use_cache=False).logits[0]
    h.remove()
    score = torch.log_softmax(logits[-1], -1)[target]
    score.backward()
    factor = float(getattr(emb, "embed_scale", 1.0))
    g = kept["x"].grad[0] * factor
    model.zero_grad()
    r = lambda t: [float(f"{v:.12g}") for v in t.detach().reshape(-1).tolist()]
    return {"input_ids": ids, "rows": rows, "logits": r(logits[-rows:]), "target": target, "score": float(score),
            **({"gradient": r(g)} if rows > 1 else {})}


def permute(w, n_head):
    """llama.cpp's order of the rows of q and k: in each head, row 2i is row i, row 2i + 1 is row i + half."""
    s = w.shape
    return w.reshape(n_head, 2, s[0] // n_head // 2, *s[1:]).swapaxes(1, 2).reshape(s)


def tensors(name, model, arch, cfg):
    """(GGUF name, array) of every tensor."""
    n_layer = cfg.num_hidden_layers
    ids = {v: k for k, v in gguf.MODEL_ARCH_NAMES.items()}
    names = gguf.get_tensor_name_map(ids[arch], n_layer)
    state = {k: v.detach().numpy() for k, v in model.state_dict().items()}
    if arch == "apertus":  # these go into the metadata
        state = {k: v for k, v in state.items() if "act_fn" not in k}
    tied = cfg.tie_word_embeddings
    heads, kv = cfg.num_attention_heads, key_heads(cfg)
    d = cfg.hidden_size
    for key, w in state.items():
        if key in ("lm_head.weight", "embed_out.weight") and tied:
            continue
        if "inv_freq" in key or key.endswith(".attn.bias"):
            continue
        if arch == "bloom":
            key = key.removeprefix("transformer.")
        if name in PERMUTED and ("q_proj" in key or "k_proj" in key):
            w = permute(w, heads if "q_proj" in key else kv)
        if (arch.startswith("gemma") or arch == "nemotron") and key.endswith("norm.weight"):
            w = w + 1
        if arch == "falcon" and "query_key_value" in key:
            hd = d // heads
            w = w.reshape(kv, heads // kv + 2, hd, -1)
            yield names.get_name(key, try_suffixes=(".weight", ".bias")), np.concatenate(
                [w[:, :-2].reshape(heads * hd, -1), w[:, -2].reshape(kv * hd, -1), w[:, -1].reshape(kv * hd, -1)])
            continue
        if key.endswith("shared_expert_gate.weight"):
            w = w[0]
        if arch == "gpt2" and key.endswith(("c_attn.weight", "c_proj.weight", "c_fc.weight")):
            w = w.T
        if arch == "gpt-oss" and ".mlp.experts." in key:
            block, end = key.split(".")[2], "bias" if key.endswith("_bias") else "weight"
            if "gate_up" in key:
                w = w if end == "bias" else w.swapaxes(1, 2)  # rows g0 u0 g1 u1 ...
                yield f"blk.{block}.ffn_gate_exps.{end}", w[:, ::2]
                yield f"blk.{block}.ffn_up_exps.{end}", w[:, 1::2]
            else:
                yield f"blk.{block}.ffn_down_exps.{end}", w if end == "bias" else w.swapaxes(1, 2)
            continue
        if arch == "gpt-oss" and key.endswith("sinks"):
            yield f"blk.{key.split('.')[2]}.attn_sinks.weight", w
            continue
        if arch == "gpt-oss" and ".mlp.router." in key:
            yield f"blk.{key.split('.')[2]}.ffn_gate_inp.{key.split('.')[-1]}", w
            continue
        if arch == "llama4" and "feed_forward.experts" in key:
            block = key.split(".")[2]
            w = w.swapaxes(1, 2)
            if "gate_up" in key:
                half = w.shape[1] // 2
                yield f"blk.{block}.ffn_gate_exps.weight", w[:, :half]
                yield f"blk.{block}.ffn_up_exps.weight", w[:, half:]
            else:
                yield f"blk.{block}.ffn_down_exps.weight", w
            continue
        if arch == "dbrx" and "experts.mlp" in key:
            part = {"w1": "ffn_gate_exps", "v1": "ffn_up_exps", "w2": "ffn_down_exps"}[key.split(".")[-1]]
            w = w.reshape(cfg.ffn_config.moe_num_experts, -1, d)
            yield f"blk.{key.split('.')[2]}.{part}.weight", w.swapaxes(1, 2) if part == "ffn_down_exps" else w
            continue
        if key.endswith(("shared_mlp.input_linear.weight", "shared_mlp.output_linear.weight")):
            block, half = key.split(".")[2], w.shape[0] // 2
            if "input" in key:
                yield f"blk.{block}.ffn_gate_shexp.weight", w[:half]
                yield f"blk.{block}.ffn_up_shexp.weight", w[half:]
            else:
                yield f"blk.{block}.ffn_down_shexp.weight", w
            continue
        if "query_key_value" in key:
            w = w.reshape(heads, 3, d // heads, -1).swapaxes(0, 1).reshape(3 * d, -1)
            w = w[:, 0] if key.endswith("bias") else w
        if key.endswith(("experts.gate_up_proj", "block_sparse_moe.input_linear.weight")):
            block = key.split(".")[2]
            half = w.shape[1] // 2
            yield f"blk.{block}.ffn_gate_exps.weight", w[:, :half]
            yield f"blk.{block}.ffn_up_exps.weight", w[:, half:]
            continue
        if key.endswith(("experts.down_proj", "block_sparse_moe.output_linear.weight")):
            yield f"blk.{key.split('.')[2]}.ffn_down_exps.weight", w
            continue
        key = key.replace("block_sparse_moe", "mlp")
        if key.endswith("e_score_correction_bias"):
            yield f"blk.{key.split('.')[2]}.exp_probs_b.bias", w.reshape(-1)
            continue
        if key.endswith(("mlp.gate.weight", "mlp.gate.wg.weight", "mlp.router.layer.weight")):
            yield f"blk.{key.split('.')[2]}.ffn_gate_inp.weight", w
            continue
        new = names.get_name(key, try_suffixes=(".weight", ".bias"))
        assert new is not None, key
        yield new, w
    if arch == "glm4moe":
        rng = np.random.default_rng(1)
        for key, a in tensors_of_layer(cfg, rng):
            yield key, a
    if arch == "phi3":
        p = cfg.rope_parameters
        yield "rope_factors_long.weight", np.array(p["long_factor"])
        yield "rope_factors_short.weight", np.array(p["short_factor"])


def tensors_of_layer(cfg, rng):
    """What a layer that predicts a further token has, with any numbers."""
    d, q, k, e, f = cfg.hidden_size, cfg.num_attention_heads * 8, cfg.num_key_value_heads * 8, cfg.n_routed_experts, cfg.moe_intermediate_size
    sizes = {"attn_norm": [d], "post_attention_norm": [d], "attn_q": [q, d], "attn_k": [k, d], "attn_v": [k, d], "attn_output": [d, q],
             "attn_q_norm": [8], "attn_k_norm": [8], "ffn_gate_inp": [e, d], "ffn_gate_exps": [e, f, d], "ffn_up_exps": [e, f, d],
             "ffn_down_exps": [e, d, f], "ffn_gate_shexp": [2 * f, d], "ffn_up_shexp": [2 * f, d], "ffn_down_shexp": [d, 2 * f],
             "nextn.eh_proj": [d, 2 * d], "nextn.enorm": [d], "nextn.hnorm": [d], "nextn.shared_head_norm": [d],
             "nextn.embed_tokens": [V, d], "nextn.shared_head_head": [V, d]}
    for name, size in sizes.items():
        yield f"blk.{cfg.num_hidden_layers}.{name}.weight", rng.standard_normal(size)
    yield f"blk.{cfg.num_hidden_layers}.exp_probs_b.bias", rng.standard_normal(e)
    for name, n in (("attn_q", q), ("attn_k", k), ("attn_v", k)):
        yield f"blk.{cfg.num_hidden_layers}.{name}.bias", rng.standard_normal(n)


def metadata(w, name, arch, cfg, model):
    u = lambda k, v: w.add_uint32(f"{arch}.{k}", v)
    f = lambda k, v: w.add_float32(f"{arch}.{k}", v)
    heads, kv = cfg.num_attention_heads, key_heads(cfg)
    hd = getattr(cfg, "head_dim", None) or cfg.hidden_size // heads
    u("block_count", cfg.num_hidden_layers + (arch == "glm4moe"))
    u("context_length", getattr(cfg, "max_position_embeddings", None) or getattr(cfg, "max_seq_len", 64))
    u("embedding_length", cfg.hidden_size)
    u("feed_forward_length", cfg.ffn_config.ffn_hidden_size if arch == "dbrx" else getattr(cfg, "intermediate_size_mlp", None) or getattr(cfg, "intermediate_size", None) or getattr(cfg, "ffn_hidden_size", None) or 4 * cfg.hidden_size)
    u("attention.head_count", heads)
    if kv != heads:
        u("attention.head_count_kv", kv)
    for attr, key in (("rms_norm_eps", "rms_"), ("layer_norm_eps", ""), ("norm_epsilon", ""), ("layer_norm_epsilon", ""), ("norm_eps", "")):
        if getattr(cfg, attr, None) is not None:
            f(f"attention.layer_norm_{key}epsilon", getattr(cfg, attr))
    if getattr(cfg, "head_dim", None):
        u("attention.key_length", hd)
        u("attention.value_length", hd)
    p = getattr(cfg, "rope_parameters", None)
    if p:
        p = p.get("full_attention", p)
        if arch not in ("gptneox", "gemma"):
            f("rope.freq_base", p["rope_theta"])
        if p.get("partial_rotary_factor") or arch in ("llama", "granite", "smollm3", "cohere2"):
            u("rope.dimension_count", int(hd * p.get("partial_rotary_factor", 1.0)))
        if p["rope_type"] in ("linear", "yarn"):
            w.add_string(f"{arch}.rope.scaling.type", p["rope_type"])
            f("rope.scaling.factor", p["factor"])
        if arch == "mistral3":
            f("rope.scaling.yarn_log_multiplier", p["mscale_all_dim"])
            f("attention.temperature_scale", p["llama_4_scaling_beta"])
        if p["rope_type"] in ("yarn", "longrope"):
            u("rope.scaling.original_context_length", p["original_max_position_embeddings"])
        if p["rope_type"] == "longrope":
            original = p["original_max_position_embeddings"]
            f("rope.scaling.attn_factor", math.sqrt(1 + math.log(cfg.max_position_embeddings / original) / math.log(original)))
    if arch == "qwen2vl":
        w.add_array(f"{arch}.rope.dimension_sections", [1, 1, 0, 0])
    if arch == "orion":
        f("attention.layer_norm_epsilon", 2.0**-17)
    if arch in ("command-r", "cohere2"):
        w.add_string(f"{arch}.rope.scaling.type", "none")
        f("logit_scale", cfg.logit_scale)
    if arch == "dbrx":
        f("attention.layer_norm_epsilon", 1e-5)
    if arch in ("mpt", "dbrx"):
        f("attention.clamp_kqv", cfg.attn_config.clip_qkv)
    if arch == "mpt":
        f("attention.max_alibi_bias", 8.0)
    if arch == "apertus":
        for key in ("alpha_p", "alpha_n", "beta", "eps"):
            w.add_array(f"xielu.{key}", [float(getattr(l.mlp.act_fn, key)) for l in model.model.layers])
    if arch == "llama4":
        u("interleave_moe_layer_step", cfg.interleave_moe_layer_step)
        u("expert_feed_forward_length", cfg.intermediate_size)
    if name == "granitemoe_shared":
        u("expert_shared_feed_forward_length", cfg.shared_intermediate_size)
    if arch == "olmo":
        f("attention.layer_norm_epsilon", 1e-5)
        f("attention.clamp_kqv", cfg.clip_qkv)
    if arch == "stablelm":
        w.add_bool("stablelm.use_parallel_residual", cfg.use_parallel_residual)
    if arch in ("granite", "granitemoe"):
        f("attention.scale", cfg.attention_multiplier)
    if arch in ("granite", "granitemoe") or name == "minicpm":
        f("embedding_scale", cfg.embedding_multiplier)
        f("residual_scale", cfg.residual_multiplier)
        f("logit_scale", cfg.logits_scaling)
    if arch == "gptneox":
        w.add_bool(f"{arch}.use_parallel_residual", cfg.use_parallel_residual)
    if getattr(cfg, "sliding_window", None):
        u("attention.sliding_window", cfg.sliding_window)
        if name in ("olmo3", "exaone4"):
            w.add_array(f"{arch}.attention.sliding_window_pattern", [t == "sliding_attention" for t in cfg.layer_types])
    if arch == "phi3":
        u("attention.sliding_window", 0)
    experts = getattr(cfg, "num_local_experts", None) or getattr(cfg, "num_experts", None)
    if arch == "dbrx":
        experts = cfg.ffn_config.moe_num_experts
        u("expert_feed_forward_length", cfg.ffn_config.ffn_hidden_size)
    if arch in ("glm4moe", "ernie4_5-moe", "dots1", "hunyuan-moe"):
        experts = len(model.model.layers[-1].mlp.experts.down_proj)
        width = getattr(cfg, "moe_intermediate_size", cfg.intermediate_size)
        u("expert_count", experts)
        u("expert_used_count", getattr(cfg, "moe_k", None) or getattr(cfg, "moe_topk", None) or cfg.num_experts_per_tok)
        u("expert_feed_forward_length", width)
        if arch == "ernie4_5-moe":
            u("interleave_moe_layer_step", cfg.moe_layer_interval)
            u("leading_dense_block_count", cfg.moe_layer_start_index)
            u("expert_shared_count", cfg.moe_num_shared_experts)
            u("expert_shared_feed_forward_length", cfg.moe_num_shared_experts * width)
        elif arch == "hunyuan-moe":
            u("expert_shared_feed_forward_length", cfg.intermediate_size)
        else:
            u("expert_shared_count", cfg.n_shared_experts)
            u("leading_dense_block_count", cfg.first_k_dense_replace)
            u("expert_gating_func", 2)
            f("expert_weights_scale", cfg.routed_scaling_factor)
            w.add_bool(f"{arch}.expert_weights_norm", cfg.norm_topk_prob)
        if arch == "glm4moe":
            u("nextn_predict_layers", 1)
    elif experts:
        u("expert_count", experts)
        u("expert_used_count", cfg.ffn_config.moe_top_k if arch == "dbrx" else cfg.num_experts_per_tok)
        if arch in ("qwen3moe", "qwen2moe", "gpt-oss"):
            u("expert_feed_forward_length", getattr(cfg, "moe_intermediate_size", cfg.intermediate_size))
        if arch == "qwen2moe":
            u("expert_shared_feed_forward_length", cfg.shared_expert_intermediate_size)
    w.add_string("tokenizer.ggml.model", "llama")
    w.add_string("tokenizer.ggml.pre", "default")
    w.add_array("tokenizer.ggml.tokens", ["<unk>", "<s>", "</s>"] + [chr(0x61 + i) if i < 26 else chr(0x41 + i - 26) for i in range(V - 3)])
    w.add_array("tokenizer.ggml.scores", [0.0] * 3 + [-float(i) for i in range(V - 3)])
    w.add_array("tokenizer.ggml.token_type", [2, 3, 3] + [1] * (V - 3))
    w.add_uint32("tokenizer.ggml.bos_token_id", 1)
    w.add_uint32("tokenizer.ggml.eos_token_id", 2)


def write(path, name, model, arch, cfg, kind):
    w = gguf.GGUFWriter(path, arch)
    w.add_string("general.name", f"tiny {name}")
    metadata(w, name, arch, cfg, model)
    for key, a in tensors(name, model, arch, cfg):
        q = TYPES["f32" if a.ndim == 1 or "ffn_gate_inp" in key or "_norm" in key or key.endswith("exps.bias") else kind]
        w.add_tensor(key, gguf.quants.quantize(np.ascontiguousarray(a, dtype=np.float32), q), raw_dtype=q)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def by_llama_cpp(path, case, v):
    import llama_cpp
    lc = llama_cpp.Llama(path, n_ctx=32, logits_all=True, verbose=False, n_threads=1, type_k=0, type_v=0)
    lc.eval(case["input_ids"])
    got = np.array(lc.scores[: len(case["input_ids"])], dtype=np.float64)[-case["rows"]:]
    return np.abs(got - np.array(case["logits"]).reshape(-1, v)).max()


def main():
    out, more = sys.argv[1], sys.argv[2:]
    only = more[more.index("--only") + 1].split(",") if "--only" in more else MODELS
    for name in only:
        model, arch, cfg, kind = make(name)
        cases = [run(model, IDS, 3, 7), run(model, IDS[:4], 1, 11)]
        if name == "phi3":  # longer than its original context
            cases.append(run(model, (IDS * 3)[:18], 2, 11))
        if name == "gpt_oss":  # windows are computed by pieces of 256 tokens
            cases.append(run(model, (IDS * 66)[:522], 12, 11))
            cases[-1].pop("gradient")
        write(os.path.join(out, name + ".gguf"), name, model, arch, cfg, kind)
        doc = {"name": name, "by": f"transformers {tr.__version__}, torch {torch.__version__}, float64", "cases": cases}
        with open(os.path.join(out, name + ".json"), "w") as f:
            json.dump(doc, f, separators=(",", ":"))
            f.write("\n")
        if "--folders" in more:
            folder = os.path.join(more[more.index("--folders") + 1], name)
            kinds = {"f32": F32, "f16": torch.float16, "bf16": torch.bfloat16}
            state = {k: v.to(F32 if v.dim() == 1 else kinds[kind]) for k, v in model.state_dict().items()}
            model.save_pretrained(folder, state_dict=state)
        if "--llama-cpp" in more:
            with tempfile.TemporaryDirectory() as t:
                path = os.path.join(t, "m.gguf")
                write(path, name, model, arch, cfg, "f32")
                try:
                    print(name, "llama.cpp differs by", by_llama_cpp(path, cases[0], V), flush=True)
                except Exception as e:  # an architecture that this build does not have
                    print(name, "llama.cpp:", e, flush=True)


main()
