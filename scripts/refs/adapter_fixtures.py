#!/usr/bin/env python3
"""Writes tests/data/decoders/adapters/: LoRA adapters of the tiny decoders, with logits by PEFT, in float64.

usage: adapter_fixtures.py FOLDERS OUTPUT     (FOLDERS: what decoder_fixtures.py --folders DIR wrote)
Made with peft 0.21.2, transformers 5.24 and torch 2.15 (float64; see decoder_fixtures.py). An adapter NAME is a folder of
PEFT's files; NAME.json has "model" (of tests/data/decoders), "input_ids", "rows", "logits" (last rows, factor 1),
"logits_half" (factor 0.5). The matrices are random, B too, and rounded to the type that the file has."""
import json
import os
import sys

import torch

torch.set_default_dtype(torch.float64)
import transformers as tr
import gguf
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file

F32 = torch.float32
torch.Tensor.float = torch.Tensor.double


def wide(on):
    """What the models do in float32 is done in float64; files are read and written without that."""
    torch.float32 = torch.float = torch.float64 if on else F32


IDS = [5, 17, 30, 9, 31, 22, 5, 3]
# name: (model, type of the adapter, what differs)
ADAPTERS = {
    "granite_all": ("granite", "f32", dict(r=3, lora_alpha=5, target_modules="all-linear")),
    "mixtral_rs": ("mixtral", "bf16", dict(r=2, lora_alpha=3, use_rslora=True, target_modules=["q_proj", "k_proj", "v_proj", "o_proj"],
                                           rank_pattern={"k_proj": 4}, alpha_pattern={"layers.1.self_attn.q_proj": 7})),
    "gpt2": ("gpt2", "f16", dict(r=2, lora_alpha=4, target_modules=["c_attn", "c_fc", "c_proj"], fan_in_fan_out=True)),
    "gptneox": ("gptneox", "f32", dict(r=2, lora_alpha=4, target_modules=["query_key_value", "dense"])),
    "phi3": ("phi3", "f16", dict(r=2, lora_alpha=4, target_modules=["qkv_proj", "gate_up_proj", "down_proj"])),
    "smollm3": ("smollm3", "f32", dict(r=2, lora_alpha=4, target_modules=["q_proj", "k_proj", "up_proj"])),
}


def logits(model, rows=2):
    wide(True)
    with torch.no_grad():
        y = model(torch.tensor([IDS]), use_cache=False).logits[0, -rows:]
    wide(False)
    return [float(f"{v:.12g}") for v in y.reshape(-1).tolist()]


def scaled(model, factor):
    for m in model.modules():
        if hasattr(m, "scaling") and isinstance(m.scaling, dict):
            m.scaling = {k: v * factor for k, v in m.scaling.items()}


def write_gguf(path, folder, model):
    """The same as llama.cpp's converter makes it: names of the weights, q and k rows in the order of interleaved pairs."""
    cfg = model.config
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.GRANITE, cfg.num_hidden_layers)
    w = gguf.GGUFWriter(path, "granite")
    w.add_string("general.type", "adapter")
    w.add_string("adapter.type", "lora")
    with open(os.path.join(folder, "adapter_config.json")) as f:
        w.add_float32("adapter.lora.alpha", json.load(f)["lora_alpha"])
    for key, t in load_file(os.path.join(folder, "adapter_model.safetensors")).items():
        key = key.removeprefix("base_model.model.")
        a = t.numpy().astype("float32")
        if key.endswith("lora_B.weight") and ("q_proj" in key or "k_proj" in key):
            heads = cfg.num_attention_heads if "q_proj" in key else cfg.num_key_value_heads
            a = a.reshape(heads, 2, a.shape[0] // heads // 2, -1).swapaxes(1, 2).reshape(a.shape)
        end = ".lora_a" if key.endswith("lora_A.weight") else ".lora_b"
        new = names.get_name(key.rsplit(".", 2)[0] + ".weight", try_suffixes=(".weight",))
        w.add_tensor(new + end, a)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def main():
    folders, out = sys.argv[1:3]
    for name, (base, kind, options) in ADAPTERS.items():
        torch.manual_seed(sum(map(ord, name)))
        model = tr.AutoModelForCausalLM.from_pretrained(os.path.join(folders, base), dtype=torch.float64,
                                                        attn_implementation="eager", experts_implementation="eager").double().eval()
        wide(True)
        for m in model.modules():  # loading computes the rotary tables in float32
            if hasattr(m, "inv_freq"):
                fresh = type(m)(model.config)
                m.inv_freq, m.original_inv_freq = fresh.inv_freq, fresh.original_inv_freq
        wide(False)
        model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", **options)).double().eval()
        dtype = {"f32": F32, "f16": torch.float16, "bf16": torch.bfloat16}[kind]
        with torch.no_grad():
            for key, p in model.named_parameters():
                if "lora_" in key:
                    p.copy_((0.4 * torch.randn_like(p)).to(dtype).double())
        doc = {"model": base, "input_ids": IDS, "rows": 2, "logits": logits(model)}
        scaled(model, 0.5)
        doc["logits_half"] = logits(model)
        folder = os.path.join(out, name)
        for key, p in model.named_parameters():
            if "lora_" in key:
                p.data = p.data.to(dtype)
        model.peft_config["default"].base_model_name_or_path = "tiny-" + base
        model.save_pretrained(folder)
        if base == "granite":
            write_gguf(os.path.join(out, name + ".gguf"), folder, model)
        for extra in os.listdir(folder):
            if extra.startswith("README"):
                os.remove(os.path.join(folder, extra))
        with open(os.path.join(out, name + ".json"), "w") as f:
            json.dump(doc, f, separators=(",", ":"))
            f.write("\n")


main()
