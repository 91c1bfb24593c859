#!/usr/bin/env python3
"""Tiny masked language models and question answering encoders: tests/data/encoders/heads/NAME/.

    python encoder_head_fixtures.py OUT [NAME ...]        (transformers 5, torch, safetensors)

Random weights far from their usual start; numbers are transformers' in float64. case.json: kind (words, span); cases
with input_ids, token_type_ids, and
  words: target_ids (one for each mask token), logits [masks][vocabulary], logprob (the sum over the masks),
  span:  answer (first and last token), start_logits, end_logits, logprob (the sum of both);
and of that log-probability the gradient by word embedding: its 2-norm, its product with the embedding; and what is lost with
each token replaced by token 0; for spans, with each token hidden by the attention mask.
"""
import json
import os
import shutil
import sys

import torch
from transformers import (AlbertConfig, AlbertForMaskedLM, AlbertForQuestionAnswering, BertConfig, BertForMaskedLM, BertForQuestionAnswering, BertTokenizerFast, DebertaConfig, DebertaForMaskedLM, DebertaV2Config, DebertaV2ForMaskedLM,
                          DebertaV2ForQuestionAnswering, DistilBertConfig,
                          DistilBertForMaskedLM, DistilBertForQuestionAnswering, ElectraConfig, ElectraForMaskedLM,
                          ModernBertConfig, ModernBertForMaskedLM, ModernBertForQuestionAnswering, MPNetConfig,
                          MPNetForMaskedLM, RobertaConfig, RobertaForMaskedLM, RobertaForQuestionAnswering)

V, D, H, F, MASK = 40, 12, 2, 20, 4
COMMON = dict(vocab_size=V, hidden_size=D, num_hidden_layers=2, num_attention_heads=H, intermediate_size=F,
              max_position_embeddings=40, attn_implementation="eager")
MODERN = dict({**COMMON, "num_hidden_layers": 3}, local_attention=4, pad_token_id=0, cls_token_id=2, sep_token_id=3,
              bos_token_id=2, eos_token_id=3, norm_eps=1e-4)
DISTIL = dict(vocab_size=V, dim=D, n_layers=2, n_heads=H, hidden_dim=F, max_position_embeddings=40,
              attn_implementation="eager")
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + "a great film about rain and old houses , not".split() + [
    "##s", "##ing", "##ed"] + ["w%d" % i for i in range(V - 18)]


def models():
    yield "bert-words", BertForMaskedLM, BertConfig(**COMMON, hidden_act="gelu_new")
    yield "roberta-words", RobertaForMaskedLM, RobertaConfig(**COMMON, type_vocab_size=1, pad_token_id=1)
    yield "distilbert-words", DistilBertForMaskedLM, DistilBertConfig(**DISTIL)
    yield "modernbert-words", ModernBertForMaskedLM, ModernBertConfig(**MODERN)
    yield "electra-words", ElectraForMaskedLM, ElectraConfig(**COMMON, embedding_size=D)
    yield "mpnet-words", MPNetForMaskedLM, MPNetConfig(**COMMON, tie_word_embeddings=False)
    yield "bert-span", BertForQuestionAnswering, BertConfig(**COMMON)
    yield "roberta-span", RobertaForQuestionAnswering, RobertaConfig(**COMMON, type_vocab_size=1, pad_token_id=1)
    yield "distilbert-span", DistilBertForQuestionAnswering, DistilBertConfig(**DISTIL)
    yield "modernbert-span", ModernBertForQuestionAnswering, ModernBertConfig(**MODERN)


def more_models():
    yield "albert-words", AlbertForMaskedLM, AlbertConfig(**COMMON, embedding_size=8)
    yield "electra-small-words", ElectraForMaskedLM, ElectraConfig(**COMMON, embedding_size=6)
    yield "deberta-words", DebertaV2ForMaskedLM, DebertaV2Config(
        **COMMON, relative_attention=True, position_buckets=6, share_att_key=True, pos_att_type=["p2c", "c2p"])
    yield "deberta-later-words", DebertaV2ForMaskedLM, DebertaV2Config(
        **COMMON, relative_attention=True, share_att_key=True, pos_att_type=["c2p"], legacy=False)
    yield "deberta-v1-words", DebertaForMaskedLM, DebertaConfig(**COMMON, relative_attention=True, pos_att_type=["c2p"])
    yield "deberta-v1-later-words", DebertaForMaskedLM, DebertaConfig(
        **COMMON, relative_attention=True, pos_att_type=["p2c"], legacy=False, hidden_act="relu")
    yield "albert-span", AlbertForQuestionAnswering, AlbertConfig(**COMMON, embedding_size=8)
    yield "deberta-span", DebertaV2ForQuestionAnswering, DebertaV2Config(
        **COMMON, relative_attention=True, position_buckets=6, share_att_key=True, pos_att_type=["p2c", "c2p"])


def run(model, case, x=None, ids=None, hidden=None):
    """The log-probability that is explained, and what it is made of."""
    types = case.get("token_type_ids")
    more = {"token_type_ids": torch.tensor([types])} if types else {}
    given = {"inputs_embeds": x[None]} if x is not None else {"input_ids": torch.tensor([ids or case["input_ids"]])}
    mask = torch.ones(1, len(case["input_ids"]), dtype=torch.long)
    if hidden is not None:
        mask[0, hidden] = 0
    o = model(**given, attention_mask=mask, **more)
    if "target_ids" in case:
        at = [i for i, t in enumerate(case["input_ids"]) if t == MASK]
        z = o.logits[0, at]
        lp = torch.log_softmax(z, dim=-1)
        return sum(lp[k, t] for k, t in enumerate(case["target_ids"])), {"logits": z.tolist()}
    a, b = case["answer"]
    lp = torch.log_softmax(o.start_logits[0], 0)[a] + torch.log_softmax(o.end_logits[0], 0)[b]
    return lp, {"start_logits": o.start_logits[0].tolist(), "end_logits": o.end_logits[0].tolist()}


def main():
    out, only = sys.argv[1], sys.argv[2:]
    for name, cls, config in list(models()) + list(more_models()):
        if only and name not in only:
            continue
        torch.manual_seed(len(name) * 3)
        model = cls(config).eval()
        for p in model.parameters():
            p.data = torch.randn_like(p) * 0.35 + (1.0 if p.dim() == 1 and p.mean() > 0.5 else 0.0)
        folder = os.path.join(out, name)
        shutil.rmtree(folder, ignore_errors=True)
        model.save_pretrained(folder)
        BertTokenizerFast(vocab=dict((w, i) for i, w in enumerate(WORDS))).save_pretrained(folder)
        model = model.double()
        if name.endswith("words"):
            cases = [{"input_ids": [2, 5, MASK, 30, 7, 38, 3], "target_ids": [6]},
                     {"input_ids": [2, 9, MASK, 11, MASK, 3], "target_ids": [12, 7]}]
        else:
            cases = [{"input_ids": [2, 9, 7, 3, 5, 11, 30, 8, 3], "answer": [5, 6]}]
            if name in ("bert-span", "albert-span"):
                cases[0]["token_type_ids"] = [0] * 4 + [1] * 5
        for case in cases:
            x = model.get_input_embeddings().weight.detach()[case["input_ids"]].clone().requires_grad_(True)
            y, parts = run(model, case, x)
            (g,) = torch.autograd.grad(y, x)
            case |= parts | {"logprob": y.item(), "saliency_l2": g.norm(dim=1).tolist(),
                             "input_x_gradient": (g * x).sum(dim=1).tolist()}
            lost = []
            for i in range(len(case["input_ids"])):
                ids = list(case["input_ids"])
                ids[i] = 0
                lost.append(y.item() - run(model, case, ids=ids)[0].item() if case["input_ids"][i] != MASK else 0.0)
            case["lost_with_token_0"] = lost
            if name.endswith("span"):
                case["lost_hidden"] = [y.item() - run(model, case, hidden=i)[0].item()
                                       for i in range(len(case["input_ids"]))]
        with open(os.path.join(folder, "case.json"), "w", encoding="utf-8") as f:
            json.dump({"cases": cases}, f)
            f.write("\n")


if __name__ == "__main__":
    main()
