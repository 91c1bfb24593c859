#!/usr/bin/env python3
"""Tiny sentence encoders as the sentence-transformers library saves them: tests/data/encoders/sentences/NAME/.

    python sentence_fixtures.py OUT        (transformers 5, torch, sentence-transformers 6)

One BERT with random weights under several heads: ways of pooling, several of them side by side, Dense with an
activation, Normalize between. case.json: cases with text and embedding, which the library computes (float64) and
which is divided by its length here. The library's own files are kept but for those that nobody reads.
"""
import json
import os
import shutil
import sys

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Dropout, Normalize, Pooling, Transformer
from transformers import BertConfig, BertModel, BertTokenizerFast

D = 16
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + "a great film about rain and old houses , not".split() + [
    "##s", "##ing", "##ed"] + ["w%d" % i for i in range(22)]


def base(folder):
    os.makedirs(folder)
    with open(os.path.join(folder, "vocab.txt"), "w", encoding="utf-8") as f:
        f.write("\n".join(WORDS) + "\n")
    config = BertConfig(vocab_size=len(WORDS), hidden_size=D, num_hidden_layers=2, num_attention_heads=2,
                        intermediate_size=20, max_position_embeddings=24)
    torch.manual_seed(5)
    model = BertModel(config, add_pooling_layer=False).eval()
    for p in model.parameters():
        p.data = torch.randn_like(p) * 0.4 + (1.0 if p.dim() == 1 and p.mean() > 0.5 else 0.0)
    model.save_pretrained(folder)
    BertTokenizerFast(vocab=dict((w, i) for i, w in enumerate(WORDS))).save_pretrained(folder)


def heads():
    for how in ("max", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"):
        yield how, [Pooling(D, how)]
    yield "joined-dense", [Pooling(D, ("mean", "cls", "max")), Dense(3 * D, 6, activation_function=torch.nn.Tanh())]
    yield "dense-twice", [Pooling(D, "mean_sqrt_len_tokens"), Dropout(0.2), Dense(
        D, 9, activation_function=torch.nn.GELU()), Normalize(), Dense(9, 5, bias=False, activation_function=torch.nn.Identity()),
        Normalize()]


def main():
    out, tmp = sys.argv[1], "/tmp/sentence-base"
    shutil.rmtree(tmp, ignore_errors=True)
    base(tmp)
    for name, modules in heads():
        folder = os.path.join(out, name)
        shutil.rmtree(folder, ignore_errors=True)
        torch.manual_seed(len(name))
        for m in modules:
            for p in m.parameters():
                p.data = torch.randn_like(p) * 0.3
        model = SentenceTransformer(modules=[Transformer(tmp), *modules]).eval()
        model.save_pretrained(folder, create_model_card=False)
        model = model.double()
        cases = []
        for text in ("a great film about rains", "old houses, not w3", "rain"):
            e = model.encode([text], convert_to_tensor=True)[0]
            cases.append({"text": text, "embedding": torch.nn.functional.normalize(e.double(), dim=0).tolist()})
        for extra in ("README.md", "vocab.txt", "special_tokens_map.json", "config_sentence_transformers.json",
                      "sentence_bert_config.json"):
            if os.path.exists(os.path.join(folder, extra)):
                os.remove(os.path.join(folder, extra))
        with open(os.path.join(folder, "case.json"), "w", encoding="utf-8") as f:
            json.dump({"cases": cases}, f)
            f.write("\n")


if __name__ == "__main__":
    main()
