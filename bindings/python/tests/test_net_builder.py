"""Nets written in Python: values against numpy, names, errors, life."""
import gc
import unittest
import weakref

import numpy as np

import ascribe
from ascribe import nets

RNG = np.random.default_rng(3)


def mlp(f, x):
    return f.linear("b", f.relu("r", f.linear("a", x)))


W = {"a.weight": RNG.standard_normal((4, 3)).astype(np.float32), "a.bias": RNG.standard_normal(4).astype(np.float32),
     "b.weight": RNG.standard_normal((2, 4)).astype(np.float32)}


class Values(unittest.TestCase):

    def test_mlp_sites_and_values(self):
        net = ascribe.Net.build({"x": (None, 3)}, mlp, W)
        x = RNG.standard_normal((5, 3)).astype(np.float32)
        h = np.maximum(x @ W["a.weight"].T + W["a.bias"], 0)
        self.assertEqual(net.sites(), ["a.in", "a", "r.in", "r", "b.in", "b"])
        np.testing.assert_allclose(net.run(x, ["r"])["r"], h, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(net(x), h @ W["b.weight"].T, rtol=1e-5, atol=1e-5)

    def check(self, of_net, of_numpy, *arrays):
        f = nets.NetFunction(lambda frame, *xs: of_net(*xs))
        np.testing.assert_allclose(f(*arrays), of_numpy(*arrays), rtol=2e-5, atol=2e-6)

    def test_operators_as_numpy_has_them(self):
        a, b = RNG.standard_normal((2, 4, 3)).astype(np.float32), RNG.standard_normal((2, 4, 3)).astype(np.float32)
        for f in (lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y, lambda x, y: x / y, lambda x, y: -x,
                  lambda x, y: 2 - x, lambda x, y: 3 / (y * y + 1), lambda x, y: x * 2 + 1, lambda x, y: x**2,
                  lambda x, y: (x == x) * y, lambda x, y: (x.round() == 0) * y, lambda x, y: (x != y) * x,
                  lambda x, y: ((x > 0) & (y > 0)) * x, lambda x, y: ((x > 0) | ~(y > 0)) * x, lambda x, y: x // 0.3,
                  lambda x, y: abs(x), lambda x, y: (x > y) * x, lambda x, y: (x <= 0.1) * y, lambda x, y: x[:, 1:3],
                  lambda x, y: x[:, -1], lambda x, y: x[..., None] * y[..., None], lambda x, y: x[:, None, 1],
                  lambda x, y: x.sum(axis=1), lambda x, y: x.mean(axis=(1, 2)), lambda x, y: x.max(axis=2),
                  lambda x, y: x.min(axis=-1), lambda x, y: x.reshape(2, -1), lambda x, y: x.transpose(0, 2, 1) @ y):
            self.check(f, f, a, b)

    def test_functions(self):
        x = RNG.standard_normal((3, 5)).astype(np.float32)
        e = np.exp(x - x.max(1, keepdims=True))
        self.check(lambda t: t.softmax(), lambda t: e / e.sum(1, keepdims=True), x)
        self.check(lambda t: t.swap_axes(0, 1).softmax(0).swap_axes(0, 1), lambda t: e / e.sum(1, keepdims=True), x)
        self.check(lambda t: t.exp().log1p().tanh(), lambda t: np.tanh(np.log1p(np.exp(t))), x)
        self.check(lambda t: t.clip(-0.5, 0.5), lambda t: np.clip(t, -0.5, 0.5), x)
        self.check(lambda t: (t > 0).where(t, 0.0), lambda t: np.maximum(t, 0), x)

    def test_constants_and_concatenation(self):
        c = np.arange(6, dtype=np.float32).reshape(2, 3)
        f = nets.NetFunction(lambda f, x: f.stack([f.concat([x, f.constant(c)], 1), f.full((2, 6), 7.0)], 0)[0] @
                             f.arange(6).expand_dims(1), batch=False)
        x = RNG.standard_normal((2, 3)).astype(np.float32)
        np.testing.assert_allclose(f(x), np.concatenate([x, c], 1) @ np.arange(6, dtype=np.float32)[:, None], rtol=1e-5)

    def test_more_than_eight_parts(self):
        f = nets.NetFunction(lambda f, x: f.concat([x * float(i) for i in range(20)], 1))
        x = np.ones((2, 1), np.float32)
        np.testing.assert_array_equal(f(x), np.tile(np.arange(20, dtype=np.float32), (2, 1)))

    def test_every_op_of_the_table_has_a_signature_or_is_left_out(self):
        from ascribe import _ascribe
        left_out = {n for n, kinds in _ascribe.op_table() if not kinds}
        known = {"swiglu_grad", "softmax_grad", "rms_norm_grad", "layer_norm_grad", "sdpa_tree", "sdpa_grad", "tree_mask",
                 "conv_grad_weight", "pool_put", "avg_pool_grad", "custom", "random"}
        self.assertLessEqual(left_out, known)


class Functions(unittest.TestCase):

    def test_options_and_optional_arguments_make_nets_of_their_own(self):
        f = nets.NetFunction(lambda f, x, y=None, k=0: (x if y is None else x + y)[:, k])
        x, y = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones((2, 3), np.float32)
        np.testing.assert_array_equal(f(x), x[:, 0])
        np.testing.assert_array_equal(f(x, None, 2), x[:, 2])
        np.testing.assert_array_equal(f(x, y, 2), x[:, 2] + 1)
        self.assertEqual(len(f._nets), 3)
        f(x[:1])  # another number of examples is the same net
        self.assertEqual(len(f._nets), 4 if x[:1].shape[0] == 0 else 3)

    def test_named_modules_and_tuples(self):

        def forward(f, x):
            with f.scope("inner"):
                x = f.linear("a", x)
            a, b = f.site("two", (x, x * 2))
            return a + b

        net = nets.build({"x": (None, 3)}, forward, {"inner.a.weight": np.eye(3, dtype=np.float32)})
        self.assertEqual(net.sites(), ["inner.a.in", "inner.a", "two.0", "two.1", "output"])


class Errors(unittest.TestCase):

    def test_exceptions_of_the_function_come_out(self):

        class Mine(Exception):
            pass

        def bad(f, x):
            raise Mine("here")

        with self.assertRaises(Mine):
            nets.build({"x": (None, 3)}, bad)

    def test_the_library_says_what_is_wrong_where_it_is(self):
        for forward, kind in ((lambda f, x: x @ f.constant(np.ones((4, 4))), ascribe.InvalidArgument),
                              (lambda f, x: f.linear("nope", x), ascribe.NotFound),
                              (lambda f, x: x.reshape(7, 7), ascribe.InvalidArgument),
                              (lambda f, x: (x, x), ValueError), (lambda f, x: None, Exception),
                              (lambda f, x: 1 if x else 0, TypeError), (lambda f, x: x[5, 5, 5], IndexError)):
            with self.assertRaises(kind):
                nets.build({"x": (None, 3)}, forward, W)

    def test_tensors_end_with_the_run(self):
        kept = []
        nets.build({"x": (None, 3)}, lambda f, x: kept.append((f, x)) or x * 2)
        with self.assertRaises(ascribe.FailedPrecondition):
            kept[0][1] + kept[0][1]
        with self.assertRaises(ascribe.FailedPrecondition):
            kept[0][0].param("a.weight")

    def test_a_function_that_changes_its_mind(self):
        calls = []

        def forward(f, x):
            calls.append(1)
            return f.site("s%d" % len(calls), x) * 2

        with self.assertRaises(ascribe.FailedPrecondition):
            nets.build({"x": (None, 3)}, forward)

    def test_frames_cannot_be_made_and_numbers_are_checked(self):
        from ascribe import _ascribe
        with self.assertRaises(TypeError):
            _ascribe.Frame()

        def forward(f, x):
            for bad in (-1, 99, 1 << 70, "x"):
                with self.assertRaises((IndexError, TypeError, OverflowError)):
                    f._x.shape(bad)
            for args in ((10**9, 0), (0,), (0, 0), (0, 0, 0, 0)):
                with self.assertRaises((ValueError, TypeError)):
                    f._x.op(*args)
            return x

        nets.build({"x": (None, 3)}, forward)


class Life(unittest.TestCase):

    def test_net_and_function_go(self):

        class Forward:

            def __call__(self, f, x):
                return x * 2

        fn = Forward()
        gone = weakref.ref(fn)
        net = nets.build({"x": (None, 3)}, fn)
        net(np.ones((2, 3), np.float32))
        del fn, net
        gc.collect()
        self.assertIsNone(gone())

    def test_no_leak_over_many_nets(self):
        context = None
        before = None
        for i in range(300):
            net = nets.build({"x": (None, 3)}, mlp, W)
            net(np.ones((2, 3), np.float32))
            if i == 50:
                context = net._subject.context
                before = context.memory()["live_bytes"]
        del net
        gc.collect()
        self.assertLess(context.memory()["live_bytes"], before * 1.5 + 1e6)


if __name__ == "__main__":
    unittest.main()
