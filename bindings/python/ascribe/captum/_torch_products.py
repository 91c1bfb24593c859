"""Torch's products of tensors, and rows of tables, which are products with rows of the unit matrix."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .._net_tensor import Tensor


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
}
