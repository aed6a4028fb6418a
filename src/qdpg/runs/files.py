"""The one way to read and write files of a run.

What is read is a regular file of a bounded size, never a link, a pipe or a device. What is written is there whole or
not at all, even if the machine stops in between, and can be read by whom the user's umask allows.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import shutil
import stat
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from qdpg.errors import DamagedError, MissingError, UserError
from qdpg.terminal import is_printable

TEMPORARY = ".tmp-"  # how names of things being written begin
MOST_TEXT = 2**24  # bytes of a JSON file
MOST = 2**36  # bytes of any file
_DEEPEST = 50  # of anything in a JSON file
_MODEST = 2**28  # bytes that are read without asking
_CHUNK = 2**20
_SAFE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # not through links, without waiting at a pipe
# Names of NumPy's types in the format of safetensors.
_TYPES = {
    "bool": "BOOL",
    "uint8": "U8",
    "int8": "I8",
    "uint16": "U16",
    "int16": "I16",
    "uint32": "U32",
    "int32": "I32",
    "uint64": "U64",
    "int64": "I64",
    "float16": "F16",
    "float32": "F32",
    "float64": "F64",
}


def open_file(path: Path, flags: int = os.O_RDONLY, most: int = MOST) -> int:
    """Open a regular file; return its descriptor.

    A file that is written to and has other names elsewhere (hard links, as some backups have) becomes a copy first.

    Raises:
        MissingError: There is nothing.
        DamagedError: It is a link, a directory, a pipe or a device, or too large.
        OSError: It cannot be opened, perhaps only now.
    """
    try:
        handle = os.open(path, flags | _SAFE, 0o666)
    except (FileNotFoundError, NotADirectoryError):
        if flags & os.O_CREAT:
            raise
        raise MissingError(f"{path} is missing.") from None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
            raise DamagedError(f"{path} is a link, directory or pipe, not a file; remove it.") from None
        raise
    about = os.fstat(handle)
    problem = None
    if not stat.S_ISREG(about.st_mode):
        problem = "is a directory, pipe or device, not a file; remove it"
    elif about.st_size > most:
        problem = f"has {about.st_size:,} bytes, more than the {most:,} that such a file can have"
    if problem:
        os.close(handle)
        raise DamagedError(f"{path} {problem}.")
    if flags & os.O_WRONLY and about.st_nlink > 1:
        os.close(handle)
        write_bytes(path, read_bytes(path))
        return open_file(path, flags, most)
    return handle


def read_bytes(path: Path, most: int = MOST) -> bytes:
    """Read all of a file; see `open_file`."""
    with os.fdopen(open_file(path, most=most), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > _MODEST:
            import psutil

            if 2 * size > psutil.virtual_memory().available:  # what is made of it takes as much again
                raise UserError(f"{path} has {size:,} bytes, more than half of the memory that is free.")
        return file.read()


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON file that holds an object. Strings that would control a terminal are refused."""
    try:
        data = json.loads(read_bytes(path, MOST_TEXT))
        if not isinstance(data, dict):
            raise ValueError("it holds no object")
        if odd := next((text for text in _strings(data) if not is_printable(text)), None):
            raise ValueError(f"the text {odd[:40]!r} has characters that cannot be shown")
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"{path} is damaged: {' '.join(str(error).split())}.") from None
    return data


def _strings(data: Any, depth: int = 0) -> Iterable[str]:
    """All texts in plain data, names among them."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict | list):
        if depth == _DEEPEST:
            raise ValueError(f"it is nested more than {_DEEPEST} deep")
        for each in data if isinstance(data, list) else [*data, *data.values()]:
            yield from _strings(each, depth + 1)


def read_arrays(path: Path, sha256: str = "") -> dict[str, np.ndarray]:
    """Read a safetensors file; if its digest is known, it must have that."""
    from safetensors.numpy import load

    content = read_bytes(path)
    if sha256 and hashlib.sha256(content).hexdigest() != sha256:
        raise DamagedError(f"{path} does not have the recorded checksum; it was changed or damaged.")
    try:
        return load(content)
    except Exception as error:  # whatever the library makes of it
        raise DamagedError(f"{path} is damaged: {type(error).__name__}: {error}.") from None


def checksum(path: Path, length: int | None = None) -> str:
    """SHA-256 in hexadecimal of a file, or of its first `length` bytes."""
    found, left = hashlib.sha256(), MOST if length is None else length
    with os.fdopen(open_file(path), "rb") as file:
        while left and (chunk := file.read(min(_CHUNK, left))):
            found.update(chunk)
            left -= len(chunk)
    return found.hexdigest()


@dataclass(frozen=True)
class Staged:
    """A file that is on disk under a temporary name."""

    temporary: Path
    path: Path
    sha256: str

    def publish(self) -> None:
        """Give it its name."""
        self.temporary.replace(self.path)
        sync_directory(self.path.parent)


def stage(path: Path, parts: Iterable[bytes | memoryview], shared: bool = False) -> Staged:
    """Write `parts` one after another under a temporary name; if other processes may do so too, one of our own."""
    make_directory(path.parent)
    temporary = path.with_name(f"{TEMPORARY}{f'{os.getpid()}-' if shared else ''}{path.name}")
    temporary.unlink(missing_ok=True)
    found = hashlib.sha256()
    try:
        with os.fdopen(open_file(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
            for part in parts:
                file.write(part)
                found.update(part)
            file.flush()
            os.fsync(file.fileno())
    except OSError:  # a full disk needs the room
        temporary.unlink(missing_ok=True)
        raise
    return Staged(temporary, path, found.hexdigest())


def write_bytes(path: Path, content: bytes, shared: bool = False) -> None:
    """Write a file, whole or not at all."""
    stage(path, [content], shared).publish()


def as_json(data: Any) -> bytes:
    """`data` as the text of a JSON file."""
    return (json.dumps(data, indent=2) + "\n").encode()


def write_json(path: Path, data: Any) -> None:
    """Write `data` as JSON, whole or not at all."""
    write_bytes(path, as_json(data))


def stage_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> Staged:
    """Write `arrays` as safetensors under a temporary name."""
    # The format wants an array to begin at a multiple of its items' size: the largest items come first.
    plain = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    order = sorted(plain, key=lambda name: (-plain[name].itemsize, name))
    header, begin = {}, 0
    for name in order:
        array = plain[name]
        offsets = [begin, begin + array.nbytes]
        header[name] = {"dtype": _TYPES[array.dtype.name], "shape": array.shape, "data_offsets": offsets}
        begin += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    bodies = (plain[name].reshape(-1).view(np.uint8).data for name in order if plain[name].size)
    return stage(path, [len(text).to_bytes(8, "little"), text, *bodies])


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> str:
    """Write `arrays` as safetensors, whole or not at all; return the file's SHA-256."""
    staged = stage_arrays(path, arrays)
    staged.publish()
    return staged.sha256


def make_directory(path: Path) -> None:
    """Make a directory with those above it.

    Raises:
        DamagedError: Something else is in its place.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise DamagedError(f"{path} is in the way of a directory of that name; remove it.") from None


def check_inside(directory: Path, but: Collection[str] = ()) -> None:
    """Refuse a directory that holds anything but regular files and directories, at any depth.

    So nothing that is read or written inside lies elsewhere, or waits.

    Args:
        directory: Where to look.
        but: Names, at any depth, that are not looked at, and that we do not open either.

    Raises:
        DamagedError: A link, pipe, socket or device is there.
    """
    try:
        entries = list(os.scandir(directory))
    except FileNotFoundError:  # a checkpoint that whoever trains has just removed
        return
    for entry in (each for each in entries if each.name not in but):
        if entry.is_dir(follow_symlinks=False):
            check_inside(Path(entry.path), but)
        elif not entry.is_file(follow_symlinks=False) and os.path.lexists(entry.path):
            kind = "a link" if entry.is_symlink() else "a pipe, socket or device"
            raise DamagedError(f"{entry.path} is {kind}, but a run holds files and directories only; remove it.")


def sync_directory(directory: Path) -> None:
    """Make sure that names in `directory` survive a power cut."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_leftovers(directory: Path) -> None:
    """Delete what a killed process left half written."""
    for path in directory.glob(f"{TEMPORARY}*"):
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def lock_directory(directory: Path, sentence: str) -> IO[bytes]:
    """Make sure that nobody else works in `directory`; hold on to the result meanwhile.

    Raises:
        UserError: Somebody else does; with `sentence`.
    """
    try:
        file = os.fdopen(open_file(directory / ".lock", os.O_RDWR | os.O_CREAT), "rb+")
    except OSError as error:
        raise UserError(f"{directory} cannot be written to ({error.strerror}).") from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise UserError(sentence) from None
    return file
