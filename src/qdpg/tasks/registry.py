"""From the name of a task on the command line to the task itself."""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import os
import sys
from collections.abc import Mapping
from typing import Any

from qdpg.errors import UserError
from qdpg.options import replace_options
from qdpg.tasks.task import Task

# name -> (module, class): imported only when asked for.
BUILT_IN = {
    "point-maze": ("qdpg.tasks.point_maze", "PointMaze"),
    "ant-maze": ("qdpg.tasks.ant_maze", "AntMaze"),
    "ant-trap": ("qdpg.tasks.ant_trap", "AntTrap"),
}


def make_task(name: str, **options: Any) -> Task:
    """Return the task called `name`.

    Args:
        name: `point-maze`, `ant-maze`, `ant-trap`, `gym:ENV_ID`, or `module:name` for a task in the user's own file.
        **options: Fields of the task's dataclass.

    Raises:
        UserError: There is no such task or option, or it cannot be loaded.
    """
    if name in BUILT_IN:
        module, cls = BUILT_IN[name]
        return _with_options(getattr(importlib.import_module(module), cls)(), name, options)
    if name.startswith("gym:"):
        from qdpg.tasks.gymnasium import GymnasiumTask

        return _with_options(GymnasiumTask(env=name.removeprefix("gym:")), name, options)
    if ":" in name:
        return _with_options(_import_task(name), name, options)
    close = difflib.get_close_matches(name, BUILT_IN, n=1)
    hint = f"did you mean {close[0]!r}?" if close else "see `qdpg tasks`."
    raise UserError(f"there is no task {name!r}; {hint}")


def file_name(name: str) -> str:
    """The name of a task as part of a path."""
    return name.replace(":", "-").replace("/", "-")


def _with_options(task: Task, name: str, options: Mapping[str, Any]) -> Task:
    task = replace_options(task, options, f"task {name!r}")
    try:
        spec = task.spec
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"the spec of task {name!r} fails: {type(error).__name__}: {error}") from error
    if spec.horizon < 1:
        raise UserError(f"the horizon of task {name!r} is {spec.horizon}, but must be at least 1.")
    return task


def _import_task(name: str) -> Task:
    """Import `module:name`; what stands there is a task, a task class, or a function that returns a task."""
    module_name, _, attribute = name.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # so that a file beside the user works without installing it
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        raise UserError(
            f"module {module_name!r} of task {name!r} does not import: {type(error).__name__}: {error}"
        ) from error
    found = getattr(module, attribute, None)
    if found is None:
        raise UserError(f"module {module_name!r} has no {attribute!r}; a task is named as module:name.")
    try:
        task = found if isinstance(found, Task) else found()
    except Exception as error:
        raise UserError(f"{name!r} could not be called to make a task: {type(error).__name__}: {error}") from error
    if not isinstance(task, Task) or not dataclasses.is_dataclass(task):
        kind = type(task).__name__
        raise UserError(f"{name!r} is a {kind}, but must be a task: a frozen dataclass derived from qdpg.tasks.Task.")
    return task
