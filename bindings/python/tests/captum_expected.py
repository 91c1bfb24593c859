"""What Captum's own tests assert (captum_expected.tsv) through ascribe.captum: each row is one call and one expected value
with the test's tolerance. Rows that cannot be asked for are counted with the reason.

Stochastic methods are compared by their mean over 20 seeds, within the tolerance and 3 standard errors.
captum_expected.py [FILE] [--verbose] [--quick]"""
import collections
import csv
import os
import sys
import warnings

import captum_toys
import numpy as np
import support
from captum_literal import Named, Unreadable, arguments, tensor, value

from ascribe.captum import attr, manual_seed, metrics, robust

SEEDS = 20
STOCHASTIC = {"Lime", "KernelShap", "ShapleyValueSampling", "GradientShap", "LayerGradientShap", "NeuronGradientShap",
              "FeaturePermutation", "LayerFeaturePermutation"}
#: A single draw, not a mean: what the test's generator gave.
SINGLE_DRAWS = {"layer_gradient_shap#004"}
RULES = {"EpsilonRule": attr.EpsilonRule, "GammaRule": attr.GammaRule, "Alpha1_Beta0_Rule": attr.Alpha1_Beta0_Rule,
         "IdentityRule": attr.IdentityRule}
RAW = {"inputs", "baselines", "additional_forward_args", "layer_baselines", "attributions", "mask"}  # tensors


class Skip(Exception):
    """Not asked for, with the reason."""


def read(text, key=""):
    try:
        v = value(text)
    except Unreadable as e:
        if text in ("smoothgrad", "smoothgrad_sq", "vargrad", "nearest", "bilinear", "Linf", "L2", "sum", "mean") or (
                key in ("method", "nt_type", "norm", "interpolate_mode", "norm_ord") and text.isidentifier()):
            return text
        raise Skip(str(e) if "summary" in str(e) else "arguments were not understood") from None
    return v


def kwargs_of(call):
    out = {}
    for key, text in call.items():
        v = read(text, key)
        if isinstance(v, Named):
            raise Skip("a function defined in the test")
        if key in ("feature_mask", "layer_mask"):
            v = tensor(v, np.int64)
        elif key in RAW:
            v = tensor(v)
        out[key] = v
    return out


def rules_of(text):
    out = {}
    for part in text.strip("{}").split("), "):
        site, _, rule = part.partition(":")
        name, _, rest = rule.partition("(")
        args = {k: float(v) for k, _, v in (a.strip(" )").partition("=") for a in rest.split(",")) if k == "gamma"}
        out[site.strip()] = RULES[name](**args)
    return out


def surrogate(text):
    name, _, rest = text.partition("{")
    if not hasattr(attr, name):
        raise Skip("a surrogate trained by stochastic gradient descent")
    alpha = float(rest.strip("}").split(":")[1]) if "alpha" in rest else None
    return getattr(attr, name)() if alpha is None else getattr(attr, name)(alpha)


def model_of(row, weights):
    name = row["model"]
    if name.startswith("callable:") or not name:
        raise Skip("the model is a function defined in the test")
    if row["weights_key"].startswith("big"):
        raise Skip("weights were not recorded")
    if name not in captum_toys.MODELS:
        raise Skip("no toy model %s" % name)
    return captum_toys.toy(name, weights.of(name, row["weights_key"]), "multi_relu" in row["layer"])


def object_of(method, row, model, made):
    """The attribution object, as the test makes it."""
    if method.startswith("NoiseTunnel("):
        return attr.NoiseTunnel(object_of(method[12:-1], row, model, made))
    cls = getattr(attr, method, None)
    if cls is None:
        raise Skip("no class %s here" % method)
    kw = {}
    if "_multiply_by_inputs" in made:
        kw["multiply_by_inputs"] = made["_multiply_by_inputs"] == "True"
    if "rules" in made:
        kw["rules"] = rules_of(made["rules"])
    if method == "Lime" and "interpretable_model" in made:
        # these tests all use a kernel so wide that every sample counts the same
        kw.update(interpretable_model=surrogate(made["interpretable_model"]),
                  similarity_func=attr.get_exp_kernel_similarity_function("cosine", 1000.0))
    if method == "LimeBase":
        rng = np.random.default_rng(0)
        return attr.LimeBase(model, surrogate(made["interpretable_model"]), lambda *a, **k: 1.0,
                             lambda x, num_interp_features, **k: rng.integers(0, 2, (1, num_interp_features)), True,
                             _from_features, None)
    if row["layer"]:
        layer = eval(row["layer"]) if row["layer"].startswith("[") else row["layer"]  # noqa: S307 (a list of names)
        return cls(model, layer, **kw)
    if method == "GuidedGradCam":  # not recorded: the tests' own
        several = row["inputs"].startswith("(") and "), " in row["inputs"]
        return cls(model, "conv1" if several else "relu1", **kw)
    return cls(model, **kw)


def _from_features(z, x, feature_mask=None, baselines=0, **kwargs):
    each = x if isinstance(x, tuple) else (x,)
    masks = feature_mask if isinstance(feature_mask, tuple) else (feature_mask,)
    starts = baselines if isinstance(baselines, tuple) else (baselines,) * len(each)
    at, out = 0, []
    for a, m, b in zip(each, masks if feature_mask is not None else [None] * len(each), starts):
        ids = np.arange(at, at + a[0].size).reshape(1, *a.shape[1:]) if m is None else m[:1]
        at += a[0].size
        keep = z[0][np.broadcast_to(ids, a.shape)]
        out.append(np.where(keep > 0, a, b))
    return tuple(out) if isinstance(x, tuple) else out[0]


def attribution(row, weights):
    """A function that makes the row's call once: (result, delta or None)."""
    call, made = arguments(row["other_args"])
    if row["method"].startswith("DataLoaderAttribution"):
        return _stream(row, weights, call)
    explainer = None
    if row["method"] == "sensitivity_max":  # "Class.attribute(Model)"
        explainer, _, rest = row["model"].partition(".attribute(")
        row = {**row, "model": rest[:-1], "method": explainer}
    model = model_of(row, weights)
    if not row["inputs"]:
        raise Skip("inputs were not recorded")
    inputs = tensor(read(row["inputs"]))
    if isinstance(inputs, Named):
        raise Skip("inputs were not recorded")
    if row["model"] == "BasicModelBoolInput":
        inputs = tuple(a.astype(bool) for a in inputs) if isinstance(inputs, tuple) else inputs.astype(bool)
    if row["model"] == "BasicModelWithSparseInputs":
        raise Skip("a model that sums over its examples has one example here")
    if isinstance(inputs, tuple) and all(isinstance(a, (int, float)) for a in inputs):
        raise Skip("inputs were not understood")
    method = row["method"]
    if explainer is not None:
        return lambda: (_sensitivity(row, explainer, model, inputs, dict(call)), None)
    if method == "infidelity":
        return lambda: (_infidelity(row, model, inputs, call), None)
    kw = kwargs_of(call)
    if row["target"]:
        kw["target"] = read(row["target"])
    if row["baselines"]:
        kw["baselines"] = tensor(read(row["baselines"]))
    if method in ("FGSM", "PGD"):
        return lambda: (_attack(method, row, model, inputs, kw, made), None)
    if "perturbations_per_eval" in kw and "enable_cross_tensor_attribution" in kw:
        kw.pop("enable_cross_tensor_attribution")
    delta = kw.pop("return_convergence_delta", False) and row["checked_output"] == "delta"
    if row["model"] == "BasicModel5_MultiArgs" and isinstance(kw.get("additional_forward_args"), tuple):
        more = kw["additional_forward_args"]
        kw["additional_forward_args"] = tuple(a.tolist() if isinstance(a, np.ndarray) else a for a in more)
    a = object_of(method, row, model, made)

    def once():
        if not delta:
            return a.attribute(inputs, **kw), None
        return a.attribute(inputs, **kw, return_convergence_delta=True)

    return once


#: The tests share a set of 5 examples, walked in batches of 2 (dataloader_attr#025 shows it).
SET = (np.array([0.0, 0.1, 0.3, 0.4, 0.6, 0.7, 0.9, 1.0, 1.2, 1.3], np.float32).reshape(5, 2),
       np.array([0.1, 0.2, 0.3, 0.2, 0.4, 0.5, 0.3, 0.2, 0.8, 0.1, 0.2, 0.5, 1.1, 0.7, 0.1, 0.7, 0.6, 1.4, 1.2, 0.4],
                np.float32).reshape(5, 2, 2), np.array([[0], [1], [0], [0], [1]], np.float32))


def _stream(row, weights, call):
    if "input_roles" in call:
        raise Skip("a reduction defined in the test")
    if row["model"] == "callable:sum_forward":
        model = captum_toys.toy("Linear", {"linear.weight": [[1] * 7], "linear.bias": [0]})
    else:
        model = captum_toys.toy("Linear", weights.of(row["model"], row["weights_key"]))
    kw = kwargs_of({k: v for k, v in call.items() if k != "dataloader"})
    if row["baselines"]:
        kw["baselines"] = tensor(read(row["baselines"]))
    batches = [tuple(a[i:i + 2] for a in SET) for i in range(0, 5, 2)]
    method = attr.DataLoaderAttribution(attr.FeatureAblation(model))
    return lambda: (method.attribute(batches, **kw), None)


def _infidelity(row, model, inputs, call):
    if call.get("perturb_func") != "callable:_local_perturb_func":
        raise Skip("a perturbation defined in the test")
    kw = kwargs_of({k: v for k, v in call.items() if k != "perturb_func"})
    if row["target"]:
        kw["target"] = read(row["target"])

    def perturb(x):
        each = x if isinstance(x, tuple) else (x,)
        steps = tuple(np.full_like(a, 0.0009) for a in each)
        moved = tuple(a - s for a, s in zip(each, steps))
        return (steps, moved) if isinstance(x, tuple) else (steps[0], moved[0])

    return metrics.infidelity(model, perturb, inputs, **kw)


def _sensitivity(row, explainer, model, inputs, call):
    if explainer in STOCHASTIC:
        raise Skip("the sensitivity of a stochastic method")
    own = "default" not in call.pop("perturb_func", "default")
    kw = kwargs_of(call)
    if row["target"]:
        kw["target"] = read(row["target"])
    if own:  # the tests' own functions move by 1e-4 and less
        kw["perturb_radius"] = 1e-4
    return metrics.sensitivity_max(object_of(explainer, row, model, {}).attribute, inputs, **kw)


def _attack(method, row, model, inputs, kw, made):
    bounds = made.get("bounds", "")
    low, high = -np.inf, np.inf
    if "lower_bound:" in bounds:
        low, high = (float(p.split(":")[1]) for p in bounds.strip("{}").split(","))
    loss = made.get("loss_func")
    if loss is not None and "CrossEntropy" not in loss or "loss_defined" in row["test_name"] and loss is None:
        raise Skip("a loss defined in the test")
    if kw.get("random_start"):
        raise Skip("a random start of another generator")
    kw.pop("loss_func", None)
    a = getattr(robust, method)(model, "cross_entropy" if loss else None, low, high)
    return a.perturb(inputs, **kw)


def flat(v):
    if isinstance(v, (tuple, list)):
        return [a for e in v for a in flat(e)]
    return [np.asarray(v, np.float64)]


def chosen(result, what):
    if what.startswith("attr[") and isinstance(result, (tuple, list)):
        return result[int(what[5:-1])]
    return result


def ratio(row, want, got, spread=None):
    """The largest difference over what is allowed; f32 sums in Captum leave 2e-6 of the largest number."""
    if len(want) != len(got):
        return float("inf")
    tolerance, worst = float(row["tolerance"]), 0.0
    by_sum = row["tol_mode"] == "sum"
    for k, (w, g) in enumerate(zip(want, got)):
        if w.size != g.size:
            return float("inf")
        d = np.abs(w.reshape(-1) - g.reshape(-1))
        if spread is not None:
            d = np.maximum(0, d - spread[k].reshape(-1))
        room = tolerance + 2e-6 * max(np.abs(w).max(initial=0), 1) * (d.size if by_sum else 1)
        worst = max(worst, (d.sum() if by_sum else d.max(initial=0)) / room)
    return worst


def part_ratio(row, want, got, spread=None):
    """A row that says `part` names a slice without saying which: some slice must fit."""
    best, n = float("inf"), want[0].size
    for k, g in enumerate(got):
        s = None if spread is None else spread[k].reshape(-1)
        v = g.reshape(-1)
        slices = [slice(i, i + n) for i in range(0, v.size - n + 1, n)] if n else []
        if g.ndim > 1 and v.size == n * g.shape[-1]:
            slices += [slice(c, None, g.shape[-1]) for c in range(g.shape[-1])]
        for one in slices:
            best = min(best, ratio(row, want, [v[one]], None if s is None else [s[one]]))
    return best


def check(row, weights):
    """None, or what was wrong. Skip for rows that are about something else."""
    if not row["method"]:
        raise Skip("no call: a helper, or two results of the test compared")
    base = row["method"].split("(")[-1].rstrip(")")
    if row["method"].startswith(("AttackComparator", "MinParamPerturbation")):
        raise Skip("%s is not here" % row["method"].split("(")[0])
    if row["method"].startswith("LLM"):
        raise Skip("a language model of the test: test_captum.py and compare_captum.py have others")
    if row["checked_output"] == "derived":
        raise Skip("computed from the result by the test")
    if row["kind"] == "raises":
        if "torch.Tensor or a number" in row["expected"]:
            raise Skip("an error about a Python type")
        try:
            attribution(row, weights)()
        except Exception as e:  # noqa: BLE001 (any refusal will do)
            if isinstance(e, Skip):
                raise
            return None
        return "not refused"
    try:
        want = flat(tensor(read(row["expected"]), np.float64))
    except (ValueError, TypeError):
        raise Skip("the expected value was not understood") from None
    once = attribution(row, weights)

    def arrays(pair):
        return flat(pair[1] if row["checked_output"] == "delta" else chosen(pair[0], row["checked_output"]))

    manual_seed(1)
    got, spread = arrays(once()), None
    if base in STOCHASTIC or base == "LimeBase":
        runs = [got] + [arrays(once()) for _ in range(SEEDS - 1)]
        got = [np.mean([r[k] for r in runs], 0) for k in range(len(got))]
        share = 1 + 1 / SEEDS if row["case_id"] in SINGLE_DRAWS else 1 / SEEDS
        spread = [3 * np.std([r[k] for r in runs], 0, ddof=1) * np.sqrt(share) for k in range(len(got))]
    worst = (part_ratio if row["checked_output"] == "part" else ratio)(row, want, got, spread)
    return None if worst <= 1 else "differs by %.3g times the tolerance" % worst


def run(path, verbose=False, quick=False):
    """(rows that passed, rows run, {reason: rows not run}, complaints, {method: [passed, run, skipped]})"""
    weights = captum_toys.Weights(os.path.join(os.path.dirname(path), "captum_model_weights.jsonl"))
    if not weights.first:
        weights = captum_toys.Weights(os.path.join(support.DATA, "goldens", "captum_model_weights.jsonl"))
    passed, total, reasons, complaints = 0, 0, collections.Counter(), []
    by = collections.defaultdict(lambda: [0, 0, 0])
    csv.field_size_limit(1 << 30)
    with open(path, encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            base = row["method"].split("(")[-1].rstrip(")")
            count = by[row["method"] or "-"]
            try:
                if quick and (base in STOCHASTIC or base == "LimeBase"):
                    raise Skip("quick: stochastic")
                why = check(row, weights)
            except Skip as e:
                reasons[str(e)] += 1
                count[2] += 1
                continue
            except Exception as e:  # noqa: BLE001 (reported)
                why = "%s: %s" % (type(e).__name__, e)
            total += 1
            count[1] += 1
            if why is None:
                passed += 1
                count[0] += 1
            else:
                complaints.append("%s %s: %s" % (row["case_id"], row["method"], why))
                if verbose:
                    print("FAIL " + complaints[-1])
    return passed, total, reasons, complaints, by


def main():
    warnings.simplefilter("ignore")
    files = [a for a in sys.argv[1:] if not a.startswith("--")]
    path = files[0] if files else os.path.join(support.DATA, "goldens", "captum_expected.tsv")
    passed, total, reasons, complaints, by = run(path, quick="--quick" in sys.argv)
    for c in complaints:
        print("FAIL " + c)
    if "--verbose" in sys.argv:
        for method, (ok, ran, skipped) in sorted(by.items()):
            print("     %-42s %4d of %4d pass, %4d not run" % (method, ok, ran, skipped))
    print("%d of %d rows pass; not run: %s" % (passed, total, "; ".join("%d %s" % (n, r) for r, n in reasons.items())))
    return 0 if passed == total else 1


if __name__ == "__main__":
    sys.exit(main())
