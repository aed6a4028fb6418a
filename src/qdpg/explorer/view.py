"""Cameras: of everybody who looks, and of those who will."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from qdpg.explorer.drawing import WORLD

_HALF_HEIGHT = math.tan(math.radians(75) / 2)  # of the picture at distance 1; 75 degrees are viser's
_HALF_WIDTH = 1.6 * _HALF_HEIGHT  # of a usual screen
_FREE = 0.46  # controls cover what is right of this, from -1 to 1
_FLAT, _STEEP = np.array([0.0, -0.52, 0.85]), np.array([0.0, -0.88, 0.48])  # where cameras are, seen from what is seen


def fit(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What to look at, and from where, [3] each, to see all between two corners, [3] each, from the south.

    Flat things are seen from above, others more from the side.
    """
    wide, deep, tall = high - low
    towards = _FLAT if tall < 0.5 * max(wide, deep) else _STEEP
    right, up = np.array([1.0, 0.0, 0.0]), np.array([0.0, towards[2], -towards[1]])
    corners = np.array(list(itertools.product(*zip(low, high, strict=True))))
    away = 0.3 * float(np.linalg.norm(high - low))
    while True:
        # The middle of what is seen is in the middle of what is free.
        at = (low + high) / 2 + (1 - _FREE) / 2 * _HALF_WIDTH * away * right
        seen = corners - at - away * towards
        depth = -(seen @ towards)
        x, y = (seen @ right) / (_HALF_WIDTH * depth), (seen @ up) / (_HALF_HEIGHT * depth)
        if (depth > 0).all() and x.min() > -0.95 and x.max() < _FREE - 0.03 and np.abs(y).max() < 0.9:
            return at, at + away * towards
        away *= 1.03


class View:
    """Where cameras are and what they look at."""

    def __init__(self, server: Any) -> None:
        self._server = server
        self.world = server.scene.add_frame(WORLD, show_axes=False)
        self._overview = np.zeros(3), np.ones(3)

    def show_all(self, low: np.ndarray, high: np.ndarray) -> None:
        """Look at all between two corners, [3] each; from now on that is the overview."""
        self._overview = fit(low, high)
        camera = self._server.initial_camera
        camera.look_at, camera.position = self._overview
        away = float(np.linalg.norm(self._overview[1] - self._overview[0]))
        camera.near, camera.far = 0.002 * away, 100 * away
        self.go_back()

    def go_back(self) -> None:
        """Back to the overview, and the world back to where it was."""
        self.world.position = np.zeros(3)
        self._look(*self._overview)

    def follow(self, place: np.ndarray, away: float | None = None) -> None:
        """Move the world so that `place` [3] is where cameras look; `away` says how far they are to be from now on.

        The cameras themselves stay, so that whoever looks can turn and come nearer meanwhile.
        """
        self.world.position = -place
        if away is not None:
            self._look(np.zeros(3), away * _FLAT)

    def _look(self, at: np.ndarray, position: np.ndarray) -> None:
        """Turn every camera to `at` [3], from `position` [3]."""
        for client in self._server.get_clients().values():
            with client.atomic():
                client.camera.position, client.camera.look_at = position, at
