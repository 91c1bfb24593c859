"""FGSM and PGD: small steps that change the output most."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import _ascribe
from .._arrays import Array, ArgumentError, as_tuple, is_torch, result_type, to_numpy
from .._call import Given, base_request, bind, next_seed, target_of
from .._model import as_model, values_at

_LOSSES = {"nll": 0, "cross_entropy": 1, "value": 2}


def _known(loss: Any) -> int | None:
    """Number of a loss that the library has."""
    if loss is None:
        return 0
    if isinstance(loss, str) and loss in _LOSSES:
        return _LOSSES[loss]
    name = type(loss).__name__
    if name == "CrossEntropyLoss" or getattr(loss, "__name__", "") == "cross_entropy":
        return 1
    return None


class _Attack:
    def __init__(
        self,
        forward_func: Any,
        loss_func: Any = None,
        lower_bound: float = -math.inf,
        upper_bound: float = math.inf,
    ) -> None:
        """loss_func: None (-log of the target's number), "cross_entropy", "value", torch's CrossEntropyLoss; FGSM
        takes any torch function of (outputs, target)."""
        self.forward_func = forward_func
        self.loss_func = loss_func
        self.lower_bound, self.upper_bound = float(lower_bound), float(upper_bound)
        self._model = as_model(forward_func)

    def _request(self, g: Given, method: str, target: Any, targeted: bool, mask: Any, how: dict[str, Any]) -> Any:
        q = base_request(g, method)
        q.update(target=target_of(target), targeted=targeted)
        if math.isfinite(self.lower_bound) or math.isfinite(self.upper_bound):
            big = float(np.finfo(np.float32).max)
            q["bounds"] = [max(self.lower_bound, -big), min(self.upper_bound, big)]
        if mask is not None:
            each = mask if isinstance(mask, tuple) else (mask,)
            if len(each) != g.n:
                raise ArgumentError(f"mask: {len(each)} for {g.n} inputs")
            q["step_masks"] = [np.asarray(to_numpy(m), np.float64) for m in each]
        return q

    def _give(self, g: Given, raw: dict[str, Any]) -> Any:
        out = []
        for (_, _, data, _), a in zip(raw["inputs"], g.inputs, strict=True):
            out.append(g.kind.wrap(np.frombuffer(data).reshape(a.shape).astype(result_type(a))))
        return tuple(out) if g.several else out[0]


def _slopes(loss: Any, g: Given, target: Any) -> Array:
    """Derivative of a torch loss with respect to the net's output."""
    import sys

    torch = sys.modules.get("torch")
    if torch is None:
        raise ArgumentError(
            "loss_func: 'nll', 'cross_entropy' or 'value'; a function of one's own needs torch, which differentiates it"
        )
    out = torch.from_numpy(np.array(values_at(g.net, g.arrays)[0])).requires_grad_()
    wanted = target
    if isinstance(target, int):
        wanted = torch.full((out.shape[0],), target)
    elif not is_torch(target) and target is not None and not isinstance(target, tuple):
        wanted = torch.as_tensor(target)
    value = loss(out, wanted)
    (grad,) = torch.autograd.grad(value.sum(), out)
    return np.asarray(grad.numpy(), np.float64)


class FGSM(_Attack):
    """x + epsilon * sign(gradient of the loss), then into the bounds."""

    def perturb(
        self,
        inputs: Any,
        epsilon: float,
        target: Any,
        additional_forward_args: Any = None,
        targeted: bool = False,
        mask: Any = None,
    ) -> Any:
        as_tuple(inputs, "inputs")
        g = bind(self._model, inputs, additional_forward_args)
        loss = _known(self.loss_func)
        how: dict[str, Any] = {"pgd": False, "loss": loss or 0}
        q = self._request(g, "saliency", target, targeted, mask, how)
        q["epsilon"] = float(epsilon)
        if loss is None:
            slopes = _slopes(self.loss_func, g, target)
            how["loss"] = _LOSSES["value"]  # which turns the sign
            q["target"] = {"weights": np.ascontiguousarray(-slopes.reshape(slopes.shape[0], -1))}
        return self._give(g, _ascribe.net_attack(g.net._subject, q, how))


class PGD(_Attack):
    """Such steps again and again, each followed by a projection onto a ball around the input."""

    def perturb(
        self,
        inputs: Any,
        radius: float,
        step_size: float,
        step_num: int,
        target: Any,
        additional_forward_args: Any = None,
        targeted: bool = False,
        random_start: bool = False,
        norm: str = "Linf",
        mask: Any = None,
    ) -> Any:
        loss = _known(self.loss_func)
        if loss is None:
            raise ArgumentError(
                "loss_func: PGD takes None, 'cross_entropy', 'value' or torch's CrossEntropyLoss; FGSM takes any"
            )
        if norm not in ("Linf", "L2"):
            raise ArgumentError(f"norm: Linf or L2, not {norm!r}")
        if not isinstance(step_num, int) or step_num < 0:
            raise ArgumentError(f"step_num is a whole number, not {step_num!r}")
        as_tuple(inputs, "inputs")
        if step_num == 0 and not random_start:
            return inputs
        g = bind(self._model, inputs, additional_forward_args)
        how = {"pgd": True, "loss": loss, "l2": norm == "L2", "random_start": random_start}
        q = self._request(g, "saliency", target, targeted, mask, how)
        q.update(radius=float(radius), step_size=float(step_size), steps=max(1, step_num), seed=next_seed())
        return self._give(g, _ascribe.net_attack(g.net._subject, q, how))
