"""`qdpg settings`: every setting of an algorithm."""

from __future__ import annotations

import json
from collections.abc import Sequence

from qdpg.algorithms.settings import Setting, describe_settings
from qdpg.cli.settings import format_value, parse_settings, print_setting, split_settings
from qdpg.tasks.registry import make_task
from qdpg.terminal import make_console

_SOURCES = {
    "set": "as you set it",
    "tuned": "chosen by measurements, departs from the paper's",
    "paper": "the paper's",
    "default": "the algorithm's default; it is in no paper",
}


def run(algorithm: str, task: str | None, preset: str, settings: Sequence[str], as_json: bool) -> int:
    """Print every setting of `algorithm` with its value, where that comes from, and what it means."""
    options, others = split_settings(parse_settings(settings))
    spec = None if task is None else make_task(task, **options).spec
    described = describe_settings(algorithm, spec, preset, others)
    if as_json:
        rows = [each._asdict() for each in described]
        print(json.dumps({"algorithm": algorithm, "task": task, "preset": preset, "settings": rows}, indent=2))
        return 0
    console = make_console()
    where = f"on {task}" if task else "on a task that the presets do not know; --task TASK for those of a task"
    console.print(f"{algorithm}, preset {preset}, {where}\n", style="bold")
    for each in described:
        print_setting(console, each.name, each.value, _note(each), each.meaning)
    console.print()
    for source in dict.fromkeys(each.source for each in described):
        console.print(f"{source}: {_SOURCES[source]}", style="dim")
    return 0


def _note(setting: Setting) -> str:
    """Where the value comes from, what it is instead of, and whether it does anything."""
    departs = setting.instead_of != setting.value
    instead = f", instead of {format_value(setting.instead_of)}" if departs else ""
    idle = f"; does nothing, since {setting.idle}" if setting.idle else ""
    return f"{setting.source}{instead}{idle}"
