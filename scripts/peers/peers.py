#!/usr/bin/env python3
"""Does the same jobs with ascribe and with its peers and prints ratios.

usage: peers.py MODEL.gguf [--threads N] [--only NAME[,NAME...]] [--repeat N]

Every job runs in a process of its own, which prints one JSON object; the parent adds wall time from process start and
peak resident memory. Jobs: ours-ig, ours-saliency, ours-bench, captum-ig, captum-saliency, llama-prompt,
llama-generate, llama-first-token. See README.md beside this file.
"""
import argparse
import json
import os
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ASCRIBE = os.path.join(ROOT, "build", "ascribe")
# "The capital of France is a city that has been famous for centuries ... The name of this city is", 56 tokens of
# SmolLM2, explained for the token " Paris". In f64 the log-probability is -1.77105814.
IDS = [504, 3575, 282, 4649, 314, 253, 2240, 338, 553, 719, 4248, 327, 5034, 327, 624, 984, 28, 624, 1114, 28, 624,
       4626, 284, 624, 14739, 28, 284, 897, 713, 5711, 282, 701, 429, 511, 1130, 260, 905, 2827, 665, 288, 963, 260,
       414, 46682, 18669, 351, 480, 1038, 3497, 30, 378, 1462, 282, 451, 2240, 314]
TARGET = 7042
VALUE = -1.77105814
BASELINE = 2  # <|im_end|>, the end-of-text token
STEPS, CHUNK = 64, 16
PROMPT = 512   # tokens of the prompt-processing job
GENERATE = 128  # tokens of the generation job


# --- Captum on torch -------------------------------------------------------------------------------------------------

def load_torch(path, threads):
    """LlamaForCausalLM with the weights that the `gguf` package dequantises, in f32."""
    import numpy as np
    import torch
    from gguf import GGUFReader, dequantize
    from transformers import LlamaConfig, LlamaForCausalLM
    torch.set_num_threads(threads)
    reader = GGUFReader(path)

    def meta(key):
        return reader.fields["llama." + key].contents()

    heads, kv_heads, width = meta("attention.head_count"), meta("attention.head_count_kv"), meta("embedding_length")
    tensors = {t.name: t for t in reader.tensors}
    config = LlamaConfig(
        vocab_size=int(tensors["token_embd.weight"].shape[1]), hidden_size=width,
        intermediate_size=meta("feed_forward_length"), num_hidden_layers=meta("block_count"),
        num_attention_heads=heads, num_key_value_heads=kv_heads, max_position_embeddings=meta("context_length"),
        rms_norm_eps=meta("attention.layer_norm_rms_epsilon"),
        rope_parameters={"rope_type": "default", "rope_theta": meta("rope.freq_base")},
        tie_word_embeddings="output.weight" not in tensors)
    names = {"attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
             "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
             "ffn_down": "mlp.down_proj", "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm"}
    state = {}
    for name, tensor in tensors.items():
        w = np.array(dequantize(tensor.data, tensor.tensor_type), dtype=np.float32)
        parts = name.split(".")
        if parts[0] == "blk":
            if parts[2] in ("attn_q", "attn_k"):  # rows stored for interleaved rotary: 2i is i, 2i + 1 is i + half
                n = heads if parts[2] == "attn_q" else kv_heads
                w = w.reshape(n, -1, 2, w.shape[-1]).swapaxes(1, 2).reshape(w.shape)
            key = "model.layers.%s.%s.weight" % (parts[1], names[parts[2]])
        else:
            key = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight",
                   "output.weight": "lm_head.weight"}.get(name)
            if key is None:
                continue
        state[key] = torch.from_numpy(w)
    with torch.device("meta"):
        model = LlamaForCausalLM(config)
    missing, unexpected = model.load_state_dict(state, strict=False, assign=True)
    if set(missing) - {"lm_head.weight"} or unexpected:
        sys.exit("weights do not fit: missing %s, unexpected %s" % (missing, unexpected))
    model.tie_weights()
    model.model.rotary_emb = type(model.model.rotary_emb)(config)  # its table is computed, not loaded
    for p in model.parameters():
        p.requires_grad_(False)
    return model.eval()


def log_probability(model):
    import torch

    def forward(ids):  # only the last position's logits are computed, which is kind to the peer
        logits = model(input_ids=ids, use_cache=False, logits_to_keep=1).logits[:, -1]
        return torch.log_softmax(logits, -1)[:, TARGET]
    return forward


def captum_ig(path, threads):
    import torch
    from captum.attr import LayerIntegratedGradients
    model = load_torch(path, threads)
    ids = torch.tensor([IDS])
    forward = log_probability(model)
    with torch.no_grad():
        value = float(forward(ids)[0])
    for p in model.model.embed_tokens.parameters():
        p.requires_grad_(True)  # so that the layer's output is part of the graph
    method = LayerIntegratedGradients(forward, model.model.embed_tokens)
    start = time.monotonic()
    scores = method.attribute(ids, torch.full_like(ids, BASELINE), n_steps=STEPS, method="gausslegendre",
                              internal_batch_size=CHUNK).sum(-1)[0]
    return {"seconds": time.monotonic() - start, "value": value, "scores": scores.tolist()}


def captum_saliency(path, threads):
    import torch
    from captum.attr import LayerGradientXActivation  # the layer method with one backward pass
    model = load_torch(path, threads)
    for p in model.model.embed_tokens.parameters():
        p.requires_grad_(True)
    method = LayerGradientXActivation(log_probability(model), model.model.embed_tokens)
    start = time.monotonic()
    scores = method.attribute(torch.tensor([IDS])).sum(-1)[0]
    return {"seconds": time.monotonic() - start, "scores": scores.tolist()}


# --- llama.cpp -------------------------------------------------------------------------------------------------------

def load_llama(path, threads):
    from llama_cpp import Llama
    return Llama(path, n_ctx=PROMPT + GENERATE, n_batch=PROMPT, n_ubatch=PROMPT, n_threads=threads,
                 n_threads_batch=threads, verbose=False)


def best_of(repeat, work):
    times = []
    for _ in range(repeat):
        start = time.monotonic()
        work()
        times.append(time.monotonic() - start)
    return min(times)


def llama_prompt(path, threads):
    llm = load_llama(path, threads)
    prompt = (IDS * 10)[:PROMPT]

    def work(ids):
        llm.reset()
        llm.eval(ids)
    work(IDS)
    short = best_of(5, lambda: work(IDS))
    long = best_of(3, lambda: work(prompt))
    return {"tokens_per_second": PROMPT / long, "tokens_per_second_56": len(IDS) / short}


def llama_generate(path, threads):
    llm = load_llama(path, threads)
    times = []
    for _ in range(3):
        llm.reset()
        llm.eval(IDS)
        start = time.monotonic()
        for _ in range(GENERATE):
            llm.eval([llm.sample(temp=0.0)])
        times.append(time.monotonic() - start)
    return {"tokens_per_second": GENERATE / min(times)}


def llama_first(path, threads):
    llm = load_llama(path, threads)
    llm.eval(IDS)
    return {"token": llm.sample(temp=0.0)}


# --- ascribe: the program itself --------------------------------------------------------------------------------------

def explain_command(path, threads, *options):
    return [ASCRIBE, "explain", path, "--ids", ",".join(map(str, IDS)), "--target-ids", str(TARGET), "--threads",
            str(threads), "--features", "token", "--json", "-", *options]


def ours_ig(path, threads):
    return explain_command(path, threads, "--method", "integrated-gradients", "--rule", "gauss-legendre", "--steps",
                           str(STEPS), "--baseline", "token:%d" % BASELINE)


def ours_saliency(path, threads):
    return explain_command(path, threads, "--method", "saliency")


def ours_bench(path, threads):
    """Prompt processing and generation, and what the machine can do at most."""
    return [ASCRIBE, "bench", path, "--ids", ",".join(map(str, IDS)), "--steps", str(STEPS), "--threads", str(threads),
            "--json", "-"]


PYTHON_JOBS = {"captum-ig": captum_ig, "captum-saliency": captum_saliency, "llama-prompt": llama_prompt,
               "llama-generate": llama_generate, "llama-first-token": llama_first}
OUR_JOBS = {"ours-ig": ours_ig, "ours-saliency": ours_saliency, "ours-bench": ours_bench}


def run(name, path, threads):
    """One job in a process of its own: its JSON, wall seconds from process start, peak resident bytes."""
    if name in OUR_JOBS:
        command = OUR_JOBS[name](path, threads)
    else:
        command = [sys.executable, os.path.abspath(__file__), path, "--threads", str(threads), "--job", name]
    read_end, write_end = os.pipe()
    start = time.monotonic()
    pid = os.fork()
    if pid == 0:
        os.close(read_end)
        os.dup2(write_end, 1)
        os.environ["OMP_NUM_THREADS"] = str(threads)
        os.execv(command[0], command)
    os.close(write_end)
    with os.fdopen(read_end, encoding="utf-8") as pipe:
        text = pipe.read()
    _, status, usage = os.wait4(pid, 0)
    wall = time.monotonic() - start
    if status != 0:
        print("  %s failed: %s" % (name, " ".join(command[:4])), file=sys.stderr)
        return None
    result = json.loads(text[text.index("{"):])
    result.update(wall=wall, peak=usage.ru_maxrss * 1024)
    return result


def relative_difference(a, b):
    return max(abs(x - y) for x, y in zip(a, b)) / max(abs(y) for y in b)


def table(results):
    def get(job, key, scale=1.0):
        return results[job][key] * scale if results.get(job) and results[job].get(key) is not None else None

    def row(what, ours, peer, peer_name, unit, want="", good=None):
        """`want` in words; `good` maps (ours, ratio) to whether it is met."""
        if ours is None:
            return
        ratio = ours / peer if peer else None
        verdict = "" if good is None or (peer_name and ratio is None) else "  yes" if good(ours, ratio) else "  NO"
        print("%-32s %9.2f %9s  %-11s %-9s %7s  %s%s" % (
            what, ours, "%.2f" % peer if peer else "", peer_name, unit, "%.2f" % ratio if ratio else "", want, verdict))

    print("\n%-32s %9s %9s  %-11s %-9s %7s  %s" % ("job", "ascribe", "peer", "peer is", "unit", "ratio", "wanted, met?"))
    row("integrated gradients, 64 steps", get("ours-ig", "seconds"), get("captum-ig", "seconds"), "captum", "s",
        "ratio <= 0.50", lambda o, r: r <= 0.5)
    row("  with reading the model", get("ours-ig", "wall"), get("captum-ig", "wall"), "captum", "s")
    row("  peak resident memory", get("ours-ig", "peak", 1e-6), get("captum-ig", "peak", 1e-6), "captum", "MB",
        "<= 600 MB", lambda o, r: o <= 600)
    row("process start to saliency", get("ours-saliency", "wall"), get("captum-saliency", "wall"), "captum", "s",
        "<= 0.8 s", lambda o, r: o <= 0.8)
    row("  against a first token", get("ours-saliency", "wall"), get("llama-first-token", "wall"), "llama.cpp", "s")
    row("prompt processing, 56 tokens", get("ours-bench", "prompt_tokens_per_second"),
        get("llama-prompt", "tokens_per_second_56"), "llama.cpp", "tokens/s", "ratio >= 1.50", lambda o, r: r >= 1.5)
    row("  share of the f32 peak", get("ours-bench", "prompt_share_of_peak", 100.0), None, "", "%")
    row("gradient steps, share of peak", get("ours-bench", "gradient_share_of_peak", 100.0), None, "", "%", ">= 80 %",
        lambda o, r: o >= 80)
    row("generation", get("ours-bench", "generate_tokens_per_second"), get("llama-generate", "tokens_per_second"),
        "llama.cpp", "tokens/s")
    row("  share of memory bandwidth", get("ours-bench", "generate_share_of_bandwidth", 100.0), None, "", "%", ">= 40 %",
        lambda o, r: o >= 40)
    if get("ours-ig", "scores", 1) and get("captum-ig", "scores", 1):
        print("scores of the two integrated gradients differ by %.1e of the largest (f32 against f32)" %
              relative_difference(get("ours-ig", "scores", 1), get("captum-ig", "scores", 1)))
    for job in ("ours-ig", "captum-ig"):
        if get(job, "value") is not None:
            print("%s: log-probability %.6f, in f64 %.6f" % (job, get(job, "value"), VALUE))


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    p.add_argument("model")
    p.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    p.add_argument("--only", default=",".join([*OUR_JOBS, *PYTHON_JOBS]))
    p.add_argument("--repeat", type=int, default=1, help="best of N processes")
    p.add_argument("--job", help=argparse.SUPPRESS)
    p.add_argument("--json", help="also write all results to this file")
    args = p.parse_args()
    if args.job:
        json.dump(PYTHON_JOBS[args.job](args.model, args.threads), sys.stdout)
        return
    results = {}
    for name in args.only.split(","):
        for _ in range(args.repeat):
            r = run(name, args.model, args.threads)
            if r and (name not in results or r["wall"] < results[name]["wall"]):
                results[name] = r
        if name in results:
            shown = {k: v for k, v in results[name].items() if isinstance(v, float)}
            print("%-18s %s, peak %.0f MB" % (name, ", ".join("%s %.3f" % kv for kv in shown.items()),
                                              results[name]["peak"] / 1e6), flush=True)
    table(results)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump(results, f)


if __name__ == "__main__":
    main()
