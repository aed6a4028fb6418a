"""The tables that are about all tasks or none: pooled scores, components of the algorithms, the runs themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from qdpg.algorithms.registry import ALGORITHMS
from qdpg.report.comparison import in_words, interval_of
from qdpg.report.gather import Failure, Findings, TaskResults, Variant
from qdpg.report.tables import Table
from qdpg.report.words import number, plural
from qdpg.tasks.task import TaskSpec

_PARTS = {
    "quality_gradient": "quality gradient",
    "diversity_gradient": "diversity gradient",
    "quality_selection": "quality selection",
    "diversity_selection": "diversity selection",
    "collection": "collection",
}


def normalise(spec: TaskSpec, scores: np.ndarray) -> np.ndarray:
    """Put scores [n] on a scale on which standing still is 0 and the scripted optimum 1; NaN if they are not known."""
    still, best = (spec.references.get(name, np.nan) for name in ("motionless", "scripted"))
    return (scores - still) / (best - still)


def pooled_scores(tasks: Sequence[TaskResults]) -> Table | None:
    """Interquartile means over several tasks; None if there are not two whose scores can be normalised."""
    comparable = [task for task in tasks if np.isfinite(normalise(task.spec, np.zeros(1))).all()]
    if len(comparable) < 2:
        return None
    labels = list(dict.fromkeys(variant.label for task in comparable for variant in task.variants))
    rows, records = [], []
    for label in labels:
        found: list[tuple[TaskResults, Variant]] = [
            (task, variant) for task in comparable for variant in task.variants if variant.label == label
        ]
        row, record = [label], {"algorithm": label, "tasks": len(found)}
        for name in ("evaluated_best", "final", "best_elite"):
            interval = interval_of([normalise(task.spec, variant.scores(name)) for task, variant in found])
            row.append(in_words(interval))
            record |= {name: interval.value, f"{name}_low": interval.low, f"{name}_high": interval.high}
        runs = sum(len(variant.results) for _, variant in found)
        rows.append([*row, ", ".join(task.title for task, _ in found), str(runs)])
        records.append(record | {"runs": runs})
    notes = [
        "Interquartile means over all runs of all tasks, with stratified bootstrap intervals (95 %; each task is a "
        "stratum). Scores are normalised per task: 0 is what standing still gives, 1 the scripted optimum.",
        "Rows over different tasks do not compare with each other.",
    ]
    columns = ["algorithm", "best elite", "final performance", "best elite, stored", "tasks", "runs"]
    return Table("all-tasks", "All tasks together", columns, rows, records, notes, frozenset({"tasks"}))


def components(used: set[str], is_papers: bool = True) -> Table | None:
    """Table 4: what each algorithm consists of; None if there is nothing to say.

    Args:
        used: Algorithms that are in the report.
        is_papers: Whether it is about a task of the paper: then those are listed too that did not run.
    """
    listed = {name: entry for name, entry in ALGORITHMS.items() if is_papers or name in used}
    if not listed:
        return None
    rows = [
        [name, entry.title, *("✓" if getattr(entry, part) else "·" for part in _PARTS), "yes" if name in used else "-"]
        for name, entry in listed.items()
    ]
    records: list[dict[str, Any]] = [
        {"algorithm": name, **entry.summary(), "in_report": name in used} for name, entry in listed.items()
    ]
    columns = ["algorithm", "what it is", *_PARTS.values(), "in this report"]
    notes = ["Collection: whether the method optimises for a collection of policies rather than for one."]
    words = frozenset({"what it is"})
    title = "Table 4: components of the algorithms" if is_papers else "Components of the algorithms"
    return Table("components", title, columns, rows, records, notes, words)


def list_runs(findings: Findings) -> Table:
    """All runs that were found, with those that the tables leave out and why."""
    twins = {id(left): kept for left, kept in findings.twins}
    rows, records = [], []
    for result in findings.results:
        config, manifest = result.run.config, result.run.manifest
        if not result.is_finished:
            how = "in a row of its own" if result.is_shown else "left out, nothing was saved"
            state = f"NOT FINISHED, {how}: {result.steps:,} of {config['steps']:,} steps"
        elif id(result) in twins:
            state = f"left out: same settings and seed as {twins[id(result)].name}"
        else:
            state = "finished"
        made = [str(manifest[name])[:12] for name in ("qdpg", "revision") if manifest.get(name)]
        made += ["changed since"] * bool(manifest.get("changed"))
        row = [result.name, config["task"], config["algorithm"], config["preset"], str(config["seed"]), state]
        row += [number(result.steps), number(result.evaluated_best), number(result.final), number(result.best_elite)]
        row.append(" ".join(made))
        rows.append([*row, *(str(manifest.get(name, "-")) for name in ("machine", "started"))])
        records.append(
            {"run": result.name}
            | {name: config[name] for name in ("task", "algorithm", "preset", "seed")}
            | {"state": state, "steps": result.steps, "budget": config["steps"]}
            | {name: getattr(result, name) for name in ("evaluated_best", "corrected_qd_score", "share_own_cell")}
            | {name: getattr(result, name) for name in ("final", "best_elite", "coverage", "qd_score", "seconds")}
            | {
                name: manifest.get(name)
                for name in ("qdpg", "revision", "changed", "jax", "mujoco", "python", "machine", "started")
            }
        )
    columns = ["run", "task", "algorithm", "preset", "seed", "state", "steps", "best elite", "final performance"]
    columns += ["best elite, stored", "qdpg", "machine", "started"]
    unfinished = sum(not result.is_finished for result in findings.results)
    notes = []
    if unfinished:
        is_or_are = "is" if unfinished == 1 else "are"
        notes.append(f"{plural(unfinished, 'run')} {is_or_are} not finished, and shown as far as they came.")
    words = frozenset({"task", "algorithm", "preset", "state", "qdpg", "machine", "started"})
    return Table("runs", "Runs", columns, rows, records, notes, words)


def list_failures(failures: Sequence[Failure]) -> Table | None:
    """Runs that `qdpg compare` could not finish, or that cannot be read, with their errors; None if there are none."""
    if not failures:
        return None
    rows = [[failure.run, " ".join(failure.error.split())] for failure in failures]
    records = [failure._asdict() for failure in failures]
    return Table("failures", "Failed runs", ["run", "error"], rows, records, words=frozenset({"error"}))
