"""Torch's pools and resizing: what makes an axis longer or shorter."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .._net_tensor import Tensor, Window, per_axis
from ._torch_shapes import move_axis

torch: Any = importlib.import_module("torch")
F: Any = importlib.import_module("torch.nn.functional")


def _along(x: Tensor, axis: int, matrix: Any) -> Tensor:
    """x with an axis of n numbers turned into one of m by a matrix [n, m]."""
    return move_axis(move_axis(x, axis, -1).matmul(x._frame.constant(np.ascontiguousarray(matrix))), -1, axis)


def _sizes(x: Tensor, output_size: Any) -> list[int]:
    n = x.ndim - 2
    given = (output_size,) * n if isinstance(output_size, int) else output_size
    return [s if o is None else int(o) for o, s in zip(given, x.shape[2:], strict=True)]


def _equal_windows(x: Tensor, sizes: list[int]) -> Window | None:
    """The window of which so many lie side by side in each axis, if there is one."""
    each = list(zip(sizes, x.shape[2:], strict=True))
    if any(s % o != 0 for o, s in each):
        return None
    kernel = tuple(s // o for o, s in each)
    return Window(kernel, kernel)


def adaptive_avg_pool(x: Tensor, output_size: Any) -> Tensor:
    sizes = _sizes(x, output_size)
    window = _equal_windows(x, sizes)
    if window is not None:
        return x.avg_pool(window)
    for k, o in enumerate(sizes):
        n = x.shape[2 + k]
        if n != o:  # windows of unequal sizes: a matrix of means
            x = _along(x, 2 + k, F.adaptive_avg_pool1d(torch.eye(n)[None], o)[0].numpy())
    return x


def adaptive_max_pool(x: Tensor, output_size: Any, return_indices: bool = False) -> Tensor:
    if return_indices:
        raise NotImplementedError("adaptive max pooling with return_indices")
    sizes = _sizes(x, output_size)
    window = _equal_windows(x, sizes)
    if window is not None:
        return x.max_pool(window)
    for k, o in enumerate(sizes):
        n, axis = x.shape[2 + k], 2 + k
        ends = [(i * n // o, -(-(i + 1) * n // o)) for i in range(o)]
        x = x._frame.concat([Tensor.max(x.slice(axis, a, b - a), axis, True) for a, b in ends], axis)
    return x


def _step(stride: Any, kernel_size: Any) -> Any:
    return stride if stride not in (None, [], ()) else kernel_size


def max_pool(x: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
             ceil_mode: bool = False, return_indices: bool = False) -> Any:
    step = _step(stride, kernel_size)
    window = Window(kernel_size, step, dilation, padding, padding, ceil_mode)
    if return_indices:
        return x.max_pool(window), x._call("max_pool_index", window.for_rank(x.ndim - 2))
    return x.max_pool(window)


def max_pool_with_indices(x: Tensor, *args: Any, **kwargs: Any) -> Any:
    return max_pool(x, *args, **{**kwargs, "return_indices": True})


def max_unpool(x: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0,
               output_size: Any = None) -> Tensor:
    n = x.ndim - 2
    k, p = per_axis(kernel_size, n), per_axis(padding, n)
    s = per_axis(_step(stride, kernel_size), n)
    size = [(v - 1) * s[i] - 2 * p[i] + k[i] for i, v in enumerate(x.shape[2:])]
    size = size if output_size is None else list(output_size)[-n:]
    return x._call("pool_put", indices._n, tuple(size))


def avg_pool(x: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
             count_include_pad: bool = True, divisor_override: Any = None) -> Tensor:
    step = _step(stride, kernel_size)
    if divisor_override is not None:
        n = math.prod(per_axis(kernel_size, x.ndim - 2))
        if ceil_mode:
            raise NotImplementedError("average pooling with divisor_override and ceil_mode")
        return x.avg_pool(Window(kernel_size, step, 1, padding, padding), True) * (n / divisor_override)  # type: ignore[no-any-return]
    return x.avg_pool(Window(kernel_size, step, 1, padding, padding, ceil_mode), count_include_pad)


def lp_pool(x: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    n = math.prod(per_axis(kernel_size, x.ndim - 2))
    out = avg_pool(x**norm_type, kernel_size, stride, 0, ceil_mode)
    return (out.sign() * out.abs().relu() * n) ** (1.0 / norm_type)


# ---- resizing

_FLAT = {"bilinear": "linear", "trilinear": "linear"}


def interpolate(x: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: Any = None,
                recompute_scale_factor: Any = None, antialias: bool = False) -> Tensor:
    """Every mode works axis by axis; what one axis does is torch's own answer for unit vectors."""
    n = x.ndim - 2
    for k in range(n):
        length = x.shape[2 + k]
        one = None if size is None else int(per_axis(size, n)[k])
        factor = scale_factor if scale_factor is None or isinstance(scale_factor, (int, float)) else scale_factor[k]
        kw: dict[str, Any] = {"align_corners": align_corners, "recompute_scale_factor": recompute_scale_factor}
        eye = torch.eye(length)[None]
        if mode == "bicubic" or antialias:  # torch has these in two dimensions alone
            wide = torch.zeros(1, length, length, 2) + eye[..., None]
            sizes, factors = None if one is None else (one, 2), None if factor is None else (factor, 1.0)
            out = F.interpolate(wide, sizes, factors, mode, **kw, antialias=antialias)[0, ..., 0]
        else:
            out = F.interpolate(eye, one, factor, _FLAT.get(mode, mode), **kw)[0]
        if out.shape != (length, length) or not torch.equal(out, eye[0]):
            x = _along(x, 2 + k, out.numpy())
    return x


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d"), adaptive_avg_pool),
    **dict.fromkeys(("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d"), adaptive_max_pool),
    **dict.fromkeys(("max_pool1d", "max_pool2d", "max_pool3d", "_max_pool1d", "_max_pool2d", "_max_pool3d"), max_pool),
    **dict.fromkeys((f"{a}max_pool{n}d_with_indices" for a in ("", "_") for n in (1, 2, 3)), max_pool_with_indices),
    **dict.fromkeys(("max_unpool1d", "max_unpool2d", "max_unpool3d"), max_unpool),
    **dict.fromkeys(("avg_pool1d", "avg_pool2d", "avg_pool3d"), avg_pool),
    **dict.fromkeys(("lp_pool1d", "lp_pool2d", "lp_pool3d"), lp_pool),
    **dict.fromkeys(("interpolate", "upsample", "upsample_nearest", "upsample_bilinear"), interpolate),
}
