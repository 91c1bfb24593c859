"""Progress of long work: a callable of the caller, or a bar of tqdm where that is installed."""
from __future__ import annotations

import importlib
from contextlib import contextmanager
from typing import Any, Callable, Iterator, Union

Progress = Union[bool, None, Callable[[str, float, float], object]]
_Call = Callable[[str, float, float], object]


@contextmanager
def watched(progress: Progress) -> Iterator[_Call | None]:
    """What is handed to the library for a caller's `progress`: True = a bar if there is tqdm, else nothing."""
    if callable(progress):
        yield progress
        return
    try:
        if not progress:
            raise ImportError
        tqdm: Any = importlib.import_module("tqdm.auto").tqdm
    except ImportError:
        yield None
        return
    bars: dict[str, Any] = {}

    def show(what: str, done: float, total: float) -> None:
        if what not in bars:
            for bar in bars.values():
                bar.close()
            bars.clear()
            bars[what] = tqdm(desc=what, total=total or None, leave=False)
        bars[what].update(done - bars[what].n)

    try:
        yield show
    finally:
        for bar in bars.values():
            bar.close()
