"""The plane that behaviours are drawn on: the task's floor, or else plain axes of its first two descriptors."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.colorbar import Colorbar
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from qdpg.tasks.floor_plan import draw_floor, floor_extent
from qdpg.tasks.task import TaskSpec

DPI = 110


def new_plane(spec: TaskSpec, points: np.ndarray, across: str = "", span: float = 1.0) -> tuple[Figure, Axes]:
    """Return a figure with one pair of axes, on which the floor or the bounds of the descriptors are drawn.

    Arguments are those of `lay_plane`.
    """
    figure, axes = new_figure(spec)
    lay_plane(axes, spec, points, across, span)
    return figure, axes


def new_figure(spec: TaskSpec) -> tuple[Figure, Axes]:
    """Return a figure with one pair of axes, as high as the floor wants it."""
    figure = Figure(figsize=(7.2, 5.6 * height_over_width(spec) + 1.5), dpi=DPI, layout="compressed")
    FigureCanvasAgg(figure)
    return figure, figure.add_subplot()


def height_over_width(spec: TaskSpec) -> float:
    """The shape of the plane."""
    if spec.floor is None:
        return 0.8
    left, right, bottom, top = floor_extent(spec.floor)
    return (top - bottom) / (right - left)


def lay_plane(axes: Axes, spec: TaskSpec, points: np.ndarray, across: str = "", span: float = 1.0) -> None:
    """Draw the floor or the bounds of the descriptors on `axes`.

    Args:
        axes: Where to draw.
        spec: The task.
        points: [n, 2], what must be seen besides the bounds; a floor is shown as a whole and no more.
        across: What the horizontal axis shows if there is only one descriptor, which is then drawn upwards.
        span: Where that axis ends; it begins at zero.
    """
    names = spec.descriptor_names if spec.descriptor_size > 1 else (across, *spec.descriptor_names)
    axes.set_xlabel(names[0])
    axes.set_ylabel(names[1])
    if spec.floor is not None:
        draw_floor(axes, spec.floor)
    else:
        _draw_bounds(axes, spec, points, span)


def in_plane(descriptors: np.ndarray, across: np.ndarray) -> np.ndarray:
    """Turn descriptors [n, D] into points [n, 2] of the plane; `across` [n] joins a single descriptor."""
    return np.column_stack([across, descriptors[:, 0]]) if descriptors.shape[1] == 1 else descriptors[:, :2]


def add_colour_bar(figure: Figure, axes: Axes, colours: ScalarMappable, label: str) -> Colorbar:
    """Explain the colours beside the axes, as high as they are."""
    return figure.colorbar(colours, cax=axes.inset_axes((1.03, 0, 0.04, 1)), label=label)


def add_words(figure: Figure, axes: Axes, title: str) -> None:
    """Put a title above and explain what carries a label below."""
    figure.suptitle(title, fontsize="medium")
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize="small")


def _draw_bounds(axes: Axes, spec: TaskSpec, points: np.ndarray, span: float) -> None:
    """Show the bounds of the descriptors, and at least all of `points` [n, 2]."""
    low, high = np.array(spec.descriptor_low[:2]), np.array(spec.descriptor_high[:2])
    if spec.descriptor_size == 1:
        low, high = np.array([0.0, low[0]]), np.array([span, high[0]])
    axes.add_patch(Rectangle(tuple(low), *(high - low), fill=False, linestyle="--", label="descriptor bounds"))
    least, most = np.minimum(low, points.min(axis=0)), np.maximum(high, points.max(axis=0))
    margin = 0.03 * (most - least)
    axes.set_xlim(least[0] - margin[0], most[0] + margin[0])
    axes.set_ylim(least[1] - margin[1], most[1] + margin[1])
