"""Torch's attention and recurrent modules."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .._net_frame import Frame
from .._net_tensor import Tensor
from ._torch_shapes import flip


HIDDEN = -1e30  # exp of it is 0; a row without any key is NaN in torch and even here


def _masked(scores: Tensor, mask: Any, keep: bool) -> Tensor:
    """Scores plus a mask of numbers, or HIDDEN where a truth value is not `keep`."""
    if mask is None:
        return scores
    if getattr(mask, "truth", False):
        return mask.where(scores, HIDDEN) if keep else mask.where(HIDDEN, scores)  # type: ignore[no-any-return]
    return scores + mask.maximum(HIDDEN)  # type: ignore[no-any-return]


def _attend(q: Tensor, k: Tensor, v: Tensor, mask: Any, keep: bool, causal: bool, scale: float | None) -> Any:
    scores = q.matmul(k, transpose_b=True) * (1.0 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if causal:
        n, m = scores.shape[-2:]
        scores = scores._frame.constant(np.tril(np.ones((n, m), np.float32))).where(scores, HIDDEN)
    share = Tensor.softmax(_masked(scores, mask, keep), -1)
    return share.matmul(v), share


def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Any = None, dropout_p: float = 0.0,
                                 is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False) -> Tensor:
    if enable_gqa and key.shape[-3] != query.shape[-3]:
        raise NotImplementedError("attention with enable_gqa: repeat the keys' heads (repeat_interleave)")
    out: Tensor = _attend(query, key, value, attn_mask, True, is_causal, scale)[0]
    return out


def _times(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    out = x.matmul(weight, transpose_b=True)
    return out if bias is None else out + bias


def multi_head_attention_forward(
    query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int, in_proj_weight: Any, in_proj_bias: Any,
    bias_k: Any, bias_v: Any, add_zero_attn: bool, dropout_p: float, out_proj_weight: Any, out_proj_bias: Any,
    training: bool = True, key_padding_mask: Any = None, need_weights: bool = True, attn_mask: Any = None,
    use_separate_proj_weight: bool = False, q_proj_weight: Any = None, k_proj_weight: Any = None, v_proj_weight: Any = None,
    static_k: Any = None, static_v: Any = None, average_attn_weights: bool = True, is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """[tokens, batch, width], as torch's function has them."""
    if bias_k is not None or bias_v is not None or add_zero_attn or static_k is not None or static_v is not None:
        raise NotImplementedError("MultiheadAttention with add_bias_kv or add_zero_attn")
    alone = query.ndim == 2
    if alone:
        query, key, value = (t.expand_dims(1) for t in (query, key, value))
    e = query.shape[-1]
    weights = (q_proj_weight, k_proj_weight, v_proj_weight)
    if not use_separate_proj_weight:
        weights = tuple(in_proj_weight.slice(0, i * e, e) for i in range(3))
    biases = (None,) * 3 if in_proj_bias is None else tuple(in_proj_bias.slice(0, i * e, e) for i in range(3))
    b, d = query.shape[1], e // num_heads

    def heads(x: Tensor, i: int) -> Tensor:
        y = _times(x, weights[i], biases[i]).reshape([x.shape[0], b, num_heads, d])
        return Tensor.transpose(y, 1, 2, 0, 3)  # [batch, heads, tokens, width]

    q, k, v = heads(query, 0), heads(key, 1), heads(value, 2)
    if attn_mask is not None and attn_mask.ndim == 3:
        truth, shape = getattr(attn_mask, "truth", False), attn_mask.shape
        attn_mask = attn_mask.reshape([b, num_heads, *shape[1:]])
        attn_mask.truth = truth
    if key_padding_mask is not None:
        truth = getattr(key_padding_mask, "truth", False)
        pads = key_padding_mask.reshape([b if not alone else 1, 1, 1, -1])
        low = pads * HIDDEN if truth else pads.maximum(HIDDEN)
        if attn_mask is not None and getattr(attn_mask, "truth", False):
            attn_mask = attn_mask * HIDDEN
        attn_mask = low if attn_mask is None else low + attn_mask.maximum(HIDDEN)
    out, share = _attend(q, k, v, attn_mask, False, is_causal and attn_mask is None, None)
    out = Tensor.transpose(out, 2, 0, 1, 3).reshape([query.shape[0], b, e])
    out = _times(out, out_proj_weight, out_proj_bias)
    share = share.mean((1,)) if average_attn_weights else share
    if alone:
        out, share = out.squeeze(1), share.squeeze(0)
    return out, share if need_weights else None


# ---- recurrent layers


def _step(kind: str, x: Tensor, h: Tensor, c: Tensor | None, w: Tensor, b: Tensor | None, act: str,
          project: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """One step: x are the gates' values from the input, [B, gates * H]."""
    g = _times(h, w, b)
    n = w.shape[0] // {"lstm": 4, "gru": 3, "rnn": 1}[kind]

    def part(t: Tensor, i: int) -> Tensor:
        return t.slice(1, i * n, n)

    if kind == "rnn":
        return getattr(Tensor, act)(x + g), None
    if kind == "gru":
        r, z = ((part(x, i) + part(g, i)).sigmoid() for i in (0, 1))
        new = (part(x, 2) + r * part(g, 2)).tanh()
        return new + z * (h - new), None
    t = x + g
    i, f, o = (part(t, k).sigmoid() for k in (0, 1, 3))
    assert c is not None
    c = f * c + i * part(t, 2).tanh()
    h = o * c.tanh()
    return (h if project is None else _times(h, project, None)), c


def _weights(f: Frame, name: str, suffix: str) -> list[Tensor | None]:
    prefix = f"{name}." if name else ""
    return [f.param(f"{prefix}{w}{suffix}") if f.has_param(f"{prefix}{w}{suffix}") else None
            for w in ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")]


def _unrolled(f: Frame, name: str, m: Any, x: Tensor, suffix: str, h: Any, c: Any) -> tuple[Tensor, Tensor, Tensor | None]:
    """x [B,T,I]: all steps' values [B,T,H], the last, and the last cell state."""
    kind, act = type(m).__name__.lower(), getattr(m, "nonlinearity", "tanh")
    wi, wh, bi, bh, wr = _weights(f, name, suffix)
    assert wi is not None and wh is not None
    gates, steps = _times(x, wi, bi), []
    for t in range(x.shape[1]):
        h, c = _step(kind, gates.slice(1, t, 1).squeeze(1), h, c, wh, bh, act, wr)
        steps.append(h.expand_dims(1))
    return f.concat(steps, 1), h, c


def _given(state: Any) -> Any:
    """An initial state; None where it is all zeros, which it is without one."""
    if state is None or isinstance(state, Tensor):
        return state
    return state if bool(state.any()) else None


def recurrent(f: Frame, name: str, m: Any, take: Callable[[Any], Any], x: Tensor, state: Any = None) -> Any:
    """torch.nn.LSTM, GRU and RNN with any number of layers and directions."""
    if not isinstance(x, Tensor):
        raise NotImplementedError(f"{name}: packed sequences, whose lengths differ: give padded tensors")
    kind = type(m).__name__.lower()
    given = [_given(s) for s in state] if isinstance(state, (tuple, list)) else [_given(state)]
    given += [None] * (2 - len(given))
    alone = x.ndim == 2
    x = f.site(f"{name}.in", x)
    x = x.expand_dims(0) if alone else x if m.batch_first else x.swap_axes(0, 1)
    directions = ("", "_reverse") if m.bidirectional else ("",)
    hs, cs = [], []
    for layer in range(m.num_layers):
        outs = []
        for k, way in enumerate(directions):
            at, suffix = layer * len(directions) + k, f"_l{layer}{way}"
            t = flip(x, 1) if way else x

            def zero(width: int, t: Tensor = t) -> Tensor:
                return f.full((t.shape[0], width), 0.0)

            def first(which: int, width: int, at: int = at, zero: Any = zero) -> Any:
                s = given[which]
                if s is None:
                    return zero(width)
                s = take(s)
                return s.slice(0, at, 1).reshape([-1, width])

            width = m.proj_size or m.hidden_size
            out, h, c = _unrolled(f, name, m, t, suffix, first(0, width), first(1, m.hidden_size) if kind == "lstm" else None)
            outs.append(flip(out, 1) if way else out)
            hs.append(h)
            cs.append(c)
        x = outs[0] if len(outs) == 1 else f.concat(outs, 2)
        if layer + 1 < m.num_layers:
            x = f.site(f"{name}.layer{layer}", x)
    out = x.squeeze(0) if alone else x if m.batch_first else x.swap_axes(0, 1)
    out = f.site(name, out)
    last = f.stack(hs, 0)
    last = last.squeeze(1) if alone else last
    if kind != "lstm":
        return out, last
    cell = f.stack([c for c in cs if c is not None], 0)
    return out, (last, cell.squeeze(1) if alone else cell)


def cell(f: Frame, name: str, m: Any, take: Callable[[Any], Any], x: Tensor, state: Any = None) -> Any:
    """torch.nn.LSTMCell, GRUCell and RNNCell: one step."""
    kind = type(m).__name__.lower().removesuffix("cell")
    x = f.site(f"{name}.in", x)
    given = list(state) if isinstance(state, (tuple, list)) else [state, None]
    h, c = (take(s) if s is not None else f.full((x.shape[0], m.hidden_size), 0.0) for s in given)
    wi, wh, bi, bh, _ = _weights(f, name, "")
    assert wi is not None and wh is not None
    h, new = _step(kind, _times(x, wi, bi), h, c, wh, bh, getattr(m, "nonlinearity", "tanh"), None)
    return f.site(name, (h, new)) if kind == "lstm" else f.site(name, h)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "scaled_dot_product_attention": scaled_dot_product_attention,
    "multi_head_attention_forward": multi_head_attention_forward,
    "_nested_tensor_from_mask_left_aligned": lambda *unused: False,  # the encoder then takes the way without nested tensors
}
