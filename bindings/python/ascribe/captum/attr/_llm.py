"""Captum's classes for language models, on models of ascribe.load()."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from ..._nearest import keywords_of, refuse_keyword
from .._arrays import Array, ArgumentError, is_array, to_numpy
from .._call import next_seed
from .._model import LanguageModel
from ._base import Attribution, rule_of
from ._gradient import samples_of
from ._inputs import InterpretableInput, TextTemplateInput, TextTokenInput, piece
from ._layer import LayerGradientShap, LayerGradientXActivation, LayerIntegratedGradients
from ._lime import KernelShap, Lime
from ._perturbation import FeatureAblation, ShapleyValues, ShapleyValueSampling

DEFAULT_GEN_ARGS: dict[str, Any] = {"max_new_tokens": 25, "do_sample": False}


class LLMAttributionResult:
    """Scores of the prompt's features for the answer (seq_attr) and for each of its tokens (token_attr), as numpy."""

    def __init__(
        self,
        *,
        input_tokens: list[str],
        output_tokens: list[str],
        seq_attr: Any,
        token_attr: Any = None,
        output_probs: Any = None,
        inp: InterpretableInput | None = None,
        result: Any = None,
    ) -> None:
        self.input_tokens = input_tokens
        self.output_tokens = output_tokens
        self.seq_attr: Array = np.asarray(seq_attr, np.float32)
        self.token_attr: Array | None = None if token_attr is None else np.asarray(token_attr, np.float32)
        self.output_probs: Array | None = None if output_probs is None else np.asarray(output_probs, np.float32)
        self.inp = inp
        self.result = result  # ascribe's own, with errors, to_html() and the rest
        if self.seq_attr.shape != (len(input_tokens),):
            raise ArgumentError(f"seq_attr: {self.seq_attr.shape} for {len(input_tokens)} features")
        if self.token_attr is not None and self.token_attr.shape != (len(output_tokens), len(input_tokens)):
            raise ArgumentError(f"token_attr: {self.token_attr.shape}")

    @property
    def seq_attr_dict(self) -> dict[str, float]:
        """Score by feature; features of one text share an entry, as in Captum."""
        return {t: float(v) for t, v in zip(self.input_tokens, self.seq_attr, strict=True)}

    def plot_token_attr(self, show: bool = False) -> Any:
        """Heat map of token_attr by matplotlib: (figure, axes), or None when shown."""
        if self.token_attr is None:
            raise ValueError("token_attr is None (for no-token-level attributions)")
        plt: Any = importlib.import_module("matplotlib.pyplot")
        rows, columns = self.token_attr.shape
        fig, ax = plt.subplots(figsize=(max(1.3 * columns, 6.4), max(rows / 2.5, 4.8)))
        most = float(np.abs(self.token_attr).max()) or 1.0
        image = ax.imshow(self.token_attr, cmap="RdBu", vmin=-most, vmax=most, aspect="auto")
        fig.colorbar(image, ax=ax)
        ax.set_xticks(range(columns), labels=self.input_tokens, rotation=-30, ha="right")
        ax.xaxis.tick_top()
        ax.set_yticks(range(rows), labels=self.output_tokens)
        for r in range(rows):
            for c in range(columns):
                v = float(self.token_attr[r, c])
                ax.text(c, r, f"{v:.4f}", ha="center", va="center", color="white" if abs(v) > most / 2 else "black")
        return plt.show() if show else (fig, ax)

    def plot_seq_attr(self, show: bool = False) -> Any:
        """Bars of seq_attr by matplotlib: (figure, axes), or None when shown."""
        plt: Any = importlib.import_module("matplotlib.pyplot")
        fig, ax = plt.subplots(figsize=(max(1.3 * len(self.input_tokens), 6.4), 4.8))
        colours = ["#d95f5f" if v < 0 else "#5f7fd9" for v in self.seq_attr]
        ax.bar(range(len(self.input_tokens)), self.seq_attr, color=colours)
        ax.set_xticks(range(len(self.input_tokens)), labels=self.input_tokens, rotation=30, ha="right")
        ax.axhline(0, color="black", linewidth=0.8)
        return plt.show() if show else (fig, ax)

    def __repr__(self) -> str:
        shown = ", ".join(f"{t!r}: {v:.4g}" for t, v in zip(self.input_tokens, self.seq_attr, strict=True))
        return f"LLMAttributionResult({shown})"


class _LLM:
    """What both classes share: the model, targets, results."""

    _allowed: tuple[type, ...] = ()

    def __init__(self, attr_method: Attribution, tokenizer: Any = None) -> None:
        if not isinstance(attr_method, self._allowed):
            names = ", ".join(c.__name__ for c in self._allowed)
            raise ArgumentError(f"{type(self).__name__} takes {names}, not {type(attr_method).__name__}")
        if not isinstance(attr_method._model, LanguageModel):
            raise TypeError("the method is to be made of a language model: FeatureAblation(ascribe.load('model.gguf'))")
        self.attr_method = attr_method
        self.model = attr_method._model.model
        self.tokenizer = tokenizer

    def _target(self, target: Any, gen_args: Any) -> dict[str, Any]:
        if target is None:
            args = {**DEFAULT_GEN_ARGS, **(gen_args or {})}
            if args.get("do_sample"):
                raise ArgumentError("gen_args: do_sample: call model.generate() and give its text as target")
            unknown = [k for k in args if k not in ("max_new_tokens", "do_sample")]
            if unknown:
                raise ArgumentError(f"gen_args: {', '.join(unknown)} mean nothing here: max_new_tokens does")
            return {"generate": int(args["max_new_tokens"])}
        if gen_args is not None:
            raise ArgumentError("gen_args must be None when a target is given")
        if isinstance(target, str):
            return {"target": target}
        if is_array(target):
            return {"target_ids": [int(i) for i in to_numpy(target).reshape(-1)]}
        if isinstance(target, (list, tuple)) and all(isinstance(i, int) for i in target):
            return {"target_ids": list(target)}
        raise TypeError(f"target: a text, token ids or None, not {type(target).__name__}")

    def _ask(
        self, inp: InterpretableInput, keys: dict[str, Any], per_token: bool, progress: bool
    ) -> LLMAttributionResult:
        if not isinstance(inp, InterpretableInput):
            raise TypeError(f"inp: TextTemplateInput or TextTokenInput, not {type(inp).__name__}")
        question = {**inp._keys(self.model), **keys}
        if per_token:
            question["per_token"] = True
        r = self.model.ask(question, progress=progress)
        ids = r.target_ids
        output = [piece(self.model, int(i)) for i in (ids if ids is not None else [])]
        scores = np.asarray(r.scores)
        names = [f.text for f in r.features]
        matrix = None if r.matrix is None else np.asarray(r.matrix)
        groups = getattr(inp, "_groups", None)
        if isinstance(inp, TextTemplateInput):
            names = list(inp.values)
            if groups is not None:  # a group's score stands at each of its values, as in Captum
                order = {g: i for i, g in enumerate(dict.fromkeys(groups))}
                at = [order[g] for g in groups]
                scores = scores[at]
                matrix = None if matrix is None else matrix[:, at]
        return LLMAttributionResult(
            input_tokens=names, output_tokens=output, seq_attr=scores, token_attr=matrix, inp=inp, result=r
        )


class LLMAttribution(_LLM):
    """Which features of a prompt drove the answer, by perturbing them. tokenizer: not needed (the model has its own)."""

    _allowed = (FeatureAblation, ShapleyValueSampling, ShapleyValues, Lime, KernelShap)

    def __init__(self, attr_method: Attribution, tokenizer: Any = None, attr_target: str = "log_prob") -> None:
        super().__init__(attr_method, tokenizer)
        if attr_target not in ("log_prob", "prob"):
            raise ArgumentError(f"attr_target: log_prob or prob, not {attr_target!r}")
        self.attr_target = attr_target

    def attribute(
        self,
        inp: InterpretableInput,
        target: Any = None,
        num_trials: int = 1,
        gen_args: dict[str, Any] | None = None,
        use_cached_outputs: bool = True,
        _inspect_forward: Any = None,
        forward_in_tokens: bool = True,
        skip_tokens: Any = None,
        **kwargs: Any,
    ) -> LLMAttributionResult:
        """target: a text, ids, or None: what the model generates (25 tokens, greedily). use_cached_outputs and
        forward_in_tokens say how Captum runs the model and change nothing here. kwargs: n_samples, show_progress."""
        if _inspect_forward is not None:
            raise ArgumentError("_inspect_forward: perturbed prompts are run together, not one by one")
        keys = self._target(target, gen_args)
        if skip_tokens is not None:
            keys["skip_tokens"] = list(skip_tokens)
        keys.update(method=self.attr_method._method, output="prob" if self.attr_target == "prob" else "logprob")
        progress = bool(kwargs.pop("show_progress", False))
        kwargs.pop("perturbations_per_eval", None)  # chosen by the library
        method = self.attr_method
        if "n_samples" in kwargs and not isinstance(method, (FeatureAblation, ShapleyValues)):
            keys["samples"] = samples_of(kwargs.pop("n_samples"))
        elif isinstance(method, (ShapleyValueSampling, KernelShap, Lime)):
            keys["samples"] = 25
        if kwargs:
            _refuse(type(self), list(kwargs)[0])
        if isinstance(method, Lime):
            keys["alpha"] = method._surrogate.alpha
        if num_trials != 1:
            keys["trials"] = samples_of(num_trials, "num_trials")
        keys["seed"] = _seed()
        return self._ask(inp, keys, not isinstance(method, (Lime, KernelShap)), progress)


def _seed() -> int:
    return next_seed() & 0x7FFFFFFF


class LLMGradientAttribution(_LLM):
    """Which tokens of a prompt drove the answer, by gradients at the embeddings (or at the layer's site)."""

    _allowed = (LayerIntegratedGradients, LayerGradientXActivation, LayerGradientShap)

    def attribute(
        self,
        inp: InterpretableInput,
        target: Any = None,
        gen_args: dict[str, Any] | None = None,
        skip_tokens: Any = None,
        **kwargs: Any,
    ) -> LLMAttributionResult:
        """kwargs: n_steps and method (LayerIntegratedGradients), n_samples and stdevs (LayerGradientShap)."""
        if not isinstance(inp, TextTokenInput):
            raise ArgumentError(f"{type(self).__name__} takes TextTokenInput")
        keys = self._target(target, gen_args)
        if skip_tokens is not None:
            keys["skip_tokens"] = list(skip_tokens)
        method = self.attr_method
        keys["method"] = method._method
        if isinstance(method, LayerIntegratedGradients):
            keys["rule"] = rule_of(kwargs.pop("method", "gausslegendre"))
            keys["steps"] = samples_of(kwargs.pop("n_steps", 50), "n_steps")
            if keys["rule"] == "riemann-trapezoid" and method._captum:
                keys["compat"] = "captum"
        elif isinstance(method, LayerGradientShap):
            keys["samples"] = samples_of(kwargs.pop("n_samples", 5))
            stdev = float(kwargs.pop("stdevs", 0.0))
            if stdev:
                keys["stdev"] = stdev
            keys["seed"] = _seed()
        kwargs.pop("internal_batch_size", None)
        if kwargs.pop("return_convergence_delta", False):
            raise ArgumentError("return_convergence_delta: result.residual of the result's own `result` has it")
        if kwargs:
            _refuse(type(self), list(kwargs)[0])
        assert isinstance(method, (LayerIntegratedGradients, LayerGradientXActivation, LayerGradientShap))
        site = self._site(method.layer)
        if site is not None:
            keys["site"] = site
        question = dict(keys)
        if isinstance(method, LayerGradientXActivation):
            own = inp._keys(self.model)
            own.pop("baseline", None)
            return self._ask(_Fixed(inp, own), question, True, False)
        return self._ask(inp, question, True, False)

    def _site(self, layer: Any) -> str | None:
        """The site of a layer; None: the token embeddings."""
        if layer is None or (isinstance(layer, str) and ("embed" in layer or layer in ("wte", "tok_embeddings"))):
            return None
        if isinstance(layer, str) and layer in self.model.sites():
            return layer
        raise ArgumentError("layer: 'embeddings', or a site of the model (model.sites() lists them)")


class _Fixed(InterpretableInput):
    """An input whose keys are already known."""

    def __init__(self, inp: InterpretableInput, keys: dict[str, Any]) -> None:
        self.values, self.n_itp_features = inp.values, inp.n_itp_features
        self._own = keys

    def _keys(self, model: Any) -> dict[str, Any]:
        return self._own


def _refuse(cls: Any, key: str) -> None:
    more = ["n_samples", "show_progress"] if cls is LLMAttribution else ["n_steps", "method", "n_samples", "stdevs"]
    refuse_keyword("attribute", key, [*keywords_of(cls.attribute), *more])
