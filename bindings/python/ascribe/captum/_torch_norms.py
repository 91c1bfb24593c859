"""Torch's norms and normalisations."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

from .._net_tensor import Tensor

torch: Any = importlib.import_module("torch")


def _axes(x: Tensor, dim: Any) -> tuple[int, ...]:
    return x._axes(tuple(dim) if isinstance(dim, (list, tuple)) else dim)


def _affine(out: Tensor, weight: Any, bias: Any) -> Tensor:
    """Times a weight for each channel, plus a bias."""
    shape = [1, -1, *[1] * (out.ndim - 2)]
    out = out if weight is None else out * weight.reshape(shape)
    return out if bias is None else out + bias.reshape(shape)


def _standard(x: Tensor, axes: tuple[int, ...], eps: float) -> Tensor:
    centred = x - x.mean(axes, True)
    return centred * (centred.square().mean(axes, True) + eps).rsqrt()


def batch_norm(x: Tensor, running_mean: Any, running_var: Any, weight: Any = None, bias: Any = None,
               training: bool = False, momentum: float = 0.1, eps: float = 1e-5) -> Tensor:
    if running_mean is None or training:
        raise NotImplementedError(
            "batch normalisation by the batch's own mean and variance, which makes each example's output depend on the "
            "others: call model.eval(), or keep running statistics (track_running_stats=True)"
        )
    shape = [1, -1, *[1] * (x.ndim - 2)]
    return _affine((x - running_mean.reshape(shape)) * (running_var.reshape(shape) + eps).rsqrt(), weight, bias)


def instance_norm(x: Tensor, running_mean: Any = None, running_var: Any = None, weight: Any = None, bias: Any = None,
                  use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5) -> Tensor:
    if not use_input_stats:
        return batch_norm(x, running_mean, running_var, weight, bias, eps=eps)
    return _affine(_standard(x, tuple(range(2, x.ndim)), eps), weight, bias)


def group_norm(x: Tensor, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Tensor:
    grouped = x.reshape([x.shape[0], num_groups, -1])
    return _affine(_standard(grouped, (2,), eps).reshape(x.shape), weight, bias)


def layer_norm(x: Tensor, shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Tensor:
    out = _standard(x, tuple(range(x.ndim - len(shape), x.ndim)), eps)
    out = out if weight is None else out * weight
    return out if bias is None else out + bias


def rms_norm(x: Tensor, shape: Any, weight: Any = None, eps: float | None = None) -> Tensor:
    axes = tuple(range(x.ndim - len(shape), x.ndim))
    out = x * (x.square().mean(axes, True) + (torch.finfo(torch.float32).eps if eps is None else eps)).rsqrt()
    return out if weight is None else out * weight


def local_response_norm(x: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """Each channel divided by a power of the mean square of those around it."""
    c = x.shape[1]
    squares = x.square()._call("pad", 1, size // 2, (size - 1) // 2)
    parts = [squares.slice(1, i, c) for i in range(size)]
    total = parts[0]
    for p in parts[1:]:
        total = total + p
    return x / (total * (alpha / size) + k) ** beta


def norm(x: Tensor, p: Any = 2, dim: Any = None, keepdim: bool = False, **unused: Any) -> Tensor:
    axes = _axes(x, dim)
    p = 2 if p in ("fro", None) else float(p) if not isinstance(p, int) else p
    if p == 2:
        return x.square().sum(axes, keepdim).sqrt()
    if p == 1:
        return x.abs().sum(axes, keepdim)
    if math.isinf(p):
        if len(axes) != 1:
            x, axes = x.reshape(-1), (0,)
        return Tensor.max(x.abs(), axes[0], keepdim) if p > 0 else Tensor.min(x.abs(), axes[0], keepdim)
    return (x.abs() ** p).sum(axes, keepdim) ** (1.0 / p)  # type: ignore[no-any-return]


def normalize(x: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, **unused: Any) -> Tensor:
    return x / norm(x, p, dim, True).maximum(eps)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    lengths = norm(x1, 2, dim).maximum(eps) * norm(x2, 2, dim).maximum(eps)
    return (x1 * x2).sum((x1._axis(dim),)) / lengths


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    return norm((x1 - x2) + eps, p, -1, keepdim)


def variance(root: bool) -> Callable[..., Tensor]:
    def call(x: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None) -> Tensor:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        axes = _axes(x, dim)
        less = (1 if unbiased is None or unbiased else 0) if correction is None else correction
        n = math.prod(x.shape[a] for a in axes)
        out = (x - x.mean(axes, True)).square().sum(axes, keepdim) * (1.0 / (n - less))
        return out.sqrt() if root else out

    return call


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "batch_norm": batch_norm,
    "instance_norm": instance_norm,
    "group_norm": group_norm,
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "local_response_norm": local_response_norm,
    **dict.fromkeys(("norm", "linalg_norm", "linalg_vector_norm", "frobenius_norm"), norm),
    "normalize": normalize,
    "cosine_similarity": cosine_similarity,
    "pairwise_distance": pairwise_distance,
    "cdist": lambda a, b, p=2.0, **unused: norm(a.expand_dims(-2) - b.expand_dims(-3), p, -1),
    "std": variance(True),
    "var": variance(False),
}
