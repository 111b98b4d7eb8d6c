"""A chart as SVG, which pygal draws, and as PNG, which resvg makes of that."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

from skillkit_core import ToolError

__all__ = ["as_png", "drawn"]

_KINDS = {"bar": "Bar", "stacked": "StackedBar", "line": "Line", "points": "XY", "pie": "Pie"}
_SIZE = 800, 500
_MOST_LABELS = 24  # that are written; of more each nth is


def drawn(
    kind: str, labels: Sequence[str | float], series: Sequence[tuple[str, Sequence[float | None]]], *, title: str = "",
    x_title: str = "", y_title: str = "",
) -> str:  # fmt: skip
    """Return a chart as an SVG document, without programs and without anything from elsewhere.

    Args:
        kind: ``bar``, ``stacked``, ``line``, ``points`` or ``pie``.
        labels: of the values; for ``points`` their numbers on the x axis.
        series: names, each with a value for each label; ``None``: none.
        title: above the chart.
        x_title: below it.
        y_title: beside it.

    Raises:
        ToolError: the numbers make no chart.
    """
    _check(kind, labels, series)
    pygal = _library()
    wide, high = _SIZE
    chart = getattr(pygal, _KINDS[kind])(
        width=wide, height=high, explicit_size=True, title=title or None, x_title=x_title or None, y_title=y_title or None,
        style=_style(), js=(), disable_xml_declaration=True, legend_at_bottom=True, stroke=kind != "points",
        show_legend=kind == "pie" or any(name for name, _ in series), x_label_rotation=30 if len(labels) > 8 else 0,
        truncate_legend=30, truncate_label=20,
    )  # fmt: skip
    chart.add_xml_filter(_plain)
    if kind == "pie":
        for label, value in zip(labels, series[0][1], strict=True):
            chart.add(str(label), value)
    elif kind == "points":
        for name, values in series:
            chart.add(name, [(x, y) for x, y in zip(labels, values, strict=True) if y is not None])
    else:
        chart.x_labels = _spaced(labels)
        for name, values in series:
            chart.add(name, list(values))
    return str(chart.render())


def as_png(svg: str) -> bytes:
    """Return a chart as a PNG, with the fonts of this machine.

    Raises:
        ToolError: the library for it is not installed.
    """
    try:
        from resvg_py import svg_to_bytes
    except ImportError:
        raise ToolError(
            "a PNG needs another package: pip install 'skillkit-chart-tools[png]'; an .svg needs none"
        ) from None
    return bytes(svg_to_bytes(svg_string=svg, background="#ffffff"))


def _library() -> Any:
    """Return pygal, without the importer that it leaves behind for plugins of its own: it slows and warns of every import."""
    import pygal  # type: ignore[import-untyped]

    sys.meta_path[:] = [one for one in sys.meta_path if type(one).__module__ != "pygal"]
    return pygal


def _check(kind: str, labels: Sequence[str | float], series: Sequence[tuple[str, Sequence[float | None]]]) -> None:
    for name, values in series:
        if len(values) != len(labels):
            raise ToolError(f"{name or 'the series'} has {len(values)} values for {len(labels)} labels")
    numbers = [value for _, values in series for value in values if value is not None]
    if not numbers or not all(math.isfinite(value) for value in numbers):
        raise ToolError("there are no numbers to draw, or one that is not finite")
    if kind == "points" and any(isinstance(label, str) for label in labels):
        raise ToolError("points need numbers as labels: where each lies on the x axis")
    if kind == "pie" and (len(series) > 1 or min(numbers) < 0 or not sum(numbers)):
        raise ToolError("a pie needs one series of numbers that are not negative, and one that is not 0")


def _spaced(labels: Sequence[str | float]) -> list[str]:
    step = math.ceil(len(labels) / _MOST_LABELS)
    return [str(label) if n % step == 0 else "" for n, label in enumerate(labels)]


def _style() -> Any:
    from pygal.style import Style  # type: ignore[import-untyped]

    return Style(
        background="#ffffff", plot_background="#ffffff", foreground="#333333", foreground_strong="#111111",
        foreground_subtle="#999999", font_family="sans-serif", opacity=".85", opacity_hover=".95", guide_stroke_dasharray="2,4",
        major_guide_stroke_dasharray="2,4", title_font_size=18, label_font_size=12, major_label_font_size=12, legend_font_size=13,
        colors=("#1565c0", "#ef6c00", "#2e7d32", "#6a1b9a", "#c62828", "#00838f", "#9e9d24", "#4e342e"),
    )  # fmt: skip


def _plain(root: Any) -> Any:
    """Take programs and comments out of a drawing."""
    for parent in list(root.iter()):
        for child in list(parent):
            if not isinstance(child.tag, str) or child.tag.rpartition("}")[2] == "script":
                parent.remove(child)
    return root
