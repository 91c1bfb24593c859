"""Torch's functions and methods, by name, over tensors of a net."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from .._net_tensor import Tensor, Window, per_axis
from . import _torch_attention, _torch_norms, _torch_pools, _torch_products, _torch_shapes
from ._torch_shapes import move_axis


def _dims(dim: Any) -> Any:
    return tuple(dim) if isinstance(dim, (list, tuple)) else dim


def _sum(x: Tensor, dim: Any = None, keepdim: bool = False, **unused: Any) -> Tensor:
    return x.sum(_dims(dim), keepdim)


def _mean(x: Tensor, dim: Any = None, keepdim: bool = False, **unused: Any) -> Tensor:
    return x.mean(_dims(dim), keepdim)


class Pair(NamedTuple):
    """What torch gives of an axis: values, and where they were."""

    values: Tensor
    indices: Tensor


def _extreme(name: str) -> Callable[..., Any]:
    def call(x: Tensor, dim: Any = None, keepdim: bool = False, **unused: Any) -> Any:
        if isinstance(dim, Tensor):
            return x.maximum(dim) if name == "max" else x.minimum(dim)
        if dim is None:
            return getattr(x, name)()
        index = x.arg_max(x._axis(dim)) if name == "max" else x.arg_min(x._axis(dim))
        return Pair(getattr(x, name)(dim, keepdim), index.expand_dims(x._axis(dim)) if keepdim else index)

    return call


def _several(name: str) -> Callable[..., Tensor]:
    """amax and amin: along several axes."""

    def call(x: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
        axes = x._axes(_dims(dim) or None)
        for a in sorted(axes, reverse=True):
            x = getattr(x, name)(a, keepdim)
        return x

    return call


def _ranked(x: Tensor, k: int, dim: int, largest: bool) -> Pair:
    """The k largest or smallest of an axis, best first."""
    last = move_axis(x, dim, -1)
    index = last.top_k(k, largest)
    return Pair(move_axis(last.take_along(index, -1), -1, dim), move_axis(index, -1, dim))


def _sort(x: Tensor, dim: int = -1, descending: bool = False, **unused: Any) -> Pair:
    return _ranked(x, x.shape[dim], x._axis(dim), descending)


def _median(x: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
    if dim is None:
        return _median(x.reshape(-1), 0).values
    axis = x._axis(dim)
    at = (x.shape[axis] - 1) // 2  # torch takes the lower of two in the middle
    pair = Pair(*(t.slice(axis, at, 1) for t in _ranked(x, at + 1, axis, False)))
    return pair if keepdim else Pair(*(t.squeeze(axis) for t in pair))


def _arg(best: str) -> Callable[..., Tensor]:
    def call(x: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
        axis = 0 if dim is None else x._axis(dim)
        out: Tensor = getattr(x.reshape(-1) if dim is None else x, best)(axis)
        return out.expand_dims(axis) if keepdim else out

    return call


def _cumprod(x: Tensor, dim: int, **unused: Any) -> Tensor:
    parts = [x.slice(dim, 0, 1)]
    for i in range(1, x.shape[dim]):
        parts.append(parts[-1] * x.slice(dim, i, 1))
    return x._frame.concat(parts, dim)


def _any(all_of: bool) -> Callable[..., Tensor]:
    def call(x: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
        found = x.to_float().logical_not()
        n = found.sum(_dims(dim), keepdim)
        return n.equal(0.0) if all_of else n.less(float(math.prod(x.shape[a] for a in x._axes(_dims(dim)))))

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
    some = [t for t in tensors if tuple(t.shape) != (0,)]  # torch passes over these, whatever the axis
    return first._frame.concat(some or [first], dim if axis is None else axis)


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
    n = weight.ndim - 2
    if x.ndim == n + 1:  # without a batch
        return _conv(x.expand_dims(0), weight, bias, stride, padding, dilation, groups).squeeze(0)
    if padding == "same":
        wide = [(k - 1) * d for k, d in zip(weight.shape[2:], per_axis(dilation, n), strict=True)]
        before, after = tuple(w // 2 for w in wide), tuple(w - w // 2 for w in wide)
    else:
        before = after = per_axis(0 if padding == "valid" else padding, n)
    return x.conv(weight, bias, Window((), stride, dilation, before, after), groups)


def _clamp(x: Tensor, min: Any = None, max: Any = None) -> Tensor:  # noqa: A002 (torch's names)
    return x.clip(-math.inf if min is None else float(min), math.inf if max is None else float(max))


def _where(cond: Tensor, a: Any = None, b: Any = None) -> Tensor:
    if a is None:
        raise NotImplementedError("where with a condition alone: how many places it holds is not known before the numbers are")
    return cond.where(a, b)


def _number(v: Any) -> Any:
    """What arithmetic takes: whole numbers and truth values as floats."""
    if isinstance(v, Tensor):
        return v.to_float() if getattr(v, "whole", False) else v
    return float(v) if isinstance(v, (bool, int)) else v


def _binary(op: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def call(a: Any, b: Any, *, alpha: Any = 1, **unused: Any) -> Any:
        whole = [getattr(v, "whole", isinstance(v, int)) for v in (a, b)]
        out = op(_number(a), _number(b) if alpha == 1 else alpha * _number(b))
        if all(whole):  # whole numbers stay so: indices are made of them
            out = out.to_int()
            out.whole = True
        return out

    return call


def _div(a: Any, b: Any, *, rounding_mode: Any = None, **unused: Any) -> Any:
    out = _number(a) / _number(b)
    if rounding_mode == "floor":
        return out.floor()
    return out if rounding_mode is None else out.sign() * out.abs().floor()


def _compare(op: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    return lambda a, b, **unused: op(_number(a), _number(b))


def _unary(name: str) -> Callable[..., Any]:
    return lambda x, *unused, **more: getattr(_number(x), name)()


def _logical(name: str) -> Callable[..., Any]:
    return lambda a, b: getattr(_number(a), name)(_number(b))


def _masked_fill(x: Tensor, mask: Any, value: Any) -> Tensor:
    return mask.where(value, x)  # type: ignore[no-any-return]


def _softplus(x: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    scaled = x * beta if beta != 1 else x
    return scaled.less_equal(float(threshold)).where(scaled.softplus() * (1.0 / beta), x)


def _softshrink(x: Tensor, lambd: float = 0.5) -> Tensor:
    return (x - lambd).relu() - (-x - lambd).relu()


def _hardshrink(x: Tensor, lambd: float = 0.5) -> Tensor:
    return x.abs().less_equal(float(lambd)).where(0.0, x)


def _threshold(x: Tensor, threshold: float, value: float, *unused: Any) -> Tensor:
    return x.less_equal(float(threshold)).where(float(value), x)


def _glu(x: Tensor, dim: int = -1) -> Tensor:
    n = x.shape[dim] // 2
    return x.slice(dim, 0, n) * x.slice(dim, n, n).sigmoid()


def _rrelu(x: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, **unused: Any) -> Tensor:
    return x.leaky_relu((lower + upper) / 2)


def _cross_entropy(x: Tensor, target: Tensor, weight: Any = None, size_average: Any = None, ignore_index: int = -100,
                   reduce: Any = None, reduction: str = "mean", label_smoothing: float = 0.0) -> Tensor:
    if weight is not None or label_smoothing or not getattr(target, "whole", False):
        raise NotImplementedError("cross_entropy with weights, smoothed labels or probabilities as labels")
    loss = -x.log_softmax(1).take_along(target.expand_dims(1), 1).squeeze(1)
    return _reduced(loss, reduction)


def _reduced(loss: Tensor, reduction: str) -> Tensor:
    return loss if reduction == "none" else loss.sum() if reduction == "sum" else loss.mean()


def _mse(x: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean", **unused: Any) -> Tensor:
    return _reduced((x - target).square(), reduction)


def _to(x: Tensor, *given: Any, **named: Any) -> Tensor:
    """Another element type: floats to whole numbers are cut, anything else stays."""
    kinds = [str(k) for k in (*given, *named.values())]
    if any(k.startswith(("torch.int", "torch.long", "torch.uint")) for k in kinds):
        out = x.to_int()
        out.whole = True  # type: ignore[attr-defined]
        return out
    if any(k == "torch.bool" for k in kinds):
        out = _number(x).equal(0.0).logical_not()
        out.truth = True
        return out  # type: ignore[no-any-return]
    if any(k.startswith(("torch.float", "torch.double", "torch.half", "<class 'torch.")) for k in kinds):
        return _number(x)  # type: ignore[no-any-return]
    return x


def _logit(x: Tensor) -> Tensor:
    return (x / (1.0 - x)).log()


def _same(x: Tensor, *unused: Any, **more: Any) -> Tensor:
    return x


def _dropout(x: Tensor, p: float = 0.5, training: bool = False, *unused: Any, **more: Any) -> Tensor:
    """As in evaluation, whatever it was asked for (docs/captum.md)."""
    return x


def _expand(x: Tensor, *shape: Any) -> Tensor:
    sizes = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
    lead = len(sizes) - x.ndim
    full = [x.shape[i - lead] if s == -1 else s for i, s in enumerate(sizes)]
    return x.broadcast_to(full)


_UNARY = ("abs", "exp", "log", "sqrt", "rsqrt", "square", "sin", "cos", "tan", "tanh", "sigmoid", "relu", "silu", "erf",
          "floor", "ceil", "round", "sign", "expm1", "log1p", "atan", "asin", "acos", "sinh", "cosh",
          "asinh", "acosh", "atanh", "mish")

FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _unary(name) for name in _UNARY},
    "neg": lambda x: -x,
    "reciprocal": lambda x: x.recip(),
    "relu_": _unary("relu"),
    "add": _binary(lambda a, b: a + b),
    "sub": _binary(lambda a, b: a - b),
    "subtract": _binary(lambda a, b: a - b),
    "rsub": _binary(lambda a, b: b - a),
    "mul": _binary(lambda a, b: a * b),
    "multiply": _binary(lambda a, b: a * b),
    "div": _div,
    "divide": _div,
    "true_divide": _div,
    "floor_divide": _binary(lambda a, b: (a / b).floor()),
    "remainder": _binary(lambda a, b: a % b),
    "fmod": _binary(lambda a, b: a._call("mod", a._lift(b), True)),
    "pow": _binary(lambda a, b: a**b),
    "float_power": _binary(lambda a, b: a**b),
    "atan2": _binary(lambda a, b: a.atan2(b)),
    "hypot": lambda a, b: (a.square() + b.square()).sqrt(),
    "logaddexp": lambda a, b: a.maximum(b) + (-(a - b).abs()).softplus(),
    "lerp": lambda a, b, weight: a + (b - a) * weight,
    "log2": lambda x: x.log() * (1 / math.log(2)),
    "log10": lambda x: x.log() * (1 / math.log(10)),
    "exp2": lambda x: (x * math.log(2)).exp(),
    "logit": lambda x, eps=None: _logit(x if eps is None else x.clip(eps, 1 - eps)),
    "trunc": lambda x: x.sign() * x.abs().floor(),
    "frac": lambda x: x - x.sign() * x.abs().floor(),
    "erfc": lambda x: 1.0 - x.erf(),
    "nan_to_num": lambda x, nan=0.0, posinf=None, neginf=None: x.is_nan().where(0.0 if nan is None else float(nan), x),
    "log_sigmoid": lambda x: -(-x).softplus(),
    "logsigmoid": lambda x: -(-x).softplus(),
    "softmin": lambda x, dim=-1, **unused: (-x).softmax(dim),
    "tanhshrink": lambda x: x - x.tanh(),
    "softshrink": _softshrink,
    "hardshrink": _hardshrink,
    "threshold": _threshold,
    "_threshold": _threshold,
    "glu": _glu,
    "rrelu": _rrelu,
    "cross_entropy": _cross_entropy,
    "mse_loss": _mse,
    **dict.fromkeys(("maximum", "fmax"), _binary(lambda a, b: a.maximum(b))),
    **dict.fromkeys(("minimum", "fmin"), _binary(lambda a, b: a.minimum(b))),
    "gt": _compare(lambda a, b: a > b),
    "ge": _compare(lambda a, b: a >= b),
    "lt": _compare(lambda a, b: a < b),
    "le": _compare(lambda a, b: a <= b),
    "eq": _compare(lambda a, b: a.equal(b)),
    "ne": _compare(lambda a, b: a.equal(b).logical_not()),
    "logical_and": _logical("logical_and"),
    "logical_or": _logical("logical_or"),
    "logical_xor": _logical("logical_xor"),
    "logical_not": lambda x: _number(x).logical_not(),
    "bitwise_and": _logical("logical_and"),
    "bitwise_or": _logical("logical_or"),
    "bitwise_not": lambda x: _number(x).logical_not(),
    "isnan": lambda x: x.is_nan(),
    "isinf": lambda x: x.is_inf(),
    "isfinite": lambda x: (x - x).equal(0.0),
    "any": _any(False),
    "all": _any(True),
    "masked_fill": _masked_fill,
    "zero": lambda x: x._frame.full(x.shape, 0.0),
    "fill": lambda x, value: x._frame.full(x.shape, float(value)),
    "copy": lambda x, other, *unused: other.broadcast_to(x.shape),
    "where": _where,
    "sum": _sum,
    "mean": _mean,
    "max": _extreme("max"),
    "min": _extreme("min"),
    "amax": _several("max"),
    "amin": _several("min"),
    "argmax": _arg("arg_max"),
    "argmin": _arg("arg_min"),
    "topk": lambda x, k, dim=-1, largest=True, sorted=True: _ranked(x, k, x._axis(dim), largest),  # noqa: A006
    "sort": _sort,
    "argsort": lambda x, dim=-1, descending=False, **unused: _sort(x, dim, descending).indices,
    "median": _median,
    "cumprod": _cumprod,
    "prod": lambda x, dim=None, keepdim=False, **unused: x.prod(dim, keepdim),
    "logsumexp": lambda x, dim, keepdim=False: x.log_sum_exp(_dims(dim), keepdim),
    "cumsum": lambda x, dim, **unused: _number(x).cumsum(x._axis(dim)),
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
    "softplus": _softplus,
    "softsign": lambda x: x.softsign(),
    "clamp_min": lambda x, min: _clamp(x, min, None),  # noqa: A006
    "clamp_max": lambda x, max: _clamp(x, None, max),  # noqa: A006
    "clamp": _clamp,
    "clip": _clamp,
    **dict.fromkeys(("conv1d", "conv2d", "conv3d"), _conv),
    **dict.fromkeys(("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_dropout",
                     "feature_alpha_dropout"), _dropout),
    **dict.fromkeys(("contiguous", "detach", "clone", "requires_grad_", "cpu", "alias", "retain_grad"), _same),
    "to": _to,
    "type": _to,
    "type_as": lambda x, other: _to(x, other),
    **dict.fromkeys(("float", "double", "half", "bfloat16"), _number),
    **dict.fromkeys(("long", "int"), lambda x: _to(x, "torch.int64")),
    "bool": lambda x: _to(x, "torch.bool"),
    "size": lambda x, dim=None: x.shape if dim is None else x.shape[dim],
    "dim": lambda x: x.ndim,
    "is_floating_point": lambda x: not (getattr(x, "truth", False) or getattr(x, "whole", False)),
    "numel": lambda x: math.prod(x.shape),
}
for _part in (_torch_shapes, _torch_norms, _torch_pools, _torch_products, _torch_attention):
    FUNCTIONS.update(_part.FUNCTIONS)
