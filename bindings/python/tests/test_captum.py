"""ascribe.captum: Captum's rules about tuples, shapes, types, targets and errors; formulas on nets small enough to do by
hand; what is absent says so."""
import os
import subprocess
import sys
import unittest
import warnings

import numpy as np
import support

import ascribe
from ascribe import _ascribe, nets
from ascribe import captum
from ascribe.captum import ArgumentError, attr, metrics, robust

RNG = np.random.default_rng(5)
W = {"a.weight": RNG.standard_normal((4, 3)).astype(np.float32), "a.bias": RNG.standard_normal(4).astype(np.float32),
     "b.weight": RNG.standard_normal((2, 4)).astype(np.float32)}
X = RNG.standard_normal((5, 3)).astype(np.float32)


def forward(f, x, y=None, double=False):
    out = f.linear("b", f.relu("r", f.linear("a", x if y is None else x + y)))
    return 2 * out if double else out


MLP = nets.NetFunction(forward, W)


def value(x):
    return np.maximum(x @ W["a.weight"].T + W["a.bias"], 0) @ W["b.weight"].T


def gradient(x, target):
    on = (x @ W["a.weight"].T + W["a.bias"] > 0).astype(np.float32)
    return (on * W["b.weight"][target]) @ W["a.weight"]


class Rules(unittest.TestCase):

    def test_array_in_array_out_tuple_in_tuple_out(self):
        one = attr.Saliency(MLP).attribute(X, target=1, abs=False)
        np.testing.assert_allclose(one, gradient(X, 1), rtol=1e-5, atol=1e-6)
        self.assertEqual(one.dtype, np.float32)
        several = attr.Saliency(MLP).attribute((X,), target=1)
        self.assertIsInstance(several, tuple)
        two = attr.InputXGradient(MLP).attribute((X, X), target=0)
        self.assertEqual([a.shape for a in two], [(5, 3), (5, 3)])

    def test_lrp_of_a_layers_input_is_that_of_the_input_it_is(self):
        """Numbers of captum 0.9: a sum hands all on to each of its terms, also where one alone depends on the site."""
        weights = {"a.weight": [[1, -1], [2, 1]], "a.bias": [0.5, 0], "b.weight": [[3], [-1]], "b.bias": [0, 1], "o.weight": [[1, 2]]}
        net = nets.NetFunction(lambda f, x, y: f.linear("o", f.relu("r", f.linear("a", x) + f.linear("b", y))),
                               {k: np.array(v, np.float32) for k, v in weights.items()})
        inputs = (np.array([[1, 3]], np.float32), np.array([[2]], np.float32))
        want = ([[0.2, 13.8]], [[20.5]])
        for got in (attr.LRP(net).attribute(inputs, target=0),
                    [attr.LayerLRP(net, n).attribute(inputs, target=0, attribute_to_layer_input=True) for n in "ab"]):
            for g, w in zip(got, want):
                np.testing.assert_allclose(g, w, rtol=1e-5)

    def test_float64_stays_and_other_orders_are_read(self):
        a = attr.InputXGradient(MLP).attribute(X.astype(np.float64), target=0)
        self.assertEqual(a.dtype, np.float64)
        turned = np.asfortranarray(X)
        turned.flags.writeable = False
        np.testing.assert_array_equal(attr.Saliency(MLP).attribute(turned, target=0),
                                      attr.Saliency(MLP).attribute(X, target=0))

    def test_targets_of_every_form_choose_the_same_number(self):
        want = attr.InputXGradient(MLP).attribute(X, target=1)
        for target in (1, np.int64(1), np.array([1]), np.array([1] * 5), [1] * 5, (1,), [(1,)] * 5):
            np.testing.assert_array_equal(attr.InputXGradient(MLP).attribute(X, target=target), want)
        mixed = attr.InputXGradient(MLP).attribute(X, target=[0, 1, 0, 1, 1])
        np.testing.assert_allclose(mixed[1], want[1], rtol=1e-6)

    def test_extra_arguments_reach_the_function(self):
        y = np.ones_like(X)
        a = attr.Saliency(MLP).attribute(X, target=0, abs=False, additional_forward_args=(y, True))
        np.testing.assert_allclose(a, 2 * gradient(X + y, 0), rtol=1e-5, atol=1e-6)
        b = attr.Saliency(MLP).attribute(X, target=0, abs=False, additional_forward_args=(None, True))
        np.testing.assert_allclose(b, 2 * gradient(X, 0), rtol=1e-5, atol=1e-6)

    def test_completeness_and_delta(self):
        ig = attr.IntegratedGradients(MLP)
        self.assertTrue(ig.has_convergence_delta())
        base = np.full((1, 3), 0.3, np.float32)
        scores, delta = ig.attribute(X, base, target=0, n_steps=200, return_convergence_delta=True)
        self.assertEqual(delta.shape, (5,))
        gap = scores.sum(1) - (value(X)[:, 0] - value(base)[:, 0])
        np.testing.assert_allclose(delta, gap, atol=1e-4)
        np.testing.assert_allclose(ig.compute_convergence_delta(scores, base, X, target=0), gap, atol=1e-4)
        with self.assertRaises(NotImplementedError):
            attr.Saliency(MLP).compute_convergence_delta(scores, base, X, target=0)

    def test_ablation_by_hand_with_a_mask(self):
        mask = np.array([[0, 0, 1]])
        a = attr.FeatureAblation(MLP).attribute(X, baselines=0.5, target=1, feature_mask=mask)
        gone = X.copy()
        gone[:, :2] = 0.5
        np.testing.assert_allclose(a[:, 0], (value(X) - value(gone))[:, 1], rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(a[:, 0], a[:, 1])
        rows = attr.FeatureAblation(MLP).attribute(X, feature_mask=mask)  # two outputs: rows, as in Captum
        self.assertEqual(rows.shape, (10, 3))
        self.assertEqual(attr.ShapleyValues(MLP).attribute(X).shape, (5, 2, 3))

    def test_layers_and_neurons(self):
        h = np.maximum(X @ W["a.weight"].T + W["a.bias"], 0)
        np.testing.assert_allclose(attr.LayerActivation(MLP, "r").attribute(X), h, rtol=1e-5, atol=1e-6)
        both = attr.LayerActivation(MLP, ["a", "r"]).attribute(X)
        self.assertIsInstance(both, list)
        n = attr.NeuronGradient(MLP, "r").attribute(X, 2)
        on = (X @ W["a.weight"].T + W["a.bias"] > 0).astype(np.float32)
        np.testing.assert_allclose(n, on[:, 2:3] * W["a.weight"][2], rtol=1e-5, atol=1e-6)
        fn = attr.NeuronGradient(MLP, "r").attribute(X, lambda v: v[:, 1:3].sum(1))
        np.testing.assert_allclose(fn, attr.NeuronGradient(MLP, "r").attribute(X, (slice(1, 3),)), rtol=1e-4, atol=1e-5)
        before = attr.LayerActivation(MLP, "r").attribute(X, attribute_to_layer_input=True)
        np.testing.assert_allclose(before, X @ W["a.weight"].T + W["a.bias"], rtol=1e-5, atol=1e-6)

    def test_noise_of_nothing_is_the_method_itself(self):
        want = attr.IntegratedGradients(MLP).attribute(X, target=0)
        got = attr.NoiseTunnel(attr.IntegratedGradients(MLP)).attribute(X, nt_samples=3, stdevs=0.0, target=0)
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)

    def test_noise_tunnel_of_layers_and_neurons(self):
        for a, kw in ((attr.LayerIntegratedGradients(MLP, "r"), {"target": 0}), (attr.LayerLRP(MLP, "a"), {"target": 0}),
                      (attr.NeuronConductance(MLP, "r"), {"neuron_selector": 1, "target": 0}),
                      (attr.Occlusion(MLP), {"sliding_window_shapes": (1,), "target": 0})):
            want = a.attribute(X, **kw)
            got = attr.NoiseTunnel(a).attribute(X, nt_samples=3, stdevs=0.0, **kw)
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
        with self.assertRaises(ArgumentError):
            attr.NoiseTunnel(attr.KernelShap(MLP)).attribute(X, target=0, n_samples=4)
        self.assertEqual(attr.Saliency(MLP).attribute(X, target=0).shape, X.shape)  # nothing stays captured

    def test_draws_repeat_with_the_seed_and_differ_between_calls(self):
        gs = attr.GradientShap(MLP)
        captum.manual_seed(7)
        a, b = (gs.attribute(X, np.zeros((1, 3)), stdevs=0.1, target=0) for _ in range(2))
        captum.manual_seed(7)
        np.testing.assert_array_equal(gs.attribute(X, np.zeros((1, 3)), stdevs=0.1, target=0), a)
        self.assertFalse(np.array_equal(a, b))
        called = gs.attribute(X, lambda: np.zeros((2, 3)), target=0)
        self.assertEqual(called.shape, X.shape)

    def test_a_users_own_formula_over_multipliers(self):
        d = attr.DeepLift(MLP)
        want = d.attribute(X, target=0)
        got = d.attribute(X, target=0, custom_attribution_func=lambda m, i, b: tuple(
            m1 * (i1 - b1) for m1, i1, b1 in zip(m, i, b)))
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)

    def test_compat_is_a_choice(self):
        kw = {"target": 0, "n_steps": 10, "method": "riemann_trapezoid"}
        own = attr.IntegratedGradients(MLP, compat=False).attribute(X, **kw)
        np.testing.assert_allclose(attr.IntegratedGradients(MLP).attribute(X, **kw), own * 0.9, rtol=1e-4, atol=1e-6)
        captum.set_compat(False)
        try:
            np.testing.assert_array_equal(attr.IntegratedGradients(MLP).attribute(X, **kw), own)
        finally:
            captum.set_compat(True)

    def test_lime_base_with_functions_of_ones_own(self):
        rng = np.random.default_rng(0)
        seen = []

        def similarity(original, perturbed, features, **kwargs):
            seen.append(kwargs["num_interp_features"])
            return 1.0

        lime = attr.LimeBase(MLP, attr.SkLearnLinearRegression(), similarity,
                             lambda x, **kw: rng.integers(0, 2, (1, 3)).astype(np.float32), True,
                             lambda z, x, **kw: z * x, None)
        c = lime.attribute(X[:1], target=0, n_samples=60, num_interp_features=3)
        self.assertEqual(c.shape, (1, 3))
        self.assertEqual(len(seen), 60)
        full = attr.ShapleyValues(MLP).attribute(X[:1], target=0)
        self.assertLess(np.abs(c - full).max(), 1.5)

        def broken(x, **kw):
            raise KeyError("mine")

        with self.assertRaises(KeyError):
            attr.LimeBase(MLP, None, None, broken, True, lambda z, x, **kw: z * x, None).attribute(
                X[:1], target=0, num_interp_features=3)

    def test_a_whole_set_read_in_batches(self):
        labels = np.array([0, 1, 1, 0, 1])
        batches = [(X[i:i + 2], labels[i:i + 2]) for i in range(0, 5, 2)]

        def reduce(state, output, batch):
            hits = (output.argmax(1) == batch[1]).sum()
            return (0 if state is None else state) + hits

        loader = attr.DataLoaderAttribution(attr.FeatureAblation(MLP))
        for per_pass in (1, 3):
            got = loader.attribute(batches, (0, 2), 0.5, reduce=reduce, to_metric=lambda hits: np.array([hits / 5]),
                                   perturbations_per_pass=per_pass)
            want = []
            for i in range(3):
                gone = X.copy()
                gone[:, i] = 0.5
                want.append((value(X).argmax(1) == labels).mean() - (value(gone).argmax(1) == labels).mean())
            np.testing.assert_allclose(got[0][0], want, atol=1e-6)
        plain = attr.DataLoaderAttribution(attr.FeatureAblation(MLP)).attribute([b[0] for b in batches])
        self.assertEqual(plain.shape, (10, 3))
        with self.assertRaises(ArgumentError):
            loader.attribute(batches, (0, 5))

        def broken(state, output, batch):
            raise KeyError("mine")

        with self.assertRaises(KeyError):
            loader.attribute(batches, (0, 2), reduce=broken)

    def test_onnx_style_nets_and_their_ports(self):
        net = ascribe.Net.build({"x": (None, 3)}, lambda f, x: forward(f, x), W)
        np.testing.assert_array_equal(attr.Saliency(net).attribute(X, target=1), attr.Saliency(MLP).attribute(X, target=1))
        with self.assertRaises(ArgumentError):
            attr.Saliency(net).attribute(X, target=1, additional_forward_args=True)


class Metrics(unittest.TestCase):

    def test_infidelity_of_a_linear_net_is_nothing(self):
        linear = nets.NetFunction(lambda f, x: f.linear("b", x), {"b.weight": W["a.weight"]})
        scores = attr.Saliency(linear).attribute(X, target=2, abs=False)

        def perturb(x):
            step = np.random.default_rng(1).normal(0, 0.1, x.shape).astype(np.float32)
            return step, x - step

        got = metrics.infidelity(linear, perturb, X, scores, target=2, n_perturb_samples=4, max_examples_per_batch=7)
        np.testing.assert_allclose(got, 0, atol=1e-9)
        wrapped = metrics.infidelity_perturb_func_decorator(False)(lambda x: x - 0.01)
        np.testing.assert_allclose(metrics.infidelity(linear, wrapped, X, scores, target=2), 0, atol=1e-9)
        by_hand = metrics.infidelity(linear, lambda x: (np.ones_like(x), x - 1), X, np.zeros_like(X), target=2)
        np.testing.assert_allclose(by_hand, W["a.weight"][2].sum()**2, rtol=1e-4)

    def test_sensitivity_inside_and_outside_agree(self):
        method = attr.InputXGradient(MLP)
        move = lambda x: x + 0.01  # noqa: E731
        inside = metrics.sensitivity_max(method.attribute, X, move, n_perturb_samples=2, target=0)
        outside = metrics.sensitivity_max(lambda x, target: method.attribute(x, target=target), X, move,
                                          n_perturb_samples=2, target=0)
        np.testing.assert_allclose(inside, outside, rtol=1e-3, atol=1e-5)
        self.assertEqual(metrics.sensitivity_max(method.attribute, X, target=0).shape, (5,))

    def test_attacks(self):
        g = gradient(X, 1)
        moved = robust.FGSM(MLP, loss_func="value").perturb(X, 0.1, target=1)
        np.testing.assert_allclose(moved, X - 0.1 * np.sign(g) * (np.abs(g) > 1e-6), atol=1e-6)
        bound = robust.FGSM(MLP, loss_func="value", lower_bound=0.0).perturb(X, 0.1, target=1)
        self.assertGreaterEqual(bound.min(), 0)
        ball = robust.PGD(MLP, loss_func="cross_entropy").perturb(X, 0.05, 0.02, 5, target=1, norm="L2")
        self.assertLessEqual(np.linalg.norm(ball - X, axis=1).max(), 0.05 + 1e-5)


class Errors(unittest.TestCase):

    def refused(self, call, *parts, kind=AssertionError):
        with self.assertRaises(kind) as raised:
            call()
        for p in parts:
            self.assertIn(p, str(raised.exception))

    def test_arguments_that_cannot_be(self):
        ig, fa = attr.IntegratedGradients(MLP), attr.FeatureAblation(MLP)
        self.refused(lambda: ig.attribute([X], target=0), "tuple")
        self.refused(lambda: ig.attribute(X), "target")
        self.refused(lambda: ig.attribute(X, target=1.5), "target")
        self.refused(lambda: ig.attribute(X, target=[0, 1]), "2 entries for 5 examples")
        self.refused(lambda: ig.attribute(X, target=99), "99", kind=ascribe.OutOfRange)
        self.refused(lambda: ig.attribute(X, np.zeros((2, 3)), target=0), "(2, 3)", "(5, 3)")
        self.refused(lambda: ig.attribute(X, (0, 0), target=0), "2 for 1")
        self.refused(lambda: ig.attribute(X, target=0, method="simpson"), "riemann_left")
        self.refused(lambda: ig.attribute(X, target=0, n_steps=0), "n_steps")
        self.refused(lambda: ig.attribute(X, target=0, internal_batch_size=0), "internal_batch_size")
        self.refused(lambda: fa.attribute(X, target=0, perturbations_per_eval=0), "perturbations_per_eval")
        self.refused(lambda: fa.attribute(X, target=0, feature_mask=np.array([[0.5, 1, 2]])), "whole numbers")
        self.refused(lambda: fa.attribute(X, target=0, feature_maks=1), "feature_maks", kind=TypeError)
        self.refused(lambda: attr.Occlusion(MLP).attribute(X, (4,), target=0), "larger")
        self.refused(lambda: attr.Occlusion(MLP).attribute(X, (1, 1), target=0), "1 sizes")
        self.refused(lambda: attr.Occlusion(MLP).attribute(X, (1,), strides=(2,), target=0), "gaps")
        self.refused(lambda: attr.NoiseTunnel(ig).attribute(X, nt_type="other", target=0), "vargrad")
        self.refused(lambda: attr.NoiseTunnel(ig).attribute(X, stdevs=1, target=0), "float")
        self.refused(lambda: attr.LayerActivation(MLP, "nope").attribute(X), "nope")
        self.refused(lambda: attr.NeuronGradient(MLP, "r").attribute(X, 4), "4 of 4")
        self.refused(lambda: attr.NeuronGradient(MLP, "r").attribute(X, lambda v: (v * v).sum(1)), "linear")
        self.refused(lambda: attr.LayerActivation(MLP, "r", device_ids=[0]), "device_ids")
        self.refused(lambda: attr.DeepLift(MLP, eps=1e-3), "eps")

    def test_models_that_are_none(self):
        if "torch" not in sys.modules:  # with it, a function is recorded (test_from_torch.py)
            self.refused(lambda: attr.Saliency(lambda x: x), "NetFunction", kind=TypeError)
        self.refused(lambda: attr.Saliency(3), "int", kind=TypeError)
        self.refused(lambda: attr.NoiseTunnel(MLP), "IntegratedGradients", kind=TypeError)

    def test_absent_names_say_why(self):
        from ascribe.captum import concept, influence
        for module, name in ((attr, "Summarizer"), (concept, "TCAV"), (influence, "TracInCP"),
                             (robust, "AttackComparator"), (attr, "Summarizer")):
            with self.assertRaises(AttributeError) as raised:
                getattr(module, name)
            self.assertIn("not part of", str(raised.exception))
        with self.assertRaises(AttributeError):
            attr.Nonsense
        with self.assertRaises(ImportError):
            exec("from ascribe.captum.concept import CAV")

    def test_classes_are_those_of_the_librarys_table(self):
        for name, method, _, _ in _ascribe.captum_names():
            found = next((getattr(m, name) for m in (attr, metrics, robust) if name in m.__all__), None)
            self.assertIsNotNone(found, name)
            if hasattr(found, "_method") and name not in ("LimeBase", "DataLoaderAttribution"):
                self.assertEqual(found._method, method.split(",")[0], name)


class Documents(unittest.TestCase):

    def test_generated_files_are_what_would_be_generated(self):
        for script in ("gen-python-ops.py", "gen-captum-docs.py"):
            done = subprocess.run([sys.executable, os.path.join(support.ROOT, "scripts", script), "--check"],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout)


class Languages(unittest.TestCase):

    def setUp(self):
        self.model = ascribe.load(support.DECODER, kind="decoder")

    def test_templates(self):
        inp = attr.TextTemplateInput("{} two {}", ["one", "three"])
        r = attr.LLMAttribution(attr.FeatureAblation(self.model)).attribute(inp, target=" four five")
        direct = self.model.explain(template="{} two {}", values=["one", "three"], target=" four five", per_token=True)
        np.testing.assert_allclose(r.seq_attr, direct.scores, rtol=1e-6)
        np.testing.assert_allclose(r.token_attr.sum(0), r.seq_attr, atol=1e-4)
        self.assertEqual(list(r.seq_attr_dict), ["one", "three"])
        one = attr.TextTemplateInput("{a} two {b}", {"a": "one", "b": "three"}, mask={"a": 4, "b": 4})
        both = attr.LLMAttribution(attr.FeatureAblation(self.model)).attribute(one, target=" four")
        self.assertEqual(both.seq_attr[0], both.seq_attr[1])
        k = attr.LLMAttribution(attr.KernelShap(self.model)).attribute(inp, target=" four", n_samples=8)
        self.assertIsNone(k.token_attr)

    def test_tokens_and_gradients(self):
        inp = attr.TextTokenInput("one two three", self.model, baselines=5)
        fa = attr.LLMAttribution(attr.FeatureAblation(self.model)).attribute(inp, target=" four")
        self.assertEqual(len(fa.seq_attr), len(inp.values))
        ig = attr.LLMGradientAttribution(attr.LayerIntegratedGradients(self.model, "embed")).attribute(
            inp, target=" four", n_steps=64)
        whole = ig.result.value - ig.result.baseline_value
        self.assertLess(abs(ig.seq_attr.sum() - whole), 0.1 + 0.05 * abs(whole))

    def test_refused(self):
        fa = attr.FeatureAblation(self.model)
        inp = attr.TextTemplateInput("{} two", ["one"])
        for call, kind in ((lambda: fa.attribute(X, target=0), TypeError),
                           (lambda: attr.LLMAttribution(attr.Saliency(self.model)), AssertionError),
                           (lambda: attr.LLMAttribution(attr.FeatureAblation(MLP)), TypeError),
                           (lambda: attr.LLMAttribution(fa).attribute(inp, target=" a", gen_args={}), AssertionError),
                           (lambda: attr.LLMAttribution(fa).attribute("text", target=" a"), TypeError),
                           (lambda: attr.LLMAttribution(fa).attribute(inp, target=3.0), TypeError),
                           (lambda: attr.LLMAttribution(fa).attribute(inp, target=" a", nonsense=1), TypeError),
                           (lambda: attr.TextTemplateInput(lambda a: a, ["x"]), AssertionError),
                           (lambda: attr.TextTemplateInput("{}", "x"), AssertionError)):
            with self.assertRaises(kind):
                call()


class Visualization(unittest.TestCase):

    def test_scale_is_captums(self):
        """Numbers of captum 0.9, _normalize_attr with outlier_perc=60."""
        a = np.array([[3., -1., .5], [-4., .25, 8.]])
        for sign, want in (('positive', [0.375, 0.0, 0.0625, 0.0, 0.03125, 1.0]),
                           ('absolute_value', [0.75, 0.25, 0.125, 1.0, 0.0625, 1.0]),
                           ('negative', [0.0, 0.25, 0.0, 1.0, 0.0, 0.0]),
                           ('all', [0.75, -0.25, 0.125, -1.0, 0.0625, 1.0])):
            np.testing.assert_allclose(attr.visualization.scaled(a, sign, 60).reshape(-1), want, atol=1e-6, err_msg=sign)
        self.assertEqual(attr.visualization.scaled(np.zeros((2, 2)), "all").tolist(), [[0, 0], [0, 0]])

    def test_texts_are_escaped(self):
        record = attr.visualization.VisualizationDataRecord(np.array([.5, -.2]), .9, "<b>", 1, 1, .3, ["a", "<script>"], 0.)
        page = attr.visualization.visualize_text([record]).data
        self.assertNotIn("<script>", page)
        self.assertIn("&lt;script&gt;", page)

    def test_bad_arguments(self):
        a = np.zeros((4, 4, 3))
        for call in (lambda: attr.visualization.visualize_image_attr(a, method="heat"),
                     lambda: attr.visualization.visualize_image_attr(a, sign="plus"),
                     lambda: attr.visualization.visualize_image_attr(a, None, "masked_image"),
                     lambda: attr.visualization.visualize_image_attr_multiple(a, a, ["heat_map"], [])):
            with self.assertRaises(ArgumentError):
                call()


def flat(a):
    return [b for v in a for b in flat(v)] if isinstance(a, (tuple, list)) else [a]


def drawn(axes):
    """What lies on the axes: lines, stripes, coloured pieces, and the range of x."""
    out = []
    for axis in np.atleast_1d(np.asarray(axes, object)):
        lines = [(line.get_xdata().tolist(), line.get_ydata().tolist(), line.get_color(), line.get_linewidth()) for line in axis.lines]
        stripes = [(np.round(patch.get_bbox().get_points()[:, 0], 12).tolist(), patch.get_facecolor()) for patch in axis.patches]
        pieces = []
        for c in axis.collections:
            n = len(c.get_segments())
            pieces.append((np.stack(c.get_segments()).tolist(), c.to_rgba(c.get_array()[:n]).tolist(), c.get_linewidths().tolist()))
        legend = axis.get_legend()
        words = [t.get_text() for t in legend.get_texts()] if legend is not None else []
        out.append((lines, stripes, pieces, axis.get_ylabel(), axis.get_title(), words, axis.get_xlim()))
    return out


@unittest.skipUnless(subprocess.run([sys.executable, "-c", "import captum, matplotlib"], stderr=subprocess.DEVNULL, check=False
                                    ).returncode == 0, "no captum or no matplotlib here")
class Series(unittest.TestCase):

    def setUp(self):
        import matplotlib
        matplotlib.use("Agg")
        from matplotlib import cm, pyplot
        self.plt = pyplot
        if not hasattr(cm, "get_cmap"):  # which captum 0.9 calls, and matplotlib 3.9 took away
            cm.get_cmap = pyplot.get_cmap
            self.addCleanup(delattr, cm, "get_cmap")

    def test_draws_what_captum_draws(self):
        from captum.attr import visualization as theirs
        rng = np.random.default_rng(2)
        data, scores, x = rng.standard_normal((9, 3)), rng.standard_normal((9, 3)), np.arange(9) * 0.5 + 2
        labelled = {"x_values": x, "channel_labels": ["a", "b", "c"], "title": "t", "linewidth": 3, "cmap": "viridis",
                    "alpha_overlay": 0.4, "outlier_perc": 10}
        combined = {"method": "overlay_combined", "channel_labels": ["a", "b", "c"], "sign": "all"}
        for kwargs in ({}, labelled, {"channels_last": False, "sign": "positive"}, combined, {**labelled, **combined, "sign": "negative"},
                       {"method": "colored_graph", "sign": "negative"}, {"method": "colored_graph", "sign": "all", **labelled}):
            turned = (scores, data) if kwargs.get("channels_last", True) else (scores.T, data.T)
            want = flat(drawn(theirs.visualize_timeseries_attr(*turned, **kwargs)[1]))
            got = flat(drawn(attr.visualization.visualize_timeseries_attr(*turned, **kwargs)[1]))
            self.assertEqual(len(got), len(want), kwargs)
            for a, b in zip(got, want, strict=True):
                if isinstance(a, str):
                    self.assertEqual(a, b, kwargs)
                else:
                    self.assertAlmostEqual(a, b, places=9, msg=str(kwargs))
            self.plt.close("all")

    def test_without_pyplot_and_with_a_bar(self):
        data = np.arange(8.0).reshape(4, 2) + 1
        figure, axes = attr.visualization.visualize_timeseries_attr(data, data, use_pyplot=False, show_colorbar=True)
        self.assertEqual(len(figure.axes), 3)
        self.assertEqual(axes[0].get_xlim(), (0.0, 3.0))
        self.assertEqual(self.plt.get_fignums(), [])  # Captum opens one beside it
        low, high = attr.visualization.visualize_timeseries_attr(data, data, method="colored_graph", use_pyplot=False)[1][0].get_ylim()
        self.assertTrue(low < 1 and high > 7)  # Captum's 1.2 times the least cuts off what lies below

    def test_bad_arguments(self):
        a, draw = np.zeros((4, 2)), attr.visualization.visualize_timeseries_attr
        for call in (lambda: draw(a, a, method="lines"), lambda: draw(a, a, sign="plus"), lambda: draw(a[0], a[0]),
                     lambda: draw(a, a[:3]), lambda: draw(a, a, x_values=np.arange(3)), lambda: draw(a, a, channel_labels=["a"])):
            with self.assertRaises(ArgumentError):
                call()


@unittest.skipUnless(subprocess.run([sys.executable, "-c", "import torch"], stderr=subprocess.DEVNULL, check=False
                                    ).returncode == 0, "no torch here")
class Torch(unittest.TestCase):

    def test_modules_and_tensors(self):
        import torch
        torch.manual_seed(0)
        m = torch.nn.Sequential(torch.nn.Conv2d(1, 3, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
                                torch.nn.Flatten(), torch.nn.Dropout(), torch.nn.Linear(27, 4)).eval()
        x = torch.randn(2, 1, 6, 6, requires_grad=True)
        m(x)[:, 1].sum().backward()
        got = attr.Saliency(m).attribute(x, target=1, abs=False)
        self.assertIsInstance(got, torch.Tensor)
        np.testing.assert_allclose(got.numpy(), x.grad.numpy(), atol=1e-6)
        layer = attr.LayerActivation(m, m[1]).attribute(x)
        np.testing.assert_allclose(layer.numpy(), torch.relu(m[0](x)).detach().numpy(), atol=1e-6)
        self.assertFalse(any("forward" in s.__dict__ for s in m.modules()))


if __name__ == "__main__":
    with warnings.catch_warnings():
        unittest.main()
