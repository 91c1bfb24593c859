#!/usr/bin/env python3
"""Writes tests/data/nn/toy.jsonl: values and gradients of the toy models, by PyTorch (2.15) in float64.

usage: toy_fixtures.py WEIGHTS(captum_model_weights.jsonl) OUTPUT
A line: model, key, options, inputs ([shape, values, "bool" or "float"] each), y [shape, values], dx (per input, null where
it is none), seed = cos of 0, 1, 2, ... The models are written down here a second time, with torch's functions."""
import json
import sys

import torch
import torch.nn.functional as F

torch.manual_seed(5)
weights = {}
with open(sys.argv[1]) as f:
    for line in f:
        d = json.loads(line)
        weights[d["key"]] = {k: torch.tensor(v, dtype=torch.float32).double() for k, v in d["state"].items()}


def lin(w, name, x):
    return F.linear(x, w[name + ".weight"], w.get(name + ".bias"))


def ml(w, x, p="", branches=False, multidim=False):
    l1 = lin(w, p + "linear1", lin(w, p + "linear0", x))
    h = F.relu(l1)
    if branches:
        h = h + F.relu(lin(w, p + "linear1_alt", x))
    y = lin(w, p + "linear2", h)
    if multidim:
        y = torch.stack((y, 2 * y), dim=2)
        y = torch.stack((y, 4 * y), dim=3)
    return y


def convnet(w, x):
    n = x.dim() - 2
    conv, pool = [F.conv1d, F.conv2d, F.conv3d][n - 1], [F.max_pool1d, F.max_pool2d, F.max_pool3d][n - 1]
    for i in "12":
        x = pool(F.relu(conv(x, w["conv%s.weight" % i], w["conv%s.bias" % i])), 2)
    return torch.softmax(lin(w, "fc2", F.relu(lin(w, "fc1", x.reshape(-1, 4)))), 1)


def one_conv(w, x, x2=0):
    x = F.relu(F.conv2d(x + x2, w["conv1.weight"], w["conv1.bias"]))
    return F.relu(lin(w, "fc1", x.reshape(-1, 8)))


def mltmi(w, p, x1, x2, x3, x4=None):
    return ml(w, x1, p + "m1.") + ml(w, x2 + x3 + (x1 if x4 is None else x4), p + "m234.model.")


def basic45(x1, x2, scale1, scale2, k):
    return F.relu(F.relu(x1 - 1) * scale1 - F.relu(x2) * scale2)[:, k]


def joined(w, *xs):
    return lin(w, "linear", torch.cat([x.reshape(x.shape[0], -1) for x in xs], 1))


def sigmoid(w, x):
    return torch.sigmoid(lin(w, "lin2", F.relu(lin(w, "lin1", x))))


out = open(sys.argv[2], "w")


def pack(t):
    return [list(t.shape), [float("%.17g" % v) for v in t.detach().double().reshape(-1).tolist()]]


def case(model, fn, *xs, key=None, **options):
    w = weights[key] if key else {}
    xs = [x if x.dtype == torch.bool else x.double().requires_grad_(True) for x in xs]
    y = fn(w, *xs)
    seed = torch.cos(torch.arange(y.numel(), dtype=torch.float64)).reshape(y.shape)
    real = [x for x in xs if x.dtype != torch.bool]
    grads = iter(torch.autograd.grad((seed * y).sum(), real, allow_unused=True) if real else ())
    dx = []
    for x in xs:
        g = next(grads) if x.dtype != torch.bool else None
        dx.append(pack(g) if g is not None else pack(torch.zeros(x.shape)) if x.dtype != torch.bool else None)
    line = {"model": model, "key": key, "options": options, "y": pack(y), "dx": dx,
            "inputs": [pack(x) + ["bool" if x.dtype == torch.bool else "float"] for x in xs]}
    out.write(json.dumps(line) + "\n")


r = torch.randn
k = "BasicModel_MultiLayer#6a31f9"
case("BasicModel_MultiLayer", ml, 5 * r(4, 3), key=k)
case("BasicModel_MultiLayer", lambda w, x: ml(w, x, branches=True), 5 * r(4, 3), key=k, multi_input_module=True)
case("BasicModel_MultiLayer", lambda w, x, a: ml(w, x + a, multidim=True), 5 * r(4, 3), 5 * r(4, 3), key=k,
     multidim_output=True)
case("BasicModel_MultiLayer_MultiInput", lambda w, a, b, c, s: ml(w, s * (a + b + c), "model."), r(2, 3), r(2, 3), r(2, 3),
     torch.tensor(5.0), key="BasicModel_MultiLayer_MultiInput#b5acf7")
k = "BasicModel_MultiLayer_TrueMultiInput#7c80f9"
case("BasicModel_MultiLayer_TrueMultiInput", lambda w, *x: mltmi(w, "", *x), r(5, 3), r(5, 3), r(5, 3), key=k)
case("BasicModel_MultiLayer_TrueMultiInput", lambda w, *x: mltmi(w, "", *x), 5 * r(5, 3), 5 * r(5, 3), 5 * r(5, 3),
     5 * r(5, 3), key=k)
case("ModelInputWrapper", lambda w, *x: mltmi(w, "module.", *x), 5 * r(5, 3), 5 * r(5, 3), 5 * r(5, 3), 5 * r(5, 3),
     key="ModelInputWrapper#49355d")
case("BasicModelBoolInput", lambda w, x: ml(w, 10 * x.double(), "mod."), torch.tensor([[True, False, True]]),
     key="BasicModelBoolInput#dc27ac")
for k in ["#5e8da3", "#db42be", "#e77a75"]:
    case("BasicModel_ConvNet", convnet, 50 * r(2, 1, 10, 10), key="BasicModel_ConvNet" + k)
case("BasicModel_ConvNet_MaxPool1d", convnet, 50 * r(3, 1, 10), key="BasicModel_ConvNet_MaxPool1d#a788ed")
for k in ["#3a5517", "#eabfbf"]:
    case("BasicModel_ConvNet_MaxPool3d", convnet, 50 * r(1, 1, 10, 10, 10), key="BasicModel_ConvNet_MaxPool3d" + k)
k = "BasicModel_ConvNet_One_Conv#d38181"
case("BasicModel_ConvNet_One_Conv", one_conv, 20 * r(3, 1, 4, 4), key=k)
case("BasicModel_ConvNet_One_Conv", one_conv, torch.arange(16.).view(1, 1, 4, 4), r(1, 1, 4, 1), key=k)
case("BasicModel_ConvNet_One_Conv", one_conv, torch.arange(16.).view(1, 1, 4, 4), torch.tensor([1.]), key=k)
case("ReLULinearModel", lambda w, a, b: lin(w, "l3", F.relu(torch.cat([lin(w, "l1", a), lin(w, "l2", b)], 1))), r(4, 3),
     r(4, 3), key="ReLULinearModel#ced357")
case("ReLULinearModel", lambda w, a, b, c: lin(w, "l3", F.relu(torch.cat([lin(w, "l1", a), c * lin(w, "l2", b)], 1))),
     r(4, 3), r(4, 3), torch.tensor(2.0), key="ReLULinearModel#ced357")
case("BasicModel", lambda w, x: 1 - F.relu(1 - x), r(7))
case("BasicModel2", lambda w, a, b: F.relu(F.relu(a) - 1 - F.relu(b)), torch.tensor([3.]), torch.tensor([1.]))
case("BasicModel3", lambda w, a, b: F.relu(F.relu(a - 1) - F.relu(b)), 2 * r(5, 2), r(5, 2))
case("BasicModel4_MultiArgs", lambda w, a, b, c: basic45(a, b, 1, 1 / c, 1), torch.tensor([[1.5, 2, 34.3], [3.4, 1.2, 2]]),
     torch.tensor([[3, 3.5, 23.2], [2.3, 1.2, 0.3]]), torch.tensor([[1., 2, 3], [4, 5, 6]]), column=1)
case("BasicModel5_MultiArgs", lambda w, a, b, p, q: basic45(a, b, p, q, 2), torch.tensor([[1.5, 2, 34.3], [3.4, 1.2, 2]]),
     torch.tensor([[3, 3.5, 23.2], [2.3, 1.2, 0.3]]), torch.tensor(2.), torch.tensor(3.), column=2)
case("BasicModel6_MultiTensor", lambda w, a, b: (1 - F.relu(1 - (a + b)))[:, 1], r(3, 3), r(3, 3))
case("ReLUDeepLiftModel", lambda w, a, b: 2 * F.relu(a) + 2 * F.relu(b - 1.5), torch.tensor([1., -2]), torch.tensor([2., 1]))
case("ReLUDeepLiftModel", lambda w, a, b, c: 2 * F.relu(a) + c * F.relu(b - 1.5), torch.tensor([1.]), torch.tensor([2.]),
     torch.tensor(3.0))
case("TanhDeepLiftModel", lambda w, a, b: 2 * torch.tanh(a) + 2 * torch.tanh(b - 1.5), r(3), r(3))
case("LinearMaxPoolLinearModel", lambda w, x: lin(w, "lin2", F.max_pool1d(lin(w, "lin1", x.unsqueeze(1)), 4)[:, 0, :]),
     r(3, 4), key="LinearMaxPoolLinearModel#5fdc3b")
case("MaxPoolModel", lambda w, x: F.max_pool1d(lin(w, "linear", x), 2), torch.tensor([[[1., 2], [5, 6]]]),
     key="MaxPoolModel#9bb935")
case("MaxPoolModel", lambda w, x: F.max_pool2d(x, 2), r(1, 1, 4, 4))
case("BasicModelWithReusedModules", lambda w, x: F.relu(lin(w, "lin2", F.relu(lin(w, "lin1", x)))), 2 * r(4, 3),
     key="BasicModelWithReusedModules#85292a")
case("BasicModelWithReusedLinear", lambda w, x: F.relu(lin(w, "lin1", F.relu(lin(w, "lin1", x)))), 2 * r(4, 3),
     key="BasicModelWithReusedLinear#d40592")
case("BasicLinearModel", joined, r(2, 7), torch.zeros(2, 0), key="BasicLinearModel#7479da")
for k in ["#433df2", "#d5a710", "#edef3f"]:
    case("Linear", joined, r(3, 2), r(3, 2, 2), r(3, 1), key="Linear" + k)
s = "BasicModelWithSparseInputs"
case(s, lambda w, x, z: (lin(w, "lin1", x) + z[0]).sum(), torch.tensor([[1., -2, 3], [2, -1, 3]]),
     torch.tensor([1., 7, 2, 4]), key=s + "#2d224d")
case(s, lambda w, x, z: lin(w, "lin1", x).sum(), torch.tensor([[1., -2, 3], [2, -1, 3]]), torch.zeros(0), key=s + "#2d224d")
case("SigmoidModel", sigmoid, r(2, 20), key="SigmoidModel#83c107")
case("SigmoidDeepLiftModel", sigmoid, r(2, 20), key="SigmoidDeepLiftModel#8edce9")
for k in ["#968907", "#eb96ad"]:
    case("SimpleLRPModel", lambda w, x: lin(w, "linear2", F.relu(lin(w, "linear", x))), r(2, 3), key="SimpleLRPModel" + k)
case("Model", lambda w, x: lin(w, "linear2", torch.tanh(lin(w, "linear", x))), r(2, 3), key="Model#3af455")
case("MyModel", lambda w, x: F.relu(lin(w, "lin", x)), r(4, 2), key="MyModel#8b7982")
case("Sequential", lambda w, x: F.relu(F.conv2d(x, w["0.weight"], w["0.bias"])), r(2, 3, 5, 5), key="Sequential#3003a7")
case("SkipConnection", lambda w, x: x + lin(w, "linear", x), r(2, 2), key="SkipConnection#ac1255")
