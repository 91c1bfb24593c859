#!/usr/bin/env python3
"""Writes tests/data/ops/torch_ops.txt: values and gradients of single ops by torch in double, at the points where they
bend, tie, overflow or are not defined.

usage: op_fixtures.py > tests/data/ops/torch_ops.txt        (made with torch 2.15)
A case is a few lines: `op NAME`, `f` float attributes, `i` whole attributes, one `in TYPE RANK DIMS.. VALUES..` an
input, `y RANK DIMS.. VALUES..`, `g VALUES..` the cotangent, `d K VALUES..` the gradient of input K, `end`. A `*` among
the numbers is not compared: there torch follows another convention, or has a rounded constant. All inputs are binary32
numbers, so that every device sees the same."""
import math

import torch
import torch.nn.functional as F

inf, nan = math.inf, math.nan
gen = torch.Generator().manual_seed(4)


def text(values, skip=()):
    flat = values.flatten().tolist() if isinstance(values, torch.Tensor) else list(values)
    return " ".join("*" if i in skip else f"{v:.17g}" for i, v in enumerate(map(float, flat)))


def shaped(t):
    return " ".join(map(str, [t.dim(), *t.shape]))


def case(name, inputs, fn, f=(), i=(), skip_y=(), skip_d=(), grad=True):
    """inputs: tensors; float ones are differentiated. skip_*: element numbers that are not compared."""
    xs = [x.double().requires_grad_(grad) if x.is_floating_point() else x for x in inputs]
    y = fn(*xs)
    print("op", name)
    if f:
        print("f", text(f))
    if i:
        print("i", " ".join(str(int(v)) for v in i))
    for x in xs:
        kind = "f32" if x.is_floating_point() else "i32"
        print("in", kind, shaped(x), text(x.detach() if x.is_floating_point() else x))
    print("y", shaped(y), text(y.detach().double() if y.is_floating_point() else y, skip_y))
    if grad:
        g = (torch.randint(1, 9, y.shape, generator=gen) / 4).double()
        print("g", text(g))
        wanted = [k for k, x in enumerate(xs) if x.is_floating_point()]
        for k, d in zip(wanted, torch.autograd.grad(y, [xs[k] for k in wanted], g)):
            print("d", k, text(d, skip_d))
    print("end")


def vec(*v):
    return torch.tensor(v, dtype=torch.float32)


P = vec(0.0, -0.0, 1, -1, 0.5, -0.5, 2.5, -2.5, 3, -3, 6, 0.25, -7, 1.5, 30, -30, inf, -inf, nan, 1e-20, -1e-20, 100, -100)
INF, NEG, NAN = 16, 17, 18


def flat(name, fn, **more):
    case(name, [P], fn, grad=False, **more)


def smooth(name, fn, x=P, **more):
    case(name, [x], fn, **more)


flat("floor", torch.floor)
flat("ceil", torch.ceil)
flat("round", torch.round)
flat("is_nan", lambda x: torch.isnan(x).double())
flat("is_inf", lambda x: torch.isinf(x).double(), f=(1, 1))
flat("is_inf", lambda x: torch.isposinf(x).double(), f=(1, 0))
flat("is_inf", lambda x: torch.isneginf(x).double(), f=(0, 1))
flat("logical_not", lambda x: torch.logical_not(x).double())
smooth("tan", torch.tan)
smooth("asin", torch.asin)
smooth("acos", torch.acos)
smooth("atan", torch.atan)
smooth("sinh", torch.sinh)
smooth("cosh", torch.cosh)
smooth("asinh", torch.asinh)
smooth("acosh", torch.acosh)
smooth("atanh", torch.atanh)
smooth("expm1", torch.expm1)
smooth("log1p", torch.log1p)
smooth("softplus", lambda x: F.softplus(x, threshold=700))
smooth("softsign", F.softsign, skip_d=[INF, NEG])
smooth("mish", lambda x: x * torch.tanh(F.softplus(x, threshold=700)), skip_y=[NEG], skip_d=[INF, NEG])
smooth("hard_swish", F.hardswish, skip_y=[NEG], skip_d=[NEG, NAN])
smooth("elu", F.elu, f=(1,))
smooth("elu", lambda x: F.elu(x, 0.5), f=(0.5,))
smooth("celu", lambda x: F.celu(x, 0.5), f=(0.5,))
smooth("selu", F.selu, f=(1.6732632423543772848170429916717, 1.0507009873554804934193349852946))
smooth("leaky_relu", lambda x: F.leaky_relu(x, 0.25), f=(0.25,))
smooth("hard_sigmoid", lambda x: torch.clamp(x * 0.25 + 0.5, 0, 1), f=(0.25, 0.5))
smooth("clip", lambda x: torch.clamp(x, -3, 2.5), f=(-3, 2.5))
smooth("clip", lambda x: F.relu6(x), f=(0, 6), skip_d=[NAN])
smooth("clip", lambda x: torch.clamp(x, max=0.5), f=(-inf, 0.5))
smooth("clip", lambda x: torch.clamp(x, min=3, max=1), f=(3, 1), skip_d=range(len(P)))

Q = vec(0.0, -0.0, 1, -1, 0.5, 2, -2, 3, -3, 2.5, -2.5, 7, inf, -inf, nan)
n = len(Q)
A, B = Q.repeat_interleave(n), Q.repeat(n)


def pairs(name, fn, a=A, b=B, **more):
    case(name, [a, b], fn, **more)


pairs("pow", torch.pow)
zero_b = [k for k in range(n * n) if B[k] == 0 or not math.isfinite(A[k]) or not math.isfinite(B[k])]
pairs("mod", torch.remainder, f=(0,), skip_d=zero_b)
pairs("mod", torch.fmod, f=(1,), skip_d=zero_b)
pairs("trunc_div", lambda a, b: torch.trunc(a / b), grad=False)
pairs("atan2", torch.atan2, skip_d=[k for k in range(n * n) if not (math.isfinite(A[k]) and math.isfinite(B[k]))])
for op in ("and", "or", "xor"):
    pairs("logical_" + op, lambda a, b, op=op: getattr(torch, "logical_" + op)(a, b).double(), grad=False)
X = vec(3, -2, 0, 1.5, -0.0, -7, 4, -1).reshape(2, 2, 2)
case("prelu", [X, vec(0.25, -0.5).reshape(2, 1)],
     lambda x, s: torch.where(x > 0, x, s * x))
W = torch.tensor([0, 1, 5, 12, 255, 1023, 65535, 8388608, 3], dtype=torch.float32)
V = torch.tensor([7, 3, 6, 10, 170, 512, 255, 8388609, 2], dtype=torch.float32)
for kind, fn in enumerate((torch.bitwise_and, torch.bitwise_or, torch.bitwise_xor)):
    case("bitwise", [W, V], lambda a, b, fn=fn: fn(a.long(), b.long()).double(), i=(kind,), grad=False)
    case("bitwise", [-W, V], lambda a, b, fn=fn: fn(a.long(), b.long()).double(), i=(kind,), grad=False)
S = torch.tensor([0, 1, 2, 3, 4, 5, 6, 1, 2], dtype=torch.float32)
case("bitwise", [W, S], lambda a, b: (a.long() << b.long()).double(), i=(3,), grad=False)
case("bitwise", [-W, S], lambda a, b: (a.long() >> b.long()).double(), i=(4,), grad=False)

T = vec(2, 1, 3, 1, 1, 2, 2, 2, 5, -1, -1, 0).reshape(3, 4)
N = vec(2, nan, 3, 1, 1, inf, -inf, inf, nan, -1, -1, nan).reshape(3, 4)
for t, g in ((T, True), (N, False)):
    case("min", [t], lambda x: torch.min(x, 1).values, i=(1, 0), grad=g)
    case("min", [t], lambda x: torch.min(x, 0, keepdim=True).values, i=(0, 1), grad=g)
    case("max", [t], lambda x: torch.max(x, 1).values, i=(1, 0), grad=g)
    case("arg_min", [t], lambda x: torch.argmin(x, 1), i=(1, 0), grad=False)
    case("arg_max", [t], lambda x: torch.argmax(x, 0), i=(0, 0), grad=False)
    last = lambda f, d: lambda x: x.shape[d] - 1 - f(torch.flip(x, [d]), d)
    case("arg_min", [t], last(torch.argmin, 1), i=(1, 1), grad=False)
    case("arg_max", [t], last(torch.argmax, 0), i=(0, 1), grad=False)
    for large in (1, 0):
        order = lambda x, large=large: torch.sort(x, dim=1, descending=bool(large), stable=True).indices[:, :3]
        case("top_k", [t], order, i=(3, large), grad=False)
Z = vec(2, 0, 3, 4, 0, 2, 0, 5, 1.5, -2, 0.5, 4, inf, 2, 1, 1, nan, 2, 1, 0).reshape(5, 4)
case("prod", [Z], lambda x: torch.prod(x, 1), i=(1, 0), skip_d=range(12, 20))
case("prod", [Z[:3]], lambda x: torch.prod(x, 0, keepdim=True), i=(0, 1))
case("log_sum_exp", [P[:16]], lambda x: torch.logsumexp(x, 0), i=(1, 0))
case("log_sum_exp", [vec(1000, 1000, -1000, -1000, 0, 1, -inf, 2).reshape(2, 2, 2)],
     lambda x: torch.logsumexp(x, (0, 2)), i=(2, 0, 2))
case("log_sum_exp", [vec(-inf, -inf, 1, inf, 2, nan).reshape(3, 2)], lambda x: torch.logsumexp(x, 1),
     i=(1, 1), skip_d=range(6))
case("cumsum", [T], lambda x: torch.cumsum(x, 1), i=(1, 0, 0))
case("cumsum", [T], lambda x: torch.flip(torch.cumsum(torch.flip(x, [0]), 0), [0]), i=(0, 0, 1))
case("cumsum", [T], lambda x: torch.cumsum(x, 1) - x, i=(1, 1, 0))
case("cumsum", [N], lambda x: torch.cumsum(x, 1), i=(1, 0, 0), grad=False)
index = torch.tensor([[1, 0, 2], [2, 2, 2]])
case("take_along", [T, index], lambda x, j: torch.gather(x, 0, j), i=(0,))
wide = torch.tensor([[3, 0, 3, 1, 1], [0, 0, 2, 3, 1]])
case("take_along", [T, wide], lambda x, j: torch.gather(x, 1, j), i=(1,))
case("put_along", [T[:2, :3], index], lambda g, j: torch.zeros(3, 4, dtype=g.dtype).scatter_add(0, j, g),
     i=(2, 3, 4, 0, 0, 0, 0, 0))
case("put_along", [vec(*range(10)).reshape(2, 5), wide],
     lambda g, j: torch.zeros(3, 4, dtype=g.dtype).scatter_add(1, j, g), i=(2, 3, 4, 0, 0, 0, 0, 1))
case("matmul_bias", [T, vec(*range(8)).reshape(4, 2) / 4, vec(0.5, -3)], lambda a, b, c: a @ b + c, i=(0, 0))
case("matmul_bias", [torch.stack([T, -T]), vec(*range(8)).reshape(2, 4) / 4, vec(0.5, -3)],
     lambda a, b, c: F.linear(a, b, c), i=(0, 1))
