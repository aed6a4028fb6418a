"""From a task that is made already to the name and the options that a run writes down."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from qdpg.errors import UserError
from qdpg.plugins import name_class
from qdpg.tasks.registry import BUILT_IN
from qdpg.tasks.task import Task


def name_task(task: Task) -> tuple[str, dict[str, Any]]:
    """The name and the options from which `make_task` makes `task` again, in another process too.

    Raises:
        UserError: It cannot be made again.
    """
    kind = type(task)
    assert dataclasses.is_dataclass(task)
    options = {
        field.name: getattr(task, field.name)
        for field in dataclasses.fields(task)
        if field.init and getattr(task, field.name) != _default(field)
    }
    try:
        json.dumps(options)
    except TypeError as error:
        raise UserError(f"the options of {kind.__name__} cannot be written down: {error}.") from error
    for name, source in BUILT_IN.items():
        if source == (kind.__module__, kind.__qualname__):
            return name, options
    if kind.__module__ == "qdpg.tasks.gymnasium":
        return f"gym:{options.pop('env')}", options
    return name_class(kind, "qdpg.tasks"), options


def _default(field: dataclasses.Field[Any]) -> Any:
    """The default of a field, or what no value is equal to."""
    return field.default_factory() if field.default_factory is not dataclasses.MISSING else field.default
