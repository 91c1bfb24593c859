"""Inner values replaced while prompts are explained and texts continued: against transformers with forward hooks."""
import os
import tempfile
import unittest

import ascribe
import numpy as np
import support

try:
    import torch
    import transformers
except ImportError:
    torch = None

IDS = [5, 14, 11, 9, 18, 3, 7, 12]
ROW = np.sin(0.3 * np.arange(32)).astype(np.float32)
SITES = {"blocks.1.out": lambda m: m.model.layers[1], "blocks.0.mlp.out": lambda m: m.model.layers[0].mlp}


def patches(site):
    """What is done with the value, for ascribe (v [rows, width]) and for torch (v [1, T, width], places before it)."""

    def at_places(v, start):
        new = v.clone()
        for p in (2, 9):  # of the prompt, and of the answer
            if start <= p < start + v.shape[1]:
                new[:, p - start] = torch.as_tensor(ROW).to(v)
        return new

    row = torch.as_tensor(ROW)
    return {
        "half and a row": ({site: lambda v: v * 0.5 + ROW}, lambda v, start: v * 0.5 + row.to(v)),
        "one row for all": ({site: ROW}, lambda v, start: row.to(v).expand_as(v)),
        "two tokens": ({site: ([2, 9], ROW)}, at_places),
        "tanh": ({site: lambda v: v.tanh() * 2}, lambda v, start: torch.tanh(v) * 2),
    }


@unittest.skipIf(torch is None, "torch and transformers are not here")
class AgainstHooks(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        torch.manual_seed(1)
        config = transformers.LlamaConfig(hidden_size=32, intermediate_size=64, num_hidden_layers=3, num_attention_heads=4,
                                          num_key_value_heads=2, vocab_size=48, max_position_embeddings=64,
                                          tie_word_embeddings=False, initializer_range=0.3)
        cls.torch = transformers.LlamaForCausalLM(config).eval()
        cls.dir = tempfile.TemporaryDirectory()
        cls.torch.save_pretrained(cls.dir.name)
        cls.torch = cls.torch.double().requires_grad_(False)  # of the same f32 weights
        cls.models = [ascribe.load(cls.dir.name, device="reference", threads=1),
                      ascribe.load(cls.dir.name, threads=1), ascribe.load(cls.dir.name, threads=1, mode="compiled")]

    @classmethod
    def tearDownClass(cls):
        cls.models = cls.torch = None
        cls.dir.cleanup()

    def hooked(self, site, change):
        """The layer's output replaced; hook(start) says how many tokens stand before those that come."""
        state = {"start": 0}

        def hook(module, args, out):
            return (change(out[0], state["start"]), *out[1:]) if isinstance(out, tuple) else change(out, state["start"])

        return SITES[site](self.torch).register_forward_hook(hook), state

    def greedy(self, state, n):
        ids = list(IDS)
        with torch.no_grad():
            for _ in range(n):
                ids.append(int(self.torch(torch.tensor([ids]), use_cache=False).logits[0, -1].argmax()))
        return ids[len(IDS):]

    def score(self, target):
        """Log-probability of the target and gradient x input of each token."""
        x = self.torch.get_input_embeddings()(torch.tensor([IDS + target[:-1]])).detach().requires_grad_(True)
        logits = self.torch(inputs_embeds=x, use_cache=False).logits[0, len(IDS) - 1:]
        value = logits.log_softmax(-1)[torch.arange(len(target)), target].sum()
        if not value.requires_grad:  # everything on the way was replaced
            return float(value), np.zeros(len(IDS))
        value.backward()
        return float(value.detach()), (x.grad * x).sum(-1)[0, :len(IDS)].detach().numpy()

    def test_logits_answers_and_gradients(self):
        # Through 3 blocks: f32 64 eps L of the largest number; on the reference device rotary tables in f32.
        for site in SITES:
            for name, (patch, change) in patches(site).items():
                handle, state = self.hooked(site, change)
                try:
                    with torch.no_grad():
                        logits = self.torch(torch.tensor([IDS]), use_cache=False).logits[0].numpy()
                    answer = self.greedy(state, 6)
                    value, scores = self.score(answer[:3])
                finally:
                    handle.remove()
                for m, tolerance in zip(self.models, (4e-6, 3e-5, 3e-5)):
                    with self.subTest(site=site, patch=name, model=m.info.get("device"), tolerance=tolerance):
                        plain = m.logits(IDS, rows=-1)
                        p = m.patch(patch)
                        told = []
                        m._subject.generate(IDS, 6, ignore_eos=True, held=p.held(len(IDS)),
                                            on_token=lambda id, *rest: told.append(id))
                        self.assertEqual(told, answer)
                        r = p.explain(IDS, target_ids=answer[:3], method="input-x-gradient", features="token")
                        self.assertAlmostEqual(r.value, value, delta=tolerance * max(1, abs(value)) * 4)
                        np.testing.assert_allclose(r.scores, scores, rtol=0, atol=tolerance * abs(scores).max() * 16)
                        self.assertTrue(any(site in w for w in r.warnings), r.warnings)
                        if name != "two tokens":  # token 9 is not in the prompt
                            got = p.logits(IDS, rows=-1) if name != "tanh" else m.patch(
                                {site: lambda v: np.tanh(v) * 2}).logits(IDS, rows=-1)
                            np.testing.assert_allclose(got, logits, rtol=0, atol=tolerance * abs(logits).max() * 4)
                        np.testing.assert_array_equal(m.logits(IDS, rows=-1), plain)
                        free = m.explain(IDS, target_ids=answer[:3], method="input-x-gradient", features="token")
                        self.assertEqual(free.warnings, [])
                        self.assertGreater(abs(free.value - r.value), 1e-3)

    def test_ablation_runs_other_prompts(self):
        site = "blocks.1.out"
        patch, change = patches(site)["half and a row"]
        handle, _ = self.hooked(site, change)
        try:
            with torch.no_grad():
                def value(ids):
                    return float(self.torch(torch.tensor([ids]), use_cache=False).logits[0, -1].log_softmax(-1)[4])
                want = [value(IDS) - value(IDS[:i] + IDS[i + 1:]) for i in range(len(IDS))]
        finally:
            handle.remove()
        for m, tolerance in zip(self.models, (4e-6, 3e-5, 3e-5)):
            with m.patch(patch):
                r = m.explain(IDS, target_ids=[4], features="token")
            np.testing.assert_allclose(r.scores, want, rtol=0, atol=tolerance * 40)


class Held(unittest.TestCase):

    def setUp(self):
        self.m = ascribe.load(support.DECODER, threads=1, kind="decoder")

    def test_refusals(self):
        m, d = self.m, self.m.info["d_model"]
        with self.assertRaisesRegex(ascribe.InvalidArgument, "certain tokens"):
            m.patch({"blocks.0.out": ([1], np.zeros(d))}).explain(support.IDS, target_ids=[3], features="token")
        m.patch({"blocks.0.out": ([1], np.zeros(d))}).explain(support.IDS, target_ids=[3], features="token",
                                                              baseline="eos")
        with self.assertRaisesRegex(ascribe.InvalidArgument, "other rows stand beside it"):
            m.patch({"blocks.0.out": lambda v: v - v.mean(0, keepdims=True)}).generate(support.IDS, 2)
        with self.assertRaisesRegex(ascribe.InvalidArgument, "rows for a prompt"):
            m.patch({"blocks.0.out": np.zeros((3, d))}).generate(support.IDS, 2)
        with self.assertRaisesRegex(ascribe.InvalidArgument, "wide"):
            m.patch({"blocks.0.out": np.zeros(d + 1)}).generate(support.IDS, 2)
        with self.assertRaises(TypeError) as e:
            m.patch({"blocks.0.out": lambda v: np.tanh(v)}).generate(support.IDS, 2)
        self.assertIn("blocks.0.out", "".join(e.exception.__notes__))
        with self.assertRaises(KeyError):
            m.patch({"blocks.0.out": lambda v: {}["mine"]}).explain(support.IDS, target_ids=[3])
        m.explain(support.IDS, target_ids=[3])

    def test_stream_price_and_logprobs(self):
        m = self.m
        p = m.patch({"embed": lambda v: v * 0})
        self.assertEqual("".join(p.generate(support.IDS, 4, ignore_eos=True, stream=True)),
                         p.generate(support.IDS, 4, ignore_eos=True))
        self.assertGreater(p.price(support.IDS, target_ids=[3]).seconds, 0)
        a, b = p.logprobs(support.IDS), m.logprobs(support.IDS)
        self.assertNotEqual([t.logprob for t in a[1:]], [t.logprob for t in b[1:]])
        with p:
            self.assertEqual(m.ask({"ids": support.IDS, "target_ids": [3]}).value,
                             m.explain(support.IDS, target_ids=[3]).value)

    def test_encoders(self):
        m = ascribe.load(support.CLASSIFIER, threads=1, kind="encoder")
        last = m.sites()[-2]
        with m.patch({last: lambda v: v * 0.5}):
            r = m.explain(support.IDS, label="1", output="logit", features="token", method="input-x-gradient")
            self.assertAlmostEqual(r.value, float(m.classify(support.IDS)[1]), delta=1e-5)

    def test_nets(self):
        with tempfile.TemporaryDirectory() as d:
            net = ascribe.load(support.write_mlp(os.path.join(d, "m.onnx")), threads=1)
            x = np.linspace(-1, 1, 8, dtype=np.float32)[None]
            w = {k: np.array(v, np.float64).reshape(s) for k, (s, v) in support.mlp_weights().items()}
            hidden = np.maximum(x.astype(np.float64) @ w["w0"] + w["b0"], 0)
            with net.patch({"r0": lambda v: v * 2}):
                r = net.explain(x, method="input-x-gradient", target=1)
                np.testing.assert_allclose(r.value, net.run(x)["logits"][0, 1], rtol=1e-6)
            on1 = (2 * hidden @ w["w1"] + w["b1"] > 0)
            g = ((w["w2"][:, 1] * on1[0]) @ w["w1"].T * 2 * (hidden[0] > 0)) @ w["w0"].T
            np.testing.assert_allclose(np.ravel(r.scores), g * x[0], rtol=0, atol=1e-5)
            self.assertTrue(any("r0" in t for t in r.warnings), r.warnings)
            zero = net.patch({"r0": np.zeros((1, 12), np.float32)}).explain(x, method="feature-ablation", target=1)
            np.testing.assert_array_equal(np.ravel(zero.scores), 0)  # of many rows at once
            with self.assertRaisesRegex(ascribe.InvalidArgument, "r0"):
                net.patch({"r0": np.zeros((1, 3), np.float32)}).explain(x, target=1)
            self.assertFalse(any("replaced" in t for t in net.explain(x, target=1, method="input-x-gradient").warnings))


if __name__ == "__main__":
    unittest.main()
