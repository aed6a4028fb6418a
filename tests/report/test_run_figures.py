from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PathCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from qdpg.learn.networks import MLP
from qdpg.memory.elites import Elites
from qdpg.play.acting import Noise
from qdpg.play.player import make_player
from qdpg.play.rollouts import Rollouts, make_rollouts
from qdpg.report import run_figures
from qdpg.report.run_figures import EMPTY, draw_coverage, draw_grid, draw_learning_curve, draw_trajectories
from qdpg.runs.collection import Collection
from qdpg.runs.collection_files import read_collection, write_collection
from qdpg.tasks.registry import make_task
from qdpg.tasks.task import Box, Floor, TaskSpec

FLOOR = Floor(
    low=(-2.0, 0.0),
    high=(10.0, 10.0),
    walls=(Box(5, 4.5, 2, 0.2),),
    start=Box(1, 1, 0.8, 0.8),
    goal=Box(9, 9, 0.8, 0.8),
)


def spec(size: int = 2, floor: Floor | None = None, **fields: object) -> TaskSpec:
    chosen: dict[str, object] = {"descriptor_low": (0.0,) * size, "descriptor_high": (10.0,) * size}
    chosen |= {"descriptor_names": ("x", "y", "z")[:size], "fitness_floor": -100.0} | fields
    return TaskSpec("walk", 2, 2, 20, (-1.0, -1.0), (1.0, 1.0), floor=floor, **chosen)  # type: ignore[arg-type]


def policies(*number: int) -> MLP:
    """Linear policies with a leading axis of `number`, or one without."""
    rng = np.random.default_rng(0)
    return MLP((rng.normal(size=(*number, 2, 2)).astype(np.float32),), (np.zeros((*number, 2), np.float32),))  # type: ignore[arg-type]


def fill(task: TaskSpec, cells: tuple[int, ...] | int, behaviours: list[list[float]], fitness: list[float]) -> Elites:
    """Elites with these behaviours and fitnesses."""
    number = len(fitness)
    rewards = np.zeros((number, 1), np.float32)
    rewards[:, 0] = fitness
    rollouts = make_rollouts(
        task,
        seeds=np.arange(number),
        lengths=np.ones(number, int),
        terminated=np.zeros(number, bool),
        rewards=rewards,
        descriptors=np.repeat(np.array(behaviours, np.float32)[:, None], 2, axis=1),
        observations=None,
        actions=None,
    )
    elites = Elites(task, policies(), cells)
    elites.add(policies(number), rollouts, 0)
    return elites


def colours(figure: Figure, points: np.ndarray) -> np.ndarray:
    """The figure's colours [n, 3] at `points` [n, 2] of its main axes."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    pixels = np.asarray(canvas.buffer_rgba())[..., :3].astype(float)
    places = figure.axes[0].transData.transform(points).astype(int)
    return pixels[len(pixels) - 1 - places[:, 1], places[:, 0]]


def viridis(level: np.ndarray | float) -> np.ndarray:
    return np.array(matplotlib.colormaps["viridis"](level))[..., :3] * 255


def test_grid_shows_fitness_where_the_cells_are_and_the_maze_over_it() -> None:
    task = spec(floor=FLOOR)
    elites = fill(task, (5, 2), [[9.0, 1.0], [3.5, 9.0], [3.0, 3.0]], [-90.0, -10.0, -50.0])
    figure = draw_grid(task, elites.archive)
    places = [[9.0, 3.0], [2.5, 8.0], [3.5, 2.0], [5.0, 8.0], [-1.0, 5.0], [5.0, 4.5]]
    low, high, middle, empty, outside, wall = colours(figure, np.array(places))
    assert np.allclose(low, viridis(0.0), atol=2), "the worst is purple"
    assert np.allclose(high, viridis(1.0), atol=2), "the best is yellow"
    assert np.allclose(middle, viridis(0.5), atol=3)
    assert np.allclose(empty, np.array(to_rgb(EMPTY)) * 255, atol=2)
    assert (outside == 255).all(), "beyond the bounds of the descriptors"
    assert wall.max() < 60
    start, goal = colours(figure, np.array([[1.0, 1.0], [9.0, 9.0]]))
    assert np.allclose([start, goal], np.array(to_rgb(EMPTY)) * 255, atol=2), "outlines hide no cell"
    title = figure.get_suptitle()
    assert "walk: 3 of 10 cells filled" in title
    assert "stored, optimistic: QD score 150, best fitness -10" in title
    bar = figure.axes[0].child_axes[0]
    assert bar.get_ylabel() == "fitness (stored, optimistic)"
    fresh = draw_grid(task, elites.archive, "from fresh starts")
    assert fresh.get_suptitle() == title.replace("stored, optimistic", "from fresh starts")
    assert fresh.axes[0].child_axes[0].get_ylabel() == "fitness (from fresh starts)"
    assert bar.get_ylim() == (-90.0, -10.0)
    labels = {text.get_text() for text in figure.legends[0].get_texts()}
    assert labels == {"start", "goal", "wall", "empty cell"}


def test_grid_of_a_tessellation_colours_every_point_as_its_cell() -> None:
    task = spec()
    rng = np.random.default_rng(0)
    fitness = np.linspace(-50, 0, 12)
    elites = fill(task, 20, (10 * rng.random((12, 2))).tolist(), fitness.tolist())
    figure = draw_grid(task, elites.archive)
    points = 10 * rng.random((400, 2))
    distances = np.linalg.norm(points[:, None] - elites.archive.centroids, axis=-1)
    nearest, second = np.sort(distances, axis=1)[:, :2].T
    points = points[second - nearest > 0.2]  # off the edges
    cells = elites.archive.index_of(points)
    expected = np.full((len(points), 3), np.array(to_rgb(EMPTY)) * 255)
    data = elites.data()
    for index, level in zip(data["index"], (data["objective"] - data["objective"].min()), strict=True):
        expected[cells == index] = viridis(level / np.ptp(data["objective"]))
    assert len(points) > 200
    assert len(np.unique(expected, axis=0)) > 5
    assert np.abs(colours(figure, points) - expected).max() < 5
    assert (colours(figure, np.array([[-0.2, 5.0], [10.2, 5.0], [5.0, 10.2]])) == 255).all(), "cut at the bounds"


@pytest.mark.parametrize("cells", [(4,), 4])
def test_grid_of_one_descriptor_is_a_column_of_cells(cells: tuple[int] | int) -> None:
    task = spec(1)
    elites = fill(task, cells, [[0.5], [9.5]], [-7.0, -3.0])
    figure = draw_grid(task, elites.archive)
    bottom, top = colours(figure, np.array([[0.5, 0.5], [0.5, 9.5]]))
    assert np.allclose(bottom, viridis(0.0), atol=2)
    assert np.allclose(top, viridis(1.0), atol=2)
    assert figure.axes[0].get_ylabel() == "x"
    assert "2 of 4 cells" in figure.get_suptitle()


def test_grid_of_three_descriptors_is_dots_with_a_note() -> None:
    task = spec(3)
    behaviours = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    figure = draw_grid(task, fill(task, (2, 2, 2), behaviours, [-1.0, -2.0]).archive)
    (dots,) = figure.axes[0].collections
    assert isinstance(dots, PathCollection)
    assert np.asarray(dots.get_offsets()).tolist() == [[4.0, 5.0], [1.0, 2.0]], "the best on top"
    assert "first 2 of 3 descriptors" in figure.get_suptitle()


def curve() -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    steps = np.array([1000.0, 2000.0, 3000.0, 4000.0])
    metrics = {"steps": steps, "best_fitness": np.array([-np.inf, -90.0, -50.0, -20.0])}
    metrics |= {"coverage": np.array([0.0, 0.25, 0.5, 0.5]), "qd_score": np.array([0.0, 10.0, 60.0, 90.0])}
    evaluations = {"steps": steps[1::2], "best_fitness": np.array([-95.0, -25.0])}
    return metrics, evaluations | {"elite_mean_fitness": np.array([np.nan, -30.0])}


def test_learning_curve_holds_the_numbers_and_what_to_compare_with() -> None:
    task = spec(references={"scripted": -23.6, "motionless": -345.0}, solved=-30.0)
    figure = draw_learning_curve(task, *curve())
    upper, lower, right = figure.axes
    lines = {line.get_label(): line.get_xydata().tolist() for line in upper.lines}
    assert lines["best elite, stored (optimistic)"] == [[2000, -90], [3000, -50], [4000, -20]]
    assert lines["best of the population, without noise"] == [[2000, -95], [4000, -25]]
    assert lines["best elite, mean over fresh starts"] == [[4000, -30]]
    levels = {float(line.get_ydata()[0]) for line in upper.lines if len(set(line.get_ydata())) == 1}
    assert {-23.6, -345.0, -30.0} <= levels
    low, high = upper.get_ylim()
    assert low < -345
    assert high > -20
    texts = {text.get_text(): text.get_position()[1] for text in upper.texts}
    assert list(texts) == ["motionless -345", "solved above -30", "scripted -23.6"]
    heights = np.array(list(texts.values()))
    assert (np.diff(heights) > 0.055).all(), "legible"
    assert np.abs(heights - (np.array([-345, -30, -23.6]) - low) / (high - low)).max() < 0.04, "near their lines"
    assert lower.lines[0].get_ydata().tolist() == [0, 0.25, 0.5, 0.5]
    assert right.lines[0].get_ydata().tolist() == [0, 10, 60, 90]
    assert (lower.get_ylabel(), right.get_ylabel()) == ("cells filled, stored", "QD score, stored (dashed)")
    assert (lower.get_xlabel(), lower.get_xlim()) == ("environment steps", (0, 4080))
    figure.canvas.draw()


def test_learning_curve_without_evaluations_or_references() -> None:
    metrics, _ = curve()
    upper = draw_learning_curve(spec(), metrics, {}).axes[0]
    assert [line.get_label() for line in upper.lines] == ["best elite, stored (optimistic)"]
    assert not upper.texts
    first = {name: column[1:2] for name, column in metrics.items()} | {"qd_score": np.array([-5.0])}
    upper, lower, right = draw_learning_curve(spec(), first, {}).axes
    assert [axes.lines[0].get_marker() for axes in (upper, lower, right)] == ["o"] * 3, "one point is seen"
    assert right.get_ylim()[0] < -5
    nothing = {name: column[:1] for name, column in metrics.items()}  # no elite yet: no fitness to draw
    draw_learning_curve(spec(), nothing, {}).canvas.draw()


def test_coverage_has_a_dot_per_episode_from_blue_to_purple() -> None:
    task = spec(floor=FLOOR)
    episodes = {"steps": np.array([0.0, 100.0]), "x": np.array([2.0, 5.0]), "y": np.array([7.0, 4.5])}
    figure = draw_coverage(task, episodes)
    early, late = colours(figure, np.array([[2.0, 7.0], [5.0, 4.5]]))
    assert early[2] > 240 > 100 > early[0], "blue"
    assert late[2] > 240, "purple, over the wall"
    assert late[0] > 240
    assert "2 training episodes" in figure.get_suptitle()
    assert figure.axes[0].child_axes[0].get_ylim() == (0, 100)

    many = {name: np.random.default_rng(0).random(500) for name in ("steps", "x", "y")}
    (dots,) = draw_coverage(task, many).axes[0].collections
    drawn = np.column_stack([np.asarray(dots.get_offsets()), np.asarray(dots.get_array())])
    given = np.column_stack([many["x"], many["y"], many["steps"]])
    np.testing.assert_array_equal(np.sort(drawn, axis=0), np.sort(given, axis=0))
    assert {tuple(row) for row in drawn} == {tuple(row) for row in given}


def test_coverage_of_one_descriptor_runs_over_training() -> None:
    figure = draw_coverage(spec(1), {"steps": np.array([10.0, 20.0]), "x": np.array([3.0, 4.0])})
    offsets = np.asarray(figure.axes[0].collections[0].get_offsets())
    assert {tuple(row) for row in offsets.tolist()} == {(10.0, 3.0), (20.0, 4.0)}
    assert (figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()) == ("environment steps", "x")


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """Some elites of point-maze, as playing them with noise gave them."""
    task = make_task("point-maze")
    population = policies(6)
    played: Rollouts = make_player(task).play(population, np.arange(6), noise=Noise(0.3), record=False)
    elites = Elites(task.spec, policies(), (100, 100))
    elites.add(population, played, 0)
    assert len(elites) > 3
    directory: Path = tmp_path_factory.mktemp("elites")
    write_collection(directory, elites, {"steps": 1, "noise_correlation": 0.0, "cells": [100, 100], "archive_seed": 0})
    return read_collection(directory, task.spec)


def ends(figure: Figure) -> np.ndarray:
    """Where the drawn episodes end, [n, 2]."""
    return next(np.asarray(c.get_offsets()) for c in figure.axes[0].collections if isinstance(c, PathCollection))


def test_trajectories_replay_the_elites_as_they_were(collection: Collection) -> None:
    figure = draw_trajectories(make_task("point-maze"), collection)
    order = np.argsort(collection.fitness, kind="stable")
    np.testing.assert_array_equal(ends(figure), collection.behaviours[order])
    assert figure.get_suptitle().startswith(f"point-maze: {len(collection)} elites, median fitness")


def test_of_many_elites_some_are_drawn_and_the_best_always(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_figures, "TRAJECTORIES", 3)
    figure = draw_trajectories(make_task("point-maze"), collection)
    best = int(collection.fitness.argmax())
    drawn = len({0, best, len(collection) - 1})
    assert f"{drawn} of {len(collection)} elites" in figure.get_suptitle()
    assert len(ends(figure)) == drawn
    np.testing.assert_array_equal(ends(figure)[-1], collection.behaviours[best])

    other = next(row for row in range(1, len(collection) - 1) if row not in (best, (len(collection) - 1) // 2))
    assert collection.behaviours[other].tolist() not in ends(figure).tolist()
    means = np.where(np.arange(len(collection)) == other, 0.0, -100.0)
    evaluated = Collection(collection.spec, collection.about, collection.arrays, {"mean": means})
    found = ends(draw_trajectories(make_task("point-maze"), evaluated)).tolist()
    assert collection.behaviours[other].tolist() in found, "whom fresh starts show to be the best"
