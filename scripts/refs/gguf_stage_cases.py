#!/usr/bin/env python3
"""Writes tests/data/tok/stages_{bert,t5,gemma4}.gguf, tiny vocabularies of the kinds that are stages, and stages.jsonl with
what Hugging Face tokenizers makes of texts with the same vocabulary: {"model", "text", "ids"} (with special tokens).
Needs: pip install tokenizers. Usage: gguf_stage_cases.py tests/data/tok
"""
import json
import struct
import sys

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

TEXTS = ["", " ", "Hello hello", "héllo WORLD!", "  a  b ", "ab abab ba", "[SEP] x <s>", "日本", "a\nb\n\nab", "unknownword", "한", "e\u0301", "🙂", "a b [MASK]"]


def string(s):
    b = s.encode()
    return struct.pack("<Q", len(b)) + b


def value(v):
    if isinstance(v, bool):
        return struct.pack("<I?", 7, v)
    if isinstance(v, int):
        return struct.pack("<II", 4, v)
    if isinstance(v, str):
        return struct.pack("<I", 8) + string(v)
    kind = 8 if isinstance(v[0], str) else 6 if isinstance(v[0], float) else 5
    body = b"".join(string(x) if kind == 8 else struct.pack("<f" if kind == 6 else "<i", x) for x in v)
    return struct.pack("<IIQ", 9, kind, len(v)) + body


def write(path, keys):
    with open(path, "wb") as f:
        f.write(b"GGUF" + struct.pack("<IQQ", 3, 0, len(keys)))
        for k, v in keys.items():
            f.write(string(k if k.startswith("general") else "tokenizer.ggml." + k) + value(v))


def bert():
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "hello", "world", "a", "b", "x", "ab", "!", "##ab", "##b", "##a", "日", "sep", "[", "]", "##ow", "##n", "un", "##k"]
    marked = [n if n[0] == "[" and len(n) > 2 else n[2:] if n.startswith("##") else "\u2581" + n for n in names]
    write(sys.argv[1] + "/stages_bert.gguf", {
        "model": "bert", "pre": "default", "tokens": marked, "token_type": [3] * 5 + [1] * (len(names) - 5), "unknown_token_id": 1,
        "cls_token_id": 2, "seperator_token_id": 3, "padding_token_id": 0, "mask_token_id": 4})
    t = Tokenizer(models.WordPiece({n: i for i, n in enumerate(names)}, unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer()
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    t.add_special_tokens(names[:5])
    return t


def t5():
    names = ["<pad>", "</s>", "<unk>", "\u2581", "\u2581a", "b", "a", "ab", "\u2581hello", "\u2581ab", "o", "l", "e", "h", "\u2581wor", "!", "日", "<extra>"]
    scores = [0.0, 0.0, 0.0, -2.0, -3.0, -3.5, -3.25, -4.0, -5.0, -4.5, -4.0, -4.125, -4.25, -4.5, -6.0, -5.5, -7.0, 0.0]
    write(sys.argv[1] + "/stages_t5.gguf", {
        "model": "t5", "pre": "default", "tokens": names, "scores": scores, "token_type": [3, 3, 2] + [1] * 14 + [4], "eos_token_id": 1, "unknown_token_id": 2,
        "padding_token_id": 0, "add_bos_token": False, "add_eos_token": True, "add_space_prefix": True, "remove_extra_whitespaces": True})
    t = Tokenizer(models.Unigram(list(zip(names, scores)), unk_id=2, byte_fallback=False))
    t.normalizer = normalizers.Sequence([normalizers.Strip(), normalizers.Replace(Regex(" {2,}"), " ")])
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    t.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    t.add_special_tokens(names[:2])
    return t


def gemma4():
    names = ["<pad>", "<eos>", "<bos>", "<unk>"] + ["<0x%02X>" % b for b in range(256)] + list("abhelox\n\u2581") + ["ab", "\u2581a", "abab", "\n\n", "he", "ll", "\u2581ab", "<turn>"]
    merges = ["a b", "\u2581 a", "ab ab", "\n \n", "h e", "l l", "\u2581 ab", "\u2581a b"]
    write(sys.argv[1] + "/stages_gemma4.gguf", {
        "model": "gemma4", "tokens": names, "token_type": [3] * 4 + [6] * 256 + [1] * (len(names) - 261) + [4], "merges": merges,
        "bos_token_id": 2, "eos_token_id": 1, "unknown_token_id": 3, "padding_token_id": 0, "add_bos_token": True, "add_space_prefix": False})
    t = Tokenizer(models.BPE({n: i for i, n in enumerate(names)}, [tuple(m.split(" ")) for m in merges], unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    t.normalizer = normalizers.Replace(" ", "\u2581")
    t.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()])
    t.post_processor = processors.TemplateProcessing(single="<bos> $A", special_tokens=[("<bos>", 2)])
    t.add_special_tokens(names[:4])
    t.add_tokens([AddedToken("<turn>", normalized=False)])
    return t


with open(sys.argv[1] + "/stages.jsonl", "w") as out:
    for name, make in (("bert", bert), ("t5", t5), ("gemma4", gemma4)):
        t = make()
        for text in TEXTS + ["x<turn>y", "<extra>a"]:
            if name == "t5" and text == "<extra>a":
                continue  # user-defined symbols are added tokens here, ordinary pieces there
            print(json.dumps({"model": name, "text": text, "ids": t.encode(text).ids}), file=out)
