"""Methods on the values of a layer."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import ArgumentError, to_numpy
from .._call import baselines_of, finish, masks_of, next_seed
from .._model import values_at
from ._base import InternalWithFactor, LayerAttribution, check_grad_kwargs, path_of
from ._gradient import _custom, _full_baselines, draws_of
from ._perturbation import copies_of


class _WithFactor(InternalWithFactor, LayerAttribution):
    """Layer methods with that factor."""


class LayerActivation(LayerAttribution):
    """A layer's value."""

    _method = "layer-activation"

    def attribute(
        self, inputs: Any, additional_forward_args: Any = None, attribute_to_layer_input: bool = False
    ) -> Any:
        plan = self._start_layer(inputs, None, additional_forward_args, attribute_to_layer_input, True)
        plan.single = False
        return finish(plan)


class LayerGradientXActivation(_WithFactor):
    """A layer's value times the output's gradient there."""

    _method = "input-x-gradient"

    def attribute(
        self,
        inputs: Any,
        target: Any = None,
        additional_forward_args: Any = None,
        attribute_to_layer_input: bool = False,
        grad_kwargs: Any = None,
    ) -> Any:
        check_grad_kwargs(grad_kwargs)
        plan = self._start_layer(inputs, target, additional_forward_args, attribute_to_layer_input, True)
        plan.request["no_multiply"] = not self._multiply_by_inputs
        return finish(plan)


class LayerGradCam(LayerAttribution):
    """Channels weighted by their mean gradients."""

    _method = "grad-cam"

    def attribute(
        self,
        inputs: Any,
        target: Any = None,
        additional_forward_args: Any = None,
        attribute_to_layer_input: bool = False,
        relu_attributions: bool = False,
        attr_dim_summation: bool = True,
        grad_kwargs: Any = None,
    ) -> Any:
        check_grad_kwargs(grad_kwargs)
        plan = self._start_layer(inputs, target, additional_forward_args, attribute_to_layer_input)
        plan.request.update(relu=relu_attributions, keep_channels=not attr_dim_summation)
        return finish(plan)


class InternalInfluence(LayerAttribution):
    """The mean gradient at a layer along the path."""

    _method = "internal-influence"

    def attribute(
        self,
        inputs: Any,
        baselines: Any = None,
        target: Any = None,
        additional_forward_args: Any = None,
        n_steps: int = 50,
        method: str = "gausslegendre",
        internal_batch_size: int | None = None,
        attribute_to_layer_input: bool = False,
        grad_kwargs: Any = None,
    ) -> Any:
        check_grad_kwargs(grad_kwargs)
        plan = self._start_layer(inputs, target, additional_forward_args, attribute_to_layer_input)
        plan.request.update(path_of(plan.given, baselines, n_steps, method, internal_batch_size))
        return finish(plan)


class LayerConductance(LayerAttribution):
    """How much of the output's change flows through each unit of a layer."""

    _method = "conductance"
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
        attribute_to_layer_input: bool = False,
        grad_kwargs: Any = None,
    ) -> Any:
        check_grad_kwargs(grad_kwargs)
        plan = self._start_layer(inputs, target, additional_forward_args, attribute_to_layer_input)
        plan.request.update(path_of(plan.given, baselines, n_steps, method, internal_batch_size))
        if not self._captum:
            plan.request["rule"] = None
        return finish(plan, return_convergence_delta)

    @property
    def multiplies_by_inputs(self) -> bool:
        return True


class LayerIntegratedGradients(_WithFactor):
    """Integrated gradients between a layer's values at the baselines and at the inputs."""

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
        attribute_to_layer_input: bool = False,
        grad_kwargs: Any = None,
    ) -> Any:
        check_grad_kwargs(grad_kwargs)
        plan = self._start_layer(inputs, target, additional_forward_args, attribute_to_layer_input, True)
        plan.request.update(path_of(plan.given, baselines, n_steps, method, internal_batch_size))
        plan.request["no_multiply"] = not self._multiply_by_inputs
        return finish(plan, return_convergence_delta)


class LayerDeepLift(_WithFactor):
    """DeepLift at a layer."""

    _method = "deep-lift"
    _has_delta = True
    _rows = False
    _needs_baselines = False

    def __init__(
        self, model: Any, layer: Any, multiply_by_inputs: bool = True, *, compat: bool | None = None
    ) -> None:
        super().__init__(model, layer, None, multiply_by_inputs, compat=compat)

    def attribute(
        self,
        inputs: Any,
        baselines: Any = None,
        target: Any = None,
        additional_forward_args: Any = None,
        return_convergence_delta: bool = False,
        attribute_to_layer_input: bool = False,
        custom_attribution_func: Any = None,
        grad_kwargs: Any = None,
    ) -> Any:
        check_grad_kwargs(grad_kwargs)
        if self._needs_baselines and baselines is None:
            raise ArgumentError(f"baselines: {type(self).__name__} needs rows of them")
        plan = self._start_layer(inputs, target, additional_forward_args, attribute_to_layer_input)
        plan.request["baselines"] = baselines_of(plan.given, baselines, self._rows, inputs)
        plan.request["no_multiply"] = not self._multiply_by_inputs
        if custom_attribution_func is None:
            return finish(plan, return_convergence_delta)
        if self._rows or return_convergence_delta:
            raise ArgumentError(
                "custom_attribution_func: with one baseline, and without return_convergence_delta, at a layer"
            )
        g, sites = plan.given, plan.request["at"]
        at_inputs = values_at(g.net, g.arrays, sites)
        start = [*_full_baselines(g, plan.request), *g.arrays[g.n :]]
        at_baselines = values_at(g.net, [np.ascontiguousarray(s) for s in start], sites)
        wrap = g.kind.wrap
        points = (tuple(map(wrap, at_inputs)), tuple(map(wrap, at_baselines)))
        return _custom(plan, custom_attribution_func, wrap, points)[1]


class LayerDeepLiftShap(LayerDeepLift):
    """DeepLift at a layer, averaged over rows of baselines."""

    _method = "deep-lift-shap"
    _rows = True
    _needs_baselines = True


class LayerGradientShap(_WithFactor):
    """Expected gradients at a layer."""

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
        attribute_to_layer_input: bool = False,
        grad_kwargs: Any = None,
    ) -> Any:
        check_grad_kwargs(grad_kwargs)
        plan = self._start_layer(inputs, target, additional_forward_args, attribute_to_layer_input)
        plan.request.update(draws_of(self, plan.given, baselines, inputs, n_samples, stdevs))
        plan.request["no_multiply"] = not self._multiply_by_inputs
        return finish(plan, return_convergence_delta)


class LayerFeatureAblation(LayerAttribution):
    """How much the output falls with a layer's values at their baselines."""

    _method = "feature-ablation"

    def attribute(
        self,
        inputs: Any,
        layer_baselines: Any = None,
        target: Any = None,
        additional_forward_args: Any = None,
        layer_mask: Any = None,
        attribute_to_layer_input: bool = False,
        perturbations_per_eval: int = 1,
    ) -> Any:
        plan = self._start_layer(inputs, target, additional_forward_args, attribute_to_layer_input)
        q, n = plan.request, len(plan.request["at"])
        plan.single, plan.flatten = False, True
        q.update(masks=masks_of(layer_mask, n, "layer_mask"))
        q["rows_per_pass"] = copies_of(plan.given, perturbations_per_eval)
        if layer_baselines is not None:
            each = layer_baselines if isinstance(layer_baselines, tuple) else (layer_baselines,)
            if len(each) != n:
                raise ArgumentError(f"layer_baselines: {len(each)} for {n} values of the layer")
            q["at_baselines"] = [
                np.asarray(float(b)) if isinstance(b, (int, float)) else to_numpy(b) for b in each
            ]
        return finish(plan)

    @property
    def multiplies_by_inputs(self) -> bool:
        return True


class LayerFeaturePermutation(LayerAttribution):
    """How much the output falls when a layer's values are shuffled among the examples."""

    _method = "feature-permutation"

    def attribute(
        self,
        inputs: Any,
        target: Any = None,
        additional_forward_args: Any = None,
        layer_mask: Any = None,
        attribute_to_layer_input: bool = False,
        perturbations_per_eval: int = 1,
    ) -> Any:
        plan = self._start_layer(inputs, target, additional_forward_args, attribute_to_layer_input)
        plan.single, plan.flatten = False, True
        plan.request.update(masks=masks_of(layer_mask, len(plan.request["at"]), "layer_mask"), seed=next_seed())
        plan.request["rows_per_pass"] = copies_of(plan.given, perturbations_per_eval)
        return finish(plan)
