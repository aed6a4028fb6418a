"""The archive in the scene: a tile for each cell, frames around those that were chosen, names of the axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from qdpg.explorer.archive import Cells, Frame
from qdpg.explorer.drawing import COLOURS, WORLD, Drawing, surface
from qdpg.report.words import number
from qdpg.tasks.task import TaskSpec

_CUBE = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
_FACES = np.array(
    [
        *([0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1]),
        *([2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]),
    ]
)


class Tiles:
    """The archive of one task."""

    def __init__(self, scene: Any, drawing: Drawing, spec: TaskSpec, frame: Frame) -> None:
        self._scene, self._drawing, self._spec, self._frame = scene, drawing, spec, frame
        self._cells: Any = None
        self._label_axes()

    def show(self, cells: Cells, colours: np.ndarray, on_click: Callable[[int], None]) -> None:
        """Draw the archive; `on_click` is told which of the cells somebody clicked."""
        if self._cells is not None:
            self._cells.remove()
        turns = np.tile([1.0, 0.0, 0.0, 0.0], (len(cells.index), 1))
        self._cells = self._scene.add_batched_meshes_simple(
            f"{WORLD}/archive",
            _CUBE,
            _FACES,
            turns,
            cells.centres,
            batched_scales=cells.sizes,
            batched_colors=surface(colours),
            flat_shading=True,
            lod="off",
            cast_shadow=False,
            side="double",
            opacity=0.45 if self._spec.descriptor_size > 2 else None,
        )

        @self._cells.on_click
        def _(event: Any) -> None:
            if isinstance(event.instance_index, int) and 0 <= event.instance_index < len(cells.index):
                on_click(event.instance_index)

    def colour(self, colours: np.ndarray) -> None:
        """Give the cells other colours, [n, 3] uint8."""
        self._cells.batched_colors = surface(colours)

    def mark(self, places: Sequence[tuple[np.ndarray, np.ndarray]]) -> None:
        """Put a frame around cells, each given by centre [3] and size [3], in the colours of the agents."""
        self._drawing.clear("mark")
        for n, (centre, size) in enumerate(places):
            x, y = np.maximum(size[:2] / 2, 0.004 * self._frame.width) * 1.06
            z = size[2] / 2 + 0.002 * self._frame.width
            corners = np.array([[-x, -y, z], [x, -y, z], [x, y, z], [-x, y, z]]) + centre
            self._drawing.line("mark", n, np.append(corners, corners[:1], axis=0), 0.008, COLOURS[n])

    def _label_axes(self) -> None:
        """Say what the descriptors are called, and from where to where they go."""
        spec, low, high = self._spec, self._frame.low, self._frame.high
        away = 0.04 * self._frame.width
        for axis, name in enumerate(spec.descriptor_names[:3]):
            start = low - away * np.array([axis == 1, axis != 1, 0]) - away * np.array([axis == 2, 0, 0])
            for share, text in (
                (0.0, number(spec.descriptor_low[axis])),
                (0.5, name),
                (1.0, number(spec.descriptor_high[axis])),
            ):
                place = start.copy()
                place[axis] = low[axis] + share * (high[axis] - low[axis])
                label = f"{WORLD}/axis/{axis}_{share:g}"
                self._scene.add_label(label, text, position=place, font_screen_scale=0.85, anchor="center-center")
