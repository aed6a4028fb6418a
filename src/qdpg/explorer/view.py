"""Cameras: of everybody who looks, and of those who will."""

from __future__ import annotations

from typing import Any

import numpy as np


class View:
    """Where cameras are and what they look at."""

    def __init__(self, server: Any) -> None:
        self._server = server
        self._overview = np.zeros(3), np.ones(3)

    def show_all(self, low: np.ndarray, high: np.ndarray) -> None:
        """Look from the south at all between two corners, [3] each; from now on that is the overview."""
        wide, deep, tall = high - low
        away = max(0.72 * wide, 0.85 * deep, 1.2 * tall)
        centre = (low + high) / 2 * [1, 1, 0.5] + away * np.array([0.22, -0.04, 0.0])  # controls cover the right side
        self._overview = centre, centre + away * np.array([0.0, -0.55, 0.9])
        camera = self._server.initial_camera
        camera.look_at, camera.position = self._overview
        camera.near, camera.far = 0.002 * away, 100 * away
        self.go_back()

    def go_back(self) -> None:
        """Back to the overview."""
        self.look(*self._overview)

    def look(self, at: np.ndarray, position: np.ndarray) -> None:
        """Turn every camera to `at` [3], from `position` [3]."""
        for client in self._server.get_clients().values():
            with client.atomic():
                client.camera.position, client.camera.look_at = position, at

    def follow(self, before: np.ndarray, now: np.ndarray) -> None:
        """Move every camera along with what was at `before` [3] and is at `now`."""
        for client in self._server.get_clients().values():
            with client.atomic():
                client.camera.position = client.camera.position + (now - before)
                client.camera.look_at = now
