#!/usr/bin/env python3
"""Sequences of two steps that add special tokens, as the tokenizers library takes them: tests/data/tok/post_steps.jsonl.

    python post_step_cases.py OUT        (tokenizers 0.23)

A line: name, tokenizer, cases of {"text", "pair" (or null), "ids", "type_ids", "plain_type_ids" (without special tokens)}.
"""
import json
import sys

from tokenizers import Tokenizer

V = {t: i for i, t in enumerate(["[UNK]", "a", "b", "[CLS]", "[SEP]", "<s>", "</s>", "[T]"])}


def piece(s):
    name, kind = s.split(":")
    key = "Sequence" if name[0] == "$" else "SpecialToken"
    return {key: {"id": name.removeprefix("$"), "type_id": int(kind)}}


def template(single, pair):
    return {"type": "TemplateProcessing", "single": [piece(s) for s in single.split()], "pair": [piece(s) for s in pair.split()],
            "special_tokens": {k: {"id": k, "ids": [V[k]], "tokens": [k]} for k in V}}


B = {"type": "BertProcessing", "sep": ["[SEP]", 4], "cls": ["[CLS]", 3]}
R = {"type": "RobertaProcessing", "sep": ["</s>", 6], "cls": ["<s>", 5], "trim_offsets": True, "add_prefix_space": False}
T = template("[T]:0 $A:2 [T]:4", "[T]:1 $A:2 $B:3")
PLAIN = template("$A:2", "$A:2 $B:3")
STEPS = {"bert-template": [B, T], "roberta-template": [R, T], "template-bert": [T, B], "template-roberta": [T, R],
         "bert-bert": [B, B], "bert-roberta": [B, R], "roberta-bert": [R, B], "plain-template": [PLAIN, T],
         "three": [R, PLAIN, B]}

with open(sys.argv[1], "w", encoding="utf-8") as f:
    for name, steps in STEPS.items():
        text = json.dumps({"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
                           "pre_tokenizer": {"type": "WhitespaceSplit"},
                           "post_processor": {"type": "Sequence", "processors": steps}, "decoder": None,
                           "model": {"type": "WordLevel", "vocab": V, "unk_token": "[UNK]"}})
        cases = []
        for pair in (None, "b b"):
            e = Tokenizer.from_str(text).encode("a b", pair)
            plain = Tokenizer.from_str(text).encode("a b", pair, add_special_tokens=False)
            cases.append({"text": "a b", "pair": pair, "ids": e.ids, "type_ids": e.type_ids, "plain_type_ids": plain.type_ids})
        f.write(json.dumps({"name": name, "tokenizer": text, "cases": cases}) + "\n")
