"""`compare`: run a matrix of tasks × algorithms × seeds, or go on with one."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qdpg.cluster.connect import connected
from qdpg.cluster.engine import Engine, RayEngine, find_engine
from qdpg.errors import UntrustedError, UserError
from qdpg.matrix.child import Crew, share_cores
from qdpg.matrix.matrix import Matrix, PlannedRun, extend, make_matrix
from qdpg.matrix.overview import Overview
from qdpg.matrix.progress import is_finished
from qdpg.matrix.record import Failure, Failures, read_matrix, write_matrix
from qdpg.matrix.work import Work
from qdpg.ranges import check_seconds
from qdpg.report.words import plural
from qdpg.runs.config import read_config
from qdpg.runs.files import check_inside, lock_directory, make_directory
from qdpg.runs.run import NOT_OURS
from qdpg.runs.signals import signals_to
from qdpg.tasks.registry import foreign_code

if TYPE_CHECKING:
    from qdpg.matrix.remote import RayCrew


@dataclass(frozen=True)
class Outcome:
    """What came of a comparison.

    Attributes:
        runs: Directories of all runs of the matrix.
        finished: Those that are finished.
        failures: Those whose last attempt failed.
        stopped: The signal that stopped the comparison before its end, if one did.
    """

    runs: list[Path]
    finished: list[Path]
    failures: list[Failure]
    stopped: int | None


def compare(
    out: Path | str,
    tasks: Sequence[str] | None = None,
    algorithms: Sequence[str] | str | None = None,
    seeds: int | Sequence[int] | None = None,
    steps: int | None = None,
    preset: str | None = None,
    settings: Mapping[str, Any] | None = None,
    *,
    jobs: int | None = None,
    threads: int | None = None,
    checkpoint_seconds: float = 60.0,
    evaluate_seconds: float = 120.0,
    trust: bool = False,
    engine: Engine = "local",
    quiet: bool = False,
) -> Outcome:
    """Run a matrix of tasks × algorithms × seeds as ordinary runs, or go on with one.

    What is not given is taken from the comparison that is there already. Finished runs are left alone, begun ones are
    resumed, failed ones tried again. SIGINT and SIGTERM are handed to the runs, which save and stop. Results do not
    depend on `jobs` and `threads`.

    Args:
        out: Directory of the comparison; run `seed` is in `out/task/algorithm/seed-N`.
        tasks: Names of tasks.
        algorithms: Names of algorithms, or "all".
        seeds: Seeds, or how many.
        steps: Environment steps of each run.
        preset: Preset of all algorithms; "tuned" if nothing else is said.
        settings: What differs from the preset: `task.KEY`, `KEY` of all algorithms, or `ALGORITHM.KEY`.
        jobs: Runs at once; by default as many as there are cores for, as far as memory allows.
        threads: Cores for each run; by default an equal share.
        checkpoint_seconds: Time between checkpoints of a run.
        evaluate_seconds: Time for playing all elites of a run from fresh starts at its end.
        trust: Whether code may be imported that a comparison begun earlier names; what is named here is trusted.
        engine: "local"; "ray" for processes of Ray on this machine; a `RayEngine` for a cluster, whose nodes train the
            runs while all files come to `out` as they are made. Results do not depend on it.
        quiet: Show nothing.

    Raises:
        UserError: Something is wrong with what is asked for, or it contradicts what was begun; nothing is written.

    Examples:
        >>> import qdpg
        >>> small = {"population": 5, "initial_policies": 5, "hidden": (8, 8)}
        >>> what = {"tasks": ["point-maze"], "algorithms": ["map-elites"], "seeds": 2, "steps": 2000}
        >>> found = qdpg.compare("many", **what, settings=small, quiet=True)
        >>> len(found.finished), found.failures
        (2, [])
    """
    check_seconds(checkpoint_seconds, "--checkpoint-seconds")
    check_seconds(evaluate_seconds, "--evaluate-seconds")
    out = Path(out)
    if out.is_dir():
        check_inside(out, but=NOT_OURS)
    asked: dict[str, Any] = {
        "tasks": tasks,
        "algorithms": (algorithms,) if isinstance(algorithms, str) else algorithms,
        "seeds": range(seeds) if isinstance(seeds, int) else seeds,
        "steps": steps,
        "preset": preset,
        "settings": settings,
    }
    matrix = _complete(out, {name: value for name, value in asked.items() if value is not None})
    named = {*(asked["tasks"] or ()), *(asked["algorithms"] or ())}
    foreign = {name: what for name in (*matrix.tasks, *matrix.algorithms) if (what := foreign_code(name))}
    rest = [name for name in matrix.tasks if name not in foreign]
    made_with = {name: what for name in rest if (what := foreign_code(name, matrix.settings_of("")[0]))}
    unknown = [what for name, what in foreign.items() if name not in named]
    unknown += made_with.values() if settings is None else ()
    foreign |= made_with
    if unknown and not trust:
        raise UntrustedError(f"{out} would import {unknown[0]}; if you know this code and trust it, add --trust.")
    planned = matrix.plan(out)
    for run in planned:
        _check_begun(run)
    options = ["--checkpoint-seconds", str(checkpoint_seconds), "--evaluate-seconds", str(evaluate_seconds)]
    options += ["--trust"] if foreign else []
    with _crews(find_engine(engine), jobs, threads, options) as make_crew:
        make_crew(planned)  # says what is wrong before anything is written
        make_directory(out)
        with (
            lock_directory(out, f"another process is comparing in {out}; wait for it or stop it."),
            Overview(quiet) as overview,
        ):
            write_matrix(out, matrix)
            todo = [run for run in planned if not is_finished(run)]
            todo.sort(key=lambda run: not (run.path / "config.json").exists())  # what was begun comes first
            crew = make_crew(todo)
            _greet(overview, planned, todo, crew.describe())
            work = Work(planned, todo, crew, Failures(out), overview)
            with signals_to(work.stop):
                work.go_through()
    finished = [run.path for run in planned if is_finished(run)]
    return Outcome([run.path for run in planned], finished, work.failures.all(), work.stopped)


@contextmanager
def _crews(
    engine: RayEngine | None, jobs: int | None, threads: int | None, options: Sequence[str]
) -> Iterator[Callable[[Sequence[PlannedRun]], Crew | RayCrew]]:
    """Who starts runs: makes a crew for the runs that are to be trained."""
    if engine is None:
        cores = sorted(os.sched_getaffinity(0))
        yield lambda todo: Crew(share_cores(cores, len(todo), jobs, threads), options)
        return
    with connected(engine) as ray:
        from qdpg.matrix.remote import RayCrew

        yield lambda todo: RayCrew(ray, todo, jobs, threads, options)


def _complete(out: Path, asked: dict[str, Any]) -> Matrix:
    """Take what is not asked for from the comparison in `out`, if there is one.

    Raises:
        UserError: Something is missing, or contradicts what is there.
    """
    old = read_matrix(out)
    if old is None:
        if missing := [name for name in ("tasks", "algorithms", "seeds", "steps") if name not in asked]:
            wanted = ", ".join(f"--{name}" for name in missing)
            raise UserError(f"there is no comparison in {out} yet; a new one needs {wanted} too.")
        if out.exists() and (not out.is_dir() or any(path.name[0] != "." for path in out.iterdir())):
            raise UserError(f"{out} is there already, is not empty and holds no comparison; choose another --out.")
        return make_matrix(**{"preset": "tuned", "settings": {}, **asked})
    return extend(old, make_matrix(**{**vars(old), **asked}), out)


def _greet(overview: Overview, planned: list[PlannedRun], todo: list[PlannedRun], how: str) -> None:
    """Say what is about to happen."""
    begun = [run for run in planned if (run.path / "config.json").exists()]
    done, resumed = len(planned) - len(todo), sum(run in begun for run in todo)
    overview.say(
        f"{plural(len(planned), 'run')}: {done} finished, {resumed} to resume, {len(todo) - resumed} to start; {how}"
    )
    if changed := [run for run in begun if _has_other_settings(run)]:
        overview.say(
            f"{plural(len(changed), 'run')} began with settings that this version of qdpg would not choose any more, "
            f"and will keep them; the first is {changed[0].path}"
        )


def _check_begun(run: PlannedRun) -> None:
    """Refuse a run that is in the place of another.

    Raises:
        UserError: It is of another task, algorithm or seed, or its task has other options.
    """
    found, wanted = _begun(run), json.loads(json.dumps(dataclasses.asdict(run.config)))
    for name in ("task", "algorithm", "seed", "task_options") if found else ():
        if found.get(name) != wanted[name]:
            what = name.replace("_", " ")
            raise UserError(
                f"{run.path} was begun with {what} {found.get(name)!r:.60}, not {wanted[name]!r:.60}; "
                "move it away to train it anew, or choose another --out."
            )


def _has_other_settings(run: PlannedRun) -> bool:
    found = _begun(run)
    return bool(found) and found["config"] != json.loads(json.dumps(run.config.config))


def _begun(run: PlannedRun) -> dict[str, Any]:
    """What a run was begun with; empty if there is none, or it cannot be read: its process will say why."""
    try:
        return read_config(run.path / "config.json")[0]
    except (OSError, UserError, KeyError):
        return {}
