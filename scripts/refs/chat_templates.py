#!/usr/bin/env python3
"""Writes tests/data/templates/rendered.jsonl: the templates of that folder over many conversations, rendered by jinja2 set up as
transformers does (trim_blocks, lstrip_blocks, loop controls, generation blocks, tojson with json.dumps's options,
raise_exception). strftime_now is a fixed date, as in src/tok. First line: {"cases": [variables]}; then {"template", "case",
"expected"} or {"template", "case", "fails": true}. Needs: pip install jinja2. Usage: chat_templates.py
"""
import datetime
import glob
import json
import os
import sys

import jinja2
import jinja2.nodes
from jinja2.ext import Extension
from jinja2.sandbox import ImmutableSandboxedEnvironment

FOLDER = os.path.join(os.path.dirname(__file__), "..", "..", "tests", "data", "templates")


class Generation(Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def refuse(message):
    raise jinja2.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment():
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, "jinja2.ext.loopcontrols"])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = refuse
    env.globals["strftime_now"] = lambda f: datetime.date(2024, 7, 26).strftime(f)
    return env


TOOLS = [
    {"type": "function", "function": {"name": "get_weather", "description": "The weather <now> – \u6771\u4eac.", "parameters": {
        "type": "object", "properties": {"city": {"type": "string", "enum": ["Paris", "\u6771\u4eac"]}, "days": {"type": "integer", "default": 3}}, "required": ["city"]}, "return": {"type": "number"}}},
    {"type": "function", "function": {"name": "noop", "description": "", "parameters": {"type": "object", "properties": {}}}},
]
CALL = {"id": "call00001", "type": "function", "function": {"name": "get_weather", "arguments": {"city": "\u6771\u4eac", "days": 2, "deep": [1, 2.5, None, True]}}}
CALL2 = {"id": "call00002", "type": "function", "function": {"name": "noop", "arguments": "{}"}}


def said(*pairs):
    return [{"role": r, "content": c} for r, c in pairs]


CHATS = [
    said(("user", "Hi")),
    said(("system", "Be brief."), ("user", "Hello <b> \u00e9 \u4f60\n")),
    said(("user", "a"), ("assistant", "b "), ("user", " c ")),
    said(("system", "S /no_think"), ("user", "a"), ("assistant", "<think>\nhm\n</think>\n\nanswer"), ("user", "c"), ("assistant", "d")),
    said(("user", "q"))[:1] + [{"role": "assistant", "content": "d", "reasoning_content": "because\n"}],
    said(("user", "weather?")) + [{"role": "assistant", "content": "", "tool_calls": [CALL]}, {"role": "tool", "content": "{\"t\": 5}", "name": "get_weather", "tool_call_id": "call00001"}] + said(("assistant", "5"), ("user", "thx")),
    said(("system", "S"), ("user", "w")) + [{"role": "assistant", "content": None, "tool_calls": [CALL, CALL2]}, {"role": "tool", "content": "r1", "tool_call_id": "call00001"}, {"role": "tool", "content": "r2", "tool_call_id": "call00002"}],
    [{"role": "user", "content": [{"type": "text", "text": "one "}, {"type": "image"}, {"type": "text", "text": " two"}]}],
    [],
    said(("assistant", "first")),
    said(("user", ""), ("assistant", "")),
    said(("user", "a"), ("user", "b")),
    said(("user", "\U0001F600\u00a0\u2003 \u05e9\u05dc\u05d5\u05dd {{ x }} {% if %} <|im_end|>")),
]
EXTRAS = [{}, {"tools": TOOLS}, {"enable_thinking": False, "date_string": "1 Jan 2025"}, {"documents": [{"title": "T", "text": "some\ntext"}, {"title": "U", "text": "more"}]}]


def main():
    env = environment()
    cases = []
    for chat in CHATS:
        for i, extra in enumerate(EXTRAS):
            cases.append({"messages": chat, "add_generation_prompt": i % 2 == 0, "bos_token": "<s>", "eos_token": "</s>", "tools": None, "documents": None, **extra})
    rows = failed = 0
    with open(os.path.join(FOLDER, "rendered.jsonl"), "w", encoding="ascii") as out:
        print(json.dumps({"cases": cases}), file=out)
        for path in sorted(glob.glob(os.path.join(FOLDER, "*.jinja"))):
            with open(path, encoding="utf-8", newline="") as f:
                template = env.from_string(f.read())
            for i, case in enumerate(cases):
                row = {"template": os.path.basename(path), "case": i}
                try:
                    row["expected"] = template.render(**case)
                except Exception:
                    row["fails"] = True
                    failed += 1
                print(json.dumps(row), file=out)
                rows += 1
    print(rows, "rows,", failed, "of them fail", file=sys.stderr)


main()
