"""captum.concept is not part of this package: each name says why."""

from __future__ import annotations

from typing import Any

from .._absent import absent


def __getattr__(name: str) -> Any:
    return absent("concept", name)
