"""The controls beside the scene."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from qdpg.errors import UserError
from qdpg.explorer.app import FRESH, STORED, summary
from qdpg.explorer.archive import MEASURES
from qdpg.explorer.downloads import csv_of, onnx_of, svg_of, video_of
from qdpg.explorer.playback import SPEEDS
from qdpg.explorer.trials import Trials
from qdpg.exports.choose import cell_of, choose
from qdpg.exports.episode import Episode
from qdpg.report.words import number

if TYPE_CHECKING:
    from qdpg.explorer.app import Explorer

NOW = "now"


class Controls:
    """All controls of one run. What they say is checked here: a browser may send anything."""

    def __init__(self, explorer: Explorer) -> None:
        self._explorer = explorer
        gui, on = explorer.server.gui, explorer.on
        self._about = gui.add_markdown(summary(explorer.run, explorer.elites))
        self._said = gui.add_markdown("")
        if len(explorer.runs) > 1:
            self._run = gui.add_dropdown("run", explorer.names, initial_value=str(explorer.run.path))
            on(self._run, lambda: explorer.open(self._one_of(self._run.value, explorer.names)))
        with gui.add_folder("Archive"):
            known = [each for each in MEASURES if each != "evaluated fitness" or explorer.elites.evaluated is not None]
            first = "evaluated fitness" if "evaluated fitness" in known else "stored fitness"
            self._measures = known
            self._measure = gui.add_dropdown("colour", known, initial_value=first)
            self._range = gui.add_markdown("")
            on(self._measure, explorer.paint)
            self._training: Any = None
            if explorer.history is not None and len(explorer.history.generations) > 1:
                last = len(explorer.history.generations)
                self._training = gui.add_slider("training", 1, last, 1, last)
                self._steps = gui.add_markdown("")
                on(self._training, explorer.paint)
        with gui.add_folder("Elite"):
            self._cell = gui.add_text("cell", "")
            on(self._cell, self._choose_cell)
            on(gui.add_button("best"), lambda: explorer.select(int(choose(explorer.elites)[0])))
            self._adds = gui.add_checkbox("several at once", False)
            self._start = gui.add_dropdown("episode", (STORED, FRESH), initial_value=STORED)
            self._seed = gui.add_number("fresh start", 0, min=0, step=1)
            on(self._start, explorer.play)
            on(self._seed, explorer.play)
            self._elite = gui.add_markdown("")
        with gui.add_folder("Playback"):
            self._button = gui.add_button("play / pause")
            on(self._button, self._toggle)
            self._scrub = gui.add_slider("step", 0, 1, 1, 0)
            self._scrub.on_update(lambda event: None if event.client is None else explorer.guarded(self._scrubbed))
            self._speed = gui.add_dropdown("speed", SPEEDS, initial_value="1×")
            on(self._speed, self._set_speed)
            self._follow = gui.add_checkbox("follow", False)
            self._ribbons = gui.add_checkbox("ribbons", True)
            on(self._ribbons, lambda: explorer.show(explorer.shown))
            self._where = gui.add_markdown("")
            self._picture: Any = None
        with gui.add_folder("Curves", expand_by_default=False):
            self._curves = _add_curves(gui, explorer)
        self.trials = Trials(explorer)
        with gui.add_folder("Download", expand_by_default=False):
            for label, make in (
                ("ONNX", onnx_of),
                ("episode as CSV", csv_of),
                ("video", video_of),
                ("figure as SVG", svg_of),
            ):
                button = gui.add_button(label)
                button.on_click(lambda event, make=make: explorer.guarded(lambda: self._send(event.client, make)))

    # What the controls say.

    def view(self) -> tuple[str, float | None]:
        """What to colour by, and the generation to show; None for the elites as they are."""
        what = self._one_of(self._measure.value, self._measures)
        history = self._explorer.history
        if self._training is None or history is None:
            return what, None
        at = _whole(self._training.value, 1, len(history.generations))
        is_last = at == len(history.generations)
        self._steps.content = f"{history.steps[at - 1]:,.0f} steps" + (
            "" if is_last else ", best stored fitness so far"
        )
        return what, None if is_last else float(history.generations[at - 1])

    def adds(self) -> bool:
        """Whether a click adds an elite to those shown."""
        return bool(self._adds.value)

    def start(self) -> tuple[str, int]:
        """Which start to play from, and the number of a fresh one."""
        return self._one_of(self._start.value, (STORED, FRESH)), _whole(self._seed.value, 0, 2**31)

    def ribbons(self) -> bool:
        """Whether to draw the ways."""
        return bool(self._ribbons.value)

    def follows(self) -> bool:
        """Whether cameras follow."""
        return bool(self._follow.value)

    def _choose_cell(self) -> None:
        text = str(self._cell.value).strip()
        if not text:
            return
        try:
            cell = [int(part) for part in text.split(",")]
        except ValueError:
            raise UserError("a cell is whole numbers between commas, such as 3,4.") from None
        self._explorer.select(int(choose(self._explorer.elites, cell=cell)[0]), self.adds())

    def _toggle(self) -> None:
        explorer, now = self._explorer, time.monotonic()
        with explorer.lock:
            playing = explorer.playback.is_playing and not explorer.playback.is_over(now)
            explorer.playback = explorer.playback.set_playing(not playing, now)

    def _scrubbed(self) -> None:
        explorer = self._explorer
        with explorer.lock:
            step = _whole(self._scrub.value, 0, explorer.playback.length)
            explorer.playback = explorer.playback.scrub(step, time.monotonic())
            explorer.move()

    def _set_speed(self) -> None:
        explorer, speed = self._explorer, self._one_of(self._speed.value, SPEEDS)
        with explorer.lock:
            explorer.playback = explorer.playback.set_speed(float(speed[:-1]), time.monotonic())

    def _send(self, client: Any, make: Any) -> None:
        if client is None:
            return
        explorer = self._explorer
        with explorer.lock:
            run, elites, episode = explorer.run, explorer.elites, explorer.shown[-1]
        client.send_file_download(*make(run, elites, episode), save_immediately=True)

    @staticmethod
    def _one_of(value: Any, known: Any) -> str:
        if value not in known:
            raise UserError(f"{value!r} is none of {', '.join(known)}.")
        return value

    # What they show.

    def say(self, sentence: str) -> None:
        """Show a sentence at the top."""
        self._said.content = f"*{sentence}*"

    def say_range(self, values: np.ndarray) -> None:
        """Show what the darkest and the brightest colour mean."""
        known = values[np.isfinite(values)]
        if len(known):
            self._range.content = f"dark {number(known.min())} · bright {number(known.max())} · {len(known):,} cells"

    def describe(self) -> None:
        """Show what is known about the elites on show."""
        explorer, lines = self._explorer, []
        for episode in explorer.shown:
            elites, row = explorer.elites, episode.row
            cell = ",".join(map(str, cell_of(elites, row)))
            evaluated = "" if elites.evaluated is None else f", evaluated {number(float(elites.worth[row]))}"
            lines.append(
                f"cell {cell}: stored {number(float(elites.fitness[row]))}{evaluated}, here {number(episode.fitness)}"
            )
        self._elite.content = "\n\n".join(lines)
        self._scrub.max = max(1, explorer.playback.length)

    def show_step(self, step: int, episode: Episode, picture: np.ndarray | None) -> None:
        """Show where the first agent is, exactly."""
        at, names = episode.descriptors[min(step, len(episode))], self._explorer.elites.spec.descriptor_names
        places = ", ".join(f"{name} {value!s}" for name, value in zip(names, at, strict=True))
        self._where.content = f"step {step} of {len(episode)}: {places}"
        self._scrub.value = step
        if picture is not None:
            if self._picture is None:
                self._picture = self._explorer.server.gui.add_image(picture, label="environment", format="jpeg")
            else:
                self._picture.image = picture

    def renew(self) -> None:
        """Show what has become of the run."""
        explorer = self._explorer
        self._about.content = summary(explorer.run, explorer.elites)
        if self._training is not None and explorer.history is not None:
            was_last = self._training.value >= self._training.max
            self._training.max = len(explorer.history.generations)
            if was_last:
                self._training.value = self._training.max
        if self._curves is not None:
            self._curves.data = _curve_data(explorer)


def _curve_data(explorer: Explorer) -> tuple[np.ndarray, ...] | None:
    """Steps, best stored fitness, and coverage in per cent of what fitness spans, each [g]; None if there is no log."""
    try:
        metrics = explorer.run.metrics()
        steps, best, coverage = (metrics[name] for name in ("steps", "best_fitness", "coverage"))
    except (UserError, KeyError):
        return None
    return None if len(steps) < 2 else (steps, best, 100 * coverage)


def _add_curves(gui: Any, explorer: Explorer) -> Any:
    data = _curve_data(explorer)
    if data is None:
        gui.add_markdown("The run has no log of at least two generations.")
        return None
    lines = ({"label": "steps"}, {"label": "best fitness", "stroke": "#0072b2", "width": 2})
    cover = {"label": "cells filled, %", "stroke": "#009e73", "width": 2, "scale": "%"}
    axes: tuple[dict[str, Any], ...] = ({}, {}, {"scale": "%", "side": 1})
    scales = {"x": {"time": False, "auto": True}, "y": {"auto": True}, "%": {"auto": True}}
    return gui.add_uplot(data, (*lines, cover), axes=axes, scales=scales, aspect=1.4)


def _whole(value: Any, low: int, high: int) -> int:
    """A whole number in a range, whatever was sent.

    Raises:
        UserError: It is no number.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise UserError(f"{str(value)[:40]!r} is no number.")
    return min(high, max(low, int(value)))
