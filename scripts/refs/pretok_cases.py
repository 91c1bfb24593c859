#!/usr/bin/env python3
"""Writes tests/data/tok/pretok_cuts.jsonl: where the pre-tokenizers of published tokenizer files cut texts, by Hugging Face
tokenizers (a Sequence of Split, Digits, Punctuation and ByteLevel as those files have it). Rows: {"pre", "text", "ends"} with
byte offsets. Needs: pip install tokenizers. Usage: pretok_cases.py > tests/data/tok/pretok_cuts.jsonl
"""
import json
import random

from tokenizers import Regex
from tokenizers.pre_tokenizers import ByteLevel, Digits, Punctuation, Sequence, Split

CASES = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
TAIL = r"\s*[\r\n]+|\s+(?!\S)|\s+"
HIGH, LOW = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
WORDS = r"[^\r\n\p{L}\p{N}]?%s*%s+%s|[^\r\n\p{L}\p{N}]?%s+%s*%s"
KANA = "[一-龥぀-ゟ゠-ヿ]+"
CJK = "[一-龥ࠀ-一가-퟿]+"


def split(*patterns):
    return Sequence([Split(Regex(p), "isolated") for p in patterns])


def gpt2(*before):
    return Sequence([*before, ByteLevel(add_prefix_space=False)])


PRES = {
    "starcoder": gpt2(Digits(individual_digits=True)),
    "mpt": gpt2(),
    "falcon": Sequence([Punctuation("contiguous"), ByteLevel(add_prefix_space=False), Split(Regex("[0-9][0-9][0-9]"), "isolated")]),
    "llama-bpe": split(CASES + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + TAIL),
    "stablelm2": split(CASES + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + TAIL),
    "qwen35": split(CASES + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|" + TAIL),
    "gpt-4o": split(WORDS % (HIGH, LOW, CASES + "?", HIGH, LOW, CASES + "?") + r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + TAIL),
    "tekken": split(WORDS % (HIGH, LOW, "", HIGH, LOW, "") + r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + TAIL),
    "deepseek-v3": split(r"\p{N}{1,3}", KANA, r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|""" + TAIL),
    "deepseek-coder": split("[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", CJK, r"\p{N}"),
    "bailingmoe": split(r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"),
    "seed-coder": split(CASES + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}" + "\r\n]+|" + TAIL),
    "superbpe": split(r"\p{N}+", r"(?=(\d{3})+(?!\d))"),
}
TEXTS = [
    "", " ", "Hello, World! It's 3.14 o'clock.", "don't WE'LL Été 1234567 x1y22z333", "  leading and   inner  spaces ", "\n\nline\r\nline\t tab\n \n",
    "你好，世界！한국어 日本語テキスト", "नमस्ते दुनिया বাংলা ไทย", "😀😃👨‍👩‍👧 🇩🇪", "a_b-c/d\\e{f}[g](h)<i>", "ᏣᎳᎩ ⅷ ½ ² ① ٣", "naïve Ångström Ǆ ﬁ e\u0301", "if (x == 10) {\n    return y;\n}\n//\n",
    "CamelCaseWordsHERE andMore", "…—–“quotes”‘’", "1,000,000.50€ $5 £3", "מִבְּרֵאשִׁית العَرَبِيَّة", "\u3000全角　x\u200by\u00a0z", "'s 'S 'ſ 're'LL", "１２３ＡＢＣ", "a\n\n\n b \r\n", "!?!? ...\n\nx", "\U0001D400\u10d0\u0561x", "12345678901 999",
]


def random_texts():
    r = random.Random(5)
    kinds = ["abcdefgh ABC", "0123456789", "  \n\t\r", ".,;!?'\"()-$+^|`~", "äöüßéàñ", "漢字かなカナ", "ДЖйцу", "अआकि", "'s 're 'LL", "😀🙂é\u0301", "\u2028\u0085\u00a0"]
    return ["".join(r.choice(r.choice(kinds)) for _ in range(r.randint(1, 40))) for _ in range(40)]


for name, pre in PRES.items():
    for text in TEXTS + random_texts():
        parts = [p for _, p in pre.pre_tokenize_str(text)]
        ends = [len(text[:b].encode()) for a, b in parts if b > a]
        print(json.dumps({"pre": name, "text": text, "ends": ends}))
