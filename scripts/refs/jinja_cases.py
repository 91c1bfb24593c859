#!/usr/bin/env python3
"""Writes tests/data/jinja_cases.jsonl: templates with what jinja2 3.x prints for them.

Needs `pip install jinja2` in an environment of its own. The environment is set up as chat templates expect it:
trim_blocks, lstrip_blocks, the loop controls extension, raise_exception, and a tojson without HTML escapes.
Rows: {"template", "vars", "expected"} or {"template", "vars", "fails": true}.
"""
import json
import random
import sys

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

CHAT = {
    "messages": [
        {"role": "system", "content": " Be brief. "},
        {"role": "user", "content": "Hi <b> \u00e9\u4f60\n"},
        {"role": "assistant", "content": "ok"},
    ],
    "add_generation_prompt": True,
    "bos_token": "<s>",
    "eos_token": "</s>",
}
V = {"a": 1, "b": 2.5, "s": "h\u00e9llo", "t": True, "n": None, "l": [1, "x", None, 2.0], "d": {"k": "v", "m": {"z": 0}}, "e": []}

EXPR = r"""
1|a|a + 1|a - 3|a * 2.0|7 / 2|7 // 2|-7 // 2|7 % 3|-7 % 3|7 % -3|7.5 % 2|-7.5 // 2|2 + 3 * 4|(2 + 3) * 4|10 - 2 - 3|2 * 3 % 4
1.0|1e16|1e15|123456789012345678|1.5e-5|0.0001|1e22|-0.0|0.1 + 0.2|1 / 3|100.0|2.50|1e100|-a|+a|- - a|-a + 3|--3
true|false|none|True|None|t and a|n or s|not t|not n and t|t and n|e or 0|'' or 'x'|1 and 2 and 3|0 or n or 'z'
1 == 1.0|1 == true|'1' == 1|a != 2|a < 2|a <= 1|b > 2|b >= 3|'a' < 'b'|'é' > 'z'|1 < 2 < 3|1 < 2 > 5|none == none|none == undefinedvar
undefinedvar == undefinedvar2|l == [1, 'x', none, 2]|d == {'m': {'z': 0}, 'k': 'v'}|(1, 2) == [1, 2]|[] == e
'x' in l|'y' in l|'ell' in 'hello'|'' in 'x'|'k' in d|'q' not in d|1 in [1.0]|none in l|'x' in undefinedvar|not 'x' in l|1 in (1, 2)
s|s[0]|s[1]|s[-1]|s[9]|l[0]|l[-1]|l[1]|l[99]|d.k|d['k']|d.m.z|d['m']['z']|d.nope|d['nope']|l.0|l[0:2]|l[-2:]|l[::-1]|l[::2]|s[1:3]|s[::-1]|s[:-1]|s[5:]|l[1:99]|l[3:1]|l[-99:2]|s[-3:-1]|s[4:1:-1]|s[-1:-4:-2]|l[:0:-1]
'a' ~ 1 ~ none ~ true ~ 2.0|'a' + 'b'|'ab' * 3|3 * 'ab'|'x' * -1|[1] + [2]|[1, 2] * 2|(1, 2)|(1,)|()|[1, [2, 'it''s']]|{'a': 1, 'b': [none, true]}|[1.5, 'é', "q'", 'q"', "'\"", '\n\t\\']|['\x00\x7f\u200b\u00a0é']
'tab\tnl\\n\x41\u00e9\101\q'|"dq\"sq'"|'a' 'b' "c"|'\U0001F600'|'line\
cont'
s if t else 'no'|'yes' if n else 'no'|'only' if n|1 if t else 2 if t else 3|('a' if n) ~ 'b'
' x '|trim|s|upper|S|'Straße'|upper|'ÀÉ'|lower|s|length|l|length|d|count|undefinedvar|length|''|length
a is defined|zz is defined|zz is undefined|zz is not defined|n is none|a is none|s is string|d is mapping|l is sequence|s is sequence|d is sequence|l is iterable|a is number|t is number|a is integer|t is integer|b is float|t is boolean|t is true|a is true|3 is odd|4 is even|9 is divisibleby 3|9 is divisibleby(2)|a is eq 1|a is ne(1)|a is lt 2|a is gt 5|a is in [1]|range is callable|l is mapping|not a is defined|a is defined and t
undefinedvar|undefinedvar ~ 'x'|not undefinedvar|undefinedvar or 'dflt'
[1,2,3,]|{'a': 1,}|{}|[]|[[]]|'{{'|'%}'|"}}"|{'a': {'b': 1}}.a.b
"""

EXPR_LINES = [
    "zz|default('x')", "n|default('x')", "n|default('x', true)", "''|default('y', boolean=true)", "zz|d", "s|trim|upper", "-5|abs", "-b|abs",
    "' a b '|trim ~ '.'", "l|first", "l|last", "e|first", "s|first", "s|last", "'abc'|list", "l|join(',')", "l|join", "['a','b']|join(' - ')", "s|string", "5|string ~ 'x'",
    "'42'|int", "'x'|int", "'x'|int(7)", "'3.9'|int", "3.9|int", "-3.9|int", "'2.5'|float", "'x'|float", "t|int", "3|float", "' 12 '|int", "'-7'|int", "d|list", "d|length == 2",
    "range(3)|list", "range(1, 4)|list", "range(5, 0, -2)|list", "range(0)|list", "range(3, 1)|list", "(1, 2)|list", "'<b>'|safe",
    "l|tojson", "d|tojson", "s|tojson", "'\"\\\\\\n\\x01'|tojson", "d|tojson(indent=2)", "[]|tojson(indent=2)", "[1.0, 1e30, none, true]|tojson", "{1: 2, none: 3, true: 4}|tojson", "'</script>'|tojson", "[[1,[2]],{}]|tojson(2)",
    "'\u2003 x \u00a0\u3000'|trim ~ '|'", "'\u00dfa'|upper", "'\u0130'|length", "'\U0001F600x'|length", "'\U0001F600x'[1]", "'it''s'", "1 + true", "true + true", "-true", "7 // 2.0", "5 % 2.5", "1e3|int",
    "('a', 'b')[1]", "{'a': 1}['a']", "[1, 2][-1]", "'abc'[1:][0]", "d['m'].z + 1", "(s ~ '!')|upper", "s ~ '!'|upper", "1 ~ 2 ~ 3", "2 * 3 ~ 4", "'a' ~ 'b' == 'ab'", "not 1 == 2", "1 if zz is defined else 2",
    "l[a]", "l[a:][0]", "d[s] is defined", "a == 1 and b == 2.5 or zz.y", "'x' if 'system' == 'system' and not zz", "{'a': 1}.a", "{1: 'one'}[1]", "[0] and 1",
    "1,2", "1,", "a,b", "'%s' == '%s'", "0 == false", "'' == false", "none is none", "1 is not none", "zz is none", "'a' not in ('a', 'b')", "not ('a' in 'abc')", "0.5 == 1/2", "3 > 2 > 1", "2 // -3", "1.0 // 0.3", "-1.0 % 0.3",
]

STATEMENTS = [
    "{% if a %}A{% endif %}", "{% if n %}A{% else %}B{% endif %}", "{% if n %}A{% elif t %}B{% else %}C{% endif %}", "{% if n %}A{% elif e %}B{% elif zz %}D{% else %}C{% endif %}",
    "{% for x in l %}{{ x }},{% endfor %}", "{% for x in e %}{{ x }}{% else %}none{% endfor %}", "{% for x in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }} {% endfor %}",
    "{% for x in [1,2] %}{% for y in [3,4] %}{{ loop.index }}{{ x }}{{ y }}{% endfor %}{{ loop.index }}{% endfor %}", "{% for c in s %}[{{ c }}]{% endfor %}", "{% for k in d %}{{ k }}={{ d[k] }};{% endfor %}",
    "{% for k, v in [(1, 2), [3, 4]] %}{{ k }}{{ v }}{% endfor %}", "{% for x in range(3) %}{{ x }}{% endfor %}", "{% for x in l if x %}{{ loop.index }}{{ x }}{% endfor %}", "{% for x in l if x is none %}{{ loop.length }}{% else %}-{% endfor %}",
    "{% for x in [1,2,3] %}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.previtem }}{{ loop.nextitem }}{% endfor %}", "{% for x in undefinedvar %}a{% else %}b{% endfor %}",
    "{% set x = 5 %}{{ x }}", "{% set x = 1 %}{% for i in [1,2] %}{% set x = x + i %}{{ x }}{% endfor %}{{ x }}", "{% set x = 1 %}{% if t %}{% set x = 2 %}{% endif %}{{ x }}", "{% set x, y = 1, 2 %}{{ x }}{{ y }}", "{% set x = [1,2] %}{{ x[1] }}",
    "{% set x %}a{{ a }}b{% endset %}{{ x }}{{ x|length }}", "{% set x = 1, 2 %}{{ x }}", "{% set a = 'shadow' %}{{ a }}", "{% for a in [9] %}{{ a }}{% endfor %}{{ a }}",
    "{% for x in [1,2,3,4] %}{% if x == 2 %}{% continue %}{% endif %}{% if x == 4 %}{% break %}{% endif %}{{ x }}{% endfor %}.", "{# comment #}x", "a{# c #}b", "a {#- c -#} b", "{# {{ not parsed #}y", "{#-#}z", "{# multi\nline #}\nx",
    "{{ 'a' }}{{ 'b' }}", "{{- 'a' -}}", " {{- ' a ' -}} b", "x\n{%- if t %} y {%- endif %}\nz", "  {% if t %}\n  y\n  {% endif %}\nz", "x {% if t %}\ny{% endif %} \n z", "{% if t %}\r\nx\r\n{% endif %}\r\n", "x\n", "x\n\n", "\n\nx",
    "  {%+ if t %}x{% endif %}", "{% if t +%}\nx{% endif %}", "  {# c #}\nx", "  {#+ c #}\nx", "a\n  {{ a }}\n  b", "a\n   {%- set q = 1 -%}   \n\n b", "{{ a\n}}\n", "{%if t%}x{%endif%}", "{% if t %}{% endif %}\n\nx", "x{% set q = 1 %}\ny", "x {% set q = 1 %}\n  {% set r = 2 %}\ny",
    "{% for x in [1,2] %}\n  - {{ x }}\n{% endfor %}\nend", "{% for x in [1,2] -%}\n  - {{ x }}\n{%- endfor %}\nend", "{%- for m in messages %}\n{{- m.role }}:{{ m['content'] | trim }}\n{% endfor %}",
    "{% for message in messages %}{{ message['role'] }}|{{ message.content }}|{{ loop.last }}{% endfor %}", "{% if messages[0]['role'] == 'system' %}{{ messages[0]['content'] }}{% set rest = messages[1:] %}{% else %}{% set rest = messages %}{% endif %}{% for m in rest %}{{ m.role }}{% endfor %}",
    "{{ messages[-1].content }}{{ messages|length }}{{ bos_token }}", "{% for m in messages if m.role != 'system' %}{{ loop.index0 }}{{ m.role }}{% endfor %}", "{{ messages[1].content[0] }}{{ messages[1].content[-2] }}", "{% set x = 'a' if t else 'b' %}{{ x }}",
    "{% for i in range(2) %}{% for m in messages %}{% if loop.first %}{{ i }}{% endif %}{{ m.role[0] }}{% endfor %}{% endfor %}", "{% if not (messages[0].role == 'user') %}no{% endif %}", "{{ messages[0].tool_calls is defined }}", "{{ messages[0]['x'] or 'none' }}",
    "{% if a == 1 and not n %}x{% endif %}", "{% if a in [1, 2] and s is string and l is not string %}x{% endif %}", "}} %} #} {", "{ { x } }", "{{ '{% raw %}' }}", "{{ \"a\nb\" }}", "plain", "", " ", "\n", "{% set x = {'a': [1, {'b': 2}]} %}{{ x.a[1].b }}{{ x['a'][0] }}",
    "{% for x in (1, 2) %}{{ x }}{% endfor %}", "{% for x in 1, 2 %}{{ x }}{% endfor %}", "{% set loop = 3 %}{{ loop }}", "{% for x in [[1,2],[3]] %}{% for y in x %}{{ loop.last }}{% endfor %}|{% endfor %}",
    "{% for x in [1] %}{% set y = 3 %}{% endfor %}{{ y is defined }}", "{% for x in [1,2] %}{% if loop.first %}{% set y = x %}{% endif %}{{ y }}{% endfor %}", "{% for x in [] %}{% else %}{% set y = 3 %}{% endfor %}{{ y is defined }}",
    "{% if t %}{% for x in [1] %}{% if x %}{{ x }}{% else %}n{% endif %}{% endfor %}{% else %}m{% endif %}", "{{ {'a': {'b': {}}} }}", "{{ {'}}': 1}['}}'] }}",
]

METHODS = [
    "' ab '.strip()", "'xxabxx'.strip('x')", "'xyabyx'.lstrip('xy')", "'xyabyx'.rstrip('yx')", "'\u2003a\u3000'.strip() ~ '|'", "'\u00e9a\u00e9'.strip('\u00e9')", "' a '.lstrip() ~ '|'", "' a '.rstrip() ~ '|'", "''.strip()", "'a'.strip(none)",
    "'a,b,,c'.split(',')", "' a  b c '.split()", "'a,b,c'.split(',', 1)", "' a  b  c '.split(none, 1)", "'a,b,c'.rsplit(',', 1)", "'a,b,c'.rsplit(',')", "'a b'.rsplit()", "''.split(',')", "''.split()", "'a--b'.split('--')[-1]", "'abc'.split('x')", "'a,b'.split(sep=',')", "'a,b,c'.split(',', maxsplit=0)", "'\u00e9,\u4f60'.split(',')",
    "'<think>x</think>y'.split('</think>')[-1].lstrip('\n')", "'abc'.startswith('a')", "'abc'.startswith('b')", "'abc'.startswith('')", "'abc'.startswith(('x', 'ab'))", "'abc'.endswith('bc')", "'abc'.endswith(('x', 'c'))", "'a'.endswith('abc')", "'abc'.removeprefix('a')", "'abc'.removesuffix('c')", "'abc'.removeprefix('x')",
    "'aXbXc'.replace('X', '--')", "'aXbXc'.replace('X', '', 1)", "'aaa'.replace('aa', 'b')", "'aXb'|replace('X', 'y')", "'aXbX'|replace('X', 'y', 1)", "zz|replace('a', 'b')", "5|replace('5', '6')", "'h\u00e9llo'.find('l')", "'hello'.rfind('l')", "'hello'.find('z')", "'hello'.find('')", "'hello'.rfind('')", "'banana'.count('an')", "'ab'.count('')",
    "'aBc'.upper()", "'aBc'.lower()", "'hELLO wORLD'.capitalize()", "'hELLO'|capitalize", "''|capitalize", "', '.join(['a', 'b'])", "''.join([])", "'-'.join('abc')", "d.items()|list", "d.keys()|list", "d.values()|list", "d.get('k')", "d.get('q')", "d.get('q', 'dflt')", "d|items|list", "zz|items|list", "{'items': 1}['items']", "{}.items()|list|length",
    "messages|selectattr('role', 'equalto', 'user')|list|length", "messages|selectattr('role')|list|length", "messages|rejectattr('role', 'eq', 'system')|map(attribute='role')|join(',')", "messages|map(attribute='content')|map('trim')|join('|')", "l|select('string')|list", "l|select|list", "l|reject('none')|list", "[1,2,3]|map('string')|list", "[1,2,3]|select('gt', 1)|list", "[1,2,3]|reverse|list", "'abc'|reverse", "(1,2)|reverse|list",
    "messages|map(attribute='nope', default='-')|join", "[{'a': {'b': 1}}]|map(attribute='a.b')|list", "[[1, 2]]|map(attribute=1)|list", "[[1, 2]]|map(attribute='1')|list", "messages|selectattr('role', 'in', ['user', 'system'])|list|length", "(messages|selectattr('role', 'eq', 'nobody')) and true", "messages|selectattr('role', 'eq', 'nobody')|first is defined", "messages|selectattr('role', 'eq', 'user')|first|length", "[3,1]|map('abs')|first", "dict(a=1, b='x')", "dict({'q': 0}, a=1)", "dict()", "namespace(x=1).x", "namespace({'a': 2}, b=3).a", "namespace() is defined", "l[:2]|map('string')|join", "'x'|trim('x')", "'a{}b{}'.format(1, 'x')", "'{1}{0}{{}}'.format('a', 'b')", "'{k}-{k}'.format(k=none)", "'none'.format(1)", "[3,1,2]|sort", "['b','A','a','B']|sort", "['b','A','a','B']|sort(case_sensitive=true)", "[3,1,2]|sort(reverse=true)", "messages|sort(attribute='role')|map(attribute='role')|join(',')", "[[1, 'b'], [0, 'c'], [1, 'a']]|sort(attribute=0)", "{'b': 1, 'A': 3, 'c': 2}|dictsort", "{'b': 1, 'A': 3}|dictsort(true)", "{'b': 1, 'A': 3}|dictsort(by='value', reverse=true)", "[]|sort", "{}|dictsort", "'hello'|sort|join", "'xax'|trim('x')",
]

MACROS = [
    "{% set x = 'a' ~ 'b' %}{% set y = x ~ '1' %}{% set z = x ~ '2' %}{{ x }}{{ y }}{{ z }}{{ x + x }}{{ y ~ z ~ y }}", "{% set ns = namespace(s='') %}{% for c in 'abcdefgh' %}{% set ns.s = ns.s ~ c %}{% set t = ns.s ~ '!' %}{{ t }}{% endfor %}{{ ns.s }}",
    "{% set ns = namespace(x=0) %}{% for i in [1,2,3] %}{% set ns.x = ns.x + i %}{% endfor %}{{ ns.x }}", "{% set ns = namespace(found=false) %}{% for m in messages %}{% if m.role == 'user' %}{% set ns.found = true %}{% endif %}{% endfor %}{{ ns.found }}", "{% set ns = namespace() %}{% set ns.a, ns.b = 1, 2 %}{{ ns.a }}{{ ns.b }}{{ ns.c is defined }}{{ ns['a'] }}", "{% set ns = namespace(a=[]) %}{% for i in range(3) %}{% set ns.a = ns.a + [i] %}{% endfor %}{{ ns.a }}", "{% set a = namespace(x=1) %}{% set b = a %}{% set b.x = 2 %}{{ a.x }}",
    "{% macro m(a, b=2) %}[{{ a }},{{ b }}]{% endmacro %}{{ m(1) }}{{ m(1, 3) }}{{ m(b=5, a=4) }}{{ m() }}", "{% macro m() %}\n  x\n{% endmacro %}\n{{ m() }}{{ m()|trim }}.", "{% macro f(n) %}{% if n > 0 %}{{ n }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(4) }}", "{% set g = 'g' %}{% macro m(a) %}{{ g }}{{ a }}{% set g = 'l' %}{{ g }}{% endmacro %}{{ m(1) }}{{ g }}", "{% macro m(a, b=a) %}{{ b }}{% endmacro %}{{ m(1) }}", "{% macro m(a) %}{{ a is defined }}{% endmacro %}{{ m() }}{{ m(none) }}", "{% macro m(x) %}{{ x|upper }}{% endmacro %}{% set y = m('a') %}{{ y ~ m('b') }}{{ y|length }}", "{% for i in [1,2] %}{% macro m() %}{{ i }}{% endmacro %}{{ m() }}{% endfor %}", "{% macro a() %}A{{ b() }}{% endmacro %}{% macro b() %}B{% endmacro %}{{ a() }}", "{% macro m() %}{% for x in [1,2] %}{{ x }}{% if loop.first %},{% endif %}{% endfor %}{% endmacro %}{% for y in [1,2] %}{{ m() }};{% endfor %}", "{%- macro render(v) -%}\n  {%- if v is mapping -%}\n    {%- for k, w in v.items() -%}{{ k }}:{{ render(w) }};{%- endfor -%}\n  {%- elif v is string or v is not iterable -%}\n    {{- v -}}\n  {%- else -%}\n    {%- for w in v -%}{{ render(w) }},{%- endfor -%}\n  {%- endif -%}\n{%- endmacro -%}\n{{ render({'a': [1, {'b': 'c'}], 'd': 2}) }}", "{{ m is defined }}{% macro m() %}{% endmacro %}{{ m is defined }}{{ m is callable }}", "{% macro m(a='x y', b=[1]) %}{{ a }}{{ b }}{% endmacro %}{{ m(b=none) }}",
    "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}", "{% for k, v in d|items %}{{ k }}{% endfor %}", "{% for m in messages|reverse %}{{ m.role }}{% endfor %}", "{% set users = messages|selectattr('role', 'equalto', 'user') %}{% for u in users %}{{ loop.length if false }}{{ u.role }}{% endfor %}{% for u in users %}again{% endfor %}", "{% if messages|selectattr('role', 'eq', 'none') %}truthy{% endif %}", "{% for i in range(messages|length - 1, -1, -1) %}{{ messages[i].role }}{% endfor %}", "{% for m in messages[::-1] %}{{ loop.index0 }}{{ m.role }}{% endfor %}", "{% set ns = namespace(last=-1) %}{% for m in messages[::-1] %}{% set i = messages|length - 1 - loop.index0 %}{% if ns.last < 0 and m.role == 'user' %}{% set ns.last = i %}{% endif %}{% endfor %}{{ ns.last }}",
    "{% set c = messages[1].content %}{% if '</t>' in c %}a{% else %}{{ c.split(' ')[0] ~ c.split(' ')[-1].strip() }}{% endif %}", "{%- if d.get('m') %}{{ d.get('m').z }}{% endif %}", "{{ d.items()|length if false else 'x' }}", "{% macro m(a) %}{% set b %}<{{ a }}>{% endset %}{{ b }}{% endmacro %}{{ m('x') }}",
]

FAILS = [
    "{{ 'a'.split('') }}", "{{ '{}'.format() }}", "{{ '{'.format(1) }}", "{{ '}'.format(1) }}", "{{ '{x}'.format(1) }}", "{{ [1, 'a']|sort }}", "{{ 5|dictsort }}", "{{ {'a': 1}|dictsort(by='x') }}", "{{ [{}]|sort(attribute='x.y') }}", "{{ 'a'.startswith(1) }}", "{{ 'a'.startswith() }}", "{{ 'a'.replace('b') }}", "{{ ','.join([1]) }}", "{{ 'a'.find(1) }}", "{{ zz.strip() }}", "{{ l|map(attribute='a.b')|list }}" , "{% set d.x = 1 %}", "{% set a.x = 1 %}", "{% macro m %}{% endmacro %}", "{% macro m() %}", "{% macro m(a=1, b) %}{% endmacro %}", "{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}", "{% macro m(a) %}{% endmacro %}{{ m(c=1) }}", "{% macro m(a) %}{% endmacro %}{{ m(1, a=1) }}", "{{ (l|map('string'))|length }}", "{{ messages|map(attribute='x.y')|list }}", "{{ 5|reverse }}", "{{ l|map('string')[0] }}", "{% for x in l %}{% macro m() %}{% break %}{% endmacro %}{% endfor %}" ,
    "{{ zz.y }}", "{{ zz['y'] }}", "{{ zz[0] }}", "{{ zz + 1 }}", "{{ 1 + zz }}", "{{ 'a' + 1 }}", "{{ 1 + 'a' }}", "{{ [] + 'a' }}", "{{ 1 < 'a' }}", "{{ zz < 1 }}", "{{ none + 1 }}", "{{ -zz }}", "{{ 'a' - 'b' }}", "{{ 1 / 0 }}", "{{ 1 % 0 }}", "{{ 1.0 // 0 }}", "{{ 1 in 2 }}", "{{ 1 in 'a' }}",
    "{{ d.m.q.r }}", "{{ zz() }}", "{{ a() }}", "{{ 1(2) }}", "{% for x in 5 %}{% endfor %}", "{% for x in n %}{% endfor %}", "{% for a, b in [1] %}{% endfor %}", "{% for a, b in [[1]] %}{% endfor %}", "{{ 5|length }}", "{{ n|length }}", "{{ raise_exception('stop') }}", "{% if zz.a %}x{% endif %}", "{{ zz.a|default('x') }}",
    "{{", "{{ }}", "{{ a", "{{ a }", "{% if a %}", "{% if %}x{% endif %}", "{% endif %}", "{% else %}", "{% for %}{% endfor %}", "{% for x %}{% endfor %}", "{% for x in %}{% endfor %}", "{% for 1 in l %}{% endfor %}", "{% set %}", "{% set 1 = 2 %}", "{% set x = %}", "{%", "{% %}", "{# a", "{{ 'a }}", "{{ a b }}", "{{ (a }}", "{{ a) }}", "{{ [1 }}", "{{ {1 }}",
    "{{ {1:} }}", "{{ a[ }}", "{{ a. }}", "{{ a.'x' }}", "{{ a | }}", "{{ a is }}", "{{ a is not }}", "{{ not }}", "{{ a and }}", "{{ a + }}", "{{ * a }}", "{{ a == }}", "{{ a = 1 }}", "{{ ; }}", "{{ a if }}", "{{ a if b else }}", "{{ f(a=1, 2) }}", "{% if a %}{% for x in l %}{% endif %}{% endfor %}", "{% for x in l %}{% endif %}", "{% set true = 1 %}", "{% for loop in l %}{% endfor %}", "{{ a is defined is string }}", "{% if a %}x{% else %}y{% elif b %}z{% endif %}", "{{ '\\x4' }}", "{{ a is divisibleby 0 }}", "{{ range() }}", "{{ range(1, 2, 0)|list }}", "{{ 'abc'|trim(1, 2) }}", "{{ l|join(1, 2, 3) }}", "{{ s|upper(1) }}", "{{ [1,2](0) }}", "{{ l[0:1:0] }}", "{{ l['a':] }}" , "{{ {[]: 1} }}", "{{ {{}} }}", "{{ 01 }}",
]


MORE = [
    "{{ d|tojson(ensure_ascii=true) }}", "{{ ['\u00e9\u4f60\U0001F600', 'a\"']|tojson(ensure_ascii=true) }}", "{{ d|tojson(separators=(',', ':')) }}", "{{ {'b': 1, 'a': {'d': [1], 'c': 2}}|tojson(sort_keys=true) }}", "{{ l|tojson(indent='--') }}", "{{ d|tojson(indent=1, separators=(', ', ' = ')) }}", "{{ l|tojson(true) }}", "{{ d|tojson(indent=0) }}",
    "{% raw %}{{ not }} {% if %}{% endraw %}x", "  {% raw %}\n a {% endraw %}\nb", "a {%- raw -%} \n {{x}} \n {%- endraw -%} \n b", "{% raw %}{% endraw %}", "x\n  {% raw %}y\n  {% endraw %}\nz", "{%+ raw %}\nq{%+ endraw +%}\nw",
    "{% filter upper %}ab{{ s }}c{% endfilter %}", "{% filter trim|replace('a', 'b') %} a a {% endfilter %}", "{% set x | upper %}a{{ a }}b{% endset %}{{ x }}", "{% set x | trim | length %} abc {% endset %}{{ x + 1 }}", "{% filter indent(2, true) %}a\nb\n{% endfilter %}", "{% filter default('x') %}{% filter lower %}QQ{% endfilter %}{% endfilter %}",
    "{% with %}{% set q = 1 %}{{ q }}{% endwith %}{{ q is defined }}", "{% with x = 1, y = a + 1 %}{{ x }}{{ y }}{% endwith %}{{ x is defined }}", "{% set x = 5 %}{% with x = 1, y = x %}{{ x }}{{ y }}{% endwith %}{{ x }}",
    "{% macro m() %}[{{ caller() }}]{% endmacro %}{% call m() %}in {{ a }}{% endcall %}", "{% macro m(x) %}{% for i in [1, 2] %}{{ caller(i, x) }};{% endfor %}{% endmacro %}{% call(p, q='d') m('z') %}{{ p }}{{ q }}{% endcall %}", "{% macro m() %}{{ caller is defined }}{% endmacro %}{{ m() }}",
    "{% macro m(a) %}{{ a }}|{{ varargs }}|{{ kwargs }}{% endmacro %}{{ m(1, 2, 3, z=4) }}", "{% macro m() %}{{ varargs|length }}{{ kwargs.q }}{% endmacro %}{{ m(q=1) }}{{ m(1, 2) }}", "{% macro m(a, b=2) %}{{ a }}{{ b }}{{ kwargs|length }}{% endmacro %}{{ m(b=1, c=3) }}",
    "{% for x in [[1, [2, [3]]], 4] recursive %}{% if x is number %}{{ x }}@{{ loop.depth }}{% else %}({{ loop(x) }}){% endif %}{% endfor %}", "{% for k in [{'n': 'a', 'c': [{'n': 'b', 'c': []}]}] recursive %}<{{ k.n }}{{ loop(k.c) }}>{% endfor %}",
    "{% for x in [1,2,3] %}{{ loop.cycle('a', 'b') }}{% endfor %}", "{% for x in [1,1,2,2,1] %}{% if loop.changed(x) %}{{ x }}{% endif %}{% endfor %}",
    "{{ [3, 1, 2]|min }}{{ [3, 1, 2]|max }}{{ [1, 2]|sum }}{{ ['b', 'A']|min }}{{ []|max }}{{ [{'a': 2}, {'a': 1}]|min(attribute='a') }}", "{{ [1.5, 2]|sum }}{{ [{'a': 2}, {'a': 1}]|sum(attribute='a') }}{{ [1]|sum(start=10) }}",
    "{{ ['a', 'B', 'A', 'b', 1, 1]|unique|list }}{{ ['a', 'A']|unique(true)|list }}{{ [{'k': 1, 'v': 2}, {'k': 1, 'v': 3}]|unique(attribute='k')|list }}", "{{ range(7)|batch(3)|list }}{{ range(7)|batch(3, 0)|list }}{{ range(7)|slice(3)|list }}{{ range(7)|slice(3, 'x')|list }}",
    "{% for g, items in [{'a': 1, 'b': 'x'}, {'a': 2, 'b': 'y'}, {'a': 1, 'b': 'z'}]|groupby('a') %}{{ g }}:{{ items|map(attribute='b')|join(',') }};{% endfor %}", "{% for g in [{'c': 'B'}, {'c': 'a'}, {'c': 'b'}]|groupby('c') %}{{ g.grouper }}={{ g.list|length }} {% endfor %}",
    "{{ 'a<b>&\"\\''|e }}", "{{ ('<'|safe) + '<' }}", "{{ '<' + ('>'|safe) + '&' }}", "{{ ('<b>'|safe) + ('<i>'|e) + 'x&y' }}", "{{ ('<'|safe) ~ '<' }}", "{{ ('<'|safe)|e }}{{ ('<'|safe)|forceescape }}", "{{ ('<'|safe|string) + '<' }}",
    "{{ 'a\nb\n\nc'|indent }}", "{{ 'a\nb\n\nc\n'|indent(2, true, true) }}", "{{ 'a\nb'|indent('> ') }}", "{{ ''|indent(first=true) }}|", "{{ 'hello wORLD-foo (bar) it\\'s'|title }}", "{{ 'ab'|center(7) }}|{{ 'abc'|center(6) }}|", "{{ 2.5|round }}{{ 3.5|round }}{{ 42|round }}{{ 2.675|round(2) }}{{ 2.1|round(method='ceil') }}{{ 2.99|round(1, 'floor') }}{{ 1234.5678|round(3) }}",
    "{{ ['a', 'b']|map(attribute='x')|list|length }}{{ [{'n': 'a'}, {'n': 'b'}]|join('-', attribute='n') }}",
    "{{ '12'.isdigit() }}{{ 'a1'.isalnum() }}{{ 'ab'.isalpha() }}{{ ' '.isspace() }}{{ ''.isdigit() }}{{ 'aB'.islower() }}{{ 'AB1'.isupper() }}{{ '\u00b2'.isdigit() }}{{ '\u00bd'.isnumeric() }}{{ '1a'.isdigit() }}", "{{ 'a\nb\r\nc\n'.splitlines() }}{{ 'a\n\nb'.splitlines(true) }}{{ ''.splitlines() }}", "{{ 'they\\'re BIG'.title() }}{{ 'x1y'.title() }}",
    "{{ 'a'.ljust(3) }}|{{ 'a'.rjust(3, '*') }}|{{ 'ab'.center(5, '-') }}|{{ '-7'.zfill(4) }}{{ '12'.zfill(1) }}", "{{ 'a=b=c'.partition('=') }}{{ 'a=b=c'.rpartition('=') }}{{ 'abc'.partition('=') }}{{ 'abc'.rpartition('=') }}", "{{ [1, 2, 1].count(1) }}{{ [1, 2].index(2) }}{{ d.copy() == d }}",
]

MORE_FAILS = [
    "{%+ raw +%}\nq{% endraw %}",
    "{% macro m() %}x{% endmacro %}{% call m() %}{% endcall %}", "{% for x in [1] %}{{ loop([2]) }}{% endfor %}", "{% raw %}x", "{% filter %}{% endfilter %}", "{% call 5 %}{% endcall %}", "{% with x %}{% endwith %}", "{{ [1, 2].index(3) }}", "{{ 'a'|batch }}", "{{ ['a', 1]|min }}", "{{ 'x'|round }}", "{{ (l|map('string'))|tojson }}", "{% endfilter %}", "{{ 'a'.zfill('x') }}", "{{ d|tojson(separators=1) }}",
]


def environment():
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])

    def refuse(message):
        raise jinja2.TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    env.globals["raise_exception"] = refuse
    env.filters["tojson"] = tojson
    return env


def whitespace_cases(rng, n):
    """Random tags, signs and blanks: the rules interact, so they are tested together."""
    for _ in range(n):
        parts = []
        for _ in range(rng.randint(2, 7)):
            parts.append(rng.choice(["", " ", "  ", "\n", "\n\n", " \n ", "\t", "x", " x ", "x\n", "\nx", "  x  \n  ", "\u00a0", "\r\n"]))
            sign = lambda: rng.choice(["", "", "-", "+"])
            end = lambda: rng.choice(["", "", "-", "+"])
            kind = rng.randint(0, 4)
            if kind == 0:
                parts.append("{%" + sign() + " set q = 1 " + end() + "%}")
            elif kind == 1:
                parts.append("{{" + rng.choice(["", "-"]) + " 'v' " + rng.choice(["", "-"]) + "}}")
            elif kind == 2:
                parts.append("{#" + sign() + " c " + end() + "#}")
            elif kind == 3:
                parts.append("{%" + sign() + " if t " + end() + "%}" + rng.choice(["", " ", "\n", " y\n"]) + "{%" + sign() + " endif " + end() + "%}")
            else:
                parts.append("{%" + sign() + " for i in [1, 2] " + end() + "%}" + rng.choice(["", " ", "\n", "\n i"]) + "{%" + sign() + " endfor " + end() + "%}")
        parts.append(rng.choice(["", " ", "\n", "x", " x\n", "\n\n"]))
        yield "".join(parts)


def main(path):
    env = environment()
    values = {**V, **CHAT}
    rng = random.Random(20)
    templates = ["{{ %s }}" % e for line in EXPR.strip().split("\n") for e in line.split("|") if e.count("'") % 2 == 0 and e.count('"') % 2 == 0]
    templates += ["{{ %s }}" % e for e in EXPR_LINES + METHODS] + STATEMENTS + MACROS + list(whitespace_cases(rng, 250)) + MORE
    seen, rows = set(), []
    for t in templates + FAILS + MORE_FAILS:
        if t in seen:
            continue
        seen.add(t)
        row = {"template": t}
        try:
            row["expected"] = env.from_string(t).render(**values)
        except Exception as e:  # which class it is does not matter to the reader of the file
            row["fails"] = True
            if t not in FAILS + MORE_FAILS:
                print("fails:", repr(t), e, file=sys.stderr)
        else:
            if t in FAILS + MORE_FAILS:
                print("does not fail:", repr(t), repr(row["expected"]), file=sys.stderr)
                continue
        rows.append(row)
    with open(path, "w", encoding="ascii") as f:
        f.write(json.dumps({"vars": values}) + "\n")
        for row in rows:
            f.write(json.dumps(row) + "\n")
    print(len(rows), "rows", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "tests/data/jinja_cases.jsonl")
