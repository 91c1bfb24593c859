"""Nets written in Python.

    def forward(f, x):
        return f.linear("out", f.relu("relu", f.linear("hidden", x)))

    net = ascribe.nets.build({"x": (None, 3)}, forward, {"hidden.weight": w1, ...})

The function is recorded once for each shape it meets, by the library, which then runs and differentiates what was
recorded: no Python runs in between. Its own exceptions come out as they are.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _ascribe
from ._net import Net
from ._net_frame import Frame
from ._net_tensor import Tensor, Window

__all__ = ["Frame", "NetFunction", "Tensor", "Window", "build"]

Forward = Callable[..., Any]
Shape = Sequence[int | None]
Params = Mapping[str, Any]


_local = threading.local()


def _context() -> Any:
    """One context for the nets of a thread: they share nothing with those of others."""
    found = getattr(_local, "context", None)
    if found is None:
        found = _local.context = _ascribe.Context()
    return found


def _array(value: Any) -> npt.NDArray[Any]:
    if hasattr(value, "detach"):  # torch
        value = value.detach().cpu().numpy()
    return np.ascontiguousarray(value)


def build(
    inputs: Mapping[str, Any],
    forward: Forward,
    params: Params | None = None,
    *,
    outputs: Sequence[str] = ("output",),
    batch: bool | Sequence[str] = True,
    context: Any = None,
) -> Net:
    """Records `forward(frame, *inputs)` -> value or tuple of values, as a Net. (Also Net.build.)

    inputs: name -> shape, or (shape, dtype); None and -1 are free sizes. batch: whether first sizes count examples
    (or the names of the inputs where they do). params: name -> array, copied.
    """
    ports = tuple(_port(name, spec, batch) for name, spec in inputs.items())
    weights = {name: _array(w) for name, w in (params or {}).items()}

    def record(x: Any, *numbers: int) -> tuple[int, ...]:
        frame = Frame(x)
        result = forward(frame, *(frame._tensor(n) for n in numbers))
        values = result if isinstance(result, (tuple, list)) else (result,)
        return tuple(frame._lift(v) for v in values)

    made = _ascribe.net_build(context or _context(), ports, tuple(outputs), record, weights)
    return Net(made, getattr(forward, "__name__", ""))


def _port(name: str, spec: Any, batch: bool | Sequence[str]) -> tuple[str, str, tuple[int, ...], bool]:
    shape, dtype = spec, "float32"
    if isinstance(spec, tuple) and len(spec) == 2 and isinstance(spec[0], (tuple, list)):
        shape, dtype = spec[0], np.dtype(spec[1]).name
    sizes = tuple(-1 if s is None else int(s) for s in shape)
    counts = (batch if isinstance(batch, bool) else name in batch) and len(sizes) > 0
    return name, dtype, sizes, counts


@dataclass
class _Signature:
    """What a call's arguments make of a function: which are tensors, and the rest as they are."""

    key: tuple[Any, ...]
    arrays: list[npt.NDArray[Any]]
    ports: dict[str, Any]
    batch: list[str]
    template: tuple[Any, ...]  # the arguments, with _Slot where a tensor goes


@dataclass(frozen=True)
class _Slot:
    i: int


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) or hasattr(value, "detach") or hasattr(value, "__dlpack__")


class NetFunction:
    """A Python function as a net for any arguments: arrays become inputs, everything else (numbers, flags, None) goes
    to the function as it is. For each combination of ranks, sizes behind the first and other values there is one net,
    made when it is first needed.

        model = ascribe.nets.NetFunction(forward, params)
        model(x)                                  # numpy in, numpy out

    batch: False when the first axis does not count examples (the result is one number for all of them).
    """

    MOST = 64  # nets that are kept

    def __init__(
        self,
        forward: Forward,
        params: Params | None = None,
        *,
        outputs: Sequence[str] = ("output",),
        batch: bool = True,
        name: str | None = None,
    ) -> None:
        self.forward = forward
        self.params = {k: _array(v) for k, v in (params or {}).items()}
        self.outputs = tuple(outputs)
        self.batch = batch
        self.name = name or getattr(forward, "__name__", "net")
        self._nets: dict[Any, Net] = {}

    def _signature(self, args: Sequence[Any]) -> _Signature:
        s = _Signature((), [], {}, [], ())
        first: tuple[int, ...] | None = None
        key: list[Any] = []

        def take(value: Any) -> Any:
            nonlocal first
            if isinstance(value, (tuple, list)):
                return tuple(take(v) for v in value)
            if not _is_array(value):
                key.append(("value", type(value).__name__, repr(value)))
                return value
            a = _array(value)
            if first is None:
                first = a.shape
            counts = (
                self.batch and a.ndim > 0 and len(first) > 0 and a.shape[0] == first[0]
                and (a.ndim > 1 or len(first) == 1)
            )
            shape: tuple[int, ...] = ((-1,) + a.shape[1:]) if counts else a.shape
            slot = f"x{len(s.arrays) + 1}"
            dtype = a.dtype.name if a.dtype.kind in "iub" else "float32"
            key.append((shape, dtype, counts))
            s.ports[slot] = (shape, dtype)
            if counts:
                s.batch.append(slot)
            s.arrays.append(a)
            return _Slot(len(s.arrays) - 1)

        s.template = tuple(take(a) for a in args)
        s.key = (*key, repr(s.template))
        return s

    def net_for(self, args: Sequence[Any]) -> tuple[Net, list[npt.NDArray[Any]]]:
        """The net for a call with these arguments, and its inputs."""
        s = self._signature(args)
        thread = threading.get_ident()
        found = self._nets.get((thread, s.key))
        if found is None:
            found = self._make(s)
            if len(self._nets) >= self.MOST:
                self._nets.pop(next(iter(self._nets)))
            self._nets[(thread, s.key)] = found
        return found, s.arrays

    def _make(self, s: _Signature) -> Net:
        def fill(t: Any, tensors: Sequence[Tensor]) -> Any:
            if isinstance(t, _Slot):
                return tensors[t.i]
            return tuple(fill(v, tensors) for v in t) if isinstance(t, tuple) else t

        kinds = [dtype for _, dtype in s.ports.values()]

        def forward(frame: Frame, *tensors: Tensor) -> Any:
            frame.kinds = {t._n: kind for t, kind in zip(tensors, kinds)}
            return self.forward(frame, *(fill(t, tensors) for t in s.template))

        return build(s.ports, forward, self.params, outputs=self.outputs, batch=s.batch)

    def __call__(self, *args: Any) -> Any:
        net, arrays = self.net_for(args)
        values = [np.asarray(v) for v in net._run(tuple(arrays), None)]
        return values[0] if len(values) == 1 else tuple(values)

    def __repr__(self) -> str:
        return f"NetFunction({self.name}, {len(self.params)} weights)"
