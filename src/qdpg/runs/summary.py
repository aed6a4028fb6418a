"""What there is to say about a run, as numbers and in words."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table

from qdpg.errors import UserError
from qdpg.report.compatibility import Compatibility, compatibility
from qdpg.report.words import number, plural
from qdpg.runs.evaluated import read_evaluated_about
from qdpg.runs.solved import steps_to_solved
from qdpg.runs.ties import check_elites
from qdpg.terminal import make_console

if TYPE_CHECKING:
    from qdpg.runs.run import Run

_WORK = ("gradients", "physics", "novelty", "memory", "rest")


def summarise(run: Run) -> dict[str, Any]:
    """Return what there is to say about a run. Numbers that are not known are NaN.

    Raises:
        UserError: The run has not finished a generation.
    """
    check_elites(run.path, run.ties)
    metrics = run.metrics()
    if not len(metrics.get("steps", ())):
        raise UserError(f"{run.path} has not finished a generation yet; there is nothing to show.")
    last = {name: column[-1] for name, column in metrics.items()}
    evaluations, seconds = run.evaluations(), float(last["seconds"])
    return {
        "task": run.config["task"],
        "algorithm": run.config["algorithm"],
        "preset": run.config["preset"],
        "seed": run.config["seed"],
        "steps": int(last["steps"]),
        "total_steps": run.config["steps"],
        "seconds": seconds,
        "steps_per_second": last["steps"] / seconds if seconds > 0 else math.nan,
        "generations": int(last["generation"]),
        "episodes": int(metrics["episodes"].sum()),
        "cells_filled": int(last["cells"]),
        "cells": round(last["cells"] / last["coverage"]) if last["coverage"] > 1e-12 else math.nan,
        "coverage": last["coverage"],
        "qd_score": last["qd_score"],
        "best_fitness": last["best_fitness"],
        "solved_above": run.spec.solved,
        "steps_to_solved": _steps_to_solved(run, evaluations),
        "evaluation": _evaluation(evaluations),
        "evaluated": read_evaluated_about(run.path / "elites"),
        "elite_mean_fitness": _last(evaluations.get("elite_mean_fitness", np.array([]))),
        "time_shares": {
            kind: last[f"{kind}_seconds"] / seconds for kind in _WORK if f"{kind}_seconds" in last and seconds > 0
        },
        "compatibility": _compatibility(run),
        "climbs_novelty": "novelty" in run.config["config"],
        "versions": run.manifest,
    }


def _evaluation(evaluations: Mapping[str, np.ndarray]) -> dict[str, Any] | None:
    """The last deterministic evaluation, if there was one."""
    if not len(evaluations.get("steps", ())):
        return None
    scores = {name: evaluations[name][-1] for name in ("best_fitness", "median_fitness")}
    return {"steps": int(evaluations["steps"][-1]), **scores}


def _steps_to_solved(run: Run, evaluations: Mapping[str, np.ndarray]) -> float:
    """When the task was solved; infinity if it was not, not-a-number if it says nothing about that."""
    steps, means = (evaluations.get(name, np.array([])) for name in ("steps", "elite_mean_fitness"))
    return steps_to_solved(steps, means, run.spec.solved)


def _last(column: np.ndarray) -> float:
    """The last number of a column that is known; best elites are not replayed at every evaluation."""
    known = column[np.isfinite(column)]
    return float(known[-1]) if len(known) else math.nan


def _compatibility(run: Run) -> Compatibility | None:
    """Correlate novelty of states and of solutions over the run's episodes; None if it did not record them."""
    episodes = run.episodes() if os.path.lexists(run.path / "episodes.csv") or run.ties else {}
    if not {"state_novelty", "solution_novelty"} <= episodes.keys():
        return None
    later = episodes["generation"] > episodes["generation"].min(initial=np.inf)  # there was nothing to differ from
    return compatibility(episodes["state_novelty"][later], episodes["solution_novelty"][later])


def plain(value: Any) -> Any:
    """Turn numbers into Python's, and those that JSON lacks into None."""
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def put_in_words(summary: dict[str, Any]) -> dict[str, str]:
    """Write a summary in words, by label."""
    solved, evaluation, found = summary["solved_above"], summary["evaluation"], summary["compatibility"]
    versions = {name: str(version) for name, version in summary["versions"].items() if version is not None}
    about = [versions.pop(name, "-") for name in ("machine", "started", "seed", "revision")]
    processor = [versions.pop(name, "") for name in ("cpu", "instruction_sets")]
    for name in ("threads", "code"):
        versions.pop(name, None)
    has_changed = versions.pop("changed", "False") == "True"
    flags = versions.pop("flags", "{}")
    rows = {
        "task": summary["task"] + ("" if solved is None else f" (solved above {number(solved)})"),
        **_solved(summary["steps_to_solved"]),
        "algorithm": f"{summary['algorithm']}, preset {summary['preset']}, seed {summary['seed']}",
        "steps": f"{summary['steps']:,} of {summary['total_steps']:,}",
        "time": f"{number(summary['seconds'])} s, {number(summary['steps_per_second'])} steps/s",
        "shares of time": ", ".join(f"{kind} {share:.0%}" for kind, share in summary["time_shares"].items()) or "-",
        "generations": f"{summary['generations']:,}, with {plural(summary['episodes'], 'episode')}",
        "cells filled": f"{summary['cells_filled']:,} of {number(summary['cells'])} ({summary['coverage']:.1%})",
        **describe_evaluation(summary["evaluated"]),
        "best elite at the last look": number(summary["elite_mean_fitness"]),
        "stored, optimistic": f"QD score {number(summary['qd_score'])}, best fitness {number(summary['best_fitness'])}",
        "last population": "not evaluated yet",
        "compatibility": "not recorded: this algorithm climbs no novelty",
        "versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
        "revision": about[3][:12] + (", with changes that were not committed" if has_changed else ""),
        "machine": ", ".join(part for part in (about[0], *processor, f"started {about[1]}") if part)
        + ("" if flags == "{}" else f", flags {flags}"),
    }
    if evaluation is not None:
        best, median = number(evaluation["best_fitness"]), number(evaluation["median_fitness"])
        rows["last population"] = f"best {best}, median {median}, after {evaluation['steps']:,} steps"
    if found is not None:
        pearson, spearman = number(round(found["pearson"], 2)), number(round(found["spearman"], 2))
        correlations = f"Pearson {pearson}, Spearman {spearman}, over {plural(found['episodes'], 'episode')}"
        aside = "" if summary["climbs_novelty"] else "\nThis algorithm climbs no novelty and does not depend on it."
        rows["compatibility"] = f"{correlations}\n{found['verdict']}{aside}"
    return rows


def _solved(steps: float) -> dict[str, str]:
    """Whether the task was solved, in words; nothing where it does not say when."""
    if math.isnan(steps):
        return {}
    return {
        "solved": f"after {steps:,.0f} steps" if math.isfinite(steps) else "not yet, as far as looks at the best say"
    }


def describe_evaluation(summary: dict[str, Any] | None) -> dict[str, str]:
    """An evaluation in words, by label: evaluated values first, stored ones second."""
    if summary is None or not summary.get("episodes"):
        return {"from fresh starts": "not evaluated since it was trained; see `qdpg evaluate`"}
    corrected, stored, best = summary["corrected"], summary["stored"], summary["best"]
    optimistic = "stored, optimistic"
    rows = {
        "from fresh starts": f"{summary['elites']:,} elites x {summary['episodes']} episodes"
        + ("" if summary["complete"] else f" of {summary['episodes_wanted']}; `qdpg evaluate` plays the rest"),
        "corrected QD score": f"{number(corrected['qd_score'])}  ({optimistic}: {number(stored['qd_score'])})",
        "corrected cells": f"{corrected['cells']:,}  ({optimistic}: {stored['cells']:,})",
        "end in their own cell": f"{summary['share_own_cell']:.0%} of all episodes",
    }
    if best is not None:
        quartiles = ", ".join(number(best[key]) for key in ("lower_quartile", "median", "upper_quartile"))
        rows["best elite"] = (
            f"mean {number(best['mean'])}, quartiles {quartiles}, from starts it was not chosen by  "
            f"({optimistic}: {number(best['stored_fitness'])})"
        )
    return rows


def print_words(title: str, rows: Mapping[str, str]) -> None:
    """Print what is said by label as a table."""
    table = Table(title=title, title_justify="left", show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for label, text in rows.items():
        table.add_row(label, text)
    make_console().print(table)
