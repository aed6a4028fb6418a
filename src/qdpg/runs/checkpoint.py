"""Checkpoints: a directory per checkpoint, and a journal of the replay memory that all of them share.

    checkpoints/00000120/state.safetensors    networks, optimisers, elites, visited states, counters
    checkpoints/00000120/manifest.json        checksums, counters, what of logs, elites and journal belongs to it
    checkpoints/replay/000000000000-000000096480.safetensors    rows appended between two checkpoints

The replay memory is large and only grows at one end, so a checkpoint writes just the rows that came since the one
before. A checkpoint is complete once its directory has its final name; the last two are kept.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qdpg.errors import DamagedError, MissingError, UserError
from qdpg.ranges import NotNegative
from qdpg.runs.files import (
    TEMPORARY,
    make_directory,
    read_arrays,
    read_json,
    remove_leftovers,
    sync_directory,
    write_arrays,
)
from qdpg.runs.migration import migrate_state
from qdpg.runs.records import DIGEST, Length, Ties, Written, parse, read_sealed, write_record

if TYPE_CHECKING:
    from qdpg.algorithms.algorithm import Algorithm
    from qdpg.memory.replay import Replay

FORMAT = 2
OLD_FORMAT = 1  # without digests of config, logs and elites
KEPT = 2
STATE = "state.safetensors"
_FINITE = ("visited", "elites/measures", "elites/solution", "rows", "descriptors")  # of a state and of the journal
START_OVER = "restore the files from a copy, or start over with `qdpg resume --restart`, which deletes what was trained"


@dataclass(frozen=True)
class Segment:
    """A part of the journal."""

    file: str
    first: Length
    last: Length
    sha256: str

    def __post_init__(self) -> None:
        if not re.fullmatch(r"\d{12,}-\d{12,}\.safetensors", self.file):
            raise UserError(f"'file' is {self.file!r:.60}, which is no name of a part of the journal.")


@dataclass(frozen=True)
class Journal:
    """The replay memory of a checkpoint."""

    inserted: Length
    segments: list[Segment]


@dataclass(frozen=True)
class Checkpoint:
    """What a checkpoint holds besides the state that it has put back into the algorithm.

    Attributes:
        format: Of its manifest.
        generation: Generations trained.
        steps: Environment steps played.
        seconds: Time spent so far by kind of work, and in all.
        checksums: Of its files.
        replay: The replay memory.
        config: Digest of what decides the results; empty if an older version wrote it.
        logs: What of the logs belongs to it.
        elites: Digests of the elites' files at that moment.
    """

    format: int
    generation: Length
    steps: Length
    seconds: dict[str, NotNegative]
    checksums: dict[str, str]
    replay: Journal
    config: str
    logs: dict[str, Written]
    elites: dict[str, str]

    @property
    def ties(self) -> Ties:
        """What belongs to it."""
        return Ties(self.config, self.generation, self.steps, self.logs, self.elites)


class Checkpoints:
    """The checkpoints of one run."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.journal = directory, directory / "replay"
        self._segments: list[Segment] = []  # parts of the journal that the newest checkpoint uses
        self._damaged: list[Path] = []

    def paths(self) -> list[Path]:
        """Complete checkpoints, newest first."""
        return sorted((p for p in self.directory.glob("[0-9]*") if p.is_dir()), reverse=True)

    def is_empty(self) -> bool:
        """Whether there never was a complete checkpoint here."""
        return not self.paths() and not any(self.directory.glob("damaged-*"))

    def write(self, algorithm: Algorithm, ties: Ties, seconds: dict[str, float]) -> Path:
        """Write a checkpoint of `algorithm` as it stands."""
        make_directory(self.directory)
        final = self.directory / f"{algorithm.generation:08d}"
        if final.exists():  # the same generation again: nothing can have changed
            return final
        remove_leftovers(self.directory)
        replay = algorithm.replay
        segments = self._extend_journal(replay) if replay is not None else []
        temporary = self.directory / f"{TEMPORARY}{final.name}"
        temporary.mkdir()
        found = write_arrays(temporary / STATE, algorithm.state())
        journal = Journal(replay.inserted if replay is not None else 0, segments)
        record = {
            "format": FORMAT,
            **dataclasses.asdict(ties),
            "seconds": seconds,
            "checksums": {STATE: found},
            "replay": dataclasses.asdict(journal),
        }
        write_record(temporary / "manifest.json", record)
        temporary.rename(final)
        sync_directory(self.directory)
        self._segments = segments
        self._forget_old()
        return final

    def _extend_journal(self, replay: Replay) -> list[Segment]:
        """Write the rows that came since the last checkpoint; return the parts that still hold living rows."""
        from qdpg.learn.transitions import NOVELTY

        segments = [s for s in self._segments if s.last > replay.inserted - replay.capacity]
        written = self._segments[-1].last if self._segments else 0
        first = max(written, replay.inserted - replay.capacity)
        if first < replay.inserted:
            arrays = replay.since(first)
            arrays["rows"][:, NOVELTY] = 0.0  # computed afresh by every generation
            path = self.journal / f"{first:012d}-{replay.inserted:012d}.safetensors"
            segments.append(Segment(path.name, first, replay.inserted, write_arrays(path, arrays)))
        return segments

    def _forget_old(self) -> None:
        for path in self.paths()[KEPT:]:
            shutil.rmtree(path)
        try:
            used = {segment.file for path in self.paths() for segment in read_checkpoint(path).replay.segments}
        except (DamagedError, MissingError):  # nobody knows what it needs
            return
        for path in self.journal.glob("*.safetensors"):
            if path.name not in used:
                path.unlink()

    def restore(self, algorithm: Algorithm, config: str, warn: Any = print) -> Checkpoint | None:
        """Put the newest usable checkpoint back into `algorithm`; None if there is no checkpoint at all.

        Nothing on disk is changed; see `set_damaged_aside`.

        Args:
            algorithm: A fresh algorithm of the same settings.
            config: Digest of the settings: a checkpoint of others is refused.
            warn: Called with a sentence for every checkpoint that is damaged.

        Raises:
            UserError: There are checkpoints, but none is usable.
            OSError: A file cannot be read, perhaps only now.
        """
        problems: list[str] = []
        self._damaged = []
        for path in self.paths():
            try:
                found = self._restore(path, algorithm, config)
            except (DamagedError, MissingError) as error:
                problems.append(str(error).rstrip("."))
                self._damaged.append(path)
                continue
            for damaged, problem in zip(self._damaged, problems, strict=True):
                warn(f"checkpoint {damaged.name} is damaged ({problem}); falling back to {path.name}.")
            return found
        if problems:
            raise UserError(f"no checkpoint of the run is usable ({'; '.join(problems)}); {START_OVER}.")
        return None

    def set_damaged_aside(self) -> bool:
        """Rename checkpoints that were found damaged, so that they are not used again; whether any were."""
        for path in self._damaged:
            names = (f"damaged-{path.name}{f'-{n}' if n else ''}" for n in itertools.count())
            path.rename(next(free for name in names if not (free := path.with_name(name)).exists()))
        return bool(self._damaged)

    def _restore(self, path: Path, algorithm: Algorithm, config: str) -> Checkpoint:
        found = read_checkpoint(path)
        if found.config and found.config != config:
            raise UserError(
                f"{path} was trained with other settings than config.json has now; restore config.json, "
                "or begin a new run with these settings."
            )
        # Everything is read and checked before anything is changed.
        state = read_arrays(path / STATE, found.checksums[STATE])
        segments = found.replay.segments
        parts = [read_arrays(self.journal / segment.file, segment.sha256) for segment in segments]
        held = {path / STATE: state} | {self.journal / s.file: part for s, part in zip(segments, parts, strict=True)}
        for file, arrays in held.items():
            if odd := [name for name in _FINITE if name in arrays and not np.isfinite(arrays[name]).all()]:
                raise DamagedError(f"{file} is damaged: {odd[0]!r} is not finite.")
        try:
            algorithm.load(migrate_state(state))
            if algorithm.replay is not None:
                if segments:
                    algorithm.replay.inserted = segments[0].first
                for part in parts:
                    algorithm.replay.insert_rows(part["rows"], part["descriptors"], part["is_playable"])
                algorithm.replay.index()
        except (KeyError, ValueError, TypeError, IndexError) as error:
            raise DamagedError(f"{path} does not fit the run's settings: {type(error).__name__}: {error}") from error
        self._segments = segments
        return found


def read_checkpoint(path: Path) -> Checkpoint:
    """Read and check what the checkpoint in `path` says about itself.

    Raises:
        UserError: It is missing or damaged.
    """
    file = path / "manifest.json"
    data = read_json(file)
    if data.get("format") == OLD_FORMAT and DIGEST not in data:
        logs = data.get("logs")
        if isinstance(logs, dict):
            data["logs"] = {name: {"length": length} for name, length in logs.items()}
        data |= {"config": "", "elites": {}}
    else:
        data = read_sealed(file)
        if data.get("format") != FORMAT:
            raise DamagedError(f"{file} has format {data.get('format')!r}, not {FORMAT}.")
    found = parse(Checkpoint, data, str(file))
    if STATE not in found.checksums or path.name != f"{found.generation:08d}" or "all" not in found.seconds:
        raise DamagedError(f"{file} is damaged: it lacks a checksum or a time, or is of another generation.")
    return found
