"""Small maps side by side, one per algorithm: where its episodes ended, and which elites it ended with."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from qdpg.report.gather import TaskResults
from qdpg.report.plane import DPI, height_over_width
from qdpg.report.result import Result
from qdpg.report.run_figures import plot_coverage, plot_grid
from qdpg.report.words import number

_WIDTH = 2.9  # of a panel, in inches
_COLUMNS = 5


def draw_coverage_maps(task: TaskResults) -> Figure:
    """Return a coverage map per algorithm: a dot where each training episode ended, blue early, purple late.

    Of each algorithm one representative run is shown, as in the paper: that of the median best elite.
    """

    def plot(axes: Axes, result: Result) -> ScalarMappable:
        return plot_coverage(axes, task.spec, result.run.episodes())

    figure = _draw_panels(task, plot, "environment steps", lambda result: "")
    figure.suptitle(f"{task.title}: where training episodes ended", fontsize="medium")
    figure.axes[-1].yaxis.set_major_formatter(EngFormatter(sep=""))
    return figure


def draw_final_grids(task: TaskResults) -> Figure:
    """Return the final grid of elites per algorithm, all with the same colours; of the same runs as the maps."""

    def plot(axes: Axes, result: Result) -> ScalarMappable:
        return plot_grid(axes, task.spec, result.run.elites.archive(corrected=bool(result.evaluated)))

    def words(result: Result) -> str:
        if not result.evaluated:
            return f"\nstored, optimistic: best {number(result.best_elite)}, {result.coverage:.0%} of cells"
        return f"\nbest {number(result.evaluated_best)}, {result.corrected_coverage:.0%} of cells"

    figure = _draw_panels(task, plot, "fitness", words)
    figure.suptitle(f"{task.title}: the elites at the end", fontsize="medium")
    return figure


def _draw_panels(
    task: TaskResults,
    plot: Callable[[Axes, Result], ScalarMappable],
    label: str,
    words: Callable[[Result], str],
) -> Figure:
    """Draw a panel per variant on one scale of colours, which the figure's last axes explain."""
    number_of_panels = len(task.variants)
    rows = -(-number_of_panels // _COLUMNS)
    columns = -(-number_of_panels // rows)  # so that the last row is hardly shorter than the others
    height = (_WIDTH - 0.6) * height_over_width(task.spec) + 0.75
    figure = Figure(figsize=(_WIDTH * columns + 1.1, height * rows + 0.7), dpi=DPI, layout="compressed")
    FigureCanvasAgg(figure)
    all_axes: list[Axes] = list(np.ravel(figure.subplots(rows, columns, squeeze=False)))
    drawn = []
    for axes, variant in zip(all_axes, task.variants, strict=False):
        result = variant.representative
        drawn.append(plot(axes, result))
        axes.set_title(f"{variant.label}, seed {result.run.config['seed']}{words(result)}", fontsize="small")
        axes.tick_params(labelsize="x-small")
        axes.xaxis.label.set_fontsize("small")
        axes.yaxis.label.set_fontsize("small")
    for axes in all_axes[number_of_panels:]:
        axes.remove()
    arrays = [np.asarray(mappable.get_array()) for mappable in drawn]
    low = min((array.min() for array in arrays if len(array)), default=0.0)
    high = max((array.max() for array in arrays if len(array)), default=1.0)
    for mappable in drawn:
        mappable.set_clim(0.0 if label == "environment steps" else low, high)
    handles, labels = all_axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize="small")
    figure.colorbar(drawn[0], ax=all_axes[:number_of_panels], label=label, shrink=0.8 if rows > 1 else 1.0)
    return figure
