"""Inner values put in place of others during runs."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, Sequence

from . import _ascribe
from ._errors import InvalidArgument
from ._results import view

if TYPE_CHECKING:
    from types import TracebackType

    from ._models import _Text

Entry = tuple[str, Any, "Sequence[int] | None"]


def _tokens(site: str, given: Any, n: int) -> list[int] | None:
    if given is None:
        return None
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


class Patched:
    """A model with values put in place of some sites' own: what Model.patch gives. Works as a context, in which the
    model's own logits, activations, classify and embed are patched, or by itself: p(prompt), p.logits(prompt)."""

    def __init__(self, model: _Text, values: Mapping[str, Any]) -> None:
        known = set(model.sites())
        for site in values:
            if site not in known:
                from ._errors import NotFound
                raise NotFound(f"the model has no site {site!r}", "model.sites() lists them")
        self._model = model
        order = {s: i for i, s in enumerate(model.sites())}
        self._values = dict(sorted(values.items(), key=lambda kv: order[kv[0]]))

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

    def __enter__(self) -> Patched:
        with self._model._lock:
            self._model._patches.append(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        with self._model._lock:
            self._model._patches.remove(self)

    def __getattr__(self, name: str) -> Any:
        if name not in ("logits", "activations", "classify", "embed"):
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
