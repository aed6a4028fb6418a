"""The two figures of the adaptation experiment: the performance map of the paper's appendix, and score over trials."""

from __future__ import annotations

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator

from qdpg.adaptation.experiment import Experiment
from qdpg.report.plane import DPI, add_colour_bar, add_words, new_plane
from qdpg.report.words import number, plural
from qdpg.tasks.task import TaskSpec

SQUARES = 10  # along each side of the map
# Colours that stay apart for colour-blind readers (Okabe and Ito).
_CURVES = {
    "bayesian": ("Bayesian optimisation", "#0072b2", "-"),
    "random": ("random choice", "#d55e00", "-"),
    "exhaustive": ("exhaustive search (all elites)", "#009e73", "--"),
}


def best_by_square(goals: np.ndarray, scores: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the best of the `scores` [G] whose `goals` [G, 2] fell into each square, [y, x]; NaN where none did."""
    squares = np.full((SQUARES, SQUARES), np.nan)
    columns, rows = np.clip((SQUARES * (goals - low) / (high - low)).astype(int), 0, SQUARES - 1).T
    np.fmax.at(squares, (rows, columns), scores)
    return squares


def draw_performance_map(spec: TaskSpec, experiment: Experiment) -> Figure:
    """Return a map of what adaptation reached: in each square the best score of the goals in it, white without goals.

    Args:
        spec: A task with a floor.
        experiment: What came of it.
    """
    floor = spec.floor
    assert floor is not None
    low, high = np.array(floor.low), np.array(floor.high)
    found = experiment.found()["bayesian"]
    squares = best_by_square(experiment.goals, found, low, high)
    figure, axes = new_plane(spec, experiment.goals)
    for patch in list(axes.patches):
        if patch.get_label() in ("start", "goal"):  # the goal trained for is not what this is about
            patch.remove()
    for line in list(axes.lines):
        line.remove()
    edges = [np.linspace(low[axis], high[axis], SQUARES + 1) for axis in (0, 1)]
    mesh = axes.pcolormesh(*edges, squares, cmap="viridis", edgecolors="white", linewidth=0.5, zorder=1)
    centres = [(edge[:-1] + edge[1:]) / 2 for edge in edges]
    middle = (np.nanmin(squares) + np.nanmax(squares)) / 2
    for (row, column), value in np.ndenumerate(squares):
        if np.isfinite(value):
            x, y = float(centres[0][column]), float(centres[1][row])
            ink, rim = ("black", "white") if value > middle else ("white", "black")  # the rim is for walls in the way
            text = axes.text(x, y, f"{round(value)}", ha="center", va="center", fontsize="small", color=ink, zorder=4)
            text.set_path_effects([withStroke(linewidth=1.5, foreground=rim)])
    if floor.start is not None:
        axes.plot(floor.start.x, floor.start.y, "o", color="black", markersize=9, zorder=5, label="start")
    add_colour_bar(figure, axes, mesh, "best score")
    spread = f"mean {number(found.mean())}, standard deviation {number(found.std())}"
    add_words(
        figure,
        axes,
        f"{spec.name}: {plural(len(found), 'random goal')}, {plural(experiment.trials, 'trial')} each\n{spread}",
    )
    return figure


def draw_trials(spec: TaskSpec, experiment: Experiment, elites: int) -> Figure:
    """Return a figure of the best score so far against trials: mean over goals, between quartiles.

    Args:
        spec: The task.
        experiment: What came of it.
        elites: How many there were to choose from.
    """
    figure = Figure(figsize=(7.2, 4.8), dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    trial = np.arange(1, experiment.trials + 1)
    for name, best in experiment.so_far().items():
        label, colour, style = _CURVES[name]
        axes.plot(trial, best.mean(axis=0), style, color=colour, label=label, zorder=3, marker="." * (len(trial) < 30))
        if name != "exhaustive":
            axes.fill_between(trial, *np.quantile(best, (0.25, 0.75), axis=0), color=colour, alpha=0.15, linewidth=0)
    axes.set_xlabel("trials (episodes played)")
    axes.set_ylabel("best score so far")
    axes.set_xlim(1 if len(trial) > 1 else 0, max(len(trial), 2))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right", fontsize="small")
    title = f"{spec.name}: adapting to {plural(len(experiment.goals), 'goal')} with {plural(elites, 'elite')}"
    axes.set_title(f"{title}\nmean over goals; shaded from the lower to the upper quartile", fontsize="medium")
    return figure
