"""Curves of training beside the archive: the best stored fitness, and cells filled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qdpg.errors import UserError

if TYPE_CHECKING:
    from qdpg.explorer.app import Explorer

_MOST = 2000  # points of a curve


class Curves:
    """The curves of one run."""

    def __init__(self, explorer: Explorer) -> None:
        self._explorer, gui = explorer, explorer.server.gui
        with gui.add_folder("Curves", expand_by_default=False):
            data = self._data()
            self._plot: Any = None
            if data is None:
                gui.add_markdown("The run has no log of at least two generations.")
                return
            lines = ({"label": "steps"}, {"label": "best stored fitness", "stroke": "#0072b2", "width": 2})
            cover = {"label": "cells filled, %", "stroke": "#009e73", "width": 2, "scale": "%"}
            axes: tuple[dict[str, Any], ...] = ({}, {}, {"scale": "%", "side": 1})
            scales = {"x": {"time": False, "auto": True}, "y": {"auto": True}, "%": {"auto": True}}
            self._plot = gui.add_uplot(data, (*lines, cover), axes=axes, scales=scales, aspect=1.4)

    def renew(self) -> None:
        """Show what has been trained since."""
        data = self._data()
        if self._plot is not None and data is not None:
            self._plot.data = data

    def _data(self) -> tuple[np.ndarray, ...] | None:
        """Steps, best stored fitness, and coverage in per cent, [g] each; None if there is no log."""
        try:
            metrics = self._explorer.run.metrics()
            steps, best, coverage = (metrics[name] for name in ("steps", "best_fitness", "coverage"))
        except (UserError, KeyError):
            return None
        if len(steps) < 2:
            return None
        some = np.unique(np.linspace(0, len(steps) - 1, _MOST).round().astype(int))
        return steps[some], best[some], 100 * coverage[some]
