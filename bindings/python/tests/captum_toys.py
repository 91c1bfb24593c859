"""The small models of Captum's tests, written with the builder as a user would: each reads like the module's own
forward, with its arguments. Weights are recorded ones (tests/data/goldens/captum_model_weights.jsonl)."""
import json
import os

import numpy as np

from ascribe.nets import NetFunction


def _multi_layer(f, x, multi_input_module=False):
    lin1 = f.linear("linear1", f.linear("linear0", x))
    if multi_input_module:
        alt = f.linear("linear1_alt", x)
        a, b = f.site("multi_relu.in", (lin1, alt))
        with f.scope("multi_relu"):
            a, b = f.relu("relu1", a), f.relu("relu2", b)
        a, b = f.site("multi_relu", (a, b))
        h = a + b
        f.relu("relu", lin1)  # the model calls it and drops the result
    else:
        h = f.relu("relu", lin1)
    return f.linear("linear2", h)


def multi_layer(multi_input_module=False):

    def forward(f, x, add_input=None, multidim_output=False):
        if add_input is not None:
            x = x + add_input
        out = _multi_layer(f, x, multi_input_module)
        if multidim_output:
            out = f.stack([out, 2 * out], 2)
            return f.stack([out, 4 * out], 3)
        return out

    return forward


def _module(f, name, x):
    x = f.site(name + ".in", x)
    with f.scope(name):
        out = _multi_layer(f, x)
    return f.site(name, out)


def multi_input(f, x1, x2, x3, scale):
    return _module(f, "model", scale * (x1 + x2 + x3))


def true_multi_input(f, x1, x2, x3, x4=None):
    a = _module(f, "m1", x1)
    parts = f.site("m234.in", (x2, x3, x1 if x4 is None else x4))
    with f.scope("m234"):
        b = _module(f, "model", parts[0] + parts[1] + parts[2])
    return a + f.site("m234", b)


def wrapped(f, x1, x2, x3, x4=None):
    xs = [f.identity("input_maps.x%d" % (i + 1), x) for i, x in enumerate((x1, x2, x3, x4)) if x is not None]
    with f.scope("module"):
        return true_multi_input(f, *xs)


def bool_input(f, x, add_input=None):
    x = 10.0 * x.to_float()
    return _module(f, "mod", x if add_input is None else x + add_input)


def conv_net(f, x):
    for i in "12":
        x = f.max_pool("pool" + i, f.relu("relu" + i, f.conv("conv" + i, x)), 2)
    x = f.relu("relu3", f.linear("fc1", x.reshape(-1, 4)))
    return f.softmax("softmax", f.linear("fc2", x))


def one_conv(f, x, x2=None):
    if x2 is not None:
        x = x + x2
    x = f.relu("relu1", f.conv("conv1", x))
    return f.relu("relu2", f.linear("fc1", x.reshape(-1, 8)))


def relu_linear(f, x1, x2, x3=1):
    return f.linear("l3", f.relu("relu", f.concat([f.linear("l1", x1), x3 * f.linear("l2", x2)], 1)))


def basic(f, x):
    return 1 - f.relu("relu", 1 - x)


def basic2(f, x1, x2):
    return f.relu("relu", f.relu("relu1", x1) - 1 - f.relu("relu2", x2))


def basic3(f, x1, x2):
    return f.relu("relu", f.relu("relu1", x1 - 1) - f.relu("relu2", x2))


def basic4(f, x1, x2, a, k=0):
    return f.relu("relu", f.relu("relu1", x1 - 1) - f.relu("relu2", x2) / a)[:, k]


def basic5(f, x1, x2, a, k=0):
    return f.relu("relu", f.relu("relu1", x1 - 1) * a[0] - f.relu("relu2", x2) * a[1])[:, k]


def basic6(f, x1, x2):
    return 1 - f.relu("relu", 1 - (x1 + x2))[:, 1]


def relu_deep_lift(f, x1, x2, x3=2):
    return 2 * f.relu("relu1", x1) + x3 * f.relu("relu2", x2 - 1.5)


def tanh_deep_lift(f, x1, x2):
    return 2 * f.activation("tanh1", x1, "tanh") + 2 * f.activation("tanh2", x2 - 1.5, "tanh")


def linear_max_pool(f, x):
    x = f.linear("lin1", x.expand_dims(1))
    return f.linear("lin2", f.max_pool("pool1", x, 4)[:, 0])


def max_pool(f, x):
    return f.max_pool("maxpool", f.linear("linear", x) if f.has_param("linear.weight") else x, 2)


def reused_modules(f, x):
    return f.relu("relu", f.linear("lin2", f.relu("relu", f.linear("lin1", x))))


def reused_linear(f, x):
    return f.relu("relu", f.linear("lin1", f.relu("relu", f.linear("lin1", x))))


def joined_linear(f, *xs):
    return f.linear("linear", f.concat([x.reshape(x.shape[0], -1) for x in xs], 1))


def sparse(f, x, sparse_list):
    y = f.linear("lin1", x)
    if sparse_list.shape[0] > 0:
        y = y + sparse_list[0]
    return y.sum()


def _two_linear(f, x):
    return f.linear("lin2", f.relu("relu1", f.linear("lin1", x)))


def sigmoid_model(f, x):
    return f.activation("sigmoid", _two_linear(f, x), "sigmoid")


def softmax_model(f, x):
    return f.softmax("softmax", _two_linear(f, x))


def simple_lrp(f, x):
    return f.identity("dropout", f.linear("linear2", f.relu("relu", f.linear("linear", x))))


def tanh_model(f, x):
    return f.linear("linear2", f.activation("tanh", f.linear("linear", x), "tanh"))


def lin_relu(f, x):
    return f.relu("relu", f.linear("lin", x))


def sequential(f, x):
    return f.relu("1", f.conv("0", x))


def skip(f, x):
    return f.site("add", x + f.linear("linear", x))


MODELS = {
    "BasicModel_MultiLayer": multi_layer(), "BasicModel_MultiLayer_MultiInput": multi_input,
    "BasicModel_MultiLayer_TrueMultiInput": true_multi_input, "ModelInputWrapper": wrapped,
    "BasicModelBoolInput": bool_input, "BasicModel_ConvNet": conv_net, "BasicModel_ConvNet_MaxPool1d": conv_net,
    "BasicModel_ConvNet_MaxPool3d": conv_net, "BasicModel_ConvNet_One_Conv": one_conv, "ReLULinearModel": relu_linear,
    "BasicModel": basic, "BasicModel2": basic2, "BasicModel3": basic3, "BasicModel4_MultiArgs": basic4,
    "BasicModel5_MultiArgs": basic5, "BasicModel6_MultiTensor": basic6, "ReLUDeepLiftModel": relu_deep_lift,
    "TanhDeepLiftModel": tanh_deep_lift, "LinearMaxPoolLinearModel": linear_max_pool, "MaxPoolModel": max_pool,
    "BasicModelWithReusedModules": reused_modules, "BasicModelWithReusedLinear": reused_linear,
    "BasicLinearModel": joined_linear, "Linear": joined_linear, "BasicModelWithSparseInputs": sparse,
    "SigmoidModel": sigmoid_model, "SigmoidDeepLiftModel": sigmoid_model, "SoftmaxModel": softmax_model,
    "SoftmaxDeepLiftModel": softmax_model, "SimpleLRPModel": simple_lrp, "Model": tanh_model, "MyModel": lin_relu,
    "Sequential": sequential, "SkipConnection": skip,
}


def _weights(state):
    out = {}
    for name, w in (state or {}).items():
        if isinstance(w, dict):
            out[name] = np.asarray(w["data"], np.float32).reshape(w["shape"])
        else:
            out[name] = np.asarray(w, np.float32)
    return out


class Weights:
    """Recorded weights by key, or the first of a class."""

    def __init__(self, path):
        self.by_key, self.first = {}, {}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as lines:
                for line in lines:
                    one = json.loads(line)
                    self.by_key[one["key"]] = one["state"]
                    self.first.setdefault(one["model"], one["state"])

    def of(self, model, key=None):
        if key == "none":
            return None
        return self.by_key.get(key) if key else self.first.get(model)


def toy(model, state, multi_input_module=False):
    """The model as a NetFunction; KeyError when there is none of that name."""
    forward = multi_layer(True) if multi_input_module and model == "BasicModel_MultiLayer" else MODELS[model]
    return NetFunction(forward, _weights(state), batch=model != "BasicModelWithSparseInputs", name=model)
