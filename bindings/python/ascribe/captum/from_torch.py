"""A torch.nn.Module as a net: its forward runs once on tensors without numbers, and what it calls is recorded.

Weights are copied. Every module is a site by its path ("features.0"), its input PATH.in; a module that is called again
has PATH#2. Dropout does nothing, as in evaluation. Functions that are not known here are an error that names them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from .._net_frame import Frame
from .._net_tensor import Tensor, Window, per_axis
from ..nets import NetFunction
from ._torch_attention import cell, recurrent
from ._torch_function import tracing
from ._torch_tensor import TorchTensor, plain, plainly, take, torchlike

torch: Any = importlib.import_module("torch")


# ---- modules that are one layer of the library

Build = Callable[[Frame, str, Any, Tensor], Tensor | None]


def _conv(f: Frame, name: str, m: Any, x: Tensor) -> Tensor | None:
    if m.padding_mode != "zeros" or x.ndim != len(m.kernel_size) + 2:
        return None
    pad = m.padding
    if isinstance(pad, str):
        if pad == "valid":
            pad = 0
        elif any((k - 1) * d % 2 for k, d in zip(m.kernel_size, m.dilation, strict=True)):
            return None
        else:
            pad = tuple((k - 1) * d // 2 for k, d in zip(m.kernel_size, m.dilation, strict=True))
    return f.conv(name, x, m.stride, pad, m.dilation, m.groups)


def _conv_transpose(f: Frame, name: str, m: Any, x: Tensor) -> Tensor | None:
    if x.ndim != len(m.kernel_size) + 2:
        return None
    return f.conv_transpose(name, x, m.stride, m.padding, m.dilation, m.groups, m.output_padding)


def _pool(average: bool) -> Build:
    def build(f: Frame, name: str, m: Any, x: Tensor) -> Tensor | None:
        n = x.ndim - 2
        if x.ndim != {"1": 3, "2": 4, "3": 5}[type(m).__name__[-2]] or getattr(m, "divisor_override", None) or getattr(
            m, "return_indices", False
        ):
            return None
        simple = not m.ceil_mode and all(d == 1 for d in per_axis(getattr(m, "dilation", 1), n))
        if average:
            no_pad = all(p == 0 for p in per_axis(m.padding, n))
            simple = simple and (no_pad or m.count_include_pad)
        if simple:
            return f._pool(average, name, x, m.kernel_size, m.stride, m.padding)
        pad = m.padding
        window = Window(m.kernel_size, m.stride, getattr(m, "dilation", 1), pad, pad, m.ceil_mode)
        t = f.site(f"{name}.in", x)
        return f.site(name, t.avg_pool(window, m.count_include_pad) if average else t.max_pool(window))  # type: ignore[no-any-return]

    return build


def _batch_norm(f: Frame, name: str, m: Any, x: Tensor) -> Tensor | None:
    if m.running_mean is None or m.weight is None:
        return None
    return f.batch_norm(name, x, m.eps)


def _layer_norm(f: Frame, name: str, m: Any, x: Tensor) -> Tensor | None:
    return f.layer_norm(name, x, m.eps) if len(m.normalized_shape) == 1 and m.weight is not None else None


def _linear(f: Frame, name: str, m: Any, x: Tensor) -> Tensor | None:
    # A bias may be of any shape that broadcasts: [1, n] is a row that from_torch made flat; others are left to torch's function.
    return f.linear(name, x) if m.bias is None or m.bias.numel() == m.out_features else None


def _activation(kind: str) -> Build:
    return lambda f, name, m, x: f.activation(name, x, kind)


def _same_default(m: Any, **defaults: Any) -> bool:
    return all(getattr(m, k) == v for k, v in defaults.items())


def _if_default(build: Build, **defaults: Any) -> Build:
    return lambda f, name, m, x: build(f, name, m, x) if _same_default(m, **defaults) else None


def _softmax(f: Frame, name: str, m: Any, x: Tensor) -> Tensor | None:
    last = m.dim is not None and m.dim % x.ndim == x.ndim - 1
    return f.softmax(name, x) if last else None


_nn = torch.nn
LAYERS: dict[type, Build] = {
    _nn.Linear: _linear,
    _nn.Embedding: lambda f, name, m, x: f.embedding(name, x) if m.max_norm is None else None,
    **dict.fromkeys((_nn.Conv1d, _nn.Conv2d, _nn.Conv3d), _conv),
    **dict.fromkeys((_nn.ConvTranspose1d, _nn.ConvTranspose2d, _nn.ConvTranspose3d), _conv_transpose),
    **dict.fromkeys((_nn.BatchNorm1d, _nn.BatchNorm2d, _nn.BatchNorm3d), _batch_norm),
    **dict.fromkeys((_nn.MaxPool1d, _nn.MaxPool2d, _nn.MaxPool3d), _pool(False)),
    **dict.fromkeys((_nn.AvgPool1d, _nn.AvgPool2d, _nn.AvgPool3d), _pool(True)),
    _nn.LayerNorm: _layer_norm,
    _nn.GroupNorm: lambda f, name, m, x: f.group_norm(name, x, m.num_groups, m.eps) if m.affine else None,
    _nn.ReLU: _activation("relu"),
    _nn.Sigmoid: _activation("sigmoid"),
    _nn.Tanh: _activation("tanh"),
    _nn.SiLU: _activation("silu"),
    _nn.GELU: _if_default(_activation("gelu"), approximate="none"),
    _nn.ELU: _if_default(_activation("elu"), alpha=1.0),
    _nn.LeakyReLU: _if_default(_activation("leaky_relu"), negative_slope=0.01),
    _nn.Softplus: _if_default(_activation("softplus"), beta=1.0, threshold=20.0),
    _nn.Softmax: _softmax,
    **dict.fromkeys(
        (_nn.Dropout, _nn.Dropout1d, _nn.Dropout2d, _nn.Dropout3d, _nn.Identity),
        lambda f, name, m, x: f.identity(name, x),
    ),
}


RECURRENT = (_nn.LSTM, _nn.GRU, _nn.RNN)
CELLS = (_nn.LSTMCell, _nn.GRUCell, _nn.RNNCell)


# ---- the trace


def _site(frame: Frame, name: str, value: Any) -> Any:
    """A named value, which stays a table of truth values or of whole numbers if it was one."""
    if isinstance(value, (tuple, list)):
        return tuple(_site(frame, f"{name}.{i}", v) for i, v in enumerate(value))
    out = frame.site(name, value)
    out.truth, out.whole = getattr(value, "truth", False), getattr(value, "whole", False)
    return out


@contextmanager
def _watched(module: Any, frame: Frame) -> Iterator[None]:
    """Inside, modules name their values and known layers build themselves."""
    changed = []

    def wrap(name: str, m: Any) -> None:
        own = m.forward

        def forward(*args: Any, **kwargs: Any) -> Any:
            build = LAYERS.get(type(m))
            if isinstance(m, (*RECURRENT, *CELLS)):
                state = args[1] if len(args) > 1 else kwargs.get("hx")
                with plainly(frame):
                    run = recurrent if isinstance(m, RECURRENT) else cell
                    return torchlike(run(frame, name, m, lambda s: take(frame, s), plain(args[0]), plain(state)))
            made = "weight" in m.__dict__  # by a hook, as torch.nn.utils.weight_norm does
            if build is not None and not made and len(args) == 1 and not kwargs and isinstance(args[0], Tensor):
                with plainly(frame):
                    built = build(frame, name, m, plain(args[0]))
                if built is not None:
                    return torchlike(built)
            tensors = [a for a in args if isinstance(a, Tensor)]
            if len(tensors) == len(args) and tensors:
                named = _site(frame, f"{name}.in", tensors if len(tensors) > 1 else tensors[0])
                args = tuple(named) if len(tensors) > 1 else (named,)
            out = own(*args, **kwargs)
            if isinstance(out, Tensor) or (isinstance(out, tuple) and all(isinstance(o, Tensor) for o in out)):
                out = _site(frame, name, out)
            return out

        m.forward = forward
        changed.append(m)

    seen: set[int] = set()
    for name, m in module.named_modules():
        if name and id(m) not in seen and "forward" not in m.__dict__:
            seen.add(id(m))
            wrap(name, m)
    try:
        yield
    finally:
        for m in changed:
            del m.__dict__["forward"]


def from_torch(module: Any, *, batch: bool = True) -> NetFunction:
    """The module as a function that becomes a net for each kind of arguments."""
    if type(module) in LAYERS or isinstance(module, (*RECURRENT, *CELLS)):
        module = _nn.Sequential(module).train(module.training)  # a layer by itself: its site is "0"
    names: dict[int, str] = {}
    params: dict[str, Any] = {}
    for name, p in (*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)):
        names.setdefault(id(p), name)
        a = p.detach().cpu().numpy()
        params[name] = a.astype(np.float32) if a.dtype.kind == "f" else a
    for name, m in module.named_modules():
        if type(m) is _nn.Linear and m.bias is not None and m.bias.numel() == m.out_features:
            key = f"{name}.bias" if name else "bias"
            params[key] = params[key].reshape(-1)
    kept = {name: a for name, a in params.items() if not name.endswith("num_batches_tracked")}

    def forward(frame: Frame, *args: Any) -> Any:
        frame._type = TorchTensor
        frame.names = names  # type: ignore[attr-defined]
        given = [_as_torch(frame, a) for a in args]
        with _watched(module, frame), torch.no_grad(), tracing():
            return _first(module(*given))

    return NetFunction(forward, kept, batch=batch, name=type(module).__name__)


def _as_torch(frame: Frame, value: Any) -> Any:
    if isinstance(value, Tensor):
        out = TorchTensor(frame, value._n)
        kind = frame.kinds.get(value._n, "float32")
        if kind == "bool":
            out = out.to_float()
        out.truth, out.whole = kind == "bool", kind.startswith(("int", "uint"))
        return out
    if isinstance(value, tuple):
        return tuple(_as_torch(frame, v) for v in value)
    return value


def _first(out: Any) -> Any:
    """What is explained of a module's result: the first value of a tuple, dict or output record."""
    if isinstance(out, Tensor):
        return out
    if hasattr(out, "logits"):
        return out.logits
    if isinstance(out, dict):
        return _first(next(iter(out.values())))
    if isinstance(out, Sequence) and out:
        return _first(out[0])
    raise TypeError(f"the module returned {type(out).__name__}, not a tensor")
