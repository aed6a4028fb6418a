"""Changing fields of a frozen dataclass from outside (command line, config file), with errors a person can read."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import operator
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

from qdpg.errors import UserError
from qdpg.ranges import Range

T = TypeVar("T")


def replace_options(instance: T, options: Mapping[str, Any], owner: str) -> T:
    """Return `instance` with some of its fields replaced.

    Args:
        instance: A frozen dataclass. Fields may be dataclasses themselves.
        options: New values by field name; fields of a field are named "field.name", or come as a mapping.
        owner: What the instance is called in error messages, e.g. "task 'point-maze'".

    Raises:
        UserError: There is no such field, or the value does not fit its type or lies outside its range.
    """
    assert dataclasses.is_dataclass(instance)
    known = [field.name for field in dataclasses.fields(instance) if field.init]
    hints = typing.get_type_hints(type(instance), include_extras=True)
    fitting: dict[str, Any] = {}
    for name, group in _group(options).items():
        if name not in known:
            close = difflib.get_close_matches(name, [*known, *nested_options(instance)], n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"it has: {', '.join(known) or 'none'}."
            raise UserError(f"{owner} has no option {name!r}; {hint}")
        part = getattr(instance, name)
        if dataclasses.is_dataclass(part):
            if not isinstance(group, Mapping):
                inner = ", ".join(f"{name}.{field.name}" for field in dataclasses.fields(part))
                raise UserError(f"option {name!r} of {owner} has parts; give one of: {inner}.")
            fitting[name] = replace_options(part, group, f"{name!r} of {owner}")
        elif isinstance(part, Mapping) and isinstance(group, Mapping):
            fitting[name] = {**part, **group}
        else:
            if isinstance(group, _Dotted):
                raise UserError(f"option {name!r} of {owner} has no parts, but {next(iter(group))!r} was given.")
            fitting[name] = fit(group, hints[name], f"option {name!r} of {owner}")
    return dataclasses.replace(instance, **fitting) if fitting else instance  # type: ignore[type-var]


def nested_options(instance: Any) -> list[str]:
    """The names of fields of fields, as "field.name"."""
    return [
        f"{outer.name}.{inner.name}"
        for outer in dataclasses.fields(instance)
        if dataclasses.is_dataclass(part := getattr(instance, outer.name))
        for inner in dataclasses.fields(part)
    ]


def flatten_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Nested options by their full names: {"a": {"b": 1}} as {"a.b": 1}."""
    flat: dict[str, Any] = {}
    for name, value in options.items():
        inner = flatten_options(value) if isinstance(value, Mapping) else None
        flat |= {name: value} if inner is None else {f"{name}.{key}": each for key, each in inner.items()}
    return flat


class _Dotted(dict[str, Any]):
    """Options of one field, which were given with dots."""


def _group(options: Mapping[str, Any]) -> dict[str, Any]:
    """Bring together what is given for parts of the same field: {"a.b": 1, "a.c": 2} as {"a": {"b": 1, "c": 2}}."""
    grouped: dict[str, Any] = {}
    for key, value in options.items():
        name, dot, rest = key.partition(".")
        if name in grouped and not (dot and isinstance(grouped[name], _Dotted)):
            raise UserError(f"{name!r} is given as a whole and in part; give one of them.")
        if dot:
            grouped.setdefault(name, _Dotted())[rest] = value
        else:
            grouped[name] = value
    return grouped


def fit(value: Any, hint: Any, name: str) -> Any:
    """Return `value` as `hint` wants it: whole numbers become floats where floats are meant, lists become tuples."""
    import typeguard  # which takes longer to import than many commands run

    if isinstance(value, list):
        value = tuple(value)
    plain = _without_ranges(hint)
    try:
        if _holds_bool(value) and "bool" not in str(plain) and plain is not Any:
            raise typeguard.TypeCheckError("is a truth value")
        typeguard.check_type(value, plain, collection_check_strategy=typeguard.CollectionCheckStrategy.ALL_ITEMS)
    except typeguard.TypeCheckError:
        wanted = plain.__name__ if isinstance(plain, type) and not typing.get_args(plain) else str(plain)
        raise UserError(f"{name} must be {wanted.replace('typing.', '')}, not {value!r}.") from None
    for limits in _ranges(hint):
        for number in value if isinstance(value, tuple) else (value,):
            if number is not None and not limits.holds(number):
                raise UserError(f"{name} must be {limits}, not {value!r}.")
    try:
        return float(value) if plain is float else value
    except OverflowError:
        raise UserError(f"{name} is too large.") from None


def _holds_bool(value: Any) -> bool:
    """Whether `value` is a truth value or a tuple that holds one; Python would take it for a number."""
    return isinstance(value, bool) or (isinstance(value, tuple) and any(map(_holds_bool, value)))


def _without_ranges(hint: Any) -> Any:
    """A type without what `Annotated` says about it, at any depth."""
    if typing.get_origin(hint) is typing.Annotated:
        return _without_ranges(hint.__origin__)
    arguments = typing.get_args(hint)
    if not arguments or typing.get_origin(hint) is typing.Literal:
        return hint
    plain = tuple(_without_ranges(each) for each in arguments)
    if isinstance(hint, types.UnionType):
        return functools.reduce(operator.or_, plain)
    return hint.__origin__[plain] if typing.get_origin(hint) is not typing.Union else typing.Union[plain]  # noqa: UP007


def _ranges(hint: Any) -> set[Range]:
    """All ranges in a type."""
    own = {each for each in getattr(hint, "__metadata__", ()) if isinstance(each, Range)}
    inner = (hint.__origin__,) if own else typing.get_args(hint)
    return own.union(*(_ranges(each) for each in inner if each is not Ellipsis))
