"""Sensitivity: how much do the scores change when the inputs hardly do?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import _ascribe
from .._arrays import Array, ArgumentError, Kind, as_tuple, to_numpy
from .._call import Given, captured, next_seed
from ..attr._base import GradientAttribution, PerturbationAttribution
from ..attr._lime import LimeBase
from ._samples import chunk_of, count_of, in_chunks, repeat, rows

_INSIDE = (GradientAttribution, PerturbationAttribution)
_NORMS: dict[Any, str] = {"fro": "l2", 2: "l2", 1: "l1", float("inf"): "inf"}


def default_perturb_func(inputs: Any, perturb_radius: float = 0.02) -> Any:
    """Every element moved by a uniform number in [-radius, radius]."""
    rng = np.random.default_rng(next_seed())
    kind = Kind.of(inputs)
    out = []
    for x in as_tuple(inputs, "inputs"):
        a = to_numpy(x)
        out.append(kind.wrap((a + rng.uniform(-perturb_radius, perturb_radius, a.shape)).astype(a.dtype)))
    return tuple(out) if isinstance(inputs, tuple) else out[0]


def _call_perturb(func: Callable[..., Any], inputs: Any, radius: float) -> Any:
    try:
        return func(inputs, radius)
    except TypeError:
        return func(inputs)


def sensitivity_max(
    explanation_func: Callable[..., Any],
    inputs: Any,
    perturb_func: Callable[..., Any] = default_perturb_func,
    perturb_radius: float = 0.02,
    n_perturb_samples: int = 10,
    norm_ord: Any = "fro",
    max_examples_per_batch: int | None = None,
    **kwargs: Any,
) -> Any:
    """For each example the largest |scores(x) - scores(x~)| / |scores(x)| over perturbed inputs x~.

    attribute() of a method here runs in the library; any other function is called on the perturbed inputs."""
    if norm_ord not in _NORMS:
        raise ArgumentError(f"norm_ord: 'fro', 1, 2 or inf, not {norm_ord!r}")
    n = count_of(n_perturb_samples)
    method: Any = getattr(explanation_func, "__self__", None)
    inside = isinstance(method, _INSIDE) and not isinstance(method, LimeBase)
    own = kwargs.get("custom_attribution_func") is not None
    if inside and not own and getattr(explanation_func, "__name__", "") == "attribute":
        plan = captured(lambda: explanation_func(inputs, **kwargs))
        return _inside(plan.given, plan.request, perturb_func, perturb_radius, n, norm_ord, max_examples_per_batch)
    return _outside(
        explanation_func, inputs, perturb_func, perturb_radius, n, norm_ord, max_examples_per_batch, kwargs
    )


def _inside(
    g: Given, q: dict[str, Any], perturb_func: Any, radius: float, n: int, norm_ord: Any, most: int | None
) -> Any:
    how: dict[str, Any] = {"samples": n, "radius": float(radius), "norm": _NORMS[norm_ord]}
    q["seed"] = next_seed()
    if perturb_func is not default_perturb_func:

        def call(k: int) -> list[list[Array]]:
            result = _call_perturb(perturb_func, repeat(g, g.inputs, k), radius)
            return [[to_numpy(v) for v in (result if isinstance(result, tuple) else (result,))]]

        parts = in_chunks(n, chunk_of(g, n, most), call)
        how["perturbed"] = rows([p[0] for p in parts], g.examples)
    raw = _ascribe.net_sensitivity(g.net._subject, q, how)
    return g.kind.wrap(np.frombuffer(raw["values"]).astype(np.float32))


def _expand(value: Any, examples: int, k: int) -> Any:
    """Arguments that hold one entry per example, repeated with the inputs."""
    if isinstance(value, tuple):
        return tuple(_expand(v, examples, k) for v in value)
    if isinstance(value, list) and len(value) == examples:
        return [v for v in value for _ in range(k)]
    shape: Any = getattr(value, "shape", None)
    if shape and shape[0] == examples:
        return Kind.of(value).wrap(np.repeat(to_numpy(value), k, axis=0))
    return value


def _outside(
    explain: Any, inputs: Any, perturb: Any, radius: float, n: int, norm_ord: Any, most: int | None, kwargs: Any
) -> Any:
    given = as_tuple(inputs, "inputs")
    kind = Kind.of(given)
    arrays = [to_numpy(x) for x in given]
    examples = arrays[0].shape[0]
    several = isinstance(inputs, tuple)
    chunk = n if most is None else max(1, min(n, int(most) // examples))

    def flat(values: Any, count: int) -> Array:
        each = values if isinstance(values, tuple) else (values,)
        return np.concatenate([to_numpy(v).astype(np.float64).reshape(count, -1) for v in each], axis=1)

    ord_ = None if norm_ord == "fro" else norm_ord
    whole = flat(explain(inputs, **kwargs), examples)
    size = np.linalg.norm(whole, ord_, axis=1)
    size = np.where(size == 0, 1.0, size)
    most_seen = np.zeros(examples)
    done = 0
    while done < n:
        k = min(chunk, n - done)
        x = tuple(kind.wrap(np.repeat(a, k, axis=0)) for a in arrays)
        moved = _call_perturb(perturb, x if several else x[0], radius)
        more = {name: _expand(v, examples, k) for name, v in kwargs.items()}
        scores = flat(explain(moved, **more), examples * k).reshape(examples, k, -1)
        change = np.linalg.norm(scores - whole[:, None], ord_, axis=2) / size[:, None]
        most_seen = np.maximum(most_seen, change.max(1))
        done += k
    return kind.wrap(most_seen.astype(np.float32))
