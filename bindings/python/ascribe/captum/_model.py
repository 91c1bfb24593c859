"""What attribution stands on: nets, functions of nets, torch modules; and what names of layers mean in them."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from .._net import Net
from .._patch import Patched, PatchedNet
from ..nets import NetFunction
from ._arrays import Array, ArgumentError, is_array, to_numpy


class Model(Protocol):
    """A net for given arguments, and the arrays that go into it: those of the first n arguments come first."""

    def bind(self, args: Sequence[Any]) -> tuple[Net, list[Array]]: ...

    def layer_name(self, layer: Any) -> str | None: ...


class FixedNet:
    """A net whose inputs are its ports."""

    def __init__(self, net: Net) -> None:
        self.net = net

    def bind(self, args: Sequence[Any]) -> tuple[Net, list[Array]]:
        given = list(args)
        while given and given[-1] is None and len(given) > len(self.net.inputs):
            given.pop()
        names = [p.name for p in self.net.inputs]
        if len(given) != len(names):
            raise ArgumentError(
                f"the net takes {len(names)} inputs ({', '.join(names)}); inputs and additional_forward_args have "
                f"{len(given)}. Flags and options of a function need a NetFunction"
            )
        arrays = []
        for value, port in zip(given, self.net.inputs, strict=True):
            if value is None:
                raise ArgumentError(f"the net's input {port.name} is None")
            a = to_numpy(value)
            if a.ndim == 0:
                a = a.astype(port.dtype)
            arrays.append(a)
        return self.net, arrays

    def layer_name(self, layer: Any) -> str | None:
        return None


class Traced:
    """A function that becomes a net for each kind of arguments."""

    def __init__(self, function: NetFunction, module: Any = None) -> None:
        self.function = function
        self.module = module

    def bind(self, args: Sequence[Any]) -> tuple[Net, list[Array]]:
        net, _ = self.function.net_for(args)
        arrays: list[Array] = []

        def collect(value: Any) -> None:
            if isinstance(value, (tuple, list)):
                for v in value:
                    collect(v)
            elif is_array(value):
                arrays.append(to_numpy(value))

        for a in args:
            collect(a)
        return net, arrays

    def layer_name(self, layer: Any) -> str | None:
        if self.module is None:
            return None
        for name, m in self.module.named_modules():
            if m is layer:
                return str(name)
        known = ", ".join(str(name) for name, _ in self.module.named_children())
        raise ArgumentError(
            f"the layer is not a module of the model (a {type(layer).__name__} is given; the model's modules are {known or 'none'})"
        )


class LanguageModel:
    """A model of texts: its methods are for LLMAttribution and LLMGradientAttribution."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def bind(self, args: Sequence[Any]) -> tuple[Net, list[Array]]:
        raise TypeError(
            "a language model is explained through LLMAttribution, LLMGradientAttribution or its own explain(): its "
            "inputs are text, not arrays"
        )

    def layer_name(self, layer: Any) -> str | None:
        return None


def as_model(forward_func: Any) -> Model:
    """The model that a constructor was given; TypeError says what to do with anything else."""
    if isinstance(forward_func, (FixedNet, Traced, LanguageModel)):
        return forward_func
    if isinstance(forward_func, Net):
        return FixedNet(forward_func)
    if isinstance(forward_func, NetFunction):
        return Traced(forward_func)
    subject = getattr(forward_func, "_subject", None)
    if subject is not None and getattr(subject, "kind", "") == "net":
        return FixedNet(Net(subject, ""))
    if subject is not None:
        return LanguageModel(forward_func)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(forward_func, torch.nn.Module):
        from .from_torch import from_torch

        return Traced(from_torch(forward_func), forward_func)
    if isinstance(forward_func, (Patched, PatchedNet)):
        raise TypeError("give the model itself, and call attribute() inside `with model.patch(...):`")
    if torch is not None and callable(forward_func) and not isinstance(forward_func, type):
        from ._torch_function import FunctionModule
        from .from_torch import from_torch

        module = FunctionModule(forward_func)
        return Traced(from_torch(module), module)
    if callable(forward_func):
        raise TypeError(
            "a Python function is recorded where torch is imported; without it, write it as a net with "
            "ascribe.nets.NetFunction(forward, params), or export it to ONNX and ascribe.load() it"
        )
    raise TypeError(f"{type(forward_func).__name__} is no model: give a Net, a NetFunction or a torch.nn.Module")


class Layer:
    """A layer as sites of a net: one, or several when its value is a tuple."""

    def __init__(self, net: Net, model: Model, layer: Any, at_input: bool) -> None:
        name = layer if isinstance(layer, str) else model.layer_name(layer)
        if name is None:
            raise ArgumentError(f"a layer is named by its site or path (a text), not by {type(layer).__name__}")
        base = f"{name}.in" if at_input else name
        sites = net.sites()
        known = set(sites)
        self.sites: list[str] = [base] if base in known else []
        while not self.sites or self.sites[0] != base:
            following = f"{base}.{len(self.sites)}"
            if following not in known:
                break
            self.sites.append(following)
        self.several = bool(self.sites) and self.sites[0] != base
        if not self.sites:
            if at_input and name in known:
                raise ArgumentError(f"the input of '{name}' is no site of this net: name the layer before it")
            near = difflib.get_close_matches(base, sites, 3)
            hint = f"; the nearest: {', '.join(near)}" if near else ""
            raise ArgumentError(f"the net has no site '{base}'{hint}. net.sites() lists {len(sites)}")


def values_at(net: Net, arrays: Sequence[Array], sites: Sequence[str] | None = None) -> list[Array]:
    """Values of sites; None: of the outputs."""
    names = None if sites is None else tuple(sites)
    return [np.asarray(v) for v in net._run(tuple(arrays), names)]
