"""What an actor of Ray does for one run: receive its files, train it in a process of its own, show what came of it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO

from qdpg.cluster.nodes import Node, this_node
from qdpg.cluster.scratch import Scratch, hold, is_ours
from qdpg.matrix.child import Child, Cores
from qdpg.matrix.matrix import PlannedRun
from qdpg.matrix.transfer import Entry, Listing, read_block, take_snapshot


class Host:
    """One run on this node, in a directory that is gone when the actor is."""

    def introduce(self) -> Node:
        """Make ready; say where that is."""
        self._made = Scratch("qdpg-run-")
        self._scratch = self._made.path
        return this_node()

    def write(self, name: str, first: int, block: bytes) -> None:
        """Receive a part of a file."""
        path = self._scratch / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("r+b" if first else "wb") as file:
            file.seek(first)
            file.write(block)

    def start(self, run: PlannedRun, cores: int, options: Sequence[str]) -> Listing:
        """Start to train what was received; return what that was."""
        here = self._scratch / "run"
        known = take_snapshot(here, self._scratch / "snapshot", {}, still=True)
        self._child = Child(replace(run, path=here), self._claim(cores), options, self._scratch)
        return known

    def poll(self) -> int | None:
        """The training's exit code, if it has ended."""
        return self._child.poll()

    def send(self, number: int) -> None:
        """Hand on a signal."""
        self._child.send(number)

    def error(self, code: int) -> str:
        """Say why the training ended with `code`."""
        return self._child.error(code)

    def snapshot(self, known: Mapping[str, Entry]) -> Listing:
        """Look at the run's files; see `take_snapshot`."""
        is_over = self._child.poll() is not None
        return take_snapshot(self._scratch / "run", self._scratch / "snapshot", known, is_over)

    def read(self, name: str, first: int, number: int) -> bytes:
        """Read a part of a file of the snapshot."""
        return read_block(self._scratch / "snapshot", name, first, number)

    def read_log(self, first: int) -> bytes:
        """What the training has printed, from byte `first` on."""
        return read_block(self._scratch, self._child.run.log.name, first, 2**20)

    def close(self) -> None:
        """Leave nothing behind."""
        self._made.remove()

    def _claim(self, number: int) -> Cores:
        """Find cores that no other run on this machine has; if there are too few, all cores are shared."""
        usable = sorted(os.sched_getaffinity(0))
        place = Path(tempfile.gettempdir()) / f"qdpg-cores-{os.getuid()}"
        place.mkdir(0o700, exist_ok=True)
        if not is_ours(place):
            return tuple(usable)
        self._cores: dict[int, IO[bytes]] = {}
        for core in usable:
            if len(self._cores) < number and (held := hold(place / f"{core}")) is not None:
                self._cores[core] = held
        if len(self._cores) < number:
            self._cores = {}
            return tuple(usable)
        return tuple(self._cores)
