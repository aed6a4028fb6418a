"""A run: a directory that holds everything one training produced.

config.json        everything needed to start it again
manifest.json      versions, machine, seed; digests of config, logs and elites as of the last checkpoint
metrics.csv        a row per generation
episodes.csv       a row per training episode
evaluations.csv    deterministic evaluations
resources.json     the most memory it took
events.*           TensorBoard
checkpoints/       what `resume` starts from
elites/            the policies, and what `evaluate` found about them, readable without qdpg
figures/           what `plot` draws
"""

from __future__ import annotations

import dataclasses
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

import numpy as np

from qdpg.algorithms.registry import config_to_json
from qdpg.errors import DamagedError, MissingError, UntrustedError, UserError
from qdpg.plugins import find_places, make_findable, top_module
from qdpg.runs.config import FORMAT, STEPS, RunConfig, identity, read_config, write_config
from qdpg.runs.files import TEMPORARY, check_inside, lock_directory, make_directory
from qdpg.runs.logs import Table, check_finite, read_csv
from qdpg.runs.records import Ties, parse, read_sealed, write_record
from qdpg.runs.software import describe_software
from qdpg.runs.ties import check_elites
from qdpg.tasks.contract import check_spec
from qdpg.tasks.registry import BUILT_IN, foreign_code, make_task
from qdpg.tasks.task import Task, TaskSpec

if TYPE_CHECKING:
    from qdpg.cluster.engine import Engine
    from qdpg.play.player import Player
    from qdpg.runs.callbacks import Callback
    from qdpg.runs.collection import Collection

LOGS = ("metrics", "episodes", "evaluations")
_FILES = (
    *("config.json", "manifest.json", "resources.json", ".lock", *(f"{name}.csv" for name in LOGS)),
    *(f"elites/{name}" for name in ("elites.json", "elites.safetensors", "evaluated.json", "evaluated.csv")),
    "elites/evaluated-episodes.csv",
)
_DIRECTORIES = ("checkpoints", "checkpoints/replay", "elites")
_KNOWN = {  # columns of the logs whose numbers are always known
    "metrics": ("generation", "steps", "seconds", "cells", "coverage", "qd_score", "episodes"),
    "episodes": ("generation", "steps", "fitness"),
    "evaluations": ("steps", "best_fitness", "median_fitness"),
}
NOT_OURS = ("wandb",)  # has links in it
_BEGUN = {"manifest.json", ".lock"}  # what a process that was killed while it made a run may have left


@dataclass(frozen=True)
class _Outline:
    """What is known of a task without its code."""

    spec: TaskSpec
    arithmetic: Literal["jax", "native"]


@dataclass(frozen=True, repr=False)
class Run:
    """A run on disk.

    Tables are dictionaries of columns; `to_pandas()` makes a DataFrame of them.

    Attributes:
        path: Its directory.
        config: What `config.json` holds.
        manifest: Versions, machine, seed, start.
        refusal: Why it cannot be trained on, if so.
        is_trusted: Whether code that the run names may be imported.
        ties: Digests of what belongs together as of the last checkpoint; None if there is none, or if an older version
            wrote it.
        outline: What is known of a task that is not built in.

    Examples:
        >>> import qdpg
        >>> run = qdpg.load_run("runs/doc")
        >>> int(run.metrics()["cells"][-1]) == len(run.elites)
        True
        >>> sorted(run.episodes().to_pandas().columns)[:3]
        ['emitter', 'fitness', 'generation']
        >>> run = run.resume(steps=24_000)
        >>> int(run.metrics()["steps"][-1])
        24000
    """

    path: Path
    config: dict[str, Any]
    manifest: dict[str, Any]
    refusal: str | None = None
    is_trusted: bool = False
    ties: Ties | None = None
    outline: _Outline | None = None

    def __repr__(self) -> str:
        task, algorithm, seed = (self.config[name] for name in ("task", "algorithm", "seed"))
        return f"<Run {str(self.path)!r}: {task}, {algorithm}, seed {seed}>"

    @cached_property
    def task(self) -> Task:
        """The task.

        Raises:
            UntrustedError: It is somebody's own code, and nobody said that it may be imported.
        """
        self.check_trust("task")
        return make_task(self.config["task"], **self.config["task_options"])

    def check_trust(self, *parts: str) -> None:
        """Refuse to import code that the run names, unless it is trusted; then let it be found where it was.

        Args:
            *parts: Whose: "task", "algorithm"; both unless told.

        Raises:
            UntrustedError: It names some.
            UserError: It is not where it was when the run was made.
        """
        places = self.manifest.get("code", {})
        for part in parts or ("task", "algorithm"):
            options = self.config["task_options"] if part == "task" else {}
            place = places.get(top_module(self.config[part]))
            if self.is_trusted:
                make_findable(self.config[part], place)
            elif what := foreign_code(self.config[part], options, place):
                raise UntrustedError(
                    f"{self.path} would import {what}; if you know this code and trust it, add --trust "
                    "(in Python, trust=True)."
                )

    @cached_property
    def spec(self) -> TaskSpec:
        """The contract of the task; code that is not trusted is not imported for it."""
        return self.task.spec if self.outline is None else self.outline.spec

    def metrics(self) -> Table:
        """One entry per generation, by column."""
        return self._log("metrics")

    def episodes(self) -> Table:
        """One entry per training episode, by column."""
        return self._log("episodes")

    def evaluations(self) -> Table:
        """One entry per deterministic evaluation, by column; empty if none was due yet."""
        known = self.ties is not None and self.ties.logs.get("evaluations")
        is_begun = os.path.lexists(self.path / "evaluations.csv") or (known and known.length)
        return self._log("evaluations") if is_begun else Table()

    def check_log(self, name: str) -> Path:
        """Return where the log `name` is, if it is what the run wrote.

        Raises:
            UserError: It is missing or was changed.
        """
        path = self.path / f"{name}.csv"
        if self.ties is not None and name in self.ties.logs:
            self.ties.logs[name].check(path)
        elif not path.is_file():
            raise MissingError(f"{path} is missing; restore the file.")
        return path

    def _log(self, name: str) -> Table:
        path = self.path / f"{name}.csv"
        if self.ties is not None and name in self.ties.logs:
            self.check_log(name)
        table = read_csv(path)
        check_finite(table, _KNOWN[name], path)
        if name == "metrics" and "best_fitness" not in table:  # minus infinity before there are elites
            raise DamagedError(f"{path} is damaged: it has no column 'best_fitness'.")
        if (np.diff(table["steps"], prepend=0) < 0).any():
            raise DamagedError(f"{path} is damaged: its steps do not ascend.")
        return table

    def peak_memory(self) -> float:
        """The most bytes of memory that a process training it held; not-a-number if that was not recorded."""
        try:
            held = float(read_sealed(self.path / "resources.json", self.config["format"] == FORMAT)["peak_memory"])
        except (OSError, UserError, ValueError, TypeError, KeyError, OverflowError):
            return np.nan
        return held if np.isfinite(held) else np.nan

    @property
    def elites(self) -> Collection:
        """The policies, as of the last checkpoint."""
        from qdpg.play.alone import arithmetic_of
        from qdpg.runs.collection_files import read_collection

        check_elites(self.path, self.ties)
        arithmetic = arithmetic_of(self.task) if self.outline is None else self.outline.arithmetic
        return read_collection(self.path / "elites", self.spec, arithmetic)

    def summary(self) -> dict[str, Any]:
        """What `qdpg show` says, as numbers by name; those that are not known are not-a-number.

        Raises:
            UserError: The run has not finished a generation, or is damaged.
        """
        from qdpg.runs.summary import summarise

        return summarise(self)

    def show(self) -> None:
        """Print what `qdpg show` prints.

        Raises:
            UserError: The run has not finished a generation, or is damaged.
        """
        from qdpg.runs.summary import print_words, put_in_words

        print_words(str(self.path), put_in_words(self.summary()))

    def resume(
        self,
        steps: int | None = None,
        callbacks: Sequence[Callback] = (),
        *,
        checkpoint_seconds: float = 60.0,
        progress: bool = False,
        player: Player | None = None,
        engine: Engine = "local",
    ) -> Run:
        """Continue exactly where it stopped, with the result that it would have had if it had not stopped.

        Args:
            steps: Train for this many environment steps in all, instead of what the run was started with.
            callbacks: Told how it goes; they may end the training.
            checkpoint_seconds: Time between checkpoints.
            progress: Show a progress bar.
            player: Who plays; by default this process, on all its cores.
            engine: "local"; "ray" to play on processes of Ray on this machine; a `RayEngine` for a cluster.

        Returns:
            The run as it is then.

        Raises:
            UserError: It cannot be trained on, or a callback failed.
            DivergedError: Something is not finite any more. The last checkpoint stays as it is.
            KeyboardInterrupt: Ctrl-C; the run is saved first.
        """
        from qdpg.runs.training import continue_run

        return continue_run(self, steps, callbacks, checkpoint_seconds, progress, player, engine)

    @property
    def settings(self) -> RunConfig:
        """The configuration as an object.

        Raises:
            UserError: It is of an older version, and today's algorithms cannot go on with it.
        """
        if self.refusal is not None:
            raise UserError(f"{self.path} cannot be trained on: {self.refusal}.")
        self.check_trust()
        return RunConfig(**{name: value for name, value in self.config.items() if name != "format"})

    @property
    def identity(self) -> str:
        """Digest of what decides the results."""
        return identity(self.config)


def load_run(path: Path | str, trust: bool = False) -> Run:
    """Open a run for reading.

    Args:
        path: Its directory.
        trust: Whether code that the run names, such as a task in a file of its own, may be imported. It is not
            imported before it is needed.

    Raises:
        UserError: There is no run, or its configuration cannot be read.

    Examples:
        >>> import qdpg
        >>> qdpg.load_run("runs/doc")
        <Run 'runs/doc': point-maze, map-elites, seed 0>
    """
    path = Path(path)
    if not path.is_dir():
        raise UserError(f"{path} is not a run: there is no such directory.")
    for name in ("config.json", "manifest.json"):
        if not os.path.lexists(path / name):
            raise UserError(f"{path} is not a run: it has no {name}.")
    check_inside(path, but=NOT_OURS)
    _check_kinds(path)
    config, refusal = read_config(path / "config.json")
    manifest, ties, outline = _read_manifest(path / "manifest.json", config)
    return Run(path, config, manifest, refusal, trust, ties, outline)


def _check_kinds(path: Path) -> None:
    """Refuse directories in place of files and files in place of directories, before anything is begun."""
    for name in _FILES:
        if (path / name).is_dir():
            raise DamagedError(f"{path / name} is a directory, but should be a file; remove it.")
    for name in _DIRECTORIES:
        if (path / name).is_file():
            raise DamagedError(f"{path / name} is a file, but should be a directory; remove it.")


def _read_manifest(path: Path, config: dict[str, Any]) -> tuple[dict[str, Any], Ties | None, _Outline | None]:
    manifest = read_sealed(path, config["format"] == FORMAT)
    ties, outline = manifest.pop("ties", None), manifest.pop("outline", None)
    for name, value in manifest.items():
        plain = value.values() if isinstance(value, dict) else [value]
        if not all(isinstance(each, str | int | None) for each in plain):
            raise DamagedError(f"{path} is damaged: {name!r:.40} is neither a text nor a whole number.")
    places = manifest.get("code", {})
    if not isinstance(places, dict) or not all(
        isinstance(each, str) and os.path.isabs(each) for each in places.values()
    ):
        raise DamagedError(f"{path} is damaged: 'code' names no directories.")
    if manifest.get("seed") != config["seed"]:
        raise DamagedError(f"{path} is of another run: its seed is {manifest.get('seed')!r:.40}.")
    found = None if ties is None else parse(Ties, ties, str(path))
    if found is not None and found.config != identity(config):
        raise DamagedError(f"{path} is of another run: it was trained with other settings than config.json has now.")
    if outline is None or config["task"] in BUILT_IN:  # of which the code knows best
        return manifest, found, None
    contract = parse(_Outline, outline, str(path))
    check_spec(contract.spec, str(path))
    return manifest, found, contract


def create_run(path: Path, config: RunConfig) -> Run:
    """Make the directory of a new run.

    Raises:
        UserError: Something is there already.
    """
    from qdpg.play.alone import arithmetic_of

    task = make_task(config.task, **config.task_options)  # says what is wrong before anything is written
    _check_free(path)
    outline = None if config.task in BUILT_IN else _Outline(task.spec, arithmetic_of(task))
    manifest = {
        **describe_software(),
        "seed": config.seed,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    if places := find_places(config.task, config.algorithm):
        manifest["code"] = places
    make_directory(path)
    with lock_directory(path, f"another process is making a run in {path}; choose another --out."):
        _check_free(path)
        try:
            write_manifest(path, manifest, None, outline)
            write_config(path / "config.json", config)  # the last: without it there is no run
        except OSError:
            (path / "manifest.json").unlink(missing_ok=True)
            raise
    return load_run(path, trust=True)  # the person has just named what it is made of


def _check_free(path: Path) -> None:
    if os.path.lexists(path / "config.json"):
        raise UserError(f"{path} already holds a run; choose another --out, or continue it with `qdpg resume {path}`.")
    if os.path.lexists(path) and not path.is_dir():
        raise UserError(f"{path} is there already and is no directory; choose another --out.")
    if path.is_dir() and any(p.name not in _BEGUN and not p.name.startswith(TEMPORARY) for p in path.iterdir()):
        raise UserError(f"{path} is there already and is not empty; choose another --out.")


def write_manifest(path: Path, manifest: dict[str, Any], ties: Ties | None, outline: _Outline | None) -> None:
    """Write `manifest.json` of the run in `path`."""
    parts = {"ties": ties, "outline": outline}
    tied = {name: dataclasses.asdict(part) for name, part in parts.items() if part is not None}
    write_record(path / "manifest.json", {**manifest, **tied})


def change_steps(run: Run, steps: int) -> Run:
    """Change how long the run is to train; whoever calls it holds the lock.

    Raises:
        UserError: It cannot be trained on, or the number makes no sense.
    """
    settings = dataclasses.replace(run.settings, steps=check_steps(steps))
    write_config(run.path / "config.json", settings)
    return dataclasses.replace(run, config={"format": FORMAT, **dataclasses.asdict(settings)})


def check_steps(steps: float) -> int:
    """Return a number of environment steps to train for, if it can be one.

    Raises:
        UserError: It cannot.
    """
    return STEPS.whole(steps, "--steps")


def start_over(run: Run) -> Run:
    """Delete all that was trained; whoever calls it holds the lock."""
    write_manifest(run.path, run.manifest, None, run.outline)
    for path in (run.path / "checkpoints", run.path / "elites"):
        shutil.rmtree(path, ignore_errors=True)
    for pattern in ("*.csv", "events.*", "resources.json"):
        for file in run.path.glob(pattern):
            file.unlink()
    return dataclasses.replace(run, ties=None)


def lock_run(run: Run) -> IO[bytes]:
    """Make sure that nobody else trains this run; hold on to the result while training.

    Raises:
        UserError: Somebody else does.
    """
    return lock_directory(run.path, f"another process is training {run.path}; wait for it or stop it.")


__all__ = ["Run", "RunConfig", "change_steps", "config_to_json", "create_run", "load_run", "lock_run"]
