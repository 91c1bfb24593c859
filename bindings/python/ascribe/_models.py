"""Language models and text encoders."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Iterator, Literal, Mapping, NamedTuple, Sequence, Union, overload

from . import _ascribe
from ._base import Loaded
from ._errors import InvalidArgument
from ._net import Net, Port
from ._patch import Patched
from ._nearest import named_keywords
from ._progress import Progress, watched
from ._question import Question, is_array
from ._results import Comparison, Price, PromptResult, view

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray
    from typing import Unpack

    from ._keys import DecoderKeys, EncoderKeys

    Floats = NDArray[np.floating[Any]]
    Text = Union[str, bytes]
    Prompt = Union[str, bytes, Sequence[int], Sequence[Mapping[str, Any]], "NDArray[np.integer[Any]]"]
    Values = Union[ArrayLike, Callable[[Floats], ArrayLike], tuple[Any, Any]]

__all__ = ["Encoder", "Model", "Net", "Patched", "Port", "Token", "TokenLogprob"]


class Token(NamedTuple):
    """A token of a text, and the bytes of the text that it stands for."""

    id: int
    text: str
    start: int
    end: int


class TokenLogprob(NamedTuple):
    """A token, and how probable the model holds it behind those before it, in nats (NaN: it is the first)."""

    id: int
    text: str
    logprob: float
    top: list[tuple[int, float]]  #: the likeliest tokens at this place


def _is_messages(p: Any) -> bool:
    return isinstance(p, (list, tuple)) and len(p) > 0 and isinstance(p[0], Mapping)


def _is_list_of_texts(p: Any) -> bool:
    """Whether p is a list of texts, pairs or lists of ids; not one text, one pair or one list of ids."""
    if isinstance(p, tuple) and len(p) == 2 and isinstance(p[0], (str, bytes)):
        return False
    return isinstance(p, (list, tuple)) and (len(p) == 0 or isinstance(p[0], (str, bytes, list, tuple))
                                             or is_array(p[0]))


#: Keys with which the prompt is put together by the library, so that its length is known there alone.
_JOINED = ("template", "values", "documents", "question", "system", "tools", "template_vars", "second")


class _Text(Loaded[PromptResult]):
    """What language models and text encoders share."""

    def __init__(self, subject: _ascribe.Subject, path: str) -> None:
        super().__init__(subject, path)
        self._patches: list[Patched] = []

    def _hold(self) -> None:
        """Patches changed; questions bring what they hold."""

    def _result(self, answer: _ascribe.Answer) -> PromptResult:
        return PromptResult(answer)

    def _question(self, prompt: Any, keys: Mapping[str, Any]) -> Question:
        q = Question(self.kind)
        q.held = self._holding(prompt, keys)
        if prompt is not None:
            key = "prompt" if isinstance(prompt, (str, bytes)) else "messages" if _is_messages(prompt) else "ids"
            q.put(key, prompt)
        q.put_all(keys)
        return q

    def _holding(self, prompt: Any, keys: Mapping[str, Any]) -> list[Any]:
        with self._lock:
            active = list(self._patches)
        if not active:
            return []
        if prompt is None:
            prompt = next((keys[k] for k in ("ids", "prompt", "messages") if keys.get(k) is not None), None)
        known = prompt is not None and not any(keys.get(k) is not None for k in _JOINED)
        n = len(self._ids(prompt)[0]) if known else None
        return [e for p in active for e in p.held(n)]

    @named_keywords
    def tokenize(self, text: Text, *, special: bool = False, bos: bool = True, continues: bool = False) -> list[int]:
        """Token ids. special: "<|im_end|>" in the text is that token; bos: the begin and end tokens that the model
        expects are put around; continues: the text goes on where another ended, as targets do."""
        return self._subject.tokenize(text, special, bos and not continues, continues)[0]

    @named_keywords
    def tokens(self, text: Text, *, special: bool = False, bos: bool = True) -> list[Token]:
        """The same with the text of each and its place, in bytes."""
        data = text.encode("utf-8") if isinstance(text, str) else text
        ids, starts, ends = self._subject.tokenize(data, special, bos)
        return [Token(i, data[a:b].decode("utf-8", "replace"), a, b) for i, a, b in zip(ids, starts, ends)]

    @named_keywords
    def detokenize(self, ids: Sequence[int], *, special: bool = True) -> str:
        """The text of token ids; special=False leaves control tokens out."""
        return self._subject.detokenize(ids, special).decode("utf-8", "replace")

    def _ids(self, prompt: Any) -> tuple[Sequence[int], Sequence[int] | None]:
        if isinstance(prompt, (str, bytes)):
            return self._subject.tokenize(prompt, False, True)[0], None
        if is_array(prompt):
            return prompt.tolist(), None
        return list(prompt), None

    def _run(self, prompt: Any, read: list[str], head: str = "", rows: int = 0) -> tuple[list[Any], Any]:
        ids, types = self._ids(prompt)
        with self._lock:
            active = list(self._patches)
        patches: list[Any] = []
        for p in active:
            patches = p.entries(ids, types, patches)
        values, out = self._subject.run_model(ids, types, read, patches, head, len(ids) if rows < 0 else rows)
        return [view(v) for v in values], view(out) if out is not None else None

    @named_keywords
    def activations(self, prompt: Prompt, sites: str | Sequence[str]) -> dict[str, Floats]:
        """Inner values at sites (names, or patterns as "blocks.*.out"): arrays [tokens, width]."""
        names = self._sites_like(sites)
        values, _ = self._run(prompt, names)
        return dict(zip(names, values))

    def patch(self, values: Mapping[str, Values]) -> Patched:
        """The model with other values at sites: an array [tokens, width], a function of the site's own values, or
        a tuple (tokens, one of these) about some tokens only. `with` holds for every thread that uses the model."""
        return Patched(self, values)


class Model(_Text):
    """A language model."""

    def _ids(self, prompt: Any) -> tuple[Sequence[int], Sequence[int] | None]:
        if _is_messages(prompt):
            import json
            return self._subject.chat(json.dumps(list(prompt)))[1], None
        return super()._ids(prompt)

    def _about(self, prompt: Any, target: Any, keys: Mapping[str, Any]) -> Question:
        q = self._question(prompt, keys)
        if target is not None:
            q.put("target" if isinstance(target, (str, bytes)) else "target_ids", target)
        return q

    def explain(self, prompt: Prompt | None = None, *, target: str | bytes | Sequence[int] | None = None,
                progress: Progress = None, **keys: Unpack[DecoderKeys]) -> PromptResult:
        """Which parts of the prompt drove the answer.

        prompt: a text, token ids, or a conversation as a list of {"role", "content"}. target: the answer to explain,
        a text (a leading blank counts) or ids; without it, the model's own next token. progress: True, or a callable
        (what, done, total). Further keywords: ascribe.keys("decoder").
        """
        return self._ask(self._about(prompt, target, keys), progress)

    def price(self, prompt: Prompt | None = None, *, target: str | bytes | Sequence[int] | None = None,
              **keys: Unpack[DecoderKeys]) -> Price:
        """What explain() with the same arguments would cost, without doing it."""
        return self._price(self._about(prompt, target, keys))

    def compare(self, methods: Sequence[str | Mapping[str, Any]], prompt: Prompt | None = None, *,
                target: str | bytes | Sequence[int] | None = None, progress: Progress = None,
                **keys: Unpack[DecoderKeys]) -> Comparison:
        """explain() by several methods (names, or dicts of keys)."""
        return self._compare(methods, self._about(prompt, target, keys), progress)

    @named_keywords
    def logits(self, prompt: Prompt, *, rows: int = 1) -> Floats:
        """Logits after each of the last `rows` tokens (-1 = all): [rows, vocabulary]."""
        if rows == 0 or rows < -1:
            raise InvalidArgument(f"rows is {rows}", "it counts from 1; -1 means every token")
        return self._run(prompt, [], "logits", rows)[1]  # type: ignore[no-any-return]

    @named_keywords
    def logprobs(self, text: Prompt, *, top: int = 0) -> list[TokenLogprob]:
        """How probable the model holds each token of a text."""
        out: list[TokenLogprob] = []
        ids, _ = self._ids(text)

        def on_token(id: int, logprob: float, text: bytes, top: list[tuple[int, float]]) -> None:
            out.append(TokenLogprob(id, "", logprob, top))

        self._subject.logprobs(ids, top, on_token, self._holding(ids, {}))
        return [t._replace(text=self._subject.piece(t.id).decode("utf-8", "replace")) for t in out]

    @overload
    def generate(self, prompt: Prompt, max_tokens: int = ..., temperature: float = ..., *,
                 stream: Literal[False] = ..., top_k: int = ..., top_p: float = ..., min_p: float = ...,
                 seed: int = ..., stop: str | Sequence[str] | None = ..., ignore_eos: bool = ...,
                 repetition_penalty: float = ..., presence_penalty: float = ..., frequency_penalty: float = ...,
                 bias: Mapping[int, float] | None = ...) -> str:
        ...

    @overload
    def generate(self, prompt: Prompt, max_tokens: int = ..., temperature: float = ..., *, stream: Literal[True],
                 top_k: int = ..., top_p: float = ..., min_p: float = ..., seed: int = ...,
                 stop: str | Sequence[str] | None = ..., ignore_eos: bool = ..., repetition_penalty: float = ...,
                 presence_penalty: float = ..., frequency_penalty: float = ...,
                 bias: Mapping[int, float] | None = ...) -> Iterator[str]:
        ...

    @named_keywords
    def generate(self, prompt: Prompt, max_tokens: int = 64, temperature: float = 0.0, *, stream: bool = False,
                 top_k: int = 0, top_p: float = 0.0, min_p: float = 0.0, seed: int = 0,
                 stop: str | Sequence[str] | None = None, ignore_eos: bool = False, repetition_penalty: float = 0.0,
                 presence_penalty: float = 0.0, frequency_penalty: float = 0.0,
                 bias: Mapping[int, float] | None = None) -> str | Iterator[str]:
        """Continues a prompt (greedily, unless temperature > 0): the text, or with stream=True an iterator of its
        pieces, which stops the work when it is closed."""
        ids, _ = self._ids(prompt)
        stops = [stop] if isinstance(stop, str) else list(stop or [])
        options: dict[str, Any] = dict(
            max_tokens=max_tokens, temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p, seed=seed,
            ignore_eos=ignore_eos, repetition_penalty=repetition_penalty, presence_penalty=presence_penalty,
            frequency_penalty=frequency_penalty, stop=[s.encode("utf-8") for s in stops],
            bias=[(int(i), float(x)) for i, x in (bias or {}).items()], held=self._holding(ids, {}))
        if stream:
            from ._stream import pieces
            return pieces(lambda on_token: self._subject.generate(ids, on_token=on_token, **options))
        parts: list[bytes] = []
        self._subject.generate(ids, on_token=lambda id, logprob, text, top: parts.append(text), **options)
        return b"".join(parts).decode("utf-8", "replace")


class Encoder(_Text):
    """A text encoder: a classifier, embeddings, or both."""

    def _pair(self, text: Any, second: Any) -> tuple[Sequence[int], Sequence[int] | None]:
        if isinstance(text, (str, bytes)):
            return self._subject.encode(text, second)
        if second is not None:
            raise InvalidArgument("a second text goes with a first text, not with ids")
        return super()._ids(text)

    def _ids(self, prompt: Any) -> tuple[Sequence[int], Sequence[int] | None]:
        if isinstance(prompt, tuple) and len(prompt) == 2 and isinstance(prompt[0], (str, bytes)):
            return self._pair(*prompt)
        return self._pair(prompt, None)

    @named_keywords
    def tokenize(self, text: Text, *, special: bool = False, bos: bool = True, continues: bool = False) -> list[int]:
        """Token ids; bos: with the special tokens around the text."""
        if bos and not continues:
            return self._subject.encode(text)[0]
        return self._subject.tokenize(text, special, False, continues)[0]

    def explain(self, text: Prompt | None = None, *, second: str | None = None, progress: Progress = None,
                **keys: Unpack[EncoderKeys]) -> PromptResult:
        """Which parts of the text drove the class or the similarity.

        second: a second text, read together with the first. progress: True, or a callable (what, done, total).
        Further keywords (label, versus, similar_to, ...): ascribe.keys("encoder").
        """
        return self._ask(self._about(text, second, keys), progress)

    def _about(self, text: Any, second: Any, keys: Mapping[str, Any]) -> Question:
        q = self._question(text, keys)
        q.put("second", second)
        return q

    def price(self, text: Prompt | None = None, *, second: str | None = None, **keys: Unpack[EncoderKeys]) -> Price:
        """What explain() with the same arguments would cost, without doing it."""
        return self._price(self._about(text, second, keys))

    def compare(self, methods: Sequence[str | Mapping[str, Any]], text: Prompt | None = None, *,
                second: str | None = None, progress: Progress = None, **keys: Unpack[EncoderKeys]) -> Comparison:
        """explain() by several methods (names, or dicts of keys)."""
        return self._compare(methods, self._about(text, second, keys), progress)

    @named_keywords
    def classify(self, text: Prompt | tuple[Text, Text]) -> Floats:
        """Scores (logits) of the classes, in the order of classes(): [classes], of token classifiers [tokens,
        classes]. A pair of texts is read together."""
        return self._run(text, [], "classes")[1]  # type: ignore[no-any-return]

    @named_keywords
    def embed(self, text: Prompt | tuple[Text, Text] | Sequence[Prompt | tuple[Text, Text]], *,
              progress: Progress = None) -> Floats:
        """The text's embedding, of length 1: [width]. Of a list of texts (or pairs, or lists of ids) [texts, width]:
        those of equal length run together. A tuple of two texts is one pair.

        progress: of a list; True, or a callable (what, done, total).
        """
        if not _is_list_of_texts(text):
            return self._run(text, [], "embedding")[1]  # type: ignore[no-any-return]
        import numpy
        with self._lock:
            patched = bool(self._patches)
        if patched and len(text) > 0:  # replaced values are of one text
            return numpy.stack([self._run(t, [], "embedding")[1] for t in text])
        with watched(progress) as call:
            data, width = self._subject.embed([self._ids(t) for t in text], call)
        wide: Any = numpy.ndarray((len(text), width), numpy.float64, bytearray(data))
        narrow = wide.astype(numpy.float32)
        return wide if (narrow != wide).any() else narrow  # type: ignore[no-any-return]  # float64: the reference device
