"""A run: a directory that holds everything one training produced.

config.json        everything needed to start it again
manifest.json      versions, machine, seed
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
import json
import os
import platform
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

import llvmlite.binding
import numpy as np

from qdpg.algorithms.algorithm import Algorithm
from qdpg.algorithms.registry import config_from_json, config_to_json, make_algorithm
from qdpg.errors import UserError
from qdpg.play.alone import arithmetic_of
from qdpg.runs.collection import Collection, read_collection
from qdpg.runs.files import lock_directory, write_json
from qdpg.runs.logs import read_csv
from qdpg.runs.migration import OLD_FORMAT, migrate_config
from qdpg.tasks.registry import make_task
from qdpg.tasks.task import Task
from qdpg.version import __version__

FORMAT = 2
_LIBRARIES = ("jax", "jaxlib", "mujoco", "numpy", "numba", "llvmlite", "scipy", "ribs", "optax", "equinox", "gymnasium")
# What decides how compilers round, besides versions: see docs/reproducibility.md.
_FLAGS = (
    *("XLA_FLAGS", "JAX_ENABLE_X64", "JAX_DEFAULT_MATMUL_PRECISION", "JAX_PLATFORMS"),
    *("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_OPT", "NPY_DISABLE_CPU_FEATURES", "NPY_ENABLE_CPU_FEATURES"),
)


@dataclass(frozen=True)
class RunConfig:
    """Everything needed to start a run again.

    Attributes:
        task: Name of the task.
        task_options: Its options, where they differ from the defaults.
        algorithm: Name of the algorithm.
        preset: The preset that `config` began as.
        config: All settings of the algorithm.
        seed: What every random draw comes from.
        steps: Environment steps to train for.
        until_solved: Whether to stop as soon as an elite solves the task from fresh starts.
    """

    task: str
    task_options: dict[str, Any]
    algorithm: str
    preset: str
    config: dict[str, Any]
    seed: int
    steps: int
    until_solved: bool = False

    def make(self) -> tuple[Task, Algorithm]:
        """Return the task and a fresh algorithm."""
        task = make_task(self.task, **self.task_options)
        config = config_from_json(self.algorithm, self.config)
        return task, make_algorithm(self.algorithm, task.spec, config, self.seed)


@dataclass(frozen=True)
class Run:
    """A run on disk."""

    path: Path
    config: dict[str, Any]
    manifest: dict[str, Any]
    task: Task
    refusal: str | None = None  # why it cannot be trained on, if so

    def metrics(self) -> dict[str, np.ndarray]:
        """One entry per generation, by column."""
        return read_csv(self.path / "metrics.csv")

    def episodes(self) -> dict[str, np.ndarray]:
        """One entry per training episode, by column."""
        return read_csv(self.path / "episodes.csv")

    def evaluations(self) -> dict[str, np.ndarray]:
        """One entry per deterministic evaluation, by column; empty if none was due yet."""
        path = self.path / "evaluations.csv"
        return read_csv(path) if path.exists() else {}

    def peak_memory(self) -> float:
        """The most bytes of memory that a process training it held; not-a-number if that was not recorded."""
        try:
            return float(json.loads((self.path / "resources.json").read_text())["peak_memory"])
        except (OSError, ValueError, TypeError, KeyError):
            return np.nan

    @property
    def elites(self) -> Collection:
        """The policies, as of the last checkpoint."""
        return read_collection(self.path / "elites", self.task.spec, arithmetic_of(self.task))

    @property
    def settings(self) -> RunConfig:
        """The configuration as an object.

        Raises:
            UserError: It is of an older version, and today's algorithms cannot go on with it.
        """
        if self.refusal is not None:
            raise UserError(f"{self.path} cannot be trained on: {self.refusal}.")
        data = {k: v for k, v in self.config.items() if k != "format"}
        return RunConfig(**data)


def load_run(path: Path | str) -> Run:
    """Open a run for reading.

    Raises:
        UserError: There is no run, or its configuration cannot be read.
    """
    path = Path(path)
    try:
        config = json.loads((path / "config.json").read_text())
        manifest = json.loads((path / "manifest.json").read_text())
    except (FileNotFoundError, NotADirectoryError):
        raise UserError(f"{path} is not a run: it has no config.json and manifest.json.") from None
    except (OSError, ValueError) as error:
        raise UserError(f"the configuration of {path} cannot be read: {error}.") from error
    refusal = None
    if config.get("format") == OLD_FORMAT:
        config, refusal = migrate_config({**config, "format": FORMAT})
    if config.get("format") != FORMAT:
        raise UserError(f"{path} has format {config.get('format')}, but this version of qdpg reads format {FORMAT}.")
    return Run(path, config, manifest, make_task(config["task"], **config["task_options"]), refusal)


def create_run(path: Path, config: RunConfig) -> Run:
    """Make the directory of a new run.

    Raises:
        UserError: Something is there already.
    """
    if (path / "config.json").exists():
        raise UserError(f"{path} already holds a run; choose another --out, or continue it with `qdpg resume {path}`.")
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise UserError(f"{path} is there already and is not empty; choose another --out.")
    task = make_task(config.task, **config.task_options)  # says what is wrong before anything is written
    path.mkdir(parents=True, exist_ok=True)
    manifest = make_manifest(config.seed)
    write_json(path / "manifest.json", manifest)
    data = {"format": FORMAT, **dataclasses.asdict(config)}
    write_json(path / "config.json", data)
    return Run(path, json.loads(json.dumps(data)), manifest, task)


def change_steps(run: Run, steps: int) -> Run:
    """Change how long the run is to train.

    Raises:
        UserError: It cannot be trained on.
    """
    config = {"format": FORMAT, **dataclasses.asdict(dataclasses.replace(run.settings, steps=steps))}
    write_json(run.path / "config.json", config)
    return dataclasses.replace(run, config=config)


def lock_run(run: Run) -> IO[str]:
    """Make sure that nobody else trains this run; hold on to the result while training.

    Raises:
        UserError: Somebody else does.
    """
    return lock_directory(run.path, f"another process is training {run.path}; wait for it or stop it.")


def make_manifest(seed: int) -> dict[str, Any]:
    """Describe software, machine and seed of a run that starts now."""
    return {**describe_software(), "seed": seed, "started": datetime.now(UTC).isoformat(timespec="seconds")}


def describe_software() -> dict[str, Any]:
    """Versions, machine and revision."""
    return {
        "qdpg": __version__,
        **{name: version(name) for name in _LIBRARIES},
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "cpu": llvmlite.binding.get_host_cpu_name(),
        "instruction_sets": _instruction_sets(),
        "flags": {name: os.environ[name] for name in _FLAGS if name in os.environ},
        "revision": _git_revision(),
    }


def _instruction_sets() -> str:
    """The vector instructions that compilers find here: programs may be compiled, and so round, otherwise elsewhere."""
    features = llvmlite.binding.get_host_cpu_features()
    wanted = ("sse4.2", "avx", "avx2", "fma", "avx512f", "neon", "sve")
    return " ".join(name for name in wanted if features.get(name))


def _git_revision() -> str | None:
    """The revision of qdpg's own source, if it runs from a checkout."""
    source = Path(__file__).parent
    try:
        found = subprocess.run(
            ["git", "-C", str(source), "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return found.stdout.strip() or None


__all__ = ["Run", "RunConfig", "change_steps", "config_to_json", "create_run", "load_run", "lock_run"]
