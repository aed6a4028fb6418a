"""`qdpg bench`: measure speed on this machine."""

from __future__ import annotations

import json
from pathlib import Path

from rich.table import Table

from qdpg.bench.engine import measure_engine
from qdpg.bench.iteration import measure_iteration
from qdpg.bench.novelty import measure_novelty
from qdpg.bench.rollouts import measure_rollouts
from qdpg.bench.scaling import draw_scaling, measure_scaling
from qdpg.errors import UserError
from qdpg.ranges import Range
from qdpg.terminal import make_console

MEASURES = {
    "engine": measure_engine,
    "iteration": measure_iteration,
    "novelty": measure_novelty,
    "rollouts": measure_rollouts,
    "scaling": measure_scaling,
}


def run(what: str, turns: int, as_json: bool, draw: Path | None = None) -> int:
    """Measure, print, and draw if there is a figure of it."""
    Range(1, 10_000).check(turns, "--turns")
    if draw is not None and what != "scaling":
        raise UserError("only `qdpg bench scaling` makes a figure; leave out --draw.")
    results = MEASURES[what](turns)
    if draw is not None:
        draw_scaling(results, draw)
    if as_json:
        print(json.dumps(results))
        return 0
    table = Table("configuration", "measure", "value", title=f"qdpg bench {what}")
    for name, measures in results.items():
        for measure, value in measures.items():
            table.add_row(name, measure, f"{value:,.3g}" if value < 100 else f"{value:,.0f}")
    make_console().print(table)
    return 0
