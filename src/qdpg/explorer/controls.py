"""The controls beside the scene."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from qdpg.errors import UserError
from qdpg.explorer import legends
from qdpg.explorer.app import FRESH, STORED, summary
from qdpg.explorer.curves import Curves
from qdpg.explorer.downloads import FILES
from qdpg.explorer.drawing import COLOURS
from qdpg.explorer.history import EMITTER
from qdpg.explorer.playback import SPEEDS
from qdpg.explorer.stage import AT_ONCE
from qdpg.explorer.trials import Trials
from qdpg.exports.choose import cell_of, choose
from qdpg.exports.episode import Episode
from qdpg.report.words import number

if TYPE_CHECKING:
    from qdpg.explorer.app import Explorer

ALONE, TOGETHER, APART = "one elite", "several in one scene", "several side by side"


class Controls:
    """All controls of one run. What they say is checked here: a browser may send anything."""

    def __init__(self, explorer: Explorer) -> None:
        self._explorer = explorer
        gui, on = explorer.server.gui, explorer.on
        self._about = gui.add_markdown(self._summary())
        self._said = gui.add_markdown("")
        if len(explorer.runs) > 1:
            names = list(explorer.runs)
            self._run = gui.add_dropdown("run", names, initial_value=str(explorer.run.path))
            on(self._run, lambda: explorer.open(self._one_of(self._run.value, names)))
        with gui.add_folder("Archive"):
            self._measure = gui.add_dropdown("colour", list(explorer.measures))
            self._legend = gui.add_html("")
            on(self._measure, explorer.paint)
            self._training: Any = None
            if explorer.history is not None and len(explorer.history.generations) > 1:
                last = len(explorer.history.generations)
                hint = "The archive as it was after so many generations; the last is the archive as it is."
                self._training = gui.add_slider("training", 1, last, 1, last, hint=hint)
                self._steps = gui.add_markdown("")
                on(self._training, explorer.paint)
        with gui.add_folder("Elite"):
            self._cell = gui.add_text("cell", "", hint="Click a cell in the scene, or type its numbers, such as 3,4.")
            on(self._cell, self._choose_cell)
            on(gui.add_button("best"), lambda: explorer.select(int(choose(explorer.elites)[0]), self.adds()))
            hint = f"With several, a click adds an elite, up to {AT_ONCE}."
            self._show = gui.add_dropdown("show", (ALONE, TOGETHER, APART), initial_value=ALONE, hint=hint)
            on(self._show, self._arrange)
            self._start = gui.add_dropdown("episode", (STORED, FRESH), initial_value=STORED)
            hint = "Starts that training never saw, by number."
            self._seed = gui.add_number("start", 0, min=0, step=1, visible=False, hint=hint)
            on(self._start, self._change_start)
            on(self._seed, explorer.play)
            self._elites = gui.add_html("")
        with gui.add_folder("Playback"):
            self._button = gui.add_button("pause")
            on(self._button, self._toggle)
            self._scrub = gui.add_slider("step", 0, 1, 1, 0)
            on(self._scrub, self._scrubbed)
            self._speed = gui.add_dropdown("speed", SPEEDS, initial_value="1×")
            on(self._speed, self._set_speed)
            self._follow = gui.add_checkbox("follow", False, hint="The camera goes with the first agent.")
            on(self._follow, self._set_follow)
            self._ribbons = gui.add_checkbox("ribbons", True, hint="The ways that agents take.")
            on(self._ribbons, lambda: explorer.show(explorer.shown))
            self._where = gui.add_markdown("")
        self._curves = Curves(explorer)
        self.trials = Trials(explorer)
        with gui.add_folder("Download", expand_by_default=False):
            for label, make in FILES.items():
                button = gui.add_button(label)
                button.on_click(lambda event, make=make: explorer.guarded(lambda: self._send(event.client, make)))

    # What the controls say.

    def view(self) -> tuple[str, float | None]:
        """What to colour by, and the generation to show; None for the elites as they are."""
        what = self._one_of(self._measure.value, self._explorer.measures)
        history = self._explorer.history
        if self._training is None or history is None:
            return what, None
        at = _whole(self._training.value, 1, len(history.generations))
        is_last = at == len(history.generations)
        self._steps.content = f"{history.steps[at - 1]:,.0f} steps" + ("" if is_last else ": whoever led then")
        return what, None if is_last else float(history.generations[at - 1])

    def adds(self) -> bool:
        """Whether a click adds an elite to those shown."""
        return self._one_of(self._show.value, (ALONE, TOGETHER, APART)) != ALONE

    def apart(self) -> bool:
        """Whether every agent has a scene of its own."""
        return self._one_of(self._show.value, (ALONE, TOGETHER, APART)) == APART

    def start(self) -> tuple[str, int]:
        """Which start to play from, and the number of a fresh one."""
        return self._one_of(self._start.value, (STORED, FRESH)), _whole(self._seed.value, 0, 2**31)

    def speed(self) -> float:
        """How many times as fast as it was."""
        return float(self._one_of(self._speed.value, SPEEDS)[:-1])

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

    def _arrange(self) -> None:
        explorer = self._explorer
        with explorer.lock:
            if not self.adds() and len(explorer.selected) > 1:
                explorer.select(explorer.selected[-1])
            else:
                explorer.show(explorer.shown)

    def _change_start(self) -> None:
        self._seed.visible = self.start()[0] == FRESH
        self._explorer.play()

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
        with self._explorer.lock:
            self._explorer.playback = self._explorer.playback.set_speed(self.speed(), time.monotonic())

    def _set_follow(self) -> None:
        explorer = self._explorer
        with explorer.lock:
            if self.follows():
                explorer.stage.follow(explorer.playback.at(time.monotonic()), begin=True)
            else:
                explorer.stage.view.go_back()

    def _send(self, client: Any, make: Any) -> None:
        if client is None:
            return
        explorer = self._explorer
        with explorer.lock:
            run, elites, episode = explorer.run, explorer.elites, explorer.shown[-1]
        client.send_file_download(*make(run, elites, episode), save_immediately=True)

    @staticmethod
    def _one_of(value: Any, known: Any) -> str:
        if value not in list(known):
            raise UserError(f"{str(value)[:40]!r} is none of {', '.join(known)}.")
        return value

    # What they show.

    def say(self, sentence: str) -> None:
        """Show a sentence at the top."""
        self._said.content = f"*{legends.as_markdown(sentence)}*" if sentence else ""

    def _summary(self) -> str:
        first, second = map(legends.as_markdown, summary(self._explorer.run, self._explorer.elites))
        return f"**{first}**\n\n{second}"

    def explain(self, values: np.ndarray, what: str) -> None:
        """Show what the colours mean of cells with these values [n]."""
        names = self._explorer.elites.about.get("emitters", [])
        self._legend.content = legends.kinds(values, names) if what == EMITTER else legends.bar(values, what)

    def describe(self) -> None:
        """Show what is known about the elites on show."""
        explorer, lines = self._explorer, []
        elites, makers = explorer.elites, explorer.measures.get(EMITTER)
        for episode in explorer.shown:
            row = episode.row
            known = [f"stored {number(float(elites.fitness[row]))}"]
            if elites.evaluated is not None:
                known.append(f"evaluated {number(float(elites.worth[row]))}")
            if episode.fitness != elites.fitness[row]:
                known.append(f"here {number(episode.fitness)}")
            known.append(f"generation {int(elites.arrays['generation'][row]) + 1:,}")
            if makers is not None and np.isfinite(makers[row]):
                known.append(legends.name_of(int(makers[row]), elites.about.get("emitters", [])))
            lines.append(f"cell {','.join(map(str, cell_of(elites, row)))}: {', '.join(known)}")
        self._elites.content = legends.agents(lines, COLOURS)
        self._cell.value = ",".join(map(str, cell_of(elites, explorer.shown[-1].row)))
        self._scrub.max = max(1, explorer.playback.length)

    def show_playing(self, playing: bool) -> None:
        """Show what the button will do."""
        label = "pause" if playing else "play"
        if self._button.label != label:
            self._button.label = label

    def show_step(self, step: int, episode: Episode) -> None:
        """Show where the first agent is, exactly."""
        at, names = episode.descriptors[min(step, len(episode))], self._explorer.elites.spec.descriptor_names
        places = ", ".join(f"{name} {value!s}" for name, value in zip(names, at, strict=True))
        self._where.content = f"step {step} of {len(episode)}: {places}"
        self._scrub.value = step

    def renew(self) -> None:
        """Show what has become of the run."""
        explorer = self._explorer
        self._about.content = self._summary()
        if list(self._measure.options) != list(explorer.measures):
            self._measure.options = list(explorer.measures)
        if self._training is not None and explorer.history is not None:
            was_last = self._training.value >= self._training.max
            self._training.max = len(explorer.history.generations)
            if was_last:
                self._training.value = self._training.max
        self._curves.renew()


def _whole(value: Any, low: int, high: int) -> int:
    """A whole number in a range, whatever was sent.

    Raises:
        UserError: It is no number.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise UserError(f"{str(value)[:40]!r} is no number.")
    return min(high, max(low, int(value)))
