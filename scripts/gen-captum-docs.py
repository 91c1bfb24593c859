#!/usr/bin/env python3
"""Writes docs/captum.md: Captum's classes and functions, what each takes here, and where the numbers differ.
Needs the built package: PYTHONPATH=$(scripts/python-path.sh) scripts/gen-captum-docs.py [--check]"""
import inspect
import pathlib
import re
import sys

from ascribe import _ascribe
from ascribe.captum import attr, metrics, robust
from ascribe.captum._absent import ABSENT

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "docs/captum.md"

HEAD = """# Captum's classes
Written by `scripts/gen-captum-docs.py` from the package; change that.

`ascribe.captum` has the classes and call shapes of Captum 0.9. A script changes its import:

```python
from ascribe.captum.attr import IntegratedGradients      # was: from captum.attr import ...
ig = IntegratedGradients(model)
scores, delta = ig.attribute(x, baselines=x0, target=1, n_steps=50, return_convergence_delta=True)
```

**Models.** `model` is a net of `ascribe.load("model.onnx")`, one that Python built (`ascribe.Net.build`, `ascribe.nets.NetFunction`:
[python.md](python.md)), or a `torch.nn.Module`: its forward runs once on tensors without numbers and what it calls is
recorded (weights are copied; dropout does nothing; a function of torch that is not known here is an error that names it, and
those that are like it). Where torch is imported it may also be a Python function around modules, as tutorials have them
(`lambda ids, mask: bert(ids, attention_mask=mask).logits`): it is recorded in the same way, once for each shape of arguments, so what
it reads from elsewhere stays as it was then. For
`LLMAttribution` and `LLMGradientAttribution` it is a language model of `ascribe.load`; its own tokenizer is used.
Anything else is a TypeError.

**Torch modules** that are recorded with torch's own values (`test_from_torch.py` runs each beside torch):

- linear and bilinear, embeddings, embedding bags of one size; convolutions and transposed ones with every kind of padding
- pools: max (also with indices, and back), average, LP, adaptive to any size; `Upsample` and `interpolate` in every mode; padding of
  every kind, `Fold`, `Unfold`, pixel and channel shuffles, `Flatten`, `Unflatten`
- batch normalisation with running statistics, group, instance, layer, RMS and local response normalisation; weight and spectral norm
- RNN, LSTM, GRU and their cells: any number of layers, both directions, first states, projections, last states
- `MultiheadAttention` with masks, `TransformerEncoder` and `Decoder` layers, `Transformer`, `scaled_dot_product_attention`
- every activation; about 290 functions and methods of tensors: arithmetic, comparisons, reductions, sorting, indexing with lists
  and tensors, `einsum`, norms, joining and cutting; changes in place of tensors that share their elements with no other

The tensors have no numbers while the model is recorded: `if x.sum() > 0` and `x.item()` are errors, and so are packed sequences,
batch normalisation by the batch's own statistics, `add_bias_kv`, embeddings with `max_norm`, bags by offsets and random pools. Sizes
are known, also that of the batch; a constant whose first size is that of one batch does not fit another.

**Arrays.** numpy in, numpy out; torch in, torch out on the same device; others through DLPack come back as numpy. A tuple in
is a tuple out. Scores are float32, of float64 inputs float64.

**Layers** are sites by name (`net.sites()`), paths of modules (`"features.3"`), or for torch models the module itself; a list
where Captum takes one. Modules of a function are called by the names that the function has for them (`"bert.embeddings"`). A module whose value is a tuple has the sites NAME.0, NAME.1. A module that is called twice has
NAME and NAME#2; Captum refuses it, or sees the last call.

**Neurons.** A number, a tuple of numbers and slices, or a function, which must be linear in the layer's values (it is tried
on unit vectors).

**Extra arguments** that are arrays become inputs of the net; flags, numbers and None go to the function as they are. Each
combination is a net of its own, made when it is first met.

**Numbers.** By default those of Captum, also where they come from its faults ([captum-differences.md](captum-differences.md)).
`ascribe.captum.set_compat(False)`, or `compat=False` of a constructor, gives the library's own. Random draws are the library's
(`ascribe.captum.manual_seed`), so methods that draw agree in distribution. LRP of modules that Captum refuses, and DeepLift of
a module that is used twice, have values here.

**Chunks.** `perturbations_per_eval=1` and `internal_batch_size=None`, the defaults, let the library choose under its memory
bound; numbers do not depend on it. `show_progress` shows tqdm's bar where that is installed.

**Errors** of arguments are `ascribe.captum.ArgumentError`, an AssertionError (as Captum raises) and a ValueError; those of the
library are `ascribe.Error`. `attribute_future` raises NotImplementedError: nets run when they are asked.

| Captum | `attribute` takes | differs |
|---|---|---|
"""

NOTES = {
    "IntegratedGradients": "fixed rules alone, 50 points; the adaptive rule is `net.explain`'s",
    "DeepLift": "`eps` stays 1e-10; `custom_attribution_func` gets multipliers, inputs, baselines",
    "DeepLiftShap": "no `custom_attribution_func`; one baseline row is allowed",
    "GradientShap": "baselines may be a function",
    "GuidedGradCam": "`device_ids` is refused, as everywhere; an input that is no picture is an error",
    "LRP": "`rules={site: EpsilonRule()}` of the constructor beside `module.rule`, which stays set",
    "LayerLRP": "as LRP; `return_convergence_delta` for one layer",
    "NoiseTunnel": "wraps any method that the library's noise-tunnel takes, at layers and of neurons too",
    "FeatureAblation": "unknown keywords are errors; several outputs are rows, as in Captum",
    "FeaturePermutation": "no `perm_func`",
    "Lime": "surrogates SkLearnLasso, SkLearnRidge, SkLearnLinearRegression; kernels of "
            "get_exp_kernel_similarity_function; no `perturb_func` (LimeBase takes one)",
    "LimeBase": "functions get arrays with a batch of one; surrogates as Lime, or any object with fit and representation",
    "ShapleyValues": "at most 20 features",
    "LayerDeepLift": "`custom_attribution_func` without delta; at the input of an activation Captum leaves out its rule (its delta "
                     "is not 0), here it counts",
    "NeuronConductance": "the trapezoid by default, whose weights add up to (n-1)/n, as in Captum",
    "LLMAttribution": "`use_cached_outputs` changes nothing (Captum's with transformers 5.24 changes numbers); `skip_tokens`; no `_inspect_forward`; results are numpy and hold ascribe's own as `result`",
    "LLMGradientAttribution": "one pass for all tokens of the answer; the layer is `\"embed\"` or a site",
    "TextTemplateInput": "a slot is whole tokens, with the blank before it ([questions.md](questions.md)): Captum makes tokens of "
                         "the whole text anew; templates are texts; baselines are texts or ProductBaselines",
    "TextTokenInput": "`tokenizer` is the model",
    "LayerAttribution": "`interpolate`: nearest, linear, bilinear, trilinear",
    "visualization.visualize_image_attr": "matplotlib where it is installed; the same scale of scores",
    "visualization.visualize_timeseries_attr": "ranges of x and colour bars belong to the figure drawn on, not to pyplot's current "
    "one; ranges of y hold the whole series",
    "visualization.visualize_text": "returns an object with `data`, the HTML; words of others are escaped",
    "infidelity": "",
    "infidelity_perturb_func_decorator": "",
    "sensitivity_max": "`norm_ord` fro, 1, 2, inf; any function may be explained, `attribute` of methods here is fastest",
    "FGSM": "`loss_func`: None, \"cross_entropy\", \"value\", torch's CrossEntropyLoss, or any torch function",
    "PGD": "`loss_func`: None, \"cross_entropy\", \"value\", torch's CrossEntropyLoss",
}
CAPTUM_ATTR = """Attribution GradientAttribution PerturbationAttribution LayerAttribution NeuronAttribution IntegratedGradients
Saliency InputXGradient DeepLift DeepLiftShap GradientShap GuidedBackprop Deconvolution GuidedGradCam LRP NoiseTunnel
FeatureAblation FeaturePermutation Occlusion ShapleyValueSampling ShapleyValues Lime LimeBase KernelShap LayerActivation
LayerGradientXActivation LayerGradCam InternalInfluence LayerConductance LayerIntegratedGradients LayerDeepLift
LayerDeepLiftShap LayerGradientShap LayerLRP LayerFeatureAblation LayerFeaturePermutation NeuronGradient
NeuronIntegratedGradients NeuronConductance NeuronDeepLift NeuronDeepLiftShap NeuronGradientShap NeuronGuidedBackprop
NeuronDeconvolution NeuronFeatureAblation DataLoaderAttribution LLMAttribution LLMGradientAttribution LLMAttributionResult InterpretableInput
TextTemplateInput TextTokenInput ProductBaselines TokenReferenceBase""".split()


def arguments(fn):
    out = []
    for name, p in inspect.signature(fn).parameters.items():
        if name == "self" or name.startswith("_"):
            continue
        star = "**" if p.kind is p.VAR_KEYWORD else ""
        value = "" if p.default is p.empty else "=" + (p.default.__name__ if callable(p.default) else repr(p.default))
        out.append(star + name + value)
    return ", ".join("`%s`" % a for a in out)


def row(name, thing):
    if inspect.isclass(thing):
        call = next((getattr(thing, n) for n in ("attribute", "perturb") if n in dir(thing)), thing.__init__)
        takes = "" if call is object.__init__ else arguments(call)
    else:
        takes = arguments(thing)
    return "| `%s` | %s | %s |\n" % (name, takes, NOTES.get(name, ""))


def main():
    text = HEAD
    known = {c for c, *_ in _ascribe.captum_names()}
    for name in CAPTUM_ATTR:
        text += row(name, getattr(attr, name))
    for module in (metrics, robust):
        for name in module.__all__:
            if name != "default_perturb_func":
                text += row(module.__name__.split(".")[-1] + "." + name, getattr(module, name)).replace(
                    "|  |\n", "| %s |\n" % NOTES.get(name, ""))
    for name in ("visualize_image_attr", "visualize_image_attr_multiple", "visualize_timeseries_attr", "VisualizationDataRecord", "visualize_text"):
        text += row("visualization." + name, getattr(attr.visualization, name))
    missing = known - set(CAPTUM_ATTR) - set(metrics.__all__) - set(robust.__all__)
    if missing:
        sys.exit("docs/captum.md would lack %s" % ", ".join(sorted(missing)))
    text += "\n## Not here\nUsing one of these names raises AttributeError with the reason.\n\n| Captum | why |\n|---|---|\n"
    for module, names in ABSENT.items():
        by_reason = {}
        for name, why in names.items():
            by_reason.setdefault(why, []).append(name)
        for why, group in by_reason.items():
            text += "| %s: %s | %s |\n" % (module, ", ".join("`%s`" % n for n in group), why)
    text += """
## How it was compared
`bindings/python/tests/captum_config.py` runs Captum's shared test configurations (`captum_config_golden.jsonl`) with Captum's own
calls on models written with the builder; `captum_expected.py` the numbers that Captum's tests assert
(`captum_expected.tsv`); `compare_captum.py` runs Captum itself beside this package on random models, copied weights and
random calls (needs torch and captum; not part of the checks).
"""
    text = re.sub(r"[ \t]+\n", "\n", text)
    if "--check" in sys.argv:
        if OUT.read_text(encoding="utf-8") != text:
            sys.exit("docs/captum.md is out of date: run scripts/gen-captum-docs.py")
    else:
        OUT.write_text(text, encoding="utf-8")


main()
