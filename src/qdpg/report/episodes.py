"""Where episodes went: their trajectories over the floor."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from qdpg.play.rollouts import Rollouts
from qdpg.tasks.floor_plan import draw_floor, floor_extent
from qdpg.tasks.task import TaskSpec


def draw_episodes(spec: TaskSpec, rollouts: Rollouts) -> Figure:
    """Return a figure of the state descriptors that every episode visited, coloured by fitness, the best on top.

    Without a floor the first two descriptors span plain axes; a single descriptor is drawn over time.
    """
    shape = 0.8
    if spec.floor is not None:
        left, right, bottom, top = floor_extent(spec.floor)
        shape = (top - bottom) / (right - left)
    figure = Figure(figsize=(7.2, 5.6 * shape + 1.5), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    order = np.argsort(rollouts.fitness, kind="stable")
    paths = [_path(rollouts.descriptors[i, : rollouts.lengths[i] + 1]) for i in order]
    ends = np.array([path[-1] for path in paths])
    fitness = rollouts.fitness[order]

    if spec.floor is not None:
        draw_floor(axes, spec.floor)
    else:
        _draw_bounds(axes, spec, np.concatenate(paths))
    lines = LineCollection(paths, array=fitness, cmap="viridis", linewidths=1.3, zorder=2)
    lines.set(alpha=float(np.clip(30 / len(paths), 0.4, 0.9)))  # many episodes show through each other
    axes.add_collection(lines, autolim=False)
    dots = axes.scatter(
        ends[:, 0], ends[:, 1], c=fitness, cmap="viridis", s=34, edgecolors="white", linewidths=0.7, zorder=4
    )
    dots.set_clip_on(False)  # many an episode ends at the border
    axes.plot([], [], "o", color="grey", label="end of an episode")
    # The dots carry the colour bar: they are opaque, so it shows the colours as they are.
    figure.colorbar(dots, cax=axes.inset_axes((1.03, 0, 0.04, 1)), label="fitness")
    over_time = spec.descriptor_size == 1
    axes.set_xlabel("step" if over_time else spec.descriptor_names[0])
    axes.set_ylabel(spec.descriptor_names[0 if over_time else 1])
    figure.suptitle(_title(spec, rollouts), fontsize="medium")
    figure.legend(
        *axes.get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False, fontsize="small"
    )
    return figure


def _path(descriptors: np.ndarray) -> np.ndarray:
    """Turn what one episode visited [n, D] into points [n, 2] of the plane."""
    if descriptors.shape[1] == 1:
        return np.column_stack([np.arange(len(descriptors)), descriptors[:, 0]])
    return descriptors[:, :2]


def _draw_bounds(axes: Axes, spec: TaskSpec, points: np.ndarray) -> None:
    """Show the bounds of the descriptors, and at least all of `points` [n, 2]."""
    low, high = np.array(spec.descriptor_low[:2]), np.array(spec.descriptor_high[:2])
    if spec.descriptor_size == 1:
        low, high = np.array([0.0, low[0]]), np.array([float(spec.horizon), high[0]])
    axes.add_patch(Rectangle(tuple(low), *(high - low), fill=False, linestyle="--", label="descriptor bounds"))
    least, most = np.minimum(low, points.min(axis=0)), np.maximum(high, points.max(axis=0))
    margin = 0.03 * (most - least)
    axes.set_xlim(least[0] - margin[0], most[0] + margin[0])
    axes.set_ylim(least[1] - margin[1], most[1] + margin[1])


def _title(spec: TaskSpec, rollouts: Rollouts) -> str:
    count = len(rollouts.fitness)
    lines = [f"{spec.name}: {count} episode{'s' * (count != 1)}, median fitness {np.median(rollouts.fitness):,.4g}"]
    if spec.solved is not None:
        lines[0] += f", {np.count_nonzero(rollouts.fitness > spec.solved)} solved (above {spec.solved:,g})"
    if spec.references:
        lines.append("for comparison: " + ", ".join(f"{name} {score:,.4g}" for name, score in spec.references.items()))
    return "\n".join(lines)
