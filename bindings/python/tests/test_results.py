"""Results: every field of their JSON, pickles and copies; and what is said of words that are nearly right."""
import copy
import json
import math
import pickle
import tempfile
import unittest

import numpy as np
import support

import ascribe
from ascribe.captum import attr

PROMPT, TARGET = "one two three", " four"


class Fields(unittest.TestCase):
    """Attributes and the JSON document say the same."""

    def same(self, r):
        d = r.to_dict()
        near = lambda a, b: a == b or b is None and a != a  # noqa: E731 (error_bound: NaN where it is not known)
        for key in ("baseline", "value", "sum", "converged", "stochastic", "samples", "panels", "noise_floor",
                    "tokens_run", "tokens_plain", "seconds", "flops", "peak_bytes", "predicted_peak_bytes", "warnings"):
            self.assertEqual(getattr(r, key), d[key], key)
        for key in ("residual", "error_bound"):
            self.assertTrue(near(getattr(r, key), d[key]), key)
        self.assertEqual(r.baseline_value, d["baseline_value"])
        self.assertEqual((r.method, r.options), (d["method"]["name"], d["method"]["options"]))
        self.assertEqual((r.prompt, r.prompt_ids.tolist()), (d["prompt"]["text"], d["prompt"]["ids"]))
        self.assertEqual((r.target, r.output, r.target_prob), tuple(d["target"][k] for k in ("text", "output", "prob")))
        self.assertEqual(None if r.versus is None else (r.versus, r.versus_ids.tolist()),
                         d["versus"] and (d["versus"]["text"], d["versus"]["ids"]))
        self.assertEqual(r.evaluations, (d["evaluations"]["forward"], d["evaluations"]["backward"]))
        self.assertEqual([[f.text, f.start, f.end, f.score, None if f.message < 0 else f.message] for f in r.features],
                         [[f[k] for k in ("text", "start", "end", "score", "message")] for f in d["features"]])
        self.assertEqual([r.prompt_ids[f.first_token:f.first_token + f.n_tokens].tolist() for f in r.features],
                         [f["token_ids"] for f in d["features"]])
        e = d.get("encoder", dict.fromkeys(("answer", "label", "versus_label", "second", "similar_to")))
        self.assertEqual((r.answer_kind, r.label, r.versus_label, r.second, r.similar_to),
                         tuple(e[k] for k in ("answer", "label", "versus_label", "second", "similar_to")))
        for row, x, share, want in zip(r.inner, r.inner_scores if r.inner else [], _none(r.inner_shares, r.inner),
                                       d.get("layers", [])):
            self.assertEqual((row.name, row.layer, row.total, x.tolist()),
                             tuple(want[k] for k in ("site", "layer", "total", "scores")))
            self.assertTrue(near(share, want["share"]))
        self.assertEqual(len(r.inner), len(d.get("layers", [])))
        return r, d

    def test_prompts(self):
        m = ascribe.load(support.DECODER, threads=1)
        r, d = self.same(m.explain(PROMPT, target=TARGET, per_token=True))
        self.assertEqual([t["value"] for t in d["answer_tokens"]], r.token_values.tolist())
        self.assertEqual([t["scores"] for t in d["answer_tokens"]], r.matrix.tolist())
        self.assertEqual(r.token_offsets.tolist(), [[t.start, t.end] for t in m.tokens(PROMPT)])
        self.same(m.explain(PROMPT, target=TARGET, versus=" five"))
        self.same(m.explain(PROMPT, target=TARGET, method="saliency", features="token"))
        self.same(m.explain(PROMPT, target=TARGET, method="shapley-value-sampling", samples=20))
        self.assertGreater(len(self.same(m.explain(PROMPT, target=TARGET, method="activation-patching",
                                                   corrupted="two one three", layers="out"))[0].inner), 0)
        self.same(m.explain(PROMPT, target=TARGET, method="integrated-gradients", baseline="eos", rule="gauss-legendre",
                            steps=5))

    def test_encoders(self):
        m = ascribe.load(support.CLASSIFIER, threads=1)
        r, _ = self.same(m.explain(support.IDS))
        self.assertEqual(r.answer_kind, "class")
        self.assertIn(r.label, m.classes())
        r, _ = self.same(m.explain(support.IDS, versus=m.classes()[-1], label=m.classes()[0]))
        self.assertEqual((r.label, r.versus_label), (m.classes()[0], m.classes()[-1]))


def _none(a, like):
    return a if a is not None else [None] * len(like)


class Pickles(unittest.TestCase):

    def check(self, r, arrays):
        for other in (pickle.loads(pickle.dumps(r)), pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(r)))),
                      copy.copy(r), copy.deepcopy(r)):
            self.assertIs(type(other), type(r))
            self.assertEqual((str(other), other.to_json(), other.to_html(), other.meaning, other.command),
                             (str(r), r.to_json(), r.to_html(), r.meaning, r.command))
            self.assertEqual(other.to_text(colours=True), r.to_text(colours=True))
            self.assertEqual({k: repr(v) for k, v in other.facts.items()}, {k: repr(v) for k, v in r.facts.items()})
            for name in arrays:
                a, b = getattr(other, name), getattr(r, name)
                np.testing.assert_array_equal(a, b)
                self.assertEqual((a.dtype, a.flags.writeable), (b.dtype, False))
        return pickle.loads(pickle.dumps(r))

    def test_prompts(self):
        m = ascribe.load(support.DECODER, threads=1)
        r = m.explain(PROMPT, target=TARGET, per_token=True)
        again = self.check(r, ("scores", "errors", "prompt_ids", "target_ids", "matrix", "token_scores"))
        self.assertEqual(again.features, r.features)
        self.assertEqual(len(again), len(r))
        m.close()
        with self.assertRaisesRegex(ascribe.FailedPrecondition, "width"):
            again.to_text(columns=40)
        with self.assertRaisesRegex(TypeError, "load"):
            pickle.dumps(m)
        with self.assertRaisesRegex(TypeError, "load"):
            copy.deepcopy(m)

    def test_in_another_process(self):
        r = ascribe.load(support.DECODER, threads=1).explain(PROMPT, target=TARGET)
        with tempfile.NamedTemporaryFile(suffix=".pickle") as f:
            f.write(pickle.dumps(r))
            f.flush()
            rc, out = support.python("import pickle; r = pickle.load(open(%r, 'rb')); print(r.scores.tolist())" % f.name)
        self.assertEqual((rc, json.loads(out)), (0, r.scores.tolist()))

    def test_nets(self):
        with tempfile.TemporaryDirectory() as d:
            net = ascribe.load(support.write_mlp(d + "/mlp.onnx"))
            x = np.linspace(-1, 1, 16, dtype=np.float32).reshape(2, 8)
            r = net.explain(x, method="integrated-gradients", target=1)
            again = self.check(r, ("scores", "value", "baseline_value"))
            self.assertEqual(list(again.by_name), list(r.by_name))
            np.testing.assert_array_equal(again.errors, r.errors)
            both = pickle.loads(pickle.dumps(net.compare(["saliency", "deep-lift"], x, target=1)))
            self.assertEqual(both.methods, ["saliency", "deep-lift"])
            with self.assertRaisesRegex(TypeError, "load"):
                pickle.dumps(net)


class NearlyRight(unittest.TestCase):

    def test_names(self):
        m = ascribe.load(support.DECODER, threads=1)
        net = ascribe.Net.build({"x": (None, 3)}, lambda f, x: f.relu("relu1", x * 2.0))
        for call, kind, parts in (
            (lambda: m.explain(PROMPT, mehtod="saliency"), ascribe.InvalidArgument, ("method", )),
            (lambda: m.explain(PROMPT, method="salency"), ascribe.InvalidArgument, ("saliency", )),
            (lambda: m.generate(PROMPT, max_token=3), TypeError, ("generate()", "did you mean 'max_tokens'")),
            (lambda: m.logits(PROMPT, row=3), TypeError, ("did you mean 'rows'", )),
            (lambda: ascribe.load(support.DECODER, thread=1), TypeError, ("load()", "did you mean 'threads'")),
            (lambda: m.activations(PROMPT, "blocks.0.ot"), ascribe.NotFound, ("blocks.0.out", )),
            (lambda: m.activations(PROMPT, "zzz"), ascribe.NotFound, ("model.sites()", )),
            (lambda: m.patch({"blocks.0.ot": 1}), ascribe.NotFound, ("blocks.0.out", )),
            (lambda: net.run(np.ones((1, 3), np.float32), nams=["relu1"]), TypeError, ("did you mean 'names'", )),
            (lambda: net.explain(np.ones((1, 3), np.float32), metod="saliency"), ascribe.InvalidArgument, ("method", )),
            (lambda: attr.IntegratedGradients(net, multiply_by_input=True), TypeError, ("IntegratedGradients()",
                                                                                       "'multiply_by_inputs'")),
            (lambda: attr.Saliency(net).attribute(np.ones((1, 3)), trget=1), TypeError, ("did you mean 'target'", )),
            (lambda: attr.FeatureAblation(net).attribute(np.ones((1, 3)), trget=1), TypeError, ("did you mean 'target'", )),
        ):
            with self.assertRaises(kind) as e:
                call()
            for part in parts:
                self.assertIn(part, str(e.exception))


if __name__ == "__main__":
    unittest.main()
