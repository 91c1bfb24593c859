"""Captum's attacks: captum.robust."""

from __future__ import annotations

from typing import Any

from .._absent import absent
from ._attacks import FGSM, PGD

__all__ = ["FGSM", "PGD"]


def __getattr__(name: str) -> Any:
    return absent("robust", name)
