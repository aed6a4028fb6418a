"""Code from outside: what other packages offer by entry points, and what stands in a file of the user's.

A package offers tasks and algorithms under names of their own, in its pyproject.toml:

    [project.entry-points."qdpg.tasks"]
    my-maze = "my_package.maze:MyMaze"

    [project.entry-points."qdpg.algorithms"]
    my-elites = "my_package.elites:MyElites"
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Literal, NamedTuple

from qdpg.errors import UserError

Group = Literal["qdpg.tasks", "qdpg.algorithms"]


class Plugin(NamedTuple):
    """What a package offers."""

    source: str  # module:name
    package: str  # which one, with its version


@functools.cache
def find_plugins(group: Group) -> dict[str, Plugin]:
    """What installed packages offer, by name. Nothing is imported."""
    found = {}
    for point in sorted(entry_points(group=group), key=lambda each: each.name):
        package = f"{point.dist.name} {point.dist.version}" if point.dist else "an unknown package"
        found[point.name] = Plugin(point.value, package)
    return found


def name_class(kind: type, group: Group) -> str:
    """The name under which a class is found again, in another process too: a package's own, or `module:name`.

    Args:
        kind: A task's or an algorithm's class.
        group: What it is.

    Raises:
        UserError: It cannot be found again.
    """
    module, name = kind.__module__, kind.__qualname__
    for offered, plugin in find_plugins(group).items():
        if plugin.source == f"{module}:{name}":
            return offered
    if module == "__main__":  # a script: it can be imported under its own name
        main = sys.modules["__main__"]
        module = main.__spec__.name if main.__spec__ else Path(getattr(main, "__file__", None) or "").stem
        if module:
            sys.modules.setdefault(module, main)  # so that this process does not run it again
    if not module or "." in name:
        what = group.removeprefix("qdpg.").removesuffix("s")
        raise UserError(
            f"the {what} {name} is in no file that can be imported, so its run could not be opened again; "
            "write it into a file, outside of functions and classes."
        )
    return f"{module}:{name}"


def import_named(name: str, what: str) -> Any:
    """Import `module:name`, from an installed package or from a file beside the user.

    Args:
        name: What to import.
        what: What it should be, in a sentence: "task" or "algorithm".

    Raises:
        UserError: There is no such thing, or it cannot be imported.
    """
    module_name, _, attribute = name.partition(":")
    if os.getcwd() not in sys.path:
        # So that a file beside the user works without installing it; last, so that it hides nothing that is installed.
        sys.path.append(os.getcwd())
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        raise UserError(
            f"module {module_name!r} of {what} {name!r} does not import: {type(error).__name__}: {error}"
        ) from error
    found = getattr(module, attribute, None)
    if found is None:
        article = "an" if what[0] in "aeiou" else "a"
        raise UserError(f"module {module_name!r} has no {attribute!r}; {article} {what} is named as module:name.")
    return found
