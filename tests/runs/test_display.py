"""The live display on a screen of 80 columns, as a terminal would show it."""

import io
import re

from qdpg.runs import display
from qdpg.terminal import make_console

ROW = {
    "generation": 1,
    "steps": 123_456,
    "seconds": 600.0,
    "cells": 1234,
    "coverage": 1234 / 5359,
    "qd_score": 9_876_543.2,
}
ROW |= {"best_fitness": -12345.6, "gradients_seconds": 330.0, "physics_seconds": 180.0, "novelty_seconds": 30.0}


class Screen(io.StringIO):
    """Takes what is written as a terminal does: lines wrap, the cursor goes up, lines are erased."""

    def __init__(self, width):
        super().__init__()
        self.width, self.lines, self.row, self.column = width, [""], 0, 0

    def isatty(self):
        return True

    def write(self, text):
        for part in re.findall(r"\x1b\[[?\d;]*[A-Za-z]|.|\n", text, re.DOTALL):
            self._take(part)
        return len(text)

    def _take(self, part):
        if part.startswith("\x1b"):
            if part.endswith("A"):
                self.row -= int(part[2:-1])
            elif part == "\x1b[2K":
                self.lines[self.row] = ""
        elif part == "\n":
            self._down()
        elif part == "\r":
            self.column = 0
        else:
            if self.column == self.width:
                self._down()
            line = self.lines[self.row].ljust(self.column)
            self.lines[self.row] = line[: self.column] + part + line[self.column + 1 :]
            self.column += 1

    def _down(self):
        self.row, self.column = self.row + 1, 0
        if self.row == len(self.lines):
            self.lines.append("")

    def shown(self):
        return [line.rstrip() for line in self.lines if line.strip()]


def show(screen, monkeypatch):
    """A display on this screen, after two generations."""
    monkeypatch.setattr(display.sys, "stdout", screen)
    monkeypatch.setattr(
        display, "make_console", lambda **given: make_console(file=screen, force_terminal=True, width=80, **given)
    )
    shown = display.ProgressDisplay("point-maze qd-pg", 1_000_000)
    shown.__enter__()
    shown.update(ROW | {"steps": 0, "seconds": 0.0})
    shown.update(ROW)
    shown._panel.refresh()
    return shown


def test_bar_percentage_time_and_cells_fit_80_columns(monkeypatch):
    screen = Screen(80)
    shown = show(screen, monkeypatch)
    bar, text = screen.shown()
    assert bar.startswith("point-maze qd-pg ━")
    assert "12%" in bar
    assert re.search(r"(\d+:)?\d\d:\d\d$|--:--$", bar), "one time left, at the end"
    assert "left" not in text
    assert "206 steps/s  cells 1,234 of 5,359  QD 9,876,543  best -12,345.6" in text
    assert max(map(len, screen.lines)) <= 77
    shown.end()


def test_after_ctrl_c_nothing_is_there_twice(monkeypatch):
    screen = Screen(80)
    shown = show(screen, monkeypatch)
    screen.write("^C")  # as the terminal echoes it, where the cursor is
    shown.update(ROW | {"steps": 130_000})
    shown._panel.refresh()
    shown.end()
    shown.say("stopped: 130,000 steps")
    shown.say("run: runs/x")
    assert screen.shown() == ["stopped: 130,000 steps", "run: runs/x"]


def test_elsewhere_lines_say_the_same(capsys):
    shown = display.ProgressDisplay("point-maze qd-pg", 123_456)
    with shown:
        shown.update(ROW | {"steps": 0, "seconds": 0.0})
        shown.update(ROW)
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("123,456/123,456 steps  206 steps/s  0 s left  cells 1,234 of 5,359")
