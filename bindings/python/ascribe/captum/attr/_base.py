"""Base classes with Captum's names, and what all methods share."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ..._nearest import named_keywords
from .. import _settings
from .._arrays import ArgumentError, Kind, as_tuple, to_numpy
from .._call import Given, Plan, Request, base_request, baselines_of, bind, check_target, target_of
from .._model import Layer, as_model, values_at


class Attribution:
    """Base of all methods. forward_func: a Net, a NetFunction, an ONNX model of ascribe.load, or a torch module."""

    _method = ""
    _has_delta = False

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        for name in ("__init__", "attribute"):
            if name in cls.__dict__:
                setattr(cls, name, named_keywords(cls.__dict__[name]))

    def __init__(self, forward_func: Any, *, compat: bool | None = None) -> None:
        self.forward_func = forward_func
        self._model = as_model(forward_func)
        self._compat = compat

    @property
    def _captum(self) -> bool:
        return _settings.compat if self._compat is None else self._compat

    @property
    def multiplies_by_inputs(self) -> bool:
        return False

    def has_convergence_delta(self) -> bool:
        """Whether attribute() can return how far the scores are from adding up."""
        return self._has_delta

    @classmethod
    def get_name(cls) -> str:
        """The class's name with a blank before each capital."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", cls.__name__)

    def attribute_future(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            "attribute_future is about forward functions that return torch Futures; nets here run when they are asked"
        )

    def compute_convergence_delta(
        self,
        attributions: Any,
        start_point: Any,
        end_point: Any,
        target: Any = None,
        additional_forward_args: Any = None,
    ) -> Any:
        """For each example: sum of the attributions minus (output at end_point - output at start_point)."""
        if not self.has_convergence_delta():
            raise NotImplementedError(f"{type(self).__name__} has no convergence delta")
        ends = []
        end = as_tuple(end_point, "end_point")
        start = start_point if isinstance(start_point, tuple) else (start_point,)
        full = []
        for s, e in zip(start, end, strict=True):
            like = to_numpy(e)
            full.append(np.broadcast_to(to_numpy(s), like.shape).astype(like.dtype))
        for point in (tuple(full), end):
            g = bind(self._model, tuple(to_numpy(p) for p in point), additional_forward_args)
            ends.append(_selected(g, target))
        given = as_tuple(attributions, "attributions")
        total = sum(to_numpy(a).reshape(ends[0].shape[0], -1).sum(1, dtype=np.float64) for a in given)
        return Kind.of(given).wrap(np.asarray(total - (ends[1] - ends[0]), np.float32))

    # ---- for subclasses

    def _start(self, inputs: Any, target: Any, additional_forward_args: Any) -> tuple[Given, Request]:
        g = bind(self._model, inputs, additional_forward_args)
        request = base_request(g, self._method)
        request["target"] = target_of(target)
        check_target(g, request["target"])
        request["compat_captum"] = self._captum
        return g, request


def _selected(g: Given, target: Any) -> Any:
    """Output of each example at its target; several numbers are summed, as Captum does."""
    out = np.asarray(values_at(g.net, g.arrays)[0], np.float64)
    t = target_of(target)
    rows = out.shape[0] if out.ndim > 0 else 1
    if not t:
        return out.reshape(rows, -1).sum(1)
    rank = int(t["rank"])
    index = np.asarray(t["index"]).reshape(-1, rank)
    index = np.broadcast_to(index, (rows, rank))
    return out[(np.arange(rows), *index.T)].reshape(rows, -1).sum(1)


class GradientAttribution(Attribution):
    """Methods that need a backward pass."""


class PerturbationAttribution(Attribution):
    """Methods that run the model on changed inputs."""

    @property
    def multiplies_by_inputs(self) -> bool:
        return True


class InternalAttribution(Attribution):
    """Methods about inner values."""

    def __init__(self, forward_func: Any, layer: Any, device_ids: Any = None, *, compat: bool | None = None) -> None:
        super().__init__(forward_func, compat=compat)
        if device_ids is not None:
            raise ArgumentError("device_ids: everything runs on one device here; leave it out")
        self.layer = layer

    def _layers(self, g: Given, at_input: bool) -> list[Layer]:
        each = self.layer if isinstance(self.layer, list) else [self.layer]
        return [Layer(g.net, self._model, one, at_input) for one in each]


class LayerAttribution(InternalAttribution):
    """Methods that attribute to a layer's values."""

    def _start_layer(
        self, inputs: Any, target: Any, additional_forward_args: Any, at_input: bool, several: bool = False
    ) -> Plan:
        g, request = self._start(inputs, target, additional_forward_args)
        if isinstance(self.layer, list) and not several:
            raise ArgumentError(f"{type(self).__name__} takes one layer, not a list")
        layers = self._layers(g, at_input)
        request["at"] = [site for layer in layers for site in layer.sites]
        return Plan(g, request, layers, not isinstance(self.layer, list), single=True)

    @staticmethod
    def interpolate(layer_attribution: Any, interpolate_dims: Any, interpolate_mode: str = "nearest") -> Any:
        """Stretches a layer's scores to sizes of the input: "nearest", or "bilinear" / "linear" / "trilinear"."""
        from ._interpolate import interpolate

        return Kind.of(layer_attribution).wrap(
            interpolate(to_numpy(layer_attribution), interpolate_dims, interpolate_mode)
        )


class NeuronAttribution(InternalAttribution):
    """Methods that explain a unit of a layer."""


class InternalWithFactor(InternalAttribution):
    """Methods about inner values whose scores have the factor value - baseline, or leave it out."""

    def __init__(
        self,
        forward_func: Any,
        layer: Any,
        device_ids: Any = None,
        multiply_by_inputs: bool = True,
        *,
        compat: bool | None = None,
    ) -> None:
        super().__init__(forward_func, layer, device_ids, compat=compat)
        self._multiply_by_inputs = multiply_by_inputs

    @property
    def multiplies_by_inputs(self) -> bool:
        return self._multiply_by_inputs


def check_grad_kwargs(grad_kwargs: Any) -> None:
    """torch.autograd.grad's options: inputs without a path to the output have zero scores here in any case."""
    if not grad_kwargs:
        return
    unknown = [k for k in grad_kwargs if k not in ("allow_unused", "materialize_grads")]
    if unknown:
        raise ArgumentError(f"grad_kwargs: {', '.join(unknown)} mean nothing here: gradients are the library's own")


def rows_of(internal_batch_size: Any) -> int:
    if internal_batch_size is None:
        return 0
    if not isinstance(internal_batch_size, int) or internal_batch_size < 1:
        raise ArgumentError(f"internal_batch_size is a whole number from 1, not {internal_batch_size!r}")
    return internal_batch_size


def steps_of(n_steps: Any) -> int:
    if not isinstance(n_steps, int) or n_steps < 1:
        raise ArgumentError(f"n_steps is a whole number from 1, not {n_steps!r}")
    return n_steps


RULES = ("gausslegendre", "riemann_left", "riemann_right", "riemann_middle", "riemann_trapezoid")


def rule_of(method: str) -> str:
    if method not in RULES:
        raise ArgumentError(f"method: one of {', '.join(RULES)}, not {method!r}")
    return "gauss-legendre" if method == "gausslegendre" else method.replace("_", "-")


def path_of(g: Given, baselines: Any, n_steps: Any, method: str, internal_batch_size: Any) -> Request:
    """The fields of a path from the baselines to the inputs."""
    return {
        "baselines": baselines_of(g, baselines),
        "steps": steps_of(n_steps),
        "rule": rule_of(method),
        "rows_per_pass": rows_of(internal_batch_size),
    }
