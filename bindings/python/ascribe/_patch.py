"""Inner values put in place of others during runs."""
from __future__ import annotations

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

#: Methods of a model that its patched self has.
_PATCHED = ("logits", "logprobs", "activations", "classify", "embed", "explain", "price", "compare", "ask", "generate")
Entry = tuple[str, Any, "Sequence[int] | None"]


def _tokens(site: str, given: Any, n: int) -> list[int]:
    out = []
    for t in [given] if isinstance(given, int) else list(given):
        t = int(t)
        if not -n <= t < n:
            from ._errors import OutOfRange
            raise OutOfRange(f"site {site!r}: token {t} of a text of {n}", "tokens count from 0, or from the end")
        out.append(t % n)
    return out


def _rows(values: Any) -> Any:
    """Values as [tokens, width]: one row stands for one token."""
    import numpy
    a = numpy.asarray(view(values) if isinstance(values, _ascribe.Array) else values)
    if a.dtype.kind not in "f":
        a = a.astype(numpy.float64) if a.dtype.kind in "iub" else a
    return a.reshape(1, -1) if a.ndim == 1 else a


def _in_order(model: Loaded[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """By the order of the computation; unknown sites are named."""
    order = {s: i for i, s in enumerate(model.sites())}
    for site in values:
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


class Patched:
    """A model with values put in place of some sites' own: what Model.patch gives. Works as a context, in which the
    model's own methods are patched, or by itself: p(prompt), p.logits(prompt), p.explain(prompt), p.generate(prompt)."""

    def __init__(self, model: _Text, values: Mapping[str, Any]) -> None:
        self._model = model
        self._values = _in_order(model, values)

    def entries(self, ids: Sequence[int], types: Sequence[int] | None, before: list[Entry]) -> list[Entry]:
        """The patches of one run; functions are asked, in the order of the computation, with what the patches
        before them leave there."""
        out = list(before)
        for site, given in self._values.items():
            tokens = None
            if isinstance(given, tuple):
                if len(given) != 2:
                    raise InvalidArgument(f"site {site!r}: a tuple is (tokens, values), both of them")
                tokens, given = _tokens(site, given[0], len(ids)), given[1]
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
            tokens: Any = None
            if isinstance(given, tuple):
                if len(given) != 2:
                    raise InvalidArgument(f"site {site!r}: a tuple is (tokens, values), both of them")
                tokens, given = given
                tokens = [tokens] if isinstance(tokens, int) else [int(t) for t in tokens]
                if n is not None:  # behind the prompt come those of the answer
                    tokens = [t if t >= n else _tokens(site, t, n)[0] for t in tokens]
                elif any(t < 0 for t in tokens):
                    raise InvalidArgument(f"site {site!r}: tokens from the end of a prompt that is put together later",
                                          "count them from 0, or give the prompt as ids")
            if callable(given):
                out.append((site, _recorded(site, given), tokens))
                continue
            new = _rows(given)
            if tokens is None and getattr(given, "ndim", 1) != 1:
                if n is not None and len(new) != n:
                    raise InvalidArgument(f"site {site!r}: {len(new)} rows for a prompt of {n} tokens",
                                          "give one row (an array of one axis) for every token, or (tokens, rows)")
                tokens = list(range(len(new)))
            if tokens is not None and new.shape[0] == 1 and len(tokens) > 1:
                new = new.repeat(len(tokens), axis=0)
            out.append((site, new, tokens))
        return out

    def __enter__(self) -> Patched:
        with self._model._lock:
            self._model._patches.append(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        with self._model._lock:
            self._model._patches.remove(self)

    def __getattr__(self, name: str) -> Any:
        if name not in _PATCHED:
            raise AttributeError(name)
        method = getattr(self._model, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            with self._model._lock, self:
                return method(*args, **kwargs)

        return call

    def __call__(self, text: Any, **kwargs: Any) -> Any:
        """Next tokens' logits, a classifier's scores, or the embedding."""
        if self._model.kind == "decoder":
            return self.logits(text, **kwargs)
        return self.classify(text, **kwargs) if self._model.info["n_classes"] else self.embed(text, **kwargs)


class PatchedNet:
    """A net with values put in place of some sites' own: what Net.patch gives. Works as a context, in which the
    net's own methods are patched, or by itself: p(input), p.run(input), p.explain(input)."""

    def __init__(self, net: Net, values: Mapping[str, Any]) -> None:
        self._net = net
        self._values = _in_order(net, values)

    def entries(self, inputs: tuple[Any, ...], before: tuple[tuple[str, Any], ...]) -> tuple[tuple[str, Any], ...]:
        """The patches of one run; functions are asked, in the order of the computation, with what the patches
        before them leave there."""
        import numpy
        out = before
        for site, given in self._values.items():
            if callable(given):
                (now, ) = self._net._subject.run_net(inputs, (site, ), out)
                given = given(numpy.array(view(now)))
            out = (*out, (site, given if is_array(given) else numpy.asarray(given)))
        return out

    def held(self) -> list[tuple[str, Any, None]]:
        """The same for many runs."""
        import numpy
        return [(site, _recorded(site, v) if callable(v) else v if is_array(v) else numpy.asarray(v), None)
                for site, v in self._values.items()]

    def __enter__(self) -> PatchedNet:
        with self._net._lock:
            self._net._patches.append(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        with self._net._lock:
            self._net._patches.remove(self)

    def run(self, input: Any, names: Sequence[str] | None = None) -> dict[str, Any]:
        with self._net._lock, self:
            return dict(self._net.run(input, names))

    def activations(self, input: Any, sites: str | Sequence[str]) -> dict[str, Any]:
        with self._net._lock, self:
            return dict(self._net.activations(input, sites))

    def explain(self, input: Any = None, **keys: Any) -> Any:
        with self._net._lock, self:
            return self._net.explain(input, **keys)

    def __call__(self, input: Any) -> Any:
        """The first output."""
        with self._net._lock, self:
            return self._net(input)
