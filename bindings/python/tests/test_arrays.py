"""Arrays in and out: every element type, order and owner is taken, or refused by name; nothing is copied that need
not be."""
import array
import ctypes
import gc
import os
import sys
import tempfile
import unittest

import numpy as np
import support

import ascribe
from ascribe import _ascribe

try:
    import torch
except ImportError:
    torch = None


def reference(x):
    w = {n: np.array(v, np.float64).reshape(d) for n, (d, v) in support.mlp_weights().items()}
    h = np.maximum(np.asarray(x, np.float64) @ w["w0"] + w["b0"], 0)
    return np.maximum(h @ w["w1"] + w["b1"], 0) @ w["w2"] + w["b2"]


class Foreign:
    """Only DLPack: another library's array."""

    def __init__(self, a):
        self.a = a

    def __dlpack__(self, **kwargs):
        return self.a.__dlpack__()

    def __dlpack_device__(self):
        return self.a.__dlpack_device__()


class Arrays(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.net = ascribe.load(support.write_mlp(os.path.join(cls.folder.name, "mlp.onnx")), threads=1, kind="net")
        cls.x = np.arange(16, dtype=np.float32).reshape(2, 8) / 7 - 1

    @classmethod
    def tearDownClass(cls):
        cls.net.close()
        cls.folder.cleanup()

    def check(self, x, want=None):
        np.testing.assert_allclose(self.net(x), reference(self.x if want is None else want), rtol=2e-5, atol=2e-5)

    def test_the_net(self):
        self.assertEqual(self.net.inputs, [ascribe.Port("x", "float32", (-1, 8), True)])
        self.assertEqual([p.name for p in self.net.outputs], ["logits"])
        self.check(self.x)

    def test_layouts(self):
        x = self.x
        wide = np.zeros((4, 24), np.float32)
        wide[::2, 1::3] = x
        readonly = x.copy()
        readonly.setflags(write=False)
        odd = np.frombuffer(b"?" + x.tobytes(), np.uint8)[1:].view(np.float32).reshape(2, 8)  # unaligned
        for a in (np.asfortranarray(x), wide[::2, 1::3], x[::-1][::-1], x[:, ::-1][:, ::-1], readonly, odd,
                  x.astype(">f4"), x.astype("<f4"), np.broadcast_to(x, (2, 8))):
            self.check(a)
        self.check(x[::-1], x[::-1])
        self.check(x[:, ::-1], x[:, ::-1])
        self.check(np.broadcast_to(x[0], (3, 8)), np.broadcast_to(x[0], (3, 8)))

    def test_element_types(self):
        whole = np.arange(16).reshape(2, 8)
        for t in "bBhHiIlLqQ":
            a = whole.astype(t)
            for b in (a, a.astype(a.dtype.newbyteorder(">"))):
                try:
                    self.check(b, whole)
                except ascribe.InvalidArgument as e:  # if the library wants floats there, it says so
                    self.assertIn("x", str(e))
        for t in ("f2", "f8", ">f8", ">f2"):
            self.check(self.x.astype(t), self.x.astype(t))

    def test_other_owners(self):
        x = self.x
        self.check(memoryview(x))
        self.check(Foreign(x))
        self.check(Foreign(np.asfortranarray(x)))
        self.check(x.tolist())
        self.check({"x": x})
        self.check([x])
        ours = self.net._subject.run_net((x, ), ("m0", ))[0]  # [2, 12]: too wide, but read
        with self.assertRaises(ascribe.Error) as e:
            self.net(ours)
        self.assertIn("12", str(e.exception))
        row = array.array("f", x[0].tolist())
        with self.assertRaises(ascribe.Error) as e:  # a row where rows are wanted
            self.net(row)
        self.assertIn("x", str(e.exception))

    @unittest.skipIf(torch is None, "torch is not here")
    def test_torch(self):
        t = torch.from_numpy(self.x.copy())
        self.check(t)
        self.check(t.t().contiguous().t())
        self.check(t.to(torch.bfloat16), t.to(torch.bfloat16).float().numpy())
        with self.assertRaises(ascribe.InvalidArgument) as e:
            self.net(t.clone().requires_grad_(True))
        self.assertIn("detach", str(e.exception))
        out = self.net.run(self.x)["logits"]
        raw = self.net._subject.run_net((self.x, ), None)[0]
        np.testing.assert_array_equal(torch.from_dlpack(raw).numpy(), out)

    def test_refusals(self):
        for x, part in (
            (np.array([[object()] * 8]), "objects"), (np.zeros((1, 8), complex), "complex"),
            (np.array([["a"] * 8]), "text"), (np.zeros((1, 8), "M8[s]"), "cannot be read"),
            (np.zeros((1, 8), [("a", "f4"), ("b", "f4")]), "no plain numbers"),
            (np.zeros((1, ) * 7, np.float32), "7 dimensions"), (np.zeros((1, 9), np.float32), "x"),
            (np.zeros(8, np.longdouble), "long double"), ([[1, 2], [3]], "x"), ({"y": 1}, "no such input"),
            ([self.x, self.x], "2 inputs"), ("text", "x"), (None, "x")):
            with self.assertRaises(ascribe.Error, msg=part) as e:
                self.net(x)
            self.assertIn(part, str(e.exception))
            self.assertNotIn("\n", e.exception.message)
        self.check(self.x)

    def test_outputs_are_views(self):
        out = self.net.run(self.x)
        a = out["logits"]
        self.assertEqual(a.dtype, np.float32)
        self.assertFalse(a.flags.owndata)
        a[0, 0] = 5  # it is ours
        self.assertEqual(a[0, 0], 5)
        del out
        gc.collect()
        self.assertEqual(a[0, 0], 5)

    def test_inputs_are_given_back(self):
        before = sys.getrefcount(self.x)
        for _ in range(100):
            self.net(self.x)
        self.assertEqual(sys.getrefcount(self.x), before)

    def test_dlpack_out(self):
        raw = self.net._subject.run_net((self.x, ), None)[0]
        self.assertEqual(raw.shape, (2, 3))
        self.assertEqual(raw.elem, "float32")
        self.assertEqual(raw.__dlpack_device__(), (1, 0))
        a = np.from_dlpack(raw)
        b = np.asarray(raw)
        np.testing.assert_array_equal(a, b)
        self.assertEqual(a.ctypes.data, b.ctypes.data)
        del raw, b
        gc.collect()
        np.testing.assert_allclose(a, reference(self.x), rtol=2e-5, atol=2e-5)
        capsule = self.net._subject.run_net((self.x, ), None)[0].__dlpack__()
        del capsule  # nobody took it

    def test_buffers_are_released(self):
        b = bytearray(self.x.tobytes())
        m = memoryview(b).cast("f", (2, 8))
        self.check(m)
        m.release()
        b.extend(b"x")  # raises BufferError if somebody still looks at it

    def test_memoryviews_of_outputs(self):
        raw = self.net._subject.run_net((self.x, ), None)[0]
        m = memoryview(raw)
        self.assertEqual((m.format, m.shape, m.strides, m.itemsize), ("f", (2, 3), (12, 4), 4))
        self.assertEqual(bytes(m), np.asarray(raw).tobytes())
        simple = ctypes.c_char.from_buffer(raw)
        self.assertEqual(ctypes.addressof(simple), np.asarray(raw).ctypes.data)

    def test_raw_calls_check_their_arguments(self):
        s = self.net._subject
        for call in (lambda: s.run_net(), lambda: s.run_net([1], None), lambda: s.run_net((), 3), lambda: s.ask(),
                     lambda: s.ask("x", (), (), False, None), lambda: s.ask(b"{}", [], (), False, None),
                     lambda: s.ask(b"{}", ("a", ), (), False, None), lambda: s.ask(b"{}", (1, ), (self.x, ), False, None),
                     lambda: _ascribe.Subject(), lambda: _ascribe.Subject(3, "x"), lambda: _ascribe.Array(),
                     lambda: _ascribe.Answer()):
            with self.assertRaises((TypeError, ascribe.Error, SystemError)):
                call()
        with self.assertRaises(ascribe.FailedPrecondition):
            s.tokenize("x")


if __name__ == "__main__":
    unittest.main()
