"""Methods on inputs that need gradients."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from ... import _ascribe
from .._arrays import ArgumentError, to_numpy
from .._call import Given, Plan, Request, baselines_of, finish, give_back, next_seed, run
from .._model import Layer
from ._base import GradientAttribution, path_of


class _WithFactor(GradientAttribution):
    """Methods whose scores have the factor input - baseline, or leave it out."""

    def __init__(self, forward_func: Any, multiply_by_inputs: bool = True, *, compat: bool | None = None) -> None:
        super().__init__(forward_func, compat=compat)
        self._multiply_by_inputs = multiply_by_inputs

    @property
    def multiplies_by_inputs(self) -> bool:
        return self._multiply_by_inputs


class IntegratedGradients(_WithFactor):
    """Gradients integrated along the straight line from the baselines to the inputs."""

    _method = "integrated-gradients"
    _has_delta = True

    def attribute(
        self,
        inputs: Any,
        baselines: Any = None,
        target: Any = None,
        additional_forward_args: Any = None,
        n_steps: int = 50,
        method: str = "gausslegendre",
        internal_batch_size: int | None = None,
        return_convergence_delta: bool = False,
    ) -> Any:
        g, q = self._start(inputs, target, additional_forward_args)
        q.update(path_of(g, baselines, n_steps, method, internal_batch_size), no_multiply=not self._multiply_by_inputs)
        return finish(Plan(g, q, single=True), return_convergence_delta)


class Saliency(GradientAttribution):
    """The gradient, or (abs) its size."""

    _method = "saliency"

    def attribute(
        self, inputs: Any, target: Any = None, abs: bool = True, additional_forward_args: Any = None
    ) -> Any:
        g, q = self._start(inputs, target, additional_forward_args)
        q["norm"] = "abs" if abs else "signed"
        return finish(Plan(g, q, single=True))


class _Plain(GradientAttribution):
    """Methods without options."""

    def attribute(self, inputs: Any, target: Any = None, additional_forward_args: Any = None) -> Any:
        return finish(Plan(*self._start(inputs, target, additional_forward_args), single=True))


class InputXGradient(_Plain):
    """Input times gradient."""

    _method = "input-x-gradient"

    @property
    def multiplies_by_inputs(self) -> bool:
        return True


class GuidedBackprop(_Plain):
    """The gradient with only positive influences at each ReLU."""

    _method = "guided-backprop"


class Deconvolution(_Plain):
    """The gradient with the ReLUs applied backwards."""

    _method = "deconvolution"


class GuidedGradCam(GradientAttribution):
    """Guided Backprop times the Grad-CAM map of a layer."""

    _method = "guided-grad-cam"

    def __init__(self, model: Any, layer: Any, device_ids: Any = None, *, compat: bool | None = None) -> None:
        super().__init__(model, compat=compat)
        if device_ids is not None:
            raise ArgumentError("device_ids: everything runs on one device here; leave it out")
        self.layer = layer

    def attribute(
        self,
        inputs: Any,
        target: Any = None,
        additional_forward_args: Any = None,
        interpolate_mode: str = "nearest",
        attribute_to_layer_input: bool = False,
    ) -> Any:
        g, q = self._start(inputs, target, additional_forward_args)
        layer = Layer(g.net, self._model, self.layer, attribute_to_layer_input)
        if layer.several:
            raise ArgumentError("GuidedGradCam takes a layer with one value")
        q.update(neuron={"value": layer.sites[0]}, resize=interpolate_mode)
        return finish(Plan(g, q, single=True))


# ---- DeepLift


def _custom(plan: Plan, func: Any, wrap: Any, points: Any) -> Any:
    """A formula of the caller's own over the multipliers, the inputs and the baselines."""
    plan.request["no_multiply"] = True
    s = run(plan)
    multipliers = tuple(wrap(a) for a in s.arrays)
    takes = len(inspect.signature(func).parameters)
    if takes not in (1, 2, 3):
        raise ArgumentError(f"custom_attribution_func takes multipliers, inputs and baselines, not {takes} arguments")
    given = (multipliers, *points)[:takes]
    result = func(*given)
    return s, give_back(plan, [to_numpy(r) for r in (result if isinstance(result, tuple) else (result,))])


def _full_baselines(g: Given, q: Request) -> list[Any]:
    out = []
    for a, b in zip(g.inputs, q.get("baselines") or [None] * g.n, strict=False):
        out.append(np.broadcast_to(np.asarray(0.0 if b is None else b, a.dtype), a.shape).copy())
    return out


class DeepLift(_WithFactor):
    """How much of the difference to the baselines each input brings about."""

    _method = "deep-lift"
    _has_delta = True
    _rows = False
    _needs_baselines = False

    def __init__(
        self, model: Any, multiply_by_inputs: bool = True, eps: float = 1e-10, *, compat: bool | None = None
    ) -> None:
        super().__init__(model, multiply_by_inputs, compat=compat)
        if eps != 1e-10:
            raise ArgumentError("eps: where two values are the same is decided to rounding here; leave it at 1e-10")

    def attribute(
        self,
        inputs: Any,
        baselines: Any = None,
        target: Any = None,
        additional_forward_args: Any = None,
        return_convergence_delta: bool = False,
        custom_attribution_func: Any = None,
    ) -> Any:
        if self._needs_baselines and baselines is None:
            raise ArgumentError(f"baselines: {type(self).__name__} needs rows of them")
        g, q = self._start(inputs, target, additional_forward_args)
        q["baselines"] = baselines_of(g, baselines, self._rows, inputs)
        q["no_multiply"] = not self._multiply_by_inputs
        plan = Plan(g, q, single=True)
        if custom_attribution_func is None:
            return finish(plan, return_convergence_delta)
        return self._own(plan, custom_attribution_func, return_convergence_delta)

    def _own(self, plan: Plan, func: Any, return_convergence_delta: bool) -> Any:
        g = plan.given
        wrap = g.kind.wrap
        points = (tuple(map(wrap, g.inputs)), tuple(map(wrap, _full_baselines(g, plan.request))))
        _, result = _custom(plan, func, wrap, points)
        if not return_convergence_delta:
            return result
        given = result if isinstance(result, tuple) else (result,)
        raw = finish_values(plan)
        total = sum(to_numpy(a).reshape(g.examples, -1).sum(1, dtype=np.float64) for a in given)
        return result, wrap(np.asarray(total - raw, np.float32))


def finish_values(plan: Plan) -> Any:
    """Output at the inputs minus output at the baselines."""
    raw = _ascribe.net_attribute(plan.given.net._subject, plan.request, None)
    return np.frombuffer(raw["value"]) - np.frombuffer(raw["baseline_value"])


class DeepLiftShap(DeepLift):
    """DeepLift averaged over rows of baselines."""

    _method = "deep-lift-shap"
    _rows = True
    _needs_baselines = True

    def __init__(self, model: Any, multiply_by_inputs: bool = True, *, compat: bool | None = None) -> None:
        super().__init__(model, multiply_by_inputs, compat=compat)

    def _own(self, plan: Plan, func: Any, return_convergence_delta: bool) -> Any:
        raise ArgumentError(
            "custom_attribution_func: DeepLiftShap has no multipliers of single pairs here; call DeepLift per baseline"
        )


class GradientShap(_WithFactor):
    """Expected gradients at random points between noisy inputs and random baselines."""

    _method = "gradient-shap"
    _has_delta = True

    def attribute(
        self,
        inputs: Any,
        baselines: Any,
        n_samples: int = 5,
        stdevs: Any = 0.0,
        target: Any = None,
        additional_forward_args: Any = None,
        return_convergence_delta: bool = False,
    ) -> Any:
        g, q = self._start(inputs, target, additional_forward_args)
        q.update(draws_of(self, g, baselines, inputs, n_samples, stdevs), no_multiply=not self._multiply_by_inputs)
        return finish(Plan(g, q, single=True), return_convergence_delta)


def draws_of(method: Any, g: Given, baselines: Any, inputs: Any, n_samples: Any, stdevs: Any) -> Request:
    """The fields of expected gradients: baselines to draw from, and how much noise."""
    if baselines is None:
        raise ArgumentError(f"baselines: {type(method).__name__} needs them")
    return {
        "baselines": baselines_of(g, baselines, True, inputs),
        "samples": samples_of(n_samples),
        "stdevs": stdevs_of(g, stdevs),
        "seed": next_seed(),
    }


def samples_of(n: Any, what: str = "n_samples") -> int:
    if not isinstance(n, int) or n < 1:
        raise ArgumentError(f"{what} is a whole number from 1, not {n!r}")
    return n


def stdevs_of(g: Given, stdevs: Any, strict: bool = False) -> list[float]:
    each = stdevs if isinstance(stdevs, tuple) else (stdevs,)
    for s in each:
        if not isinstance(s, float) and (strict or not isinstance(s, int)):
            raise ArgumentError(f"stdevs: a float or a tuple of floats, not {stdevs!r}")
    if len(each) not in (1, g.n):
        raise ArgumentError(f"stdevs: {len(each)} for {g.n} inputs")
    full = each * g.n if len(each) == 1 else each
    more = len(g.arrays) - g.n
    return [float(s) for s in full] + [0.0] * more if more else [float(s) for s in each]
