"""`config.json`: everything needed to start a run again."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from qdpg.algorithms.registry import config_from_json, make_algorithm
from qdpg.errors import UserError
from qdpg.ranges import Range, Seed
from qdpg.runs.files import read_json
from qdpg.runs.migration import OLD_FORMAT, migrate_config
from qdpg.runs.records import DIGEST, digest, parse, read_sealed, write_record
from qdpg.tasks.registry import make_task
from qdpg.tasks.task import Task

if TYPE_CHECKING:
    from qdpg.algorithms.algorithm import Algorithm

FORMAT = 3
UNSEALED_FORMAT = 2  # the same without digests
_NAME = re.compile(r"\w[\w.:/ -]{0,299}")  # also of modules, and nothing that a page or a table could take for more
STEPS = Range(1, 2**53)
Steps = Annotated[int, STEPS]


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
    seed: Seed
    steps: Steps
    until_solved: bool = False

    def __post_init__(self) -> None:
        for name in ("task", "algorithm", "preset"):
            if not _NAME.fullmatch(value := getattr(self, name)):
                raise UserError(f"{name!r} is {value!r:.60}, which is no name.")

    def make(self) -> tuple[Task, Algorithm]:
        """Return the task and a fresh algorithm."""
        task = make_task(self.task, **self.task_options)
        config = config_from_json(self.algorithm, self.config)
        return task, make_algorithm(self.algorithm, task.spec, config, self.seed)


def write_config(path: Path, config: RunConfig) -> None:
    """Write `config.json`."""
    write_record(path, {"format": FORMAT, **dataclasses.asdict(config)})


def read_config(path: Path) -> tuple[dict[str, Any], str | None]:
    """Read `config.json` in today's words; also say why the run cannot be trained on, if so.

    Raises:
        UserError: It is missing, damaged, or of a format that this version does not read.
    """
    data, refusal = read_json(path), None
    if data.get("format") not in (OLD_FORMAT, UNSEALED_FORMAT) or DIGEST in data:
        data = read_sealed(path)
        if data.get("format") != FORMAT:
            raise UserError(f"{path} has format {data.get('format')!r:.40}, but this version of qdpg reads {FORMAT}.")
    parsed = _parse(data, path)
    if data["format"] == OLD_FORMAT:
        data, refusal = migrate_config(data)
        parsed = _parse(data, path)
    return {"format": data["format"], **dataclasses.asdict(parsed)}, refusal


def _parse(data: Mapping[str, Any], path: Path) -> RunConfig:
    return parse(RunConfig, {name: value for name, value in data.items() if name != "format"}, str(path))


def identity(config: Mapping[str, Any]) -> str:
    """Digest of the part of a configuration that decides the results, but for how long they are waited for."""
    return digest({name: value for name, value in config.items() if name not in ("format", "steps", "until_solved")})
