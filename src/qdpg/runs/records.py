"""Records: JSON files as typed objects, read with one validator and tied to what they are about by digests.

Every record holds its own digest as `sha256`, so that a change by hand or by a failing disk is noticed.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

from qdpg.errors import DamagedError, MissingError, UserError
from qdpg.options import fit
from qdpg.ranges import Range
from qdpg.runs.files import checksum, read_json, write_json

T = TypeVar("T")
DIGEST = "sha256"
Length = Annotated[int, Range(0, 2**53)]


@dataclass(frozen=True)
class Written:
    """How much of a growing file belongs, and the digest of that; it is empty if an older version did not record it."""

    length: Length
    sha256: str = ""

    def check(self, path: Path) -> None:
        """Refuse a file that does not begin with what was written.

        Raises:
            UserError: It is shorter, missing or changed.
        """
        held = path.stat().st_size if path.is_file() else 0
        if not held and self.length:
            raise MissingError(f"{path} is missing or empty, but {self.length} bytes were written; restore the file.")
        if held < self.length:
            raise DamagedError(f"{path} is {held} bytes long, but {self.length} were written; restore the file.")
        if self.sha256 and self.length and checksum(path, self.length) != self.sha256:
            raise DamagedError(f"{path} was changed since it was written; restore the file.")


@dataclass(frozen=True)
class Ties:
    """What belongs together at the moment of a checkpoint.

    Attributes:
        config: Digest of what decides the results: see `identity`.
        generation: Generations trained.
        steps: Environment steps played.
        logs: Logs by name, without ending.
        elites: Digests of the files in `elites/`, by file name.
    """

    config: str
    generation: Length
    steps: Length
    logs: dict[str, Written]
    elites: dict[str, str]


def digest(data: Mapping[str, Any]) -> str:
    """The digest of plain data, whatever its order; its own digest does not count."""
    rest = {name: value for name, value in data.items() if name != DIGEST}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def sealed(data: Mapping[str, Any]) -> dict[str, Any]:
    """Plain data with its digest."""
    plain = json.loads(json.dumps(data))
    return {**plain, DIGEST: digest(plain)}


def write_record(path: Path, data: Mapping[str, Any]) -> None:
    """Write a record, whole or not at all."""
    write_json(path, sealed(data))


def read_sealed(path: Path, is_sealed: bool = True) -> dict[str, Any]:
    """Read a record as plain data, without its digest.

    Args:
        path: Where it is.
        is_sealed: Whether it must have a digest; records of older versions have none.

    Raises:
        UserError: It is missing, damaged or was changed.
    """
    data = read_json(path)
    if DIGEST in data and data[DIGEST] != digest(data):
        raise DamagedError(f"{path} was changed since it was written; restore the file.")
    if is_sealed and DIGEST not in data:
        raise DamagedError(f"{path} lacks {DIGEST!r}; restore the file.")
    return {name: value for name, value in data.items() if name != DIGEST}


def parse(kind: type[T], data: Any, where: str) -> T:
    """Return plain data as a dataclass of this kind.

    Args:
        kind: A dataclass; its fields may be dataclasses, or lists, tuples or mappings of them.
        data: What was read.
        where: What it is called in a sentence, such as the path of its file.

    Raises:
        DamagedError: A field is unknown or missing, or is of the wrong type, not finite or out of range.
    """
    try:
        return typing.cast(T, _parse(kind, data, where))
    except UserError as error:
        raise DamagedError(f"{where} is damaged: {error}") from None


def _parse(hint: Any, value: Any, name: str) -> Any:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return value
    if dataclasses.is_dataclass(hint):
        if not isinstance(value, dict):
            raise UserError(f"{name} must have fields, but is {value!r:.40}.")
        hints = typing.get_type_hints(hint, include_extras=True)
        fields = {each.name: each for each in dataclasses.fields(hint)}
        if unknown := next(iter(value.keys() - fields), None):
            raise UserError(f"there is no field {unknown!r:.40}.")
        required = (n for n, each in fields.items() if each.default is each.default_factory is dataclasses.MISSING)
        if missing := next((n for n in required if n not in value), None):
            raise UserError(f"{missing!r} is missing.")
        return hint(**{n: _parse(hints[n], each, repr(n)) for n, each in value.items()})  # type: ignore[operator]
    if isinstance(hint, types.UnionType) and value is not None:
        several = [each for each in inner if each is not type(None)]
        if len(several) == 1:
            return _parse(several[0], value, name)
    if origin is dict and isinstance(value, dict):
        return {key: _parse(inner[1], each, f"{name}[{key!r:.40}]") for key, each in value.items()}
    if origin in (list, tuple) and isinstance(value, list):
        kinds = inner if origin is tuple and Ellipsis not in inner else inner[:1] * len(value)
        if len(kinds) != len(value):
            raise UserError(f"{name} must have {len(kinds)} entries, not {len(value)}.")
        return origin(
            _parse(kind, each, f"{name}[{n}]") for n, (kind, each) in enumerate(zip(kinds, value, strict=True))
        )
    return fit(value, hint, name)
