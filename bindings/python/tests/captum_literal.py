"""Values of captum_expected.tsv, which are written as Python has them: tensors as lists, arange(..).view(..), full(..),
empty[..], tuples of these, and what was only summed up or named."""
import ast
import re

import numpy as np


class Unreadable(Exception):
    """Not a value: a function's name, a summary, an object."""


class Named(str):
    """The name of something that was not recorded: "callable:f", "obj:DataLoader"."""


_ARANGE = re.compile(r"arange\(([-\d.]+),step=([-\d.e]+)\)(?:\.view\(\[([\d, ]*)\]\))?")
_FULL = re.compile(r"full\(\[([\d, ]*)\],\s*([-\d.e+infa]+)\)")
_EMPTY = re.compile(r"empty\[([\d, ]*)\]")
_NAMED = re.compile(r"(?:callable|obj):[\w.<>]+")
_SUMMARY = re.compile(r"tensor\[[^\]]*\]\(.*?\]\)")
_TENSOR = re.compile(r"tensor\((\[[^)]*\])\)|T(\[[^\]]*\])")


def _sizes(text):
    return [int(t) for t in text.replace(" ", "").split(",") if t]


def split(text, separator=","):
    """Parts at the top level of brackets and quotes."""
    parts, depth, quote, start = [], 0, "", 0
    for i, c in enumerate(text):
        if quote:
            quote = "" if c == quote else quote
        elif c in "'\"":
            quote = c
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        elif c == separator and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    return [p.strip() for p in parts if p.strip()]


def value(text):
    """The value; lists of numbers stay lists (tensor() makes arrays of them)."""
    kept = []

    def keep(v):
        kept.append(v)
        return "('@', %d)" % (len(kept) - 1)

    def arange(m):
        shape = _sizes(m.group(3)) if m.group(3) else None
        if shape is None:
            raise Unreadable("arange without a shape")
        return keep((float(m.group(1)) + float(m.group(2)) * np.arange(int(np.prod(shape)))).reshape(shape))

    if _SUMMARY.search(text):
        raise Unreadable("only a summary was recorded")
    text = _ARANGE.sub(arange, text)
    text = _FULL.sub(lambda m: keep(np.full(_sizes(m.group(1)), float(m.group(2)))), text)
    text = _EMPTY.sub(lambda m: keep(np.zeros(_sizes(m.group(1)))), text)
    text = _NAMED.sub(lambda m: keep(Named(m.group(0))), text)
    text = re.sub(r"slice\(([^)]*)\)", lambda m: keep(slice(*(ast.literal_eval(p) for p in split(m.group(1))))), text)
    text = _TENSOR.sub(lambda m: keep(np.asarray(ast.literal_eval(m.group(1) or m.group(2)))), text)
    text = re.sub(r"\bnan\b", lambda m: keep(float("nan")), text)
    text = re.sub(r"(?<![\w])(-?)inf\b", lambda m: keep(float(m.group(1) + "inf")), text)
    try:
        parsed = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise Unreadable("not understood: %s" % text[:60]) from None

    def fill(v):
        if isinstance(v, tuple) and len(v) == 2 and v[0] == "@":
            return kept[v[1]]
        return type(v)(fill(e) for e in v) if isinstance(v, (tuple, list)) else v

    return fill(parsed)


def tensor(v, dtype=np.float32):
    """Lists of numbers as arrays, inside tuples too."""
    if isinstance(v, tuple):
        return tuple(tensor(e, dtype) for e in v)
    if isinstance(v, np.ndarray):
        return v.astype(dtype) if v.dtype != bool else v
    if isinstance(v, list):
        try:
            a = np.array(v)
        except ValueError:
            return v
        return a if a.dtype == bool else a.astype(dtype) if a.dtype.kind in "iuf" else v
    return v


def arguments(text):
    """("k=v, ...; ctor{k=v, ...}") as two dicts of texts."""
    call, made = {}, {}
    for part in split(text, ";"):
        into = call
        if part.startswith("ctor{"):
            part, into = part[5:-1], made
        for one in split(part):
            key, _, v = one.partition("=")
            into[key.strip()] = v.strip()
    return call, made
