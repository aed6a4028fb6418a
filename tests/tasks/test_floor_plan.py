from __future__ import annotations

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from qdpg.errors import UserError
from qdpg.tasks import floor_plan
from qdpg.tasks.floor_plan import draw_floor, draw_task, pull_field, render_frame
from qdpg.tasks.registry import PAPER_TASKS, make_task
from qdpg.tasks.task import Box, Floor, TaskSpec

# 200 x 100 metres; with the margin of 4 m a frame of 416 x 216 pixels has two pixels per metre.
FLOOR = Floor(
    low=(0.0, 0.0),
    high=(200.0, 100.0),
    walls=(Box(150, 70, 10, 20), Box(50, 30, 2, 5)),
    start=Box(20, 20, 10, 10),
    goal=Box(180, 20, 8, 8),
    pull="goal",
)
SIZE = (416, 216)


def colour(name: str) -> np.ndarray:
    return np.round(np.array(to_rgb(name)) * 255)


def is_colour(pixels: np.ndarray, name: str) -> np.ndarray:
    return np.abs(pixels.astype(float) - colour(name)).max(axis=-1) <= 2


def pixel(frame: np.ndarray, x: float, y: float) -> np.ndarray:
    """The frame's pixel at a point of the world, computed independently of the module."""
    return frame[int((100 + 4 - y) * 2), int((x + 4) * 2)]


def centre_of(mask: np.ndarray) -> tuple[float, float]:
    """World position of the middle of the marked pixels."""
    rows, columns = np.nonzero(mask)
    return (columns.mean() + 0.5) / 2 - 4, 104 - (rows.mean() + 0.5) / 2


def canvas_pixels(floor: Floor, **options: bool) -> np.ndarray:
    """Draw a floor on axes that fill a picture of 10 pixels per metre, [rows, columns, 3]."""
    figure = Figure(figsize=(20, 10), dpi=100)
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    draw_floor(axes, floor, **options)
    axes.set_axis_off()
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()


def test_frame_shows_walls_where_they_are_with_y_up() -> None:
    frame = render_frame(FLOOR, (100.0, 50.0), size=SIZE)
    assert frame.shape == (216, 416, 3)
    assert frame.dtype == np.uint8
    assert is_colour(pixel(frame, 150, 85), floor_plan.WALL)
    assert is_colour(pixel(frame, 50, 30), floor_plan.WALL)
    assert is_colour(pixel(frame, 150, 15), "white"), "the wall is in the upper half only"
    assert is_colour(pixel(frame, 50, 70), "white")
    assert is_colour(pixel(frame, -3, 50), floor_plan.OUTSIDE)
    goal, start = pixel(frame, 180, 20).astype(int), pixel(frame, 20, 20).astype(int)
    assert goal[1] > goal[0] + 50, "the goal is green"
    assert start[2] > start[0] + 50, "the start is blue"


@pytest.mark.parametrize("position", [(100.0, 50.0), (30.0, 80.0), (199.0, 1.0), (150.0, 70.0)])
def test_agent_is_a_visible_dot_at_its_position(position: tuple[float, float]) -> None:
    mask = is_colour(render_frame(FLOOR, position, size=SIZE), floor_plan.AGENT)
    assert mask.sum() >= 12, "at least four pixels across"
    assert np.allclose(centre_of(mask), position, atol=0.5)


def test_agent_off_the_picture_is_shown_at_its_edge() -> None:
    mask = is_colour(render_frame(FLOOR, (500.0, 50.0), size=SIZE), floor_plan.AGENT)
    assert mask.sum() >= 12
    assert np.nonzero(mask)[1].max() == SIZE[0] - 1


def test_trail_passes_where_the_agent_has_been() -> None:
    trail = [(x, 50.0) for x in np.linspace(60.0, 120.0, 1000).tolist()]
    frame = render_frame(FLOOR, trail[-1], trail=trail, size=SIZE)
    assert is_colour(pixel(frame, 65, 50), floor_plan.TRAIL)
    assert is_colour(pixel(frame, 110, 50), floor_plan.TRAIL)
    assert is_colour(pixel(frame, 65, 45), "white")
    assert is_colour(pixel(frame, 55, 50), "white")
    for short in ([], trail[:1]):
        assert np.array_equal(
            render_frame(FLOOR, (60.0, 50.0), short, size=SIZE), render_frame(FLOOR, (60.0, 50.0), size=SIZE)
        )


def test_limbs_point_where_they_do_and_are_enlarged_on_a_large_floor() -> None:
    limbs = np.array([[[100.0, 50.0], [100.0, 51.0]]])  # one metre up: two pixels to scale, 20 as drawn
    bare = is_colour(render_frame(FLOOR, (100.0, 50.0), size=SIZE), floor_plan.AGENT)
    extra = is_colour(render_frame(FLOOR, (100.0, 50.0), limbs=limbs, size=SIZE), floor_plan.AGENT) & ~bare
    rows, columns = np.nonzero(extra)
    assert rows.min() == pytest.approx(108 - floor_plan.LIMB_PIXELS, abs=1.5)
    assert rows.max() < 108, "nothing below the agent"
    assert np.abs(columns - 208).max() <= 2
    small = Floor(low=(-1.0, -1.0), high=(1.0, 1.0))
    frame = render_frame(small, (0.0, 0.0), limbs=np.array([[[0.0, 0.0], [0.5, 0.0]]]), size=(208, 208))
    assert is_colour(frame[104, 148], floor_plan.AGENT), "to scale where there is room: 0.5 m are 50 pixels"
    assert is_colour(frame[104, 160], "white")


def test_frames_are_independent_and_the_background_is_cached() -> None:
    first = render_frame(FLOOR, (100.0, 50.0), size=SIZE)
    first[:] = 0
    again = render_frame(FLOOR, (100.0, 80.0), size=SIZE)
    assert is_colour(pixel(again, 100, 50), "white"), "neither the last agent nor what a caller did stays"
    drawn = floor_plan._background.cache_info().misses
    for x in range(10):  # what a video does; drawing the background again each time would make it ten times slower
        render_frame(FLOOR, (float(x), 50.0), size=SIZE)
    assert floor_plan._background.cache_info().misses == drawn


def test_odd_sizes_come_out_exactly() -> None:
    for size in ((101, 77), (435, 300), (640, 480)):
        assert render_frame(FLOOR, (100.0, 50.0), size=size).shape == (size[1], size[0], 3)


def test_draw_floor_puts_walls_start_and_goal_in_place() -> None:
    pixels = canvas_pixels(FLOOR)
    assert pixels.shape[:2] == (1000, 2000)
    assert is_colour(pixels[1000 - 850, 1500], floor_plan.WALL)
    assert is_colour(pixels[1000 - 150, 1500], "white")
    assert not is_colour(pixels[1000 - 200, 1800], "white")
    assert not is_colour(pixels[1000 - 200, 200], "white")


def test_arrows_are_drawn_outside_walls_and_never_inside() -> None:
    plain, pulled = canvas_pixels(FLOOR), canvas_pixels(FLOOR, pull=True)
    changed = (plain != pulled).any(axis=-1)
    assert changed.mean() > 0.005
    for wall in FLOOR.walls:
        rows = slice(int(1000 - 10 * (wall.y + wall.half_y)), int(1000 - 10 * (wall.y - wall.half_y)))
        columns = slice(int(10 * (wall.x - wall.half_x)), int(10 * (wall.x + wall.half_x)))
        assert is_colour(pulled[rows, columns], floor_plan.WALL).mean() > 0.999
        assert not changed[rows, columns].any()


@pytest.mark.parametrize("name", PAPER_TASKS)
def test_pull_field_of_the_built_in_tasks(name: str) -> None:
    floor = make_task(name).spec.floor
    assert floor is not None
    centres, vectors = pull_field(floor)
    assert len(centres) > 150
    assert np.allclose(np.linalg.norm(vectors, axis=1), np.linalg.norm(vectors[0])), "normalised"
    for wall in floor.walls:
        for end in (centres, centres - vectors / 2, centres + vectors / 2):
            assert not (np.abs(end - [wall.x, wall.y]) <= [wall.half_x, wall.half_y]).all(axis=1).any()
    if floor.pull == "forward":
        assert (vectors[:, 1] == 0).all()
        assert (vectors[:, 0] > 0).all()
    else:
        assert floor.goal is not None
        goal = np.array([floor.goal.x, floor.goal.y])
        nearer = np.linalg.norm(centres + vectors - goal, axis=1) - np.linalg.norm(centres - goal, axis=1)
        assert np.allclose(nearer, -np.linalg.norm(vectors[0]), rtol=1e-6), "straight towards the goal"


def test_no_pull_no_arrows() -> None:
    floor = Floor(low=(0.0, 0.0), high=(1.0, 1.0))
    assert len(pull_field(floor)[0]) == 0
    assert is_colour(canvas_pixels(floor, pull=True), "white").all()


@pytest.mark.parametrize("name", PAPER_TASKS)
def test_draw_task_explains_itself(name: str) -> None:
    spec = make_task(name).spec
    figure = draw_task(spec)
    assert figure.axes[0].get_title().startswith(f"{name}: {spec.observation_size} observations")
    words = {text.get_text() for text in figure.legends[0].get_texts()}
    assert {"start", "wall"} < words
    assert ("goal" in words) == (name != "ant-trap")
    assert ("range of the descriptors" in words) == (name == "ant-trap")
    assert any(word.startswith("pull of the reward") for word in words)


def test_draw_task_without_a_floor_says_so() -> None:
    spec = TaskSpec("gym:X", 3, 1, 10, (-1.0,), (1.0,), (0.0,), (1.0,), ("angle",))
    with pytest.raises(UserError, match="gym:X"):
        draw_task(spec)
