"""Nets: the same bits as the command line, every way to say input and target, results."""
import os
import tempfile
import unittest

import numpy as np
import support

import ascribe


class Nets(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = support.write_mlp(os.path.join(cls.folder.name, "mlp.onnx"))
        cls.net = ascribe.load(cls.path, threads=1)
        cls.x = (np.arange(24, dtype=np.float32).reshape(3, 8) / 11 - 1)

    @classmethod
    def tearDownClass(cls):
        cls.net.close()
        cls.folder.cleanup()

    def test_kind(self):
        self.assertIsInstance(self.net, ascribe.Net)
        self.assertEqual(self.net.kind, "net")
        self.assertIn("r0", self.net.sites())

    def test_bits_of_the_command_line(self):
        npy = os.path.join(self.folder.name, "x.npy")
        np.save(npy, self.x)
        for keys in ({"method": "saliency", "target": 1},
                     {"method": "integrated-gradients", "target": 2, "rule": "gauss-legendre", "steps": 9},
                     {"method": "shapley-value-sampling", "target": 0, "samples": 7, "seed": 3},
                     {"method": "input-x-gradient", "target": 1, "site": "r0"}):
            options = []
            for k, v in keys.items():
                options += ["--" + k, str(v)]
            r = self.net.explain(self.x, **keys)
            want = support.cli("explain", self.path, "--input", "x=" + npy, "--threads", "1", *options)
            got = r.to_dict()
            self.assertIsNone(got.pop("command"))  # arrays from memory have none
            self.assertIn("--method", want.pop("command"))
            for d in got["results"] + want["results"]:
                for clock in support.CLOCKS:
                    d.pop(clock, None)
            support.same_document(self, got, want)
            np.testing.assert_array_equal(np.array(want["results"][0]["scores"][0]["data"]).reshape(-1),
                                          r.scores.reshape(-1))

    def test_result(self):
        r = self.net.explain(self.x, method="input-x-gradient", target=1)
        self.assertEqual(r.scores.shape, (3, 8))
        self.assertEqual(r.scores.dtype, np.float64)
        self.assertFalse(r.scores.flags.owndata)
        np.testing.assert_allclose(r.value, self.net(self.x)[:, 1], rtol=1e-6)
        self.assertEqual(list(r.by_name), ["x"])
        self.assertIn("input-x-gradient", repr(r))
        self.assertIn("srcdoc", r._repr_html_())
        self.assertIn("<html", r.to_html())
        self.assertEqual(r.method, "input-x-gradient")

    def test_gradients_are_right(self):
        r = self.net.explain(self.x, method="saliency", target=1, norm="signed").scores
        h = 1e-3
        for k in range(8):
            d = np.zeros((3, 8), np.float64)
            d[:, k] = h
            slope = (self.net(self.x + d)[:, 1].astype(float) - self.net(self.x - d)[:, 1]) / (2 * h)
            np.testing.assert_allclose(r[:, k], slope, atol=2e-3)  # f32 differences over 2e-3

    def test_ways_to_say_it(self):
        a = self.net.explain(self.x, method="saliency", target=1).scores
        for x in ({"x": self.x}, [self.x], self.x.tolist(), np.asfortranarray(self.x), memoryview(self.x),
                  self.x.astype(">f4")):
            np.testing.assert_array_equal(self.net.explain(x, method="saliency", target=1).scores, a)
        for t in ([1, 1, 1], np.array([1, 1, 1]), np.int64(1)):
            np.testing.assert_array_equal(self.net.explain(self.x, method="saliency", target=t).scores, a)
        np.testing.assert_array_equal(self.net.ask({"input": self.x, "method": "saliency", "target": 1}).scores, a)
        b = self.net.explain(self.x, method="integrated-gradients", target=1, baseline=self.x[:1] * 0 + 1).scores
        c = self.net.explain(self.x, method="integrated-gradients", target=1, baseline=np.ones((1, 8))).scores
        np.testing.assert_array_equal(b, c)

    def test_the_quick_way_is_the_same(self):
        for target in (1, 2, np.int64(2), 1):
            r = self.net.explain(self.x, method="saliency", target=target)
            want = self.net.ask({"input": self.x, "method": "saliency", "target": int(target)})
            np.testing.assert_array_equal(r.scores, want.scores)
        with self.assertRaises(ascribe.Error):
            self.net.explain(self.x, method="saliency", target=True)
        for i in range(70):
            self.net.explain(self.x, method="feature-ablation", target=1, seed=i)

    def test_activations(self):
        a = self.net.activations(self.x, ["a0", "r*"])
        self.assertEqual(list(a), ["a0", "r0", "r1"])
        np.testing.assert_array_equal(np.maximum(a["a0"], 0), a["r0"])

    def test_patches(self):
        w = {n: np.array(v, np.float64).reshape(d) for n, (d, v) in support.mlp_weights().items()}
        plain = self.net(self.x)
        own = self.net.activations(self.x, "r0")["r0"]
        np.testing.assert_array_equal(self.net.patch({"r0": own})(self.x), plain)
        other = np.sin(np.arange(36).reshape(3, 12))
        want = np.maximum(other @ w["w1"] + w["b1"], 0) @ w["w2"] + w["b2"]
        np.testing.assert_allclose(self.net.patch({"r0": other})(self.x), want, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(self.net.patch({"r0": lambda v: other})(self.x), want, rtol=1e-5, atol=1e-5)
        seen = []
        p = self.net.patch({"r1": lambda v: seen.append(v.copy()) or v * 2, "r0": other})
        twice = 2 * np.maximum(other @ w["w1"] + w["b1"], 0) @ w["w2"] + w["b2"]
        np.testing.assert_allclose(p.run(self.x)["logits"], twice, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(seen[0], np.maximum(other @ w["w1"] + w["b1"], 0), rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(p.activations(self.x, "r0")["r0"], other.astype(np.float32))
        with self.net.patch({"logits": np.ones((3, 3))}):
            np.testing.assert_array_equal(self.net(self.x), 1)
            with self.assertRaisesRegex(ascribe.InvalidArgument, "first axis of 1"):
                self.net.explain(self.x, method="saliency", target=1)
        np.testing.assert_array_equal(self.net(self.x), plain)
        for values, part in (({"nowhere": 1}, "nowhere"), ({"r0": np.zeros((2, 12))}, "r0"), ({"r0": "x"}, "r0"),
                             ({"r0": np.zeros((3, 12), int)}, "int64"), ({"r0": lambda v: v[0]}, "r0")):
            with self.assertRaises(ascribe.Error) as e:
                self.net.patch(values)(self.x)
            self.assertIn(part, str(e.exception))

    def test_price_and_compare(self):
        p = self.net.price(self.x, method="integrated-gradients", target=1, rule="gauss-legendre", steps=10)
        self.assertGreater(p.n_backward, 0)
        c = self.net.compare(["saliency", "input-x-gradient"], self.x, target=1)
        self.assertEqual(c.methods, ["saliency", "input-x-gradient"])

    def test_bad_questions(self):
        for keys, part in (({"method": "nothing"}, "nothing"), ({"targt": 1}, "targt"), ({"target": 99}, "99"),
                           ({"baseline": np.zeros((2, 5))}, "baseline"), ({"prompt": "x"}, "prompt"),
                           ({"target": "cat"}, "cat"), ({"window": {"a": 1}}, "window")):
            with self.assertRaises(ascribe.Error) as e:
                self.net.explain(self.x, **{"method": "integrated-gradients", **keys})
            self.assertIn(part, str(e.exception))
        with self.assertRaises(ascribe.Error) as e:
            self.net.explain(np.full((1, 8), np.nan, np.float32), method="saliency", target=1)
        self.net.explain(self.x, method="saliency", target=1)


if __name__ == "__main__":
    unittest.main()
