"""Keyword arguments as a question: JSON, and the arrays that it speaks of by name."""
from __future__ import annotations

import json
import os
from typing import Any, Mapping

from . import _ascribe
from ._errors import InvalidArgument

KINDS = {"decoder": 1, "encoder": 2, "net": 4}
#: Type of each key, by kind of model.
TYPES: dict[str, dict[str, str]] = {
    kind: {name: what for name, what, subjects, *_ in _ascribe.keys() if subjects & bit}
    for kind, bit in KINDS.items()
}
_LISTS = {"ids", "sizes", "texts", "index", "tokens", "values", "passages"}  # JSON has to hold these themselves
_dumps = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False).encode


def is_array(v: object) -> bool:
    """Whether v holds numbers in memory: numpy, torch, array.array, memoryview; not bytes, not one number."""
    if isinstance(v, (bytes, bytearray, str, int, float, list, tuple, dict)):
        return False
    if isinstance(v, memoryview):
        return True
    t = type(v)
    if t.__module__ == "array" or hasattr(t, "__dlpack__"):
        return getattr(v, "ndim", 1) != 0 or not hasattr(v, "item")
    return hasattr(t, "__array_interface__") and getattr(v, "ndim", 0) > 0 or isinstance(v, _ascribe.Array)


class Question:
    """Collects what a call was given."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.json: dict[str, Any] = {}
        self.names: list[str] = []
        self.arrays: list[Any] = []
        self.held: list[Any] = []  # inner values that stand in the place of others meanwhile (Model.patch)

    def put(self, key: str, value: Any) -> None:
        """One key; None means that it was not given."""
        if value is None:
            return
        if type(value) in (str, int, bool, float):  # the usual, quickly; what is wrong with it the library says
            self.json[key] = value
        else:
            self.json[key] = self._value(key, TYPES[self.kind].get(key, ""), value)

    def put_all(self, keys: Mapping[str, Any]) -> None:
        for key, value in keys.items():
            self.put(key, value)

    def _value(self, key: str, what: str, v: Any) -> Any:
        if isinstance(v, (str, int, float)):  # bool is an int
            return v
        if is_array(v):
            if what in _LISTS:
                return v.tolist()
            self.names.append(f"{key}.{len(self.names)}")
            self.arrays.append(v)
            return {"array": self.names[-1]}
        if what in ("picture", "base64"):
            return _file_bytes(key, v)
        if isinstance(v, (bytes, bytearray)):
            try:
                return v.decode("utf-8")
            except UnicodeDecodeError as e:
                raise InvalidArgument(f"{key}: bytes that are not UTF-8, at place {e.start}",
                                      "give token ids instead: ids=model.tokenize(text)") from None
        if isinstance(v, Mapping):
            return {str(k): self._value(key, what, x) for k, x in v.items()}
        if isinstance(v, (list, tuple)):
            if what == "arrays" and v and any(is_array(x) for x in v):
                return {"arrays": [self._value(key, what, x) for x in v]}
            return [self._value(key, what, x) for x in v]
        if hasattr(v, "item"):  # one number of numpy or torch
            return v.item()
        if hasattr(v, "__fspath__"):
            return os.fspath(v)
        if hasattr(v, "__iter__"):
            return [self._value(key, what, x) for x in v]
        raise InvalidArgument(f"{key}: a {type(v).__name__} is no value for it",
                              f"ascribe.keys({self.kind!r}) tells what each key takes")

    def text(self) -> bytes:
        try:
            return _dumps(self.json).encode("utf-8")
        except UnicodeEncodeError:
            raise InvalidArgument("a text holds half of a character (a lone surrogate)",
                                  "decode it with errors='replace', or give token ids") from None
        except ValueError:
            raise InvalidArgument("a number that is not finite stands where a plain number belongs",
                                  "NaN and infinity have no meaning there") from None


def _file_bytes(key: str, v: Any) -> str:
    """A picture or file as base64: bytes, a path, or a PIL image."""
    import base64
    if isinstance(v, os.PathLike):
        with open(v, "rb") as f:
            v = f.read()
    elif hasattr(v, "save") and hasattr(v, "mode"):
        import io
        out = io.BytesIO()
        v.save(out, format="PNG")
        v = out.getvalue()
    if isinstance(v, (bytes, bytearray, memoryview)):
        return base64.b64encode(v).decode("ascii")
    raise InvalidArgument(f"{key}: a {type(v).__name__} is no file", "give a pathlib.Path, bytes, or base64 text")
