"""Opening models, and the library's tables."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Sequence, Union, overload

from . import _ascribe
from ._errors import InvalidArgument
from ._models import Encoder, Model, Net
from ._nearest import named_keywords
from ._question import KINDS

if TYPE_CHECKING:
    Path = Union[str, os.PathLike[str]]
    Adapter = Union[Path, tuple[Path, float]]


class Key(NamedTuple):
    """A keyword of explain()."""

    name: str
    type: str
    choices: tuple[str, ...]
    option: str  #: of the command line; "" = none
    doc: str


class Method(NamedTuple):
    """A method of attribution."""

    name: str
    captum: str  #: Captum's class; "" = none
    doc: str
    prompts: bool
    nets: bool


@overload
def load(path: Path, *, device: str = ..., threads: int = ..., precision: str | None = ...,
         mode: str | None = ..., weights: str = ..., adapters: Adapter | Sequence[Adapter] | None = ..., seed: int = ...,
         isa: str | None = ..., kind: Literal["decoder"]) -> Model:
    ...


@overload
def load(path: Path, *, device: str = ..., threads: int = ..., precision: str | None = ...,
         mode: str | None = ..., weights: str = ..., adapters: Adapter | Sequence[Adapter] | None = ..., seed: int = ...,
         isa: str | None = ..., kind: Literal["encoder"]) -> Encoder:
    ...


@overload
def load(path: Path, *, device: str = ..., threads: int = ..., precision: str | None = ...,
         mode: str | None = ..., weights: str = ..., adapters: Adapter | Sequence[Adapter] | None = ..., seed: int = ...,
         isa: str | None = ..., kind: Literal["net"]) -> Net:
    ...


@overload
def load(path: Path, *, device: str = ..., threads: int = ..., precision: str | None = ...,
         mode: str | None = ..., weights: str = ..., adapters: Adapter | Sequence[Adapter] | None = ..., seed: int = ...,
         isa: str | None = ..., kind: None = ...) -> Any:
    ...


@named_keywords
def load(path: Path, *, device: str = "cpu", threads: int = 0, precision: str | None = None,
         mode: str | None = None, weights: str = "auto", adapters: Adapter | Sequence[Adapter] | None = None, seed: int = 0,
         isa: str | None = None, kind: str | None = None) -> Any:
    """Opens a model: a Model (language model), an Encoder (text encoder) or a Net, by what the file is.

    path: a GGUF file, a Hugging Face folder, an ONNX file. device: "cpu" or "reference" (float64, slow). threads:
    0 = every core. precision: "highest", "high", "medium". mode: "deferred", "eager", "compiled". weights: "stored",
    or "expanded" to float32. adapters: LoRA, one or several, each a path or (path, scale). seed: of random draws.
    kind: "decoder", "encoder" or "net" when nothing else will do; type checkers know the result then.
    """
    context = _ascribe.Context(device, mode, threads, seed, isa, precision)
    subject = _ascribe.Subject(context, path, weights, _adapters(adapters))
    if kind is not None and kind != subject.kind:
        raise InvalidArgument(f"{os.fspath(path)!r} is of kind {subject.kind!r}, not {kind!r}",
                              "kinds are 'decoder' (language models), 'encoder' (text encoders) and 'net'")
    if subject.kind == "net":
        return Net(subject, os.fspath(path))
    return (Model if subject.kind == "decoder" else Encoder)(subject, os.fspath(path))


def _adapters(given: Any) -> list[tuple[str, float]] | None:
    if given is None:
        return None
    if isinstance(given, (str, os.PathLike)) or isinstance(given, tuple) and len(given) == 2 and isinstance(
            given[1], (int, float)):
        given = [given]
    out = []
    for a in given:
        path, scale = a if isinstance(a, tuple) else (a, 1.0)
        out.append((os.fspath(path), float(scale)))
    return out


def keys(kind: str = "decoder") -> list[Key]:
    """The keywords of explain() for a kind of model: "decoder", "encoder" or "net"."""
    if kind not in KINDS:
        raise InvalidArgument(f"kind {kind!r} is unknown", "kinds are 'decoder', 'encoder' and 'net'")
    return [
        Key(name, what, tuple(choices.split("|")) if choices else (), option, doc)
        for name, what, subjects, choices, option, doc in _ascribe.keys() if subjects & KINDS[kind]
    ]


def methods() -> list[Method]:
    """The methods, as `ascribe methods` lists them."""
    return [Method(*m) for m in _ascribe.methods()]
