"""Lime, KernelShap and LimeBase, with Captum's surrogates and similarities as options of the library's."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import _ascribe
from ..._progress import watched
from .._arrays import Array, ArgumentError, to_numpy
from .._call import Given, Plan, Request, give_back, next_seed, run, scores_of
from ._base import PerturbationAttribution
from ._gradient import samples_of
from ._perturbation import copies_of, features_of


@dataclass(frozen=True)
class SurrogateModel:
    """A linear model that the library fits: "lasso", "ridge" or "linear"."""

    kind: str = "lasso"
    alpha: float = 0.01


class SkLearnLasso(SurrogateModel):
    """Least squares plus alpha times the sum of sizes."""

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__("lasso", float(alpha))


class SkLearnRidge(SurrogateModel):
    """Least squares plus alpha times the sum of squares."""

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__("ridge", float(alpha))


class SkLearnLinearRegression(SurrogateModel):
    """Least squares."""

    def __init__(self) -> None:
        super().__init__("linear", 0.0)


@dataclass(frozen=True)
class ExpKernel:
    """exp(-distance^2 / (2 width^2)) between the original and the perturbed inputs."""

    distance_mode: str = "cosine"
    kernel_width: float = 1.0

    def __call__(self, original_inp: Any, perturbed_inp: Any, perturbed_interpretable_inp: Any, **kwargs: Any) -> float:
        a, b = _flat(original_inp), _flat(perturbed_inp)
        if self.distance_mode == "cosine":
            norm = float(np.linalg.norm(a) * np.linalg.norm(b))
            d = 1.0 - float(a @ b) / max(norm, 1e-8)
        else:
            d = float(np.linalg.norm(a - b))
        return float(np.exp(-(d**2) / (2 * self.kernel_width**2)))


def _flat(x: Any) -> Array:
    each = x if isinstance(x, tuple) else (x,)
    return np.concatenate([to_numpy(v).astype(np.float64).reshape(-1) for v in each])


def get_exp_kernel_similarity_function(distance_mode: str = "cosine", kernel_width: float = 1.0) -> ExpKernel:
    if distance_mode not in ("cosine", "euclidean"):
        raise ArgumentError(f"distance_mode: cosine or euclidean, not {distance_mode!r}")
    return ExpKernel(distance_mode, kernel_width)


def _surrogate(model: Any) -> SurrogateModel:
    if model is None:
        return SurrogateModel()
    if isinstance(model, SurrogateModel):
        return model
    name = type(model).__name__
    alpha = float(getattr(model, "construct_kwargs", {}).get("alpha", 1.0))
    known = {"SkLearnLasso": "lasso", "SkLearnRidge": "ridge", "SkLearnLinearRegression": "linear"}
    if name in known:
        return SurrogateModel(known[name], alpha)
    raise ArgumentError(
        f"interpretable_model: SkLearnLasso, SkLearnRidge or SkLearnLinearRegression, not {name}; LimeBase takes a "
        "model of your own"
    )


class _Fitted(PerturbationAttribution):
    """Methods that fit a linear model to random sets of features."""

    def _fit(self) -> Request:
        """How the model is fitted; left to the library here."""
        return {}

    def attribute(
        self,
        inputs: Any,
        baselines: Any = None,
        target: Any = None,
        additional_forward_args: Any = None,
        feature_mask: Any = None,
        n_samples: int = 25,
        perturbations_per_eval: int = 1,
        return_input_shape: bool = True,
        show_progress: bool = False,
    ) -> Any:
        g, q = self._start(inputs, target, additional_forward_args)
        q.update(features_of(g, baselines, feature_mask, perturbations_per_eval, True))
        q.update(self._fit(), samples=samples_of(n_samples), seed=next_seed())
        plan = Plan(g, q, single=False, progress=show_progress)
        s = run(plan)
        if return_input_shape:
            return give_back(plan, s.arrays)
        return g.kind.wrap(by_feature(g, s.arrays, q["masks"]))


def _ids(g: Given, masks: list[Array] | None) -> tuple[list[Array], int]:
    """Feature of every element, numbered from 0, and how many there are."""
    if masks is None:
        out, at = [], 0
        for a in (g.inputs[i] for i in g.live):
            n = int(np.prod(a.shape[1:], dtype=np.int64))
            out.append(np.arange(at, at + n).reshape(1, *a.shape[1:]))
            at += n
        return out, at
    low = min(int(m.min()) for m in masks if m.size)
    return [m - low for m in masks], max(int(m.max()) for m in masks if m.size) - low + 1


def by_feature(g: Given, arrays: list[Array], masks: list[Array] | None) -> Array:
    """One number per feature: that of the first of its elements."""
    ids, n = _ids(g, masks)
    arrays = [a for a in arrays if a.size]
    rows = max(a.shape[0] for a in arrays)
    out = np.zeros((rows, n), arrays[0].dtype)
    for a, m in zip(arrays, ids, strict=True):
        full = np.broadcast_to(m, a.shape).reshape(rows, -1)
        flat = a.reshape(rows, -1)
        for r in range(rows):
            out[r, full[r][::-1]] = flat[r][::-1]
    return out


class KernelShap(_Fitted):
    """Shapley values from a weighted linear fit."""

    _method = "kernel-shap"


class Lime(_Fitted):
    """Coefficients of a sparse linear model around the input."""

    _method = "lime"

    def __init__(
        self,
        forward_func: Any,
        interpretable_model: Any = None,
        similarity_func: Any = None,
        perturb_func: Any = None,
        *,
        compat: bool | None = None,
    ) -> None:
        super().__init__(forward_func, compat=compat)
        self._surrogate = _surrogate(interpretable_model)
        if similarity_func is not None and not isinstance(similarity_func, ExpKernel):
            raise ArgumentError(
                "similarity_func: what get_exp_kernel_similarity_function gives; LimeBase takes a function of your own"
            )
        self._kernel = similarity_func or ExpKernel()
        if perturb_func is not None:
            raise ArgumentError("perturb_func: sets are drawn by fair coins here; LimeBase takes a function of your own")

    def _fit(self) -> Request:
        s, k = self._surrogate, self._kernel
        return {
            "surrogate": s.kind,
            "penalty": s.alpha,
            "distance": k.distance_mode,
            "kernel_width": k.kernel_width,
        }


class LimeBase(PerturbationAttribution):
    """Lime with perturbations, similarity and transforms of the caller's own."""

    _method = "lime"

    def __init__(
        self,
        forward_func: Any,
        interpretable_model: Any,
        similarity_func: Any,
        perturb_func: Any,
        perturb_interpretable_space: bool,
        from_interp_rep_transform: Any,
        to_interp_rep_transform: Any,
        *,
        compat: bool | None = None,
    ) -> None:
        super().__init__(forward_func, compat=compat)
        self._surrogate_model = interpretable_model
        self.similarity_func = similarity_func
        self.perturb_func = perturb_func
        self.perturb_interpretable_space = perturb_interpretable_space
        self.from_interp_rep_transform = from_interp_rep_transform
        self.to_interp_rep_transform = to_interp_rep_transform
        if perturb_interpretable_space and from_interp_rep_transform is None:
            raise ArgumentError("from_interp_rep_transform is needed to perturb in the space of features")
        if not perturb_interpretable_space and to_interp_rep_transform is None:
            raise ArgumentError("to_interp_rep_transform is needed to perturb in the space of inputs")

    def attribute(
        self,
        inputs: Any,
        target: Any = None,
        additional_forward_args: Any = None,
        n_samples: int = 50,
        perturbations_per_eval: int = 1,
        show_progress: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Coefficients, one row per example. Further keywords go to the caller's functions, as in Captum."""
        g, q = self._start(inputs, target, additional_forward_args)
        q.update(samples=samples_of(n_samples), seed=next_seed(), rows_per_pass=copies_of(g, perturbations_per_eval))
        calls = _Calls(self, g, kwargs)
        how: dict[str, Any] = {
            "sizes": [int(np.prod(g.inputs[i].shape[1:], dtype=np.int64)) for i in g.live],
            "in_features": self.perturb_interpretable_space,
            "n_features": calls.n_features,
            "perturb": calls.perturb,
            "similarity": calls.similarity if self.similarity_func is not None else None,
        }
        if self.perturb_interpretable_space:
            how["from_features"] = calls.from_features
        else:
            how["to_features"] = calls.to_features
        model = self._surrogate_model
        if hasattr(model, "fit") and not type(model).__name__.startswith("SkLearn"):
            how["fit"] = calls.fit
        else:
            s = _surrogate(model)
            q.update(surrogate=s.kind, penalty=s.alpha)
        plan = Plan(g, q)
        with watched(show_progress) as call:
            raw = _ascribe.net_lime_base(g.net._subject, q, how, call)
        out = scores_of(plan, raw).arrays[0]
        return g.kind.wrap(out.reshape(-1, calls.n_features))


class _Calls:
    """The caller's functions with Captum's arguments: arrays with a batch of one."""

    def __init__(self, base: LimeBase, g: Given, kwargs: dict[str, Any]) -> None:
        self.base, self.g, self.kwargs = base, g, kwargs
        self.generator: Any = None
        self.ahead: Any = None
        n = kwargs.get("num_interp_features")
        if n is None:
            probe = self._inputs_of([g.inputs[i][:1].astype(np.float64).reshape(-1) for i in g.live])
            if base.to_interp_rep_transform is None:
                raise ArgumentError("num_interp_features: how many features there are, as a keyword")
            n = to_numpy(base.to_interp_rep_transform(probe, probe, **kwargs)).size
        self.n_features = int(n)

    def _inputs_of(self, flat: Any) -> Any:
        shaped, rows = [], iter(flat)
        for a in self.g.inputs:
            if not a.size:
                shaped.append(self.g.kind.wrap(a))
                continue
            v = next(rows)
            row = np.array(np.frombuffer(v, np.float64) if not isinstance(v, np.ndarray) else v)
            shaped.append(self.g.kind.wrap(row.reshape(1, *a.shape[1:]).astype(a.dtype)))
        return tuple(shaped) if self.g.several else shaped[0]

    def _features_of(self, z: Any) -> Any:
        return self.g.kind.wrap(np.array(np.frombuffer(z, np.float64)).reshape(1, -1).astype(np.float32))

    def _write(self, values: Any, to: Any) -> None:
        each = [v for v in (values if isinstance(values, tuple) else (values,)) if to_numpy(v).size]
        for v, t in zip(each, to, strict=True):
            np.frombuffer(t, np.float64)[:] = to_numpy(v).astype(np.float64).reshape(-1)

    def perturb(self, example: int, sample: int, x: Any, z: Any, perturbed: Any) -> bool:
        inputs = self._inputs_of(x)
        if sample == 0 and inspect.isgeneratorfunction(self.base.perturb_func):
            self.generator = self.base.perturb_func(inputs, **self.kwargs)
        if self.generator is not None:
            try:
                value = next(self.generator)
            except StopIteration:
                return False
        else:
            value = self.base.perturb_func(inputs, **self.kwargs)
        if self.base.perturb_interpretable_space:
            self._write(value, (z,))
        else:
            self._write(value, perturbed)
        return True

    def from_features(self, z: Any, x: Any, perturbed: Any) -> None:
        f: Callable[..., Any] = self.base.from_interp_rep_transform
        self._write(f(self._features_of(z), self._inputs_of(x), **self.kwargs), perturbed)

    def to_features(self, perturbed: Any, x: Any, z: Any) -> None:
        f: Callable[..., Any] = self.base.to_interp_rep_transform
        self._write(f(self._inputs_of(perturbed), self._inputs_of(x), **self.kwargs), (z,))

    def similarity(self, x: Any, perturbed: Any, z: Any) -> float:
        value = self.base.similarity_func(
            self._inputs_of(x), self._inputs_of(perturbed), self._features_of(z), **self.kwargs
        )
        return float(to_numpy(value).reshape(())) if not isinstance(value, (int, float)) else float(value)

    def fit(self, z: Any, y: Any, w: Any, coef: Any) -> bool:
        """Captum's surrogate interface: fit(loader of (features, outputs, weights)), then representation()."""
        values = np.array(np.frombuffer(y, np.float64))
        features = np.array(np.frombuffer(z, np.float64)).reshape(values.size, -1).astype(np.float32)
        wrap = self.g.kind.wrap
        batch = (
            wrap(features),
            wrap(values.astype(np.float32)),
            wrap(np.array(np.frombuffer(w, np.float64)).astype(np.float32)),
        )
        self.base._surrogate_model.fit([batch])
        np.frombuffer(coef, np.float64)[:] = to_numpy(self.base._surrogate_model.representation()).reshape(-1)
        return True
