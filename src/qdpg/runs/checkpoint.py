"""Checkpoints: a directory per checkpoint, and a journal of the replay memory that all of them share.

    checkpoints/00000120/state.safetensors    networks, optimisers, elites, visited states, counters
    checkpoints/00000120/manifest.json        checksums, counters, lengths of the logs, parts of the journal
    checkpoints/replay/000000000000-000000096480.safetensors    rows appended between two checkpoints

The replay memory is large and only grows at one end, so a checkpoint writes just the rows that came since the one
before. A checkpoint is complete once its directory has its final name; the last two are kept.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file

from qdpg.algorithms.algorithm import Algorithm
from qdpg.errors import UserError
from qdpg.learn.transitions import NOVELTY
from qdpg.memory.replay import Replay
from qdpg.runs.files import TEMPORARY, checksum, remove_leftovers, sync_directory, write_arrays, write_json
from qdpg.runs.migration import migrate_state

FORMAT = 1
KEPT = 2


class DamagedError(Exception):
    """A checkpoint cannot be used; the message names the file and what is wrong with it."""


@dataclass(frozen=True)
class Checkpoint:
    """What a checkpoint holds besides the state that it has put back into the algorithm."""

    path: Path
    logs: dict[str, int]  # bytes of each log file that belong to the checkpoint
    seconds: dict[str, float]  # time spent so far by kind of work, and in all


class Checkpoints:
    """The checkpoints of one run."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.journal = directory, directory / "replay"
        self._segments: list[dict[str, Any]] = []  # parts of the journal that the newest checkpoint uses

    def paths(self) -> list[Path]:
        """Complete checkpoints, newest first."""
        return sorted((p for p in self.directory.glob("[0-9]*") if p.is_dir()), reverse=True)

    def write(self, algorithm: Algorithm, logs: dict[str, int], seconds: dict[str, float]) -> Path:
        """Write a checkpoint of `algorithm` as it stands."""
        self.directory.mkdir(parents=True, exist_ok=True)
        final = self.directory / f"{algorithm.generation:08d}"
        if final.exists():  # the same generation again: nothing can have changed
            return final
        remove_leftovers(self.directory)
        replay = algorithm.replay
        segments = self._extend_journal(replay) if replay is not None else []
        temporary = self.directory / f"{TEMPORARY}{final.name}"
        temporary.mkdir()
        write_arrays(temporary / "state.safetensors", algorithm.state())
        manifest = {
            "format": FORMAT,
            "generation": algorithm.generation,
            "steps": algorithm.steps,
            "logs": logs,
            "seconds": seconds,
            "checksums": {"state.safetensors": checksum(temporary / "state.safetensors")},
            "replay": {"inserted": replay.inserted if replay is not None else 0, "segments": segments},
        }
        write_json(temporary / "manifest.json", manifest)
        temporary.rename(final)
        sync_directory(self.directory)
        self._segments = segments
        self._forget_old()
        return final

    def _extend_journal(self, replay: Replay) -> list[dict[str, Any]]:
        """Write the rows that came since the last checkpoint; return the parts that still hold living rows."""
        segments = [s for s in self._segments if s["last"] > replay.inserted - replay.capacity]
        written = self._segments[-1]["last"] if self._segments else 0
        first = max(written, replay.inserted - replay.capacity)
        if first < replay.inserted:
            arrays = replay.since(first)
            arrays["rows"][:, NOVELTY] = 0.0  # computed afresh by every generation
            path = self.journal / f"{first:012d}-{replay.inserted:012d}.safetensors"
            write_arrays(path, arrays)
            segments.append({"file": path.name, "first": first, "last": replay.inserted, "sha256": checksum(path)})
        return segments

    def _forget_old(self) -> None:
        for path in self.paths()[KEPT:]:
            shutil.rmtree(path)
        used = {segment["file"] for path in self.paths() for segment in _read_manifest(path)["replay"]["segments"]}
        for path in self.journal.glob("*.safetensors"):
            if path.name not in used:
                path.unlink()

    def restore(self, algorithm: Algorithm, warn: Any = print) -> Checkpoint | None:
        """Put the newest usable checkpoint back into `algorithm`; None if there is no checkpoint at all.

        Args:
            algorithm: A fresh algorithm of the same settings.
            warn: Called with a sentence for every checkpoint that is damaged.

        Raises:
            UserError: There are checkpoints, but all are damaged.
        """
        problems = []
        for path in self.paths():
            try:
                return self._restore(path, algorithm)
            except DamagedError as error:
                problems.append(str(error))
                warn(f"checkpoint {path.name} is damaged ({error}); falling back to the one before it.")
                # It must not be taken for a complete one again.
                path.rename(path.with_name(f"damaged-{path.name}"))
        if problems:
            raise UserError(f"no checkpoint of the run is usable: {'; '.join(problems)}.")
        return None

    def _restore(self, path: Path, algorithm: Algorithm) -> Checkpoint:
        manifest = _read_manifest(path)
        # Everything is read and checked before anything is changed.
        state = _load_checked(path / "state.safetensors", manifest["checksums"]["state.safetensors"])
        segments = manifest["replay"]["segments"]
        parts = [_load_checked(self.journal / s["file"], s["sha256"]) for s in segments]
        algorithm.load(migrate_state(state))
        if algorithm.replay is not None:
            if segments:
                algorithm.replay.inserted = segments[0]["first"]
            for part in parts:
                algorithm.replay.insert_rows(part["rows"], part["descriptors"], part["is_playable"])
            algorithm.replay.index()
        self._segments = segments
        return Checkpoint(path, manifest["logs"], manifest["seconds"])


def _read_manifest(path: Path) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = json.loads((path / "manifest.json").read_text())
    except (OSError, ValueError) as error:
        raise DamagedError(f"{path.name}/manifest.json cannot be read: {type(error).__name__}") from error
    if manifest.get("format") != FORMAT:
        raise DamagedError(f"{path.name}/manifest.json has format {manifest.get('format')}, not {FORMAT}")
    return manifest


def _load_checked(path: Path, expected: str) -> dict[str, np.ndarray]:
    name = f"{path.parent.name}/{path.name}"
    try:
        if checksum(path) != expected:
            raise DamagedError(f"{name} does not have the recorded checksum")
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise DamagedError(f"{name} cannot be read: {type(error).__name__}") from error
