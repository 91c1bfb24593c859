"""Interpretable inputs of language models: what a feature of a prompt is."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from .._arrays import ArgumentError

Values = list[str] | dict[str, str]


class InterpretableInput:
    """A prompt and its features."""

    values: list[str]
    n_itp_features: int

    def _keys(self, model: Any) -> dict[str, Any]:
        """As keys of a question about the model."""
        raise NotImplementedError


class ProductBaselines:
    """Draws a value for each slot from its list, one independent of the other. (Lists for several slots at once, under
    a tuple of names, are refused when they are used: slots are drawn by themselves here.)"""

    def __init__(self, baseline_values: list[list[Any]] | dict[str | tuple[str, ...], list[Any]]) -> None:
        self.dict_keys = list(baseline_values) if isinstance(baseline_values, dict) else []
        self.baseline_values = (
            list(baseline_values.values()) if isinstance(baseline_values, dict) else baseline_values
        )

    def sample(self) -> list[Any] | dict[str, Any]:
        drawn = [random.choice(one) for one in self.baseline_values]
        if not self.dict_keys:
            return drawn
        out: dict[str, Any] = {}
        for key, value in zip(self.dict_keys, drawn, strict=True):
            if isinstance(key, tuple):
                out.update(zip(key, value, strict=True))
            else:
                out[key] = value
        return out

    def __call__(self) -> list[Any] | dict[str, Any]:
        return self.sample()

    def choices(self, names: Sequence[str] | None) -> list[list[str]]:
        """Lists of the slots in order."""
        if not self.dict_keys:
            return [list(map(str, v)) for v in self.baseline_values]
        if any(isinstance(k, tuple) for k in self.dict_keys):
            raise ArgumentError("baselines: ProductBaselines of several slots at once; give each slot its own list")
        found = dict(zip(self.dict_keys, self.baseline_values, strict=True))
        return [list(map(str, found.get(n, [""]))) for n in names or []]


class TextTemplateInput(InterpretableInput):
    """A prompt with placeholders, whose values are the features.

    template: {} or {name} (a function of the values cannot be looked into). baselines: what stands there instead, by
    default nothing; ProductBaselines draws. mask: values with one number are one feature."""

    def __init__(
        self,
        template: str | Callable[..., str],
        values: Values,
        baselines: Values | Callable[[], Values] | ProductBaselines | None = None,
        mask: list[int] | dict[str, int] | None = None,
    ) -> None:
        if not isinstance(template, str):
            raise ArgumentError("template: a text with placeholders; what a function does with values is not seen here")
        if not isinstance(values, (list, dict)):
            raise ArgumentError(f"values: a list or a dict, not {type(values).__name__}")
        for given, what in ((baselines, "baselines"), (mask, "mask")):
            if isinstance(given, (list, dict)) and (
                type(given) is not type(values)
                or (list(given) != list(values) if isinstance(given, dict) else len(given) != len(values))
            ):
                raise ArgumentError(f"{what}: the same kind and the same names as values")
        if baselines is not None and not isinstance(baselines, (list, dict, ProductBaselines)):
            raise ArgumentError("baselines: texts or ProductBaselines; other functions are not drawn from here")
        self.template = template
        self.baselines = baselines
        self.mask = mask
        self._names = list(values) if isinstance(values, dict) else None
        self.values = [str(v) for v in (values.values() if isinstance(values, dict) else values)]
        groups = list(mask.values() if isinstance(mask, dict) else mask) if mask is not None else None
        self._groups = groups
        self.n_itp_features = len(set(groups)) if groups is not None else len(self.values)

    def to_model_input(self) -> str:
        """The filled prompt."""
        if self._names is None:
            return self.template.format(*self.values)
        return self.template.format(**dict(zip(self._names, self.values, strict=True)))

    def _starts(self) -> list[Any]:
        if self.baselines is None:
            return [None] * len(self.values)
        if isinstance(self.baselines, ProductBaselines):
            return list(self.baselines.choices(self._names))
        assert isinstance(self.baselines, (list, dict))
        return [str(b) for b in (self.baselines.values() if isinstance(self.baselines, dict) else self.baselines)]

    def _keys(self, model: Any) -> dict[str, Any]:
        order = {g: i for i, g in enumerate(dict.fromkeys(self._groups or []))}
        out = []
        for i, (value, start) in enumerate(zip(self.values, self._starts(), strict=True)):
            one: dict[str, Any] = {"value": value}
            if start:
                one["baseline"] = start
            if self._groups is not None:
                one["group"] = order[self._groups[i]]
            out.append(one)
        values: Any = out if self._names is None else dict(zip(self._names, out, strict=True))
        return {"template": self.template, "values": values, "features": "slot"}


class TextTokenInput(InterpretableInput):
    """A prompt whose tokens are the features; absent ones are replaced by one token.

    tokenizer: the model (its own tokenizer is used). baselines: that token, an id or its text. skip_tokens: ids or texts
    of tokens that are no features."""

    def __init__(
        self,
        text: str,
        tokenizer: Any,
        baselines: int | str = 0,
        skip_tokens: list[int] | list[str] | None = None,
    ) -> None:
        if not hasattr(tokenizer, "tokenize") or not hasattr(tokenizer, "_subject"):
            raise TypeError("tokenizer: give the model that ascribe.load() made; its own tokenizer is used")
        self.text = text
        self.baselines = baselines
        self._model = tokenizer
        self._ids = [int(i) for i in tokenizer.tokenize(text, special=True)]
        self._skip = [_token(tokenizer, t) for t in skip_tokens or []]
        shown = [i for i in self._ids if i not in self._skip]
        self.values = [piece(tokenizer, i) for i in shown]
        self.n_itp_features = len(shown)

    def _keys(self, model: Any) -> dict[str, Any]:
        keys: dict[str, Any] = {"ids": self._ids, "features": "token"}
        keys["baseline"] = f"token:{_token(model, self.baselines)}"
        if self._skip:
            keys["skip_tokens"] = self._skip
        return keys


def piece(model: Any, token: int) -> str:
    """The token's text."""
    return bytes(model._subject.piece(token)).decode("utf-8", "replace")


def _token(model: Any, token: int | str) -> int:
    if not isinstance(token, str):
        return int(token)
    ids = [int(i) for i in model.tokenize(token, special=True, bos=False)]
    if len(ids) != 1:
        raise ArgumentError(f"{token!r} is {len(ids)} tokens: one is wanted")
    return ids[0]


class TokenReferenceBase:
    """Makes baselines of token ids: one reference token in every place."""

    def __init__(self, reference_token_idx: int = 0) -> None:
        self.reference_token_idx = reference_token_idx

    def generate_reference(self, sequence_length: int, device: Any = None) -> Any:
        import numpy as np

        ids = np.full(sequence_length, self.reference_token_idx, np.int64)
        if device is None:
            return ids
        import importlib

        torch: Any = importlib.import_module("torch")
        return torch.from_numpy(ids).to(device)
