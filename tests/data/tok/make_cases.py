"""Makes the files of this folder: make_cases.py GOLDENS_DIR TEXT_FILE. Needs tokenizers and sentencepiece from PyPI."""
import json
import os
import random
import struct
import sys

import sentencepiece
from tokenizers import Regex, Tokenizer, pre_tokenizers

HERE = os.path.dirname(os.path.abspath(__file__))
PIECES = (" |  |\n|\r\n|\n\n|\t|\u3000|\u00a0|\x85|\u2028|'s|'S|'Ll|'re|'VE|'\u017f|'|12|3|\u0663|\u00bd|\u2167|abc|the| and|"
          "\u00e9|\ufb00|\u4e2d\u6587|\U0001f600|e\u0301|\u02b0|_|-|...|!?|<|\x04|\x00|\u200b|\ufeff|\ufffd|\U00010d40|"
          "\U0001e5f1|\u01c5|\u212a|\u0928\u094d|<|eot_id|>|<|endoftext|>").split("|")
PIECES = [p for p in PIECES if p] + ["|", "<|eot_id|>", "<|endoftext|>"]


def text(words):
    out = ""
    for _ in range(random.randint(0, 10)):
        r = random.random()
        if r < 0.7:
            out += random.choice(PIECES)
        elif r < 0.9:
            out += random.choice(words)
        else:
            c = random.choice([random.randint(32, 0x2FFF), random.randint(0x4E00, 0x9FFF), random.randint(0x10000, 0x1FFFF)])
            out += chr(c)
    return out


def write(name, texts, encode):
    with open(os.path.join(HERE, name), "w", encoding="ascii") as f:
        for t in texts:
            f.write(json.dumps({"text": t, "ids": encode(t)}) + "\n")


def pattern(digits):
    split = Regex(r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}" + digits +
                  r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
    return pre_tokenizers.Sequence([pre_tokenizers.Split(split, "isolated"),
                                    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def cuts(name, pre, texts):
    """Where the pre-tokenizer cuts, as byte offsets of the words' ends."""
    with open(os.path.join(HERE, "cuts.jsonl"), "a", encoding="ascii") as f:
        for t in texts:
            ends = [len(t[:end].encode()) for _, (_, end) in pre.pre_tokenize_str(t)]
            f.write(json.dumps({"pre": name, "text": t, "ends": ends}) + "\n")


def bpe(goldens, words):
    open(os.path.join(HERE, "cuts.jsonl"), "w").close()
    for name, kind, digits in (("gpt2", "bpe-gpt2", None), ("smollm", "bpe-gpt2", None),
                               ("llama3", "bpe-llama3", "{1,3}"), ("qwen2", "bpe-llama3", "")):
        with open(os.path.join(goldens, "tokenizers", kind, "tokenizer.json"), encoding="utf-8") as f:
            spec = json.load(f)
        spec["model"]["ignore_merges"] = name == "llama3"
        tk = Tokenizer.from_str(json.dumps(spec))
        if digits is not None:
            tk.pre_tokenizer = pattern(digits)
        if name == "smollm":
            tk.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                                        pre_tokenizers.ByteLevel(add_prefix_space=False)])
        cuts(name, tk.pre_tokenizer, [text(words) for _ in range(120)] + ["'\u017fx 'Dx'll'LL'vE'R"])
        write(name + ".jsonl", [text(words) for _ in range(250)], lambda t: tk.encode(t, add_special_tokens=False).ids)


def gguf_string(b):
    return struct.pack("<Q", len(b)) + b


def gguf(path, sp, users, prefix):
    """Writes the model's vocabulary the way llama.cpp's converter lays it out."""
    n = sp.get_piece_size()
    pieces = [sp.id_to_piece(i) for i in range(n)]
    types = [2 if sp.is_unknown(i) else 3 if sp.is_control(i) else 6 if sp.is_byte(i) else 4 if p in users else 1
             for i, p in enumerate(pieces)]
    kvs = [("model", 8, gguf_string(b"llama")), ("pre", 8, gguf_string(b"default")),
           ("tokens", 9, struct.pack("<IQ", 8, n) + b"".join(gguf_string(p.encode()) for p in pieces)),
           ("scores", 9, struct.pack(f"<IQ{n}f", 6, n, *[sp.get_score(i) for i in range(n)])),
           ("token_type", 9, struct.pack(f"<IQ{n}i", 5, n, *types)),
           ("bos_token_id", 4, struct.pack("<I", 1)), ("eos_token_id", 4, struct.pack("<I", 2)),
           ("unknown_token_id", 4, struct.pack("<I", 0)), ("add_space_prefix", 7, bytes([prefix]))]
    with open(path, "wb") as f:
        f.write(b"GGUF" + struct.pack("<IQQ", 3, 0, len(kvs)))
        for key, kind, value in kvs:
            f.write(gguf_string(b"tokenizer.ggml." + key.encode()) + struct.pack("<I", kind) + value)


def spm(text_file, words):
    users = ["<tool>", "\n\n"]
    extra = ["<tool>", "</s>", "<unk>", "<0x0A>", "\u2581", "\n\n"]
    for name, prefix in (("spm_prefix", True), ("spm_bare", False)):
        stem = os.path.join("/tmp", name)
        sentencepiece.SentencePieceTrainer.train(
            input=text_file, model_prefix=stem, vocab_size=700, model_type="bpe", byte_fallback=True,
            normalization_rule_name="identity", remove_extra_whitespaces=False, add_dummy_prefix=prefix,
            character_coverage=0.98, user_defined_symbols=users, minloglevel=2)
        sp = sentencepiece.SentencePieceProcessor(model_file=stem + ".model")
        gguf(os.path.join(HERE, name + ".gguf"), sp, users, prefix)
        texts = ["".join(random.choice([" ", ""]) + (random.choice(extra) if random.random() < 0.2 else random.choice(words))
                         for _ in range(random.randint(0, 8))) for _ in range(150)]
        texts += [text(words + extra).replace("\x00", "") for _ in range(150)]
        write(name + ".jsonl", texts, sp.encode)


if __name__ == "__main__":
    random.seed(20)
    with open(sys.argv[2], encoding="utf-8") as source:
        vocabulary = source.read().split()
    bpe(sys.argv[1], vocabulary)
    spm(sys.argv[2], vocabulary)
