"""A result without its model: what pickle keeps of it, and what comes out of the pickle."""
from __future__ import annotations

from typing import Any

from ._errors import FailedPrecondition

ARRAYS = ("scores", "errors", "token_scores", "token_errors", "prompt_ids", "token_start", "token_end", "target_ids",
          "versus_ids", "matrix", "matrix_errors", "token_values", "inner_scores", "value", "baseline_value", "delta")


def _copied(a: Any) -> Any:
    import numpy
    return None if a is None else numpy.array(a)


def _read_only(a: Any) -> Any:
    if a is not None:
        a.setflags(write=False)
    return a


class KeptAnswer:
    """Answers what an answer of the library does, from copies of everything that it says."""

    def __init__(self, state: dict[str, Any]) -> None:
        self._state = state
        for a in state["arrays"].values():
            _read_only(a)
        for _, data, error in state["scores"]:
            _read_only(data)
            _read_only(error)

    def json(self) -> str:
        return str(self._state["json"])

    def html(self) -> str:
        return str(self._state["html"])

    def command(self) -> str | None:
        return self._state["command"]  # type: ignore[no-any-return]

    def meaning(self) -> str:
        return str(self._state["meaning"])

    def text(self, columns: int = 0, rows: int = 0, colours: int = 0) -> str:
        if columns or rows:
            raise FailedPrecondition("a result that was pickled has its text in one width alone",
                                     "to_text() without columns and rows, or to_text(columns=...) before it is pickled")
        return str(self._state["texts"][1 if colours else 0])

    def facts(self) -> dict[str, Any]:
        return dict(self._state["facts"])

    def features(self) -> list[Any]:
        return list(self._state["features"])

    def array(self, name: str) -> Any:
        return self._state["arrays"].get(name)

    def scores(self) -> list[Any]:
        return list(self._state["scores"])


def state_of(answer: Any) -> dict[str, Any]:
    """Everything that an answer says, as what pickle knows."""
    if isinstance(answer, KeptAnswer):
        return answer._state
    arrays = {}
    for name in ARRAYS:
        try:
            found = answer.array(name)
        except LookupError:  # an array of the other kind of answer
            continue
        arrays[name] = _copied(found)
    return {
        "json": answer.json(), "html": answer.html(), "command": answer.command(), "meaning": answer.meaning(),
        "texts": (answer.text(0, 0, 0), answer.text(0, 0, 2)), "facts": answer.facts(), "features": answer.features(),
        "arrays": arrays, "scores": [(name, _copied(data), _copied(error)) for name, data, error in answer.scores()],
    }


def restored(kind: type, state: dict[str, Any]) -> Any:
    """What pickle calls: a result of that class over what was kept."""
    return kind(KeptAnswer(state))
