"""A Python function around torch modules as one module, so that its layers have names; and what such functions ask of
torch while they are recorded."""

from __future__ import annotations

import functools
import importlib
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

torch: Any = importlib.import_module("torch")


def _names(code: types.CodeType) -> Iterator[str]:
    """What a function's code names, with the functions inside it."""
    yield from code.co_names
    for c in code.co_consts:
        if isinstance(c, types.CodeType):
            yield from _names(c)


class _Search:
    """The modules that a function can reach by the names in it, under those names."""

    def __init__(self) -> None:
        self.found: dict[str, Any] = {}
        self._seen: set[int] = set()

    def add(self, name: str, value: Any) -> None:
        if isinstance(value, torch.nn.Module):
            if all(value is not m for m in self.found.values()):
                n = sum(1 for k in self.found if k.split("#")[0] == name)
                self.found[f"{name}#{n + 1}" if n else name] = value
        elif isinstance(value, (types.FunctionType, types.MethodType, functools.partial)):
            self.look(value)

    def _owner(self, owner: Any) -> None:
        self.add("model", owner)
        if not isinstance(owner, torch.nn.Module):
            for name, value in getattr(owner, "__dict__", {}).items():
                self.add(name, value)

    def look(self, f: Any) -> None:
        if id(f) in self._seen:
            return
        self._seen.add(id(f))
        if isinstance(f, functools.partial):
            self.look(f.func)
            for i, value in enumerate(f.args):
                self.add(f"argument{i}", value)
            for name, value in f.keywords.items():
                self.add(name, value)
        elif isinstance(f, types.MethodType):
            self._owner(f.__self__)
            self.look(f.__func__)
        elif isinstance(f, types.FunctionType):
            for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=False):
                try:
                    self.add(name, cell.cell_contents)
                except ValueError:  # a name that stands for nothing yet
                    continue
            for name in _names(f.__code__):
                if name in f.__globals__:
                    self.add(name, f.__globals__[name])
            for name, value in (f.__kwdefaults__ or {}).items():
                self.add(name, value)
            for value in f.__defaults__ or ():
                self.add("default", value)
        elif hasattr(f, "__call__"):  # an object that can be called
            self._owner(f)
            call = getattr(type(f), "__call__", None)
            if isinstance(call, types.FunctionType):
                self.look(call)


class FunctionModule(torch.nn.Module):  # type: ignore[misc]
    """The function; its modules are children by the names that the function has for them."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        search = _Search()
        search.look(function)
        for name, m in search.found.items():
            self.add_module(name.replace(".", "_"), m)
        object.__setattr__(self, "function", function)

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


# ---- while a module is recorded

_lock = threading.Lock()
_here = threading.local()
_state: dict[str, Any] = {"depth": 0, "own": None}


def _is_tracing() -> bool:
    own = _state["own"]
    return getattr(_here, "depth", 0) > 0 or bool(own is not None and own())


@contextmanager
def tracing() -> Iterator[None]:
    """Inside, torch.jit.is_tracing() is True in this thread: libraries ask it before they look at a mask's numbers to
    save work (transformers does), and there are none while a module is recorded."""
    with _lock:
        if _state["depth"] == 0:
            _state["own"] = torch.jit.is_tracing
            torch.jit.is_tracing = _is_tracing
        _state["depth"] += 1
    _here.depth = getattr(_here, "depth", 0) + 1
    try:
        yield
    finally:
        _here.depth -= 1
        with _lock:
            _state["depth"] -= 1
            if _state["depth"] == 0:
                torch.jit.is_tracing, _state["own"] = _state["own"], None
