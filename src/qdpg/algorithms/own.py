"""An algorithm from outside: a class of the user's as a `Family`; docs/extending.md says how to write one."""

from __future__ import annotations

import dataclasses
from typing import Any

from qdpg.algorithms.algorithm import Algorithm, Family, Footprint
from qdpg.errors import UserError
from qdpg.tasks.task import TaskSpec

_METHODS = ("ask", "tell", "state", "load")


def make_family(found: Any, name: str) -> Family:
    """Return what was imported under `name` as a family.

    Args:
        found: A `Family`; or an algorithm's class, made as `Class(spec, config, seed, name)`, with its settings as
            `Config`, a frozen dataclass. If it has them, `preset(preset, task, name)` says what the settings are for a
            task, `presets` which there are, and `footprint(spec, config, name)` how much room it takes.
        name: What it is called on the command line.

    Raises:
        UserError: It is neither.
    """
    if isinstance(found, Family):
        return found
    how = "see docs/extending.md"
    if not isinstance(found, type):
        raise UserError(f"{name!r} is a {type(found).__name__}, but must be the class of an algorithm; {how}.")
    if missing := [method for method in _METHODS if not callable(getattr(found, method, None))]:
        raise UserError(f"{name!r} is no algorithm: it has no method {missing[0]!r}; {how}.")
    config = getattr(found, "Config", None)
    if not (isinstance(config, type) and dataclasses.is_dataclass(config) and config.__dataclass_params__.frozen):  # type: ignore[attr-defined]
        raise UserError(f"{name!r} must have its settings as `Config`, a frozen dataclass; {how}.")
    try:
        config()
    except Exception as error:
        raise UserError(f"all settings in the Config of {name!r} must have defaults: {error}; {how}.") from error

    def make(spec: TaskSpec, settings: Any, seed: int, called: str) -> Algorithm:
        try:
            made: Algorithm = found(spec, settings, seed, called)
        except UserError:
            raise
        except Exception as error:
            raise UserError(f"algorithm {name!r} could not be made: {type(error).__name__}: {error}") from error
        return made

    return Family(
        config,
        getattr(found, "preset", lambda preset, task, called: config()),
        getattr(found, "footprint", lambda spec, settings, called: Footprint(0, 0, 0)),
        make,
        presets=getattr(found, "presets", ("tuned",)),
    )
