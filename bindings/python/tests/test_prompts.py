"""Language models and text encoders: the same bits as the command line, and everything that a model is asked."""
import json
import os
import tempfile
import unittest

import numpy as np
import support

import ascribe

PROMPT, TARGET = "one two three", " four"


class Prompts(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.m = ascribe.load(support.DECODER, threads=1)

    def test_bits_of_the_command_line(self):
        for keys in ({}, {"method": "integrated-gradients", "baseline": "eos", "rule": "gauss-legendre", "steps": 5},
                     {"method": "saliency", "features": "token"}, {"per_token": True}):
            options = []
            for k, v in keys.items():
                options += ["--" + k.replace("_", "-")] + ([] if v is True else [str(v)])
            r = self.m.explain(PROMPT, target=TARGET, **keys)
            want = support.cli("explain", support.DECODER, "--prompt", PROMPT, "--target", TARGET, "--threads", "1",
                               *options)
            support.same_document(self, r.to_dict(), want)
            self.assertEqual([f["score"] for f in want["features"]], r.scores.tolist())

    def test_result(self):
        r = self.m.explain(PROMPT, target=TARGET, per_token=True)
        self.assertIsInstance(r, ascribe.PromptResult)
        self.assertEqual(len(r.features), len(r))
        self.assertEqual([f.text for f in r.features], ["one", " two", " three"])
        self.assertEqual([f.score for f in r.features], r.scores.tolist())
        self.assertEqual(r.matrix.shape, (len(r.target_ids), len(r)))
        np.testing.assert_allclose(r.matrix.sum(axis=0), r.scores, atol=2 * r.error_bound)
        self.assertTrue((r.errors >= 0).all())
        self.assertEqual(r.prompt, PROMPT)
        self.assertEqual(r.target, TARGET)
        self.assertEqual(r.unit, "nats")
        self.assertIn("log-probability", r.meaning)
        self.assertIn("--prompt 'one two three'", r.command)
        self.assertEqual(r.prompt_ids.tolist(), self.m.tokenize(PROMPT))
        self.assertIn("feature-ablation", repr(r))
        self.assertIn("Meaning", str(r))
        np.testing.assert_array_equal(np.from_dlpack(r.arrays[0]), r.scores)
        self.assertEqual(json.loads(r.to_json())["method"]["name"] if isinstance(r.to_dict()["method"], dict) else
                         r.to_dict()["method"], "feature-ablation")

    def test_views_outlive_the_model(self):
        m = ascribe.load(support.DECODER, threads=1)
        r = m.explain(PROMPT, target=TARGET)
        s, want = r.scores, r.scores.copy()
        self.assertFalse(s.flags.owndata)
        self.assertFalse(s.flags.writeable)
        m.close()
        self.assertTrue(m.closed)
        self.assertEqual(r.to_dict()["target"]["text"] if isinstance(r.to_dict()["target"], dict) else "", TARGET)
        del r, m
        np.testing.assert_array_equal(s, want)

    def test_html_is_escaped_and_written(self):
        r = self.m.explain("<script>alert(1)</script> & \"x\"", target=TARGET)
        frame = r._repr_html_()
        self.assertNotIn("<script>", frame)
        self.assertIn("srcdoc=", frame)
        self.assertNotIn("<script>alert(1)", r.to_html())
        with tempfile.TemporaryDirectory() as d:
            path = os.path.join(d, "page.html")
            r.to_html(path)
            with open(path, encoding="utf-8") as f:
                self.assertEqual(f.read(), r.to_html())

    def test_prompts_of_every_kind(self):
        ids = self.m.tokenize(PROMPT)
        a = self.m.explain(ids, target=TARGET, features="token").scores
        b = self.m.explain(np.array(ids), target=TARGET, features="token").scores
        c = self.m.explain(PROMPT.encode(), target=self.m.tokenize(TARGET, continues=True), features="token").scores
        d = self.m.ask({"prompt": PROMPT, "target": TARGET, "features": "token"}).scores
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a, c)
        np.testing.assert_array_equal(a, d)

    def test_price_and_compare(self):
        p = self.m.price(PROMPT, target=TARGET)
        self.assertGreater(p.n_forward, 0)
        self.assertGreater(p.flops, 0)
        c = self.m.compare(["feature-ablation", {"method": "saliency"}], PROMPT, target=TARGET)
        self.assertEqual(c.methods, ["feature-ablation", "saliency"])
        self.assertEqual(c["saliency"].method, "saliency")
        self.assertEqual(len(c), 2)

    def test_generation(self):
        text = self.m.generate(PROMPT, 12)
        self.assertEqual("".join(self.m.generate(PROMPT, 12, stream=True)), text)
        self.assertEqual(self.m.generate(PROMPT, 12, 1.0, seed=3), self.m.generate(PROMPT, 12, 1.0, seed=3))
        it = self.m.generate(PROMPT, 1000, stream=True, ignore_eos=True)
        next(it)
        it.close()
        self.assertEqual(self.m.generate(PROMPT, 12), text)  # usable afterwards
        stop = text[3:5]
        self.assertEqual(self.m.generate(PROMPT, 12, stop=stop), text[:text.index(stop)])

    def test_tokens(self):
        for text in (PROMPT, "größer\n\n", "", "a" * 300):
            ids = self.m.tokenize(text, bos=False)
            self.assertEqual(self.m.detokenize(ids), text)
            tokens = self.m.tokens(text, bos=False)
            ends = [0] + [t.end for t in tokens]
            self.assertEqual([t.start for t in tokens], ends[:-1])
            self.assertEqual(ends[-1], len(text.encode()))

    def test_logprobs(self):
        ids = self.m.tokenize(PROMPT)
        out = self.m.logprobs(PROMPT, top=2)
        self.assertEqual([t.id for t in out], ids)
        self.assertTrue(np.isnan(out[0].logprob))
        x = self.m.logits(PROMPT, rows=-1).astype(np.float64)
        self.assertEqual(x.shape, (len(ids), self.m.info["n_vocab"]))
        want = x - np.log(np.exp(x - x.max(1, keepdims=True)).sum(1, keepdims=True)) - x.max(1, keepdims=True)
        for k in range(1, len(ids)):
            self.assertAlmostEqual(out[k].logprob, want[k - 1, ids[k]], places=4)
            self.assertEqual(out[k].top[0][0], want[k - 1].argmax())

    def test_bad_questions_name_what_is_wrong(self):
        for call, code, part in (
            (lambda: self.m.explain(PROMPT, mehtod="x"), "INVALID_ARGUMENT", "mehtod"),
            (lambda: self.m.explain(PROMPT, method="x"), None, "x"),
            (lambda: self.m.explain(PROMPT, steps="many"), "INVALID_ARGUMENT", "steps"),
            (lambda: self.m.explain(PROMPT, alpha=float("nan")), "INVALID_ARGUMENT", "finite"),
            (lambda: self.m.explain(PROMPT, alpha=object()), "INVALID_ARGUMENT", "alpha"),
            (lambda: self.m.explain("\ud800", target="x"), "INVALID_ARGUMENT", "half of a character"),
            (lambda: self.m.explain(b"\xff", target="x"), "INVALID_ARGUMENT", "UTF-8"),
            (lambda: self.m.explain([1, 10**12], target="x"), None, "1000000000000"),
            (lambda: self.m.logits([10**12]), "OUT_OF_RANGE", "32 bits"),
            (lambda: self.m.logits([]), "INVALID_ARGUMENT", "no tokens"),
            (lambda: self.m.logits(PROMPT, rows=0), "INVALID_ARGUMENT", "rows"),
            (lambda: self.m.generate(PROMPT, 0), "OUT_OF_RANGE", "max_tokens"),
            (lambda: self.m.activations(PROMPT, "blocks.77.out"), "NOT_FOUND", "blocks.77.out"),
            (lambda: self.m.activations(PROMPT, "nothing.*"), "NOT_FOUND", "nothing.*"),
            (lambda: ascribe.load("/nowhere.gguf"), "NOT_FOUND", "/nowhere.gguf"),
            (lambda: ascribe.load(support.DECODER, device="gpu"), "INVALID_ARGUMENT", "gpu"),
            (lambda: ascribe.load(support.DECODER, kind="net"), "INVALID_ARGUMENT", "decoder"),
            (lambda: ascribe.load(support.DECODER, weights="none"), "INVALID_ARGUMENT", "none"),
            (lambda: ascribe.load(support.DECODER, threads=-1), "INVALID_ARGUMENT", "-1"),
            (lambda: ascribe.load(support.DECODER, adapters="/nowhere"), "NOT_FOUND", "/nowhere"),
        ):
            with self.assertRaises(ascribe.Error) as e:
                call()
            if code is not None:
                self.assertEqual(e.exception.code, code, e.exception)
            self.assertIn(part, str(e.exception))
            self.assertNotIn("\n", e.exception.message)

    def test_errors_are_pythons_too(self):
        with self.assertRaises(ValueError):
            self.m.explain(PROMPT, steps="many")
        with self.assertRaises(LookupError):
            ascribe.load("/nowhere.gguf")
        self.assertEqual({c.code for c in ascribe.Error.__subclasses__()}, set(ascribe._errors.BY_CODE))


class InnerValues(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.m = ascribe.load(support.FOLDER, threads=1)

    def test_activations(self):
        a = self.m.activations(support.IDS, ["embed", "blocks.*.mlp.out"])
        n, d = len(support.IDS), self.m.info["d_model"]
        self.assertEqual(len(a), 1 + self.m.info["n_layers"])
        self.assertTrue(all(v.shape == (n, d) for v in a.values()))

    def test_patches(self):
        plain = self.m.logits(support.IDS)
        own = self.m.activations(support.IDS, "blocks.0.out")["blocks.0.out"]
        np.testing.assert_array_equal(self.m.patch({"blocks.0.out": own})(support.IDS), plain)
        np.testing.assert_array_equal(self.m.patch({"blocks.0.out": lambda v: v})(support.IDS), plain)
        p = self.m.patch({"blocks.0.out": ([2, -1], lambda v: v * 0 + 1)})
        got = p.activations(support.IDS, "blocks.0.out")["blocks.0.out"]
        np.testing.assert_array_equal(got[[2, -1]], 1)
        keep = [i for i in range(len(support.IDS)) if i not in (2, len(support.IDS) - 1)]
        np.testing.assert_array_equal(got[keep], own[keep])
        with self.m.patch({"embed": ([0], np.zeros(self.m.info["d_model"], np.float32))}):
            inside = self.m.logits(support.IDS)
            with self.assertRaises(ascribe.InvalidArgument):  # of a token that is left out by turns
                self.m.explain(support.IDS, target_ids=[3])
        self.assertGreater(abs(inside - plain).max(), 1e-3)
        np.testing.assert_array_equal(self.m.logits(support.IDS), plain)

    def test_functions_see_what_earlier_patches_leave(self):
        seen = {}

        def look(v):
            seen["out"] = v.copy()
            return v

        zero = np.zeros((len(support.IDS), self.m.info["d_model"]))
        self.m.patch({"blocks.0.out": look, "embed": zero})(support.IDS)
        want = self.m.patch({"embed": zero}).activations(support.IDS, "blocks.0.out")["blocks.0.out"]
        np.testing.assert_array_equal(seen["out"], want)

    def test_bad_patches(self):
        for values, part in (({"nowhere": 1}, "nowhere"), ({"embed": np.zeros((2, 3))}, "a row for each of 9"),
                             ({"embed": ([99], np.zeros(4))}, "token 99"), ({"embed": ([0], np.zeros(4))}, "wide"),
                             ({"embed": lambda v: v[:1]}, "the function gave"), ({"embed": (1, 2, 3)}, "tuple"),
                             ({"embed": np.full((9, self.m.info["d_model"]), np.nan)}, "not finite")):
            with self.assertRaises(ascribe.Error) as e:
                self.m.patch(values)(support.IDS)
            self.assertIn(part, str(e.exception))

    def test_a_failing_function_is_the_callers_error(self):

        def fail(v):
            raise KeyError("mine")

        with self.assertRaises(KeyError):
            self.m.patch({"embed": fail})(support.IDS)
        self.m.logits(support.IDS)


class Encoders(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.m = ascribe.load(support.CLASSIFIER, threads=1, kind="encoder")

    def test_values(self):
        with open(os.path.join(support.CLASSIFIER, "case.json"), encoding="utf-8") as f:
            case = json.load(f)["cases"][0]
        got = self.m.classify(case["input_ids"])
        np.testing.assert_allclose(got, np.array(case["logits"]).reshape(-1), atol=1e-4)
        e = self.m.embed(case["input_ids"])
        self.assertAlmostEqual(float((e.astype(np.float64)**2).sum()), 1.0, places=5)
        self.assertEqual(len(self.m.classes()), self.m.info["n_classes"])

    def test_embed_many(self):
        texts = [support.IDS, support.IDS[:3], list(reversed(support.IDS)), support.IDS, np.array(support.IDS[:3])]
        calls = []
        e = self.m.embed(texts, progress=lambda *a: calls.append(a))
        self.assertEqual((e.dtype, e.shape), (np.float32, (5, self.m.info["d_model"])))
        np.testing.assert_array_equal(e[0], e[3])
        np.testing.assert_allclose(e, [self.m.embed(t) for t in texts], atol=2e-6)
        self.assertGreater(abs(e[0] - e[2]).max(), 1e-3)
        self.assertEqual((len(calls), calls[0][0]), (2, "texts"))
        self.assertEqual(self.m.embed([]).shape, (0, self.m.info["d_model"]))
        with self.m.patch({"embed": lambda v: v * 0}):
            patched = self.m.embed(texts)
            np.testing.assert_array_equal(patched, [self.m.embed(t) for t in texts])
        self.assertGreater(abs(patched - e).max(), 1e-4)
        with self.assertRaisesRegex(ascribe.Error, "index 1"):
            self.m.embed([support.IDS, [10**6]])

        def stop(*a):
            raise KeyError("stop")

        with self.assertRaises(KeyError):
            self.m.embed(texts, progress=stop)
        reference = ascribe.load(support.CLASSIFIER, device="reference", kind="encoder")
        r = reference.embed(texts)
        self.assertEqual(r.dtype, np.float64)
        np.testing.assert_array_equal(r, [reference.embed(t) for t in texts])

    def test_explain_and_patch(self):
        r = self.m.explain(support.IDS, label="1", features="token")
        want = support.cli("explain", support.CLASSIFIER, "--ids", ",".join(map(str, support.IDS)), "--label", "1",
                           "--features", "token", "--threads", "1")
        support.same_document(self, r.to_dict(), want)
        plain = self.m.classify(support.IDS)
        self.assertGreater(abs(self.m.patch({"embed": lambda v: v * 0})(support.IDS) - plain).max(), 1e-4)

    def test_what_encoders_cannot(self):
        self.assertFalse(hasattr(self.m, "generate"))
        with self.assertRaises(ascribe.InvalidArgument):
            self.m.explain(support.IDS, target="x")


@unittest.skipUnless(os.path.exists(support.REAL), "the demonstration model is not here")
class RealModel(unittest.TestCase):

    def test_the_readme(self):
        m = ascribe.load(support.REAL)
        r = m.explain("The capital of France is", target=" Paris")
        want = support.cli("explain", support.REAL, "--prompt", "The capital of France is", "--target", " Paris")
        support.same_document(self, r.to_dict(), want)
        self.assertEqual(r.top[0][0], m.tokenize(" Paris")[0])
        chat = [{"role": "user", "content": "Hi"}]
        self.assertTrue(m.generate(chat, 5))
        self.assertEqual({f.message for f in m.explain(chat, features="message").features} - {-1}, {0})


if __name__ == "__main__":
    unittest.main()
