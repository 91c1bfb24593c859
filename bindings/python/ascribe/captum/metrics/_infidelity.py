"""Infidelity: do the scores predict what a perturbation of the inputs changes?"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import _ascribe
from .._arrays import Array, ArgumentError, as_tuple, to_numpy
from .._call import base_request, baselines_of, bind, check_target, target_of
from .._model import as_model
from ._samples import chunk_of, count_of, in_chunks, repeat, rows


def infidelity_perturb_func_decorator(multiply_by_inputs: bool = True) -> Callable[..., Any]:
    """For functions that return perturbed inputs alone: the perturbation is what they changed, divided (with
    multiply_by_inputs, for scores that have the input as a factor) by input - baseline, or by 1 where that is 0."""

    def decorate(perturb_func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(perturb_func)
        def inner(inputs: Any, baselines: Any = None) -> Any:
            perturbed = perturb_func(inputs) if baselines is None else perturb_func(inputs, baselines)
            x = as_tuple(inputs, "inputs")
            p = as_tuple(perturbed, "perturbed inputs")
            base = (None,) * len(x) if baselines is None else baselines
            base = base if isinstance(base, tuple) else (base,)
            steps = []
            for a, c, b in zip(x, p, base, strict=True):
                change = a - c
                if multiply_by_inputs:
                    size = a if b is None else a - b
                    flat = to_numpy(size)
                    steps.append(change / (size + (flat == 0) if isinstance(size, np.ndarray) else size + (size == 0)))
                else:
                    steps.append(change)
            return (tuple(steps), tuple(p)) if isinstance(inputs, tuple) else (steps[0], p[0])

        return inner

    return decorate


def infidelity(
    forward_func: Any,
    perturb_func: Callable[..., Any],
    inputs: Any,
    attributions: Any,
    baselines: Any = None,
    additional_forward_args: Any = None,
    target: Any = None,
    n_perturb_samples: int = 10,
    max_examples_per_batch: int | None = None,
    normalize: bool = False,
) -> Any:
    """For each example the mean over perturbations I of (sum(I * scores) - (f(x) - f(x - I)))^2."""
    g = bind(as_model(forward_func), inputs, additional_forward_args)
    n = count_of(n_perturb_samples)
    q = base_request(g, "saliency")
    q["target"] = target_of(target)
    check_target(g, q["target"])
    scores = [np.asarray(to_numpy(a), np.float64) for a in as_tuple(attributions, "attributions")]
    for s, a in zip(scores, g.inputs, strict=False):
        if s.shape != a.shape:
            raise ArgumentError(f"attributions of shape {s.shape} for inputs of shape {a.shape}")
    if len(scores) != g.n:
        raise ArgumentError(f"{len(scores)} attributions for {g.n} inputs")
    base = baselines_of(g, baselines)

    def call(k: int) -> list[list[Array]]:
        x = repeat(g, g.inputs, k)
        given: tuple[Any, ...] = (x,)
        if base is not None:
            full = []
            for b, a in zip(base, g.inputs, strict=False):
                start = np.asarray(0.0 if b is None else b, a.dtype)
                full.append(np.broadcast_to(start, a.shape))
            given = (x, repeat(g, full, k))
        result = perturb_func(*given)
        if not isinstance(result, tuple) or len(result) != 2:
            raise ArgumentError(
                "perturb_func returns (perturbations, perturbed inputs); infidelity_perturb_func_decorator helps "
                "functions that return perturbed inputs alone"
            )
        out = []
        for part, what in zip(result, ("perturbations", "perturbed inputs"), strict=True):
            values = [to_numpy(v) for v in (part if isinstance(part, tuple) else (part,))]
            if len(values) != g.n:
                raise ArgumentError(f"perturb_func returned {len(values)} {what} for {g.n} inputs")
            out.append(values)
        return out

    parts = in_chunks(n, chunk_of(g, n, max_examples_per_batch), call)
    how = {
        "scores": scores,
        "samples": n,
        "normalize": normalize,
        "perturbation": rows([p[0] for p in parts], g.examples),
        "perturbed": rows([p[1] for p in parts], g.examples),
    }
    raw = _ascribe.net_infidelity(g.net._subject, q, how)
    return g.kind.wrap(np.frombuffer(raw["values"]).astype(np.float32))
