"""`--set key=value`: from words on the command line to fields of a frozen dataclass, and back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from qdpg.errors import UserError


def parse_settings(pairs: Sequence[str]) -> dict[str, Any]:
    """Turn `["a=1", "b=2,3"]` into `{"a": 1, "b": (2, 3)}`.

    A value is read as JSON if it is JSON, as a tuple if it holds commas, else as a word.

    Raises:
        UserError: A pair is malformed, or a key comes twice.
    """
    settings: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        key = key.strip()
        if not equals or not key or not value.strip():
            raise UserError(f"--set {pair!r} is not of the form key=value.")
        if key in settings:
            raise UserError(f"--set gives {key!r} twice; give it once.")
        settings[key] = _parse_value(value.strip())
    return settings


def _parse_value(text: str) -> Any:
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        return tuple(_parse_value(part.strip()) for part in text.split(",")) if "," in text else text
    if isinstance(value, float) and value.is_integer() and "e" in text.lower():
        return int(value)  # 1e6 is a whole number too; where a fraction is meant, it is taken as one
    return tuple(value) if isinstance(value, list) else value


def split_settings(settings: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Separate `task.*` settings (without the prefix) from all others."""
    task = {key.removeprefix("task."): value for key, value in settings.items() if key.startswith("task.")}
    return task, {key: value for key, value in settings.items() if not key.startswith("task.")}


def read_task_options(pairs: Sequence[str]) -> dict[str, Any]:
    """The options of a task that `--set task.KEY=VALUE` gives.

    Raises:
        UserError: A pair is malformed, or is not an option of a task.
    """
    options, others = split_settings(parse_settings(pairs))
    if others:
        raise UserError(f"--set {next(iter(others))} is not an option of a task; write task.KEY=VALUE.")
    return options


def format_value(value: Any) -> str:
    """Write a value as `--set key=value` takes it: as short as can be, if it is read back as what it is."""
    if isinstance(value, tuple | list) and len(value) > 1:
        short = ",".join(map(format_value, value))
    else:
        short = value if isinstance(value, str) else json.dumps(value, default=name_object)
    is_same = short and _parse_value(short) == (tuple(value) if isinstance(value, list) else value)
    return short if is_same else json.dumps(value, default=name_object)


def name_object(value: Any) -> str:
    """What JSON has no form for, such as a function of the user's: where it is."""
    has_name = hasattr(value, "__module__") and hasattr(value, "__qualname__")
    return f"{value.__module__}:{value.__qualname__}" if has_name else repr(value)


def print_setting(console: Console, name: str, value: Any, note: str, meaning: str) -> None:
    """Print a setting as `--set` takes it, a note beside it, and below it what it means."""
    line = Text.assemble((name, "bold"), f"={format_value(value)}", (f"  ({note})" if note else "", "dim"))
    console.print(line)
    if meaning:
        console.print(Padding(Text(meaning), (0, 0, 0, 4)))
