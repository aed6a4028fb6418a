"""Whether the contract of a task makes sense, without its code."""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from typing import get_args

import numpy as np

from qdpg.errors import DamagedError
from qdpg.ranges import COUNT, Range
from qdpg.tasks.task import BehaviourKind, FitnessKind, TaskSpec
from qdpg.terminal import is_printable

_MARKS = ("<", ">", "![", "\n")  # where elements and pictures begin in a page


def check_spec(spec: TaskSpec, where: str) -> None:
    """Refuse a contract that was read from a file and makes no sense.

    Args:
        spec: The contract.
        where: What holds it, such as the path of a file.

    Raises:
        DamagedError: It makes none.
    """
    sizes = (spec.horizon, spec.observation_size, spec.action_size, spec.evaluate_every)
    values = (spec.fitness_floor, spec.fitness_scale, 0.0 if spec.solved is None else spec.solved)
    if not all(map(COUNT.holds, sizes)) or not all(map(Range().holds, values)):
        raise DamagedError(f"{where} is damaged: the task's sizes or scores are not numbers that a task can have.")
    if problem := next(find_spec_problems(spec), None):
        raise DamagedError(f"{where} is damaged: the task makes no sense: {problem}")
    if spec.floor is not None:
        boxes = [each for each in (*spec.floor.walls, spec.floor.start, spec.floor.goal) if each is not None]
        drawn = [*spec.floor.low, *spec.floor.high, *(number for box in boxes for number in vars(box).values())]
        if not all(map(Range().holds, drawn)) or not (np.array(spec.floor.low) < spec.floor.high).all():
            raise DamagedError(f"{where} is damaged: the task's floor cannot be drawn.")


def find_bad_name(spec: TaskSpec) -> str | None:
    """What is wrong with a name of the task or of a descriptor, in a sentence: pages and terminals show them."""
    names = (spec.name, *spec.descriptor_names)
    odd = [name for name in names if not is_printable(name) or any(mark in name for mark in _MARKS) or len(name) > 200]
    return f"its name {odd[0]!r:.60} could be taken for more than a name; choose plain words." if odd else None


def find_spec_problems(spec: TaskSpec) -> Iterator[str]:
    """What is wrong with a contract, each a sentence that says what to do."""
    if bad := find_bad_name(spec):
        yield bad
    for name in ("horizon", "observation_size", "action_size"):
        value = getattr(spec, name)
        if not isinstance(value, numbers.Integral) or value < 1:
            yield f"its {name} is {value!r}; give a whole number, at least 1."
    sizes = {"action": spec.action_size, "descriptor": spec.descriptor_size}
    for name, size in sizes.items():
        low, high = getattr(spec, f"{name}_low"), getattr(spec, f"{name}_high")
        if not len(low) == len(high) == size or not size:
            yield f"it has {size} {name}s, but {len(low)} lower and {len(high)} upper bounds; give each one of both."
        elif not np.isfinite([*low, *high]).all():
            yield f"its {name}s have no finite bounds; give finite numbers as {name}_low and {name}_high."
        elif not (np.array(low) < high).all():
            yield f"its {name}_low {low} is not below its {name}_high {high}; give every {name} a range."
    scale = spec.observation_scale
    if len(scale) > spec.observation_size or not all(np.isfinite(s) and s > 0 for s in scale):
        yield "its observation_scale must be positive numbers, one for each observation; leave it out if in doubt."
    rows = [row for row, _, _ in spec.located]
    if rows and (len(rows) != spec.descriptor_size or not all(0 <= row < spec.observation_size for row in rows)):
        yield "its located must name an observation for each descriptor, or for none; leave it out if in doubt."
    if spec.quarter_turn and not _is_quarter_turn(spec):
        yield (
            "its quarter_turn must take every observation and every action from another, with sign 1 or -1, such that "
            "four turns change nothing, and needs two descriptors; leave it out if in doubt."
        )
    if len(spec.descriptor_names) != spec.descriptor_size:
        names = ", ".join(spec.descriptor_names)
        yield f"its {spec.descriptor_size} descriptors are named {names}; give descriptor_names one name for each."
    for name, kinds in (("behaviour", BehaviourKind), ("fitness", FitnessKind)):
        if getattr(spec, name) not in get_args(kinds):
            yield f"its {name} is {getattr(spec, name)!r}; choose {' or '.join(get_args(kinds))}."


def _is_quarter_turn(spec: TaskSpec) -> bool:
    """Whether four of them change nothing; observations that are always zero, at the end, may be left out."""
    if len(spec.quarter_turn) != 2 or spec.descriptor_size != 2:
        return False
    sizes = len(spec.observation_scale) or spec.observation_size, spec.action_size
    for turn, size in zip(spec.quarter_turn, sizes, strict=True):
        if len(turn) != size or sorted(source for source, _ in turn) != list(range(size)):
            return False
        sources, signs = np.array(turn).T
        once = turned = np.arange(1.0, size + 1)
        for _ in range(4):
            turned = turned[sources] * signs
        if not np.array_equal(once, turned):
            return False
    return True
