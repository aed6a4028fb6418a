"""Things in viser's scene that come and go together, in colours as they are meant."""

from __future__ import annotations

from typing import Any

import numpy as np

from qdpg.tasks.task import Box

Colour = tuple[int, int, int]
WORLD = "/world"  # the node that all others are under
COLOURS: tuple[Colour, ...] = (  # of agents that are shown at once
    (213, 94, 0),
    (0, 114, 178),
    (0, 158, 115),
    (204, 121, 167),
    (230, 159, 0),
    (86, 180, 233),
    (90, 90, 90),
    (0, 0, 0),
)


class Drawing:
    """Handles of what is in the scene, by what they belong to."""

    def __init__(self, scene: Any, width: float) -> None:
        """Draw into a scene; thicknesses and heights are shares of `width`."""
        self.scene, self.width = scene, width
        self._handles: dict[str, list[Any]] = {}

    def keep(self, what: str, handle: Any) -> Any:
        """Remember a handle, to be removed with all others of `what`."""
        self._handles.setdefault(what, []).append(handle)
        return handle

    def clear(self, what: str) -> None:
        """Remove all of `what`."""
        for each in self._handles.pop(what, []):
            each.remove()

    def line(self, what: str, name: int | str, path: np.ndarray, thickness: float, colour: Colour) -> None:
        """A line through points [n, 3]."""
        lines = np.stack([path[:-1], path[1:]], axis=1)
        self.keep(
            what,
            self.scene.add_line_segments(f"{WORLD}/{what}/{name}", lines, colour, thickness=thickness * self.width),
        )

    def box(
        self, what: str, name: int | str, box: Box, offset: np.ndarray, height: float, colour: Colour, **how: Any
    ) -> None:
        """A box that stands on the floor."""
        thin, height = 0.008 * self.width, height * self.width  # thinner walls would not be seen
        size = (max(2 * box.half_x, thin), max(2 * box.half_y, thin), height)
        place = offset + np.array([box.x, box.y, height / 2])
        self.keep(
            what, self.scene.add_box(f"{WORLD}/{what}/{name}", color=colour, dimensions=size, position=place, **how)
        )


def surface(colours: np.ndarray) -> np.ndarray:
    """Colours [..., 3] uint8 as viser takes them for things that are drawn many at once: in proportion to light."""
    return np.round(255 * (colours / 255) ** 2.2).astype(np.uint8)
