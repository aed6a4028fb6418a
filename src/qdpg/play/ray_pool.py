"""Processes of Ray that do one job after the other. Whoever dies is replaced, and its job done by another."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

from qdpg.cluster.connect import first_line
from qdpg.cluster.nodes import failed_start, refusal, remark, this_node
from qdpg.errors import UserError

Job = tuple[Any, ...]  # the name of a method, and its arguments
_DEATHS = 3  # a job that has ended so many processes will end the next one too
_STILLBORN = 10  # processes in a row that end before they have said where they are
_PATIENCE = 60.0  # seconds without a process until somebody is told
_LAST_PATIENCE = 10  # times that


class _Batch:
    """Jobs that are done together."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.jobs, self.waiting = jobs, deque(range(len(jobs)))
        self.deaths, self.done = Counter[int](), dict[int, Any]()


class Pool:
    """Actors of Ray, a core each. Their method `introduce` makes them ready, and `present` says where they are."""

    def __init__(
        self,
        ray: ModuleType,
        start: Callable[[], tuple[Any, Any]],
        workers: int | None,
        say: Callable[[str], None],
    ) -> None:
        """Start the actors.

        Args:
            ray: The module, connected.
            start: Starts an actor; returns it, and what will be its answer to `introduce`.
            workers: How many; None for as many as the cluster has cores.
            say: Told in a sentence what a person should know.
        """
        self._ray, self._start, self._wanted, self._say = ray, start, workers, say
        self._ours, self._known = this_node(), {this_node().name}
        self._starting: dict[Any, Any] = {}  # by the reference to what they will introduce themselves with
        self._asked: dict[Any, Any] = {}  # those who had no work when somebody died: are they still there?
        self._running: dict[Any, tuple[_Batch, int, Any]] = {}  # by the reference to what will come of it
        self._idle: list[Any] = []
        self._stillborn = 0
        self._fill()

    @property
    def size(self) -> int:
        """How many there are to be."""
        return self._wanted or max(int(self._ray.cluster_resources().get("CPU", 1)), 1)

    def close(self) -> None:
        """End them all."""
        busy = (actor for _, _, actor in self._running.values())
        for actor in (*self._idle, *self._starting.values(), *self._asked.values(), *busy):
            self._ray.kill(actor)
        self._idle, self._starting, self._asked, self._running = [], {}, {}, {}

    def work(self, jobs: Sequence[Job]) -> Iterator[Any]:
        """Do all jobs; yield what they return, in order.

        Raises:
            UserError: A process has other versions than ours, a job ends every process that takes it, or there is
                nobody to do it.
        """
        batch, idled = _Batch(jobs), 0
        self._fill()
        try:
            for due in range(len(jobs)):
                while due not in batch.done:
                    self._hand_out(batch)
                    ready, _ = self._ray.wait([*self._running, *self._asked, *self._starting], timeout=_PATIENCE)
                    idled = 0 if ready or self._running else self._wait_longer(idled)
                    for reference in ready:
                        if reference in self._running:
                            self._collect(reference)
                        else:
                            self._take_in(reference)
                yield batch.done.pop(due)
        finally:  # if nobody wants the rest, what was begun is finished all the same, but nothing more is
            batch.waiting.clear()

    def _hand_out(self, batch: _Batch) -> None:
        """Give a job to everybody who has none."""
        while batch.waiting and self._idle:
            actor, number = self._idle.pop(), batch.waiting.popleft()
            method, *arguments = batch.jobs[number]
            self._running[getattr(actor, method).remote(*arguments)] = batch, number, actor

    def _collect(self, reference: Any) -> None:
        """Take what came of a job; if that was lost with its process, or on the way here, it has to be done again."""
        batch, number, actor = self._running.pop(reference)
        try:
            batch.done[number] = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError:  # the work itself went wrong, and would again
            self._idle.append(actor)
            raise
        except self._ray.exceptions.RayError as error:
            self._ray.kill(actor)  # if it is there after all, it is not needed
            batch.deaths[number] += 1
            if batch.deaths[number] == _DEATHS:
                raise UserError(f"{_DEATHS} processes of Ray ended over the same work: {first_line(error)}") from error
            batch.waiting.appendleft(number)
            self._ask_idle()
            self._fill()
        else:
            self._idle.append(actor)

    def _fill(self) -> None:
        there = sum(map(len, (self._running, self._idle, self._asked, self._starting)))
        for _ in range(self.size - there):
            actor, introduction = self._start()
            self._starting[introduction] = actor

    def _ask_idle(self) -> None:
        """Ask those who have no work whether they are there: a node dies with all its processes at once."""
        self._asked |= {actor.present.remote(): actor for actor in self._idle}
        self._idle = []

    def _take_in(self, reference: Any) -> None:
        """Let an actor that has said where it is join, if it may."""
        is_new = reference in self._starting
        actor = (self._starting if is_new else self._asked).pop(reference)
        try:
            node = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            raise UserError(f"a process of Ray cannot play the task: {error.cause}.") from error
        except self._ray.exceptions.RayError as error:  # dead, perhaps with its node
            if problem := failed_start(error):
                raise UserError(problem) from error
            self._stillborn += is_new
            if self._stillborn == _STILLBORN:
                raise UserError(
                    f"{_STILLBORN} processes of Ray ended before they began: {first_line(error)}"
                ) from error
            return self._fill()
        self._stillborn = 0
        if problem := refusal(node, self._ours):
            raise UserError(problem)
        if node.name not in self._known and (note := remark(node, self._ours)):
            self._say(note)
        self._known.add(node.name)
        self._idle.append(actor)

    def _wait_longer(self, idled: int) -> int:
        """Count how often nothing happened."""
        if idled == 0:
            self._say("waiting for cores: the cluster has none free")
        if idled == _LAST_PATIENCE:
            raise UserError("the cluster has had no free core for ten minutes; the run can be resumed when it has.")
        return idled + 1
