"""DataLoaderAttribution: feature ablation over a whole data set that is read batch by batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import _ascribe
from ..._progress import watched
from .._arrays import Array, ArgumentError, Kind, is_array, to_numpy
from .._call import masks_of
from ._base import Attribution
from ._gradient import samples_of
from ._perturbation import FeatureAblation


class DataLoaderAttribution(Attribution):
    """How much a number of the whole set falls with a feature at its baseline in every example.

    attr_method: FeatureAblation(model). dataloader: anything that can be walked again and again, of batches (arrays or
    tuples of them). input_roles: 0 attributed to, 1 goes into the model as it is, 2 a label that does not."""

    _method = "feature-ablation"

    def __init__(self, attr_method: Attribution) -> None:
        if type(attr_method) is not FeatureAblation:
            raise ArgumentError("DataLoaderAttribution takes FeatureAblation alone")
        super().__init__(attr_method.forward_func)
        self.attr_method = attr_method

    def attribute(
        self,
        dataloader: Any,
        input_roles: tuple[int, ...] | None = None,
        baselines: Any = None,
        feature_mask: Any = None,
        reduce: Any = None,
        to_metric: Any = None,
        perturbations_per_pass: int = 1,
        show_progress: bool = False,
        return_input_shape: bool = True,
    ) -> Any:
        """reduce(state or None, output, batch) -> state and to_metric(state) -> numbers; by default outputs are collected."""
        first = _batch(next(iter(dataloader)))
        kind = Kind.of(first)
        roles = tuple(input_roles) if input_roles is not None else (0,) * len(first)
        if len(roles) != len(first) or any(r not in (0, 1, 2) for r in roles) or 0 not in roles:
            raise ArgumentError(f"input_roles: 0, 1 or 2 for each of {len(first)} values, at least one 0")
        forward = [v for v, r in zip(first, roles, strict=True) if r != 2]
        net, _ = self._model.bind(forward)
        moved = [to_numpy(v) for v, r in zip(first, roles, strict=True) if r == 0]
        masks = masks_of(feature_mask, len(moved))
        request: dict[str, Any] = {"baselines": _baselines(baselines, len(moved)), "masks": masks}
        states: dict[int, Any] = {}
        walker: list[Any] = [None]

        def batch(i: int) -> tuple[Array, ...] | None:
            if i == 0:
                walker[0] = iter(dataloader)
            one = next(walker[0], None)
            return None if one is None else tuple(to_numpy(v) for v in _batch(one))

        def unpack(a: Any) -> Any:
            dtype, shape, data = a
            empty = np.zeros(shape, dtype)
            return kind.wrap(empty if data is None else np.array(np.frombuffer(data, dtype)).reshape(shape))

        def collect(slot: int, number: int, output: Any, values: Any) -> None:
            state = None if number == 0 else states.get(slot)
            states[slot] = reduce(state, unpack(output), tuple(unpack(v) for v in values))

        def measure(slot: int, outputs: Any, out: Any) -> None:
            state = states.get(slot) if reduce is not None else kind.wrap(np.array(np.frombuffer(outputs)))
            value = np.asarray(to_numpy(to_metric(state) if to_metric is not None else state), np.float64).reshape(-1)
            room = np.frombuffer(out, np.float64)
            if value.size != room.size:
                raise ArgumentError(f"to_metric gives {value.size} numbers after {room.size}")
            room[:] = value

        how: dict[str, Any] = {"roles": roles, "batch": batch, "per_walk": samples_of(perturbations_per_pass)}
        if reduce is not None:
            how["reduce"] = collect
        if reduce is not None or to_metric is not None:
            how.update(metric=measure, n_metrics=self._count(dataloader, net, roles, reduce, to_metric, kind))
        with watched(show_progress) as call:
            raw = _ascribe.net_dataset(net._subject, request, how, call)
        arrays = [np.frombuffer(d).reshape(shape).astype(np.float32) for _, shape, d, _ in raw["scores"]]
        if return_input_shape:
            out = tuple(kind.wrap(a) for a in arrays)
            return out if len(first) > 1 or isinstance(next(iter(dataloader)), (tuple, list)) else out[0]
        return kind.wrap(_features(arrays, masks))

    def _count(self, dataloader: Any, net: Any, roles: Any, reduce: Any, to_metric: Any, kind: Kind) -> int:
        """How many numbers the metric has: one plain walk."""
        state, outputs = None, []
        for one in dataloader:
            values = tuple(to_numpy(v) for v in _batch(one))
            given = tuple(v for v, r in zip(values, roles, strict=True) if r != 2)
            output = kind.wrap(np.asarray(net._run(given, None)[0]))
            if reduce is None:
                outputs.append(to_numpy(output).reshape(-1))
            else:
                state = reduce(state, output, tuple(kind.wrap(v) for v in values))
        whole = state if reduce is not None else kind.wrap(np.concatenate(outputs).astype(np.float64))
        return int(np.asarray(to_numpy(to_metric(whole) if to_metric is not None else whole)).size)


def _batch(one: Any) -> tuple[Any, ...]:
    return tuple(one) if isinstance(one, (tuple, list)) else (one,)


def _baselines(baselines: Any, n: int) -> list[Array | None] | None:
    if baselines is None:
        return None
    each = baselines if isinstance(baselines, tuple) else (baselines,)
    if len(each) != n:
        raise ArgumentError(f"baselines: {len(each)} for {n} attributed values")
    return [to_numpy(b) if is_array(b) else np.asarray(float(b)) for b in each]


def _features(arrays: list[Array], masks: list[Array] | None) -> Array:
    """One number per feature and metric."""
    rows = arrays[0].shape[0]
    flat = np.concatenate([a.reshape(rows, -1) for a in arrays], axis=1)
    if masks is None:
        return flat
    ids = np.concatenate([np.broadcast_to(m, (1, *a.shape[1:])).reshape(-1) for m, a in zip(masks, arrays, strict=True)])
    ids = ids - ids.min()
    out = np.zeros((rows, int(ids.max()) + 1), np.float32)
    out[:, ids[::-1]] = flat[:, ::-1]
    return out
