"""Captum's shared test configurations (captum_config_golden.jsonl) through ascribe.captum: for each pair of a
configuration and a class, the call of Captum's own test, on the model of that name built in Python.

Deterministic results are compared within the tolerance of Captum's tests; a recorded random draw must lie within 4
deviations of the mean over 60 seeds, or else within the range of 1,000 draws or outside by half of it (25 samples leave
Lime's and KernelShap's least squares nearly singular now and then).   captum_config.py [FILE] [--verbose]"""
import collections
import json
import os
import sys
import warnings

import captum_toys
import numpy as np
import support

import ascribe.captum
from ascribe.captum import attr, manual_seed

SEEDS, DRAWS = 60, 1000
STOCHASTIC = {"GradientShap", "FeaturePermutation", "ShapleyValueSampling", "Lime", "KernelShap", "LayerGradientShap",
              "LayerFeaturePermutation", "NeuronGradientShap"}


def value(j):
    """A value of the file as Captum's test has it."""
    if isinstance(j, list):
        return [value(v) for v in j]
    if isinstance(j, dict):
        if "tuple" in j:
            return tuple(value(v) for v in j["tuple"])
        if "slice" in j:
            return slice(*j["slice"])
        if "shape" in j:
            return np.asarray(j["data"]).astype(j["dtype"]).reshape(j["shape"])
        return {k: value(v) for k, v in j.items()}
    return j


def flat(result):
    """Arrays of a result in order."""
    if isinstance(result, (tuple, list)):
        return [a for r in result for a in flat(r)]
    return [np.asarray(result)]


def call(name, line, model, args):
    """What Captum's test does for one class: (attributions, delta or None)."""
    cls = getattr(attr, name)
    a = cls(model, line["layer"]) if line["layer"] is not None else cls(model)
    kwargs = dict(args)
    if line["noise_tunnel"]:
        a = attr.NoiseTunnel(a)
    if a.has_convergence_delta() and not (isinstance(line["layer"], list) and name == "LayerLRP"):
        return a.attribute(**kwargs, return_convergence_delta=True)
    return a.attribute(**kwargs), None


def compare(got, want, tolerance, deviation=None):
    """The largest difference over what is allowed."""
    worst = 0.0
    if len(got) != len(want):
        return float("inf")
    for k, (g, w) in enumerate(zip(got, want)):
        if g.shape != w.shape:
            return float("inf")
        room = tolerance + 1e-5 * np.abs(w)  # the recorded numbers are f32 sums
        if deviation is not None:
            room = room + 4 * deviation[k] * np.sqrt(1 + 1 / SEEDS)
        worst = max(worst, float(np.max(np.abs(g - w) / room, initial=0.0)))
    return worst


def one(name, line, model, args, result):
    """(passed, what was wrong)"""
    stochastic = (name in STOCHASTIC or result.get("stochastic")) and not line["noise_tunnel"]
    want = flat(value(result["attr"]))
    manual_seed(1)
    if not stochastic:
        got, delta = call(name, line, model, args)
        worst = compare(flat(got), want, line["target_delta"])
        if worst > 1:
            return False, "differs by %.3g times the tolerance; shapes %s, %s" % (
                worst, [a.shape for a in flat(got)], [a.shape for a in want])
        if delta is not None and result.get("delta") is not None and "LRP" not in name:
            d = compare(flat(delta), flat(value(result["delta"])), max(line["target_delta"], 2e-3))
            if d > 1:
                return False, "the delta differs by %.3g times the tolerance" % d
        return True, ""
    runs = [flat(call(name, line, model, args)[0]) for _ in range(SEEDS)]
    mean = [np.mean([r[k] for r in runs], 0) for k in range(len(runs[0]))]
    deviation = [np.std([r[k] for r in runs], 0, ddof=1) for k in range(len(runs[0]))]
    worst = compare(mean, want, line["target_delta"], deviation)
    if 1 < worst < float("inf"):
        runs += [flat(call(name, line, model, args)[0]) for _ in range(DRAWS - SEEDS)]
        low = [np.min([r[k] for r in runs], 0) for k in range(len(mean))]
        high = [np.max([r[k] for r in runs], 0) for k in range(len(mean))]
        worst = max(float(np.max(np.abs(w - (a + b) / 2) / (line["target_delta"] + 1e-5 * np.abs(w) + b - a)))
                    for w, a, b in zip(want, low, high))
    return worst <= 1, "" if worst <= 1 else "lies %.3g times the range from the middle of %d draws" % (worst, len(runs))


def run(path, verbose=False, quick=False):
    """(pairs that passed, pairs run, {reason: count of pairs not run}, complaints)"""
    weights = captum_toys.Weights(os.path.join(os.path.dirname(path), "captum_model_weights.jsonl"))
    if not weights.first:
        weights = captum_toys.Weights(os.path.join(support.DATA, "goldens", "captum_model_weights.jsonl"))
    passed, total, skipped, complaints = 0, 0, collections.Counter(), []
    with open(path, encoding="utf-8") as lines:
        for text in lines:
            line = json.loads(text)
            state = line.get("state_dict") or weights.of(line["model"])
            model = captum_toys.toy(line["model"], state, bool(line.get("multi_input_module")))
            args = value(line["args"])
            if isinstance(args.get("neuron_selector"), (str, dict)):
                args["neuron_selector"] = lambda x: x.sum(1)  # the only function among the configurations
            for name, result in line["results"].items():
                if quick and name in STOCHASTIC:
                    skipped["quick: stochastic"] += 1
                    continue
                total += 1
                try:
                    ok, why = one(name, line, model, args, result)
                except Exception as e:  # noqa: BLE001 (reported)
                    ok, why = False, "%s: %s" % (type(e).__name__, e)
                passed += ok
                if not ok:
                    complaints.append("%s of %s: %s" % (name, line["name"], why))
                elif verbose:
                    print("ok   %s of %s" % (name, line["name"]))
    return passed, total, skipped, complaints


def main():
    warnings.simplefilter("ignore")
    files = [a for a in sys.argv[1:] if not a.startswith("--")]
    path = files[0] if files else os.path.join(support.DATA, "goldens", "captum_config_golden.jsonl")
    passed, total, skipped, complaints = run(path, "--verbose" in sys.argv, "--quick" in sys.argv)
    for c in complaints:
        print("FAIL " + c)
    print("%d of %d pairs pass; not run: %s" % (passed, total, dict(skipped) or "none"))
    return 0 if passed == total else 1


if __name__ == "__main__":
    sys.exit(main())
