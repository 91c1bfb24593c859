"""Torch's functions that move elements: choosing, joining, repeating, padding, unfolding."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._net_ops import NUMBERS
from .._net_tensor import Tensor, Window, per_axis

torch: Any = importlib.import_module("torch")


def numbers(x: Tensor, value: Any) -> Tensor:
    """A constant of whole numbers, as indices are."""
    return x._frame.constant(np.asarray(value, np.int32))


def move_axis(x: Tensor, source: int, target: int) -> Tensor:
    order = [i for i in range(x.ndim) if i != source % x.ndim]
    order.insert(target % x.ndim, source % x.ndim)
    return Tensor.transpose(x, *order)


def pick(x: Tensor, dim: int, index: Any) -> Tensor:
    """Elements of an axis by their places: a list, or a tensor of whole numbers."""
    dim = x._axis(dim)
    index = index if isinstance(index, Tensor) else numbers(x, [int(i) % max(1, x.shape[dim]) for i in index])
    return _behind(move_axis(x, dim, 0)._call("gather", index._n), index.ndim, dim)


def _behind(x: Tensor, n: int, dim: int) -> Tensor:
    """The first n axes, behind the dim that follow them."""
    order = [*range(n, n + dim), *range(n), *range(n + dim, x.ndim)]
    return Tensor.transpose(x, *order)


def flip(x: Tensor, *dims: Any) -> Tensor:
    for d in dims[0] if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims:
        x = pick(x, d, range(x.shape[d] - 1, -1, -1))
    return x


def roll(x: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    if dims is None:
        return roll(x.reshape(-1), shifts, 0).reshape(x.shape)
    each = zip((shifts,) if isinstance(shifts, int) else shifts, (dims,) if isinstance(dims, int) else dims, strict=True)
    for s, d in each:
        n = x.shape[d]
        x = pick(x, d, [(i - s) % n for i in range(n)])
    return x


def repeat(x: Tensor, *sizes: Any) -> Tensor:
    times = list(sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes)
    x = x.reshape([1] * (len(times) - x.ndim) + list(x.shape))
    for d, n in enumerate(times):
        x = x if n == 1 else x._frame.concat([x] * n, d)
    return x


def tile(x: Tensor, *sizes: Any) -> Tensor:
    times = list(sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes)
    return repeat(x, [1] * (x.ndim - len(times)) + times)


def repeat_interleave(x: Tensor, repeats: int, dim: int | None = None, **unused: Any) -> Tensor:
    if not isinstance(repeats, int):
        raise NotImplementedError("repeat_interleave by a number for each element")
    if dim is None:
        x, dim = x.reshape(-1), 0
    return pick(x, dim, [i for i in range(x.shape[dim]) for _ in range(repeats)])


def gather(x: Tensor, dim: int, index: Tensor, **unused: Any) -> Tensor:
    dim = x._axis(dim)
    for d in range(x.ndim):
        if d != dim and index.shape[d] != x.shape[d]:
            x = x.slice(d, 0, index.shape[d])
    if getattr(x, "whole", False):
        out = x.to_float().take_along(index, dim).to_int()
        out.whole = True  # type: ignore[attr-defined]
        return out
    return x.take_along(index, dim)


def unfold_axis(x: Tensor, dimension: int, size: int, step: int) -> Tensor:
    dim = x._axis(dimension)
    starts = range(0, x.shape[dim] - size + 1, step)
    parts = [move_axis(x.slice(dim, s, size), dim, -1).expand_dims(dim) for s in starts]
    return x._frame.concat(parts, dim)


def movedim(x: Tensor, source: Any, destination: Any) -> Tensor:
    if isinstance(source, int):
        return move_axis(x, source, destination)
    order: list[Any] = [None] * x.ndim
    for s, d in zip(source, destination, strict=True):
        order[d % x.ndim] = s % x.ndim
    rest = iter(i for i in range(x.ndim) if i not in order)
    return Tensor.transpose(x, *(next(rest) if o is None else o for o in order))


def unflatten(x: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    dim = x._axis(dim)
    new = list(sizes)
    if -1 in new:
        new[new.index(-1)] = x.shape[dim] // -math.prod(new)
    return x.reshape([*x.shape[:dim], *new, *x.shape[dim + 1 :]])


def index(x: Tensor, at: Any) -> Tensor:
    """Indexing with one list, array or tensor of places, or with slices that have steps, beside basic indices."""
    items = list(at) if isinstance(at, tuple) else [at]
    n_axes = sum(1 for i in items if i is not None and i is not Ellipsis)
    where = [k for k, i in enumerate(items) if i is Ellipsis]
    if where:
        items[where[0] : where[0] + 1] = [slice(None)] * (x.ndim - n_axes)
    places = [k for k, i in enumerate(items) if isinstance(i, (list, np.ndarray, Tensor)) or _stepped(i)]
    if not places:
        return Tensor.__getitem__(x, at)
    lists = [k for k in places if not isinstance(items[k], slice)]
    if len(lists) > 1:
        if lists[-1] - lists[0] >= len(lists) or any(i is None for i in items):
            raise NotImplementedError("indexing with several lists or tensors that do not stand side by side")
        x, items[lists[0] : lists[-1] + 1] = _one_axis(x, lists[0], [items[k] for k in lists])
    elif any(i is None for i in items):
        raise NotImplementedError("indexing with a list or a tensor and None")
    axis = 0
    rest: list[Any] = []
    for i in items:
        if _stepped(i):
            x = pick(x, axis, range(*i.indices(x.shape[axis])))
            i = slice(None)
        elif isinstance(i, (list, np.ndarray)):
            a = np.asarray(i)
            x = pick(x, axis, np.flatnonzero(a) if a.dtype == bool else a)
            i = slice(None)
        elif isinstance(i, Tensor):
            n = i.ndim
            x = pick(x, axis, i)
            rest += [slice(None)] * (n - 1)
            axis += n - 1
            i = slice(None)
            if n == 0:
                continue
        rest.append(i)
        axis += 1
    return Tensor.__getitem__(x, tuple(rest)) if any(r != slice(None) for r in rest) else x


def _one_axis(x: Tensor, axis: int, at: Sequence[Any]) -> tuple[Tensor, list[Any]]:
    """Axes that are indexed together as one axis, and the places in it."""
    sizes = x.shape[axis : axis + len(at)]
    if math.prod(sizes) > 1 << 24:  # places are counted in f32
        raise NotImplementedError(f"indexing {math.prod(sizes)} elements with several lists or tensors at once")
    place: Any = None
    for n, i in zip(sizes, at, strict=True):
        if isinstance(i, Tensor):
            if getattr(i, "truth", False):
                raise NotImplementedError("indexing with several truth tables at once: how many places they name is not known")
            i = (i.to_float() + n * (i.to_float() < 0.0)) if n > 0 else i.to_float()
        else:
            a = np.asarray(i)
            i = np.flatnonzero(a) if a.dtype == bool else a % max(1, n)
            i = x._frame.constant(i.astype(np.float32))
        place = i if place is None else place * n + i
    merged = x.reshape([*x.shape[:axis], math.prod(sizes), *x.shape[axis + len(at) :]])
    return merged, [place.to_int()]


def _stepped(i: Any) -> bool:
    return isinstance(i, slice) and i.step not in (None, 1)


def triangle(upper: bool) -> Callable[..., Tensor]:
    def call(x: Tensor, diagonal: int = 0) -> Tensor:
        ones = np.ones(x.shape[-2:], np.float32)
        keep = np.triu(ones, diagonal) if upper else np.tril(ones, diagonal)
        return x._frame.constant(keep).where(x, 0.0)

    return call


def diagonal(x: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    a, b = x._axis(dim1), x._axis(dim2)
    x = movedim(x, (a, b), (-2, -1))
    n, m = x.shape[-2:]
    at = [i * m + i + offset for i in range(n) if 0 <= i + offset < m]
    return pick(x.reshape([*x.shape[:-2], n * m]), -1, at)


def one_hot(x: Tensor, num_classes: int = -1) -> Tensor:
    if num_classes < 1:
        raise NotImplementedError("one_hot without num_classes: how many there are is not known before the numbers are")
    classes = x._frame.arange(num_classes)
    return x.to_float().expand_dims(-1).equal(classes)


def filled(value: float | None) -> Callable[..., Tensor]:
    """zeros_like, ones_like, full_like."""
    return lambda x, *given, **unused: x._frame.full(x.shape, given[0] if value is None else value)


def new_filled(value: float | None) -> Callable[..., Tensor]:
    def call(x: Tensor, *size: Any, **unused: Any) -> Tensor:
        fill = value
        if fill is None:
            *size, fill = size  # type: ignore[assignment]
        sizes = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
        return x._frame.full(tuple(sizes), fill)

    return call


def join(axis: Callable[[Tensor], int], at_least: int) -> Callable[..., Tensor]:
    """hstack, vstack, dstack."""

    def call(tensors: Sequence[Tensor]) -> Tensor:
        first = next(t for t in tensors if isinstance(t, Tensor))
        full = [t if t.ndim >= at_least else t.reshape([1] * (at_least - t.ndim) + list(t.shape)) for t in tensors]
        return first._frame.concat(full, axis(full[0]))

    return call


def tensor_split(x: Tensor, parts: Any, dim: int = 0) -> tuple[Tensor, ...]:
    n = x.shape[dim]
    if isinstance(parts, int):
        sizes = [n // parts + (1 if i < n % parts else 0) for i in range(parts)]
        ends = np.cumsum(sizes).tolist()
    else:
        ends = [*parts, n]
    return tuple(x.slice(dim, a, b - a) for a, b in zip([0, *ends[:-1]], ends, strict=True))


def pad(x: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:  # noqa: A002
    sides = [(x.ndim - 1 - k, pad[2 * k], pad[2 * k + 1]) for k in range(len(pad) // 2)]
    for dim, before, after in sides:
        n = x.shape[dim]
        if mode == "constant":
            if before < 0 or after < 0:
                x = x.slice(dim, max(0, -before), n + min(0, before) + min(0, after))
            before, after = max(0, before), max(0, after)
            if not before and not after:
                continue
            if value:
                around = [*x.shape[:dim]], [*x.shape[dim + 1 :]]
                ends = [x._frame.full((*around[0], k, *around[1]), float(value)) for k in (before, after)]
                parts = [p for p in (ends[0], x, ends[1]) if p.shape[dim] > 0]
                x = x._frame.concat(parts, dim)
            else:
                x = x._call("pad", dim, before, after)
        else:
            row = np.pad(np.arange(n), (before, after), mode={"reflect": "reflect", "replicate": "edge",
                                                             "circular": "wrap"}[mode])  # type: ignore[call-overload]
            x = pick(x, dim, row)
    return x


def pixel_shuffle(x: Tensor, upscale_factor: int) -> Tensor:
    r, (c, h, w) = upscale_factor, x.shape[-3:]
    lead, n = list(x.shape[:-3]), x.ndim - 3
    y = x.reshape([*lead, c // (r * r), r, r, h, w])
    y = Tensor.transpose(y, *range(n), n, n + 3, n + 1, n + 4, n + 2)
    return y.reshape([*lead, c // (r * r), h * r, w * r])


def pixel_unshuffle(x: Tensor, downscale_factor: int) -> Tensor:
    r, (c, h, w) = downscale_factor, x.shape[-3:]
    lead, n = list(x.shape[:-3]), x.ndim - 3
    y = x.reshape([*lead, c, h // r, r, w // r, r])
    y = Tensor.transpose(y, *range(n), n, n + 2, n + 4, n + 1, n + 3)
    return y.reshape([*lead, c * r * r, h // r, w // r])


def channel_shuffle(x: Tensor, groups: int) -> Tensor:
    b, c, *rest = x.shape
    return x.reshape([b, groups, c // groups, *rest]).swap_axes(1, 2).reshape([b, c, *rest])


def unfold(x: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """Windows as columns: a convolution with kernels that are 1 in one place."""
    c, k = x.shape[1], per_axis(kernel_size, 2)
    eye = np.tile(np.eye(k[0] * k[1], dtype=np.float32).reshape(-1, 1, *k), (c, 1, 1, 1))
    p = per_axis(padding, 2)
    y = x.conv(x._frame.constant(eye), None, Window((), stride, dilation, p, p), c)
    return y.reshape([x.shape[0], c * k[0] * k[1], -1])


def fold(x: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    k, out, step, grow = (per_axis(v, 2) for v in (kernel_size, output_size, stride, dilation))
    p = per_axis(padding, 2)
    c = x.shape[1] // (k[0] * k[1])
    rows = [(o + 2 * q - d * (n - 1) - 1) // s + 1 for o, q, d, n, s in zip(out, p, grow, k, step, strict=True)]
    eye = np.tile(np.eye(k[0] * k[1], dtype=np.float32).reshape(-1, 1, *k), (c, 1, 1, 1))
    g = x.reshape([x.shape[0], x.shape[1], *rows])
    window = Window((), step, grow, p, p).for_rank(2)
    return g._call("conv_grad_input", g._lift(eye), window, c, out)


def conv_transpose(x: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0,
                   output_padding: Any = 0, groups: int = 1, dilation: Any = 1) -> Tensor:
    n = x.ndim - 2
    s, p, more, d = (per_axis(v, n) for v in (stride, padding, output_padding, dilation))
    size = [(i - 1) * s[k] - 2 * p[k] + d[k] * (weight.shape[2 + k] - 1) + more[k] + 1
            for k, i in enumerate(x.shape[2:])]
    window = Window((), s, d, p, p).for_rank(n)
    out = x._op(NUMBERS["conv_grad_input"], x._n, x._lift(weight), window, groups, tuple(size))
    return out if bias is None else out + bias.reshape([1, -1, *[1] * n])


def put(x: Tensor, at: Any, value: Any) -> Tensor:
    """x with other values at basic indices."""
    items = list(at) if isinstance(at, tuple) else [at]
    if len(items) == 1 and isinstance(items[0], Tensor) and items[0].shape == x.shape:
        return items[0].where(value, x)  # a mask
    if any(isinstance(i, (Tensor, list, np.ndarray)) or i is None for i in items):
        raise NotImplementedError("values put at places that a list or tensor names")
    mask = np.zeros(x.shape, np.float32)
    mask[tuple(items)] = 1
    if not isinstance(value, Tensor):
        return x._frame.constant(mask).where(value, x)
    spots = np.argwhere(mask)
    if len(spots) == 0:
        return x
    low, high = spots.min(0), spots.max(0) + 1
    if (high - low).prod() != len(spots):
        raise NotImplementedError("a tensor put at places with steps between them")
    part = value.broadcast_to(mask[tuple(items)].shape).reshape((high - low).tolist())
    for d, n in enumerate(x.shape):
        if high[d] - low[d] < n:
            part = part._call("pad", d, int(low[d]), int(n - high[d]))
    return x._frame.constant(mask).where(part, x)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "flip": flip,
    "fliplr": lambda x: flip(x, 1),
    "flipud": lambda x: flip(x, 0),
    "roll": roll,
    "repeat": repeat,
    "tile": tile,
    "repeat_interleave": repeat_interleave,
    "gather": gather,
    "take_along_dim": lambda x, indices, dim: gather(x, dim, indices),
    "index_select": pick,
    "narrow": lambda x, dim, start, length: x.slice(dim, int(start), length),
    "select": lambda x, dim, index: x.slice(dim, index % x.shape[dim], 1).squeeze(dim),
    "unfold": lambda x, *a, **k: (unfold_axis if len(a) == 3 and x.ndim != 4 or "dimension" in k else unfold)(x, *a, **k),
    "movedim": movedim,
    "moveaxis": movedim,
    "swapaxes": lambda x, a, b: x.swap_axes(a % x.ndim, b % x.ndim),
    "swapdims": lambda x, a, b: x.swap_axes(a % x.ndim, b % x.ndim),
    "adjoint": lambda x: x.swap_axes(x.ndim - 2, x.ndim - 1),
    "view_as": lambda x, other: x.reshape(other.shape),
    "reshape_as": lambda x, other: x.reshape(other.shape),
    "expand_as": lambda x, other: x.broadcast_to(other.shape),
    "broadcast_to": lambda x, size: x.broadcast_to([x.shape[i - len(size)] if s == -1 else s for i, s in enumerate(size)]),
    "unflatten": unflatten,
    "ravel": lambda x: x.reshape(-1),
    "tril": triangle(False),
    "triu": triangle(True),
    "diagonal": diagonal,
    "one_hot": one_hot,
    "zeros_like": filled(0.0),
    "ones_like": filled(1.0),
    "full_like": filled(None),
    "new_zeros": new_filled(0.0),
    "new_ones": new_filled(1.0),
    "new_full": lambda x, size, value, **unused: x._frame.full(tuple(size), float(value)),
    "new_tensor": lambda x, data, **unused: x._frame.constant(np.asarray(data)),
    "hstack": join(lambda t: 0 if t.ndim == 1 else 1, 1),
    "vstack": join(lambda t: 0, 2),
    "row_stack": join(lambda t: 0, 2),
    "tensor_split": tensor_split,
    "pad": pad,
    "pixel_shuffle": pixel_shuffle,
    "pixel_unshuffle": pixel_unshuffle,
    "native_channel_shuffle": channel_shuffle,
    "channel_shuffle": channel_shuffle,
    "fold": fold,
    **dict.fromkeys(("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), conv_transpose),
}
