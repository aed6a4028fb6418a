"""Every setting of an algorithm: its value, what it means, and where the value comes from."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from qdpg.algorithms.registry import find_family, make_config
from qdpg.meanings import read_meanings
from qdpg.tasks.registry import make_task
from qdpg.tasks.task import Task, TaskSpec

Source = Literal["set", "tuned", "paper", "default"]
_UNKNOWN = TaskSpec("a task", 1, 1, 1000, (-1.0,), (1.0,), (0.0, 0.0), (1.0, 1.0))


class Setting(NamedTuple):
    """One setting of an algorithm.

    Attributes:
        name: As `--set` takes it.
        value: What it is.
        source: "set" by the user; "tuned", where the preset departs from the paper's; "paper", as in that preset; or
            "default" where there is no such preset.
        instead_of: What it would be if its source had not said otherwise.
        meaning: What it does.
        idle: Why it does nothing beside the others, if so.
    """

    name: str
    value: Any
    source: Source
    instead_of: Any
    meaning: str
    idle: str | None


def describe_settings(
    algorithm: str,
    task: str | Task | TaskSpec | None = None,
    preset: str = "tuned",
    settings: Mapping[str, Any] | None = None,
) -> list[Setting]:
    """Return every setting of `algorithm`.

    Args:
        algorithm: Its name.
        task: Presets differ by task: its name, the task, or its spec. None: what a task gets that they do not know, if
            it has two descriptors.
        preset: "tuned" or "paper".
        settings: Set by the user on top.

    Raises:
        UserError: There is no such algorithm, preset or setting.

    Examples:
        >>> import qdpg
        >>> {each.name: each.value for each in qdpg.describe_settings("map-elites", "point-maze")}["cells"]
        (5, 5)
    """
    settings, family = settings or {}, find_family(algorithm)
    task = make_task(task) if isinstance(task, str) else task
    spec = _UNKNOWN if task is None else task.spec if isinstance(task, Task) else task
    config, start = (make_config(algorithm, preset, spec, given) for given in (settings, {}))
    has_paper = "paper" in family.presets
    origin = make_config(algorithm, "paper", spec, {}) if has_paper else family.config()
    meanings, idle, given = _meanings(config), family.find_idle(config), {name for name, _ in _fields(settings)}
    values, before, first = dict(_fields(config)), dict(_fields(start)), dict(_fields(origin))

    def describe(name: str) -> Setting:
        is_set, departs = name in given, before[name] != first[name]
        source: Source = "set" if is_set else "tuned" if departs else "paper" if has_paper else "default"
        instead = before[name] if is_set else first[name]
        return Setting(name, values[name], source, instead, meanings[name], idle.get(name))

    return [describe(name) for name in values]


def _fields(settings: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """All settings by their full names; of a dataclass, or of a mapping."""
    is_config = dataclasses.is_dataclass(settings)
    names = [each.name for each in dataclasses.fields(settings)] if is_config else list(settings)
    for name in names:
        value = getattr(settings, name) if is_config else settings[name]
        if dataclasses.is_dataclass(value) or isinstance(value, Mapping):
            yield from _fields(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _meanings(config: Any, prefix: str = "") -> dict[str, str]:
    own = read_meanings(type(config))
    meanings: dict[str, str] = {}
    for each in dataclasses.fields(config):
        value = getattr(config, each.name)
        if dataclasses.is_dataclass(value):
            meanings |= _meanings(value, f"{prefix}{each.name}.")
        else:
            meanings[prefix + each.name] = own.get(each.name, "")
    return meanings
