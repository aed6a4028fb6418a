"""The four figures of a run: its grid of elites, its learning curve, its coverage map, its elites' trajectories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke
from matplotlib.ticker import EngFormatter, PercentFormatter
from ribs.archives import ArchiveBase, CVTArchive
from scipy.spatial import Voronoi

from qdpg.play.player import make_player
from qdpg.report.episodes import draw_episodes
from qdpg.report.plane import DPI, add_colour_bar, add_words, in_plane, lay_plane, new_figure
from qdpg.report.words import number, plural
from qdpg.runs.collection import Collection
from qdpg.tasks.task import Task, TaskSpec

Columns = Mapping[str, np.ndarray]

# Colours that stay apart for colour-blind readers (Okabe and Ito).
ELITES, EVALUATION, AGAIN, SCORE = "#0072b2", "#d55e00", "#cc79a7", "#009e73"
EMPTY = "#ececf0"
TRAJECTORIES = 250  # more could not be told apart
_LABEL_GAP = 0.06  # of the axes' height between two labels of reference scores


def draw_grid(spec: TaskSpec, archive: ArchiveBase, values: str = "stored, optimistic") -> Figure:
    """Return a figure of the elites' fitness by cell, under the maze.

    Cells of a tessellation are drawn as the polygons they are; one descriptor gives a column of cells. With more than
    two descriptors, cells would hide each other: every elite is then a dot at its first two descriptors.

    Args:
        spec: The task.
        archive: The elites, as a grid or a centroidal Voronoi tessellation of pyribs.
        values: Which values they are.
    """
    figure, axes = new_figure(spec)
    drawn = plot_grid(axes, spec, archive)
    add_colour_bar(figure, axes, drawn, f"fitness ({values})")
    fitness = archive.data("objective")
    title = f"{spec.name}: {len(fitness):,} of {archive.cells:,} cells filled"
    if spec.descriptor_size > 2:
        title += f" (one dot each, at the first 2 of {spec.descriptor_size} descriptors)"
    score = float((fitness - spec.fitness_floor).sum())
    add_words(figure, axes, f"{title}\n{values}: QD score {number(score)}, best fitness {number(fitness.max())}")
    return figure


def plot_grid(axes: Axes, spec: TaskSpec, archive: ArchiveBase) -> ScalarMappable:
    """Draw on `axes` what `draw_grid` shows; return what carries the colours."""
    data = archive.data(["index", "objective", "measures"], return_type="dict")
    order = np.argsort(data["objective"], kind="stable")
    index, fitness, behaviours = (data[name][order] for name in ("index", "objective", "measures"))
    lay_plane(axes, spec, in_plane(behaviours, np.full(len(behaviours), 0.5)))
    if spec.descriptor_size <= 2:
        return _draw_cells(axes, spec, _cells(spec, archive), index, fitness)
    x, y = behaviours[:, 0], behaviours[:, 1]
    return axes.scatter(x, y, c=fitness, cmap="viridis", s=30, edgecolors="white", linewidths=0.5, zorder=2)


def _draw_cells(
    axes: Axes, spec: TaskSpec, cells: list[np.ndarray], index: np.ndarray, fitness: np.ndarray
) -> PolyCollection:
    """Draw all cells, those in `index` [n] in the colour of their `fitness` [n], and the floor over them."""
    edges: dict[str, Any] = {"edgecolors": "white", "linewidths": float(np.clip(20 / np.sqrt(len(cells)), 0.1, 1.0))}
    empty = PolyCollection(cells, facecolors=EMPTY, zorder=1.3, **edges)
    filled = PolyCollection([cells[i] for i in index], array=fitness, cmap="viridis", zorder=1.4, **edges)
    (left, bottom), (right, top) = (0.0, *spec.descriptor_low)[-2:], (1.0, *spec.descriptor_high)[-2:]
    bounds = Rectangle((left, bottom), right - left, top - bottom, transform=axes.transData)
    for cell in (empty, filled):
        axes.add_collection(cell, autolim=False)
        cell.set_clip_path(bounds)  # the outer cells of a tessellation reach beyond
    if spec.floor is not None:
        _lift_floor(axes)
    if spec.descriptor_size == 1:
        axes.set_xticks([])
    if len(index) < len(cells):
        axes.add_patch(Rectangle((left, bottom), 0, 0, facecolor=EMPTY, label="empty cell"))
    return filled


def _cells(spec: TaskSpec, archive: ArchiveBase) -> list[np.ndarray]:
    """The corners [n, 2] of every cell, in the order of their indices."""
    low, high = np.array(spec.descriptor_low), np.array(spec.descriptor_high)
    if spec.descriptor_size == 2 and isinstance(archive, CVTArchive):
        # Four far points close the cells at the border.
        far = (low + high) / 2 + 100 * (high - low) * [[-1, -1], [-1, 1], [1, -1], [1, 1]]
        diagram = Voronoi(np.concatenate([archive.centroids, far]))
        return [diagram.vertices[diagram.regions[region]] for region in diagram.point_region[: archive.cells]]
    if isinstance(archive, CVTArchive):
        order = np.argsort(archive.centroids[:, 0])
        middles = archive.centroids[order, 0]
        rows = np.concatenate([low, (middles[1:] + middles[:-1]) / 2, high])
        return [_corners(0, 1, rows[rank], rows[rank + 1]) for rank in np.argsort(order)]
    *columns, rows = (np.linspace(a, b, n + 1) for a, b, n in zip(low, high, archive.dims, strict=True))
    across = columns[0] if columns else np.array([0.0, 1.0])
    return [
        _corners(*across[i : i + 2], *rows[j : j + 2]) for i in range(len(across) - 1) for j in range(len(rows) - 1)
    ]


def _corners(left: float, right: float, bottom: float, top: float) -> np.ndarray:
    return np.array([[left, bottom], [right, bottom], [right, top], [left, top]])


def _lift_floor(axes: Axes) -> None:
    """Draw the floor over the cells: start and goal as outlines, which hide nothing, and all with a white rim."""
    floor: list[Rectangle | Line2D] = [*axes.lines, *(patch for patch in axes.patches if isinstance(patch, Rectangle))]
    for artist in floor:
        if artist.get_label() in ("start", "goal"):
            artist.set_zorder(2.5)
            if isinstance(artist, Rectangle):
                artist.set(fill=False, alpha=1.0, linewidth=2.5)
        artist.set_path_effects([withStroke(linewidth=artist.get_linewidth() + 2, foreground="white")])


def draw_learning_curve(spec: TaskSpec, metrics: Columns, evaluations: Columns) -> Figure:
    """Return a figure of fitness (above), coverage and QD score (below) against environment steps.

    Args:
        spec: The task, whose references and solved threshold are drawn as lines to compare with.
        metrics: Columns of `metrics.csv`.
        evaluations: Columns of `evaluations.csv`; may be empty.
    """
    figure = Figure(figsize=(7.6, 6.2), dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    alone = "o" if len(metrics["steps"]) == 1 else ""  # a line through one point would not be seen
    curves = [
        ("best elite, stored (optimistic)", ELITES, "", metrics, "best_fitness"),
        ("best of the population, without noise", EVALUATION, "o", evaluations, "best_fitness"),
        ("best elite, mean over fresh starts", AGAIN, "s", evaluations, "elite_mean_fitness"),
    ]
    for label, colour, marker, columns, name in curves:
        values = columns.get(name, np.array([]))
        shown = np.isfinite(values)
        if shown.any():
            style: dict[str, Any] = {"color": colour, "marker": marker or alone, "markersize": 4, "label": label}
            upper.plot(columns["steps"][shown], values[shown], zorder=3, **style)
    draw_references(upper, spec)
    upper.set_ylabel("fitness")
    if upper.get_legend_handles_labels()[0]:
        upper.legend(fontsize="small", loc="best", framealpha=0.9)
    upper.set_title(f"{spec.name}: learning curve", fontsize="medium")

    lower.plot(metrics["steps"], metrics["coverage"], color=ELITES, marker=alone)
    lower.set_ylim(0, 1.03)
    lower.yaxis.set_major_formatter(PercentFormatter(1.0))
    lower.set_ylabel("cells filled, stored", color=ELITES)
    lower.set_xlabel("environment steps")
    lower.xaxis.set_major_formatter(EngFormatter(sep=""))
    lower.set_xlim(0, 1.02 * metrics["steps"].max())
    right = lower.twinx()
    score = metrics["qd_score"]
    right.plot(metrics["steps"], score, color=SCORE, marker=alone, linestyle="--")
    right.set_ylim(1.03 * score.min(initial=0.0), 1.03 * score.max(initial=0.0) or 1.0)
    right.yaxis.set_major_formatter(EngFormatter(sep=""))
    right.set_ylabel("QD score, stored (dashed)", color=SCORE)
    for axes in (upper, lower):
        axes.grid(alpha=0.3)
    return figure


def draw_references(axes: Axes, spec: TaskSpec, names: bool = True) -> None:
    """Draw a line per score to compare with; its name at the right, moved apart where names would overlap.

    Args:
        axes: Where to draw, with the curves already drawn.
        spec: The task.
        names: Whether to write the names.
    """
    scores = dict(spec.references) | ({} if spec.solved is None else {"solved above": spec.solved})
    if not scores:
        return
    least, most = axes.get_ylim()
    least, most = min(least, *scores.values()), max(most, *scores.values())
    margin = 0.03 * (most - least)
    low, high = axes.set_ylim(least - margin, most + margin)
    for name, score in scores.items():
        is_solved = name == "solved above"
        axes.axhline(score, color="black" if is_solved else "grey", linewidth=1.2, linestyle="-" if is_solved else ":")
    ascending = sorted(scores, key=lambda name: scores[name]) if names else []
    heights = _spread([(scores[name] - low) / (high - low) for name in ascending], _LABEL_GAP)
    for name, height in zip(ascending, heights, strict=True):
        text = f"{name} {number(scores[name])}"
        axes.text(1.01, height, text, transform=axes.transAxes, va="center", fontsize="small", color="#444444")


def _spread(heights: Sequence[float], gap: float) -> list[float]:
    """Move ascending `heights` apart to at least `gap`, groups that overlap evenly about where they were."""
    groups = [[height] for height in heights]
    i = 1
    while i < len(groups):
        above, below = (sum(group) / len(group) for group in (groups[i], groups[i - 1]))
        if above - below < gap * (len(groups[i]) + len(groups[i - 1])) / 2:
            groups[i - 1 : i + 1] = [groups[i - 1] + groups[i]]
            i = max(1, i - 1)
        else:
            i += 1
    return [sum(g) / len(g) + gap * (rank - (len(g) - 1) / 2) for g in groups for rank in range(len(g))]


def draw_coverage(spec: TaskSpec, episodes: Columns) -> Figure:
    """Return a coverage map: a dot at every training episode's behaviour, blue early in training, purple late.

    A single descriptor is drawn against environment steps.

    Args:
        spec: The task.
        episodes: Columns of `episodes.csv`.
    """
    figure, axes = new_figure(spec)
    dots = plot_coverage(axes, spec, episodes)
    bar = add_colour_bar(figure, axes, dots, "environment steps")
    bar.ax.yaxis.set_major_formatter(EngFormatter(sep=""))
    count = plural(len(episodes["steps"]), "training episode")
    add_words(figure, axes, f"{spec.name}: the behaviours of {count}")
    return figure


def plot_coverage(axes: Axes, spec: TaskSpec, episodes: Columns) -> ScalarMappable:
    """Draw on `axes` what `draw_coverage` shows; return what carries the colours."""
    steps = episodes["steps"]
    behaviours = np.column_stack([episodes[name] for name in spec.descriptor_names])
    points = in_plane(behaviours, steps)
    lay_plane(axes, spec, points, across="environment steps", span=float(steps.max()))
    order = np.random.default_rng(0).permutation(len(steps))  # so that late episodes do not simply cover early ones
    size = float(np.clip(20_000 / len(steps), 8, 24))
    style: dict[str, Any] = {"s": size, "linewidths": 0.2, "edgecolors": "white", "zorder": 3.5, "clip_on": False}
    x, y = points[order].T
    if spec.descriptor_size == 1:
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    return axes.scatter(x, y, c=steps[order], cmap="cool", vmin=0, **style)


def draw_trajectories(task: Task, elites: Collection) -> Figure:
    """Play the elites again, each from its seed and with the noise it earned its place with, and draw their ways.

    Of a large collection, every so-manieth elite is shown, and the best in any case.

    Args:
        task: What the elites were trained on.
        elites: At least one elite.
    """
    rows = np.arange(len(elites))
    if len(elites) > TRAJECTORIES:
        even = np.linspace(0, len(elites) - 1, TRAJECTORIES - 1).round().astype(int)
        rows = np.union1d(even, elites.worth.argmax())
    population = jax.tree.map(lambda leaf: leaf[rows], elites.population())
    noise = elites.noise._replace(sigma=elites.arrays["noise"][rows])
    rollouts = make_player(task).play(population, elites.seeds[rows], noise=noise, record=False)
    count = plural(len(elites), "elite")
    return draw_episodes(task.spec, rollouts, count if len(rows) == len(elites) else f"{len(rows)} of {count}")
