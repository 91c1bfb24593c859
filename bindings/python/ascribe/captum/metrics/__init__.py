"""Captum's metrics: captum.metrics."""

from __future__ import annotations

from typing import Any

from .._absent import absent
from ._infidelity import infidelity, infidelity_perturb_func_decorator
from ._sensitivity import default_perturb_func, sensitivity_max

__all__ = ["default_perturb_func", "infidelity", "infidelity_perturb_func_decorator", "sensitivity_max"]


def __getattr__(name: str) -> Any:
    return absent("metrics", name)
