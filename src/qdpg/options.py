"""Changing fields of a frozen dataclass from outside (command line, config file), with errors a person can read."""

from __future__ import annotations

import dataclasses
import difflib
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

import typeguard

from qdpg.errors import UserError

T = TypeVar("T")


def replace_options(instance: T, options: Mapping[str, Any], owner: str) -> T:
    """Return `instance` with some of its fields replaced.

    Args:
        instance: A frozen dataclass.
        options: New values by field name.
        owner: What the instance is called in error messages, e.g. "task 'point-maze'".

    Raises:
        UserError: There is no such field, or the value does not fit its type.
    """
    assert dataclasses.is_dataclass(instance)
    known = [field.name for field in dataclasses.fields(instance) if field.init]
    hints = typing.get_type_hints(type(instance))
    fitting = {}
    for key, value in options.items():
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"it has: {', '.join(known) or 'none'}."
            raise UserError(f"{owner} has no option {key!r}; {hint}")
        fitting[key] = _fit(value, hints[key], f"option {key!r} of {owner}")
    return dataclasses.replace(instance, **fitting) if fitting else instance  # type: ignore[type-var]


def _fit(value: Any, hint: Any, name: str) -> Any:
    """Return `value` as `hint` wants it: whole numbers become floats where floats are meant, lists become tuples."""
    if isinstance(value, list):
        value = tuple(value)
    try:
        if isinstance(value, bool) and hint in (int, float):
            raise typeguard.TypeCheckError("is a truth value")
        typeguard.check_type(value, hint, collection_check_strategy=typeguard.CollectionCheckStrategy.ALL_ITEMS)
    except typeguard.TypeCheckError:
        wanted = hint.__name__ if isinstance(hint, type) and not typing.get_args(hint) else str(hint)
        raise UserError(f"{name} must be {wanted.replace('typing.', '')}, not {value!r}.") from None
    return float(value) if hint is float else value
