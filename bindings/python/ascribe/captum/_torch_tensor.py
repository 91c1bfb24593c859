"""Tensors of a net that torch's functions take: torch's meaning of operators, methods and functions."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .._nearest import like_these
from .._net_frame import Frame
from .._net_tensor import Tensor
from ._torch_functions import FUNCTIONS
from ._torch_shapes import index, put

torch: Any = importlib.import_module("torch")

#: What gives another look at the same elements: what is changed in place afterwards changes both in torch.
VIEWS = frozenset(("view reshape flatten permute transpose swapaxes movedim squeeze unsqueeze expand narrow select getitem T mT "
                   "chunk split unbind unflatten diagonal view_as expand_as detach").split())
#: What moves elements about: truth values stay truth values, whole numbers whole.
MOVES = VIEWS | frozenset(("cat concat concatenate stack hstack vstack dstack repeat tile flip roll gather index_select "
                           "repeat_interleave clone contiguous").split())
TRUTHS = frozenset("eq ne gt ge lt le logical_and logical_or logical_xor logical_not isnan isinf isfinite bool any all "
                   "bitwise_and bitwise_or bitwise_not invert".split())
WHOLES = frozenset("argmax argmin argsort long int".split())


#: Operators by the name that torch's own tensors call them by, where one of them stands to the left.
_OPERATORS = {f"__{side}{op}__": f"logical_{op}" for op in ("and", "or", "xor") for side in ("", "r")}


def unknown(name: str) -> NotImplementedError:
    near = like_these(name, [n for n in FUNCTIONS if not n.startswith("_")], "")
    return NotImplementedError(
        f"torch's {name} is not known to ascribe{f' ({near.strip()})' if near else ''}: write that part of the model with "
        "functions that are (docs/captum.md lists them), the model with ascribe.nets, or export it to ONNX"
    )


class Plain(Tensor):
    """What the functions themselves work with: methods as the library has them."""

    __slots__ = ("truth", "whole")
    truth: bool  # comparisons and masks: 1 and 0
    whole: bool  # whole numbers of 32 bits


def _as(kind: Any, x: Tensor) -> Any:
    """The same value as a tensor of another class."""
    out = kind(x._frame, x._n)
    out._shape = x._shape
    out.truth, out.whole = getattr(x, "truth", False), getattr(x, "whole", False)
    return out


def plain(value: Any) -> Any:
    """Torch's tensors of a net among values as plain ones."""
    if isinstance(value, TorchTensor):
        return _as(Plain, value)
    if isinstance(value, (tuple, list)) and not isinstance(value, torch.Size):
        return type(value)(plain(v) for v in value) if not hasattr(value, "_fields") else value
    return value


def torchlike(value: Any) -> Any:
    """The other way."""
    if isinstance(value, Plain):
        return _as(TorchTensor, value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(torchlike(v) for v in value))
    if isinstance(value, (tuple, list)) and not isinstance(value, torch.Size):
        return type(value)(torchlike(v) for v in value)
    return value


@contextmanager
def plainly(frame: Frame) -> Iterator[None]:
    """Inside, the frame makes plain tensors."""
    old, frame._type = frame._type, Plain
    try:
        yield
    finally:
        frame._type = old


class TorchTensor(Tensor):
    """A tensor that torch's functions accept, with torch's meaning of methods that numpy has otherwise."""

    __slots__ = ("truth", "viewed", "whole")
    truth: bool
    whole: bool
    viewed: bool  # shares its elements with another

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = _OPERATORS.get(func.__name__, func.__name__)
        first = next(a for a in _flat((args, kwargs or {})) if isinstance(a, TorchTensor))
        return _run(name.strip("_") if name not in FUNCTIONS else name, first._frame, args, kwargs or {},
                    name.endswith("_") and not name.endswith("__"))

    def __getattr__(self, name: str) -> Any:
        if name in TorchTensor.__slots__:  # not set: asked for at every step
            raise AttributeError(name)
        plain = name if name in FUNCTIONS else name.strip("_")
        if plain not in FUNCTIONS or name.startswith("__"):
            raise AttributeError(str(unknown(name)))
        return lambda *args, **kwargs: _run(plain, self._frame, (self, *args), kwargs, name.endswith("_"))

    # ---- what Python's operators mean

    def __getitem__(self, at: Any) -> Any:
        return _run("getitem", self._frame, (self, at), {})

    def __setitem__(self, at: Any, value: Any) -> None:
        with plainly(self._frame):
            made = torchlike(put(plain(self), *take(self._frame, (at, value))))
        self._become(made, "putting values at places")

    def _become(self, other: Tensor, what: str) -> None:
        """In place: the name stands for another value from now on."""
        if getattr(self, "viewed", False):
            raise NotImplementedError(f"{what} in place, of a tensor that shares its elements with another: work on a copy")
        self._n, self._shape = other._n, None

    @property
    def T(self) -> Any:
        return _run("t", self._frame, (self,), {}) if self.ndim <= 2 else super().T

    @property
    def mT(self) -> Any:
        return self.swap_axes(self.ndim - 2, self.ndim - 1)

    @property
    def dtype(self) -> Any:
        if getattr(self, "truth", False):
            return torch.bool
        return torch.int64 if getattr(self, "whole", False) else torch.float32

    @property
    def device(self) -> Any:
        return torch.device("cpu")

    @property
    def data(self) -> Any:
        return self

    @property
    def size(self) -> Any:
        return lambda dim=None: torch.Size(self.shape) if dim is None else self.shape[dim]

    is_nested = is_cuda = is_sparse = is_quantized = is_complex = requires_grad = False
    layout = torch.strided

    def is_floating_point(self) -> bool:
        return bool(self.dtype.is_floating_point)

    def item(self) -> Any:
        raise NotImplementedError("item(), numpy() and tolist() of a tensor of the model: it has no numbers while the model is "
                                  "recorded, so that what follows must not depend on them")

    tolist = numpy = item


def _binary_operator(name: str, swapped: bool = False) -> Any:
    def call(self: TorchTensor, other: Any) -> Any:
        if other is None or isinstance(other, (str, slice)) or other is Ellipsis:
            return NotImplemented
        return _run(name, self._frame, (other, self) if swapped else (self, other), {})

    return call


for _dunder, _name in {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floor_divide", "mod": "remainder",
                       "pow": "pow", "matmul": "matmul", "and": "logical_and", "or": "logical_or", "xor": "logical_xor"}.items():
    setattr(TorchTensor, f"__{_dunder}__", _binary_operator(_name))
    setattr(TorchTensor, f"__r{_dunder}__", _binary_operator(_name, True))
for _dunder in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(TorchTensor, f"__{_dunder}__", _binary_operator(_dunder))
TorchTensor.__invert__ = lambda self: _run("logical_not", self._frame, (self,), {})  # type: ignore[method-assign]
TorchTensor.__hash__ = object.__hash__  # type: ignore[method-assign,assignment]


def _method(name: str) -> Any:
    return lambda self, *args, **kwargs: _run(name, self._frame, (self, *args), kwargs)


#: Methods that numpy's names would have otherwise: torch's meaning is in FUNCTIONS, which call those of Tensor.
for _name in FUNCTIONS:
    if hasattr(Tensor, _name) and _name not in ("size", "dim"):
        setattr(TorchTensor, _name, _method(_name))


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, (tuple, list)):
        for v in value:
            yield from _flat(v)
    elif isinstance(value, dict):
        for v in value.values():
            yield from _flat(v)
    else:
        yield value


def take(frame: Frame, value: Any) -> Any:
    """Torch tensors among arguments: weights by their name, others as constants."""
    if isinstance(value, torch.Tensor):
        name = getattr(frame, "names", {}).get(id(value))
        if name is not None:
            return frame.param(name)
        a = value.detach().cpu().numpy()
        kind = a.dtype.kind
        out: Any = frame.constant(a.astype(np.float32 if kind in "fb" else np.int32))
        if isinstance(out, Plain):
            out.truth, out.whole = kind == "b", kind in "iu"
        return out
    if isinstance(value, (tuple, list)) and not isinstance(value, torch.Size):
        return type(value)(take(frame, v) for v in value)
    return plain(value)


def _run(name: str, frame: Frame, args: Any, kwargs: Any, in_place: bool = False) -> Any:
    found = FUNCTIONS.get(name)
    if name == "getitem":
        found = index
    if found is None:
        raise unknown(name)
    with plainly(frame):
        given = take(frame, tuple(args))
        named = {k: take(frame, v) for k, v in kwargs.items() if k not in ("out", "inplace")}
        result = torchlike(found(*given, **named))
    if name in TRUTHS or name in WHOLES or name in MOVES:
        for r in _flat(result):
            if isinstance(r, TorchTensor):
                r.truth, r.whole = name in TRUTHS, name in WHOLES
                if name in MOVES:
                    _keep(args[0] if args else None, r, name in VIEWS)
    target = args[0] if in_place else kwargs.get("out")
    if isinstance(target, TorchTensor) and isinstance(result, Tensor):
        target._become(result, name)
        return target
    return result


def _keep(source: Any, moved: TorchTensor, view: bool) -> None:
    """What kind the elements are stays; a view looks at the same ones."""
    sources = [t for t in _flat(source) if isinstance(t, Tensor)]
    for kind in ("truth", "whole"):
        setattr(moved, kind, bool(sources) and all(getattr(t, kind, False) for t in sources))
    if view and isinstance(source, TorchTensor) and moved is not source:
        moved.viewed = source.viewed = True
