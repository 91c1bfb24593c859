"""Perturbed copies of inputs, made by the caller's function in batches of repeated examples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._arrays import Array, ArgumentError
from .._call import Given


def count_of(n: Any) -> int:
    if not isinstance(n, int) or n < 1:
        raise ArgumentError(f"n_perturb_samples is a whole number from 1, not {n!r}")
    return n


def chunk_of(g: Given, n: int, max_examples_per_batch: Any) -> int:
    """Samples in one call of the function."""
    if max_examples_per_batch is None:
        return n
    if not isinstance(max_examples_per_batch, int) or max_examples_per_batch < 1:
        raise ArgumentError(f"max_examples_per_batch is a whole number from 1, not {max_examples_per_batch!r}")
    return max(1, min(n, max_examples_per_batch // g.examples))


def repeat(g: Given, arrays: list[Array], n: int) -> Any:
    """Each example n times, as the caller's kind of arrays, tuple or not."""
    out = tuple(g.kind.wrap(np.repeat(a, n, axis=0) if a.ndim > 0 else a) for a in arrays)
    return out if g.several else out[0]


def rows(parts: list[list[Array]], examples: int) -> list[Array]:
    """Calls' results [input][example * samples ...] as one [examples * samples, elements] per input."""
    out = []
    for per_input in zip(*parts, strict=True):
        each = [np.asarray(p, np.float64).reshape(examples, p.shape[0] // examples, -1) for p in per_input]
        joined = np.concatenate(each, axis=1)
        out.append(np.ascontiguousarray(joined.reshape(-1, joined.shape[-1])))
    return out


def in_chunks(n: int, chunk: int, call: Callable[[int], list[list[Array]]]) -> list[list[list[Array]]]:
    """call(samples) for all n, a chunk at a time."""
    done, out = 0, []
    while done < n:
        k = min(chunk, n - done)
        out.append(call(k))
        done += k
    return out
