"""What is seen in the scene: the floor, the archive on it, agents that move, the ways they took."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np

from qdpg.explorer.archive import Frame, lay_out
from qdpg.explorer.drawing import COLOURS, WORLD, Drawing
from qdpg.explorer.lanes import lane_box, lane_offsets
from qdpg.explorer.shapes import Shapes, body_path, colours_of, geom_places, shapes_of
from qdpg.explorer.tiles import Tiles
from qdpg.explorer.view import View
from qdpg.exports.episode import Episode
from qdpg.exports.looks import dress, first_moving, reach
from qdpg.tasks.gymnasium import GymnasiumTask
from qdpg.tasks.task import Box, MujocoTask, Task, compile_model

AT_ONCE = 8  # elites shown at the same time
_SCREEN = 0.9  # height of the pictures that an environment draws, in widths of the archive
_WALL, _GOAL, _BROKEN, _LINE = (60, 62, 72), (0, 158, 115), (40, 40, 40), (150, 153, 163)


class Stage:
    """One task's scene in viser."""

    def __init__(self, server: Any, task: Task) -> None:
        self._server, self.task, self._scene = server, task, server.scene
        self.model = dress(compile_model(task)) if isinstance(task, MujocoTask) else None
        self.body = None if self.model is None else reach(self.model)
        self.frame: Frame = lay_out(task, self.body or 1.0)
        self._scene.reset()
        self._scene.world_axes.visible = False
        self._drawing, self.view = Drawing(server.scene, self.frame.width), View(server)
        self._bodies: Shapes | None = None
        self._moving = np.zeros(0, int) if self.model is None else shapes_of(self.model, moving=True)
        self._broken = np.zeros(len(self._moving), bool)
        self._goal: Box | None = None if task.spec.floor is None else task.spec.floor.goal
        self._points: list[Any] = []
        self._picture: np.ndarray | None = None
        self._screen: Any = None
        self._paths: list[np.ndarray] = []
        self._poses: list[tuple[np.ndarray, np.ndarray]] = []
        self.offsets = np.zeros((0, 3))
        self._light()
        self._draw_grid()
        self.tiles = Tiles(self._scene, self._drawing, task.spec, self.frame)

    def _light(self) -> None:
        """Light in which colours look as they are meant: viser's own would bleach them, and its shadows take long."""
        self._scene.configure_default_lights(enabled=False)
        self._scene.configure_environment_map(environment_intensity=0.0)
        self._scene.add_light_ambient("/light/ambient", intensity=2.1)
        self._scene.add_light_directional("/light/sun", intensity=1.8, position=(-3.0, -4.0, 8.0))

    # What the agents are in.

    def show_goal(self, goal: Box | None) -> None:
        """Put another goal on the floor; None takes the task's own."""
        floor = self.task.spec.floor
        self._goal = goal if goal is not None or floor is None else floor.goal
        self._draw_goals()

    def break_limb(self, actuators: Sequence[int]) -> None:
        """Draw what these actuators move, and all that hangs on it, in black."""
        self._broken[:] = False
        if self.model is None:
            return
        for actuator in actuators:
            body = self.model.jnt_bodyid[self.model.actuator_trnid[actuator, 0]]
            for n, geom in enumerate(self._moving):
                at = self.model.geom_bodyid[geom]
                while at not in (0, body):
                    at = self.model.body_parentid[at]
                self._broken[n] |= at == body
        if self._bodies is not None:
            self._bodies.colour(self._body_colours())

    def _draw_grid(self) -> None:
        if self.model is None:
            return
        for n, plane in enumerate(np.flatnonzero(self.model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE)):
            size = max(0.5, round(self.frame.width / 30, 1))
            self._scene.add_grid(
                f"{WORLD}/grid/{n}",
                infinite_grid=True,
                cell_size=size,
                section_size=5 * size,
                cell_color=(225, 226, 230),
                section_color=(200, 202, 208),
                fade_distance=6 * self.frame.width,
                shadow_opacity=0.0,
                plane_opacity=1.0,  # some walls reach below it
                position=self.model.geom_pos[plane] - [0, 0, 0.0008 * self.frame.width],
                wxyz=self.model.geom_quat[plane],
            )

    def _draw_lanes(self, offsets: np.ndarray, lane: tuple[np.ndarray, np.ndarray]) -> None:
        """Draw walls, goals and edges of every lane; look at all of them if they are others than before."""
        if np.array_equal(offsets, self.offsets):
            return
        self.offsets = offsets
        self._drawing.clear("lane")
        floor = self.task.spec.floor
        if self.model is not None:
            fixed = shapes_of(self.model, moving=False)
            rgb = np.round(255 * colours_of(self.model)[fixed, :3]).astype(np.uint8)
            walls = Shapes(self._server, f"{WORLD}/lane", self.model, fixed, np.stack([rgb] * len(offsets)))
            (places,), (turns,) = geom_places(self.model, self.model.qpos0[None], fixed)
            walls.place(places + offsets[:, None], np.stack([turns] * len(offsets)))
            self._drawing.keep("lane", walls)
        elif floor is not None:
            for n, offset in enumerate(offsets):
                for k, wall in enumerate(floor.walls):
                    self._drawing.box("lane", f"{n}_{k}", wall, offset, 0.03, _WALL)
        if floor is not None or self.model is None:
            low, high = lane_box(floor, self.frame, None)
            edge = np.array([low, [high[0], low[1], 0], high, [low[0], high[1], 0], low]) * [1, 1, 0]
            for n, offset in enumerate(offsets):
                self._drawing.line("lane", f"edge_{n}", edge + offset, 0.002, _LINE)
        self._draw_goals()
        low, high = lane
        low, high = low + offsets.min(axis=0), high + offsets.max(axis=0)
        if isinstance(self.task, GymnasiumTask):  # its own pictures lie behind the archive
            high[1] += 1.1 * _SCREEN * self.frame.width
        self.view.show_all(low, high)

    def _draw_goals(self) -> None:
        self._drawing.clear("goal")
        if self._goal is not None:
            for n, offset in enumerate(self.offsets):
                self._drawing.box("goal", n, self._goal, offset, 0.008, _GOAL, opacity=0.6)

    # What moves.

    def load(self, episodes: Sequence[Episode], ribbons: bool, apart: bool) -> None:
        """Get ready to show some episodes at once: in one scene, or `apart`, each in a lane of its own."""
        paths = [self._path(episode) for episode in episodes]
        lane = lane_box(self.task.spec.floor, self.frame, self.body, paths if apart else ())
        offsets = lane_offsets(len(episodes) if apart else 1, *lane)
        self._draw_lanes(offsets, lane)
        shift = offsets if apart else np.zeros((len(episodes), 3))
        self._paths = [path + shift[n] for n, path in enumerate(paths)]
        self._drawing.clear("agent")
        self._points = []
        if self.model is not None:
            places = (geom_places(self.model, each.poses, self._moving) for each in episodes if each.poses is not None)
            self._poses = [(place + shift[n], turns) for n, (place, turns) in enumerate(places)]
            colours = self._body_colours()
            self._bodies = Shapes(self._server, f"{WORLD}/agent", self.model, self._moving, colours)
            self._drawing.keep("agent", self._bodies)
        for n, path in enumerate(self._paths):
            if self.model is None:
                radius = 0.014 * self.frame.width
                point = self._scene.add_icosphere(f"{WORLD}/agent/{n}", radius=radius, color=COLOURS[n])
                self._points.append(self._drawing.keep("agent", point))
            if ribbons and len(path) > 1:
                lift, thick = np.array([0, 0, 0.0015 * self.frame.width]), 0.005
                if self.body is not None:  # from near, a ribbon is to be thinner than whoever makes it
                    thick = min(thick, 0.12 * self.body / self.frame.width)
                self._drawing.line("agent", f"ribbon_{n}", path + lift, thick, COLOURS[n])
        self.show(0)

    def _body_colours(self) -> np.ndarray:
        """Of every shape of every agent, [agents, n, 3]: one alone has the model's own, several have theirs."""
        assert self.model is not None
        own = np.round(255 * colours_of(self.model)[self._moving, :3]).astype(np.uint8)
        several = np.repeat(np.array(COLOURS[: len(self._poses)], np.uint8)[:, None], len(own), axis=1)
        colours = own[None] if len(self._poses) == 1 else several
        return np.where(self._broken[:, None], np.array(_BROKEN, np.uint8), colours)

    def _path(self, episode: Episode) -> np.ndarray:
        """Where the agent was at every step, in the scene, [T + 1, 3]."""
        body = None if self.model is None else first_moving(self.model)
        if self.model is not None and body is not None and episode.poses is not None:
            return body_path(self.model, episode.poses, body)
        return self.frame.place(episode.descriptors)

    def show(self, step: int) -> None:
        """Show all agents after this many steps; who has ended stays where he is."""
        if self._bodies is not None and self._poses:
            at = [min(step, len(places) - 1) for places, _ in self._poses]
            places, turns = (np.stack([each[k][t] for each, t in zip(self._poses, at, strict=True)]) for k in (0, 1))
            self._bodies.place(places, turns)
            return
        with self._server.atomic():
            for point, path in zip(self._points, self._paths, strict=True):
                lift = np.array([0, 0, 0.016 * self.frame.width])
                point.position = path[min(step, len(path) - 1)] + lift

    def place(self, step: int) -> np.ndarray:
        """Where the first agent is in the scene, [3]."""
        return self._paths[0][min(step, len(self._paths[0]) - 1)] if self._paths else np.zeros(3)

    def follow(self, step: int, begin: bool = False) -> None:
        """Keep the first agent in the middle of all views; to `begin`, go there."""
        away = 0.25 * self.frame.width if self.body is None else 6 * self.body
        self.view.follow(self.place(step), away if begin else None)

    def show_picture(self, picture: np.ndarray | None) -> None:
        """Put up a picture [height, width, 3] uint8 behind the archive, or change it; None leaves all as it is."""
        if picture is None or picture is self._picture:
            return
        shape = None if self._picture is None else self._picture.shape
        self._picture = picture
        if picture.shape == shape:
            self._screen.image = picture
            return
        self._drawing.clear("picture")
        wide, deep = self.frame.high[0] - self.frame.low[0], _SCREEN * self.frame.width
        tall = min(deep, wide * picture.shape[0] / picture.shape[1])
        place = np.array([(self.frame.low + self.frame.high)[0] / 2, self.frame.high[1] + 0.6 * deep, 0.0])
        wide = tall * picture.shape[1] / picture.shape[0]
        screen = self._scene.add_image(
            f"{WORLD}/picture", picture, wide, tall, format="jpeg", wxyz=(0.0, 1.0, 0.0, 0.0), position=place
        )
        self._screen = self._drawing.keep("picture", screen)
