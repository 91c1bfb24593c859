"""Inner values put in place of others during runs."""
from __future__ import annotations

import functools
import math
import operator
from typing import TYPE_CHECKING, Any, Mapping, Sequence

from . import _ascribe
from ._errors import InvalidArgument
from ._nearest import like_these
from ._question import is_array
from ._results import view

if TYPE_CHECKING:
    from types import TracebackType

    from ._base import Loaded
    from ._models import _Text
    from ._net import Net

Entry = tuple[str, Any, "Sequence[int] | None"]


def _whole(site: str, t: Any) -> int:
    try:
        return operator.index(t)
    except TypeError:
        raise InvalidArgument(f"site {site!r}: {t!r} is no place of a token",
                              "places are whole numbers: one, or several in a list") from None


def _wanted(site: str, given: Any) -> list[int]:
    """Places as they were given: one, or several."""
    if isinstance(given, (str, bytes)) or not hasattr(given, "__iter__") or getattr(given, "ndim", 1) == 0:
        return [_whole(site, given)]
    return [_whole(site, t) for t in given]


def _tokens(site: str, given: list[int], n: int) -> list[int]:
    out = []
    for t in given:
        if not -n <= t < n:
            from ._errors import OutOfRange
            raise OutOfRange(f"site {site!r}: token {t} of a text of {n}", "tokens count from 0, or from the end")
        out.append(t % n)
    return out


def _value(site: str, given: Any) -> tuple[Any, Any]:
    """(tokens, values) of what was given for a site; tokens None: all of them. One number stands for as many as are
    there: it becomes a function."""
    tokens = None
    if isinstance(given, tuple):
        if len(given) != 2:
            raise InvalidArgument(f"site {site!r}: a tuple is (tokens, values), both of them")
        tokens, given = _wanted(site, given[0]), given[1]
    return tokens, _one_number(site, given)


def _one_number(site: str, given: Any) -> Any:
    if isinstance(given, (bool, int, float)) or getattr(given, "ndim", None) == 0 and hasattr(given, "item"):
        number = float(given)
        if not math.isfinite(number):
            raise InvalidArgument(f"site {site!r}: {number} is not finite")
        return lambda v: v * 0 + number
    return given


def _array(values: Any) -> Any:
    """Values as numpy has them, without torch's record of gradients and its types that numpy has not."""
    import numpy
    if isinstance(values, _ascribe.Array):
        return numpy.asarray(view(values))
    if hasattr(values, "detach"):
        values = values.detach()
        if str(values.dtype) == "torch.bfloat16":
            values = values.float()
    return numpy.asarray(values)


def _rows(values: Any) -> Any:
    """Values as [tokens, width]: one row stands for one token."""
    import numpy
    a = _array(values)
    if a.dtype.kind not in "f":
        a = a.astype(numpy.float64) if a.dtype.kind in "iub" else a
    return a.reshape(1, -1) if a.ndim == 1 else a


def _in_order(model: Loaded[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """By the order of the computation; unknown sites are named."""
    order = {s: i for i, s in enumerate(model.sites())}
    if not hasattr(values, "keys"):
        raise InvalidArgument("patch takes a dict: values, or a function, by the name of a site",
                              'as model.patch({"blocks.0.out": values})')
    for site in values:
        if not isinstance(site, str):
            raise InvalidArgument(f"{site!r} is no name of a site", "model.sites() lists them")
        if site not in order:
            from ._errors import NotFound
            raise NotFound(f"the model has no site {site!r}", like_these(site, list(order), "model.sites() lists them"))
    return dict(sorted(values.items(), key=lambda kv: order[kv[0]]))


def _recorded(site: str, change: Any) -> Any:
    """A function of a tensor as one of the frame and the number that the library hands out."""

    def record(x: Any, number: int) -> int:
        from ._net_frame import Frame
        frame = Frame(x)
        v = frame._tensor(number)
        try:
            new = change(v)
        except (AttributeError, TypeError, ValueError) as e:
            e.add_note(f"site {site!r}: in explain and generate a function gets a tensor that records what is done with "
                       "it (ascribe.nets.Tensor: operators and numpy's method names), not an array")
            raise
        return frame._lift(new if isinstance(new, type(v)) else v * 0 + new)

    return record


class _Patch:
    """What is held while it is a context, and the methods of its model by name."""

    _METHODS: tuple[str, ...] = ()
    _on: Any  #: the model

    def _enter(self) -> None:
        with self._on._lock:
            self._on._patches.append(self)
            try:
                self._on._hold()
            except BaseException:
                self._on._patches.pop()
                raise

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        with self._on._lock:
            patches = self._on._patches  # the last of several: one patch may be entered twice
            del patches[max(i for i, p in enumerate(patches) if p is self)]
            self._on._hold()

    def __getattr__(self, name: str) -> Any:
        if name not in self._METHODS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        return self._patched(getattr(self._on, name))

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._METHODS})

    def _patched(self, method: Any) -> Any:

        @functools.wraps(method)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self._on._lock, self:  # type: ignore[attr-defined]
                return method(*args, **kwargs)

        return call


class Patched(_Patch):
    """A model with values put in place of some sites' own: what Model.patch gives. Works as a context, in which the
    model's own methods are patched, or by itself: p(prompt), p.logits(prompt), p.explain(prompt), p.generate(prompt)."""

    _METHODS = ("logits", "logprobs", "activations", "classify", "embed", "explain", "price", "compare", "ask",
                "generate")

    def __init__(self, model: _Text, values: Mapping[str, Any]) -> None:
        self._on = self._model = model
        self._values = _in_order(model, values)

    def entries(self, ids: Sequence[int], types: Sequence[int] | None, before: list[Entry]) -> list[Entry]:
        """The patches of one run; functions are asked, in the order of the computation, with what the patches
        before them leave there."""
        out = list(before)
        for site, given in self._values.items():
            tokens, given = _value(site, given)
            if tokens is not None:
                tokens = _tokens(site, tokens, len(ids))
            if callable(given):
                import numpy
                (now, ), _ = self._model._subject.run_model(ids, types, [site], out)
                own = numpy.array(view(now))
                new = _rows(given(own if tokens is None else own[tokens]))
                want = own.shape if tokens is None else (len(tokens), own.shape[1])
                if new.shape != want:
                    raise InvalidArgument(f"site {site!r}: the function gave {list(new.shape)} for {list(want)}")
            else:
                new = _rows(given)
            if tokens is not None and new.shape[0] == 1 and len(tokens) > 1:
                new = new.repeat(len(tokens), axis=0)
            out.append((site, new, tokens))
        return out

    def held(self, n: int | None) -> list[Entry]:
        """The same for many runs, of other lengths too: n tokens of the prompt, None where nobody knows."""
        out: list[Entry] = []
        for site, given in self._values.items():
            tokens, given = _value(site, given)
            if tokens is not None:
                if n is not None:  # behind the prompt come those of the answer
                    tokens = [t if t >= n else _tokens(site, [t], n)[0] for t in tokens]
                elif any(t < 0 for t in tokens):
                    raise InvalidArgument(f"site {site!r}: tokens from the end of a prompt that is put together later",
                                          "count them from 0, or give the prompt as ids")
            if callable(given):
                out.append((site, _recorded(site, given), tokens))
                continue
            new = _rows(given)
            if tokens is None and new.ndim == 2 and len(new) != 1:
                if n is not None and len(new) != n:
                    raise InvalidArgument(f"site {site!r}: {len(new)} rows for a prompt of {n} tokens",
                                          "give one row (an array of one axis) for every token, or (tokens, rows)")
                tokens = list(range(len(new)))
            if tokens is not None and new.shape[0] == 1 and len(tokens) > 1:
                new = new.repeat(len(tokens), axis=0)
            out.append((site, new, tokens))
        return out

    def __enter__(self) -> Patched:
        self._enter()
        return self

    def __call__(self, text: Any, **kwargs: Any) -> Any:
        """Next tokens' logits, a classifier's scores, or the embedding."""
        if self._model.kind == "decoder":
            return self.logits(text, **kwargs)
        return self.classify(text, **kwargs) if self._model.info["n_classes"] else self.embed(text, **kwargs)


class PatchedNet(_Patch):
    """A net with values put in place of some sites' own: what Net.patch gives. Works as a context, in which the
    net's own methods are patched, and those of ascribe.captum that are given the net; or by itself: p(input),
    p.run(input), p.explain(input), p.price(input), p.compare(methods, input), p.ask(question)."""

    _METHODS = ("run", "activations", "explain", "price", "compare", "ask")

    def __init__(self, net: Net, values: Mapping[str, Any]) -> None:
        self._on = self._net = net
        self._values = {site: _one_number(site, v) for site, v in _in_order(net, values).items()}

    def entries(self, inputs: tuple[Any, ...], before: tuple[tuple[str, Any], ...]) -> tuple[tuple[str, Any], ...]:
        """The patches of one run; functions are asked, in the order of the computation, with what the patches
        before them leave there."""
        import numpy
        out = before
        for site, given in self._values.items():
            if callable(given):
                (now, ) = self._net._subject.run_net(inputs, (site, ), out)
                given = given(numpy.array(view(now)))
            out = (*out, (site, _lent(given)))
        return out

    def held(self) -> list[tuple[str, Any, None]]:
        """The same for many runs."""
        return [(site, _recorded(site, v) if callable(v) else _lent(v), None) for site, v in self._values.items()]

    def __enter__(self) -> PatchedNet:
        self._enter()
        return self

    def __call__(self, input: Any) -> Any:
        """The first output."""
        with self._net._lock, self:
            return self._net(input)


def _lent(values: Any) -> Any:
    """Values that the library can look at: as they lie, where that is possible."""
    return values if is_array(values) and not hasattr(values, "detach") else _array(values)
