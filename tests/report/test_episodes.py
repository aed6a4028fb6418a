from __future__ import annotations

import io
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from qdpg.play.rollouts import Rollouts, make_rollouts
from qdpg.report.episodes import draw_episodes
from qdpg.report.figures import save_figure
from qdpg.tasks.task import Box, Floor, TaskSpec

FLOOR = Floor(low=(0.0, 0.0), high=(10.0, 10.0), walls=(Box(5, 8, 2, 0.5),), start=Box(1, 1, 0.5, 0.5))


def spec(floor: Floor | None = FLOOR, **fields: object) -> TaskSpec:
    chosen = {"descriptor_low": (0.0, 0.0), "descriptor_high": (10.0, 10.0), "solved": 15.0}
    chosen |= {"references": {"scripted": 1234.0, "motionless": -7.5}} | fields
    return TaskSpec("walk", 2, 2, 20, (-1.0, -1.0), (1.0, 1.0), floor=floor, **chosen)  # type: ignore[arg-type]


def rollouts(task: TaskSpec, paths: np.ndarray, lengths: list[int], fitness: list[float]) -> Rollouts:
    """Episodes along `paths` [N, T + 1, D] whose first reward is all of their fitness."""
    rewards = np.zeros((len(paths), paths.shape[1] - 1), np.float32)
    rewards[:, 0] = fitness
    return make_rollouts(
        task,
        seeds=np.arange(len(paths)),
        lengths=np.array(lengths),
        terminated=np.zeros(len(paths), bool),
        rewards=rewards,
        descriptors=paths.astype(np.float32),
        observations=None,
        actions=None,
    )


def two_episodes(task: TaskSpec) -> Rollouts:
    """A poor one along y = 3 that ends after 10 of 20 steps at x = 5, and a good one along y = 6 up to x = 9."""
    x = np.linspace(1, 9, 21)
    paths = np.stack([np.stack([x, np.full(21, 3.0)], axis=1), np.stack([x, np.full(21, 6.0)], axis=1)])
    return rollouts(task, paths, [10, 20], [10.0, 20.0])


def pixel(figure: Figure, x: float, y: float) -> np.ndarray:
    """The figure's colour at a point of its main axes."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    pixels = np.asarray(canvas.buffer_rgba())[..., :3].astype(float)
    column, row = figure.axes[0].transData.transform((x, y))
    return pixels[len(pixels) - 1 - int(row), int(column)]


def viridis(level: float) -> np.ndarray:
    return np.array(matplotlib.colormaps["viridis"](level)[:3]) * 255


@pytest.mark.parametrize("floor", [FLOOR, None])
def test_trajectories_are_where_they_went_in_the_colour_of_their_fitness(floor: Floor | None) -> None:
    task = spec(floor)
    figure = draw_episodes(task, two_episodes(task))
    assert np.allclose(pixel(figure, 5.0, 3.0), viridis(0.0), atol=3), "the poor one's last position"
    assert np.allclose(pixel(figure, 9.0, 6.0), viridis(1.0), atol=3), "the good one's last position"
    assert np.abs(pixel(figure, 3.0, 3.0) - viridis(0.0)).max() < 60, "its way there, drawn translucent"
    assert np.abs(pixel(figure, 3.0, 6.0) - viridis(1.0)).max() < 60
    assert (pixel(figure, 7.0, 3.0) == 255).all(), "nothing after the end of an episode"
    assert (pixel(figure, 3.0, 4.5) == 255).all()
    if floor is not None:
        assert pixel(figure, 5.0, 8.0).max() < 60, "the wall"


def test_title_counts_and_compares() -> None:
    task = spec()
    title = draw_episodes(task, two_episodes(task)).get_suptitle()
    assert "walk: 2 episodes, median fitness 15, 1 solved (above 15)" in title
    assert "scripted 1,234, motionless -7.5" in title
    bare = spec(solved=None, references={})
    assert draw_episodes(bare, two_episodes(bare)).get_suptitle() == "walk: 2 episodes, median fitness 15"


def test_colour_bar_spans_the_fitness() -> None:
    task = spec()
    figure = draw_episodes(task, two_episodes(task))
    bar = figure.axes[0].child_axes[0]
    assert bar.get_ylabel() == "fitness"
    assert bar.get_ylim() == (10.0, 20.0)


def test_plain_axes_carry_names_and_show_bounds_and_all_points() -> None:
    task = spec(None, descriptor_names=("speed", "height"), descriptor_high=(4.0, 10.0))
    axes = draw_episodes(task, two_episodes(task)).axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("speed", "height")
    assert axes.get_xlim()[0] < 0
    assert axes.get_xlim()[1] > 9.0, "beyond the bound of 4, where the episode went"
    assert axes.patches[0].get_extents().transformed(axes.transData.inverted()).bounds == pytest.approx((0, 0, 4, 10))


def test_one_descriptor_is_drawn_over_time_and_more_than_two_are_cut() -> None:
    for size in (1, 3):
        task = spec(
            None, descriptor_low=(0.0,) * size, descriptor_high=(10.0,) * size, descriptor_names=("a", "b", "c")[:size]
        )
        paths = np.full((1, 21, size), 5.0)
        figure = draw_episodes(task, rollouts(task, paths, [20], [1.0]))  # one episode: a colour bar of one value
        labels = figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()
        assert labels == (("step", "a") if size == 1 else ("a", "b"))
        at = (20.0, 5.0) if size == 1 else (5.0, 5.0)
        assert (pixel(figure, *at) < 255).any()


def test_save_figure_is_whole_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figure = Figure(figsize=(2, 1), dpi=50, facecolor="red")
    path = save_figure(figure, tmp_path / "a" / "b" / "red.png")
    assert path == tmp_path / "a" / "b" / "red.png"
    with Image.open(path) as image:
        assert (image.format, image.size) == ("PNG", (100, 50))
        assert image.convert("RGB").getpixel((50, 25)) == (255, 0, 0)
    before = path.read_bytes()

    def fail(target: io.BytesIO, **_: object) -> None:
        target.write(b"half a picture")
        raise OSError("disk full")

    monkeypatch.setattr(figure, "savefig", fail)
    with pytest.raises(OSError, match="disk full"):
        save_figure(figure, path)
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == ["red.png"], "no litter"
