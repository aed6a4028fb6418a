"""`--set key=value`: from words on the command line to fields of a frozen dataclass."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

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
    return tuple(value) if isinstance(value, list) else value


def split_settings(settings: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Separate `task.*` settings (without the prefix) from all others."""
    task = {key.removeprefix("task."): value for key, value in settings.items() if key.startswith("task.")}
    return task, {key: value for key, value in settings.items() if not key.startswith("task.")}
