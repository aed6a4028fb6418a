"""How the cost of a gradient step grows with the number of agents and with their minibatches."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from qdpg.bench.engine import WORKLOADS, fill_replay, make_ours
from qdpg.bench.timing import time_alternating
from qdpg.report.figures import save_figure

AGENTS = (4, 8, 16, 32, 64)
BATCHES = (64, 128, 256, 512, 1024)  # of four agents each
NAMES = ("point", "ant29")


def measure_scaling(
    turns: int = 5,
    agents: tuple[int, ...] = AGENTS,
    batches: tuple[int, ...] = BATCHES,
    names: tuple[str, ...] = NAMES,
) -> dict[str, dict[str, float]]:
    """Milliseconds of a vector step by number of agents and by size of minibatch, and the exponent of their growth."""
    results = {}
    for name in names:
        workload = replace(WORKLOADS[name], steps=WORKLOADS[name].steps // 4)
        replay = fill_replay(workload)
        for what, sizes in (("agents", agents), ("minibatch", batches)):
            contestants = {
                str(size): make_ours(
                    replace(workload, agents=size)
                    if what == "agents"
                    else replace(workload, agents=4, batch_size=size),
                    replay,
                )
                for size in sizes
            }
            best = time_alternating(contestants, turns)
            costs = {size: 1e3 * seconds / workload.steps for size, seconds in best.items()}
            exponent = float(np.polyfit(np.log(sizes), np.log(list(costs.values())), 1)[0])
            results[f"{name}, {what}"] = costs | {"exponent": exponent}
    return results


def draw_scaling(results: dict[str, dict[str, float]], directory: Path) -> Path:
    """Draw what `measure_scaling` returned, beside straight proportion, and return the figure's path."""
    figure = Figure(figsize=(9, 3.6), dpi=120, layout="constrained")
    panels, names = figure.subplots(1, 2), dict.fromkeys(key.split(", ")[0] for key in results)
    for panel, what in zip(panels, ("agents", "minibatch"), strict=True):
        for name in names:
            costs = {int(size): cost for size, cost in results[f"{name}, {what}"].items() if size != "exponent"}
            sizes, values = np.array(list(costs)), np.array(list(costs.values()))
            (line,) = panel.loglog(sizes, values, "o-", label=name)
            proportional = values[-1] * sizes / sizes[-1]
            panel.loglog(sizes, proportional, ":", color=line.get_color(), label=f"{name}, in proportion")
        panel.set(xlabel=what if what == "agents" else "minibatch of each of four agents", ylabel="ms per vector step")
        panel.set_xticks(sizes, labels=[str(size) for size in sizes])
        panel.minorticks_off()
        panel.legend(fontsize=8)
        panel.grid(alpha=0.3)
    return save_figure(figure, directory / "engine-scaling.png")
