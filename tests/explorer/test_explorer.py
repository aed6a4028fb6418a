"""What the explorer shows, without a browser: cells, colours, time, controls, adaptation, files. The server is real."""

import csv
import io
import json
import shutil

import numpy as np
import onnx
import pytest

from qdpg.adaptation.damage import Damaged, legs
from qdpg.errors import UserError
from qdpg.explorer.app import FRESH, Explorer, load_runs
from qdpg.explorer.archive import cell_index, colours, find_cells, lay_out, read_history
from qdpg.explorer.downloads import csv_of, onnx_of, svg_of
from qdpg.explorer.guard import start_server
from qdpg.explorer.playback import Playback
from qdpg.exports.episode import play_stored
from qdpg.tasks.registry import make_task
from watchable import PENDULUM, SMALL_TASKS, make_run

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of viser and what it imports


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    directory = tmp_path_factory.mktemp("runs")
    made = {name: make_run(directory / name, name, *how) for name, how in SMALL_TASKS.items()}
    made["pendulum"] = make_run(directory / "pendulum", *PENDULUM)
    return made


@pytest.fixture(scope="module")
def explorer(runs):
    made = Explorer(start_server("127.0.0.1", 0, None), list(runs.values()))
    yield made
    made.close()


def test_time_in_an_episode():
    shown = Playback().load(100, 0.1, now=5.0)
    assert [shown.at(now) for now in (5.0, 5.95, 7.0, 99.0)] == [0, 9, 20, 100]
    assert not shown.is_over(7.0)
    assert shown.is_over(99.0)
    paused = shown.set_playing(False, 7.0)
    assert [paused.at(now) for now in (7.0, 50.0)] == [20, 20]
    assert paused.set_playing(True, 50.0).at(51.0) == 30
    assert paused.set_speed(4.0, 50.0).set_playing(True, 60.0).at(61.0) == 60
    assert shown.scrub(42, 8.0).at(99.0) == 42
    assert [shown.scrub(step, 0.0).at(0.0) for step in (-5, 10**9)] == [0, 100]
    assert shown.set_playing(True, 99.0).at(99.0) == 0, "from the beginning, if it was at the end"


@pytest.mark.parametrize(
    ("descriptor", "low", "high", "cells"),
    [
        ((0,), (-1,), (1,), (6,)),
        ((0, 1), (-1, -1), (1, 1), (4, 4)),
        ((0, 1, 2), (-1, -1, -8), (1, 1, 8), (3, 3, 3)),
        ((0, 1), (-1, -1), (1, 1), 12),
    ],
)
def test_archives_of_one_two_and_three_dimensions_and_tessellations(tmp_path, descriptor, low, high, cells):
    options = {"descriptor": descriptor, "low": low, "high": high, "horizon": 20}
    run = make_run(tmp_path / "run", "gym:Pendulum-v1", options, cells, policies=12)
    elites, frame = run.elites, lay_out(run.task)
    found = find_cells(elites, frame)
    assert found.index.tolist() == sorted(elites.cells_index.tolist())
    assert elites.cells_index[found.rows].tolist() == found.index.tolist()
    assert (found.sizes > 0).all()
    assert (found.centres >= frame.low - 1e-9).all()
    assert (found.centres <= frame.high + frame.width).all()
    assert cell_index(elites, elites.behaviours).tolist() == elites.cells_index.tolist()
    inside = np.abs(frame.place(elites.behaviours) - found.centres[np.argsort(found.rows)])[:, : len(descriptor)]
    if not isinstance(cells, int):
        assert (
            inside <= (np.array(high) - low)[: inside.shape[1]] / cells * frame.scale[: inside.shape[1]] / 2 + 1e-6
        ).all()


def test_cells_lie_where_the_floor_has_them(runs):
    run = runs["point-maze"]
    found = find_cells(run.elites, lay_out(run.task))
    at = run.elites.behaviours[found.rows]
    assert (np.abs(found.centres[:, :2] - at) <= 0.2 + 1e-6).all()


def test_colours_go_from_low_to_high_and_nothing_is_grey():
    dark, middle, bright, none = colours(np.array([0.0, 5.0, 10.0, np.nan])).astype(int)
    assert dark.sum() < middle.sum() < bright.sum()
    assert np.ptp(none) < 12
    assert (colours(np.array([np.nan])) == none).all()


def test_history_ends_with_the_elites(runs):
    run = runs["point-maze"]
    history = read_history(run, run.elites)
    cells = np.unique(history.index)
    last = history.best(cells, history.generations[-1])
    assert last[np.searchsorted(cells, run.elites.cells_index)].tolist() == run.elites.fitness.tolist()
    first = history.best(cells, history.generations[0])
    assert np.isfinite(first).sum() < len(cells) or (first <= last).all()
    assert not (first > last).any()
    assert history.steps.tolist() == [500, 1000]


def test_the_stored_episode_is_shown_step_by_step(explorer, runs):
    run = runs["point-maze"]
    explorer.open(str(run.path))
    row = len(run.elites) - 1
    explorer.select(row)
    (stored,) = play_stored(run.task, run.elites, [row])
    explorer.controls._toggle()
    for step in (0, 7, 40):
        explorer.controls._scrub.value = step
        explorer.controls._scrubbed()
        x, y = stored.descriptors[step]
        assert explorer.controls._where.content == f"step {step} of 40: x {x!s}, y {y!s}"
        assert explorer.stage._agents()[0].position[:2] == pytest.approx((x, y), abs=1e-6)


@pytest.mark.parametrize("name", ["ant-maze", "ant-trap"])
def test_bodies_are_where_physics_has_them(explorer, runs, name):
    run = runs[name]
    explorer.open(str(run.path))
    explorer.select(0)
    (stored,) = play_stored(run.task, run.elites, [0])
    explorer.controls._scrub.value = 20
    explorer.controls._scrubbed()
    torso = explorer.stage._bodies._last_body_xpos[0, 1]
    assert np.array_equal(torso, stored.poses[20, :3])


def test_several_elites_at_once_and_a_fresh_start(explorer, runs):
    run = runs["point-maze"]
    explorer.open(str(run.path))
    for row in range(4):
        explorer.select(row, add=row > 0)
    assert [episode.row for episode in explorer.shown] == [0, 1, 2, 3]
    assert len(explorer.stage._agents()) == 4
    explorer.controls._start.value = FRESH
    explorer.play()
    assert len({episode.seed for episode in explorer.shown}) == 1
    assert explorer.shown[0].seed not in run.elites.seeds


def test_a_click_on_a_cell_selects_its_elite(explorer, runs):
    explorer.open(str(runs["point-maze"].path))
    for n, row in enumerate(explorer.cells.rows):
        explorer._clicked(n)
        assert [episode.row for episode in explorer.shown] == (
            [row] if row >= 0 else [episode.row for episode in explorer.shown]
        )


def test_an_environment_without_a_floor_is_shown_all_the_same(explorer, runs):
    explorer.open(str(runs["pendulum"].path))
    assert len(explorer.shown) == 1
    assert explorer.stage._agents() or explorer._pictures


@pytest.mark.parametrize("value", ["a,b", "99,99", "1", "nan,nan", "-1,-1"])
def test_a_cell_that_is_none_is_said_in_the_page(explorer, runs, value):
    explorer.open(str(runs["point-maze"].path))
    shown = explorer.shown
    explorer.controls._cell.value = value
    explorer.guarded(explorer.controls._choose_cell)
    assert explorer.shown is shown
    assert any(words in explorer.controls._said.content for words in ("no cell", "whole numbers"))


def test_a_run_in_training_is_followed(tmp_path, explorer, runs):
    path = tmp_path / "run"
    shutil.copytree(runs["point-maze"].path, path)
    (run,) = load_runs([path])
    explorer.runs[str(path)] = run
    explorer.open(str(path))
    before = len(explorer.elites)
    shutil.rmtree(path)
    make_run(path, "point-maze", *SMALL_TASKS["point-maze"], policies=40, seed=5)
    explorer.refresh()
    assert len(explorer.elites) > before
    assert f"{len(explorer.elites)} elites" in explorer.controls._about.content
    explorer.open(explorer.names[0])
    del explorer.runs[str(path)]


def test_adaptation_to_a_new_goal_finds_the_elite_that_is_there(explorer, runs):
    run = runs["point-maze"]
    explorer.open(str(run.path))
    trials = explorer.controls.trials
    trials._goal.value = (0.5, -0.9)
    trials._number.value = len(run.elites)
    trials.search_goal()
    trials._thread.join(timeout=120)
    assert "colours: what the model expects" in trials._log.content
    assert trials._log.content.count("\n") >= len(run.elites)
    trials._goal.value = (5.0, 0.0)
    with pytest.raises(UserError, match="must lie on the floor"):
        trials.search_goal()


def test_a_damaged_leg_has_no_force(runs):
    task = make_task("ant-trap", horizon=15, contact="left-out")
    groups = legs(task)
    assert list(groups) == ["leg 1", "leg 2", "leg 3", "leg 4"]
    assert sorted(sum(groups.values(), ())) == list(range(8))
    damaged = Damaged(task, groups["leg 2"])
    run = runs["ant-trap"]
    (whole,) = play_stored(task, run.elites, [0])
    (lame,) = play_stored(damaged, run.elites, [0])
    assert not np.array_equal(whole.poses, lame.poses)
    (same,) = play_stored(Damaged(task, ()), run.elites, [0])
    assert np.array_equal(whole.poses, same.poses)
    with pytest.raises(UserError, match="has actuators 0 to 7"):
        Damaged(task, (8,))


def test_files_to_take_away(runs):
    run = runs["point-maze"]
    (episode,) = play_stored(run.task, run.elites, [0])
    name, content = csv_of(run, run.elites, episode)
    rows = list(csv.reader(io.StringIO(content.decode())))
    assert name.endswith(".csv")
    assert rows[0] == ["step", "x", "y", "action_0", "action_1", "reward"]
    assert len(rows) == len(episode) + 2
    assert np.float32(rows[5][1]) == episode.descriptors[4, 0]
    name, content = onnx_of(run, run.elites, episode)
    about = {entry.key: entry.value for entry in onnx.load_from_string(content).metadata_props}
    assert json.loads(about["behaviour"]) == run.elites.behaviours[0].tolist()
    name, content = svg_of(run, run.elites, episode)
    assert content.startswith(b"<?xml")
    assert b"<svg" in content


def test_what_cannot_be_explored_is_said(tmp_path):
    with pytest.raises(UserError, match="at least one run"):
        load_runs([])
    with pytest.raises(UserError, match="is not a run"):
        load_runs([tmp_path])
