"""Tensors of a net that is being recorded: Python's operators and numpy's names over the library's ops.

A tensor has a shape and no numbers. It lives while the function that builds the net runs, and is refused after.
"""

from __future__ import annotations

import types
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ._net_ops import NUMBERS, Operand, TensorOps

if TYPE_CHECKING:
    from ._net_frame import Frame

Axes = int | Sequence[int] | None
Sizes = int | Sequence[int]


@dataclass(frozen=True)
class Window:
    """A window over the spatial axes, for convolutions and pools: one number per axis, or one for all."""

    kernel: Sizes = ()
    stride: Sizes = 1
    dilation: Sizes = 1
    before: Sizes = 0
    after: Sizes = 0
    ceil: bool = False

    def for_rank(self, n: int) -> tuple[Any, ...]:
        sides = (self.kernel, self.stride, self.dilation, self.before, self.after)
        return (*(per_axis(s, n) for s in sides), self.ceil)


def per_axis(value: Sizes, n: int) -> tuple[int, ...]:
    """One number for each of n axes."""
    out = (int(value),) * n if isinstance(value, int) else tuple(int(v) for v in value)
    if len(out) not in (0, n):
        raise ValueError(f"{len(out)} numbers for {n} axes: {out}")
    return out


def _comparable(value: object) -> bool:
    return isinstance(value, (Tensor, bool, int, float, np.ndarray, np.number))


class Tensor(TensorOps):
    """A value of a net: what goes into ops and comes out of them."""

    __slots__ = ("_frame", "_n", "_shape")
    __array_ufunc__ = None  # numpy leaves `array * tensor` to __rmul__

    def __init__(self, frame: Frame, number: int) -> None:
        self._frame = frame
        self._n = number
        self._shape: tuple[int, ...] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        if self._shape is None:
            self._shape = self._frame._x.shape(self._n)
        return self._shape

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def dim(self) -> int:
        return self.ndim

    def size(self, axis: int | None = None) -> Any:
        return self.shape if axis is None else self.shape[axis]

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"Tensor(shape={self.shape})"

    def __bool__(self) -> bool:
        raise TypeError("a tensor of a net has no number yet: use where(condition, a, b) instead of `if`")

    def __iter__(self) -> Any:
        return (self[i] for i in range(self.shape[0]))

    # ---- how ops are called

    @property
    def _number(self) -> int:
        return self._n

    def _lift(self, value: Operand) -> int:
        return self._frame._lift(value)

    def _op(self, op: int, *args: Any) -> Self:
        return type(self)(self._frame, self._frame._x.op(op, *args))

    def _call(self, name: str, *args: Any) -> Self:
        return self._op(NUMBERS[name], self._n, *args)

    def _axis(self, axis: int) -> int:
        if not -self.ndim <= axis < self.ndim:
            raise IndexError(f"axis {axis} of a tensor of shape {self.shape}")
        return axis % self.ndim

    def _axes(self, axis: Axes) -> tuple[int, ...]:
        if axis is None:
            return tuple(range(self.ndim))
        return (self._axis(axis),) if isinstance(axis, int) else tuple(self._axis(a) for a in axis)

    # ---- arithmetic

    def __add__(self, b: Operand) -> Self:
        if isinstance(b, (int, float)):
            return self.shift(float(b))
        return self._call("add", self._lift(b))

    def __sub__(self, b: Operand) -> Self:
        if isinstance(b, (int, float)):
            return self.shift(-float(b))
        return self._call("sub", self._lift(b))

    def __mul__(self, b: Operand) -> Self:
        if isinstance(b, (int, float)):
            return self.scale(float(b))
        return self._call("mul", self._lift(b))

    def __truediv__(self, b: Operand) -> Self:
        if isinstance(b, (int, float)) and b != 0:
            return self.scale(1.0 / b)
        return self._call("div", self._lift(b))

    def __pow__(self, b: Operand) -> Self:
        return self.square() if isinstance(b, (int, float)) and b == 2 else self._call("pow", self._lift(b))

    def __mod__(self, b: Operand) -> Self:
        return self._call("mod", self._lift(b), False)

    def __matmul__(self, b: Operand) -> Self:
        return self.matmul(b)

    def __radd__(self, a: Operand) -> Self:
        return self.__add__(a)

    def __rmul__(self, a: Operand) -> Self:
        return self.__mul__(a)

    def __rsub__(self, a: Operand) -> Self:
        return (-self).__add__(a)

    def __rtruediv__(self, a: Operand) -> Self:
        return self.recip().__mul__(a)

    def __rpow__(self, a: Operand) -> Self:
        return self._op(NUMBERS["pow"], self._lift(a), self._n)

    def __rmatmul__(self, a: Operand) -> Self:
        return self._op(NUMBERS["matmul"], self._lift(a), self._n, False, False)

    def __neg__(self) -> Self:
        return self._call("neg")

    def __abs__(self) -> Self:
        return self._call("abs")

    def __lt__(self, b: Operand) -> Self:
        return self.less(b)

    def __le__(self, b: Operand) -> Self:
        return self.less_equal(b)

    def __gt__(self, b: Operand) -> Self:
        return self._op(NUMBERS["less"], self._lift(b), self._n)

    def __ge__(self, b: Operand) -> Self:
        return self._op(NUMBERS["less_equal"], self._lift(b), self._n)

    def __eq__(self, b: object) -> Any:
        """1 where equal, as numpy has it; of what is no number, False."""
        return self.equal(b) if _comparable(b) else NotImplemented

    def __ne__(self, b: object) -> Any:
        return self.equal(b).logical_not() if _comparable(b) else NotImplemented

    __hash__ = object.__hash__

    def __and__(self, b: Operand) -> Self:
        return self.logical_and(b)

    def __or__(self, b: Operand) -> Self:
        return self.logical_or(b)

    def __xor__(self, b: Operand) -> Self:
        return self.logical_xor(b)

    def __rand__(self, a: Operand) -> Self:
        return self.logical_and(a)

    def __ror__(self, a: Operand) -> Self:
        return self.logical_or(a)

    def __invert__(self) -> Self:
        """1 where this is 0: comparisons are 1 and 0."""
        return self.logical_not()

    def __floordiv__(self, b: Operand) -> Self:
        return (self / b).floor()  # type: ignore[no-any-return]

    def abs(self) -> Self:
        return self._call("abs")

    def matmul(self, b: Operand, transpose_a: bool = False, transpose_b: bool = False) -> Self:
        """Product over the last two axes; leading axes broadcast."""
        return self._call("matmul", self._lift(b), transpose_a, transpose_b)

    def where(self, a: Operand, b: Operand) -> Self:
        """a where this is not 0, else b."""
        return self._call("where", self._lift(a), self._lift(b))

    # ---- reductions

    def sum(self, axis: Axes = None, keepdims: bool = False, *, dim: Axes = None) -> Self:
        return self._call("sum", self._axes(dim if axis is None else axis), keepdims)

    def mean(self, axis: Axes = None, keepdims: bool = False, *, dim: Axes = None) -> Self:
        return self._call("mean", self._axes(dim if axis is None else axis), keepdims)

    def log_sum_exp(self, axis: Axes = None, keepdims: bool = False) -> Self:
        return self._call("log_sum_exp", self._axes(axis), keepdims)

    def _one_axis(self, name: str, axis: int | None, keepdims: bool) -> Self:
        if axis is None:
            out = self.reshape(-1)._call(name, 0, False)
            return out.reshape((1,) * self.ndim) if keepdims else out
        return self._call(name, self._axis(axis), keepdims)

    def max(self, axis: int | None = None, keepdims: bool = False) -> Self:
        return self._one_axis("max", axis, keepdims)

    def min(self, axis: int | None = None, keepdims: bool = False) -> Self:
        return self._one_axis("min", axis, keepdims)

    def prod(self, axis: int | None = None, keepdims: bool = False) -> Self:
        return self._one_axis("prod", axis, keepdims)

    # ---- shapes

    def reshape(self, *shape: Any) -> Self:
        """The same elements in row-major order; one size may be -1."""
        sizes = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        return self._call("reshape", tuple(int(s) for s in sizes))

    view = reshape

    def flatten(self, start: int = 0) -> Self:
        """Joins the axes from `start` on."""
        return self.reshape(*self.shape[: self._axis(start)], -1)

    def transpose(self, *axes: int) -> Self:
        """Axes in this order; without arguments: reversed."""
        order = tuple(self._axis(a) for a in axes) if axes else tuple(reversed(range(self.ndim)))
        return self._call("transpose", order) if order != tuple(range(self.ndim)) else self

    permute = transpose

    @property
    def T(self) -> Self:
        return self.transpose()

    def swap_axes(self, a: int, b: int) -> Self:
        order = list(range(self.ndim))
        order[a], order[b] = order[b], order[a]
        return self._call("transpose", tuple(order))

    def broadcast_to(self, shape: Sequence[int]) -> Self:
        return self._call("broadcast", tuple(shape))

    def expand_dims(self, axis: int) -> Self:
        shape = list(self.shape)
        shape.insert(axis % (self.ndim + 1), 1)
        return self.reshape(shape)

    unsqueeze = expand_dims

    def squeeze(self, axis: int | None = None) -> Self:
        gone = None if axis is None else self._axis(axis)
        keep = [s for i, s in enumerate(self.shape) if s != 1 or (gone is not None and i != gone)]
        return self.reshape(keep)

    def slice(self, axis: int, start: int, length: int) -> Self:
        return self._call("slice", self._axis(axis), start, length)

    def __getitem__(self, index: Any) -> Self:
        """Numbers, slices of step 1, None and ..., as numpy's basic indexing."""
        items = list(index) if isinstance(index, tuple) else [index]
        n_axes = sum(1 for i in items if i is not None and i is not Ellipsis)
        if n_axes > self.ndim:
            raise IndexError(f"{n_axes} indices for a tensor of shape {self.shape}")
        if Ellipsis in [i for i in items if isinstance(i, types.EllipsisType)]:
            at = next(k for k, i in enumerate(items) if isinstance(i, types.EllipsisType))
            items[at : at + 1] = [slice(None)] * (self.ndim - n_axes)
        out, axis, shape = self, 0, []
        for i in items:
            if i is None:
                shape.append(1)
                continue
            size = self.shape[axis]
            if isinstance(i, (int, np.integer)):
                if not -size <= i < size:
                    raise IndexError(f"index {i} of axis {axis} with {size} elements")
                out = out.slice(axis, int(i) % size, 1)
            elif isinstance(i, slice):
                start, stop, step = i.indices(size)
                if step != 1:
                    raise IndexError("slices of a net's tensors have step 1: take parts and join them")
                if (start, stop) != (0, size):
                    out = out.slice(axis, start, max(0, stop - start))
                shape.append(max(0, stop - start))
            else:
                raise TypeError(f"a net's tensor is not indexed by {type(i).__name__}: use gather or take_along")
            axis += 1
        return out.reshape([*shape, *self.shape[axis:]]) if len(shape) != axis or None in items else out

    # ---- along an axis

    def _last(self, name: str, axis: int) -> Self:
        axis = self._axis(axis)
        if axis == self.ndim - 1:
            return self._call(name)
        return self.swap_axes(axis, self.ndim - 1)._call(name).swap_axes(axis, self.ndim - 1)

    def softmax(self, axis: int = -1) -> Self:
        return self._last("softmax", axis)

    def log_softmax(self, axis: int = -1) -> Self:
        return self._last("log_softmax", axis)

    def to_int(self) -> Self:
        """As whole numbers of 32 bits, cut towards 0."""
        return self._call("cast", 6)

    def to_float(self) -> Self:
        return self._call("cast", 0)

    float = to_float

    # ---- windows

    def conv(self, weight: Operand, bias: Operand = None, window: Window = Window(), groups: int = 1) -> Self:
        """Convolution of [B,C,spatial..] with weight [M,C/groups,kernel..]."""
        bias_number = None if bias is None else self._lift(bias)
        return self._call("conv", self._lift(weight), bias_number, window.for_rank(self.ndim - 2), groups)

    def max_pool(self, window: Window) -> Self:
        return self._call("max_pool", window.for_rank(self.ndim - 2))

    def avg_pool(self, window: Window, include_pad: bool = True) -> Self:
        return self._call("avg_pool", window.for_rank(self.ndim - 2), include_pad)
