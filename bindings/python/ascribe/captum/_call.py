"""Captum's arguments as fields of a request: inputs, targets, baselines, masks, units of a layer."""

from __future__ import annotations

import inspect
import itertools
import logging
import numbers
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import _ascribe
from .._net import Net
from .._progress import watched
from ._arrays import Array, ArgumentError, Kind, as_tuple, is_array, result_type, to_numpy
from ._model import Layer, Model, values_at

log = logging.getLogger("ascribe.captum")
Request = dict[str, Any]


@dataclass
class Given:
    """The arguments of a call, bound to a net."""

    net: Net
    arrays: list[Array]  # every input of the net
    n: int  # how many of them are attributed to
    several: bool  # inputs was a tuple
    kind: Kind
    model: Model

    @property
    def inputs(self) -> list[Array]:
        return self.arrays[: self.n]

    @property
    def live(self) -> list[int]:
        """Inputs that have elements; others have empty scores."""
        return [i for i in range(self.n) if self.arrays[i].size]

    @property
    def examples(self) -> int:
        return self.arrays[0].shape[0] if self.arrays[0].ndim > 0 else 1


def bind(model: Model, inputs: Any, additional_forward_args: Any) -> Given:
    given = as_tuple(inputs, "inputs")
    more = additional_forward_args
    extra = more if isinstance(more, tuple) else () if more is None else (more,)
    net, arrays = model.bind((*given, *extra))
    return Given(net, arrays, len(given), isinstance(inputs, tuple), Kind.of(given), model)


def base_request(g: Given, method: str) -> Request:
    live = set(g.live)
    fixed = [i not in live for i in range(len(g.arrays))]
    batch = any(p.batch for p in g.net.inputs)
    return {"method": method, "inputs": g.arrays, "fixed": fixed, "no_batch": not batch}


# ---- targets


def _whole(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def target_of(target: Any) -> Request:
    """Captum's target: None, number, tuple, 1-D array, list of numbers or of tuples."""
    if target is None:
        return {}
    if _whole(target):
        return {"index": [int(target)], "rank": 1}
    if isinstance(target, tuple):
        if not target or not all(_whole(v) for v in target):
            raise ArgumentError("target: a tuple holds whole numbers")
        return {"index": [int(v) for v in target], "rank": len(target)}
    if is_array(target):
        a = to_numpy(target)
        if a.dtype.kind not in "iu" or a.ndim > 1:
            raise ArgumentError(f"target: a 1-D array of whole numbers is wanted, not {a.dtype} {a.shape}")
        return {"index": [int(v) for v in a.reshape(-1)], "rank": 1}
    if isinstance(target, list) and target:
        if all(_whole(v) for v in target):
            return {"index": [int(v) for v in target], "rank": 1}
        if all(isinstance(v, tuple) and len(v) == len(target[0]) for v in target):
            return {"index": [int(v) for t in target for v in t], "rank": len(target[0])}
    raise ArgumentError("target: a number, a tuple of them, a 1-D array, a list of numbers or of tuples of one length")


def check_target(g: Given, target: Request) -> None:
    rows = len(target.get("index", ())) // max(1, int(target.get("rank", 1)))
    if rows > 1 and rows != g.examples:
        raise ArgumentError(f"target: {rows} entries for {g.examples} examples")


# ---- baselines and masks


def _one_baseline(b: Any, a: Array, what: str, rows: bool) -> Array | None:
    if b is None:
        return None
    if isinstance(b, (bool, numbers.Number)):
        return np.asarray(float(b))  # type: ignore[arg-type]
    v = to_numpy(b)
    if v.ndim == 0:
        return v.astype(np.float64)
    if v.dtype == np.bool_:
        v = v.astype(np.uint8)
    if v.ndim < a.ndim:
        v = v.reshape((1,) * (a.ndim - v.ndim) + v.shape)
    if v.ndim != a.ndim:
        raise ArgumentError(f"{what}: shape {v.shape} for an input of shape {a.shape}")
    first = v.shape[0]
    if not rows and first not in (1, a.shape[0]):
        raise ArgumentError(f"{what}: shape {v.shape} for an input of shape {a.shape}")
    try:
        return np.ascontiguousarray(np.broadcast_to(v, (first, *a.shape[1:])))
    except ValueError:
        raise ArgumentError(f"{what}: shape {v.shape} for an input of shape {a.shape}") from None


def baselines_of(g: Given, baselines: Any, rows: bool = False, original: Any = None) -> list[Array | None] | None:
    """One per input of the net. rows: any number of them (a distribution)."""
    if baselines is None:
        return None
    if callable(baselines) and not is_array(baselines):
        if not rows:
            raise ArgumentError("baselines: a function is taken by DeepLiftShap and GradientShap alone")
        takes = len(inspect.signature(baselines).parameters)
        if takes > 1:
            raise ArgumentError(f"baselines: a function of no argument or of the inputs, not of {takes}")
        baselines = baselines(original) if takes == 1 else baselines()
    each = baselines if isinstance(baselines, tuple) else (baselines,)
    if len(each) != g.n:
        raise ArgumentError(f"baselines: {len(each)} for {g.n} inputs")
    out = [_one_baseline(b, a, "baselines", rows) for b, a in zip(each, g.inputs, strict=True)]
    return [*out, *([None] * (len(g.arrays) - g.n))]


def masks_of(masks: Any, n: int, what: str = "feature_mask") -> list[Array] | None:
    if masks is None:
        return None
    each = masks if isinstance(masks, (tuple, list)) else (masks,)
    if len(each) != n:
        raise ArgumentError(f"{what}: {len(each)} masks for {n} attributed values")
    out = []
    for m in each:
        a = to_numpy(m)
        if a.dtype.kind == "f" and np.array_equal(a, np.trunc(a)):
            a = a.astype(np.int64)
        if a.dtype.kind not in "iub":
            raise ArgumentError(f"{what}: whole numbers are wanted, not {a.dtype}")
        out.append(a.astype(np.int64))
    return out


def input_masks(g: Given, masks: Any) -> list[Array] | None:
    """Those of the inputs that have elements."""
    all_ = masks_of(masks, g.n)
    return None if all_ is None else [all_[i] for i in g.live]


# ---- units of a layer


def _weights_of(selector: Any, shape: tuple[int, ...], kind: Kind, what: str) -> Array:
    """Weights of a function of the layer's values, which must be linear: found by trying unit vectors."""
    n = int(np.prod(shape, dtype=np.int64))
    if n > 1 << 14:
        raise ArgumentError(f"{what}: a function of {n} values cannot be looked into; name the units by numbers")
    rng = np.random.default_rng(0)
    probe = np.zeros((n + 3, n), np.float32)
    probe[1 : n + 1] = np.eye(n, dtype=np.float32)
    probe[n + 1 :] = rng.standard_normal((2, n))
    out = to_numpy(selector(kind.wrap(probe.reshape(n + 3, *shape)))).astype(np.float64)
    if out.size != n + 3:
        raise ArgumentError(f"{what}: the function gives {out.size} numbers for {n + 3} examples: one each is wanted")
    out = out.reshape(-1)
    weights: Array = out[1 : n + 1] - out[0]
    expected = probe[n + 1 :].astype(np.float64) @ weights + out[0]
    if not np.allclose(expected, out[n + 1 :], rtol=1e-3, atol=1e-4 * (1 + np.abs(weights).sum())):
        raise ArgumentError(f"{what}: only linear functions of a layer's values can be differentiated here")
    return weights


def unit_of(g: Given, layer: Layer, selector: Any) -> Request:
    """neuron_selector: number, tuple of numbers and slices, or function of the layer's value."""
    what = "neuron_selector"
    if layer.several:
        raise ArgumentError(f"{what}: the layer's value is a tuple; name one of {', '.join(layer.sites)} as the layer")
    site = layer.sites[0]
    shape = values_at(g.net, g.arrays, [site])[0].shape[1:]
    if callable(selector):
        weights = _weights_of(selector, shape, g.kind, what)
        return {"value": site, "weights": weights.reshape(1, -1)}
    each = selector if isinstance(selector, tuple) else (selector,)
    if not each or not all(_whole(s) or isinstance(s, slice) for s in each):
        raise ArgumentError(f"{what}: a number, a tuple of numbers and slices, or a function")
    if len(each) != len(shape):
        raise ArgumentError(f"{what}: {len(each)} entries for a layer of shape {shape} behind the batch")
    for s, size in zip(each, shape, strict=True):
        if not isinstance(s, slice) and not -size <= s < size:
            raise ArgumentError(f"{what}: {s} of {size} units")
    if all(_whole(s) for s in each):
        return {"value": site, "index": [int(s) for s in each], "rank": len(each)}
    mask = np.zeros(shape, np.float64)
    mask[each] = 1.0
    return {"value": site, "weights": mask.reshape(1, -1)}


# ---- running

_seeds = itertools.count()
_state = {"base": 0}


def manual_seed(seed: int) -> None:
    """From here on random draws are those of this seed, as after the first import (seed 0)."""
    global _seeds
    _state["base"] = int(seed)
    _seeds = itertools.count()


def next_seed() -> int:
    """Another one for each call, the same ones in each run of a program."""
    return (_state["base"] * 1_000_003 + next(_seeds)) & 0xFFFFFFFFFFFFFFFF


@dataclass
class Plan:
    """A request ready to run, and how its scores go back."""

    given: Given
    request: Request
    layers: list[Layer] | None = None  # None: scores belong to inputs
    one_layer: bool = True
    flatten: bool = False  # several outputs: rows of the batch, as Captum's ablations do
    single: bool = False  # one number per example is needed
    progress: bool = False
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass
class Scores:
    arrays: list[Array]
    delta: Array | None
    raw: dict[str, Any]


def _numbers_left(g: Given, target: Request) -> int:
    """Numbers per example that a target leaves of the first output; 1 when its sizes are not known before a run."""
    out = g.net.outputs[0]
    sizes = out.shape[1:] if out.batch else out.shape
    if target.get("value") is not None or target.get("weights") is not None or any(s < 0 for s in sizes):
        return 1
    return int(np.prod(sizes[int(target.get("rank", 0)) :], dtype=np.int64))


class _Captured(BaseException):
    """Carries a plan out of the attribute() that made it."""

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self.plan = plan


_capturing = threading.local()


def captured(call: Callable[[], Any]) -> Plan:
    """The plan that call() would run; it is not run."""
    _capturing.on = True
    try:
        call()
    except _Captured as c:
        return c.plan
    finally:
        _capturing.on = False
    raise TypeError("nothing was to be run")


def run(plan: Plan) -> Scores:
    if getattr(_capturing, "on", False):
        raise _Captured(plan)
    g = plan.given
    target = plan.request.get("target", {})
    check_target(g, target)
    left = _numbers_left(g, target) if plan.single else 1
    if left > 1:
        raise ArgumentError(
            f"target not provided when necessary: it leaves {left} numbers per example, and one is explained"
        )
    if not plan.progress:
        return scores_of(plan, _ascribe.net_attribute(g.net._subject, plan.request, None))
    with watched(plan.progress) as call:
        raw = _ascribe.net_attribute(g.net._subject, plan.request, call)
    return scores_of(plan, raw)


def scores_of(plan: Plan, raw: dict[str, Any]) -> Scores:
    g = plan.given
    for note in raw["notes"]:
        log.info("%s: %s", raw["method"], note)
    outputs = int(raw["n_outputs"])
    like = g.inputs if plan.layers is not None else [g.inputs[i] for i in g.live]
    arrays = []
    for i, (_, shape, data, _error) in enumerate(raw["scores"]):
        a = np.frombuffer(data, np.float64).reshape(shape)
        if outputs > 1 and plan.flatten:
            a = a.reshape(-1, *shape[2:])
        source = like[i] if plan.layers is None and i < len(like) else like[0]
        if plan.layers is None and i < len(like) and outputs == 1 and a.size == source.size:
            a = a.reshape(source.shape)
        arrays.append(a.astype(result_type(source)))
    if plan.layers is None:
        for i, a in enumerate(g.inputs):
            if not a.size:
                arrays.insert(i, np.zeros(a.shape, np.float32))
    delta = raw["delta"]
    d = None if delta is None else np.frombuffer(delta, np.float64).astype(result_type(like[0]))
    return Scores(arrays, d, raw)


def give_back(plan: Plan, arrays: Sequence[Array]) -> Any:
    """Scores in the structure that Captum gives."""
    g = plan.given
    wrapped = [g.kind.wrap(a) for a in arrays]
    if plan.layers is None:
        return tuple(wrapped) if g.several else wrapped[0]
    out, at = [], 0
    for layer in plan.layers:
        part = wrapped[at : at + len(layer.sites)]
        at += len(layer.sites)
        out.append(tuple(part) if layer.several else part[0])
    return out[0] if plan.one_layer else out


def finish(plan: Plan, return_convergence_delta: bool = False) -> Any:
    s = run(plan)
    result = give_back(plan, s.arrays)
    if not return_convergence_delta:
        return result
    if s.delta is None:
        raise ArgumentError(f"{s.raw['method']} has no convergence delta")
    return result, plan.given.kind.wrap(s.delta)
