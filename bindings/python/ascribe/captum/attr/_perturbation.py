"""Methods on inputs that run the model on changed inputs."""

from __future__ import annotations

import numbers
from typing import Any

from ..._nearest import keywords_of, refuse_keyword
from .._arrays import ArgumentError
from .._call import Given, Plan, Request, baselines_of, finish, input_masks, next_seed
from ._base import PerturbationAttribution
from ._gradient import samples_of


def copies_of(g: Given, perturbations_per_eval: Any) -> int:
    """Rows of a pass: as many copies of the batch as asked for; 1, the default, leaves it to the library."""
    if not isinstance(perturbations_per_eval, int) or perturbations_per_eval < 1:
        raise ArgumentError(f"perturbations_per_eval is a whole number from 1, not {perturbations_per_eval!r}")
    return 0 if perturbations_per_eval == 1 else perturbations_per_eval * g.examples


def features_of(g: Given, baselines: Any, masks: Any, perturbations_per_eval: Any, rows: bool = False) -> Request:
    """The fields of features put to their baselines. rows: any number of baselines."""
    return {
        "baselines": baselines_of(g, baselines, rows),
        "masks": input_masks(g, masks),
        "rows_per_pass": copies_of(g, perturbations_per_eval),
    }


class FeatureAblation(PerturbationAttribution):
    """How much the output falls with a feature at its baseline."""

    _method = "feature-ablation"

    def attribute(
        self,
        inputs: Any,
        baselines: Any = None,
        target: Any = None,
        additional_forward_args: Any = None,
        feature_mask: Any = None,
        perturbations_per_eval: int = 1,
        show_progress: bool = False,
        **kwargs: Any,
    ) -> Any:
        _refuse(kwargs)
        g, q = self._start(inputs, target, additional_forward_args)
        q.update(features_of(g, baselines, feature_mask, perturbations_per_eval))
        return finish(Plan(g, q, flatten=True, progress=show_progress))


def _refuse(kwargs: dict[str, Any]) -> None:
    """Captum swallows any further keyword; the one that meant something once is passed over."""
    unknown = [k for k in kwargs if k != "enable_cross_tensor_attribution"]
    if unknown:
        refuse_keyword("attribute", unknown[0], keywords_of(FeatureAblation.attribute))


class FeaturePermutation(PerturbationAttribution):
    """How much the output falls when a feature's values are shuffled among the examples."""

    _method = "feature-permutation"

    def __init__(self, forward_func: Any, perm_func: Any = None, *, compat: bool | None = None) -> None:
        super().__init__(forward_func, compat=compat)
        if perm_func is not None:
            raise ArgumentError("perm_func: permutations are the library's own here; leave it out")

    def attribute(
        self,
        inputs: Any,
        target: Any = None,
        additional_forward_args: Any = None,
        feature_mask: Any = None,
        perturbations_per_eval: int = 1,
        show_progress: bool = False,
        **kwargs: Any,
    ) -> Any:
        _refuse(kwargs)
        g, q = self._start(inputs, target, additional_forward_args)
        q.update(masks=input_masks(g, feature_mask), rows_per_pass=copies_of(g, perturbations_per_eval))
        q["seed"] = next_seed()
        return finish(Plan(g, q, flatten=True, progress=show_progress))


def _sizes(g: Given, value: Any, what: str, widths: list[int] | None) -> list[int]:
    """One number per axis behind the batch, input by input. widths: numbers stand for all axes of an input."""
    if g.several:
        if not isinstance(value, tuple) or len(value) != g.n:
            raise ArgumentError(f"{what}: a tuple with one entry per input is wanted")
        each = list(value)
    else:
        inside = isinstance(value, tuple) and len(value) == 1 and isinstance(value[0], tuple)
        each = [value[0] if inside else value]
    out: list[int] = []
    for i, (v, a) in enumerate(zip(each, g.inputs, strict=True)):
        n = a.ndim - 1
        if isinstance(v, numbers.Integral):
            if widths is None and n != 1:
                raise ArgumentError(f"{what}: {n} sizes are wanted for input {i}, one per axis behind the batch")
            v = (int(v),) * n
        if not isinstance(v, tuple) or len(v) != n or not all(isinstance(s, numbers.Integral) for s in v):
            raise ArgumentError(f"{what}: {n} sizes are wanted for input {i}, one per axis behind the batch")
        if any(s < 1 for s in v):
            raise ArgumentError(f"{what}: sizes are from 1 on, not {v}")
        out.extend(int(s) for s in v)
    return out


class Occlusion(PerturbationAttribution):
    """How much the output falls where a window covers the input."""

    _method = "occlusion"

    def attribute(
        self,
        inputs: Any,
        sliding_window_shapes: Any,
        strides: Any = None,
        baselines: Any = None,
        target: Any = None,
        additional_forward_args: Any = None,
        perturbations_per_eval: int = 1,
        show_progress: bool = False,
    ) -> Any:
        g, q = self._start(inputs, target, additional_forward_args)
        window = _sizes(g, sliding_window_shapes, "sliding_window_shapes", None)
        dims = [d for a in g.inputs for d in a.shape[1:]]
        if any(w > d for w, d in zip(window, dims, strict=True)):
            raise ArgumentError(f"sliding_window_shapes: {tuple(window)} is larger than the input {tuple(dims)}")
        q.update(baselines=baselines_of(g, baselines), window=window)
        if strides is not None:
            if isinstance(strides, int) and g.several:
                strides = (strides,) * g.n
            step = _sizes(g, strides, "strides", window)
            if any(s > w and w != d for s, w, d in zip(step, window, dims, strict=True)):
                raise ArgumentError(f"strides: {tuple(step)} leaves gaps between windows of {tuple(window)}")
            q["stride"] = step
        q["rows_per_pass"] = copies_of(g, perturbations_per_eval)
        return finish(Plan(g, q, flatten=True, progress=show_progress))


class ShapleyValueSampling(PerturbationAttribution):
    """Shapley values estimated from random orders of the features."""

    _method = "shapley-value-sampling"

    def attribute(
        self,
        inputs: Any,
        baselines: Any = None,
        target: Any = None,
        additional_forward_args: Any = None,
        feature_mask: Any = None,
        n_samples: int = 25,
        perturbations_per_eval: int = 1,
        show_progress: bool = False,
    ) -> Any:
        g, q = self._start(inputs, target, additional_forward_args)
        q.update(features_of(g, baselines, feature_mask, perturbations_per_eval, True))
        q.update(samples=samples_of(n_samples), seed=next_seed())
        return finish(Plan(g, q, progress=show_progress))


class ShapleyValues(PerturbationAttribution):
    """Shapley values from all sets of features."""

    _method = "shapley-values"

    def attribute(
        self,
        inputs: Any,
        baselines: Any = None,
        target: Any = None,
        additional_forward_args: Any = None,
        feature_mask: Any = None,
        perturbations_per_eval: int = 1,
        show_progress: bool = False,
    ) -> Any:
        g, q = self._start(inputs, target, additional_forward_args)
        q.update(features_of(g, baselines, feature_mask, perturbations_per_eval, True))
        return finish(Plan(g, q, progress=show_progress))
