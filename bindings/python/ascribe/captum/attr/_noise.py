"""NoiseTunnel: a method's scores over noisy copies of the inputs."""

from __future__ import annotations

from typing import Any

from .._arrays import ArgumentError
from .._call import captured, finish, next_seed
from ._base import Attribution
from ._gradient import samples_of, stdevs_of

_TYPES = {"smoothgrad": "smoothgrad", "smoothgrad_sq": "smoothgrad-sq", "vargrad": "vargrad"}


class NoiseTunnel(Attribution):
    """Mean (smoothgrad), mean of squares (smoothgrad_sq) or variance (vargrad) over copies with normal noise."""

    _method = "noise-tunnel"

    def __init__(self, attribution_method: Attribution) -> None:
        if not isinstance(attribution_method, Attribution) or isinstance(attribution_method, NoiseTunnel):
            raise TypeError("NoiseTunnel takes an attribution object, such as IntegratedGradients(model)")
        self.attribution_method = attribution_method
        self.forward_func = attribution_method.forward_func
        self._model = attribution_method._model
        self._compat = attribution_method._compat

    @property
    def multiplies_by_inputs(self) -> bool:
        return self.attribution_method.multiplies_by_inputs

    def has_convergence_delta(self) -> bool:
        return self.attribution_method.has_convergence_delta()

    def attribute(
        self,
        inputs: Any,
        nt_type: str = "smoothgrad",
        nt_samples: int = 5,
        nt_samples_batch_size: int | None = None,
        stdevs: Any = 1.0,
        draw_baseline_from_distrib: bool = False,
        **kwargs: Any,
    ) -> Any:
        delta = bool(kwargs.pop("return_convergence_delta", False))
        if nt_type not in _TYPES:
            raise ArgumentError(f"nt_type: one of {', '.join(_TYPES)}, not {nt_type!r}")
        if "n_samples" in kwargs:
            raise ArgumentError("n_samples: a method that draws has its default inside NoiseTunnel; leave it out")
        base: Any = self.attribution_method
        if draw_baseline_from_distrib:
            base._rows, old = True, getattr(base, "_rows", False)
            try:
                plan = captured(lambda: base.attribute(inputs, **kwargs))
            finally:
                base._rows = old
        else:
            plan = captured(lambda: base.attribute(inputs, **kwargs))
        q = plan.request
        q.update(base=q["method"], method="noise-tunnel", noise=_TYPES[nt_type], seed=next_seed())
        q.update(samples=samples_of(nt_samples, "nt_samples"), stdevs=stdevs_of(plan.given, stdevs, True))
        if nt_samples_batch_size is not None:
            q["rows_per_pass"] = samples_of(nt_samples_batch_size, "nt_samples_batch_size") * plan.given.examples
        q["draw_baselines"] = draw_baseline_from_distrib
        return finish(plan, delta)
