"""Results: objects whose arrays are the library's own memory, which lives as long as they do."""
from __future__ import annotations

import json as _json
from typing import TYPE_CHECKING, Any, Iterator, NamedTuple, Sequence

from . import _ascribe

if TYPE_CHECKING:
    import os

    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int32]


class Feature(NamedTuple):
    """A part of a prompt and its score."""

    text: str
    start: int  #: bytes of the prompt's text
    end: int
    first_token: int
    n_tokens: int
    message: int  #: of a conversation; -1 = none
    score: float
    error: float  #: bound on |score - true score|
    kind: str


class Price(NamedTuple):
    """What a question would cost."""

    n_forward: int
    n_backward: int
    flops: float
    seconds: float
    peak_bytes: int


class InnerRow(NamedTuple):
    """A site of a layer; `PromptResult.inner_scores` has its row of scores."""

    name: str
    layer: int
    head: int  #: -1: not one
    total: float  #: of all tokens
    error: float  #: of each number of the row


class Evaluations(NamedTuple):
    """Evaluations of single prompts, or rows of a net."""

    forward: int
    backward: int


def view(a: _ascribe.Array) -> Any:
    """A numpy array on the library's memory."""
    import numpy
    return numpy.asarray(a)


class Result:
    """What every answer has: scores, the report in all its forms, how it was made."""

    def __init__(self, answer: _ascribe.Answer) -> None:
        self._answer = answer
        self._facts: dict[str, Any] | None = None

    def __reduce__(self) -> Any:
        """Pickles hold copies of everything that the result says, and need no model where they are read."""
        from ._kept_answer import restored, state_of
        return restored, (type(self), state_of(self._answer))

    def __copy__(self) -> Any:
        return type(self)(self._answer)

    def __deepcopy__(self, memo: Any) -> Any:
        """Results do not change: a copy lends from the same memory."""
        return type(self)(self._answer)

    @property
    def facts(self) -> dict[str, Any]:
        """Everything but arrays."""
        if self._facts is None:
            self._facts = self._answer.facts()
        return self._facts

    @property
    def method(self) -> str:
        return str(self.facts["method"])

    @property
    def options(self) -> dict[str, Any]:
        """Every option as it was used."""
        out: dict[str, Any] = _json.loads(self.facts["options"])
        return out

    @property
    def warnings(self) -> list[str]:
        return list(self.facts["warnings"])

    @property
    def converged(self) -> bool:
        return bool(self.facts["converged"])

    @property
    def complete(self) -> bool:
        """The method promises that the scores add up to value - baseline_value."""
        return bool(self.facts["complete"])

    @property
    def stochastic(self) -> bool:
        """Errors are standard errors of sampling."""
        return bool(self.facts["stochastic"])

    @property
    def error_bound(self) -> float:
        """The largest error of a score; NaN = not known."""
        return float(self.facts["error_bound"])

    @property
    def evaluations(self) -> Evaluations:
        """How often the model was run."""
        return Evaluations(self.facts["n_forward"], self.facts["n_backward"])

    @property
    def seconds(self) -> float:
        """Wall time of the explanation."""
        return float(self.facts["seconds"])

    @property
    def flops(self) -> float:
        """Floating-point operations, by the ops' own cost."""
        return float(self.facts["flops"])

    @property
    def peak_bytes(self) -> int:
        """Most bytes that the library held at a time."""
        return int(self.facts["peak_bytes"])

    @property
    def predicted_peak_bytes(self) -> int:
        """The peak as planned before running."""
        return int(self.facts["predicted_peak_bytes"])

    @property
    def price(self) -> Price:
        f = self.facts
        return Price(f["n_forward"], f["n_backward"], f["flops"], f["predicted_seconds"] or f["seconds"],
                     f["predicted_peak_bytes"] or f["peak_bytes"])

    @property
    def meaning(self) -> str:
        """One sentence: what a score says."""
        return self._answer.meaning()

    @property
    def command(self) -> str | None:
        """The command line that asks the same; None where none does (arrays from memory)."""
        return self._answer.command()

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """The document of `ascribe explain --json`; also written to path."""
        return _written(self._answer.json(), path)

    def to_dict(self) -> dict[str, Any]:
        out: dict[str, Any] = _json.loads(self._answer.json())
        return out

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """One self-contained page; also written to path."""
        return _written(self._answer.html(), path)

    def to_text(self, columns: int = 0, rows: int = 0, colours: bool = False) -> str:
        """As in a terminal."""
        return self._answer.text(columns, rows, 2 if colours else 0)

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        import html
        page = html.escape(self._answer.html(), quote=True)
        return ('<iframe style="width:100%;height:32em;border:0" sandbox="allow-scripts" '
                f'srcdoc="{page}"></iframe>')

    def _array(self, name: str) -> Any:
        a = self._answer.array(name)
        return view(a) if a is not None else None


def _written(text: str, path: str | os.PathLike[str] | None) -> str:
    if path is not None:
        with open(path, "w", encoding="utf-8", newline="") as f:
            f.write(text)
    return text


def _pandas() -> Any:
    import importlib
    return importlib.import_module("pandas")


class PromptResult(Result):
    """An answer about a prompt, or a text encoder's text."""

    @property
    def features(self) -> list[Feature]:
        return [Feature(*t) for t in self._answer.features()]

    @property
    def scores(self) -> Floats:
        """Of the features, in the order of the text."""
        return self._array("scores")  # type: ignore[no-any-return]

    @property
    def errors(self) -> Floats:
        return self._array("errors")  # type: ignore[no-any-return]

    @property
    def token_scores(self) -> Floats:
        return self._array("token_scores")  # type: ignore[no-any-return]

    @property
    def token_errors(self) -> Floats:
        return self._array("token_errors")  # type: ignore[no-any-return]

    @property
    def prompt_ids(self) -> Ints:
        return self._array("prompt_ids")  # type: ignore[no-any-return]

    @property
    def target_ids(self) -> Ints | None:
        return self._array("target_ids")  # type: ignore[no-any-return]

    @property
    def matrix(self) -> Floats | None:
        """With per_token=True: [explained target tokens, features]."""
        return self._array("matrix")  # type: ignore[no-any-return]

    @property
    def matrix_errors(self) -> Floats | None:
        return self._array("matrix_errors")  # type: ignore[no-any-return]

    @property
    def token_values(self) -> Floats | None:
        """With per_token=True: log-probability (or probability, logit) of each explained target token."""
        return self._array("token_values")  # type: ignore[no-any-return]

    @property
    def inner(self) -> list[InnerRow]:
        """With layers=...: the sites that `inner_scores` has rows of."""
        return [InnerRow(*t) for t in self.facts["inner"]]

    @property
    def inner_scores(self) -> Floats | None:
        """[sites of `inner`, features]"""
        return self._array("inner_scores")  # type: ignore[no-any-return]

    @property
    def inner_shares(self) -> Floats | None:
        """Each site's total as a share of value - baseline_value; None without layers or a baseline."""
        import numpy
        change = self.value - (self.value if self.baseline_value is None else self.baseline_value)
        if not self.inner or not abs(change) > 0:
            return None
        return numpy.array([row.total / change for row in self.inner])

    @property
    def arrays(self) -> list[_ascribe.Array]:
        """`scores` and `errors` without numpy: objects with the buffer protocol and __dlpack__."""
        found = (self._answer.array("scores"), self._answer.array("errors"))
        return [a for a in found if a is not None]

    @property
    def value(self) -> float:
        """What is explained, at the prompt."""
        return float(self.facts["value"])

    @property
    def baseline_value(self) -> float | None:
        """The same at the baseline; None: the method has none."""
        return float(self.facts["baseline_value"]) if self.baseline != "none" else None

    @property
    def prompt(self) -> str:
        return str(self.facts["prompt"])

    @property
    def token_offsets(self) -> Ints:
        """Bytes of the prompt that each token stands for: [tokens, 2]."""
        import numpy
        return numpy.stack([self._array("token_start"), self._array("token_end")], 1)

    @property
    def target(self) -> str:
        return str(self.facts["target"])

    @property
    def target_prob(self) -> float | None:
        """Probability of the whole target; None: a similarity or a neuron."""
        p = float(self.facts["target_prob"])
        return p if p == p else None

    @property
    def span(self) -> tuple[int, int]:
        """The target's tokens that are explained, [from, to)."""
        return self.facts["span"]  # type: ignore[no-any-return]

    @property
    def versus(self) -> str | None:
        """The other answer; values are then differences target - versus."""
        return str(self.facts["versus"]) if self.versus_ids is not None else None

    @property
    def versus_ids(self) -> Ints | None:
        return self._array("versus_ids")  # type: ignore[no-any-return]

    @property
    def output(self) -> str:
        """What of the target is explained: logprob, prob, logit, kl, similarity."""
        return str(self.facts["output"])

    @property
    def unit(self) -> str:
        return str(self.facts["unit"])

    @property
    def answer_kind(self) -> str | None:
        """Text encoders: what is explained, "class", "word" (a masked one) or "span" (an answer in the text); None: a
        similarity, a neuron, a language model's answer."""
        return self.facts["answer_kind"]  # type: ignore[no-any-return]

    @property
    def label(self) -> str | None:
        """The class that is explained."""
        return self.facts["label"] or None

    @property
    def versus_label(self) -> str | None:
        return self.facts["versus_label"] or None

    @property
    def second(self) -> str | None:
        """The text that was read together with the first."""
        return self.facts["second"] or None

    @property
    def similar_to(self) -> str | None:
        return self.facts["similar_to"] or None

    @property
    def baseline(self) -> str:
        """What stood for an absent part: "remove", "eos (token 2)", "zero", ..."""
        return str(self.facts["baseline"])

    @property
    def feature_kind(self) -> str:
        """What a feature is: word, token, sentence, paragraph, message, slot."""
        return str(self.facts["feature_kind"])

    @property
    def sum(self) -> float:
        """Of the features' scores."""
        return float(self.facts["sum"])

    @property
    def residual(self) -> float | None:
        """sum - (value - baseline_value); None where the method promises no completeness."""
        return float(self.facts["residual"]) if self.complete else None

    @property
    def samples(self) -> int:
        """Drawn by a sampling method; 0 otherwise."""
        return int(self.facts["samples"])

    @property
    def panels(self) -> int:
        """Pieces of the path that the adaptive rule ended with; 0 otherwise."""
        return int(self.facts["panels"])

    @property
    def noise_floor(self) -> float:
        """Of one score, under which the adaptive rule does not refine; 0 when not estimated."""
        return float(self.facts["noise_floor"])

    @property
    def tokens_run(self) -> int:
        """Tokens computed for perturbed prompts; `tokens_plain` would have been, each run from its start."""
        return int(self.facts["tokens_run"])

    @property
    def tokens_plain(self) -> int:
        return int(self.facts["tokens_plain"])

    @property
    def top(self) -> list[tuple[int, float, str | None]]:
        """The model's own likeliest next tokens (or classes): id, probability, name of the class."""
        return list(self.facts["top"])

    def to_pandas(self) -> Any:
        """The features as a DataFrame; needs pandas."""
        return _pandas().DataFrame(self.features, columns=Feature._fields)

    def __len__(self) -> int:
        return len(self._answer.features())

    def __repr__(self) -> str:
        return f"<ascribe.PromptResult {self.method}: {len(self)} features, value {self.value:.6g}>"


class NetResult(Result):
    """An answer about a net: scores of its inputs, or of inner values."""

    def __init__(self, answer: _ascribe.Answer) -> None:
        super().__init__(answer)
        self._parts = answer.scores()

    @property
    def scores(self) -> Floats:
        """Of the first attributed value: [examples, (explained numbers,) its dimensions]."""
        return view(self._part(0, 1))  # type: ignore[no-any-return]

    @property
    def errors(self) -> Floats | None:
        """Of the same; None = not known."""
        a = self._parts[0][2] if self._parts else None
        return view(a) if a is not None else None

    @property
    def by_name(self) -> dict[str, Floats]:
        """Scores of every attributed value, and what the method adds."""
        return {name: view(data) for name, data, _ in self._parts if data is not None}

    @property
    def errors_by_name(self) -> dict[str, Floats]:
        return {name: view(error) for name, _, error in self._parts if error is not None}

    def _part(self, i: int, column: int) -> _ascribe.Array:
        a = self._parts[i][column] if i < len(self._parts) else None
        if a is None or isinstance(a, str):
            from ._errors import FailedPrecondition
            raise FailedPrecondition("this result has no scores", "ask without dry_run")
        return a

    @property
    def arrays(self) -> list[_ascribe.Array]:
        """The same without numpy: objects with the buffer protocol and __dlpack__."""
        return [data for _, data, _ in self._parts if data is not None]

    @property
    def value(self) -> Floats:
        """What is explained: [examples * explained numbers]."""
        return self._array("value")  # type: ignore[no-any-return]

    @property
    def baseline_value(self) -> Floats | None:
        return self._array("baseline_value")  # type: ignore[no-any-return]

    @property
    def delta(self) -> Floats | None:
        """What the scores lack (completeness)."""
        return self._array("delta")  # type: ignore[no-any-return]

    def to_pandas(self) -> Any:
        """Scores of the first value, an example a row; needs pandas."""
        s = self.scores
        return _pandas().DataFrame(s.reshape(s.shape[0] if s.ndim else 1, -1))

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name} {list(data.shape)}" for name, data, _ in self._parts if data is not None)
        return f"<ascribe.NetResult {self.method}: {shapes}>"


class Comparison(Sequence[Result]):
    """Results of several methods on one question."""

    def __init__(self, results: Sequence[Result]) -> None:
        self.results = list(results)

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, str):
            for r in self.results:
                if r.method == i:
                    return r
            raise KeyError(i)
        return self.results[i]

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    @property
    def methods(self) -> list[str]:
        return [r.method for r in self.results]

    def to_pandas(self) -> Any:
        """Features by methods; needs pandas."""
        columns: dict[str, Any] = {}
        for r in self.results:
            if isinstance(r, PromptResult):
                columns.setdefault("text", [f.text for f in r.features])
                columns[r.method] = r.scores
            elif isinstance(r, NetResult):
                columns[r.method] = r.scores.reshape(-1)
        return _pandas().DataFrame(columns)

    def __str__(self) -> str:
        return "\n".join(f"== {r.method}\n{r}" for r in self.results)

    def _repr_html_(self) -> str:
        import html
        return "".join(f"<h4>{html.escape(r.method)}</h4>{r._repr_html_()}" for r in self.results)

    def __repr__(self) -> str:
        return f"<ascribe.Comparison of {', '.join(self.methods)}>"
