"""Learning curves of many runs: median between quartiles, a colour per algorithm, over environment steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, PercentFormatter

from qdpg.report.gather import TaskResults, Variant
from qdpg.report.plane import DPI
from qdpg.report.result import Result
from qdpg.report.run_figures import draw_references
from qdpg.report.statistics import join_curves

# As in the paper, the comparison is split for better readability; QD-PG is in every part.
GROUPS = {
    "QD-PG and its ablations": ("qd-pg", "qd-pg-sum", "d-pg", "q-pg"),
    "policy gradients": ("td3", "sac", "rnd", "agac", "diayn", "cem-rl", "p3s-td3", "pga-me"),
    "evolution": ("map-elites", "cvt-map-elites", "me-es", "ns-es", "nsr-es", "nsra-es"),
}
OTHERS = "others"
QD_PG = "#111111"
# Colours that stay apart (Okabe and Ito, and two more); within a group no two algorithms share one.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c564b", "#7f7f7f")
LINES = ("-", "--", ":", "-.")


class Quantity(NamedTuple):
    """What a figure shows."""

    name: str
    label: str
    read: Callable[[Result], tuple[np.ndarray, np.ndarray]]  # steps [n] and values [n]
    is_fitness: bool = True


def _column(log: str, name: str) -> Callable[[Result], tuple[np.ndarray, np.ndarray]]:
    def read(result: Result) -> tuple[np.ndarray, np.ndarray]:
        columns = getattr(result, log)
        return columns.get("steps", np.array([])), columns.get(name, np.array([]))

    return read


def _looks(result: Result) -> tuple[np.ndarray, np.ndarray]:
    """What looks at the best elites found; between them nothing is known."""
    steps, means = _column("evaluations", "elite_mean_fitness")(result)
    known = np.isfinite(means)
    return steps[known], means[known]


QUANTITIES = (
    Quantity("performance", "best of the population, evaluated", _column("evaluations", "best_fitness")),
    Quantity("best-elite", "best elite, mean over fresh starts", _looks),
    Quantity("stored", "best elite, stored (optimistic)", _column("metrics", "best_fitness")),
    Quantity("coverage", "cells filled, stored (optimistic)", _column("metrics", "coverage"), is_fitness=False),
)


def draw_curves(task: TaskResults, quantity: Quantity) -> Figure:
    """Return a figure of a quantity over environment steps, with a panel per group of algorithms.

    Args:
        task: The task, whose reference scores are drawn in every panel if the quantity is a fitness.
        quantity: What to draw.
    """
    panels = _panels(task.variants)
    figure = Figure(figsize=(5.0 * len(panels) + 1.4, 4.6), dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    all_axes: list[Axes] = list(np.atleast_1d(figure.subplots(1, len(panels), sharex=True, sharey=True)))
    for axes, (title, variants) in zip(all_axes, panels.items(), strict=True):
        for variant, style in zip(variants, _styles(variants), strict=True):
            _draw(axes, variant, quantity, style)
        axes.set_title(title, fontsize="medium")
        axes.set_xlabel("environment steps")
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3, frameon=False)
    all_axes[0].set_xlim(0, 1.02 * max(result.steps for variant in task.variants for result in variant.results))
    all_axes[0].set_ylabel(quantity.label)
    if quantity.is_fitness:
        for axes in all_axes:
            draw_references(axes, task.spec, names=axes is all_axes[-1])
    else:
        all_axes[0].set_ylim(0, 1.03)
        all_axes[0].yaxis.set_major_formatter(PercentFormatter(1.0))
    figure.suptitle(f"{task.title}: {quantity.label}", fontsize="medium")
    return figure


def _panels(variants: Sequence[Variant]) -> dict[str, list[Variant]]:
    """Sort variants into groups; QD-PG joins every group that has others in it."""
    base = [variant for variant in variants if variant.algorithm == "qd-pg"]
    groups = {title: [v for v in variants if v.algorithm in names] for title, names in GROUPS.items()}
    known = {name for names in GROUPS.values() for name in names}
    groups[OTHERS] = [variant for variant in variants if variant.algorithm not in known]
    rivals = {title: [variant for variant in members if variant not in base] for title, members in groups.items()}
    return {title: [*base, *members] for title, members in rivals.items() if members} or {next(iter(GROUPS)): base}


def _styles(variants: Sequence[Variant]) -> list[dict[str, Any]]:
    """A style for each curve of a panel: a colour per algorithm, a dash per variant of it; QD-PG is black and bold."""
    styles = []
    seen: dict[str, int] = {}
    unknown = sorted({v.algorithm for v in variants} - {name for names in GROUPS.values() for name in names})
    places = {name: place for names in (*GROUPS.values(), unknown) for place, name in enumerate(names)}
    for variant in variants:
        is_base = variant.algorithm == "qd-pg"
        colour = QD_PG if is_base else COLOURS[places[variant.algorithm] % len(COLOURS)]
        dash = seen[variant.algorithm] = seen.get(variant.algorithm, -1) + 1
        styles.append({"color": colour, "linestyle": LINES[dash % len(LINES)], "linewidth": 2.4 if is_base else 1.7})
    return styles


def _draw(axes: Axes, variant: Variant, quantity: Quantity, style: dict[str, Any]) -> None:
    curve = join_curves([quantity.read(result) for result in variant.results])
    label = f"{variant.label} ({len(variant.results)})"
    marker = "o" if len(curve.steps) == 1 else ""
    axes.plot(curve.steps, curve.median, label=label, marker=marker, zorder=3, **style)
    if len(variant.results) > 1 and len(curve.steps):
        axes.fill_between(curve.steps, curve.low, curve.high, color=style["color"], alpha=0.13, linewidth=0, zorder=2)
