"""Adaptation in the page: a new goal, or a leg that no longer works, and the search for an elite, trial by trial."""

from __future__ import annotations

import math
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from qdpg.adaptation.damage import Damaged, legs
from qdpg.adaptation.goals import known_ways, movable, move_goal
from qdpg.adaptation.model import Settings
from qdpg.adaptation.search import Adaptation
from qdpg.errors import UserError
from qdpg.exports.choose import cell_of
from qdpg.exports.episode import Episode, play_fresh, seconds_per_step
from qdpg.report.words import number, plural
from qdpg.runs.collection import Collection
from qdpg.tasks.task import Box, GoalTask, MujocoTask, Task

if TYPE_CHECKING:
    from qdpg.explorer.app import Explorer

MOST = 50  # trials
SECONDS = 6.0  # that a trial is shown for at most: a long episode is shown faster


class Trials:
    """The controls of adaptation, and the search itself, which runs in a thread and can be stopped."""

    def __init__(self, explorer: Explorer) -> None:
        self._explorer, self._running = explorer, threading.Event()
        self._thread: threading.Thread | None = None
        gui, task, on = explorer.server.gui, explorer.run.task, explorer.on
        self._goal: Any = None
        self._known: tuple[Collection, np.ndarray] | None = None  # elites, and the ways that they take
        self._dropping: Any = None  # what listens for the next click on the floor
        self._legs = legs(task) if isinstance(task, MujocoTask) else {}
        can_move = isinstance(task, GoalTask) and task.spec.floor is not None
        if not can_move and not self._legs:
            return
        with gui.add_folder("Adapt", expand_by_default=False):
            self._number = gui.add_slider("trials", 1, MOST, 1, 10, hint="Elites to try, one after the other.")
            if can_move:
                on(gui.add_button("drop a new goal on the floor"), self.drop_goal)
                self._goal = gui.add_vector2("goal", tuple(movable(task).goal), step=0.01)
                on(gui.add_button("find an elite for this goal"), self.search_goal)
            if self._legs:
                self._leg = gui.add_dropdown("disabled", tuple(self._legs))
                on(self._leg, lambda: explorer.stage.break_limb(self._limb()))
                on(gui.add_button("find an elite for this body"), self.search_damage)
            on(gui.add_button("stop"), self._running.clear)
            on(gui.add_button("as it was"), self.undo)
            self._log = gui.add_markdown("")

    @property
    def takes_clicks(self) -> bool:
        """Whether the next click on the floor is a goal, and not the choice of a cell."""
        return self._dropping is not None

    def drop_goal(self) -> None:
        """Wait for a click on the floor, and search for a goal there."""
        if self.takes_clicks:
            return
        self._explorer.controls.say("click where the goal is to be")

        @self._explorer.server.scene.on_click()
        def dropped(event: Any) -> None:
            self._explorer.guarded(lambda: self._drop(event))

        self._dropping = dropped

    def _listen_no_more(self) -> None:
        if self._dropping is not None:
            self._explorer.server.scene.remove_click_callback(self._dropping)
            self._dropping = None

    def _drop(self, event: Any) -> None:
        self._listen_no_more()
        start = np.array(event.ray_origin, float) - self._explorer.stage.view.world.position  # it may have been moved
        way = np.array(event.ray_direction, float)
        if not way[2] < 0:
            raise UserError("that is not on the floor.")
        self._goal.value = tuple(float(f"{each:.4g}") for each in (start - start[2] / way[2] * way)[:2])
        self._explorer.controls.say("")
        self.search_goal()

    def search_goal(self) -> None:
        """Search for the goal that was put on the floor."""
        task = movable(self._explorer.run.task)
        goal, floor = np.array(self._goal.value, float), task.spec.floor
        assert floor is not None
        if goal.shape != (2,) or not np.isfinite(goal).all() or (goal < floor.low).any() or (goal > floor.high).any():
            raise UserError(f"a goal must lie on the floor, from {floor.low} to {floor.high}.")
        moved = move_goal(task, goal)
        half = 0.02 if moved.spec.floor is None or moved.spec.floor.goal is None else moved.spec.floor.goal.half_x

        self._begin(moved, Box(float(goal[0]), float(goal[1]), half, half), ())

    def _limb(self) -> tuple[int, ...]:
        if self._leg.value not in self._legs:
            raise UserError(f"{str(self._leg.value)[:40]!r} is none of {', '.join(self._legs)}.")
        return self._legs[self._leg.value]

    def search_damage(self) -> None:
        """Search for the body without one leg."""
        task = self._explorer.run.task
        assert isinstance(task, MujocoTask)
        self._begin(Damaged(task, self._limb()), None, self._limb())

    def undo(self) -> None:
        """Take goal and damage back, and show the archive and the selected elites as they are."""
        explorer = self._explorer
        self._running.clear()
        self._listen_no_more()
        with explorer.lock:
            self._show(None, ())
            self._log.content = ""
            explorer.paint()
            explorer.play()

    def _show(self, goal: Box | None, broken: tuple[int, ...]) -> None:
        self._explorer.stage.show_goal(goal)
        self._explorer.stage.break_limb(broken)

    def _begin(self, task: Task, goal: Box | None, broken: tuple[int, ...]) -> None:
        if self._thread is not None and self._thread.is_alive():
            raise UserError("a search is under way; stop it first.")
        value = self._number.value
        if not isinstance(value, int | float) or not math.isfinite(value):
            raise UserError("the number of trials is no number.")
        trials = min(max(1, int(value)), MOST, len(self._explorer.elites))
        self._listen_no_more()
        self._show(goal, broken)
        self._running.set()

        def work() -> None:
            # On a changed body elites are expected to score what they did on the whole one; for a new goal their ways
            # tell more.
            elites, ways = self._explorer.elites, None if broken else self._ways()
            self.search(task, Adaptation(elites, Settings(prior="fitness" if broken else "mean"), ways=ways), trials)

        self._thread = threading.Thread(target=lambda: self._explorer.guarded(work), daemon=True)
        self._thread.start()

    def _ways(self) -> np.ndarray:
        """Where every elite goes; they are played for it once."""
        elites = self._explorer.elites
        if self._known is None or self._known[0] is not elites:
            self._log.content = f"playing {plural(len(elites), 'elite')} once, to know their ways …"
            self._known = elites, known_ways(movable(self._explorer.run.task), elites)
        return self._known[1]

    def close(self) -> None:
        """End the search, if there is one."""
        self._running.clear()
        if self._thread is not None:
            self._thread.join(timeout=30)

    def search(self, task: Task, search: Adaptation, trials: int) -> None:
        """Try elites one by one, each from a fresh start, and show every trial and what the model believes."""
        played: dict[int, Episode] = {}
        for n in range(trials):
            row = search.ask()
            (played[row],) = play_fresh(task, search.collection, [row], seed=n)
            search.tell(row, played[row].fitness)
            if not self._show_trial(played[row], search, "best so far") or not self._running.is_set():
                break
        else:
            if search.best is not None:
                self._show_trial(played[search.best.elite], search, f"found after {trials} trials")
        self._running.clear()

    def _show_trial(self, episode: Episode, search: Adaptation, found: str) -> bool:
        """Show a trial until it is over or somebody stops the search; False if the run has other elites by now.

        Args:
            episode: What was tried.
            search: All trials so far.
            found: What the best of them is called.
        """
        explorer = self._explorer
        with explorer.lock:
            if explorer.elites is not search.collection:
                return False
            explorer.selected = [episode.row]
            lasts = len(episode) * seconds_per_step(explorer.run.task)
            explorer.show([episode], speed=max(explorer.controls.speed(), lasts / max(SECONDS, 1e-3)))
            explorer.paint(explorer.of_cells(search.belief()))
            self._log.content = self._report(search, found)
        while self._running.is_set() and not explorer.playback.is_over(time.monotonic()):
            time.sleep(0.05)
        return True

    def _report(self, search: Adaptation, found: str) -> str:
        """The best trial, and all of them, a line each."""
        lines = []
        for trial in search.trials:
            cell = ",".join(map(str, cell_of(search.collection, trial.elite)))
            lines.append(f"cell {cell}: {'failed' if trial.score is None else number(trial.score)}")
        best = "" if search.best is None else f"**{found}: {lines[search.trials.index(search.best)]}**\n\n"
        return best + "\n".join(f"{n}. {line}" for n, line in enumerate(lines, start=1))
