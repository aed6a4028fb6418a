"""A run that an actor of Ray trains somewhere, as the comparison sees it; and who starts such runs."""

from __future__ import annotations

import signal
import threading
from collections.abc import Sequence
from types import ModuleType
from typing import IO, Any

from qdpg.cluster.connect import first_line
from qdpg.cluster.nodes import failed_start, refusal, remark, this_node
from qdpg.cluster.own_code import find_own_file
from qdpg.errors import UserError
from qdpg.matrix.host import Host
from qdpg.matrix.matrix import PlannedRun
from qdpg.matrix.transfer import BLOCK, Copy, list_files, read_block
from qdpg.report.words import plural
from qdpg.runs.files import remove_leftovers
from qdpg.runs.room import check_disk, memory_needed
from qdpg.runs.run import load_run, lock_run

_EVERY = 1.0  # seconds between two looks at a run
_IN_ADVANCE = 2  # runs that wait for a place, beyond those that there were places for
_DEATHS = 5  # nodes that may die under a run that comes no further meanwhile


class RemoteChild:
    """A run on some node. Its files come to the run's directory as they are made."""

    place: str | None = None  # the node's name, once it has one

    def __init__(self, ray: ModuleType, run: PlannedRun, cores: int, options: Sequence[str], met: set[str]) -> None:
        """Ask for a place to train it; the run's directory must be there.

        Args:
            ray: The module, connected.
            run: The run.
            cores: How many it shall have.
            options: Of `qdpg resume`.
            met: Names of the nodes that were met so far.
        """
        self.run, self.remarks = run, list[str]()
        self._ray, self._options, self._cores, self._met = ray, options, cores, met
        self._signals: list[int] = []
        self._wake = threading.Event()
        self._code: int | None = None
        self._problem: str | None = None
        self._refused: UserError | None = None
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def poll(self) -> int | None:
        """Its exit code, if it has ended.

        Raises:
            UserError: The node that it got must not work for us.
        """
        if self._thread.is_alive():
            return None
        if self._refused is not None:
            raise self._refused
        return self._code

    def wait(self) -> int:
        """Wait for its end; return its exit code."""
        self._thread.join()
        return self._code if self._code is not None else 1

    def send(self, number: int) -> None:
        """Hand on a signal."""
        self._signals.append(number)
        self._wake.set()

    def error(self, code: int) -> str:
        """Say why it ended with `code`."""
        return self._problem or f"the process ended with exit code {code} and said nothing."

    def _work(self) -> None:
        """Have it trained; note how that ended."""
        try:
            with self._lock():
                self._code = self._train()
        except _StoppedError:
            self._code = -signal.SIGTERM
        except _RefusedError as error:
            self._refused = error
        except UserError as error:
            self._problem, self._code = str(error), 2
        except Exception as error:
            cause = getattr(error, "cause", None) or error  # what Ray has wrapped, without the traceback
            self._problem, self._code = f"{type(cause).__name__}: {cause}", 1

    def _lock(self) -> IO[bytes]:
        return lock_run(load_run(self.run.path))

    def _train(self) -> int:
        """Train it, and again if a node dies, until its process ends by itself; return its exit code."""
        deaths, before = 0, None
        while True:
            try:
                return self._train_once()
            except self._ray.exceptions.RayTaskError:
                raise
            except self._ray.exceptions.RayError as error:  # the actor is lost, or what it sent
                if problem := failed_start(error):
                    raise _RefusedError(problem) from error
                if self._signals:
                    raise _StoppedError from error
                newest = max((path.name for path in self.run.path.glob("checkpoints/[0-9]*")), default=None)
                deaths = deaths + 1 if newest == before else 1
                before = newest
                if deaths == _DEATHS:
                    self._problem = f"{deaths} nodes died under it, the last one: {first_line(error)}"
                    return 1
                if self.place is not None:
                    self.remarks.append(f"lost {self.run.name} with node {self.place}; it goes on elsewhere")
                self.place = None

    def _train_once(self) -> int:
        """Send the files, train, fetch the files; return the exit code of the training."""
        actor = self._ray.remote(Host).options(num_cpus=self._cores, memory=memory_needed(self.run.footprint)).remote()
        try:
            node, ours = self._get_or_stop(actor.introduce.remote()), this_node()
            if problem := refusal(node, ours):
                raise _RefusedError(problem)
            if node.name not in self._met and (note := remark(node, ours)):
                self.remarks.append(note)
            self._met.add(node.name)
            self._send_files(actor)
            self.place = node.name
            self.remarks.append(f"started {self.run.name} on {node.name}")
            copy = Copy(self.run.path, self._get(actor.start.remote(self.run, self._cores, self._options)))
            printed = handed_on = 0
            while True:
                while handed_on < len(self._signals):
                    self._get(actor.send.remote(self._signals[handed_on]))
                    handed_on += 1
                code = self._get(actor.poll.remote())
                listing = self._get(actor.snapshot.remote(copy.known))
                copy.update(listing, lambda *what: self._get(actor.read.remote(*what)))
                while text := self._get(actor.read_log.remote(printed)):
                    with self.run.log.open("ab") as log:
                        printed += log.write(text)
                if code is not None:
                    self._problem = self._get(actor.error.remote(code)) if code else None
                    self._get(actor.close.remote())
                    return int(code)
                self._wake.wait(_EVERY)
                self._wake.clear()
        finally:
            self._ray.kill(actor)

    def _send_files(self, actor: Any) -> None:
        """Send what a training needs to go on, and the user's own task and algorithm."""
        remove_leftovers(self.run.path / "checkpoints")
        for name in (self.run.config.task, self.run.config.algorithm):
            module, colon, _ = name.partition(":")
            if colon and module != "gym" and (own := find_own_file(module)) is not None:
                self._get(actor.write.remote(own.name, 0, own.read_bytes()))
        for name in list_files(self.run.path):
            if name.startswith(("figures/", "adapt/", "events.")):  # nothing that a training reads
                continue
            first = 0
            while block := read_block(self.run.path, name, first, BLOCK):
                self._get(actor.write.remote(f"run/{name}", first, block))
                first += len(block)

    def _get(self, reference: Any) -> Any:
        return self._ray.get(reference)

    def _get_or_stop(self, reference: Any) -> Any:
        """Wait for a place; give up if a signal comes first."""
        while not self._signals:
            if self._ray.wait([reference], timeout=0.5)[0]:
                return self._get(reference)
        raise _StoppedError


class _RefusedError(UserError):
    """A node must not work for us. It would take one run after the other, so all of them are stopped."""


class _StoppedError(Exception):
    """Nobody wants the run any more."""


class RayCrew:
    """Starts runs on Ray, which finds a node for each of them."""

    def __init__(
        self, ray: ModuleType, todo: Sequence[PlannedRun], jobs: int | None, threads: int | None, options: Sequence[str]
    ) -> None:
        """Make ready.

        Args:
            ray: The module, connected.
            todo: Runs to be trained.
            jobs: How many at once, at most.
            threads: Cores for each.
            options: Of `qdpg resume`.

        Raises:
            UserError: A number is out of range, or no node is large enough.
        """
        for name, number in (("jobs", jobs), ("threads", threads)):
            if number is not None and number < 1:
                raise UserError(f"--{name} is {number}, but must be at least 1.")
        self._ray, self._options = ray, options
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        cores = [int(node.get("CPU", 0)) for node in nodes]
        self._threads = threads or max(1, min(sum(cores) // max(len(todo), 1), max(cores)))
        needed = max((memory_needed(run.footprint) for run in todo), default=0)
        fitting = [
            number // self._threads
            for number, node in zip(cores, nodes, strict=True)
            if node.get("memory", 0) >= needed
        ]
        if not sum(fitting):
            raise UserError(
                f"no node of the cluster has {self._threads} cores and {needed / 2**30:.1f} GiB of memory; add one, or "
                "choose fewer --threads or smaller settings."
            )
        self.jobs = max(1, min(jobs or sum(fitting), max(len(todo), 1)))
        self._limit, self._met = jobs, set[str]()

    def describe(self) -> str:
        """What is about to happen."""
        return f"{self.jobs} at once on Ray with {plural(self._threads, 'core')} each"

    def check(self, run: PlannedRun) -> None:
        """Refuse what will not fit here; whether it fits there is Ray's business."""
        check_disk(run.footprint, run.path.absolute())

    def has_room(self, run: PlannedRun, children: Sequence[RemoteChild]) -> bool:
        """Whether to ask Ray for one more place; a few are asked for in advance, since nodes may join."""
        if self._limit is not None:
            return len(children) < self._limit
        waiting = sum(child.place is None for child in children)
        return len(children) < self.jobs or waiting < _IN_ADVANCE

    def start(self, run: PlannedRun) -> RemoteChild:
        """Start it as soon as there is a place."""
        return RemoteChild(self._ray, run, self._threads, self._options, self._met)

    def end(self, child: RemoteChild) -> None:
        """Nothing: Ray knows."""
