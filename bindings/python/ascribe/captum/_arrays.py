"""Arrays of any library in, the same kind out: numpy as it is, torch and others by DLPack."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Wrap = Callable[[Array], Any]


class ArgumentError(AssertionError, ValueError):
    """An argument that cannot be what it is. Captum raises AssertionError; `except ValueError` works as well."""


def is_torch(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) or is_torch(value) or hasattr(value, "__dlpack__")


def to_numpy(value: Any) -> Array:
    """As a numpy array in row-major order; half types become float32."""
    if is_torch(value):
        value = value.detach().cpu()
        if str(value.dtype) in ("torch.bfloat16", "torch.float16"):
            value = value.float()
        return np.ascontiguousarray(value.numpy())
    if not isinstance(value, np.ndarray) and hasattr(value, "__dlpack__"):
        value = np.from_dlpack(value)
    a = np.asarray(value)
    return a if a.flags.c_contiguous else np.ascontiguousarray(a)  # ascontiguousarray makes rank 0 rank 1


@dataclass(frozen=True)
class Kind:
    """How results go back: as the caller's own arrays."""

    torch: bool = False
    device: Any = None

    @staticmethod
    def of(values: Any) -> Kind:
        first = values[0] if isinstance(values, (tuple, list)) and values else values
        return Kind(True, first.device) if is_torch(first) else Kind()

    def wrap(self, a: Array) -> Any:
        if not self.torch:
            return a
        torch = sys.modules["torch"]
        return torch.from_numpy(np.require(a, requirements=["C", "W"])).to(self.device)


def result_type(a: Array) -> Any:
    return np.float64 if a.dtype == np.float64 else np.float32


def as_tuple(value: Any, what: str) -> tuple[Any, ...]:
    """One array or a tuple of them."""
    if isinstance(value, tuple):
        if not value:
            raise ArgumentError(f"{what}: an empty tuple")
        for v in value:
            if not is_array(v):
                raise ArgumentError(f"{what}: a tuple of arrays is wanted; {type(v).__name__} is in it")
        return value
    if not is_array(value):
        raise ArgumentError(
            f"{what}: an array or a tuple of arrays is wanted, not {type(value).__name__}"
            + (": write a tuple" if isinstance(value, list) else "")
        )
    return (value,)
