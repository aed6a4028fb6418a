"""The explorer: what is selected and shown, what moves, and a run in training that is followed."""

from __future__ import annotations

import contextlib
import io
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from qdpg.errors import DivergedError, UserError
from qdpg.explorer.archive import Cells, colours, find_cells, kind_colours
from qdpg.explorer.drawing import COLOURS
from qdpg.explorer.history import EMITTER, measures, read_history
from qdpg.explorer.pictures import Pictures
from qdpg.explorer.playback import Playback
from qdpg.explorer.stage import AT_ONCE, Stage
from qdpg.exports.choose import cell_of, choose
from qdpg.exports.episode import Episode, play_fresh, play_stored, seconds_per_step
from qdpg.report.words import number, plural
from qdpg.runs.run import Run, load_run
from qdpg.runs.ties import find_damaged_logs

STORED, FRESH = "stored, exactly", "fresh start"
_TICK, _REST = 1 / 30, 0.2  # seconds between two looks at the clock while something moves, and while nothing does
_LOOK = 2.0  # seconds between two looks at the files of a run in training, at least
_SHARE = 0.01  # of its time that the explorer may spend on reading them: training may share the processor


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
        self._pictures: Pictures | None = None
        self._step = -1
        self.open(next(iter(self.runs)))
        server.on_client_connect(lambda client: self.guarded(self._begin_anew))
        self._threads = [threading.Thread(target=each, daemon=True) for each in (self._tick, self._watch)]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Stop the clock and the server."""
        self._stop.set()
        for thread in self._threads:
            thread.join(timeout=5)
        self.controls.trials.close()
        if self._pictures is not None:
            self._pictures.close()
        with contextlib.redirect_stdout(io.StringIO()):  # viser would say that it stopped
            self.server.stop()

    # What is shown.

    def open(self, name: str) -> None:
        """Show another run."""
        with self.lock:
            run = self.runs[name]
            elites = run.elites
            if not len(elites):
                raise UserError(f"{name} has no elites yet; train longer.")
            self.run, self.elites = run, elites
            self._stamp = self._modified()
            self.stage = Stage(self.server, self.run.task)
            self.selected, self.shown = [], []
            self._read()
            from qdpg.explorer.controls import Controls  # it knows the explorer too

            self.server.gui.reset()
            self.controls = Controls(self)
            self.paint_anew()
            self.select(int(choose(self.elites)[0]))
            if problems := find_damaged_logs(run.path, run.ties):
                self.controls.say(" ".join(problems) + " What training was like is not shown.")

    def _read(self) -> None:
        self.history = read_history(self.run, self.elites)
        others = None if self.history is None else self.history.index
        self.cells: Cells = find_cells(self.elites, self.stage.frame, others)
        self.measures = measures(self.elites, self.history)

    def _modified(self) -> tuple[float, ...]:
        files = ("elites/elites.json", "elites/evaluated.json", "metrics.csv")
        return tuple(path.stat().st_mtime if (path := self.run.path / name).exists() else 0.0 for name in files)

    def values(self, what: str, generation: float | None) -> np.ndarray:
        """What each cell is coloured by, [n]; not-a-number where there is nothing.

        Args:
            what: One of `measures`.
            generation: The state of training to show; None for the elites as they are.
        """
        if generation is not None and self.history is not None:
            return self.history.values(self.cells.index, generation, what)
        return self.of_cells(self.measures[what])

    def of_cells(self, values: np.ndarray) -> np.ndarray:
        """Values of elites [N] as values of cells [n]; not-a-number where there is no elite."""
        return np.where(self.cells.rows >= 0, values[self.cells.rows], np.nan)

    def paint_anew(self) -> None:
        """Draw all cells."""
        self.stage.tiles.show(self.cells, np.zeros((len(self.cells.index), 3), np.uint8), self._clicked)
        self.paint()

    def paint(self, expected: np.ndarray | None = None) -> None:
        """Give the cells their colours: as the controls say, or by what a model expects of each, [n]."""
        with self.lock:
            what, generation = self.controls.view()
            values = self.values(what, generation) if expected is None else expected
            is_kind = what == EMITTER and expected is None
            self.stage.tiles.colour((kind_colours if is_kind else colours)(values))
            self.controls.explain(values, what if expected is None else "expected score")

    def _clicked(self, cell: int) -> None:
        row = int(self.cells.rows[cell])
        if row >= 0 and not self.controls.trials.takes_clicks:
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

    def show(self, episodes: Sequence[Episode], speed: float | None = None) -> None:
        """Show episodes of this task, whoever played them; at the controls' speed, or at another."""
        with self.lock:
            self.shown = list(episodes)
            rows = [np.flatnonzero(self.cells.rows == episode.row)[0] for episode in self.shown]
            self.stage.tiles.mark([(self.cells.centres[n], self.cells.sizes[n]) for n in rows])
            self.stage.load(self.shown, self.controls.ribbons(), self.controls.apart())
            if self._pictures is not None:
                self._pictures.close()
            self._pictures = Pictures(self.run.task, self.shown, COLOURS)
            speed = self.controls.speed() if speed is None else speed
            longest, now = max(map(len, self.shown)), time.monotonic()
            self.playback = self.playback.set_speed(speed, now).load(longest, seconds_per_step(self.run.task), now)
            self._step = -1
            self.controls.describe()
            self.move()
            if self.controls.follows():
                self.stage.follow(0, begin=True)

    def _begin_anew(self) -> None:
        """Somebody came: if nobody else is looking, what is shown begins with its first step."""
        with self.lock:
            if len(self.server.get_clients()) <= 1:
                self.playback = self.playback.scrub(0, time.monotonic()).set_playing(True, time.monotonic())

    # What moves.

    def move(self) -> None:
        """Show the present step."""
        with self.lock:
            now = time.monotonic()
            step = self.playback.at(now)
            self.controls.show_playing(self.playback.is_playing and not self.playback.is_over(now))
            self._show_picture(step)
            if step == self._step or not self.shown:
                return
            self._step = step
            with self.server.atomic():
                self.stage.show(step)
                if self.controls.follows():
                    self.stage.follow(step)
            self.controls.show_step(step, self.shown[0])

    def _show_picture(self, step: int) -> None:
        if self._pictures is None:
            return
        self.stage.show_picture(self._pictures.at(step))
        if self._pictures.failure is not None:
            self.controls.say(self._pictures.failure)
            self._pictures.failure = None

    def _tick(self) -> None:
        while not self._stop.wait(_TICK if self._is_moving() else _REST):
            if self.server.get_clients():
                self.guarded(self.move)

    def _is_moving(self) -> bool:
        return bool(self.server.get_clients()) and self.playback.is_playing and self._step < self.playback.length

    def _watch(self) -> None:
        """Follow a run in training: only look at the times of three files, and read when they change."""
        pause = _LOOK
        while not self._stop.wait(pause):
            used = time.thread_time()
            self.guarded(self.refresh)
            pause = max(_LOOK, (time.thread_time() - used) / _SHARE)

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
        """Do `what` whenever somebody uses a control; not when its value is set here."""
        listen = handle.on_click if hasattr(handle, "on_click") else handle.on_update

        def used(event: Any) -> None:
            if event.client is not None:
                self.controls.say("")
                self.guarded(what)

        listen(used)


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


def summary(run: Run, elites: Any) -> tuple[str, str]:
    """A run in two lines."""
    spec = run.task.spec
    worth = "mean from fresh starts" if elites.evaluated is not None else "stored, optimistic"
    cells = elites.about["cells"]
    total = cells if isinstance(cells, int) else int(np.prod(cells))
    return (
        f"{spec.name} · {run.config['algorithm']} · seed {run.config['seed']}",
        f"{plural(len(elites), 'elite')} in {total:,} cells, best {number(float(elites.worth.max()))} ({worth})",
    )
