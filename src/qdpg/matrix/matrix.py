"""What is to be compared: tasks × algorithms × seeds, and the ordinary runs that this means."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from qdpg.algorithms.algorithm import Footprint
from qdpg.algorithms.registry import ALGORITHMS, config_to_json, footprint, make_config
from qdpg.errors import UserError
from qdpg.play.floor import with_floor
from qdpg.ranges import SEED
from qdpg.runs.run import RunConfig, check_steps
from qdpg.tasks.registry import file_name, make_task


@dataclass(frozen=True, eq=False)
class PlannedRun:
    """One run of a matrix; equal to itself only, so that it can be a key."""

    path: Path
    config: RunConfig
    footprint: Footprint

    @property
    def name(self) -> str:
        """What people call it."""
        return f"{self.config.task} {self.config.algorithm} seed {self.config.seed}"

    @property
    def log(self) -> Path:
        """What its process prints."""
        return self.path.with_name(f"{self.path.name}.log")


@dataclass(frozen=True)
class Matrix:
    """What is to be compared.

    Attributes:
        tasks: Names of tasks.
        algorithms: Names of algorithms.
        seeds: Each task and algorithm is run once with each.
        steps: Environment steps of each run.
        preset: Preset of all algorithms.
        settings: What differs from the preset: `task.KEY` for all tasks, `ALGORITHM.KEY` for one algorithm, `KEY` for
            all algorithms.
    """

    tasks: tuple[str, ...]
    algorithms: tuple[str, ...]
    seeds: tuple[int, ...]
    steps: int
    preset: str
    settings: dict[str, Any]

    def settings_of(self, algorithm: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """The options of the task and the settings of `algorithm`; its own settings win over those for all."""
        for_all = {key: value for key, value in self.settings.items() if self._owner(key) is None}
        return self._own("task"), for_all | self._own(algorithm)

    def _owner(self, key: str) -> str | None:
        """Whose setting it is, if it is not for all algorithms."""
        owners = ("task", *ALGORITHMS, *self.algorithms)
        return next((owner for owner in owners if key.startswith(f"{owner}.")), None)

    def _own(self, owner: str) -> dict[str, Any]:
        """The settings that begin with `owner`, without that."""
        prefix = f"{owner}."
        return {key.removeprefix(prefix): value for key, value in self.settings.items() if key.startswith(prefix)}

    def plan(self, out: Path) -> list[PlannedRun]:
        """Return all runs: every algorithm with the first seed, then with the second.

        So an unfinished matrix already compares, and runs side by side seldom compile the same programs.

        Raises:
            UserError: Some of it cannot be run.
        """
        for key in self.settings:
            if (owner := self._owner(key)) not in (None, "task", *self.algorithms):
                raise UserError(f"--set {key} is for {owner!r}, which is not one of the algorithms.")
        made = {}
        for task, algorithm in product(self.tasks, self.algorithms):
            options, settings = self.settings_of(algorithm)
            played, options = with_floor(make_task(task, **options), options)
            spec = played.spec
            config = make_config(algorithm, self.preset, spec, settings)
            room = footprint(algorithm, spec, config)
            made[task, algorithm] = options, config_to_json(config), room
        planned = []
        for seed, task, algorithm in product(self.seeds, self.tasks, self.algorithms):
            options, settings, room = made[task, algorithm]
            run = RunConfig(task, options, algorithm, self.preset, settings, seed, self.steps)
            planned.append(PlannedRun(out / file_name(task) / file_name(algorithm) / f"seed-{seed}", run, room))
        return planned


def make_matrix(
    tasks: Sequence[str],
    algorithms: Sequence[str],
    seeds: Sequence[int],
    steps: int,
    preset: str,
    settings: Mapping[str, Any],
) -> Matrix:
    """Return a matrix, if it makes sense.

    Raises:
        UserError: Something is missing, named twice or out of range.
    """
    if tuple(algorithms) == ("all",):
        algorithms = tuple(name for name, entry in ALGORITHMS.items() if preset in entry.family.presets)
    for option, names in (("tasks", tasks), ("algorithms", algorithms), ("seeds", seeds)):
        if not names:
            raise UserError(f"--{option} is empty; name at least one.")
        if twice := [name for n, name in enumerate(names) if name in names[:n]]:
            raise UserError(f"--{option} names {twice[0]} twice; name it once.")
    seeds, steps = [SEED.whole(seed, "a seed of --seeds") for seed in seeds], check_steps(steps)
    try:
        plain = json.loads(json.dumps(dict(settings)))  # as compare.json will hold them
    except TypeError as error:
        raise UserError(f"the settings must be plain numbers, words and lists: {error}.") from None
    return Matrix(tuple(tasks), tuple(algorithms), tuple(seeds), steps, preset, plain)


def extend(old: Matrix, new: Matrix, where: Path) -> Matrix:
    """Return `new` in the order of `old`, if it asks for the same and perhaps for more.

    Raises:
        UserError: It contradicts what was begun.
    """
    go_on = "leave the option away to go on, or choose another --out."
    for option in ("steps", "preset"):
        before, now = getattr(old, option), getattr(new, option)
        if before != now:
            raise UserError(f"{where} was begun with --{option} {before}, not {now}; {go_on}")
    for algorithm in old.algorithms:
        if old.settings_of(algorithm) != new.settings_of(algorithm):
            raise UserError(f"{where} was begun with other settings of {algorithm} or its tasks (--set); {go_on}")
    merged = {}
    for option in ("tasks", "algorithms", "seeds"):
        before, now = getattr(old, option), getattr(new, option)
        if missing := [str(item) for item in before if item not in now]:
            raise UserError(f"{where} was begun with --{option} that now lack {', '.join(missing)}; {go_on}")
        merged[option] = before + tuple(item for item in now if item not in before)
    return dataclasses.replace(new, **merged)


def parse_seeds(text: str) -> tuple[int, ...]:
    """Read "3" as three seeds (0, 1, 2), "0,1,5" and "0-2" as these seeds.

    Raises:
        UserError: It is none of these.
    """
    part = r"\d{1,10}(-\d{1,10})?"
    if not re.fullmatch(rf"{part}(,{part})*", text):
        raise UserError(f"--seeds {text!r} is neither a number of seeds nor a list of seeds such as 0,1,2 or 0-2.")
    if text.isdigit():
        return _range(0, int(text) - 1)
    seeds: tuple[int, ...] = ()
    for span in text.split(","):
        first, _, last = span.partition("-")
        seeds += _range(int(first), int(last or first))
    return seeds


def _range(first: int, last: int, most: int = 10_000) -> tuple[int, ...]:
    if not first <= last < first + most:
        raise UserError(f"--seeds asks for {last - first + 1} seeds in a row, but must ask for 1 to {most:,}.")
    return tuple(range(first, last + 1))
