"""Adaptation in the page: a new goal, or a leg that no longer works, and the search for an elite, trial by trial."""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from qdpg.adaptation.damage import Damaged, legs
from qdpg.adaptation.goals import known_ways, movable, move_goal
from qdpg.adaptation.search import Adaptation
from qdpg.errors import UserError
from qdpg.exports.choose import cell_of
from qdpg.exports.episode import play_fresh
from qdpg.report.words import number
from qdpg.tasks.task import GoalTask, MujocoTask, Task

if TYPE_CHECKING:
    from qdpg.explorer.app import Explorer

MOST = 50  # trials


class Trials:
    """The controls of adaptation, and the search itself, which runs in a thread and can be stopped."""

    def __init__(self, explorer: Explorer) -> None:
        self._explorer, self._running = explorer, threading.Event()
        self._thread: threading.Thread | None = None
        gui, task, on = explorer.server.gui, explorer.run.task, explorer.on
        self._goal: Any = None
        self._legs = legs(task) if isinstance(task, MujocoTask) else {}
        can_move = isinstance(task, GoalTask) and task.spec.floor is not None
        if not can_move and not self._legs:
            return
        with gui.add_folder("Adapt", expand_by_default=False):
            self._number = gui.add_slider("trials", 1, MOST, 1, 10)
            if can_move:
                self._goal = gui.add_vector2("new goal", tuple(movable(task).goal))
                on(gui.add_button("find an elite for this goal"), self.search_goal)
            if self._legs:
                self._leg = gui.add_dropdown("disabled", tuple(self._legs))
                on(gui.add_button("find an elite for this body"), self.search_damage)
            on(gui.add_button("stop"), self._running.clear)
            self._log = gui.add_markdown("")

    def search_goal(self) -> None:
        """Search for the goal that was put on the floor."""
        goal, floor = np.array(self._goal.value, float), self._explorer.run.task.spec.floor
        assert floor is not None
        if goal.shape != (2,) or not np.isfinite(goal).all() or (goal < floor.low).any() or (goal > floor.high).any():
            raise UserError(f"a goal must lie on the floor, from {floor.low} to {floor.high}.")
        task = move_goal(movable(self._explorer.run.task), goal)
        box = task.spec.floor.goal if task.spec.floor is not None else None
        self._explorer.stage.show_goal(goal, 0.02 if box is None else box.half_x)
        self._begin(task, known_ways(movable(self._explorer.run.task), self._explorer.elites))

    def search_damage(self) -> None:
        """Search for the body without one leg."""
        name, task = self._leg.value, self._explorer.run.task
        if name not in self._legs or not isinstance(task, MujocoTask):
            raise UserError(f"{name!r} is none of {', '.join(self._legs)}.")
        self._begin(Damaged(task, self._legs[name]), None)

    def _begin(self, task: Task, ways: np.ndarray | None) -> None:
        if self._thread is not None and self._thread.is_alive():
            raise UserError("a search is under way; stop it first.")
        value = self._number.value
        if not isinstance(value, int | float) or not math.isfinite(value):
            raise UserError("the number of trials is no number.")
        trials = min(max(1, int(value)), MOST, len(self._explorer.elites))
        self._running.set()
        work = lambda: self._explorer.guarded(lambda: self.search(task, ways, trials))  # noqa: E731
        self._thread = threading.Thread(target=work, daemon=True)
        self._thread.start()

    def search(self, task: Task, ways: np.ndarray | None, trials: int) -> Adaptation:
        """Try elites one by one, each from a fresh start, and show every trial and what the model believes."""
        explorer = self._explorer
        elites, lines = explorer.elites, []
        search = Adaptation(elites, ways=ways)
        for n in range(trials):
            if not self._running.is_set() or explorer.elites is not elites:
                break
            row = search.ask()
            (episode,) = play_fresh(task, elites, [row], seed=n)
            trial = search.tell(row, episode.fitness)
            cell = ",".join(map(str, cell_of(elites, row)))
            lines.append(f"{n + 1}. cell {cell}: {number(trial.score or math.nan)}")
            with explorer.lock:
                if explorer.elites is not elites:
                    break
                explorer.selected = [row]
                explorer.show([episode])
                explorer.paint(np.where(explorer.cells.rows >= 0, search.belief()[explorer.cells.rows], np.nan))
            best = search.best
            found = (
                ""
                if best is None
                else f"best: cell {','.join(map(str, cell_of(elites, best.elite)))}, {number(best.score or 0.0)}"
            )
            self._log.content = f"{found}\n\n" + "\n".join(lines) + "\n\ncolours: what the model expects"
        self._running.clear()
        return search
