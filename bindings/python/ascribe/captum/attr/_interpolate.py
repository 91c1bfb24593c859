"""Maps of scores stretched to a picture's size, as torch.nn.functional.interpolate does with align_corners off."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import Array, ArgumentError


def _axis(a: Array, axis: int, size: int, linear: bool) -> Array:
    old = a.shape[axis]
    if not linear:
        out: Array = np.take(a, np.arange(size) * old // size, axis)
        return out
    place = np.clip((np.arange(size) + 0.5) * old / size - 0.5, 0.0, old - 1.0)
    low = np.floor(place).astype(np.int64)
    high = np.minimum(low + 1, old - 1)
    share = (place - low).reshape([-1 if k == axis else 1 for k in range(a.ndim)])
    mixed: Array = np.take(a, low, axis) * (1.0 - share) + np.take(a, high, axis) * share
    return mixed


def interpolate(a: Array, dims: Any, mode: str) -> Array:
    sizes = (int(dims),) * (a.ndim - 2) if isinstance(dims, int) else tuple(int(d) for d in dims)
    if mode not in ("nearest", "linear", "bilinear", "trilinear"):
        raise ArgumentError(f"interpolate_mode: nearest, linear, bilinear or trilinear, not {mode!r}")
    if a.ndim < 3 or len(sizes) != a.ndim - 2:
        raise ArgumentError(f"interpolate_dims: {len(sizes)} sizes for {max(0, a.ndim - 2)} spatial axes")
    out = a.astype(np.float64)
    for k, size in enumerate(sizes):
        out = _axis(out, k + 2, size, mode != "nearest")
    return out.astype(a.dtype)
