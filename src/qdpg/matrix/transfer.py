"""A copy of a run that is trained on another machine: at any moment something that a killed training may have left.

The directory of the training is looked at with hard links, which cost nothing and hold still. The copy takes logs
first, since a checkpoint knows how long they must be, then the journal, then checkpoints, each whole or not at all,
then elites and what says that they belong together: the order in which a training writes them.
"""

from __future__ import annotations

import json
import os
import shutil
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from qdpg.errors import UserError
from qdpg.runs.files import TEMPORARY, sync_directory
from qdpg.runs.run import load_run
from qdpg.runs.ties import belong_together

_TURNS = 5  # looks at files that are just being replaced
BLOCK = 8 * 2**20  # bytes that travel at once
Read = Callable[[str, int, int], bytes]  # (name, first byte, how many at most)


class Entry(NamedTuple):
    """A file of a run, as it was at some moment."""

    size: int
    stamp: tuple[int, int]  # which file it was (inode), and when it was written
    checksum: int | None  # CRC-32 of a log; None for files that are written once, or replaced
    kept: int = 0  # how much of a log was known before and has not changed


Listing = dict[str, Entry]  # by path inside the run


def list_files(run: Path) -> list[str]:
    """Names of a run's files, in the order in which a copy must take them; what is being written does not count."""
    # A directory that is removed meanwhile is no error to `os.walk`, as it is to `rglob`.
    found = [Path(top, file).relative_to(run) for top, _, files in os.walk(run) for file in files]
    names = [path.as_posix() for path in found if not any(part.startswith(".") for part in path.parts)]
    return sorted(names, key=lambda name: (_rank(name), name))


def _rank(name: str) -> int:
    """When a training writes a file that is part of a checkpoint, or came after it."""
    if is_log(name):
        return 0
    if name.startswith("checkpoints/"):
        return 1 if name.startswith("checkpoints/replay/") else 2
    if name.startswith("elites/"):
        return 6 if "evaluated" in name else 4 if name == "elites/elites.json" else 3
    return 3 if name == "config.json" else 5


def is_log(name: str) -> bool:
    """Whether a file only grows, but for what a resumed training takes back."""
    file = name.rpartition("/")[2]
    return file in ("metrics.csv", "episodes.csv", "evaluations.csv", "evaluated-episodes.csv") or file.startswith(
        "events."
    )


def take_snapshot(run: Path, into: Path, known: Mapping[str, Entry], still: bool = False) -> Listing:
    """Link the files of a run, while it is trained, into a directory of the same file system; return what they are.

    Args:
        run: Directory of the run.
        into: Where the links go; what was there is forgotten.
        known: What whoever asks has already.
        still: Whether nobody trains it any more, so that it is what it is.
    """
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir()
    # What a training writes last is looked at first, so that everything else is at least as new: checkpoints have the
    # journal that they need, and logs are as long as checkpoints know them.
    for _ in range(_TURNS):
        published = _link(run, into, [name for name in list_files(run) if _rank(name) > 2])
        if still or _are_ours(into):
            kept: Listing = {}
            break
    else:  # replaced faster than one can look: they stay as they were
        published, kept = [], {name: entry for name, entry in known.items() if _rank(name) > 2}
    saved = _link(run, into, [name for name in list_files(run) if _rank(name) in (1, 2)])
    broken = {path.name for path in (into / "checkpoints").glob("[0-9]*") if not (still or _is_complete(path))}
    saved = [name for name in saved if name.split("/")[1] not in broken]
    logs = _link(run, into, [name for name in list_files(run) if _rank(name) == 0])
    found = {name: _describe(into / name, is_log(name), known.get(name)) for name in (*logs, *saved, *published)}
    return found | kept


def _link(run: Path, into: Path, names: list[str]) -> list[str]:
    """Link files, the last first; return those that were still there."""
    linked = []
    for name in reversed(names):
        (into / name).parent.mkdir(parents=True, exist_ok=True)
        (into / name).unlink(missing_ok=True)
        with suppress(FileNotFoundError):
            os.link(run / name, into / name)
            linked.append(name)
    return linked[::-1]


def _is_complete(checkpoint: Path) -> bool:
    """Whether a checkpoint is there with all parts of its journal."""
    try:
        segments = json.loads((checkpoint / "manifest.json").read_text())["replay"]["segments"]
    except FileNotFoundError:  # being removed
        return False
    except (OSError, ValueError, KeyError, TypeError):
        return True  # damaged: whoever resumes it will say so
    return (checkpoint / "state.safetensors").exists() and all(
        (checkpoint.parent / "replay" / segment["file"]).exists() for segment in segments
    )


def _are_ours(snapshot: Path) -> bool:
    """Whether the elites are those that the manifest knows, and not partly of the next checkpoint."""
    try:
        return belong_together(snapshot, load_run(snapshot).ties)
    except UserError:
        return True  # damaged: whoever resumes it will say so


def _describe(path: Path, log: bool, before: Entry | None) -> Entry:
    status = path.stat()
    if not log:
        return Entry(status.st_size, (status.st_ino, status.st_mtime_ns), None)
    content = path.read_bytes()
    known = before is not None and zlib.crc32(content[: before.size]) == before.checksum
    return Entry(len(content), (status.st_ino, 0), zlib.crc32(content), before.size if before and known else 0)


def read_block(directory: Path, name: str, first: int, number: int) -> bytes:
    """Read a part of a file."""
    with (directory / name).open("rb") as file:
        file.seek(first)
        return file.read(number)


class Copy:
    """The copy of a run, in a directory that `lock_run` holds."""

    def __init__(self, path: Path, known: Listing) -> None:
        """Take up the copy in `path`; what the training began with is `known`."""
        self.path, self.known = path, dict(known)

    def update(self, listing: Listing, read: Read) -> None:
        """Become what a snapshot is.

        Args:
            listing: The snapshot.
            read: Reads the files of it.
        """
        new = {name: entry for name, entry in listing.items() if self.known.get(name) != entry._replace(kept=0)}
        whole: dict[str, list[str]] = {}  # files of a new checkpoint
        for name, entry in new.items():
            if entry.checksum is not None and entry.kept:
                self._extend(name, entry, read)
            elif _rank(name) == 2:
                whole.setdefault(str(Path(name).parent), []).append(name)
            elif _rank(name) < 2:
                self._replace(name, entry, read)
        for directory, names in whole.items():
            final, temporary = self.path / directory, self.path / f"checkpoints/{TEMPORARY}{Path(directory).name}"
            shutil.rmtree(temporary, ignore_errors=True)
            temporary.mkdir(parents=True)
            for name in names:
                self._fetch(name, temporary / Path(name).name, 0, new[name].size, read)
            shutil.rmtree(final, ignore_errors=True)
            temporary.rename(final)
            sync_directory(final.parent)
        for name, entry in new.items():
            if _rank(name) > 2:
                self._replace(name, entry, read)
        self._forget([name for name in self.known if name not in listing])
        self.known = {name: entry._replace(kept=0) for name, entry in listing.items()}

    def _extend(self, name: str, entry: Entry, read: Read) -> None:
        """Append what a log has grown by."""
        self._fetch(name, self.path / name, entry.kept, entry.size, read)

    def _replace(self, name: str, entry: Entry, read: Read) -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f"{TEMPORARY}{path.name}")
        temporary.unlink(missing_ok=True)
        self._fetch(name, temporary, 0, entry.size, read)
        temporary.replace(path)
        sync_directory(path.parent)

    def _fetch(self, name: str, path: Path, first: int, size: int, read: Read) -> None:
        """Write the bytes from `first` on into `path`, block by block."""
        with path.open("r+b" if path.exists() else "wb") as file:
            file.truncate(first)
            file.seek(first)
            while first < size:
                block = read(name, first, min(BLOCK, size - first))
                if not block:
                    raise OSError(f"{name} ended after {first} of {size} bytes")
                file.write(block)
                first += len(block)
            file.flush()
            os.fsync(file.fileno())

    def _forget(self, names: list[str]) -> None:
        """Remove what the training has removed, checkpoints before the journal that they need."""
        for name in sorted(names, key=lambda name: -_rank(name)):
            path = self.path / name
            path.unlink(missing_ok=True)
            if _rank(name) == 2 and path.parent.is_dir() and not any(path.parent.iterdir()):
                path.parent.rmdir()
