"""Captum's drawings of scores: pictures with matplotlib, texts as HTML. Both need their library only when they are used.

Scores are put on a scale as Captum does: what the largest `outlier_perc` percent of the sum of magnitudes begin at is 1.
"""

from __future__ import annotations

import html
import importlib
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import ArgumentError, to_numpy

METHODS = ("heat_map", "blended_heat_map", "original_image", "masked_image", "alpha_scaling")
SERIES_METHODS = ("overlay_individual", "overlay_combined", "colored_graph")
SIGNS = ("positive", "absolute_value", "negative", "all")


def _one_of(what: str, value: str, known: Sequence[str]) -> str:
    if value not in known:
        raise ArgumentError(f"{what}: one of {', '.join(known)}, not {value!r}")
    return value


def scaled(attr: Any, sign: str, outlier_perc: float = 2, reduction_axis: int | None = None) -> Any:
    """Scores of the chosen sign from -1 to 1."""
    a = np.asarray(to_numpy(attr), np.float64)
    a = a if reduction_axis is None else a.sum(reduction_axis)
    _one_of("sign", sign, SIGNS)
    if sign == "absolute_value":
        a = np.abs(a)
    elif sign != "all":
        a = np.where(a > 0 if sign == "positive" else a < 0, a, 0)
    if not 0 <= outlier_perc <= 100:
        raise ArgumentError(f"outlier_perc is a share from 0 to 100, not {outlier_perc!r}")
    sizes = np.sort(np.abs(a), axis=None)
    sums = np.cumsum(sizes)
    if sizes.size == 0 or sums[-1] == 0:
        return a
    full = sizes[min(np.searchsorted(sums, sums[-1] * (100 - outlier_perc) / 100), sizes.size - 1)]
    out = np.clip(a / full, -1, 1) if full > 0 else np.sign(a)
    return -out if sign == "negative" else out


def _colours(sign: str, cmap: Any) -> tuple[Any, float, float]:
    if cmap is None and sign == "all":
        colors = importlib.import_module("matplotlib.colors")
        cmap = colors.LinearSegmentedColormap.from_list("RdWhGn", ["red", "white", "green"])
    return cmap or {"positive": "Greens", "negative": "Reds", "absolute_value": "Blues"}[sign], -1.0 if sign == "all" else 0.0, 1.0


def _axes(given: Any, fig_size: Any, use_pyplot: bool, n: int = 1, **grid: Any) -> tuple[Any, Any]:
    grid = grid or {"ncols": n}
    if given is not None:
        return given  # type: ignore[no-any-return]
    if use_pyplot:
        return importlib.import_module("matplotlib.pyplot").subplots(figsize=fig_size, **grid)  # type: ignore[no-any-return]
    figure = importlib.import_module("matplotlib.figure").Figure(figsize=fig_size)
    return figure, figure.subplots(**grid)


def visualize_image_attr(attr: Any, original_image: Any = None, method: str = "heat_map", sign: str = "absolute_value",
                         plt_fig_axis: Any = None, outlier_perc: float = 2, cmap: Any = None, alpha_overlay: float = 0.5,
                         show_colorbar: bool = False, title: str | None = None, fig_size: tuple[int, int] = (6, 6),
                         use_pyplot: bool = True) -> tuple[Any, Any]:
    """Draws scores [height, width, channels] of a picture: a matplotlib figure and its axes."""
    _one_of("method", method, METHODS)
    _one_of("sign", sign, SIGNS)
    picture = None if original_image is None else np.asarray(to_numpy(original_image))
    if picture is None and method != "heat_map":
        raise ArgumentError(f"method {method!r} needs original_image")
    if picture is not None and np.issubdtype(picture.dtype, np.floating):
        picture = np.clip(picture * 255 if picture.max(initial=0) <= 1 else picture, 0, 255).astype(np.uint8)
    shown: Any = None if method == "original_image" else scaled(attr, sign, outlier_perc, 2)
    figure, axis = _axes(plt_fig_axis, fig_size, use_pyplot)
    colours, low, high = _colours(sign, cmap)
    if method in ("masked_image", "alpha_scaling") and sign == "all":
        raise ArgumentError(f"sign 'all' means nothing for method {method!r}")
    drawn = None
    if method == "heat_map":
        drawn = axis.imshow(shown, cmap=colours, vmin=low, vmax=high)
    elif method == "blended_heat_map":
        axis.imshow(np.asarray(picture, np.float64).mean(2), cmap="gray")
        drawn = axis.imshow(shown, cmap=colours, vmin=low, vmax=high, alpha=alpha_overlay)
    elif method == "original_image":
        axis.imshow(picture)
    elif method == "masked_image":
        axis.imshow((np.asarray(picture) * shown[..., None]).astype(np.uint8))
    else:
        axis.imshow(np.concatenate([np.asarray(picture), (shown[..., None] * 255).astype(np.uint8)], axis=2))
    axis.set(xticks=[], yticks=[], frame_on=False)
    if title:
        axis.set_title(title)
    if show_colorbar and drawn is not None:
        figure.colorbar(drawn, ax=axis, orientation="horizontal", fraction=0.046, pad=0.04)
    if use_pyplot and plt_fig_axis is None:
        importlib.import_module("matplotlib.pyplot").show()
    return figure, axis


def visualize_image_attr_multiple(attr: Any, original_image: Any, methods: Sequence[str], signs: Sequence[str],
                                  titles: Sequence[str] | None = None, fig_size: tuple[int, int] = (8, 6),
                                  use_pyplot: bool = True, **kwargs: Any) -> tuple[Any, Any]:
    """Several of these side by side."""
    if len(methods) != len(signs) or not methods or titles is not None and len(titles) != len(methods):
        raise ArgumentError("methods, signs and titles are lists of one length")
    figure, axes = _axes(None, fig_size, use_pyplot, len(methods))
    each = list(axes) if len(methods) > 1 else [axes]
    for i, (method, sign) in enumerate(zip(methods, signs, strict=True)):
        visualize_image_attr(attr, original_image, method, sign, (figure, each[i]), use_pyplot=False,
                             title=titles[i] if titles is not None else None, **kwargs)
    figure.tight_layout()
    if use_pyplot:
        importlib.import_module("matplotlib.pyplot").show()
    return figure, axes


def _spans(axis: Any, x: Any, shown: Any, colour_of: Any, alpha: float) -> None:
    """A stripe for each time, as wide as the first step, in the colour of its score."""
    half = (x[1] - x[0]) / 2 if len(x) > 1 else 0.5
    for at, value in zip(x, shown, strict=True):
        axis.axvspan(at - half, at + half, facecolor=colour_of(value), edgecolor=None, alpha=alpha)


def _graph(axis: Any, x: Any, series: Any, shown: Any, colours: Any, **kwargs: Any) -> None:
    """The series as a line whose pieces have the colour of the score where they begin."""
    points = np.stack([x, series], axis=1)
    lines = importlib.import_module("matplotlib.collections").LineCollection(
        np.stack([points[:-1], points[1:]], axis=1), cmap=colours.cmap, norm=colours.norm, **kwargs)
    lines.set_array(shown[:-1] if len(shown) > 1 else shown)
    axis.add_collection(lines)
    low, high = series.min(), series.max()
    axis.set_ylim(low - 0.2 * abs(low), high + 0.2 * abs(high))


def _series(attr: Any, data: Any, channels_last: bool) -> tuple[Any, Any]:
    """Scores and values, [channels, times]."""
    scores, values = np.asarray(to_numpy(attr), np.float64), np.asarray(to_numpy(data))
    for what, a in (("attr", scores), ("data", values)):
        if a.ndim != 2 or a.size == 0:
            raise ArgumentError(f"{what}: expected times and channels, two dimensions, not shape {a.shape}")
    if scores.shape != values.shape:
        raise ArgumentError(f"attr has shape {scores.shape}, data {values.shape}")
    if channels_last:
        scores, values = scores.T, values.T
    if values.shape[0] > values.shape[1]:
        warnings.warn(f"more channels ({values.shape[0]}) than times ({values.shape[1]}): is channels_last right?", stacklevel=3)
    return scores, values


def visualize_timeseries_attr(attr: Any, data: Any, x_values: Any = None, method: str = "overlay_individual",
                              sign: str = "absolute_value", channel_labels: Sequence[str] | None = None,
                              channels_last: bool = True, plt_fig_axis: Any = None, outlier_perc: float = 2, cmap: Any = None,
                              alpha_overlay: float = 0.7, show_colorbar: bool = False, title: str | None = None,
                              fig_size: tuple[int, int] = (6, 6), use_pyplot: bool = True, **pyplot_kwargs: Any) -> tuple[Any, Any]:
    """Draws scores [times, channels] of a series over it: a matplotlib figure and its axes, one for each channel unless the
    channels are combined, whose scores are then added up."""
    _one_of("method", method, SERIES_METHODS)
    _one_of("sign", sign, SIGNS)
    scores, values = _series(attr, data, channels_last)
    n, length = values.shape
    x = np.arange(length) if x_values is None else np.asarray(to_numpy(x_values))
    if x.shape != (length,):
        raise ArgumentError(f"x_values: expected {length} numbers, one for each time, not shape {x.shape}")
    if channel_labels is not None and len(channel_labels) != n:
        raise ArgumentError(f"channel_labels: {len(channel_labels)} for {n} channels")
    combined = method == "overlay_combined"
    shown = scaled(scores.sum(0) if combined else scores, sign, outlier_perc)
    figure, axes = _axes(plt_fig_axis, fig_size, use_pyplot, nrows=1 if combined else n, sharex=True)
    each = np.atleast_1d(np.asarray(axes, object))
    if each.size < (1 if combined else n):
        raise ArgumentError(f"plt_fig_axis: {each.size} axes for {n} channels")
    colours, low, high = _colours(sign, cmap)
    of = importlib.import_module("matplotlib.cm").ScalarMappable(
        importlib.import_module("matplotlib.colors").Normalize(low, high), colours)
    if combined:
        each[0].set_prop_cycle(color=importlib.import_module("matplotlib").colormaps["Dark2"].colors)
    for c in range(n):
        axis, label = each[0 if combined else c], channel_labels[c] if channel_labels is not None else None
        if method == "colored_graph":
            _graph(axis, x, values[c], shown[c], of, **pyplot_kwargs)
        else:
            axis.plot(x, values[c], label=label if combined else None, **pyplot_kwargs)
        if not combined:
            if method != "colored_graph":
                _spans(axis, x, shown[c], of.to_rgba, alpha_overlay)
            if label is not None:
                axis.set_ylabel(label)
    if combined:
        _spans(each[0], x, shown, of.to_rgba, alpha_overlay)
        if channel_labels is not None:
            each[0].legend(loc="best")
    elif plt_fig_axis is None:
        figure.subplots_adjust(hspace=0)
    for axis in each:
        if length > 1:
            axis.set_xlim(x[0], x[-1])
    if show_colorbar:
        figure.colorbar(of, ax=list(each), orientation="horizontal", fraction=0.05, pad=0.1,
                        alpha=1.0 if method == "colored_graph" else alpha_overlay)
    if title:
        each[0].set_title(title)
    if use_pyplot and plt_fig_axis is None:
        importlib.import_module("matplotlib.pyplot").show()
    return figure, axes


@dataclass
class VisualizationDataRecord:
    """What is said of one text beside its words."""

    word_attributions: Any
    pred_prob: float
    pred_class: Any
    true_class: Any
    attr_class: Any
    attr_score: float
    raw_input_ids: Sequence[str]
    convergence_score: float


def _word(word: str, score: float) -> str:
    s = max(-1.0, min(1.0, float(score) if score == score else 0.0))
    hue, light = (120, 100 - 50 * s) if s > 0 else (0, 100 + 40 * s)
    return (f'<mark style="background-color: hsl({hue}, 75%, {light:.0f}%); opacity:1.0; line-height:1.75">'
            f'<font color="black"> {html.escape(str(word))} </font></mark>')


def visualize_text(datarecords: Iterable[VisualizationDataRecord], legend: bool = True) -> Any:
    """A table of texts, each word in the colour of its score (from -1 to 1), in a notebook. Returns an object with `data`, the
    HTML, which notebooks show."""
    heads = ("True Label", "Predicted Label", "Attribution Label", "Attribution Score", "Word Importance")
    rows = ["<tr>" + "".join(f"<th>{h}</th>" for h in heads) + "</tr>"]
    for d in datarecords:
        scores = to_numpy(d.word_attributions).reshape(-1)
        words = "".join(_word(w, float(s)) for w, s in zip(d.raw_input_ids, scores))
        cells = (html.escape(str(d.true_class)), f"{html.escape(str(d.pred_class))} ({float(d.pred_prob):.2f})",
                 html.escape(str(d.attr_class)), f"{float(d.attr_score):.2f}", words)
        rows.append("<tr>" + "".join(f"<td>{c}</td>" for c in cells) + "</tr>")
    key = ""
    if legend:
        key = "<div><b>Legend: </b>" + "".join(
            f'<span style="border: 1px solid; background-color: hsl({hue}, 75%, {light}%)">&nbsp;&nbsp;&nbsp;</span> {what} '
            for what, hue, light in (("Negative", 0, 60), ("Neutral", 0, 100), ("Positive", 120, 50))) + "</div>"
    out = TextTable(f'{key}<table width="100%">{"".join(rows)}</table>')
    try:
        display = importlib.import_module("IPython.display").display
    except ImportError:
        return out
    display(out)
    return out


class TextTable:
    """HTML that notebooks show."""

    def __init__(self, data: str) -> None:
        self.data = data

    def _repr_html_(self) -> str:
        return self.data
