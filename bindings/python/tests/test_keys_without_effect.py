"""Every key with every method on every kind of model: a key that changes nothing must be refused, or said to have no
effect. Keys and methods come from the library's tables, so a new one is walked too."""
import os
import tempfile
import unittest

import ascribe
import numpy as np
import support

#: Keys that say how the work is done or described, not what is asked: with the same numbers, by design.
HOW = {"memory", "dry_run", "max_seconds", "rows_per_pass", "labels", "feature_names", "layers", "per_token", "max_evaluations"}
#: Keys whose values are the whole of a question of their own; a second question of one kind is refused (walked as well).
TEXT = {"prompt", "text", "messages", "user", "system", "tools", "template_vars", "template", "values", "documents", "question",
        "image", "resize", "crop", "normalise", "channels", "bytes", "bytes_as", "table", "ids", "input"}

#: What counts for other inputs than these: (method, key) and why.
ELSEWHERE = {
    ("grad-cam", "relu"): "nothing of this map is negative", ("lime", "compat"): "fewer samples than sets: drawn anyway",
    ("deep-lift", "fallback"): "every operator has a rule", ("deep-lift-shap", "fallback"): "every operator has a rule",
    ("hierarchical", "tolerance"): "so few parts that all sets are run", ("hierarchical", "refine"): "all parts are tokens",
    ("lrp", "fallback"): "every operator has a rule", ("lrp", "compat"): "no operator for which Captum's rule is another",
}

VALUES = {  # another value than the default; several where one may say nothing
    "method": [], "types": [], "second": [], "similar_to": [], "freeze": [], "skip_tokens": ["11"], "target": ["x"],
    "target_ids": [[4, 6]], "generate": [2], "versus": ["2"], "versus_ids": [[9]], "label": ["2"], "span": ["0:1"],
    "output": ["prob", "logit"], "features": ["sentence", "message"], "baseline": ["token:9", "eos", "zero"], "corrupted": ["x"],
    "corrupted_ids": [[5, 14, 11, 9, 18, 4, 7, 12, 10]], "site": ["blocks.0.out"], "trials": [3], "alpha": [0.3], "refine": [0.9, 0.001],
    "norm": ["signed", "abs", "l2"], "neuron": ["blocks.0.mlp.out:1"], "rule": ["riemann-left"], "steps": [3],
    "tolerance": [0.5, 1e-7], "samples": [40], "stdev": [0.7], "compat": ["captum"], "seed": [7],
}
NET_VALUES = {
    "method": [], "fixed": [], "no_batch": [], "target_value": ["a1"], "target": [2], "versus": [0],
    "target_weights": [np.array([[0.5, -1.0, 2.0]], np.float32)], "output": ["prob", "logprob"],
    "neuron_weights": [], "transform": ["softmax"], "site": ["r0"], "baseline": [np.full((1, 8), 0.25, np.float32)],
    "at_baselines": [np.full((1, 12), 0.25, np.float32)], "mask": [np.array([[0, 0, 1, 1, 2, 2, 3, 3]])],
    "no_multiply": [True], "norm": ["signed", "l2"], "window": [[3]], "stride": [[2]], "base": ["saliency", "input-x-gradient"],
    "noise": ["vargrad"], "stdevs": [[0.7]], "draw_baselines": [True], "relu": [True], "keep_channels": [True],
    "map_resize": ["bilinear"], "kernel_width": [0.3], "distance": ["euclidean"], "surrogate": ["ridge"], "penalty": [0.5],
    "lrp_rule": ["gamma:0.5"], "fallback": ["gradient"], "epsilon": [0.3], "radius": [0.3], "step_size": [0.1],
    "targeted": [True], "bounds": [[0.0, 1.0]], "neuron": ["r1:2"], "rule": ["riemann-left"], "steps": [3],
    "tolerance": [0.5, 1e-7], "samples": [40], "stdev": [0.7], "compat": ["captum"], "seed": [7],
}


def numbers(r):
    """What was found, without the words."""
    if isinstance(r, ascribe.NetResult):
        return [np.asarray(a) for a in (*r.by_name.values(), r.value)] + [np.asarray(r.delta if r.complete else 0)]
    return [np.asarray(a) for a in (r.scores, r.errors, r.value, r.target_ids)]


def same(a, b):
    return len(a) == len(b) and all(np.array_equal(x, y, equal_nan=x.dtype.kind == "f") for x, y in zip(a, b))


def said(r, plain):
    """What it says of the question, that it did not say without the key."""
    return [w for w in r.warnings if w not in plain.warnings]


class Walk(unittest.TestCase):

    def walk(self, m, kind, base, values, needs):
        silent, tried = [], 0
        for method in ascribe.methods():
            start = {**base, "method": method.name, **needs.get(method.name, {})}
            try:
                plain = m.ask(start)
            except ascribe.Error:
                continue  # not of this kind; that it says so is tested elsewhere
            for key in ascribe.keys(kind):
                if key.name in HOW or key.name in TEXT or key.name in start:
                    continue
                self.assertIn(key.name, values, "a new key: say here what it is walked with")
                effects, told = 0, 0
                for v in values[key.name]:
                    try:
                        r = m.ask({**start, key.name: v})
                    except ascribe.Error:
                        told += 1
                        continue
                    told += len(said(r, plain)) > 0
                    effects += not same(numbers(r), numbers(plain))
                tried += len(values[key.name])
                if values[key.name] and effects == 0 and told == 0 and (method.name, key.name) not in ELSEWHERE:
                    silent.append(f"{method.name} {key.name}")
        self.assertGreater(tried, 200)
        self.assertEqual(silent, [], f"keys of a {kind} that have no effect, and nobody says so")

    def test_language_models(self):
        m = ascribe.load(support.DECODER, threads=1, kind="decoder")
        ids = support.IDS
        needs = {"conductance": {"site": "blocks.0.mlp.act"}, "neuron-conductance": {"neuron": "blocks.0.mlp.act:3"},
                 "attribution-patching": {"corrupted_ids": [5, 14, 11, 9, 18, 7, 7, 12, 10]},
                 "activation-patching": {"corrupted_ids": [5, 14, 11, 9, 18, 7, 7, 12, 10]}}
        self.walk(m, "decoder", {"ids": ids, "target_ids": [4, 6], "features": "token"}, VALUES, needs)

    def test_text_encoders(self):
        m = ascribe.load(support.CLASSIFIER, threads=1, kind="encoder")
        needs = {"conductance": {"site": "blocks.0.mlp.act"}, "neuron-conductance": {"neuron": "blocks.0.mlp.act:3"}}
        self.walk(m, "encoder", {"ids": support.IDS, "label": "1"}, VALUES, needs)

    def test_nets(self):
        with tempfile.TemporaryDirectory() as d:
            m = ascribe.load(support.write_mlp(os.path.join(d, "m.onnx")), threads=1, kind="net")
            x = np.linspace(-1, 1, 8, dtype=np.float32)[None]
            rows = np.sin(np.arange(24, dtype=np.float32)).reshape(3, 8)
            needs = {n: {"site": "r0"} for n in ("grad-cam", "guided-grad-cam", "conductance", "internal-influence",
                                                 "layer-activation")}
            needs |= {"neuron-conductance": {"neuron": "r1:2"}, "occlusion": {"window": [2]},
                      "deep-lift-shap": {"baseline": rows}, "gradient-shap": {"baseline": rows},
                      "fgsm": {"epsilon": 0.1}, "pgd": {"radius": 0.1, "step_size": 0.05, "steps": 2}}
            self.walk(m, "net", {"input": x, "target": 1}, NET_VALUES, needs)


if __name__ == "__main__":
    unittest.main()
