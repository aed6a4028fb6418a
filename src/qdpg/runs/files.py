"""Files that are there whole or not at all, even if the machine stops in between."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import save_file

from qdpg.errors import UserError

TEMPORARY = ".tmp-"  # how names of things being written begin


def sync_directory(directory: Path) -> None:
    """Make sure that names in `directory` survive a power cut."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_file(path: Path) -> None:
    """Make sure that the contents of `path` survive a power cut."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def write_bytes(path: Path, content: bytes) -> None:
    """Write `path` under a temporary name, then rename it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{TEMPORARY}{path.name}")
    temporary.write_bytes(content)
    _finish(temporary, path)


def write_json(path: Path, data: Any) -> None:
    """Write `data` as JSON, whole or not at all."""
    write_bytes(path, (json.dumps(data, indent=2) + "\n").encode())


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write `arrays` as safetensors, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{TEMPORARY}{path.name}")
    try:
        save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, temporary)
    except SafetensorError as error:  # what the library makes of a full disk
        raise OSError(errno.EIO, str(error)) from error
    _finish(temporary, path)


def _finish(temporary: Path, path: Path) -> None:
    sync_file(temporary)
    temporary.replace(path)
    sync_directory(path.parent)


def checksum(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def remove_leftovers(directory: Path) -> None:
    """Delete what a killed process left half written."""
    for path in directory.glob(f"{TEMPORARY}*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def lock_directory(directory: Path, sentence: str) -> IO[str]:
    """Make sure that nobody else works in `directory`; hold on to the result meanwhile.

    Raises:
        UserError: Somebody else does; with `sentence`.
    """
    file = (directory / ".lock").open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise UserError(sentence) from None
    return file
