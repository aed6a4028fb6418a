"""`qdpg tasks`: what there is to solve."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from qdpg.algorithms.registry import default_algorithm
from qdpg.errors import UserError
from qdpg.report.figures import save_figure
from qdpg.tasks.floor_plan import draw_task
from qdpg.tasks.registry import BUILT_IN, make_task
from qdpg.tasks.task import Task, TaskSpec

FITNESS = {"return": "sum of rewards", "best-reward": "best reward", "last-reward": "last reward"}
# Every other task is made on the fly from its name.
OTHERS = {
    "gym:ENV_ID": "any Gymnasium environment with a box action",
    "module:name": "a task in your own Python file (see `qdpg check-task`)",
}


def run(draw: Path | None, as_json: bool) -> int:
    """Print the tasks.

    Args:
        draw: Directory to write a map of every built-in task to.
        as_json: Print one JSON object instead of tables.

    Returns:
        The exit status, 0.

    Raises:
        UserError: The maps cannot be written.
    """
    tasks = {name: make_task(name) for name in BUILT_IN}
    figures = [] if draw is None else _draw(tasks, draw)
    if as_json:
        described = {"tasks": {name: _plain(task) for name, task in tasks.items()}, "others": OTHERS}
        print(json.dumps(described | ({} if draw is None else {"figures": [str(path) for path in figures]}), indent=2))
        return 0
    console = Console()
    console.print(_table(tasks))
    for name, meaning in OTHERS.items():
        console.print(f"[bold]{name}[/bold]  {meaning}", highlight=False)
    for path in figures:
        print(path)  # not by rich, which would break long paths
    return 0


def _draw(tasks: dict[str, Task], directory: Path) -> list[Path]:
    try:
        return [save_figure(draw_task(task.spec), directory / f"{name}.png") for name, task in tasks.items()]
    except OSError as error:
        raise UserError(f"cannot write figures to {str(directory)!r}: {error.strerror or error}.") from error


def _plain(task: Task) -> dict[str, Any]:
    """Describe a task by plain data: its contract, and its options with their defaults."""
    spec = task.spec
    described = {field.name: getattr(spec, field.name) for field in dataclasses.fields(spec)}
    described["references"] = dict(spec.references)
    described["floor"] = None if spec.floor is None else dataclasses.asdict(spec.floor)
    return described | {"options": _options(task), "default_algorithm": default_algorithm(spec.name)}


def _options(task: Task) -> dict[str, Any]:
    assert dataclasses.is_dataclass(task)
    return {field.name: getattr(task, field.name) for field in dataclasses.fields(task)}


def _table(tasks: dict[str, Task]) -> Table:
    """Lay the tasks out side by side: three columns fit any terminal, a dozen properties would not."""
    table = Table("", *tasks, title="Built-in tasks", title_justify="left")
    rows = [_row(task) for task in tasks.values()]
    for label in rows[0]:
        table.add_row(label, *(row[label] for row in rows))
    return table


def _row(task: Task) -> dict[str, str]:
    spec = task.spec
    return {
        "observations": str(spec.observation_size),
        "actions": str(spec.action_size),
        "horizon": f"{spec.horizon:,} steps",
        "bounds of ψ, ξ": _bounds(spec),
        "behaviour ξ": f"{spec.behaviour} ψ",
        "fitness": FITNESS[spec.fitness],
        "solved": "-" if spec.solved is None else f"above {spec.solved:,g}",
        "references": "\n".join(f"{score:,g} {name}" for name, score in spec.references.items()) or "-",
        "algorithm": default_algorithm(spec.name),
        "options": "\n".join(f"{name}={_word(value)}" for name, value in _options(task).items()) or "-",
    }


def _bounds(spec: TaskSpec) -> str:
    ranges = zip(spec.descriptor_names, spec.descriptor_low, spec.descriptor_high, strict=True)
    return "\n".join(f"{name}: {low:g} to {high:g}" for name, low, high in ranges)


def _word(value: object) -> str:
    """Write an option's value as `--set task.option=value` takes it."""
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
