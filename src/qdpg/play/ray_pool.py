"""Processes of Ray that do one job after the other. Whoever dies is replaced, and its job done by another."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

from qdpg.cluster.nodes import refusal, remark, this_node
from qdpg.errors import UserError

Job = tuple[Any, ...]  # the name of a method, and its arguments
_DEATHS = 3  # a job that has killed so many processes will kill the next one too
_PATIENCE = 60.0  # seconds without a process until somebody is told
_LAST_PATIENCE = 10  # times that


class Pool:
    """Actors of Ray, a core each. Their method `introduce` says where they are."""

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
        self._idle: list[Any] = []
        self._fill(0)

    @property
    def size(self) -> int:
        """How many there are to be."""
        return self._wanted or max(int(self._ray.cluster_resources().get("CPU", 1)), 1)

    def close(self) -> None:
        """End them all."""
        for actor in (*self._idle, *self._starting.values()):
            self._ray.kill(actor)
        self._idle, self._starting = [], {}

    def work(self, jobs: Sequence[Job]) -> Iterator[Any]:
        """Do all jobs; yield what they return, in order.

        Raises:
            UserError: A process has other versions than ours, a job ends every process that takes it, or there is
                nobody to do it.
        """
        waiting, deaths = deque(range(len(jobs))), Counter[int]()
        running: dict[Any, tuple[int, Any]] = {}
        done: dict[int, Any] = {}
        due, idled = 0, 0
        self._fill(0)
        try:
            while due < len(jobs):
                while waiting and self._idle:
                    actor, number = self._idle.pop(), waiting.popleft()
                    method, *arguments = jobs[number]
                    running[getattr(actor, method).remote(*arguments)] = number, actor
                ready, _ = self._ray.wait([*running, *self._starting], timeout=_PATIENCE)
                idled = 0 if ready or running else self._wait_longer(idled)
                for reference in ready:
                    if reference in self._starting:
                        self._take_in(reference)
                        continue
                    number, actor = running.pop(reference)
                    try:
                        done[number] = self._ray.get(reference)
                        self._idle.append(actor)
                    except self._ray.exceptions.RayActorError as error:
                        deaths[number] += 1
                        if deaths[number] == _DEATHS:
                            raise UserError(f"{_DEATHS} processes of Ray ended over the same work: {error}") from error
                        waiting.appendleft(number)
                        self._fill(len(running))
                while due in done:
                    yield done.pop(due)
                    due += 1
        finally:  # if nobody wants the rest, it is done all the same before anything new
            self._idle += [actor for _, actor in running.values()]

    def _fill(self, busy: int) -> None:
        for _ in range(self.size - busy - len(self._idle) - len(self._starting)):
            actor, introduction = self._start()
            self._starting[introduction] = actor

    def _take_in(self, reference: Any) -> None:
        """Let an actor that has introduced itself join, if it may."""
        actor = self._starting.pop(reference)
        try:
            node = self._ray.get(reference)
        except self._ray.exceptions.RayActorError:  # died at once, perhaps with its node
            return self._fill(0)
        except self._ray.exceptions.RayTaskError as error:
            raise UserError(f"a process of Ray cannot play the task: {error.cause}.") from error
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
