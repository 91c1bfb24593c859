"""Methods that explain one unit of a layer."""

from __future__ import annotations

from typing import Any

from .._arrays import ArgumentError
from .._call import Plan, baselines_of, finish, target_of, unit_of
from ._base import InternalWithFactor, NeuronAttribution, check_grad_kwargs, path_of
from ._gradient import _custom, _full_baselines, draws_of
from ._perturbation import features_of


class _Neuron(NeuronAttribution):
    def _start_unit(self, inputs: Any, selector: Any, additional_forward_args: Any, at_input: bool) -> Plan:
        g, q = self._start(inputs, None, additional_forward_args)
        if isinstance(self.layer, list):
            raise ArgumentError(f"{type(self).__name__} takes one layer, not a list")
        q["target"] = unit_of(g, self._layers(g, at_input)[0], selector)
        return Plan(g, q, single=True)


class _WithFactor(InternalWithFactor, _Neuron):
    """Neuron methods with that factor."""


class _Plain(_Neuron):
    def attribute(
        self,
        inputs: Any,
        neuron_selector: Any,
        additional_forward_args: Any = None,
        attribute_to_neuron_input: bool = False,
    ) -> Any:
        plan = self._start_unit(inputs, neuron_selector, additional_forward_args, attribute_to_neuron_input)
        if self._method == "saliency":
            plan.request["norm"] = "signed"
        return finish(plan)


class NeuronGradient(_Plain):
    """A unit's gradient."""

    _method = "saliency"


class NeuronGuidedBackprop(_Plain):
    """Guided Backprop of a unit."""

    _method = "guided-backprop"


class NeuronDeconvolution(_Plain):
    """Deconvolution of a unit."""

    _method = "deconvolution"


class NeuronIntegratedGradients(_WithFactor):
    """Integrated gradients of a unit."""

    _method = "integrated-gradients"

    def attribute(
        self,
        inputs: Any,
        neuron_selector: Any,
        baselines: Any = None,
        additional_forward_args: Any = None,
        n_steps: int = 50,
        method: str = "gausslegendre",
        internal_batch_size: int | None = None,
        attribute_to_neuron_input: bool = False,
    ) -> Any:
        plan = self._start_unit(inputs, neuron_selector, additional_forward_args, attribute_to_neuron_input)
        plan.request.update(path_of(plan.given, baselines, n_steps, method, internal_batch_size))
        plan.request["no_multiply"] = not self._multiply_by_inputs
        return finish(plan)


class NeuronConductance(_WithFactor):
    """How much of the output's change flows from each input through a unit."""

    _method = "neuron-conductance"

    def attribute(
        self,
        inputs: Any,
        neuron_selector: Any,
        baselines: Any = None,
        target: Any = None,
        additional_forward_args: Any = None,
        n_steps: int = 50,
        method: str = "riemann_trapezoid",
        internal_batch_size: int | None = None,
        attribute_to_neuron_input: bool = False,
        grad_kwargs: Any = None,
    ) -> Any:
        check_grad_kwargs(grad_kwargs)
        plan = self._start_unit(inputs, neuron_selector, additional_forward_args, attribute_to_neuron_input)
        q = plan.request
        q.update(neuron=q["target"], target=target_of(target), no_multiply=not self._multiply_by_inputs)
        q.update(path_of(plan.given, baselines, n_steps, method, internal_batch_size))
        return finish(plan)


class NeuronDeepLift(_WithFactor):
    """DeepLift of a unit."""

    _method = "deep-lift"
    _rows = False

    def __init__(
        self, model: Any, layer: Any, multiply_by_inputs: bool = True, *, compat: bool | None = None
    ) -> None:
        super().__init__(model, layer, None, multiply_by_inputs, compat=compat)

    def attribute(
        self,
        inputs: Any,
        neuron_selector: Any,
        baselines: Any = None,
        additional_forward_args: Any = None,
        attribute_to_neuron_input: bool = False,
        custom_attribution_func: Any = None,
    ) -> Any:
        plan = self._start_unit(inputs, neuron_selector, additional_forward_args, attribute_to_neuron_input)
        g, q = plan.given, plan.request
        if self._rows and baselines is None:
            raise ArgumentError(f"baselines: {type(self).__name__} needs rows of them")
        q["baselines"] = baselines_of(g, baselines, self._rows, inputs)
        q["no_multiply"] = not self._multiply_by_inputs
        if custom_attribution_func is None:
            return finish(plan)
        if self._rows:
            raise ArgumentError("custom_attribution_func: call NeuronDeepLift per baseline")
        wrap = g.kind.wrap
        points = (tuple(map(wrap, g.inputs)), tuple(map(wrap, _full_baselines(g, q))))
        return _custom(plan, custom_attribution_func, wrap, points)[1]


class NeuronDeepLiftShap(NeuronDeepLift):
    """DeepLift of a unit, averaged over rows of baselines."""

    _method = "deep-lift-shap"
    _rows = True


class NeuronGradientShap(_WithFactor):
    """Expected gradients of a unit."""

    _method = "gradient-shap"

    def attribute(
        self,
        inputs: Any,
        neuron_selector: Any,
        baselines: Any,
        n_samples: int = 5,
        stdevs: Any = 0.0,
        additional_forward_args: Any = None,
        attribute_to_neuron_input: bool = False,
    ) -> Any:
        plan = self._start_unit(inputs, neuron_selector, additional_forward_args, attribute_to_neuron_input)
        plan.request.update(draws_of(self, plan.given, baselines, inputs, n_samples, stdevs))
        plan.request["no_multiply"] = not self._multiply_by_inputs
        return finish(plan)


class NeuronFeatureAblation(_Neuron):
    """How much a unit falls with a feature at its baseline."""

    _method = "feature-ablation"

    def attribute(
        self,
        inputs: Any,
        neuron_selector: Any,
        baselines: Any = None,
        additional_forward_args: Any = None,
        feature_mask: Any = None,
        attribute_to_neuron_input: bool = False,
        perturbations_per_eval: int = 1,
    ) -> Any:
        plan = self._start_unit(inputs, neuron_selector, additional_forward_args, attribute_to_neuron_input)
        plan.request.update(features_of(plan.given, baselines, feature_mask, perturbations_per_eval))
        return finish(plan)

    @property
    def multiplies_by_inputs(self) -> bool:
        return True
