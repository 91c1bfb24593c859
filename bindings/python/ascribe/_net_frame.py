"""One run of a net that is being recorded: weights, layers and names of inner values.

Layers take their weights by name, as PyTorch has them (NAME.weight, NAME.bias), and name their value: NAME is then a
site that can be read and attributed to, NAME.in what goes in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ._net_ops import NUMBERS, Operand
from ._net_tensor import Sizes, Tensor, per_axis


class Frame:
    """What the function that builds a net gets first."""

    def __init__(self, x: Any) -> None:
        self._x = x
        self._prefix = ""
        self._type = Tensor  # of the values it makes
        self.kinds: dict[int, str] = {}  # element types of inputs, by the numbers of their tensors

    def _tensor(self, number: int) -> Tensor:
        return self._type(self, number)

    def _lift(self, value: Operand) -> int:
        """The number of a tensor, which a number or an array is made into."""
        if isinstance(value, Tensor):
            if value._frame._x is not self._x:
                raise ValueError("this tensor is of another run of a net")
            return value._n
        if isinstance(value, (bool, int, float)):
            return int(self._x.op(NUMBERS["full"], (), float(value)))
        return int(self._x.constant(np.ascontiguousarray(value)))

    # ---- values

    def constant(self, value: Any) -> Tensor:
        """A tensor of given numbers."""
        return self._tensor(self._lift(value if isinstance(value, (int, float)) else np.asarray(value)))

    def full(self, shape: Sequence[int], value: float) -> Tensor:
        return self._tensor(self._x.op(NUMBERS["full"], tuple(shape), float(value)))

    def arange(self, n: int, start: float = 0.0, step: float = 1.0) -> Tensor:
        return self._tensor(self._x.op(NUMBERS["iota"], n, float(start), float(step)))

    def concat(self, tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
        """Tensors one after another along an axis."""
        parts = [self._lift(t) for t in tensors]
        axis = tensors[0]._axis(axis)
        while len(parts) > 1:  # the op takes 8
            parts = [self._x.op(NUMBERS["concat"], parts[:8], axis), *parts[8:]]
        return self._tensor(parts[0])

    def stack(self, tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
        """Tensors of one shape along a new axis."""
        return self.concat([t.expand_dims(axis) for t in tensors], axis % (tensors[0].ndim + 1))

    # ---- names

    @contextmanager
    def scope(self, name: str) -> Iterator[None]:
        """Inside, names of weights and sites begin with NAME and a dot: a module within a module."""
        old = self._prefix
        self._prefix = f"{old}{name}."
        try:
            yield
        finally:
            self._prefix = old

    def param(self, name: str) -> Tensor:
        """The weight of that name."""
        return self._tensor(self._x.param(self._prefix + name))

    def has_param(self, name: str) -> bool:
        return bool(self._x.has_param(self._prefix + name))

    def site(self, name: str, value: Any) -> Any:
        """Names a value; go on with what this returns. A tuple's values are NAME.0, NAME.1, ..."""
        if isinstance(value, (tuple, list)):
            return tuple(self.site(f"{name}.{i}", v) for i, v in enumerate(value))
        return self._tensor(self._x.site(self._prefix + name, self._lift(value)))

    def identity(self, name: str, value: Any) -> Any:
        """A module that passes its value on (dropout outside training): sites NAME.in and NAME."""
        return self.site(name, self.site(f"{name}.in", value))

    # ---- layers

    def _layer(self, kind: str, name: str, x: Tensor, *numbers: float) -> Tensor:
        return self._tensor(self._x.layer(kind, self._prefix + name, self._lift(x), *numbers))

    def linear(self, name: str, x: Tensor) -> Tensor:
        """x weight^T + bias; weight [N,K], bias [N] or none."""
        return self._layer("linear", name, x)

    def embedding(self, name: str, ids: Tensor) -> Tensor:
        """Rows of weight [V,D]."""
        return self._layer("embedding", name, ids)

    def batch_norm(self, name: str, x: Tensor, eps: float = 1e-5) -> Tensor:
        """As outside training: weight, bias, running_mean, running_var, each [C]."""
        return self._layer("batch_norm", name, x, eps)

    def layer_norm(self, name: str, x: Tensor, eps: float = 1e-5) -> Tensor:
        """Over the last axis."""
        return self._layer("layer_norm", name, x, eps)

    def group_norm(self, name: str, x: Tensor, groups: int, eps: float = 1e-5) -> Tensor:
        return self._layer("group_norm", name, x, float(groups), eps)

    def lstm(self, name: str, x: Tensor) -> Tensor:
        """[B,T,I] -> [B,T,H]; weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0."""
        return self._layer("lstm", name, x)

    def gru(self, name: str, x: Tensor) -> Tensor:
        return self._layer("gru", name, x)

    def rnn(self, name: str, x: Tensor) -> Tensor:
        return self._layer("rnn", name, x)

    def softmax(self, name: str, x: Tensor) -> Tensor:
        """Over the last axis."""
        return self._layer("softmax", name, x)

    def relu(self, name: str, x: Tensor) -> Tensor:
        return self._layer("relu", name, x)

    def activation(self, name: str, x: Tensor, kind: str) -> Tensor:
        """relu, sigmoid, tanh, softplus, elu, leaky_relu, gelu or silu, by name."""
        return self._layer(kind, name, x)

    def conv(
        self, name: str, x: Tensor, stride: Sizes = 1, padding: Sizes = 0, dilation: Sizes = 1, groups: int = 1
    ) -> Tensor:
        """[B,C,spatial..] by weight [O,C/groups,kernel..], bias [O] or none."""
        n = x.ndim - 2
        sides = (per_axis(stride, n), per_axis(padding, n), per_axis(dilation, n))
        return self._tensor(self._x.conv(self._prefix + name, self._lift(x), *sides, groups, (), False))

    def conv_transpose(
        self,
        name: str,
        x: Tensor,
        stride: Sizes = 1,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        output_padding: Sizes = 0,
    ) -> Tensor:
        """Weight [C,O/groups,kernel..]."""
        n = x.ndim - 2
        sides = (per_axis(stride, n), per_axis(padding, n), per_axis(dilation, n))
        more = per_axis(output_padding, n)
        return self._tensor(self._x.conv(self._prefix + name, self._lift(x), *sides, groups, more, True))

    def _pool(self, average: bool, name: str, x: Tensor, kernel: Sizes, stride: Sizes | None, pad: Sizes) -> Tensor:
        n = x.ndim - 2
        size = per_axis(kernel, n)
        step = size if stride is None else per_axis(stride, n)
        number = self._x.pool(self._prefix + name, self._lift(x), average, size, step, per_axis(pad, n))
        return self._tensor(number)

    def max_pool(
        self, name: str, x: Tensor, kernel: Sizes, stride: Sizes | None = None, padding: Sizes = 0
    ) -> Tensor:
        return self._pool(False, name, x, kernel, stride, padding)

    def avg_pool(
        self, name: str, x: Tensor, kernel: Sizes, stride: Sizes | None = None, padding: Sizes = 0
    ) -> Tensor:
        return self._pool(True, name, x, kernel, stride, padding)
