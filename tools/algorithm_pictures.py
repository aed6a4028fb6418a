"""The pictures of the algorithm pages: what each one does on point-maze with the same small budget.

    python tools/algorithm_pictures.py              # all, some ten minutes on one core
    python tools/algorithm_pictures.py td3 sac      # some

Each is trained as `qdpg train` would, into runs/pictures; a run that is finished there is not trained again.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator

import qdpg
from qdpg.exports.episode import play_stored
from qdpg.report.figures import save_figure
from qdpg.report.plane import add_colour_bar
from qdpg.report.run_figures import plot_coverage
from qdpg.report.words import plural
from qdpg.tasks.floor_plan import draw_floor

ROOT = Path(__file__).parents[1]
STEPS, SEED, TASK = 30_000, 0, "point-maze"
NAMES = (
    *("qd-pg", "dc-qd-pg", "pga-me", "dcrl-me", "map-elites", "cma-mae", "me-es"),
    *("td3", "sac", "rnd", "diayn", "agac", "p3s-td3", "cem-rl"),
)


def main(names: list[str]) -> None:
    """Train and draw."""
    for name in names or NAMES:
        save_figure(draw(find_run(name), name), ROOT / "docs" / "figures" / "algorithms" / f"{name}.png")
        print(f"docs/figures/algorithms/{name}.png")


def find_run(name: str) -> qdpg.Run:
    """The run of an algorithm, trained now if there is none."""
    path = ROOT / "runs" / "pictures" / name
    if (path / "elites").is_dir():
        return qdpg.load_run(path)
    return qdpg.train(TASK, name, steps=STEPS, seed=SEED, out=path)


def draw(run: qdpg.Run, name: str) -> Figure:
    """On the left where the episodes of training ended, on the right the ways of the policies that are handed over."""
    spec, elites = run.task.spec, run.elites
    assert spec.floor is not None
    figure = Figure(figsize=(9.6, 4.6), dpi=90, layout="compressed")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2, sharey=True)
    for axes in (left, right):
        axes.xaxis.set_major_locator(MaxNLocator(5))  # labels of more would touch each other
    episodes = run.episodes()
    dots = plot_coverage(left, spec, {column: np.asarray(episodes[column]) for column in ("steps", "x", "y")})
    bar = add_colour_bar(figure, left, dots, "environment steps")
    bar.ax.yaxis.set_major_formatter(EngFormatter(sep=""))
    left.set_title(f"where {plural(len(episodes['steps']), 'episode')} ended", fontsize="medium")
    draw_floor(right, spec.floor)
    order = np.argsort(elites.fitness)
    ways = [episode.descriptors for episode in play_stored(run.task, elites, order)]
    colours = matplotlib.colors.Normalize(-350, -25)
    lines = LineCollection(ways, array=elites.fitness[order], cmap="viridis", norm=colours, linewidths=1.5, zorder=2)
    right.add_collection(lines, autolim=False)
    ends = np.array([way[-1] for way in ways])
    right.scatter(*ends.T, c=elites.fitness[order], cmap="viridis", norm=colours, s=26, edgecolors="white", zorder=4)
    add_colour_bar(figure, right, lines, "fitness, stored")
    for axes in (left, right):
        axes.set_xticks([-1, -0.5, 0, 0.5, 1])
    right.set_xlabel("x")
    right.set_title(f"ways of {plural(len(elites), 'policy').replace('policys', 'policies')}", fontsize="medium")
    figure.suptitle(f"{name} on {TASK}, {STEPS:,} steps, seed {SEED}", fontsize="medium")
    return figure


if __name__ == "__main__":
    main(sys.argv[1:])
