"""Torch modules as nets: the values of torch's own forward, layer by layer and function by function (torch_cases.py)."""
import subprocess
import sys
import unittest

import numpy as np

HAS_TORCH = subprocess.run([sys.executable, "-c", "import torch"], stderr=subprocess.DEVNULL, check=False).returncode == 0


@unittest.skipUnless(HAS_TORCH, "no torch here")
class FromTorch(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        import warnings
        warnings.simplefilter("ignore")

    def test_values_of_torch(self):
        import torch
        import torch_cases
        from ascribe.captum.from_torch import from_torch
        n = 0
        for name, module, *inputs in torch_cases.cases():
            module.eval()
            with self.subTest(name), torch.no_grad():
                want = module(*inputs).numpy()
                got = from_torch(module)(*[x.numpy() for x in inputs])
                self.assertEqual(got.shape, want.shape)
                # f32 sums of at most some hundred terms, in another order
                np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-6 * max(1, float(np.abs(want).max())))
                n += 1
        self.assertGreater(n, 280)

    def test_examples_do_not_depend_on_each_other(self):
        import torch
        from ascribe.captum.from_torch import from_torch
        torch.manual_seed(1)
        m = torch.nn.Sequential(torch.nn.TransformerEncoderLayer(6, 2, 12, batch_first=True), torch.nn.Flatten()).eval()
        x = torch.randn(4, 5, 6).numpy()
        f = from_torch(m)
        for i in range(4):
            np.testing.assert_allclose(f(x[i:i + 1])[0], f(x)[i], rtol=1e-5, atol=1e-6)

    def test_what_is_refused_is_named(self):
        import torch
        import torch_cases
        from ascribe.captum.from_torch import from_torch
        inputs = {"vec": torch.randn(1, 8), "img": torch.randn(1, 4, 8, 8), "seq": torch.randn(1, 5, 6),
                  "ids": torch.randint(0, 20, (1, 5))}
        for name, (make, which, part) in torch_cases.REFUSED.items():
            with self.subTest(name), self.assertRaises((NotImplementedError, TypeError)) as e:
                from_torch(make().eval())(inputs[which].numpy())
            self.assertIn(part, str(e.exception), name)

    def test_scores(self):
        """Gradients of what is recorded are torch's own."""
        import torch
        from ascribe.captum import attr
        torch.manual_seed(2)
        nn = torch.nn

        class Tagger(nn.Module):

            def __init__(self, kind):
                super().__init__()
                self.embedding, self.rnn = nn.Embedding(30, 6), kind(6, 5, 2, batch_first=True, bidirectional=True)
                self.attention, self.out = nn.MultiheadAttention(10, 2, batch_first=True), nn.Linear(10, 3)

            def forward(self, ids, mask=None):
                h = self.rnn(self.embedding(ids))[0]
                return self.out(self.attention(h, h, h, key_padding_mask=mask)[0][:, -1])

        ids, mask = torch.randint(1, 30, (2, 7)), torch.tensor([[0] * 7, [0] * 5 + [1] * 2]).bool()
        for kind in (nn.LSTM, nn.GRU, nn.RNN):
            m = Tagger(kind).eval()
            got = attr.LayerGradientXActivation(m, m.embedding).attribute(ids, target=1, additional_forward_args=(mask, ))
            e = m.embedding(ids).detach().requires_grad_()
            h = m.rnn(e)[0]
            m.out(m.attention(h, h, h, key_padding_mask=mask)[0][:, -1])[:, 1].sum().backward()
            want = (e * e.grad).detach().numpy()
            np.testing.assert_allclose(got.numpy(), want, rtol=1e-4, atol=1e-6 * float(np.abs(want).max()) + 1e-8)

    def test_functions_around_modules(self):
        """What tutorials give to Captum: a function that calls a model, with masks; layers are modules of that model."""
        import functools
        import torch
        from ascribe.captum import attr
        torch.manual_seed(3)
        nn = torch.nn
        net = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3)).eval()
        other = nn.Linear(4, 3).eval()
        x = torch.randn(2, 4)

        def inner(v):
            return net(v)

        def both(v, times=1.0):
            return inner(v) * times + other(v)

        class Holder:

            def __init__(self):
                self.net = net

            def __call__(self, v):
                return self.net(v)

        def torchs(function):
            v = x.clone().requires_grad_()
            function(v)[:, 1].sum().backward()
            return v.grad

        for name, f in (("closure", inner), ("two models", both), ("partial", functools.partial(both, times=2.0)),
                        ("method", net.forward), ("object", Holder()), ("no module", lambda v: v**3)):
            with self.subTest(name):
                got = attr.Saliency(f).attribute(x, target=1, abs=False)
                np.testing.assert_allclose(got.numpy(), torchs(f).numpy(), rtol=1e-4, atol=1e-6)
        got = attr.LayerActivation(both, net[0]).attribute(x)
        np.testing.assert_allclose(got.numpy(), net[0](x).detach().numpy(), rtol=1e-5, atol=1e-6)
        with self.assertRaises(AssertionError) as e:
            attr.LayerActivation(inner, other).attribute(x)
        self.assertIn("Linear", str(e.exception))
        self.assertFalse(torch.jit.is_tracing())


if __name__ == "__main__":
    unittest.main()
