"""Values that a model or net holds, at their edges: what stands for a value, what ends a model meanwhile, and the
classes of ascribe.captum, whose oracle is the formula of the net."""
import os
import tempfile
import threading
import unittest

import ascribe
import numpy as np
import support
from ascribe.captum import attr

SITE = "blocks.0.out"


class Models(unittest.TestCase):

    def setUp(self):
        self.m = ascribe.load(support.DECODER, threads=1, kind="decoder")
        self.d = self.m.info["d_model"]

    def ask(self, value, **keys):
        return self.m.patch({SITE: value}).explain(support.IDS, target_ids=[3], features="token",
                                                   method="input-x-gradient", **keys)

    def test_what_stands_for_a_value(self):
        zero = self.ask(np.zeros(self.d))
        for value in (0, 0.0, np.float32(0), np.zeros((1, self.d)), [0] * self.d, np.zeros(self.d, np.int8)):
            r = self.ask(value)
            self.assertEqual(r.value, zero.value)
            self.assertEqual(self.m.patch({SITE: value}).logits(support.IDS).tolist(),
                             self.m.patch({SITE: np.zeros(self.d)}).logits(support.IDS).tolist())
        for tokens in (2, np.int64(2), [2], (2, ), np.array([2]), range(2, 3)):
            self.assertEqual(self.ask((tokens, 1.5)).value, self.ask(([2], np.full(self.d, 1.5))).value)
            self.assertEqual(self.m.patch({SITE: (tokens, 1.5)}).logits(support.IDS).tolist(),
                             self.m.patch({SITE: ([2], np.full(self.d, 1.5))}).logits(support.IDS).tolist())

    def test_what_does_not(self):
        for value in (float("nan"), np.float64("inf"), (1.5, 0), ("1", 0), (None, 0), ([1, 2.5], 0), ([], np.zeros(self.d))):
            with self.subTest(value=value), self.assertRaises(ascribe.InvalidArgument):
                self.ask(value)
            with self.subTest(value=value), self.assertRaises(ascribe.InvalidArgument):
                self.m.patch({SITE: value}).logits(support.IDS)
        with self.assertRaisesRegex(ascribe.InvalidArgument, "takes a dict"):
            self.m.patch([SITE])
        with self.assertRaisesRegex(ascribe.InvalidArgument, "no name of a site"):
            self.m.patch({1: 0})
        with self.assertRaisesRegex(AttributeError, "no attribute 'logit'"):
            self.m.patch({}).logit(support.IDS)
        # no number at the values that a function is tried with, but at the model's own
        self.assertLess(self.ask(lambda v: (v * v + 0.1).log()).value, 0)
        self.assertLess(self.ask(lambda v: (v + 1e3).log()).value, 0)

    def test_one_entered_twice(self):
        four, once = self.ask(lambda v: v * 4).value, self.ask(lambda v: v * 2).value
        p = self.m.patch({SITE: lambda v: v * 2})
        value = lambda: self.m.explain(support.IDS, target_ids=[3], features="token", method="input-x-gradient").value
        plain = value()
        with p:
            with p:
                self.assertEqual(value(), four)
            self.assertEqual(value(), once)
        self.assertEqual(value(), plain)

    def test_closed_meanwhile(self):
        """By the very function, and by another thread, while it is asked: the answer stays whole."""
        whole = self.ask(lambda v: v * 2).to_json()

        def by_thread(m):
            t = threading.Thread(target=m.close)
            t.start()
            t.join()

        for close in (lambda m: m.close(), by_thread):
            m = ascribe.load(support.DECODER, threads=1, kind="decoder")

            def change(v):
                close(m)
                return v * 2

            r = m.patch({SITE: change}).explain(support.IDS, target_ids=[3], features="token",
                                                method="input-x-gradient")
            self.assertTrue(m.closed)
            self.assertEqual(len(r.scores), len(support.IDS))
            self.assertEqual(r.value, self.ask(lambda v: v * 2).value)
            self.assertGreater(len(r.to_json()), len(whole) // 2)
            with self.assertRaises(ascribe.FailedPrecondition):
                m.patch({SITE: 0}).generate(support.IDS, 1)


class Nets(unittest.TestCase):

    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.net = ascribe.load(support.write_mlp(os.path.join(self.dir.name, "m.onnx")), threads=1)
        self.x = np.linspace(-1, 1, 16, dtype=np.float32).reshape(2, 8)
        self.w = {k: np.array(v, np.float64).reshape(s) for k, (s, v) in support.mlp_weights().items()}
        self.addCleanup(self.dir.cleanup)

    def out(self, x, scale=2.0):
        w = self.w
        r0 = scale * np.maximum(x @ w["w0"] + w["b0"], 0)
        return np.maximum(r0 @ w["w1"] + w["b1"], 0) @ w["w2"] + w["b2"]

    def test_every_method_by_name(self):
        p = self.net.patch({"r0": lambda v: v * 2})
        want = self.out(self.x.astype(np.float64))
        np.testing.assert_allclose(p(self.x), want, rtol=0, atol=1e-5)
        self.assertAlmostEqual(p.ask({"input": self.x[:1].tolist(), "target": 1, "method": "saliency"}).value, want[0, 1],
                               delta=1e-5)
        for r in p.compare(["saliency", "input-x-gradient"], self.x[:1], target=1):
            self.assertAlmostEqual(r.value, want[0, 1], delta=1e-5)
        self.assertGreater(p.price(self.x, target=1).seconds, 0)
        self.assertEqual(sorted(p._METHODS), sorted(n for n in dir(p) if n in p._METHODS))

    def test_the_report_is_of_the_patched_net(self):
        r = self.net.patch({"r0": lambda v: v * 2}).explain(self.x[:1], target=1, method="saliency")
        want = self.out(self.x[:1].astype(np.float64))[0]
        self.assertEqual(r.to_dict()["top"][0]["index"], int(want.argmax()))
        self.assertAlmostEqual(r.to_dict()["top"][0]["value"], want.max(), delta=1e-5)

    def test_captum_classes(self):
        x, wide = self.x, self.x.astype(np.float64)
        ig = attr.IntegratedGradients(self.net)
        plain = ig.attribute(x, target=1)
        with self.net.patch({"r0": lambda v: v * 2}):
            got = ig.attribute(x, target=1, n_steps=400)
            ablated = attr.FeatureAblation(self.net).attribute(x, target=1)
            layer = attr.LayerActivation(self.net, "r0").attribute(x)
        np.testing.assert_allclose(got.sum(1), (self.out(wide) - self.out(0 * wide))[:, 1], rtol=0, atol=0.02)
        np.testing.assert_allclose(layer, 2 * np.maximum(wide @ self.w["w0"] + self.w["b0"], 0), rtol=0, atol=1e-5)
        for i in range(8):
            less = wide.copy()
            less[:, i] = 0
            np.testing.assert_allclose(ablated[:, i], (self.out(wide) - self.out(less))[:, 1], rtol=0, atol=1e-5)
        np.testing.assert_array_equal(ig.attribute(x, target=1), plain)
        with self.assertRaisesRegex(TypeError, "inside"):
            attr.IntegratedGradients(self.net.patch({"r0": 0}))

    def test_one_number(self):
        bias = self.w["b1"]
        want = np.maximum((0.5 * np.ones(12)) @ self.w["w1"] + bias, 0) @ self.w["w2"] + self.w["b2"]
        for value in (0.5, np.full((1, 12), 0.5, np.float32)):
            r = self.net.patch({"r0": value}).explain(self.x[:1], target=1, method="feature-ablation")
            self.assertAlmostEqual(r.value, want[1], delta=1e-5)
            np.testing.assert_array_equal(np.ravel(r.scores), 0)
        np.testing.assert_allclose(self.net.patch({"r0": 0.5}).run(self.x)["logits"], [want, want], rtol=0, atol=1e-5)


if __name__ == "__main__":
    unittest.main()
