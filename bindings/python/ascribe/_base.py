"""What every kind of model has: questions, sites, an end."""
from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Generic, Mapping, TypeVar

from . import _ascribe
from ._nearest import like_these
from ._progress import Progress, watched
from ._question import Question
from ._results import Comparison, Price, Result

if TYPE_CHECKING:
    from types import TracebackType

    from typing import Self


R = TypeVar("R", bound=Result)


class Loaded(Generic[R]):
    """A model that is open. Safe to use from several threads, which take turns; closed by close(), `with`, or when
    nothing refers to it any more. Results stay usable after that."""

    def __init__(self, subject: _ascribe.Subject, path: str) -> None:
        self._subject = subject
        self._lock = threading.RLock()  # of what Python keeps of the model; the library has its own
        self._info: dict[str, Any] | None = None
        self._sites: list[str] | None = None
        self.path = path
        self.kind = subject.kind

    def _result(self, answer: _ascribe.Answer) -> R:
        raise NotImplementedError

    def _ask(self, q: Question, progress: Progress = None, dry_run: bool = False) -> R:
        text, names, arrays = q.text(), tuple(q.names), tuple(q.arrays)
        if not progress:
            return self._result(self._subject.ask(text, names, arrays, dry_run, None, q.held))
        with watched(progress) as call:
            return self._result(self._subject.ask(text, names, arrays, dry_run, call, q.held))

    def _compare(self, methods: Any, q: Question, progress: Progress) -> Comparison:
        results = []
        for m in methods:
            q.json.update({"method": m} if isinstance(m, str) else dict(m))
            results.append(self._ask(q, progress))
        return Comparison(results)

    def ask(self, question: Mapping[str, Any], *, progress: Progress = None) -> R:
        """A question as a dict: the keys of ascribe.keys(kind)."""
        q = Question(self.kind)
        q.put_all(question)
        q.held = self._holding(None, question)
        return self._ask(q, progress)

    def _holding(self, prompt: Any, keys: Mapping[str, Any]) -> list[Any]:
        """What the patches that are active put in the place of inner values, for the library."""
        raise NotImplementedError

    def _price(self, q: Question) -> Price:
        return self._ask(q, dry_run=True).price

    @property
    def info(self) -> dict[str, Any]:
        """Facts about the model."""
        if self._info is None:
            self._info = self._subject.info()
        return dict(self._info)

    def sites(self) -> list[str]:
        """Names of its inner values, in the order of the computation."""
        if self._sites is None:
            self._sites = self._subject.sites()
        return list(self._sites)

    def _sites_like(self, wanted: Any) -> list[str]:
        """Names, or patterns with * and ?, as names."""
        from fnmatch import fnmatchcase
        out: list[str] = []
        for w in [wanted] if isinstance(wanted, str) else wanted:
            found = [s for s in self.sites() if fnmatchcase(s, w)] if "*" in w or "?" in w else [w]
            if not found or self.kind != "net" and found[0] not in self.sites():  # a net's outputs can be read as well
                from ._errors import NotFound
                raise NotFound(f"the model has no site {w!r}" if found else f"no site is like {w!r}",
                               like_these(w, self.sites(), "model.sites() lists them"))
            out += [s for s in found if s not in out]
        return out

    def classes(self) -> list[str]:
        """Names of its classes; empty when it has none, or they have no names."""
        return self._subject.classes()

    def memory(self) -> dict[str, int]:
        """Bytes of the library that are alive, and were at most."""
        return self._subject.context.memory()

    def cancel(self) -> None:
        """Asks what another thread is doing with this model to stop: it raises Cancelled there."""
        self._subject.context.cancel()

    def check_file(self) -> None:
        """Raises FailedPrecondition when the file was replaced or changed since it was opened."""
        self._subject.check_file()

    @property
    def closed(self) -> bool:
        return self._subject.closed

    def __reduce__(self) -> Any:
        raise TypeError(f"cannot pickle or copy {self!r}: it is open in this process. Send its path and load() it in the "
                        "other process (multiprocessing: in the initializer of the pool); results can be pickled")

    def close(self) -> None:
        self._subject.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<ascribe.{type(self).__name__} {self.path!r}{' (closed)' if self.closed else ''}>"
