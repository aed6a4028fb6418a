"""Where episodes went: their trajectories over the floor."""

from __future__ import annotations

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from qdpg.play.rollouts import Rollouts
from qdpg.report.plane import add_colour_bar, add_words, in_plane, new_plane
from qdpg.report.words import number, plural
from qdpg.tasks.task import TaskSpec


def draw_episodes(spec: TaskSpec, rollouts: Rollouts, count: str | None = None) -> Figure:
    """Return a figure of the state descriptors that every episode visited, coloured by fitness, the best on top.

    Without a floor the first two descriptors span plain axes; a single descriptor is drawn over time.

    Args:
        spec: The task.
        rollouts: The episodes.
        count: How the title counts them; "32 episodes" unless told.
    """
    order = np.argsort(rollouts.fitness, kind="stable")
    visited = [rollouts.descriptors[i, : rollouts.lengths[i] + 1] for i in order]
    paths = [in_plane(descriptors, np.arange(len(descriptors))) for descriptors in visited]
    ends = np.array([path[-1] for path in paths])
    fitness = rollouts.fitness[order]

    figure, axes = new_plane(spec, np.concatenate(paths), across="step", span=spec.horizon)
    lines = LineCollection(paths, array=fitness, cmap="viridis", linewidths=1.3, zorder=2)
    lines.set(alpha=float(np.clip(30 / len(paths), 0.4, 0.9)))  # many episodes show through each other
    axes.add_collection(lines, autolim=False)
    dots = axes.scatter(
        ends[:, 0], ends[:, 1], c=fitness, cmap="viridis", s=34, edgecolors="white", linewidths=0.7, zorder=4
    )
    dots.set_clip_on(False)  # many an episode ends at the border
    axes.plot([], [], "o", color="grey", label="end of an episode")
    # The dots carry the colour bar: they are opaque, so it shows the colours as they are.
    add_colour_bar(figure, axes, dots, "fitness")
    add_words(figure, axes, _title(spec, fitness, count or plural(len(fitness), "episode")))
    return figure


def _title(spec: TaskSpec, fitness: np.ndarray, count: str) -> str:
    lines = [f"{spec.name}: {count}, median fitness {number(float(np.median(fitness)))}"]
    if spec.solved is not None:
        lines[0] += f", {np.count_nonzero(fitness > spec.solved)} solved (above {spec.solved:,g})"
    if spec.references:
        lines.append(
            "for comparison: " + ", ".join(f"{name} {number(score)}" for name, score in spec.references.items())
        )
    return "\n".join(lines)
