#!/usr/bin/env python3
"""Writes bindings/python/ascribe/_net_ops.py: a method for every op of include/ascribe/ops.def that nets in Python
can use, with the table's own one-line descriptions (docs/ops.md). --check fails if the file is not what it would be."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "bindings/python/ascribe/_net_ops.py"
# written by hand, with numpy's arguments; or not for nets: gradients of other ops, trees, the caller's own C ops
BY_HAND = {"sum", "mean", "max", "min", "prod", "log_sum_exp", "reshape", "transpose", "broadcast", "slice", "concat",
           "cast", "full", "iota", "random", "softmax", "log_softmax", "conv", "max_pool", "avg_pool", "custom",
           "sdpa_tree", "tree_mask", "where", "conv_grad_input", "conv_grad_weight", "max_pool_index", "abs", "neg",
           "add", "sub", "mul", "div", "pow", "matmul", "mod", "arg_max_last"}
DEFAULTS = {("elu", "alpha"): "1.0", ("celu", "alpha"): "1.0", ("leaky_relu", "alpha"): "0.01",
            ("selu", "alpha"): "1.6732632423543772", ("selu", "gamma"): "1.0507009873554805",
            ("hard_sigmoid", "alpha"): "1 / 6", ("hard_sigmoid", "beta"): "0.5", ("is_inf", "positive"): "True",
            ("is_inf", "negative"): "True", ("rope", "mscale"): "1.0", ("sdpa", "window"): "0", ("sdpa", "cap"): "0.0"}
TYPES = {"double": "float", "int": "int", "int64_t": "int", "bool": "bool", "asc_shape": "Sequence[int]",
         "const int64_t *": "Sequence[int]"}

HEAD = '''# Written by scripts/gen-python-ops.py from include/ascribe/ops.def: change that.
"""The ops that a tensor of a net has as methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from . import _ascribe

NUMBERS: dict[str, int] = {name: i for i, (name, _) in enumerate(_ascribe.op_table())}


Operand = Any  # a tensor of the same run, a number or an array of numbers


class TensorOps:
    """Methods that call one op each; the last column of docs/ops.md says what they do."""

    __slots__ = ()

    def _op(self, op: int, *args: Any) -> Self:
        raise NotImplementedError

    def _lift(self, value: Operand) -> int:
        raise NotImplementedError

    @property
    def _number(self) -> int:
        raise NotImplementedError
'''


def docs():
    found = {}
    for line in (ROOT / "docs/ops.md").read_text(encoding="utf-8").splitlines():
        m = re.match(r"\| `(\w+)` \|", line)
        if m:
            cells = re.split(r"(?<!\\)\|", line)
            found[m.group(1)] = cells[-2].strip().replace("\\|", "|")
    return found


def params(text):
    out = []
    for p in text.split(","):
        m = re.match(r"\s*(.*?)(\w+)\s*$", p)
        out.append((m.group(1).strip(), m.group(2)))
    return out


def method(name, text, doc):
    ps = params(text)[1:]
    if not ps or ps[0][0] != "asc_tensor *" or any("const asc_window" in t or "*const *" in t for t, _ in ps):
        return None
    sig, args = ["self"], ["self._number"]
    i = 1
    while i < len(ps):
        kind, arg = ps[i]
        if kind == "asc_tensor *":
            sig.append(f"{arg}: Operand")
            args.append(f"self._lift({arg})")
        elif kind in TYPES:
            default = DEFAULTS.get((name, arg), {"bool": "False"}.get(kind))
            default = "1e-5" if arg == "eps" else "-1" if arg == "axis" and len(ps) == i + 1 else default
            if any("=" in s for s in sig) and default is None:
                return None
            sig.append(f"{arg}: {TYPES[kind]}" + (f" = {default}" if default else ""))
            args.append(arg)
        else:
            return None
        i += 1
    head = f'    def {name}({", ".join(sig)}) -> Self:'
    if len(head) > 110:
        head = f'    def {name}(\n        {", ".join(sig)}\n    ) -> Self:'
    call = f'        return self._op(NUMBERS["{name}"], {", ".join(args)})'
    if len(call) > 110:
        call = f'        return self._op(\n            NUMBERS["{name}"], {", ".join(args)}\n        )'
    return f'\n{head}\n        """{doc}"""\n{call}\n'


def main():
    text = HEAD
    about = docs()
    source = (ROOT / "include/ascribe/ops.def").read_text(encoding="utf-8")
    for m in re.finditer(r"^OP\(\w+, (\w+), \((.*?)\)\)", source, re.M):
        name = m.group(1)
        if name in BY_HAND or name.endswith(("_grad", "_slope")):
            continue
        one = method(name, m.group(2), about.get(name, name))
        if one is not None:
            text += one
    if "--check" in sys.argv:
        if OUT.read_text(encoding="utf-8") != text:
            sys.exit(f"{OUT} is out of date: run scripts/gen-python-ops.py")
    else:
        OUT.write_text(text, encoding="utf-8")


main()
