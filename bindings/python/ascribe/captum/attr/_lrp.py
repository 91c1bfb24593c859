"""Layer-wise relevance propagation, and Captum's rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._arrays import ArgumentError
from .._call import Given, Plan, finish
from ._base import GradientAttribution, LayerAttribution

RuleTuple = tuple[str | None, str | None, str, float, float, bool, int, int]


class PropagationRule:
    """A rule by which a layer hands its relevance back."""

    name = ""
    a = 0.0
    b = 0.0
    no_bias = False


class EpsilonRule(PropagationRule):
    """In proportion to the contributions, with a little more in the denominator."""

    name = "epsilon"

    def __init__(self, epsilon: float = 1e-9) -> None:
        self.a = float(epsilon)


class GammaRule(PropagationRule):
    """Positive weights count 1 + gamma times."""

    name = "gamma"

    def __init__(self, gamma: float = 0.25, set_bias_to_zero: bool = False) -> None:
        self.a = float(gamma)
        self.no_bias = set_bias_to_zero


class Alpha1_Beta0_Rule(PropagationRule):  # noqa: N801 (Captum's name)
    """Positive contributions alone."""

    name = "alpha-beta"
    a = 1.0

    def __init__(self, set_bias_to_zero: bool = False) -> None:
        self.no_bias = set_bias_to_zero


class IdentityRule(PropagationRule):
    """The relevance as it comes."""

    name = "identity"


def rules_of(rules: Mapping[str, PropagationRule] | None, g: Given) -> list[RuleTuple] | None:
    """Rules by site, from the call or (torch) from the modules' own `rule`."""
    found: dict[str, Any] = dict(rules or {})
    module = getattr(g.model, "module", None)
    if module is not None:
        for name, m in module.named_modules():
            rule = getattr(m, "rule", None)
            if rule is not None and name not in found:
                found[name] = rule
    out: list[RuleTuple] = []
    for site, rule in found.items():
        one = _rule(rule)
        out.append((site, None, one.name, one.a, one.b, one.no_bias, 0, 0))
    return out or None


def _rule(rule: Any) -> PropagationRule:
    if isinstance(rule, PropagationRule) and rule.name:
        return rule
    name = type(rule).__name__  # captum's own object
    if name == "EpsilonRule":
        return EpsilonRule(getattr(rule, "STABILITY_FACTOR", 1e-9))
    if name == "GammaRule":
        return GammaRule(rule.gamma, rule.set_bias_to_zero)
    if name == "Alpha1_Beta0_Rule":
        return Alpha1_Beta0_Rule(rule.set_bias_to_zero)
    if name == "IdentityRule":
        return IdentityRule()
    raise TypeError(f"a rule is EpsilonRule, GammaRule, Alpha1_Beta0_Rule or IdentityRule, not {name}")


class LRP(GradientAttribution):
    """The explained value handed back layer by layer. rules: site of the net -> rule (torch: the modules' `rule`)."""

    _method = "lrp"
    _has_delta = True

    def __init__(
        self, model: Any, *, rules: Mapping[str, PropagationRule] | None = None, compat: bool | None = None
    ) -> None:
        super().__init__(model, compat=compat)
        self.rules = rules
        for rule in (rules or {}).values():
            _rule(rule)

    @property
    def multiplies_by_inputs(self) -> bool:
        return True

    def attribute(
        self,
        inputs: Any,
        target: Any = None,
        additional_forward_args: Any = None,
        return_convergence_delta: bool = False,
        verbose: bool = False,
    ) -> Any:
        g, q = self._start(inputs, target, additional_forward_args)
        q["rules"] = rules_of(self.rules, g)
        if verbose:
            for rule in q["rules"] or []:
                print(f"Applied {rule[2]} on layer {rule[0]}")
        return finish(Plan(g, q, single=True), return_convergence_delta)


class LayerLRP(LayerAttribution):
    """Relevance at a layer, or a list of them."""

    _method = "lrp"
    _has_delta = True

    def __init__(
        self,
        model: Any,
        layer: Any,
        *,
        rules: Mapping[str, PropagationRule] | None = None,
        compat: bool | None = None,
    ) -> None:
        super().__init__(model, layer, compat=compat)
        self.rules = rules

    @property
    def multiplies_by_inputs(self) -> bool:
        return True

    def attribute(
        self,
        inputs: Any,
        target: Any = None,
        additional_forward_args: Any = None,
        return_convergence_delta: bool = False,
        attribute_to_layer_input: bool = False,
        verbose: bool = False,
    ) -> Any:
        plan = self._start_layer(inputs, target, additional_forward_args, attribute_to_layer_input, True)
        plan.request["rules"] = rules_of(self.rules, plan.given)
        result = finish(plan, return_convergence_delta)
        if not (return_convergence_delta and isinstance(self.layer, list)):
            return result
        raise ArgumentError("return_convergence_delta: one layer at a time")
