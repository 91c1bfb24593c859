"""Captum itself beside ascribe.captum: random small torch modules (weights copied), random inputs, baselines, targets and
options, every class that is deterministic; random ones by their means. Not part of the checks: needs torch and captum 0.9.

compare_captum.py [SEED] [--verbose] [--only MODEL] [--llm FOLDER]
MODEL: mlp, cnn, cnn1d, norm, two, or none; FOLDER: a small Hugging Face causal model with tokenizer"""
import sys
import warnings

import captum.attr as theirs
import captum.metrics as their_metrics
import captum.robust as their_robust
import numpy as np
import torch
from captum._utils.models.linear_model import SkLearnLasso

import ascribe.captum.attr as ours
import ascribe.captum.metrics as our_metrics
import ascribe.captum.robust as our_robust

ROOM = 2e-4  # of the largest number: both run in f32, path methods sum 50 points
counts = {"same": 0, "different": 0, "only one refuses": 0}
VERBOSE = "--verbose" in sys.argv


def flat(v):
    if isinstance(v, (tuple, list)):
        return [a for e in v for a in flat(e)]
    return [v.detach().numpy() if isinstance(v, torch.Tensor) else np.asarray(v)]


def compare(what, a, b, room=ROOM):
    """a, b: functions that call ours and theirs."""
    results = []
    for call in (a, b):
        try:
            results.append(flat(call()))
        except Exception as e:  # noqa: BLE001 (compared)
            results.append(e)
    x, y = results
    if isinstance(x, Exception) or isinstance(y, Exception):
        both = isinstance(x, Exception) and isinstance(y, Exception)
        counts["same" if both else "only one refuses"] += 1
        if not both or VERBOSE:
            print("%s: ours %s, theirs %s" % (what, *(("%s: %s" % (type(r).__name__, str(r)[:90])) if isinstance(
                r, Exception) else "has values" for r in (x, y))))
        return
    worst = float("inf")
    if [v.shape for v in x] == [v.shape for v in y]:
        size = max(1e-6, *(float(np.abs(v).max(initial=0)) for v in y))
        worst = max(float(np.abs(u - v).max(initial=0)) for u, v in zip(x, y)) / size
    counts["same" if worst <= room else "different"] += 1
    if worst > room or VERBOSE:
        print("%s %s: %.2g of the largest; shapes %s and %s" % (
            "ok  " if worst <= room else "DIFF", what, worst, [v.shape for v in x], [v.shape for v in y]))


class Two(torch.nn.Module):
    """Two inputs, a shared ReLU module, a functional product, several outputs."""

    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(4, 6), torch.nn.Linear(3, 6)
        self.relu, self.tanh = torch.nn.ReLU(), torch.nn.Tanh()
        self.out = torch.nn.Linear(6, 3)

    def forward(self, x, y, scale=1.0):
        return self.out(self.relu(self.a(x)) + scale * self.tanh(self.b(y)))


def models():
    """(name, module, inputs, layer)"""
    n = torch.nn
    mlp = n.Sequential(n.Linear(5, 8), n.ReLU(), n.Linear(8, 6), n.Sigmoid(), n.Linear(6, 3))
    cnn = n.Sequential(n.Conv2d(2, 4, 3, padding=1), n.ReLU(), n.MaxPool2d(2), n.Conv2d(4, 5, 3, stride=2, padding=1),
                       n.ReLU(), n.AdaptiveAvgPool2d(1), n.Flatten(), n.Linear(5, 3))
    net1 = n.Sequential(n.Conv1d(3, 6, 3, padding=1, groups=3), n.BatchNorm1d(6), n.LeakyReLU(), n.AvgPool1d(2),
                        n.Flatten(), n.Linear(24, 3), n.Softmax(dim=1)).eval()
    norm = n.Sequential(n.Linear(5, 8), n.LayerNorm(8), n.ELU(), n.Linear(8, 3))
    row = n.Sequential(n.Linear(5, 6), n.ReLU(), n.Linear(6, 3))
    for m in (row[0], row[2]):  # as the toy model of Captum's first tutorial has it
        m.bias = n.Parameter(m.bias.detach()[None])
    return [("mlp", mlp, torch.randn(4, 5), mlp[1]), ("row bias", row, torch.randn(4, 5), row[1]), ("cnn", cnn, torch.randn(3, 2, 8, 8), cnn[3]),
            ("cnn1d", net1, torch.randn(3, 3, 8), net1[0]), ("norm", norm, torch.randn(4, 5), norm[2]),
            ("two", Two(), (torch.randn(4, 4), torch.randn(4, 3)), "relu")]


def one_model(name, module, inputs, layer):
    several = isinstance(inputs, tuple)
    their_layer = getattr(module, layer) if isinstance(layer, str) else layer
    first = inputs[0] if several else inputs
    target = torch.randint(0, 3, (first.shape[0],))
    base = tuple(torch.randn_like(i[:1]) for i in inputs) if several else torch.randn_like(inputs)
    rows = tuple(torch.randn(3, *i.shape[1:]) for i in inputs) if several else torch.randn(3, *inputs.shape[1:])
    plain = ["Saliency", "InputXGradient", "GuidedBackprop", "Deconvolution", "FeatureAblation", "LRP"]
    for c in plain:
        compare("%s %s" % (name, c), lambda: getattr(ours, c)(module).attribute(inputs, target=target),
                lambda: getattr(theirs, c)(module).attribute(inputs, target=target))
    for method in ("gausslegendre", "riemann_trapezoid", "riemann_left", "riemann_right", "riemann_middle"):
        for multiply in (True, False):
            kw = {"target": target, "method": method, "n_steps": 20, "return_convergence_delta": multiply}
            compare("%s IntegratedGradients %s" % (name, method),
                    lambda: ours.IntegratedGradients(module, multiply).attribute(inputs, base, **kw),
                    lambda: theirs.IntegratedGradients(module, multiply).attribute(inputs, base, **kw), 1e-3)
    for c in ("DeepLift", "FeatureAblation", "ShapleyValueSampling"):
        if c == "ShapleyValueSampling" and name != "mlp":
            continue
        more = {"n_samples": 200} if c == "ShapleyValueSampling" else {}
        compare("%s %s with baselines" % (name, c),
                lambda: getattr(ours, c)(module).attribute(inputs, base, target=target, **more),
                lambda: getattr(theirs, c)(module).attribute(inputs, base, target=target, **more), 0.15 if more else ROOM)
    compare("%s DeepLiftShap" % name, lambda: ours.DeepLiftShap(module).attribute(inputs, rows, target=target),
            lambda: theirs.DeepLiftShap(module).attribute(inputs, rows, target=target))
    compare("%s GradientShap" % name,
            lambda: ours.GradientShap(module).attribute(inputs, rows, n_samples=3000, target=target),
            lambda: theirs.GradientShap(module).attribute(inputs, rows, n_samples=3000, target=target), 0.15)
    for c in ("LayerActivation", "LayerGradientXActivation", "LayerConductance", "LayerIntegratedGradients",
              "InternalInfluence", "LayerDeepLift", "LayerFeatureAblation", "LayerGradCam", "LayerLRP"):
        kw = {} if c == "LayerActivation" else {"target": target}
        if c in ("LayerConductance", "LayerIntegratedGradients", "InternalInfluence", "LayerDeepLift"):
            kw["baselines"] = base
        for at_input in (False, True):
            if at_input and c == "LayerDeepLift":
                continue  # Captum leaves out the layer's own rule there: docs/captum.md
            compare("%s %s%s" % (name, c, " at the input" if at_input else ""),
                    lambda: getattr(ours, c)(module, layer).attribute(inputs, attribute_to_layer_input=at_input, **kw),
                    lambda: getattr(theirs, c)(module, their_layer).attribute(
                        inputs, attribute_to_layer_input=at_input, **kw), 1e-3)
    unit = {"mlp": 2, "row bias": 2, "cnn": (1, slice(0, 2), 0), "cnn1d": (3, 1), "norm": (4,), "two": 1}[name]
    for c in ("NeuronGradient", "NeuronIntegratedGradients", "NeuronConductance", "NeuronDeepLift", "NeuronGuidedBackprop",
              "NeuronDeconvolution", "NeuronFeatureAblation"):
        kw = {"target": target} if c == "NeuronConductance" else {}
        if c in ("NeuronIntegratedGradients", "NeuronConductance", "NeuronDeepLift", "NeuronFeatureAblation"):
            kw["baselines"] = base
        for selector in (unit, lambda v: v.reshape(v.shape[0], -1).sum(1)):
            compare("%s %s%s" % (name, c, " of a function" if callable(selector) else ""),
                    lambda: getattr(ours, c)(module, layer).attribute(inputs, selector, **kw),
                    lambda: getattr(theirs, c)(module, their_layer).attribute(inputs, selector, **kw), 1e-3)
    for loss in (None, torch.nn.CrossEntropyLoss(reduction="none")):
        safe = torch.nn.Sequential(module, torch.nn.Softmax(dim=1)) if loss is None and not several else module
        if loss is None and several:
            continue
        compare("%s FGSM" % name, lambda: our_robust.FGSM(safe, loss).perturb(inputs, 0.1, target),
                lambda: their_robust.FGSM(safe, loss).perturb(inputs, 0.1, target))
        for norm in ("Linf", "L2"):
            compare("%s PGD %s" % (name, norm),
                    lambda: our_robust.PGD(safe, loss).perturb(inputs, 0.2, 0.05, 5, target, norm=norm),
                    lambda: their_robust.PGD(safe, loss).perturb(inputs, 0.2, 0.05, 5, target, norm=norm))
    compare("%s LayerDeepLiftShap" % name,
            lambda: ours.LayerDeepLiftShap(module, layer).attribute(inputs, rows, target=target),
            lambda: theirs.LayerDeepLiftShap(module, their_layer).attribute(inputs, rows, target=target))
    scores = theirs.InputXGradient(module).attribute(inputs, target=target)
    move = (lambda *x: (tuple(torch.full_like(i, 0.01) for i in x[0]), tuple(i - 0.01 for i in x[0]))) if several else (
        lambda x: (torch.full_like(x, 0.01), x - 0.01))
    compare("%s infidelity" % name, lambda: our_metrics.infidelity(module, move, inputs, scores, target=target),
            lambda: their_metrics.infidelity(module, move, inputs, scores, target=target), 0.02)
    step = (lambda x, r: tuple(i + 0.01 for i in x)) if several else (lambda x, r: x + 0.01)
    compare("%s sensitivity_max" % name,
            lambda: our_metrics.sensitivity_max(ours.Saliency(module).attribute, inputs, step, target=target),
            lambda: their_metrics.sensitivity_max(theirs.Saliency(module).attribute, inputs, step, target=target), 0.01)
    if not several and name in ("cnn", "cnn1d"):
        window = (1,) + (3,) * (first.ndim - 2)
        compare("%s Occlusion" % name,
                lambda: ours.Occlusion(module).attribute(inputs, window, target=target),
                lambda: theirs.Occlusion(module).attribute(inputs, window, target=target))
        compare("%s GuidedGradCam" % name, lambda: ours.GuidedGradCam(module, layer).attribute(inputs, target),
                lambda: theirs.GuidedGradCam(module, their_layer).attribute(inputs, target))
    if name == "mlp":
        compare("mlp ShapleyValues", lambda: ours.ShapleyValues(module).attribute(inputs, base, target=target),
                lambda: theirs.ShapleyValues(module).attribute(inputs, base, target=target))
        mask = torch.tensor([[0, 0, 1, 2, 1]])
        for c in ("KernelShap", "Lime"):  # Lime: nearly no penalty, which would leave little of small scores
            mine = () if c == "KernelShap" else (ours.SkLearnLasso(1e-5),)
            hers = () if c == "KernelShap" else (SkLearnLasso(alpha=1e-5),)
            kw = {"target": target, "feature_mask": mask, "n_samples": 400}
            compare("mlp %s" % c, lambda: mean_of(getattr(ours, c)(module, *mine), inputs, base, kw),
                    lambda: mean_of(getattr(theirs, c)(module, *hers), inputs, base, kw), 0.15)


def mean_of(method, inputs, base, kw):
    return np.mean([method.attribute(inputs, base, **kw).numpy() for _ in range(3)], 0)


def language(folder):
    """use_cached_outputs=False: with it, Captum 0.9 on transformers 5.24 gives numbers that its own definition, run token
    by token, does not."""
    import transformers

    import ascribe
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    module = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    model = ascribe.load(folder, kind="decoder")
    ids = model.tokenize("one two three four", bos=False)[-2:]
    for name, template in (("template", lambda: ("{},{}!", ["one", "1845"])),):  # no tokens across borders
        for c in ("FeatureAblation", "ShapleyValues"):
            mine = ours.LLMAttribution(getattr(ours, c)(model)).attribute(
                ours.TextTemplateInput(*template()), target=ids)
            hers = theirs.LLMAttribution(getattr(theirs, c)(module), tokenizer).attribute(
                theirs.TextTemplateInput(*template()), target=torch.tensor(ids), use_cached_outputs=False)
            compare("llm %s %s" % (name, c), lambda: (mine.seq_attr, mine.token_attr),
                    lambda: (hers.seq_attr.numpy(), hers.token_attr.numpy()), 1e-3)
    text = "one two three"
    mine = ours.TextTokenInput(text, model, baselines=5)
    hers = theirs.TextTokenInput(text, tokenizer, baselines=5)
    for c in ("FeatureAblation",):
        compare("llm tokens %s" % c,
                lambda: ours.LLMAttribution(getattr(ours, c)(model)).attribute(mine, target=ids).seq_attr,
                lambda: theirs.LLMAttribution(getattr(theirs, c)(module), tokenizer).attribute(
                    hers, target=torch.tensor(ids), use_cached_outputs=False).seq_attr.numpy(), 1e-3)
    embed = module.get_input_embeddings()
    for c, kw in (("LayerIntegratedGradients", {"n_steps": 32}), ("LayerGradientXActivation", {})):

        def of_ours():
            r = ours.LLMGradientAttribution(getattr(ours, c)(model, "embed")).attribute(mine, target=ids, **kw)
            return r.seq_attr, r.token_attr

        def of_theirs():
            r = theirs.LLMGradientAttribution(getattr(theirs, c)(module, embed), tokenizer).attribute(
                hers, target=torch.tensor(ids), **kw)
            return r.seq_attr.numpy(), r.token_attr.numpy()

        compare("llm %s" % c, of_ours, of_theirs, 2e-3)


def main():
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    numbers = [a for a in sys.argv[1:] if a.isdigit()]
    torch.manual_seed(int(numbers[0]) if numbers else 0)
    only = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else None
    for m in models():
        if only in (None, m[0]):
            one_model(*m)
    if "--llm" in sys.argv:
        language(sys.argv[sys.argv.index("--llm") + 1])
    print(", ".join("%d %s" % (n, what) for what, n in counts.items()))
    return 1 if counts["different"] else 0


if __name__ == "__main__":
    sys.exit(main())
