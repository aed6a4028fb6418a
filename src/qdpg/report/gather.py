"""Finding runs and putting together what belongs together: a section per task, a row per way of training."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from qdpg.algorithms.registry import ALGORITHMS, config_to_json, make_config
from qdpg.errors import DamagedError, UserError
from qdpg.options import flatten_options
from qdpg.report import paper
from qdpg.report.result import Result, read_result
from qdpg.report.words import plural
from qdpg.runs.files import read_json
from qdpg.runs.run import load_run
from qdpg.tasks.registry import BUILT_IN, foreign_code, make_task
from qdpg.tasks.task import TaskSpec


@dataclass(frozen=True)
class Variant:
    """Runs that differ in nothing but their seeds: one row of a table, one curve of a figure."""

    label: str
    algorithm: str
    preset: str
    changes: dict[str, Any]  # settings that differ from the preset
    budget: int  # environment steps that were asked for
    until_solved: bool
    results: tuple[Result, ...]  # by seed
    is_finished: bool = True  # otherwise they were interrupted, and are shown as far as they came

    def scores(self, name: str) -> np.ndarray:
        """An attribute of all results, [n]."""
        return np.array([getattr(result, name) for result in self.results], np.float64)

    @property
    def representative(self) -> Result:
        """The run whose best elite is the median one, or the better of the two in the middle."""
        scores = self.scores("evaluated_best")
        order = np.argsort(scores if np.isfinite(scores).all() else self.scores("best_elite"), kind="stable")
        return self.results[order[len(order) // 2]]


@dataclass(frozen=True)
class TaskResults:
    """All that was found about one task, in the order of the algorithms' registry."""

    title: str
    name: str
    is_papers: bool  # the task as it is in the paper, no option changed
    spec: TaskSpec
    variants: tuple[Variant, ...]


class Failure(NamedTuple):
    """A run that `qdpg compare` could not finish, or that cannot be read."""

    run: str
    error: str


@dataclass(frozen=True)
class Findings:
    """What there is to report."""

    tasks: tuple[TaskResults, ...]
    results: tuple[Result, ...]  # finished or not
    twins: tuple[tuple[Result, Result], ...]  # runs that are left out, each with the equal one that is not
    failures: tuple[Failure, ...]
    comparisons: tuple[dict[str, Any], ...]  # what `qdpg compare` was asked for


def gather(directories: Sequence[Path]) -> Findings:
    """Read all runs beneath `directories`.

    Raises:
        UserError: A directory is not there, or no run beneath can be shown.
    """
    found: dict[Path, str] = {}
    failures: list[Failure] = []
    comparisons = []
    for directory in directories:
        if not directory.is_dir():
            raise UserError(f"{directory} is not a directory; give directories that hold runs.")
        prefix = "" if len(directories) == 1 else f"{directory.resolve().name}/"
        for path, names in _walk(directory):
            if {"config.json", "manifest.json"} <= names:
                inside = path.relative_to(directory).as_posix()
                own = directory.resolve().name
                found.setdefault(path.resolve(), own if inside == "." else prefix + inside)
            if "failures.json" in names:
                failures += [Failure(prefix + f["run"], f["error"]) for f in _read(path, "failures.json", "failures")]
            if "compare.json" in names:
                comparisons.append(_read(path, "compare.json"))
    if not found:
        raise UserError(f"there are no runs beneath {', '.join(map(str, directories))}; train some first.")
    opened = [_open(path, name) for path, name in found.items()]
    failures += [each for each in opened if isinstance(each, Failure)]
    results = tuple(each for each in opened if isinstance(each, Result))
    shown = [result for result in results if result.is_shown]
    if not shown:
        where = ", ".join(map(str, directories))
        unreadable = f" The first that cannot be read: {failures[0].error}" if failures else ""
        raise UserError(f"none of the {plural(len(found), 'run')} beneath {where} has saved anything yet.{unreadable}")
    tasks, twins = _group(shown)
    return Findings(tasks, results, twins, tuple(failures), tuple(comparisons))


def _walk(directory: Path) -> list[tuple[Path, set[str]]]:
    """All directories beneath, in a fixed order, with the names of their files; what is inside a run is left out."""
    visited = []
    for path, inside, files in os.walk(directory):
        visited.append((Path(path), set(files)))
        is_run = {"config.json", "manifest.json"} <= set(files)
        inside[:] = [] if is_run else sorted(name for name in inside if not name.startswith("."))
    return visited


def _read(directory: Path, name: str, entry: str | None = None) -> Any:
    """Read what `qdpg compare` wrote."""
    try:
        data = read_json(directory / name)
        if entry is None:
            return data
        return [{"run": str(item["run"]), "error": str(item["error"])} for item in data[entry]]
    except (TypeError, KeyError) as error:
        raise DamagedError(f"{directory / name} is damaged: {type(error).__name__}: {error}.") from error


def _open(path: Path, name: str) -> Result | Failure:
    """Read a run with all that figures need; one that cannot be read must not stop the report about the others."""
    try:
        run = load_run(path)
        _ = run.spec  # says what is wrong with its task
        result = read_result(run, name)
        if result.is_shown:
            _ = run.elites
            run.check_log("episodes")
            _options(result)  # says what is wrong with those
    except UserError as error:
        return Failure(name, f"cannot be read: {error}")
    return result


class _Key(NamedTuple):
    """What runs have in common that belong into one row."""

    algorithm: str
    preset: str
    config: str  # all settings, as JSON
    budget: int
    until_solved: bool
    is_finished: bool


def _group(results: Sequence[Result]) -> tuple[tuple[TaskResults, ...], tuple[tuple[Result, Result], ...]]:
    by_task: dict[tuple[str, str], dict[_Key, dict[int, Result]]] = {}
    twins = []
    for result in results:
        config = result.run.config
        settings = json.dumps(flatten_options(config["config"]), sort_keys=True)
        asked = config["steps"], config["until_solved"]
        key = _Key(config["algorithm"], config["preset"], settings, *asked, result.is_finished)
        seeds = by_task.setdefault((config["task"], _options(result)), {}).setdefault(key, {})
        twin = seeds.setdefault(config["seed"], result)
        if twin is not result:  # the same run again would only feign certainty
            twins.append((result, twin))
    tasks = []
    for (name, options), rows in sorted(by_task.items(), key=lambda item: (_task_order(item[0][0]), item[0])):
        spec = next(iter(next(iter(rows.values())).values())).run.spec
        title = name + (f" with {options}" if options else "")
        is_papers = name in paper.STEPS and not options
        tasks.append(TaskResults(title, name, is_papers, spec, _variants(name, rows)))
    return tuple(tasks), tuple(twins)


def _variants(task: str, rows: dict[_Key, dict[int, Result]]) -> tuple[Variant, ...]:
    names = list(ALGORITHMS)
    order = sorted(
        rows, key=lambda k: (names.index(k.algorithm) if k.algorithm in names else len(names), k.algorithm, k[1:])
    )
    return tuple(
        Variant(
            _label(key, [other for other in order if other.algorithm == key.algorithm]),
            key.algorithm,
            key.preset,
            _changes(key, task),
            key.budget,
            key.until_solved,
            tuple(result for _, result in sorted(rows[key].items())),
            key.is_finished,
        )
        for key in order
    )


def _label(key: _Key, same: Sequence[_Key]) -> str:
    """The algorithm's name, and what tells this row from others of the same algorithm."""
    told = []
    if len({other.preset for other in same}) > 1:
        told.append(key.preset)
    rivals = [json.loads(other.config) for other in same if other.preset == key.preset]
    settings = json.loads(key.config)
    for name in settings:
        if any(rival.get(name) != settings[name] for rival in rivals):
            told.append(f"{name}={_plain(settings[name])}")
    if len({other.budget for other in same}) > 1:
        told.append(f"{key.budget:,} steps")
    if len({other.until_solved for other in same}) > 1:
        told.append("until solved" if key.until_solved else "to the end")
    if not key.is_finished:
        told.append("not finished")
    return key.algorithm + (f" ({', '.join(told)})" if told else "")


def _changes(key: _Key, task: str) -> dict[str, Any]:
    """Settings in which a row differs from its preset as it is now."""
    if foreign_code(key.algorithm):  # a report imports nothing that a run names
        return {}
    try:
        if task not in BUILT_IN:
            return {}  # its preset follows from its spec, and that from code that a report does not run
        usual = config_to_json(make_config(key.algorithm, key.preset, make_task(task).spec, {}))
        preset = json.loads(json.dumps(flatten_options(usual)))
    except UserError:  # an algorithm or preset that this version does not have
        return {}
    missing = object()
    return {name: value for name, value in json.loads(key.config).items() if preset.get(name, missing) != value}


def _options(result: Result) -> str:
    """The task's options where they differ from the defaults, in words."""
    config = result.run.config
    options = dict(sorted(config["task_options"].items()))
    try:
        default = None if foreign_code(config["task"], options) else make_task(config["task"])
    except UserError:  # a task that must be told something
        default = None
    return ", ".join(
        f"{name}={_plain(value)}"
        for name, value in options.items()
        if default is None or repr(getattr(default, name, None)) != repr(getattr(result.run.task, name, None))
    )


def _plain(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _task_order(name: str) -> int:
    return list(paper.STEPS).index(name) if name in paper.STEPS else len(paper.STEPS)
