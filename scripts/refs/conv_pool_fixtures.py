#!/usr/bin/env python3
"""Writes tests/data/ops/conv_pool.txt: convolutions and pools with their gradients by torch in double.

usage: conv_pool_fixtures.py > tests/data/ops/conv_pool.txt        (made with torch 2.15)
A case is one line: a name, the number of spatial axes, then `key n v v v ...` groups up to `end`. Values are multiples
of 1/4 in [-2, 2], so convolutions are exact, and maxima have ties."""
import torch
import torch.nn.functional as F

gen = torch.Generator().manual_seed(20)


def draw(*shape):
    return torch.randint(-8, 9, shape, generator=gen).double() / 4


def put(key, values):
    values = [float(v) for v in values]
    print(f" {key} {len(values)} " + " ".join(f"{v:.17g}" for v in values), end="")


def tensor(key, t):
    put(key + "_shape", t.shape)
    put(key, t.detach().flatten().tolist())


def conv(name, x, w, bias, stride, pad, dilation, groups, transposed=False, output_padding=0):
    n = x.dim() - 2
    x, w = x.requires_grad_(), w.requires_grad_()
    b = draw(w.shape[1] * groups if transposed else w.shape[0]).requires_grad_() if bias else None
    if transposed:
        f = [F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d][n - 1]
        y = f(x, w, b, stride, pad, output_padding, groups, dilation)
    else:
        y = [F.conv1d, F.conv2d, F.conv3d][n - 1](x, w, b, stride, pad, dilation, groups)
    g = draw(*y.shape)
    grads = torch.autograd.grad(y, [x, w] + ([b] if bias else []), g)
    print(name, n, end="")
    for key, v in (("stride", stride), ("pad", pad), ("dilation", dilation)):
        put(key, v)
    put("groups", [groups])
    for key, t in (("x", x), ("w", w), ("y", y), ("g", g), ("gx", grads[0]), ("gw", grads[1])):
        tensor(key, t)
    if bias:
        tensor("b", b)
        tensor("gb", grads[2])
    print(" end")


def pool(name, x, kernel, stride, pad, dilation, ceil, include_pad=None):
    n = x.dim() - 2
    x = x.requires_grad_()
    print(name, n, end="")
    for key, v in (("kernel", kernel), ("stride", stride), ("pad", pad), ("dilation", dilation), ("ceil", [ceil])):
        put(key, v)
    if include_pad is None:
        f = [F.max_pool1d, F.max_pool2d, F.max_pool3d][n - 1]
        y, index = f(x, kernel, stride, pad, dilation, ceil_mode=ceil, return_indices=True)
        tensor("index", index)
    else:
        put("include_pad", [include_pad])
        y = [F.avg_pool1d, F.avg_pool2d, F.avg_pool3d][n - 1](x, kernel, stride, pad, ceil, include_pad)
    g = draw(*y.shape)
    (gx,) = torch.autograd.grad(y, [x], g)
    for key, t in (("x", x), ("y", y), ("g", g), ("gx", gx)):
        tensor(key, t)
    print(" end")


conv("conv", draw(2, 3, 7), draw(4, 3, 3), True, [2], [1], [1], 1)
conv("conv", draw(1, 4, 9), draw(6, 2, 2), False, [1], [2], [3], 2)
conv("conv", draw(2, 3, 6, 5), draw(4, 3, 3, 3), True, [1, 1], [1, 1], [1, 1], 1)
conv("conv", draw(1, 2, 8, 9), draw(3, 2, 3, 2), True, [2, 3], [1, 0], [2, 1], 1)
conv("conv", draw(1, 4, 5, 6), draw(4, 1, 3, 3), True, [2, 1], [1, 1], [1, 1], 4)
conv("conv", draw(2, 4, 4, 4), draw(6, 2, 1, 1), False, [2, 2], [0, 0], [1, 1], 2)
conv("conv", draw(1, 2, 4, 5, 3), draw(3, 2, 2, 3, 2), True, [1, 2, 1], [1, 1, 0], [1, 1, 2], 1)
conv("conv_transpose", draw(2, 3, 5), draw(3, 2, 4), False, [3], [1], [1], 1, True, 2)
conv("conv_transpose", draw(1, 4, 3, 4), draw(4, 3, 3, 2), False, [2, 1], [1, 0], [1, 2], 1, True, [1, 0])
conv("conv_transpose", draw(2, 4, 3, 3), draw(4, 1, 3, 3), False, [2, 2], [1, 1], [1, 1], 2, True, [0, 1])
conv("conv_transpose", draw(1, 2, 2, 3, 2), draw(2, 2, 2, 2, 3), False, [2, 1, 2], [0, 1, 1], [1, 1, 1], 1, True)
for shape, kernel, stride, pad, dilation in (
    ((2, 2, 9), [3], [2], [1], [1]),
    ((1, 2, 8, 7), [3, 2], [2, 3], [1, 0], [1, 1]),
    ((2, 1, 6, 6), [3, 3], [1, 1], [1, 1], [1, 1]),
    ((1, 2, 9, 8), [2, 3], [2, 2], [1, 1], [3, 2]),
    ((1, 1, 6, 6), [2, 2], [3, 3], [1, 1], [1, 1]),
    ((1, 2, 4, 5, 6), [2, 3, 2], [2, 2, 3], [1, 1, 0], [1, 1, 1]),
):
    for ceil in (False, True):
        pool("max_pool", draw(*shape), kernel, stride, pad, dilation, ceil)
        if max(dilation) == 1:
            for include_pad in (False, True):
                pool("avg_pool", draw(*shape), kernel, stride, pad, dilation, ceil, include_pad)
