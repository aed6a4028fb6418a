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
import importlib.machinery
import os
import sys
import sysconfig
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


def top_module(name: str) -> str | None:
    """The file or package that `module:name` is in, or `gym:module:ENV_ID`; None if the name names no module."""
    module, colon, _ = name.removeprefix("gym:").partition(":")
    return module.partition(".")[0] if colon else None


def locate(module: str, place: str | None = None) -> Path | None:
    """The file or the directory that a top-level module would be imported from; None if there is none.

    Args:
        module: Its name.
        place: A directory that is searched after installed packages, and before the current one.
    """
    places = [*sys.path, os.getcwd()]
    if place is not None:
        places = [each for each in places if each not in _here()]
        places += [place, os.getcwd()]
    try:
        found = importlib.machinery.PathFinder.find_spec(module, places)
    except (ImportError, OSError, ValueError):
        return None
    origin = found and (found.origin or next(iter(found.submodule_search_locations or []), None))
    return Path(origin) if origin else None


def find_places(*names: str) -> dict[str, str]:
    """Where what is named `module:name` and not installed can be imported from: directories by top-level module."""
    installed = [Path(sysconfig.get_path(kind)) for kind in ("stdlib", "purelib", "platlib")]
    found = {}
    for module in filter(None, map(top_module, names)):
        path = locate(module)
        if path is not None and not any(path.is_relative_to(each) for each in installed):
            found[module] = str(path.absolute().parents[1 if path.name == "__init__.py" else 0])
    return found


def make_findable(name: str, place: str | None) -> None:
    """Let `module:name` be imported from where it was when its run was made.

    Args:
        name: What the run names.
        place: The directory then, if it was recorded.

    Raises:
        UserError: It is not there any more, or another module of that name is in use.
    """
    module = top_module(name)
    if module is None or place is None:
        return
    path = locate(module, place)
    if path is None:
        raise UserError(
            f"{name!r} is in the module {module!r}, which was in {place!r} when the run was made and is not there now; "
            "go to the directory that has it."
        )
    loaded = getattr(sys.modules.get(module), "__file__", None)
    if loaded and Path(loaded).resolve() != path.resolve():
        raise UserError(f"{name!r} needs {path}, but {loaded} has been imported already; use a process of its own.")
    if path.is_relative_to(place) and place not in sys.path:
        # Last, so that it hides nothing that is installed, but for the current directory if that comes last.
        sys.path.insert(len(sys.path) - (sys.path[-1] in _here()), place)
    if module not in sys.modules and (found := locate(module)) != path:
        raise UserError(f"{name!r} needs {path}, but {found} comes before it; start from another directory.")


def _here() -> tuple[str, str]:
    """The current directory, as it is named in `sys.path`."""
    return "", os.getcwd()


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
