#!/usr/bin/env python3
"""What happens inside tiny text encoders, by torch in float64: tests/data/encoders/walks.json.

    python encoder_walk_fixtures.py tests/data/encoders        (transformers 5, torch; reads the models there)

Cases: model (a folder), ids, types, and either class and versus (logits, their difference) or target_ids (the sum of
their log-probabilities at the mask tokens); other (the other text's ids); then numbers by token:
  rollout              (1 + mean over heads of A) / 2 multiplied up; the row, or mean of rows, that is read
  attention            the same of 1 + mean over heads of (A dA f)+, of each answer, and their difference
  gradient, patching, linear: for each layer and site (out, attn.out, mlp.out, and heads: [head][token])
      gradient         sum over the width of value times gradient
      patching         f(text) - f(text with that token's value from the other text's run)
      linear           sum of (value - other's value) times gradient
  value, other_value, masked: f of both texts; f(text) - f(text with attention_mask 0 at that token)
"""
import json
import os
import sys

import torch
from transformers import AutoConfig, ElectraForSequenceClassification, ModernBertForSequenceClassification, RobertaForMaskedLM

CASES = [
    dict(model="electra", cls=ElectraForSequenceClassification, ids=[5, 9, 30, 3, 7, 38, 11], types=[0, 0, 0, 0, 1, 1, 1],
         other=[5, 9, 21, 3, 7, 8, 11], **{"class": 1, "versus": 0}, reads=[0]),
    dict(model="modernbert", cls=ModernBertForSequenceClassification, ids=[5, 9, 30, 3, 7, 38, 11, 12],
         other=[5, 9, 30, 3, 8, 38, 10, 12], **{"class": 1}, reads=range(8)),
    dict(model="heads/roberta-words", cls=RobertaForMaskedLM, ids=[2, 5, 4, 30, 7, 38, 3], other=[2, 6, 4, 30, 8, 38, 3],
         target_ids=[6], reads=[2]),
]


def parts(model):
    """Modules (block, attention's last layer, the MLP's last layer) of each layer."""
    base = model.base_model
    if hasattr(base, "encoder"):
        return [(b, b.attention.output.dense, b.output.dense) for b in base.encoder.layer]
    return [(b, b.attn.Wo, b.mlp.Wo) for b in base.layers]


class Inside:
    """Runs a model with eyes: keeps values of every site, or puts others in their place."""

    def __init__(self, model, case):
        self.model, self.case, self.heads = model, case, model.config.num_attention_heads

    def run(self, ids, put=None, mask=None, embeds=False):
        seen, hooks = {}, []

        def hook(name):
            def f(_module, _args, out):
                v = out[0] if isinstance(out, tuple) else out
                v = put(name, v) if put else v
                seen[name] = v
                if v.requires_grad:
                    v.retain_grad()
                return (v,) + tuple(out[1:]) if isinstance(out, tuple) else v
            return f

        def pre(name):
            def f(_module, args):
                v = put(name, args[0]) if put else args[0]
                seen[name] = v
                if v.requires_grad:
                    v.retain_grad()
                return (v,)
            return f

        for l, (block, attn, mlp) in enumerate(parts(self.model)):
            hooks += [block.register_forward_hook(hook((l, "out"))), attn.register_forward_hook(hook((l, "attn.out"))),
                      mlp.register_forward_hook(hook((l, "mlp.out"))), attn.register_forward_pre_hook(pre((l, "heads")))]
        more = {"token_type_ids": torch.tensor([self.case["types"]])} if "types" in self.case else {}
        mask = torch.ones(1, len(ids), dtype=torch.long) if mask is None else mask
        x = self.model.get_input_embeddings().weight.detach()[ids].clone().requires_grad_(True)
        o = self.model(inputs_embeds=x[None], attention_mask=mask, output_attentions=True, **more)
        for h in hooks:
            h.remove()
        return o, seen, x

    def f(self, o, only=None):
        c = self.case
        if "target_ids" in c:
            at = [i for i, t in enumerate(c["ids"]) if t == 4]
            lp = torch.log_softmax(o.logits[0, at], dim=-1)
            return sum(lp[k, t] for k, t in enumerate(c["target_ids"]))
        z = o.logits[0]
        if only is not None:
            return z[c[only]]
        return z[c["class"]] - (z[c["versus"]] if "versus" in c else 0.0)


def by_token(v, heads=None):
    """[1,T,D] -> [T], or [heads][T]."""
    v = v[0]
    if heads is None:
        return v.sum(dim=-1).tolist()
    return v.reshape(v.shape[0], heads, -1).sum(dim=-1).T.tolist()


def chain(mats, reads):
    t = mats[0].shape[-1]
    total = torch.eye(t, dtype=torch.float64)
    for m in mats:
        total = m @ total
    return total[list(reads)].mean(dim=0)


def attention(inside, case, only):
    o, _, _ = inside.run(case["ids"])
    g = torch.autograd.grad(inside.f(o, only), o.attentions)
    t = len(case["ids"])
    return chain([torch.eye(t, dtype=torch.float64) + (a * d).clamp(min=0)[0].mean(dim=0).double()
                  for a, d in zip(o.attentions, g)], case["reads"])


def main():
    root, out = sys.argv[1], []
    for case in CASES:
        folder = os.path.join(root, case["model"])
        config = AutoConfig.from_pretrained(folder)
        config._attn_implementation = "eager"
        model = case["cls"].from_pretrained(folder, config=config).double().eval()
        inside, heads, t = Inside(model, case), config.num_attention_heads, len(case["ids"])
        o, seen, x = inside.run(case["ids"])
        y = inside.f(o)
        names = list(seen)
        grads = dict(zip(names, torch.autograd.grad(y, [seen[n] for n in names], retain_graph=True)))
        o2, seen2, x2 = inside.run(case["other"])
        (gx,) = torch.autograd.grad(y, x)
        row = {k: v for k, v in case.items() if k not in ("cls", "reads")}
        row |= {"value": y.item(), "other_value": inside.f(o2).item(), "gradient_embed": (gx * x).sum(dim=1).tolist(),
                "linear_embed": (gx * (x - x2)).sum(dim=1).tolist()}
        eye = torch.eye(t, dtype=torch.float64)
        row["rollout"] = chain([(eye + a[0].mean(dim=0).double()) / 2 for a in o.attentions], case["reads"]).tolist()
        a = attention(inside, case, "class" if "class" in case else None)
        row["attention"] = (a - attention(inside, case, "versus") if "versus" in case else a).tolist()
        row["sites"] = []
        for n in names:
            h = heads if n[1] == "heads" else None
            patch = []
            for head in range(h or 1):
                one = []
                for i in range(t):
                    def put(name, v, n=n, i=i, head=head):
                        if name != n:
                            return v
                        v = v.clone()
                        w = v.shape[-1] // (h or 1)
                        v[0, i, head * w:(head + 1) * w] = seen2[n][0, i, head * w:(head + 1) * w]
                        return v
                    one.append(y.item() - inside.f(inside.run(case["ids"], put)[0]).item())
                patch.append(one)
            row["sites"].append({"layer": n[0], "site": n[1], "gradient": by_token(grads[n] * seen[n], h),
                                 "linear": by_token(grads[n] * (seen[n] - seen2[n]), h),
                                 "patching": patch if h else patch[0]})
        row["masked"] = []
        for i in range(t):
            mask = torch.ones(1, t, dtype=torch.long)
            mask[0, i] = 0
            row["masked"].append(y.item() - inside.f(inside.run(case["ids"], mask=mask)[0]).item())
        out.append(row)
    with open(os.path.join(root, "walks.json"), "w", encoding="utf-8") as f:
        json.dump({"cases": out}, f)
        f.write("\n")


if __name__ == "__main__":
    main()
