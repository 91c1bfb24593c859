"""Torch's norms, normalisations, pools, products and resizing."""

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


# ---- pools


def _along(x: Tensor, axis: int, matrix: Any) -> Tensor:
    """x with an axis of n numbers turned into one of m by a matrix [n, m]."""
    return move_axis(move_axis(x, axis, -1).matmul(x._frame.constant(np.ascontiguousarray(matrix))), -1, axis)


def _sizes(x: Tensor, output_size: Any) -> list[int]:
    n = x.ndim - 2
    given = (output_size,) * n if isinstance(output_size, int) else output_size
    return [s if o is None else int(o) for o, s in zip(given, x.shape[2:], strict=True)]


def adaptive_avg_pool(x: Tensor, output_size: Any) -> Tensor:
    sizes = _sizes(x, output_size)
    if all(s % o == 0 for o, s in zip(sizes, x.shape[2:], strict=True)):
        kernel = tuple(s // o for o, s in zip(sizes, x.shape[2:], strict=True))
        return x.avg_pool(Window(kernel, kernel))
    for k, o in enumerate(sizes):
        n = x.shape[2 + k]
        if n != o:  # windows of unequal sizes: a matrix of means
            x = _along(x, 2 + k, F.adaptive_avg_pool1d(torch.eye(n)[None], o)[0].numpy())
    return x


def adaptive_max_pool(x: Tensor, output_size: Any, return_indices: bool = False) -> Tensor:
    if return_indices:
        raise NotImplementedError("adaptive max pooling with return_indices")
    sizes = _sizes(x, output_size)
    if all(s % o == 0 for o, s in zip(sizes, x.shape[2:], strict=True)):
        kernel = tuple(s // o for o, s in zip(sizes, x.shape[2:], strict=True))
        return x.max_pool(Window(kernel, kernel))
    for k, o in enumerate(sizes):
        n, axis = x.shape[2 + k], 2 + k
        ends = [(i * n // o, -(-(i + 1) * n // o)) for i in range(o)]
        x = x._frame.concat([Tensor.max(x.slice(axis, a, b - a), axis, True) for a, b in ends], axis)
    return x


def max_pool(x: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
             ceil_mode: bool = False, return_indices: bool = False) -> Any:
    step = stride if stride not in (None, [], ()) else kernel_size
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
    s = per_axis(stride if stride not in (None, [], ()) else kernel_size, n)
    size = [(v - 1) * s[i] - 2 * p[i] + k[i] for i, v in enumerate(x.shape[2:])]
    size = size if output_size is None else list(output_size)[-n:]
    return x._call("pool_put", indices._n, tuple(size))


def avg_pool(x: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
             count_include_pad: bool = True, divisor_override: Any = None) -> Tensor:
    step = stride if stride not in (None, [], ()) else kernel_size
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


# ---- products


def einsum(equation: str, *operands: Any) -> Tensor:
    """Pairs of operands as matrix products, from the left."""
    given = list(operands[0]) if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else list(operands)
    left, _, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if "." in equation:
        raise NotImplementedError("einsum with '...': write the letters out")
    if any(len(set(t)) != len(t) for t in terms):
        raise NotImplementedError("einsum with a letter twice in one operand: use diagonal")
    if "->" not in equation:
        right = "".join(sorted(c for c in set(left) - {","} if left.count(c) == 1))
    letters, out = terms[0], given[0]
    for i, term in enumerate(terms[1:], 1):
        later = set(right).union(*terms[i + 1 :])
        letters, out = _pair(letters, out, term, given[i], later)
    gone = tuple(k for k, c in enumerate(letters) if c not in right)
    if gone:
        out = out.sum(gone)
        letters = "".join(c for c in letters if c in right)
    return Tensor.transpose(out, *(letters.index(c) for c in right)) if letters != right else out  # type: ignore[no-any-return]


def _pair(a: str, x: Tensor, b: str, y: Tensor, later: set[str]) -> tuple[str, Tensor]:
    for k in reversed(range(len(a))):  # what only one has and nobody wants
        if a[k] not in b and a[k] not in later:
            x, a = x.sum((k,)), a[:k] + a[k + 1 :]
    for k in reversed(range(len(b))):
        if b[k] not in a and b[k] not in later:
            y, b = y.sum((k,)), b[:k] + b[k + 1 :]
    both = [c for c in a if c in b and c in later]
    inner = [c for c in a if c in b and c not in later]
    rows, columns = [c for c in a if c not in b], [c for c in b if c not in a]
    x = Tensor.transpose(x, *(a.index(c) for c in both + rows + inner)) if a else x
    y = Tensor.transpose(y, *(b.index(c) for c in both + inner + columns)) if b else y
    nb, nr, nc = len(both), len(rows), len(columns)
    lead, r, c = list(x.shape[:nb]), list(x.shape[nb : nb + nr]), list(y.shape[y.ndim - nc :] if nc else [])
    k = math.prod(x.shape[nb + nr :])
    out = x.reshape([*lead, math.prod(r), k]).matmul(y.reshape([*lead, k, math.prod(c)]))
    return "".join(both + rows + columns), out.reshape([*lead, *r, *c])


def tensordot(a: Tensor, b: Tensor, dims: Any = 2, **unused: Any) -> Tensor:
    letters = "abcdefghijklmnopqrstuvwxyz"
    first, second = (list(range(a.ndim - dims, a.ndim)), list(range(dims))) if isinstance(dims, int) else dims
    x, y = list(letters[: a.ndim]), list(letters[a.ndim : a.ndim + b.ndim])
    for i, j in zip(first, second, strict=True):
        y[j] = x[i]
    out = [c for c in x if c not in y] + [c for c in y if c not in x]
    return einsum(f"{''.join(x)},{''.join(y)}->{''.join(out)}", a, b)


def bilinear(x1: Tensor, x2: Tensor, weight: Tensor, bias: Any = None) -> Tensor:
    lead = list(x1.shape[:-1])
    out = einsum("ni,oij,nj->no", x1.reshape([-1, x1.shape[-1]]), weight, x2.reshape([-1, x2.shape[-1]]))
    out = out.reshape([*lead, weight.shape[0]])
    return out if bias is None else out + bias


def _plus(out: Tensor, addend: Any, beta: Any, alpha: Any) -> Tensor:
    return (out if alpha == 1 else out * alpha) + (addend if beta == 1 else addend * beta)  # type: ignore[no-any-return]


def matmul(a: Tensor, b: Tensor) -> Tensor:
    x = a if a.ndim > 1 else a.expand_dims(0)
    y = b if b.ndim > 1 else b.expand_dims(1)
    out = x.matmul(y)
    keep = list(out.shape[:-2]) + ([out.shape[-2]] if a.ndim > 1 else []) + ([out.shape[-1]] if b.ndim > 1 else [])
    return out if a.ndim > 1 and b.ndim > 1 else out.reshape(keep)


def embedding_bag(ids: Tensor, weight: Tensor, offsets: Any = None, max_norm: Any = None, norm_type: float = 2,
                  scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
                  per_sample_weights: Any = None, include_last_offset: bool = False, padding_idx: Any = None) -> Tensor:
    if offsets is not None or ids.ndim != 2:
        raise NotImplementedError("embedding_bag with offsets, whose bags have different sizes: give ids [batch, n]")
    if padding_idx is not None and mode == "max":
        raise NotImplementedError("embedding_bag with padding_idx and mode='max'")
    rows = embedding(ids, weight, None, max_norm, norm_type)
    if mode == "max":
        return Tensor.max(rows, 1)
    n: Any = ids.shape[1]
    if padding_idx is not None:
        keep = ids.to_float().equal(float(padding_idx)).logical_not()
        rows = rows * keep.expand_dims(2)
        n = keep.sum((1,), True).maximum(1.0)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.expand_dims(2)
    return rows.sum((1,)) if mode == "sum" else rows.sum((1,)) / n


def embedding(ids: Tensor, weight: Tensor, padding_idx: Any = None, max_norm: Any = None, norm_type: float = 2.0,
              *unused: Any, **more: Any) -> Tensor:
    if max_norm is not None:
        raise NotImplementedError("an embedding with max_norm changes its weights as it runs: renormalise them once")
    return weight._call("gather", ids._n)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "_nested_tensor_from_mask_left_aligned": lambda *unused: False,  # the encoder then takes the way without nested tensors
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
    "addmm": lambda m, a, b, beta=1, alpha=1: _plus(a @ b, m, beta, alpha),
    "baddbmm": lambda m, a, b, beta=1, alpha=1: _plus(a @ b, m, beta, alpha),
    "addmv": lambda m, a, b, beta=1, alpha=1: _plus(matmul(a, b), m, beta, alpha),
    "addcmul": lambda x, a, b, value=1: x + a * b * value,
    "addcdiv": lambda x, a, b, value=1: x + a / b * value,
    **dict.fromkeys(("matmul", "mm", "bmm", "mv", "dot", "vdot"), matmul),
    **dict.fromkeys(("outer", "ger"), lambda a, b: a.expand_dims(1) * b.expand_dims(0)),
    "inner": lambda a, b: matmul(a, b if b.ndim < 2 else b.swap_axes(b.ndim - 2, b.ndim - 1)),
    "einsum": einsum,
    "tensordot": tensordot,
    "bilinear": bilinear,
    "embedding": embedding,
    "embedding_bag": embedding_bag,
    **dict.fromkeys(("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d"), adaptive_avg_pool),
    **dict.fromkeys(("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d"), adaptive_max_pool),
    **dict.fromkeys(("max_pool1d", "max_pool2d", "max_pool3d", "_max_pool1d", "_max_pool2d", "_max_pool3d"), max_pool),
    **dict.fromkeys((f"{a}max_pool{n}d_with_indices" for a in ("", "_") for n in (1, 2, 3)), max_pool_with_indices),
    **dict.fromkeys(("max_unpool1d", "max_unpool2d", "max_unpool3d"), max_unpool),
    **dict.fromkeys(("avg_pool1d", "avg_pool2d", "avg_pool3d"), avg_pool),
    **dict.fromkeys(("lp_pool1d", "lp_pool2d", "lp_pool3d"), lp_pool),
    **dict.fromkeys(("interpolate", "upsample", "upsample_nearest", "upsample_bilinear"), interpolate),
}
