"""What is seen in the scene: the floor, the archive on it, agents that move, the ways they took."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mujoco
import numpy as np

from qdpg.explorer.archive import Cells, Frame, lay_out
from qdpg.exports.episode import Episode, body_places
from qdpg.exports.looks import dress, first_moving, reach
from qdpg.tasks.task import Box, MujocoTask, Task, compile_model

AT_ONCE = 8  # elites shown at the same time
COLOURS = (
    (213, 94, 0),
    (0, 114, 178),
    (0, 158, 115),
    (204, 121, 167),
    (230, 159, 0),
    (86, 180, 233),
    (90, 90, 90),
    (0, 0, 0),
)
_CUBE = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
_FACES = np.array(
    [
        *([0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1]),
        *([2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]),
    ]
)


class Stage:
    """One task's scene in viser."""

    def __init__(self, server: Any, task: Task) -> None:
        self._server, self.task = server, task
        self.model = dress(compile_model(task)) if isinstance(task, MujocoTask) else None
        self.frame: Frame = lay_out(task, 1.0 if self.model is None else reach(self.model))
        server.scene.reset()
        server.scene.world_axes.visible = False
        self._bodies: Any = None
        self._cells: Any = None
        self._marks: list[Any] = []
        self._points: list[Any] = []
        self._paths: list[np.ndarray] = []
        self._poses: list[tuple[np.ndarray, np.ndarray]] = []
        if self.model is not None:
            from mjviser.scene import ViserMujocoScene

            self._bodies = ViserMujocoScene(server, self.model, AT_ONCE)
            self._bodies.camera_tracking_enabled = False  # it would move the floor away from the archive
        else:
            self._draw_floor()
        server.scene.configure_environment_map(environment_intensity=0.25)  # more would bleach the colours of cells
        server.scene.configure_default_lights(cast_shadow=False)  # they are what takes long without a GPU
        self._aim()

    def _draw_floor(self) -> None:
        floor = self.task.spec.floor
        if floor is None:
            return
        height = 0.03 * self.frame.width
        for n, wall in enumerate(floor.walls):
            self._add_box(f"/floor/wall_{n}", wall, height, (60, 62, 72))

    def _add_box(self, name: str, box: Box, height: float, colour: tuple[int, int, int], **how: Any) -> Any:
        thick = 0.008 * self.frame.width  # a thin wall would not be seen
        size = (max(2 * box.half_x, thick), max(2 * box.half_y, thick), height)
        return self._server.scene.add_box(
            name, color=colour, dimensions=size, position=(box.x, box.y, height / 2), **how
        )

    def _aim(self) -> None:
        """Look at the whole archive, and what moves, from the south."""
        low, high = self.frame.low, self.frame.high
        centre, width = (low + high) / 2, self.frame.width
        centre = centre + width * np.array([0.15, -0.05, 0.0])  # controls cover the right side
        self._server.initial_camera.look_at = centre
        self._server.initial_camera.position = centre + width * np.array([0.0, -0.6, 1.0])
        self._server.initial_camera.near = 0.01 * min(1.0, width)

    def show_cells(self, cells: Cells, colours: np.ndarray, on_click: Callable[[int], None]) -> None:
        """Draw the archive; `on_click` is told which of the cells somebody clicked."""
        if self._cells is not None:
            self._cells.remove()
        turns = np.tile([1.0, 0.0, 0.0, 0.0], (len(cells.index), 1))
        self._cells = self._server.scene.add_batched_meshes_simple(
            "/archive",
            _CUBE,
            _FACES,
            turns,
            cells.centres,
            batched_scales=cells.sizes,
            batched_colors=_surface(colours),
            flat_shading=True,
            lod="off",
            cast_shadow=False,
            side="double",
            opacity=0.45 if self.task.spec.descriptor_size > 2 else None,
        )

        @self._cells.on_click
        def _(event: Any) -> None:
            if isinstance(event.instance_index, int) and 0 <= event.instance_index < len(cells.index):
                on_click(event.instance_index)

    def colour_cells(self, colours: np.ndarray) -> None:
        """Give the cells other colours, [n, 3] uint8."""
        self._cells.batched_colors = _surface(colours)

    def mark(self, places: Sequence[tuple[np.ndarray, np.ndarray]]) -> None:
        """Put a frame around cells, each given by centre [3] and size [3], in the colours of the agents."""
        for each in self._marks:
            each.remove()
        self._marks = []
        for n, (centre, size) in enumerate(places):
            x, y, z = np.maximum(size / 2, 0.004 * self.frame.width) * [1.06, 1.06, 3.0]
            corners = np.array([[-x, -y, z], [x, -y, z], [x, y, z], [-x, y, z]]) + centre
            lines = np.stack([corners, np.roll(corners, -1, axis=0)], axis=1)
            colour = COLOURS[n % AT_ONCE]
            thickness = 0.008 * self.frame.width
            self._marks.append(self._server.scene.add_line_segments(f"/mark/{n}", lines, colour, thickness=thickness))

    def show_goal(self, goal: np.ndarray, half: float) -> None:
        """Put a goal on the floor."""
        self._add_box(
            "/goal",
            Box(float(goal[0]), float(goal[1]), half, half),
            0.02 * self.frame.width,
            (0, 158, 115),
            opacity=0.6,
        )

    def load(self, episodes: Sequence[Episode], ribbons: bool) -> None:
        """Get ready to show some episodes at once."""
        for each in self._points:
            each.remove()
        self._points = []
        self._paths = [self._path(episode) for episode in episodes]
        if self._bodies is not None:
            assert self.model is not None
            self._poses = [body_places(self.model, episode.poses) for episode in episodes if episode.poses is not None]
        for n, path in enumerate(self._paths):
            if self._bodies is None:
                radius = 0.014 * self.frame.width
                self._points.append(self._server.scene.add_icosphere(f"/agent/{n}", radius=radius, color=COLOURS[n]))
            if ribbons and len(path) > 1:
                lift = np.array([0, 0, 0.006 * self.frame.width])
                lines = np.stack([path[:-1], path[1:]], axis=1) + lift
                thickness = 0.005 * self.frame.width
                name = f"/ribbon/{n}"
                self._points.append(self._server.scene.add_line_segments(name, lines, COLOURS[n], thickness=thickness))
        self.show(0)

    def _path(self, episode: Episode) -> np.ndarray:
        """Where the agent was at every step, in the scene, [T + 1, 3]."""
        if episode.poses is not None and self.model is not None:
            body = first_moving(self.model)
            free = body is not None and self.model.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE
            if free:
                return episode.poses[:, :3] * [1, 1, 0]
        return self.frame.place(episode.descriptors)

    def show(self, step: int) -> None:
        """Show all agents after this many steps; who has ended stays where he is."""
        if not self._paths:
            return
        if self._bodies is not None and self._poses:
            some = [self._poses[n if n < len(self._poses) else 0] for n in range(AT_ONCE)]
            at = [min(step, len(places) - 1) for places, _ in some]
            places = np.stack([places[t] for (places, _), t in zip(some, at, strict=True)])
            turns = np.stack([turns[t] for (_, turns), t in zip(some, at, strict=True)])
            self._bodies.update_from_arrays(places, turns)
            return
        with self._server.atomic():
            for point, path in zip(self._agents(), self._paths, strict=False):
                lift = np.array([0, 0, 0.016 * self.frame.width])
                point.position = path[min(step, len(path) - 1)] + lift

    def _agents(self) -> list[Any]:
        return [each for each in self._points if each.name.startswith("/agent/")]

    def place(self, step: int) -> np.ndarray:
        """Where the first agent is in the scene, [3]."""
        return self._paths[0][min(step, len(self._paths[0]) - 1)] if self._paths else np.zeros(3)

    def follow(self, before: np.ndarray, now: np.ndarray) -> None:
        """Move every camera along with the first agent."""
        for client in self._server.get_clients().values():
            with client.atomic():
                client.camera.position = client.camera.position + (now - before)
                client.camera.look_at = now


def _surface(colours: np.ndarray) -> np.ndarray:
    """Colours of surfaces that look like these [n, 3] uint8 in viser's bright light."""
    return np.round(255 * (colours / 255) ** 2.2).astype(np.uint8)
