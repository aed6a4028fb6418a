"""The explorer: what is selected and shown, and the controls beside the scene."""

from __future__ import annotations

import contextlib
import io
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from qdpg.errors import DivergedError, UserError
from qdpg.explorer.archive import MEASURES, Cells, colours, find_cells, measure, read_history
from qdpg.explorer.playback import SPEEDS, Playback
from qdpg.explorer.stage import AT_ONCE, Stage
from qdpg.exports.choose import cell_of, choose
from qdpg.exports.episode import Episode, play_fresh, play_stored, seconds_per_step
from qdpg.exports.frames import gymnasium_frames, make_drawing_env
from qdpg.report.words import number, plural
from qdpg.runs.run import Run, load_run
from qdpg.tasks.gymnasium import GymnasiumTask

STORED, FRESH = "stored, exactly", "fresh start"
_TICK = 1 / 30  # seconds between two looks at the clock
_LOOK = 2.0  # seconds between two looks at the files of a run in training


class Explorer:
    """Runs in a browser. One lock: controls, clock and files take turns."""

    def __init__(self, server: Any, runs: Sequence[Run]) -> None:
        """Show the first of the runs.

        Args:
            server: What `start_server` gave.
            runs: What can be chosen.
        """
        self.server, self.runs = server, {str(run.path): run for run in runs}
        self.lock = threading.RLock()
        self._stop = threading.Event()
        self.playback = Playback()
        self.shown: list[Episode] = []
        self.selected: list[int] = []
        self._pictures: list[np.ndarray] = []
        self._step = -1
        self.open(next(iter(self.runs)))
        self._threads = [threading.Thread(target=each, daemon=True) for each in (self._tick, self._watch)]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Stop the clock and the server."""
        self._stop.set()
        for thread in self._threads:
            thread.join(timeout=5)
        with contextlib.redirect_stdout(io.StringIO()):  # viser would say that it stopped
            self.server.stop()

    # What is shown.

    def open(self, name: str) -> None:
        """Show another run."""
        with self.lock:
            self.run = self.runs[name]
            self.elites = self.run.elites
            if not len(self.elites):
                raise UserError(f"{name} has no elites yet; train longer.")
            self._stamp = self._modified()
            self.stage = Stage(self.server, self.run.task)
            self.selected, self.shown = [], []
            self._read()
            from qdpg.explorer.controls import Controls  # it knows the explorer too

            self.server.gui.reset()
            self.controls = Controls(self)
            self.paint_anew()
            self.select(int(choose(self.elites)[0]))

    def _read(self) -> None:
        self.history = read_history(self.run, self.elites)
        others = None if self.history is None else self.history.index
        self.cells: Cells = find_cells(self.elites, self.stage.frame, others)

    def _modified(self) -> tuple[float, ...]:
        files = ("elites/elites.json", "elites/evaluated.json", "metrics.csv")
        return tuple(path.stat().st_mtime if (path := self.run.path / name).exists() else 0.0 for name in files)

    def values(self, what: str, generation: float | None) -> np.ndarray:
        """What each cell is coloured by, [n]; not-a-number where there is nothing.

        Args:
            what: One of `MEASURES`.
            generation: The state of training to show; None for the elites as they are.
        """
        if generation is not None and self.history is not None:
            return self.history.best(self.cells.index, generation)
        known = measure(self.elites, what)
        return np.where(self.cells.rows >= 0, known[self.cells.rows], np.nan)

    def paint_anew(self) -> None:
        """Draw all cells."""
        self.stage.show_cells(self.cells, colours(self.values(*self.controls.view())), self._clicked)
        self.controls.say_range(self.values(*self.controls.view()))

    def paint(self, values: np.ndarray | None = None) -> None:
        """Give the cells other colours: by `values` [n], or as the controls say."""
        with self.lock:
            values = self.values(*self.controls.view()) if values is None else values
            self.stage.colour_cells(colours(values))
            self.controls.say_range(values)

    def _clicked(self, cell: int) -> None:
        row = int(self.cells.rows[cell])
        if row >= 0:
            self.guarded(lambda: self.select(row, self.controls.adds()))

    def select(self, row: int, add: bool = False) -> None:
        """Show the elite in `row`, alone or with those shown already."""
        with self.lock:
            rows = [each for each in self.selected if each != row] if add else []
            self.selected = [*rows, row][-AT_ONCE:]
            self.play()

    def play(self) -> None:
        """Play the selected elites from the start that the controls say."""
        with self.lock:
            kind, seed = self.controls.start()
            rows, task = self.selected, self.run.task
            self.show(
                play_stored(task, self.elites, rows) if kind == STORED else play_fresh(task, self.elites, rows, seed)
            )

    def show(self, episodes: Sequence[Episode]) -> None:
        """Show episodes of this task, whoever played them."""
        with self.lock:
            self.shown = list(episodes)
            rows = [np.flatnonzero(self.cells.rows == episode.row)[0] for episode in self.shown]
            self.stage.mark([(self.cells.centres[n], self.cells.sizes[n]) for n in rows])
            self.stage.load(self.shown, self.controls.ribbons())
            self._pictures = self._draw(self.shown[0])
            longest = max(map(len, self.shown))
            self.playback = self.playback.load(longest, seconds_per_step(self.run.task), time.monotonic())
            self._step = -1
            self.controls.describe()
            self.move()

    def _draw(self, episode: Episode) -> list[np.ndarray]:
        """Pictures of every step, for environments that draw themselves."""
        task = self.run.task
        env = make_drawing_env(task) if isinstance(task, GymnasiumTask) else None
        if env is None or not isinstance(task, GymnasiumTask):
            return []
        try:
            return list(gymnasium_frames(task, env, episode, np.arange(len(episode) + 1)))
        except UserError as error:
            self.controls.say(str(error))  # the point in the plane is there all the same
            return []

    # What moves.

    def move(self) -> None:
        """Show the present step."""
        with self.lock:
            step = self.playback.at(time.monotonic())
            if step == self._step or not self.shown:
                return
            before, self._step = self.stage.place(max(self._step, 0)), step
            self.stage.show(step)
            if self.controls.follows():
                self.stage.follow(before, self.stage.place(step))
            picture = self._pictures[min(step, len(self._pictures) - 1)] if self._pictures else None
            self.controls.show_step(step, self.shown[0], picture)

    def _tick(self) -> None:
        while not self._stop.wait(_TICK):
            self.guarded(self.move)

    def _watch(self) -> None:
        """Follow a run in training: only look at the times of three files, and read when they change."""
        while not self._stop.wait(_LOOK):
            self.guarded(self.refresh)

    def refresh(self) -> None:
        """Read the run again if it has changed."""
        with self.lock:
            stamp = self._modified()
            if stamp == self._stamp:
                return
            elites = self.run.elites
            cells = [cell_of(self.elites, row) for row in self.selected]
            self._stamp, self.elites = stamp, elites
            self._read()
            kept = {cell_of(elites, row): row for row in range(len(elites))}
            self.selected = [kept[cell] for cell in cells if cell in kept] or [int(choose(elites)[0])]
            self.controls.renew()
            self.paint_anew()
            self.controls.say(f"read again: {plural(len(elites), 'elite')}")

    def guarded(self, what: Callable[[], Any]) -> None:
        """Do something that somebody asked for; what goes wrong is said in the page, in one sentence."""
        try:
            what()
        except (UserError, DivergedError) as error:
            self.controls.say(str(error))
        except Exception as error:
            self.controls.say(f"that did not work ({type(error).__name__}: {error}).")

    def on(self, handle: Any, what: Callable[[], Any]) -> None:
        """Do `what` whenever a control is used."""
        (handle.on_click if hasattr(handle, "on_click") else handle.on_update)(lambda event: self.guarded(what))

    @property
    def names(self) -> list[str]:
        """The runs that can be chosen."""
        return list(self.runs)


def load_runs(paths: Sequence[Any], trust: bool = False) -> list[Run]:
    """Runs that can be explored.

    Args:
        paths: Their directories.
        trust: Whether code that they name may be imported.

    Raises:
        UserError: One of them cannot, or none is given.
    """
    if not paths:
        raise UserError("give the directory of at least one run.")
    runs = [load_run(path, trust) for path in paths]
    for run in runs:
        if not len(run.elites):
            raise UserError(f"{run.path} has no elites yet; train longer.")
    return runs


def summary(run: Run, elites: Any) -> str:
    """A run in two lines."""
    spec = run.task.spec
    worth = "mean from fresh starts" if elites.evaluated is not None else "stored, optimistic"
    cells = elites.about["cells"]
    total = cells if isinstance(cells, int) else int(np.prod(cells))
    return (
        f"**{spec.name}** · {run.config['algorithm']} · seed {run.config['seed']}\n\n"
        f"{plural(len(elites), 'elite')} in {total:,} cells, best {number(float(elites.worth.max()))} ({worth})"
    )


__all__ = ["FRESH", "MEASURES", "SPEEDS", "STORED", "Explorer", "load_runs", "summary"]
