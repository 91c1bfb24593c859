"""Torch's functions and methods, by name, over tensors of a net."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .._net_tensor import Tensor, Window, per_axis


def _dims(dim: Any) -> Any:
    return tuple(dim) if isinstance(dim, (list, tuple)) else dim


def _sum(x: Tensor, dim: Any = None, keepdim: bool = False, **unused: Any) -> Tensor:
    return x.sum(_dims(dim), keepdim)


def _mean(x: Tensor, dim: Any = None, keepdim: bool = False, **unused: Any) -> Tensor:
    return x.mean(_dims(dim), keepdim)


def _extreme(name: str) -> Callable[..., Any]:
    def call(x: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
        if isinstance(dim, Tensor):
            return x.maximum(dim) if name == "max" else x.minimum(dim)
        if dim is None:
            return getattr(Tensor, name)(x)
        index = x.arg_max(x._axis(dim)) if name == "max" else x.arg_min(x._axis(dim))
        return getattr(Tensor, name)(x, dim, keepdim), index.expand_dims(x._axis(dim)) if keepdim else index

    return call


def _linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    out = x.matmul(weight, transpose_b=True)
    return out if bias is None else out + bias


def _flatten(x: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    end = end_dim % x.ndim
    return x.reshape(*x.shape[: start_dim % x.ndim], -1, *x.shape[end + 1 :])


def _reshape(x: Tensor, *shape: Any) -> Tensor:
    return x.reshape(*shape)


def _permute(x: Tensor, *axes: Any) -> Tensor:
    order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
    return Tensor.transpose(x, *order)


def _transpose(x: Tensor, dim0: int, dim1: int) -> Tensor:
    return x.swap_axes(dim0 % x.ndim, dim1 % x.ndim)


def _cat(tensors: Any, dim: int = 0, axis: int | None = None) -> Tensor:
    first = next(t for t in tensors if isinstance(t, Tensor))
    return first._frame.concat(list(tensors), dim if axis is None else axis)


def _stack(tensors: Any, dim: int = 0) -> Tensor:
    first = next(t for t in tensors if isinstance(t, Tensor))
    return first._frame.stack(list(tensors), dim)


def _chunk(x: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    size = -(-x.shape[dim] // chunks)
    return _split(x, size, dim)


def _split(x: Tensor, size: Any, dim: int = 0) -> tuple[Tensor, ...]:
    n = x.shape[dim]
    sizes = [min(size, n - i) for i in range(0, n, size)] if isinstance(size, int) else list(size)
    out, at = [], 0
    for s in sizes:
        out.append(x.slice(dim, at, s))
        at += s
    return tuple(out)


def _softmax(x: Tensor, dim: int = -1, **unused: Any) -> Tensor:
    return Tensor.softmax(x, dim)


def _log_softmax(x: Tensor, dim: int = -1, **unused: Any) -> Tensor:
    return Tensor.log_softmax(x, dim)


def _gelu(x: Tensor, approximate: str = "none") -> Tensor:
    return x.gelu_tanh() if approximate == "tanh" else x.gelu()


def _conv(x: Tensor, weight: Tensor, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
          groups: int = 1) -> Tensor:
    n = x.ndim - 2
    pad = per_axis(0 if padding == "valid" else padding, n)
    return x.conv(weight, bias, Window((), stride, dilation, pad, pad), groups)


def _max_pool(x: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
              ceil_mode: bool = False, return_indices: bool = False) -> Tensor:
    step = stride if stride not in (None, [], ()) else kernel_size
    return x.max_pool(Window(kernel_size, step, dilation, padding, padding, ceil_mode))


def _avg_pool(x: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
              count_include_pad: bool = True, divisor_override: Any = None) -> Tensor:
    step = stride if stride not in (None, [], ()) else kernel_size
    return x.avg_pool(Window(kernel_size, step, 1, padding, padding, ceil_mode), count_include_pad)


def _adaptive_avg_pool(x: Tensor, output_size: Any) -> Tensor:
    n = x.ndim - 2
    sizes = [
        s if o is None else int(o)
        for o, s in zip((output_size,) * n if isinstance(output_size, int) else output_size, x.shape[2:], strict=True)
    ]
    if any(s % o for o, s in zip(sizes, x.shape[2:], strict=True)):
        raise NotImplementedError(f"adaptive pooling from {x.shape[2:]} to {tuple(sizes)}: windows of unequal sizes")
    kernel = tuple(s // o for o, s in zip(sizes, x.shape[2:], strict=True))
    return x.avg_pool(Window(kernel, kernel))


def _layer_norm(x: Tensor, shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Tensor:
    axes = tuple(range(x.ndim - len(shape), x.ndim))
    centred = x - x.mean(axes, True)
    out = centred * (centred.square().mean(axes, True) + eps).rsqrt()
    out = out if weight is None else out * weight
    return out if bias is None else out + bias


def _clamp(x: Tensor, min: Any = None, max: Any = None) -> Tensor:  # noqa: A002 (torch's names)
    return x.clip(-math.inf if min is None else float(min), math.inf if max is None else float(max))


def _where(cond: Tensor, a: Any, b: Any) -> Tensor:
    return cond.where(a, b)


def _binary(op: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def call(a: Any, b: Any, alpha: Any = 1, **unused: Any) -> Any:
        return op(a, b if alpha == 1 else alpha * b)

    return call


def _unary(name: str) -> Callable[..., Any]:
    return lambda x, *unused, **more: getattr(Tensor, name)(x)


def _dropout(x: Tensor, *unused: Any, **more: Any) -> Tensor:
    return x


def _expand(x: Tensor, *shape: Any) -> Tensor:
    sizes = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
    lead = len(sizes) - x.ndim
    full = [x.shape[i - lead] if s == -1 else s for i, s in enumerate(sizes)]
    return x.broadcast_to(full)


def _embedding(ids: Tensor, weight: Tensor, *unused: Any, **more: Any) -> Tensor:
    return weight.gather(ids)


_UNARY = ("abs", "exp", "log", "sqrt", "rsqrt", "square", "sin", "cos", "tan", "tanh", "sigmoid", "relu", "silu", "erf",
          "floor", "ceil", "round", "sign", "softplus", "expm1", "log1p", "atan", "asin", "acos", "sinh", "cosh", "mish")

FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _unary(name) for name in _UNARY},
    "neg": lambda x: -x,
    "reciprocal": lambda x: x.recip(),
    "relu_": _unary("relu"),
    "add": _binary(lambda a, b: a + b),
    "sub": _binary(lambda a, b: a - b),
    "rsub": _binary(lambda a, b: b - a),
    "mul": _binary(lambda a, b: a * b),
    "multiply": _binary(lambda a, b: a * b),
    "div": _binary(lambda a, b: a / b),
    "truediv": _binary(lambda a, b: a / b),
    "pow": _binary(lambda a, b: a**b),
    "matmul": _binary(lambda a, b: a @ b),
    "mm": _binary(lambda a, b: a @ b),
    "bmm": _binary(lambda a, b: a @ b),
    "maximum": lambda a, b: a.maximum(b),
    "minimum": lambda a, b: a.minimum(b),
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "eq": lambda a, b: a.equal(b),
    "where": _where,
    "sum": _sum,
    "mean": _mean,
    "max": _extreme("max"),
    "min": _extreme("min"),
    "amax": lambda x, dim, keepdim=False: Tensor.max(x, dim, keepdim),
    "amin": lambda x, dim, keepdim=False: Tensor.min(x, dim, keepdim),
    "argmax": lambda x, dim=-1, keepdim=False: x.arg_max(x._axis(dim)),
    "prod": lambda x, dim=None, keepdim=False: Tensor.prod(x, dim, keepdim),
    "logsumexp": lambda x, dim, keepdim=False: x.log_sum_exp(_dims(dim), keepdim),
    "cumsum": lambda x, dim: x.cumsum(x._axis(dim)),
    "linear": _linear,
    "flatten": _flatten,
    "reshape": _reshape,
    "view": _reshape,
    "permute": _permute,
    "transpose": _transpose,
    "t": lambda x: _transpose(x, 0, 1) if x.ndim == 2 else x,
    "squeeze": lambda x, dim=None: x.squeeze(dim),
    "unsqueeze": lambda x, dim: x.expand_dims(dim),
    "expand": _expand,
    "cat": _cat,
    "concat": _cat,
    "concatenate": _cat,
    "stack": _stack,
    "chunk": _chunk,
    "split": _split,
    "unbind": lambda x, dim=0: tuple(x.slice(dim, i, 1).squeeze(dim) for i in range(x.shape[dim])),
    "getitem": lambda x, i: x[i],
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "gelu": _gelu,
    "elu": lambda x, alpha=1.0, inplace=False: x.elu(alpha),
    "celu": lambda x, alpha=1.0, inplace=False: x.celu(alpha),
    "selu": lambda x, inplace=False: x.selu(),
    "leaky_relu": lambda x, negative_slope=0.01, inplace=False: x.leaky_relu(negative_slope),
    "prelu": lambda x, w: x.prelu(w.reshape(-1, *([1] * (x.ndim - 2)))),
    "hardtanh": lambda x, min_val=-1.0, max_val=1.0, inplace=False: x.clip(float(min_val), float(max_val)),
    "relu6": lambda x, inplace=False: x.clip(0.0, 6.0),
    "hardsigmoid": lambda x, inplace=False: x.hard_sigmoid(),
    "hardswish": lambda x, inplace=False: x.hard_swish(),
    "softsign": lambda x: x.softsign(),
    "clamp": _clamp,
    "clip": _clamp,
    **dict.fromkeys(("conv1d", "conv2d", "conv3d"), _conv),
    **dict.fromkeys(("max_pool1d", "max_pool2d", "max_pool3d", "_max_pool1d", "_max_pool2d", "_max_pool3d"), _max_pool),
    **dict.fromkeys(("avg_pool1d", "avg_pool2d", "avg_pool3d"), _avg_pool),
    **dict.fromkeys(("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d"), _adaptive_avg_pool),
    "layer_norm": _layer_norm,
    "embedding": _embedding,
    **dict.fromkeys(("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_dropout"), _dropout),
    **dict.fromkeys(("contiguous", "detach", "clone", "requires_grad_", "cpu", "to", "type_as"), _dropout),
    "float": lambda x: x.to_float(),
    "double": lambda x: x.to_float(),
    "long": lambda x: x.to_int(),
    "int": lambda x: x.to_int(),
    "size": lambda x, dim=None: x.size(dim),
    "dim": lambda x: x.ndim,
    "numel": lambda x: math.prod(x.shape),
}
