"""`qdpg adapt`: the fast-adaptation experiment."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from qdpg.adaptation.experiment import Experiment, run_experiment, summarise
from qdpg.adaptation.goals import Starts, movable
from qdpg.adaptation.model import Settings
from qdpg.adaptation.search import check_budget
from qdpg.cli.settings import parse_settings
from qdpg.compiled import cache_compiled_programs
from qdpg.errors import UserError
from qdpg.options import replace_options
from qdpg.ranges import COUNT, SEED, Range
from qdpg.report.adaptation_figures import draw_performance_map, draw_trials
from qdpg.report.figures import save_figure
from qdpg.report.words import number, plural
from qdpg.runs.collection import Collection
from qdpg.runs.files import write_bytes, write_json
from qdpg.runs.run import Run, load_run
from qdpg.terminal import make_console
from qdpg.version import __version__

_NAMES = {"bayesian": "Bayesian optimisation", "random": "random choice", "exhaustive": "exhaustive search"}


def run(
    path: Path,
    trials: int,
    goals: int,
    seed: int,
    starts: Starts,
    out: Path | None,
    settings: Sequence[str],
    as_json: bool,
    quiet: bool,
    trust: bool = False,
) -> int:
    """Adapt the elites of the run in `path` to random goals, write tables and figures, print a summary.

    Returns:
        The exit status, 0.

    Raises:
        UserError: Something in the request does not fit; nothing has been written then.
    """
    chosen = replace_options(Settings(), parse_settings(settings), "the adaptation")
    SEED.check(seed, "--seed")
    COUNT.check(trials, "--trials")
    Range(1, 100_000).check(goals, "--goals")
    found = load_run(path, trust)
    task, elites = movable(found.task), found.elites
    check_budget(elites, trials)
    cache_compiled_programs()
    began = perf_counter()
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    console = make_console(quiet=quiet or as_json)
    with Progress(*columns, console=console, transient=True) as bars:
        bar = bars.add_task("goals", total=goals)
        experiment = run_experiment(
            task,
            elites,
            trials=trials,
            goals=goals,
            seed=seed,
            starts=starts,
            settings=chosen,
            progress=lambda done: bars.update(bar, completed=done),
        )
        other: Starts = "own" if starts == "fresh" else "fresh"
        beside = run_experiment(task, elites, trials=trials, goals=goals, seed=seed, starts=other, settings=chosen)
    result = _result(found, elites, experiment, seed, starts, chosen)
    result["other_starts"] = {"starts": other, "scores": summarise(beside.found())}
    directory = out or path / "adapt"
    _write(directory, found, elites, experiment, result)
    if as_json:
        print(json.dumps(result))
    console.print(_table(result, perf_counter() - began))
    console.print(f"results: {directory}", soft_wrap=True)
    return 0


def _result(
    found: Run, elites: Collection, experiment: Experiment, seed: int, starts: Starts, settings: Settings
) -> dict[str, Any]:
    """All there is to say, as plain numbers; the same seed gives the same."""
    config = found.config
    scores = summarise(experiment.found())
    exhaustive = scores["exhaustive"]["mean"]
    return {
        "qdpg": __version__,
        "run": {name: config[name] for name in ("task", "task_options", "algorithm", "preset", "seed", "steps")},
        "elites": len(elites),
        "goals": len(experiment.goals),
        "trials": experiment.trials,
        "seed": seed,
        "starts": starts,
        "settings": dataclasses.asdict(settings),
        "scores": scores,
        "again": summarise(experiment.again),
        # How much worse than exhaustive search, as a share of its mean.
        "shortfall": {
            name: (exhaustive - scores[name]["mean"]) / abs(exhaustive) if exhaustive else None
            for name in ("bayesian", "random")
        },
        "experiments": experiment.rows(elites.cells_index),
    }


def _write(directory: Path, found: Run, elites: Collection, experiment: Experiment, result: dict[str, Any]) -> None:
    spec = found.task.spec
    table = io.StringIO()
    writer = csv.DictWriter(table, list(result["experiments"][0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(result["experiments"])
    try:
        write_json(directory / "adapt.json", result)
        write_bytes(directory / "adapt.csv", table.getvalue().encode())
        save_figure(draw_performance_map(spec, experiment), directory / "performance-map.png")
        save_figure(draw_trials(spec, experiment, len(elites)), directory / "trials.png")
    except OSError as error:
        raise UserError(f"cannot write results to {directory}: {error.strerror or error}.") from error


def _table(result: dict[str, Any], seconds: float) -> Table:
    counts = plural(result["goals"], "goal"), plural(result["elites"], "elite")
    table = Table(title=f"{counts[0]}, {counts[1]}, {number(seconds)} s", title_justify="left", padding=0)
    first, second = ("fresh starts", "stored starts, optimistic")[:: 1 if result["starts"] == "fresh" else -1]
    for heading in ("elite found by", "episodes", "played again", first, "std", "median", "gap", second):
        table.add_column(heading, justify="left" if heading.startswith("elite") else "right")
    for method, score in result["scores"].items():
        episodes = result["elites" if method == "exhaustive" else "trials"]
        numbers = (number(score[name]) for name in ("mean", "std", "median"))
        behind = result["shortfall"].get(method)
        gap = "" if behind is None else f"{-behind:+.1%}"
        again, other = result["again"][method]["mean"], result["other_starts"]["scores"][method]["mean"]
        table.add_row(_NAMES[method], f"{episodes:,}", number(again), *numbers, gap, number(other))
    return table
