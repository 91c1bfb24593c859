"""What was meant: names that are like one that is not known."""
from __future__ import annotations

import functools
import inspect
from difflib import get_close_matches
from typing import Callable, NoReturn, ParamSpec, Sequence, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def like_these(given: str, known: Sequence[str], otherwise: str) -> str:
    """What to do about a name that is none of the known ones."""
    near = get_close_matches(given, known, 3)
    return f"did you mean {' or '.join(repr(n) for n in near)}? {otherwise}" if near else otherwise


def keywords_of(function: Callable[..., object]) -> list[str]:
    """Names that a function takes by keyword; without the object's own, private ones, *args and **kwargs."""
    return [p.name for p in inspect.signature(function).parameters.values()
            if p.name not in ("self", "cls") and p.name[0] != "_" and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]


def named_keywords(function: Callable[P, R]) -> Callable[P, R]:
    """The function, which says of an unknown keyword what it takes, and what was meant."""
    given = inspect.signature(function).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in given):  # it looks at them itself
        return function
    names = keywords_of(function)
    known = frozenset(names)

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if not known.issuperset(kwargs):
            who = type(args[0]).__name__ if function.__name__ == "__init__" else function.__qualname__
            refuse_keyword(who, next(k for k in kwargs if k not in known), names)
        return function(*args, **kwargs)

    return call


def refuse_keyword(function: str, key: str, names: Sequence[str]) -> NoReturn:
    """TypeError in Python's words, with what the function takes, or what was meant."""
    raise TypeError(f"{function}() got an unexpected keyword argument {key!r}; "
                    + like_these(key, names, f"it takes {', '.join(names)}"))
