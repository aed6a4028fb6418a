"""`qdpg tasks`: what there is to solve."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from qdpg.algorithms.registry import default_algorithm
from qdpg.cli.settings import format_value, name_object, print_setting, read_task_options
from qdpg.errors import UserError
from qdpg.meanings import read_meanings
from qdpg.plugins import find_plugins
from qdpg.tasks.registry import BUILT_IN, PAPER_TASKS, make_task
from qdpg.tasks.task import Task, TaskSpec
from qdpg.terminal import make_console

FITNESS = {"return": "sum of rewards", "best-reward": "best reward", "last-reward": "last reward"}
# Every other task is made on the fly from its name.
OTHERS = {
    "gym:ENV_ID": "any Gymnasium environment with a box action",
    "module:name": "a task in your own Python file (see `qdpg check-task`)",
}


def run(name: str | None, settings: Sequence[str], draw: Path | None, as_json: bool) -> int:
    """Print the tasks.

    Args:
        name: Only this one, with all its options; any task.
        settings: Options of that task, as task.KEY=VALUE.
        draw: Directory to write a map of every task to that is printed.
        as_json: Print one JSON object instead of tables.

    Returns:
        The exit status, 0.

    Raises:
        UserError: There is no such task, or the maps cannot be written.
    """
    options = read_task_options(settings)
    if name is None and options:
        raise UserError("--set changes the options of one task; name it, as in `qdpg tasks point-maze`.")
    offered = {each: f"from {plugin.package}" for each, plugin in find_plugins("qdpg.tasks").items()}
    others = {each: meaning for each, meaning in (offered | OTHERS).items() if each not in BUILT_IN}
    tasks = {each: make_task(each, **options) for each in (BUILT_IN if name is None else [name])}
    figures = [] if draw is None else _draw(tasks, draw)
    if as_json:
        described: dict[str, Any] = {
            "tasks": {name: _plain(task, options) for name, task in tasks.items()},
            "others": others,
        }
        described |= {} if draw is None else {"figures": [str(path) for path in figures]}
        print(json.dumps(described, indent=2, default=name_object))
        return 0
    console = make_console()
    if name is None:
        console.print(_table({each: tasks[each] for each in PAPER_TASKS}))
        console.print(_list({each: task for each, task in tasks.items() if each not in PAPER_TASKS}))
        for other, meaning in others.items():
            console.print(f"{other}  {meaning}")
        console.print("qdpg tasks NAME  what the options of a task mean")
    else:
        _print_task(console, name, tasks[name], options)
    for path in figures:
        print(path)  # not by rich, which would break long paths
    return 0


def _print_task(console: Console, name: str, task: Task, given: Mapping[str, Any]) -> None:
    """Print the contract of a task, and its options as `--set` takes them."""
    table = Table(title=name, title_justify="left", show_header=False)
    for label, text in _row(task).items():
        if label != "options":
            table.add_row(label, text)
    console.print(table)
    for option, about in _options(task, given).items():
        print_setting(console, f"task.{option}", about["value"], about["source"], about["meaning"])


def _draw(tasks: dict[str, Task], directory: Path) -> list[Path]:
    from qdpg.report.figures import save_figure
    from qdpg.tasks.floor_plan import draw_task

    try:
        drawn = {name: task for name, task in tasks.items() if task.spec.floor is not None and task.spec.floor.walls}
        return [save_figure(draw_task(task.spec), directory / f"{name}.png") for name, task in drawn.items()]
    except OSError as error:
        raise UserError(f"cannot write figures to {str(directory)!r}: {error.strerror or error}.") from error


def _plain(task: Task, given: Mapping[str, Any]) -> dict[str, Any]:
    """Describe a task by plain data: its contract, and its options with their values."""
    spec = task.spec
    described = {field.name: getattr(spec, field.name) for field in dataclasses.fields(spec)}
    described["references"] = dict(spec.references)
    described["floor"] = None if spec.floor is None else dataclasses.asdict(spec.floor)
    return described | {"options": _options(task, given), "default_algorithm": default_algorithm()}


def _options(task: Task, given: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The options of a task by name: value, whether it was `given` or is the task's own, and meaning."""
    assert dataclasses.is_dataclass(task)
    meanings = read_meanings(type(task))
    return {
        field.name: {
            "value": getattr(task, field.name),
            "source": "set" if field.name in given else "default",
            "meaning": meanings.get(field.name, ""),
        }
        for field in dataclasses.fields(task)
    }


def _table(tasks: dict[str, Task]) -> Table:
    """Lay the tasks out side by side: three columns fit any terminal, a dozen properties would not."""
    table = Table("", *tasks, title="The paper's tasks", title_justify="left")
    rows = [_row(task) for task in tasks.values()]
    for label in rows[0]:
        table.add_row(label, *(row[label] for row in rows))
    return table


def _list(tasks: dict[str, Task]) -> Table:
    """One line for each task."""
    table = Table("", "O", "A", "steps", "behaviour ξ", "algorithm", title="Locomotion tasks", title_justify="left")
    for name, task in tasks.items():
        spec = task.spec
        sizes = (str(each) for each in (spec.observation_size, spec.action_size, spec.horizon))
        what = f"{spec.behaviour} of {', '.join(spec.descriptor_names)}"
        table.add_row(name, *sizes, what, default_algorithm())
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
        "algorithm": default_algorithm(),
        "options": "\n".join(f"{name}={format_value(about['value'])}" for name, about in _options(task, {}).items())
        or "-",
    }


def _bounds(spec: TaskSpec) -> str:
    ranges = zip(spec.descriptor_names, spec.descriptor_low, spec.descriptor_high, strict=True)
    return "\n".join(f"{name}: {low:g} to {high:g}" for name, low, high in ranges)
