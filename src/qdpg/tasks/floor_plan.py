"""A task's floor seen from above: as a figure, and as the frames of a video.

Figures are drawn by matplotlib without its global state. A video frame is a copy of a background that matplotlib drew
once, with the agent put on top by Pillow: one or two milliseconds instead of twenty or more.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from PIL import Image, ImageDraw

from qdpg.errors import UserError
from qdpg.tasks.task import Box, Floor, TaskSpec

# Colours that stay apart for colour-blind readers (Okabe and Ito), on a white floor.
WALL, START, GOAL, AGENT, TRAIL = "#1f1f24", "#56b4e9", "#009e73", "#d55e00", "#e9a06a"
PULL, RANGE, OUTSIDE = "#8c93a8", "#cc79a7", "#e4e4ea"

ARROWS = 20  # arrows along the longer side of the floor
FRAME_MARGIN = 0.02  # of the longer side, so that an agent at the border is seen whole
DOT_RADIUS = 0.011  # of the frame's shorter side: an ant on a 70 m floor would be a speck if drawn to scale
LIMB_PIXELS = 20.0  # pixels per metre that limbs are drawn with at least, for the same reason
SMOOTH = 2  # frames are drawn this much larger and then shrunk, since Pillow does not smooth edges


class Extent(NamedTuple):
    """A rectangle of the world."""

    left: float
    right: float
    bottom: float
    top: float


def floor_extent(floor: Floor) -> Extent:
    """Return the smallest rectangle that shows the whole floor and all of its walls."""
    left, bottom, right, top = *floor.low, *floor.high
    for wall in floor.walls:
        left, right = min(left, wall.x - wall.half_x), max(right, wall.x + wall.half_x)
        bottom, top = min(bottom, wall.y - wall.half_y), max(top, wall.y + wall.half_y)
    return Extent(left, right, bottom, top)


def pull_field(floor: Floor) -> tuple[np.ndarray, np.ndarray]:
    """Return where the reward pulls: centres [n, 2] and vectors [n, 2] of equally long arrows that touch no wall."""
    extent = floor_extent(floor)
    step = max(extent.right - extent.left, extent.top - extent.bottom) / ARROWS
    xs, ys = _cell_centres(extent.left, extent.right, step), _cell_centres(extent.bottom, extent.top, step)
    centres = np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2)
    if floor.pull == "forward":
        towards = np.tile([1.0, 0.0], (len(centres), 1))
    elif floor.pull == "goal" and floor.goal is not None:
        towards = np.array([floor.goal.x, floor.goal.y]) - centres
    else:
        return np.empty((0, 2)), np.empty((0, 2))
    vectors = 0.5 * step * towards / np.maximum(np.linalg.norm(towards, axis=1, keepdims=True), 1e-12)
    # Points along every arrow, [n, 9, 2]: the whole arrow must stay clear of walls, not only its centre.
    along = centres[:, None] + np.linspace(-0.5, 0.5, 9)[:, None] * vectors[:, None]
    free = np.ones(len(centres), bool)
    for box in (*floor.walls, *((floor.goal,) if floor.goal else ())):
        gap = np.abs(along - [box.x, box.y]) - [box.half_x, box.half_y]
        free &= ~(gap < 0.07 * step).all(axis=-1).any(axis=-1)
    return centres[free], vectors[free]


def _cell_centres(low: float, high: float, step: float) -> np.ndarray:
    edges = np.linspace(low, high, max(1, round((high - low) / step)) + 1)
    return (edges[:-1] + edges[1:]) / 2


def draw_floor(axes: Axes, floor: Floor, *, pull: bool = False) -> None:
    """Draw `floor` on `axes`, true to scale. What is drawn carries labels, so that `axes.legend()` explains it.

    Args:
        axes: Where to draw.
        floor: What to draw.
        pull: Whether to show the direction in which the reward pulls, as in the paper's maps of gradients.
    """
    extent = floor_extent(floor)
    axes.set_facecolor("white")
    if floor.start is not None:
        longer = max(extent.right - extent.left, extent.top - extent.bottom)
        if max(floor.start.half_x, floor.start.half_y) < 0.01 * longer:  # too small to see
            axes.plot(floor.start.x, floor.start.y, "o", color=START, markersize=8, zorder=1.2, label="start")
        else:
            axes.add_patch(_rectangle(floor.start, color=START, alpha=0.55, zorder=1.2, label="start"))
    if floor.goal is not None:
        axes.add_patch(_rectangle(floor.goal, color=GOAL, alpha=0.75, zorder=1.2, label="goal"))
    if pull and floor.pull is not None:
        centres, vectors = pull_field(floor)
        shaft = 0.09 * float(np.linalg.norm(vectors, axis=1).max(initial=0.0))
        head: dict[str, Any] = {"headwidth": 4.5, "headlength": 4.5, "headaxislength": 4.0}
        scale: dict[str, Any] = {"angles": "xy", "units": "xy", "scale_units": "xy", "scale": 1.0}  # that of the axes
        axes.quiver(*centres.T, *vectors.T, color=PULL, pivot="mid", width=shaft, zorder=1.1, **head, **scale)
    for index, wall in enumerate(floor.walls):
        # The outline keeps a thin wall visible on a small picture.
        label = {"label": "wall"} if index == 0 else {}
        axes.add_patch(_rectangle(wall, facecolor=WALL, edgecolor=WALL, linewidth=0.8, zorder=3, **label))
    axes.set_xlim(extent.left, extent.right)
    axes.set_ylim(extent.bottom, extent.top)
    axes.set_aspect("equal")


def draw_task(spec: TaskSpec) -> Figure:
    """Return a map of the task: walls, start, goal, where the reward pulls, and the range of the descriptors.

    Raises:
        UserError: The task's descriptors are not a position on a floor.
    """
    if spec.floor is None:
        raise UserError(f"task {spec.name!r} has no floor to draw.")
    left, right, bottom, top = floor_extent(spec.floor)
    shape = (top - bottom) / (right - left)
    width = 5.4 if shape > 0.75 else 7.2
    figure = Figure(figsize=(width, (width - 0.8) * shape + 1.35), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    draw_floor(axes, spec.floor, pull=True)
    (x, y, *_), (high_x, high_y, *_) = spec.descriptor_low, spec.descriptor_high
    if ((x, y), (high_x, high_y)) != (spec.floor.low, spec.floor.high):
        box = Box((x + high_x) / 2, (y + high_y) / 2, (high_x - x) / 2, (high_y - y) / 2)
        style = {"fill": False, "linestyle": "--", "edgecolor": RANGE, "zorder": 2.5}
        axes.add_patch(_rectangle(box, label="range of the descriptors", **style))
        margin = 0.03 * (right - left)
        axes.set_xlim(left - margin, right + margin)
        axes.set_ylim(bottom - margin, top + margin)
    handles, labels = axes.get_legend_handles_labels()
    if spec.floor.pull is not None:
        handles.append(Line2D([], [], color=PULL, linestyle="", marker=r"$\rightarrow$", markersize=15))
        where = "towards the goal" if spec.floor.pull == "goal" else "along +x"
        labels.append(f"pull of the reward ({where})")
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False, fontsize="small")
    sizes = f"{spec.observation_size} observations, {spec.action_size} actions, {spec.horizon:,} steps"
    axes.set_title(f"{spec.name}: {sizes}", fontsize="medium")
    axes.set_xlabel(spec.descriptor_names[0])
    axes.set_ylabel(spec.descriptor_names[1])
    return figure


class _Background(NamedTuple):
    """The empty floor. A point of the world is at `(point - corner) * scale` in pixels of the enlarged picture."""

    picture: Image.Image  # of the size asked for
    enlarged: Image.Image  # SMOOTH times larger
    corner: np.ndarray  # [2], the world's (x, y) at the picture's upper left corner
    scale: np.ndarray  # [2], y negative because rows count downwards


@functools.lru_cache(maxsize=16)
def _background(floor: Floor, size: tuple[int, int]) -> _Background:
    left, right, bottom, top = floor_extent(floor)
    margin = FRAME_MARGIN * max(right - left, top - bottom)
    per_pixel = max((right - left + 2 * margin) / size[0], (top - bottom + 2 * margin) / size[1])
    centre, half = np.array([left + right, bottom + top]) / 2, per_pixel * np.array(size) / 2
    # A power of two as resolution makes the picture's size exact.
    figure = Figure(figsize=(size[0] / 64, size[1] / 64), dpi=64 * SMOOTH, facecolor=OUTSIDE)
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    draw_floor(axes, floor)
    axes.add_patch(Rectangle(floor.low, *np.subtract(floor.high, floor.low), facecolor="white", zorder=0.5))
    axes.set_xlim(centre[0] - half[0], centre[0] + half[0])
    axes.set_ylim(centre[1] - half[1], centre[1] + half[1])
    axes.set_axis_off()
    canvas.draw()
    enlarged = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    scale = SMOOTH / per_pixel
    return _Background(enlarged.reduce(SMOOTH), enlarged, centre + half * [-1, 1], np.array([scale, -scale]))


class EmptyFloor(NamedTuple):
    """A floor without agents, to be drawn on.

    Attributes:
        picture: `smooth` times larger than wanted, since Pillow does not smooth edges.
        smooth: By how much to shrink it at the end.
        corner: [2], the world's (x, y) at the upper left corner.
        scale: [2], pixels of `picture` per unit of the world; y is negative, because rows count downwards.
    """

    picture: Image.Image
    smooth: int
    corner: np.ndarray
    scale: np.ndarray

    def pixels(self, points: np.ndarray) -> np.ndarray:
        """Where points [n, 2] of the world are in the picture, [n, 2]."""
        return (np.asarray(points, np.float64) - self.corner) * self.scale


def empty_floor(floor: Floor, size: tuple[int, int]) -> EmptyFloor:
    """The floor as a picture that will be `size` pixels large, (width, height)."""
    background = _background(floor, size)
    return EmptyFloor(background.enlarged, SMOOTH, background.corner, background.scale)


def render_frame(
    floor: Floor,
    position: tuple[float, float],
    trail: Sequence[tuple[float, float]] | np.ndarray | None = None,
    limbs: np.ndarray | None = None,
    size: tuple[int, int] = (480, 480),
) -> np.ndarray:
    """Return a picture of the agent on the floor, [height, width, 3] uint8, y up.

    An agent that is off the picture is shown at its edge, and one that would be too small to see is shown enlarged.

    Args:
        floor: Where the agent is.
        position: The agent's (x, y).
        trail: Where it has been, oldest first.
        limbs: Line segments [k, 2, 2] between pairs of world (x, y), such as the legs of an ant.
        size: (width, height) of the picture in pixels.
    """
    background = _background(floor, size)
    corner, scale = background.corner, background.scale
    world, picture = np.asarray(position, np.float64), np.array(size) * SMOOTH
    radius = max(2.0, DOT_RADIUS * min(size)) * SMOOTH
    centre = np.clip((world - corner) * scale, radius, picture - radius)
    path = (np.asarray([] if trail is None else trail, np.float64).reshape(-1, 2) - corner) * scale
    # Long trails hardly move per step: keep a point only where the trail enters another square of 2 x 2 pixels.
    path = path[np.any(np.diff(path // (2 * SMOOTH), axis=0, prepend=np.nan) != 0, axis=1)]
    enlarged = np.maximum(np.abs(scale), LIMB_PIXELS * SMOOTH) * [1, -1]
    legs = (np.asarray([] if limbs is None else limbs, np.float64).reshape(-1, 2) - world) * enlarged + centre

    # Only the part of the picture that changes is drawn large and shrunk.
    drawn = np.concatenate([path, legs, [centre - radius, centre + radius]])
    low = np.clip(drawn.min(axis=0) // SMOOTH - 2, 0, np.array(size)).astype(int)
    high = np.clip(drawn.max(axis=0) // SMOOTH + 3, 0, np.array(size)).astype(int)
    origin = low * SMOOTH
    patch = background.enlarged.crop((*origin, *(high * SMOOTH)))
    draw = ImageDraw.Draw(patch)
    draw.line((path - origin).ravel().tolist(), fill=TRAIL, width=2 * SMOOTH)
    for segment in (legs - origin).reshape(-1, 4).tolist():
        draw.line(segment, fill=AGENT, width=3 * SMOOTH)
    draw.ellipse([*(centre - radius - origin), *(centre + radius - origin)], fill=AGENT)
    frame = background.picture.copy()
    frame.paste(patch.reduce(SMOOTH), tuple(low.tolist()))
    return np.array(frame)


def _rectangle(box: Box, **style: Any) -> Rectangle:
    return Rectangle((box.x - box.half_x, box.y - box.half_y), 2 * box.half_x, 2 * box.half_y, **style)
