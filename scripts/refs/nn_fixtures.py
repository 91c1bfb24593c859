#!/usr/bin/env python3
"""Writes tests/data/nn/layers.jsonl: layers of PyTorch (2.15, float64) with weights, inputs, values and gradients.

usage: nn_fixtures.py OUTPUT. A line: layer, options, state (name -> [shape, values]), x, y and dx (each [shape, values]);
dx is the gradient of sum(seed * y), seed = cos of 0, 1, 2, .. in row-major order."""
import json
import sys

import torch
from torch import nn

torch.manual_seed(11)
torch.set_default_dtype(torch.float64)


def pack(t):
    return [list(t.shape), [float("%.15g" % v) for v in t.detach().reshape(-1).tolist()]]


def case(out, layer, module, x, run=None, **options):
    module.eval()
    for name, b in module.named_buffers():
        if name.startswith("running"):
            b.copy_(torch.rand_like(b) + 0.3)
    for p in module.parameters():
        p.data = torch.randn_like(p) * 0.5
    grad = x.is_floating_point()
    x.requires_grad_(grad)
    y = (run or module)(x)
    y = y[0] if isinstance(y, tuple) else y
    line = {"layer": layer, "options": options,
            "state": {k: pack(v) for k, v in module.state_dict().items() if v.dim() > 0},
            "x": pack(x), "y": pack(y)}
    if grad:
        seed = torch.cos(torch.arange(y.numel(), dtype=torch.float64)).reshape(y.shape)
        (dx,) = torch.autograd.grad((seed * y).sum(), x)
        line["dx"] = pack(dx)
    out.write(json.dumps(line) + "\n")


r = torch.randn
with open(sys.argv[1], "w") as f:
    case(f, "linear", nn.Linear(5, 3), r(4, 5))
    case(f, "linear", nn.Linear(5, 3, bias=False), r(2, 3, 5))
    case(f, "linear", nn.Linear(4, 2), r(4))
    case(f, "conv", nn.Conv1d(2, 3, 3), r(2, 2, 7))
    case(f, "conv", nn.Conv1d(4, 4, 3, stride=2, padding=2, dilation=2, groups=2, bias=False), r(2, 4, 9),
         stride=[2], pad=[2], dilation=[2], groups=2)
    case(f, "conv", nn.Conv2d(2, 4, (3, 2), stride=(2, 1), padding=(1, 0)), r(2, 2, 6, 5), stride=[2, 1], pad=[1, 0])
    case(f, "conv", nn.Conv3d(1, 2, 2), r(1, 1, 3, 4, 3))
    case(f, "conv_transpose", nn.ConvTranspose1d(3, 2, 3), r(2, 3, 4))
    case(f, "conv_transpose", nn.ConvTranspose2d(4, 2, 3, stride=2, padding=1, output_padding=1, groups=2, dilation=2),
         r(1, 4, 3, 4), stride=[2, 2], pad=[1, 1], dilation=[2, 2], groups=2, output_pad=[1, 1])
    case(f, "conv_transpose", nn.ConvTranspose3d(1, 2, 2, stride=2, bias=False), r(1, 1, 2, 2, 3), stride=[2, 2, 2])
    case(f, "batch_norm", nn.BatchNorm1d(3), r(4, 3))
    case(f, "batch_norm", nn.BatchNorm2d(3, eps=0.01), r(2, 3, 2, 2), eps=0.01)
    case(f, "batch_norm", nn.BatchNorm1d(3, affine=False), r(2, 3, 5))
    case(f, "layer_norm", nn.LayerNorm(6), r(2, 3, 6))
    case(f, "layer_norm", nn.LayerNorm(6, elementwise_affine=False, eps=0.1), r(3, 6), eps=0.1)
    case(f, "group_norm", nn.GroupNorm(2, 4), r(2, 4, 3, 2), groups=2)
    case(f, "group_norm", nn.GroupNorm(3, 3, affine=False), r(2, 3, 5), groups=3)
    case(f, "embedding", nn.Embedding(7, 3), torch.tensor([[0, 6, 2], [2, 2, 5]]))
    for k, m in enumerate([nn.ReLU(), nn.Sigmoid(), nn.Tanh(), nn.Softplus(), nn.ELU(), nn.LeakyReLU(), nn.GELU(), nn.SiLU()]):
        case(f, "activation", m, 2 * r(3, 4), kind=k)
    case(f, "max_pool", nn.MaxPool1d(3), r(2, 2, 10), size=[3])
    case(f, "max_pool", nn.MaxPool2d(3, 2, 1), r(2, 2, 7, 6), size=[3, 3], stride=[2, 2], pad=[1, 1])
    case(f, "max_pool", nn.MaxPool3d(2), r(1, 1, 4, 5, 4), size=[2, 2, 2])
    case(f, "avg_pool", nn.AvgPool1d(2), r(2, 2, 7), size=[2])
    case(f, "avg_pool", nn.AvgPool2d((3, 2), 2, (1, 1)), r(1, 2, 6, 5), size=[3, 2], stride=[2, 2], pad=[1, 1])
    case(f, "softmax", nn.Softmax(-1), r(2, 3, 5))
    case(f, "lstm", nn.LSTM(3, 4, batch_first=True), r(2, 11, 3))
    case(f, "lstm", nn.LSTM(2, 2, batch_first=True, bias=False), r(1, 1, 2))
    case(f, "gru", nn.GRU(3, 4, batch_first=True), r(2, 9, 3))
    case(f, "rnn", nn.RNN(3, 4, batch_first=True), r(2, 70, 3))
