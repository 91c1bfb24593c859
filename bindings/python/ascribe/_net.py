"""Nets: functions of named arrays."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Mapping, NamedTuple, Sequence

from . import _ascribe
from ._base import Loaded
from ._errors import InvalidArgument
from ._patch import PatchedNet
from ._nearest import named_keywords
from ._progress import Progress
from ._question import Question, is_array
from ._results import Comparison, NetResult, Price, view

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray
    from typing import Unpack

    from ._keys import NetKeys


class Port(NamedTuple):
    """An input or output; dimensions of -1 are free."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    batch: bool  #: dimension 0 counts independent examples


class Net(Loaded[NetResult]):
    """A net from an ONNX file, an image classifier's folder, or built from Python."""

    def __init__(self, subject: _ascribe.Subject, path: str) -> None:
        super().__init__(subject, path)
        self._patches: list[PatchedNet] = []
        self._known: dict[Any, bytes] = {}  # questions as JSON, by what was asked

    def _hold(self) -> None:
        """Patches changed; calls that know the net's subject alone (ascribe.captum) find them there."""
        self._subject.hold(self._holding(None, {}))

    def _result(self, answer: _ascribe.Answer) -> NetResult:
        return NetResult(answer)

    @property
    def inputs(self) -> list[Port]:
        return [Port(*p) for p in self.info["inputs"]]

    @property
    def outputs(self) -> list[Port]:
        return [Port(*p) for p in self.info["outputs"]]

    @staticmethod
    def build(inputs: Mapping[str, Any], forward: Any, params: Mapping[str, Any] | None = None, *,
              outputs: Sequence[str] = ("output",), batch: bool | Sequence[str] = True) -> Net:
        """A net that a Python function describes: `forward(frame, *inputs)` (ascribe.nets)."""
        from .nets import build
        return build(inputs, forward, params, outputs=outputs, batch=batch)

    def _holding(self, prompt: Any, keys: Mapping[str, Any]) -> list[Any]:
        with self._lock:
            active = list(self._patches)
        return [e for p in active for e in p.held()]

    def _about(self, input: Any, keys: Mapping[str, Any]) -> Question:
        q = Question("net")
        q.held = self._holding(None, keys)
        q.put("input", input)
        q.put_all(keys)
        return q

    def explain(self, input: Any = None, *, progress: Progress = None, **keys: Unpack[NetKeys]) -> NetResult:
        """Which parts of the input drove a number of the output.

        input: an array (numpy, torch on the CPU, anything with the buffer protocol or __dlpack__), a list of arrays,
        or a dict by the names of the inputs. progress: True, or a callable (what, done, total). Further keywords
        (method, target, baseline, ...): ascribe.keys("net").
        """
        if type(input).__name__ != "ndarray" or progress or self._patches:
            return self._ask(self._about(input, keys), progress)
        try:  # the same question as before about other numbers: quickly
            key = (*keys.items(), *map(type, keys.values()))
            text = self._known.get(key)
        except TypeError:  # a value without a hash
            return self._ask(self._about(input, keys))
        if text is None:
            q = self._about(input, keys)
            text = q.text()
            if len(q.names) != 1 or not all(v is None or isinstance(v, (str, int, float)) for v in keys.values()):
                return self._ask(q)
            if len(self._known) == 64:
                self._known.clear()
            self._known[key] = text
        return NetResult(self._subject.ask(text, ("input.0", ), (input, ), False, None))

    def price(self, input: Any = None, **keys: Unpack[NetKeys]) -> Price:
        """What explain() with the same arguments would cost, without doing it."""
        return self._price(self._about(input, keys))

    def compare(self, methods: Sequence[str | Mapping[str, Any]], input: Any = None, *, progress: Progress = None,
                **keys: Unpack[NetKeys]) -> Comparison:
        """explain() by several methods (names, or dicts of keys)."""
        return self._compare(methods, self._about(input, keys), progress)

    @named_keywords
    def run(self, input: Any, names: Sequence[str] | None = None) -> dict[str, NDArray[np.generic]]:
        """Outputs by name; with names, these outputs or inner values."""
        wanted = None if names is None else tuple(names)
        out = self._run(self._inputs(input), wanted)
        return dict(zip(wanted or [p.name for p in self.outputs], (view(a) for a in out)))

    def _run(self, given: tuple[Any, ...], wanted: tuple[str, ...] | None) -> list[_ascribe.Array]:
        with self._lock:
            active = list(self._patches)
        patches: tuple[tuple[str, Any], ...] = ()
        for p in active:
            patches = p.entries(given, patches)
        return self._subject.run_net(given, wanted, patches)

    @named_keywords
    def activations(self, input: Any, sites: str | Sequence[str]) -> dict[str, NDArray[np.generic]]:
        """Inner values at sites (names, or patterns with * and ?)."""
        return self.run(input, self._sites_like(sites))

    def patch(self, values: Mapping[str, ArrayLike | Callable[[NDArray[Any]], ArrayLike]]) -> PatchedNet:
        """The net with other values at sites: an array of the site's shape in that run, or a function of the site's
        own values. `with` holds for every thread that uses the net."""
        return PatchedNet(self, values)

    def __call__(self, input: Any) -> NDArray[np.generic]:
        """The first output."""
        return next(iter(self.run(input).values()))

    def _inputs(self, given: Any) -> tuple[Any, ...]:
        ports = self.inputs
        if isinstance(given, Mapping):
            unknown = sorted(set(given) - {p.name for p in ports})
            missing = [p.name for p in ports if p.name not in given]
            if unknown or missing:
                raise InvalidArgument(
                    "inputs: " + "; ".join([f"no such input {n!r}" for n in unknown] + [f"{n!r} is missing"
                                                                                       for n in missing]),
                    "the inputs are " + ", ".join(p.name for p in ports))
            given = [given[p.name] for p in ports]
        elif is_array(given) or not (isinstance(given, (list, tuple)) and any(is_array(x) for x in given)):
            given = [given]
        if len(given) != len(ports):
            raise InvalidArgument(f"{len(given)} inputs were given; the net has {len(ports)}",
                                  "the inputs are " + ", ".join(p.name for p in ports))
        return tuple(x if is_array(x) else _numbers(x, p) for x, p in zip(given, ports))


def _numbers(x: Any, port: Port) -> Any:
    import numpy
    try:
        return numpy.asarray(x, dtype=port.dtype)
    except (TypeError, ValueError) as e:
        raise InvalidArgument(f"input {port.name!r}: {e}", "give an array, or lists of numbers of equal length") from None
