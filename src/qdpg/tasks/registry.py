"""From the name of a task on the command line to the task itself."""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import types
from collections.abc import Iterator, Mapping
from typing import Any

from qdpg.errors import UserError
from qdpg.options import replace_options
from qdpg.plugins import find_plugins, import_named, locate
from qdpg.tasks.contract import find_bad_name
from qdpg.tasks.task import Task

# name -> (module, class): imported only when asked for.
BUILT_IN = {
    "point-maze": ("qdpg.tasks.point_maze", "PointMaze"),
    "ant-maze": ("qdpg.tasks.ant_maze", "AntMaze"),
    "ant-trap": ("qdpg.tasks.ant_trap", "AntTrap"),
    "ant-omni": ("qdpg.tasks.locomotion", "AntOmni"),
    "ant-uni": ("qdpg.tasks.locomotion", "AntUni"),
    "halfcheetah-uni": ("qdpg.tasks.locomotion", "HalfCheetahUni"),
    "hopper-uni": ("qdpg.tasks.locomotion", "HopperUni"),
    "humanoid-uni": ("qdpg.tasks.locomotion", "HumanoidUni"),
    "walker2d-uni": ("qdpg.tasks.locomotion", "Walker2dUni"),
}
PAPER_TASKS = ("point-maze", "ant-maze", "ant-trap")  # they have presets of their own


def make_task(name: str, /, **options: Any) -> Task:
    """Return the task called `name`.

    Args:
        name: One of ours, one that an installed package offers, `gym:ENV_ID`, or `module:name` for a task in the user's
            own file.
        **options: Fields of the task's dataclass.

    Raises:
        UserError: There is no such task or option, or it cannot be loaded.

    Examples:
        >>> import qdpg
        >>> task = qdpg.make_task("point-maze", horizon=100)
        >>> task.spec.horizon, task.spec.descriptor_names
        (100, ('x', 'y'))
    """
    if not isinstance(name, str):
        raise UserError(f"{name!r:.80} is neither a task nor the name of one; see `qdpg tasks`.")
    if name in BUILT_IN:
        module, cls = BUILT_IN[name]
        return _with_options(getattr(importlib.import_module(module), cls)(), name, options)
    if name.startswith("gym:"):
        from qdpg.tasks.gymnasium import GymnasiumTask

        if "env" in options:  # else the name would not say what is imported
            raise UserError(f"{name!r} names the environment already; leave the option 'env' away.")
        return _with_options(GymnasiumTask(env=name.removeprefix("gym:")), name, options)
    plugins = find_plugins("qdpg.tasks")
    if name in plugins or ":" in name:
        return _with_options(_import_task(plugins[name].source if name in plugins else name), name, options)
    close = difflib.get_close_matches(name, [*BUILT_IN, *plugins], n=1)
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
    if bad := find_bad_name(spec):
        raise UserError(f"task {name!r} cannot be used: {bad}")
    if spec.horizon < 1:
        raise UserError(f"the horizon of task {name!r} is {spec.horizon}, but must be at least 1.")
    return task


def foreign_code(name: str, options: Mapping[str, Any] | None = None, place: str | None = None) -> str | None:
    """What code naming a task (or anything else that is named `module:name`) would import, and from where, in words.

    None if it is part of qdpg or of an installed package that is known by a name of its own. Nothing is imported.

    Args:
        name: Of the task.
        options: Of the task. What a Gymnasium environment is made with may name a file.
        place: Where its module was when its run was made.
    """
    if name in BUILT_IN:
        return None
    if ":" not in name.removeprefix("gym:"):
        made_with = {key: value for key, value in (options or {}).items() if key.partition(".")[0] == "kwargs"}
        named = next((text for text in _texts(made_with) if any(mark in text for mark in "/\\:.")), None)
        return None if named is None else f"or open {named!r:.200}, which its option 'kwargs' names"
    module = name.removeprefix("gym:").partition(":")[0]
    origin = locate(module.partition(".")[0], place)
    return f"the module {module!r} ({f'from {origin}' if origin else 'which is not found here'})"


def _texts(data: Any) -> Iterator[str]:
    """All texts among values, at any depth."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, Mapping | list | tuple):
        for each in data.values() if isinstance(data, Mapping) else data:
            yield from _texts(each)


def _import_task(name: str) -> Task:
    """Make what stands at `module:name`: a task, a task class, or a function that returns a task."""
    found = import_named(name, "task")
    is_class = isinstance(found, type) and issubclass(found, Task)
    # Only what can be meant as one is called: `sys:exit` names a function too.
    if not isinstance(found, Task) and not is_class and not isinstance(found, types.FunctionType):
        raise UserError(
            f"{name!r} is a {type(found).__name__}, but must be a task: a frozen dataclass derived from "
            "qdpg.tasks.Task, or a function that returns one."
        )
    try:
        task = found if isinstance(found, Task) else found()
    except (Exception, SystemExit) as error:
        raise UserError(f"{name!r} could not be called to make a task: {type(error).__name__}: {error}") from error
    if not isinstance(task, Task) or not dataclasses.is_dataclass(task):
        kind = type(task).__name__
        raise UserError(f"{name!r} is a {kind}, but must be a task: a frozen dataclass derived from qdpg.tasks.Task.")
    return task
