"""What the explorer shows, without a browser: cells, colours, time, controls, adaptation, files. The server is real."""

import csv
import io
import json
import re
import shutil
from types import SimpleNamespace

import mujoco
import numpy as np
import onnx
import pytest

from qdpg.adaptation.damage import Damaged, legs
from qdpg.errors import UserError
from qdpg.explorer import trials as trials_module
from qdpg.explorer.app import FRESH, Explorer, load_runs
from qdpg.explorer.archive import cell_index, colours, find_cells, lay_out
from qdpg.explorer.controls import ALONE, APART, TOGETHER
from qdpg.explorer.downloads import csv_of, onnx_of, svg_of
from qdpg.explorer.guard import start_server
from qdpg.explorer.legends import as_markdown, name_of
from qdpg.explorer.playback import Playback
from qdpg.exports.choose import choose
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
    assert (found.centres + found.sizes >= frame.low - 1e-9).all()  # tiles lie under what walks on them
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
        assert explorer.stage._points[0].position[:2] == pytest.approx((x, y), abs=1e-6)


@pytest.mark.parametrize("name", ["ant-maze", "ant-trap"])
def test_bodies_are_where_physics_has_them(explorer, runs, name):
    run = runs[name]
    explorer.open(str(run.path))
    explorer.select(0)
    (stored,) = play_stored(run.task, run.elites, [0])
    explorer.controls._scrub.value = 20
    explorer.controls._scrubbed()
    (some, handle), *_ = explorer.stage._bodies._parts
    data = mujoco.MjData(explorer.stage.model)
    data.qpos[:] = stored.poses[20]
    mujoco.mj_kinematics(explorer.stage.model, data)
    assert np.array_equal(handle.batched_positions, data.geom_xpos[explorer.stage._moving[some]].astype(np.float32))


@pytest.mark.parametrize("name", ["point-maze", "ant-trap"])
def test_several_elites_in_one_scene_and_side_by_side(explorer, runs, name):
    run = runs[name]
    explorer.open(str(run.path))
    explorer.controls._show.value = TOGETHER
    number = min(4, len(run.elites))
    for row in range(number):
        explorer.select(row, add=row > 0)
    assert [episode.row for episode in explorer.shown] == list(range(number))
    assert explorer.stage.offsets.tolist() == [[0, 0, 0]]
    together = [path.copy() for path in explorer.stage._paths]
    explorer.controls._show.value = APART
    explorer.controls._arrange()
    offsets, paths = explorer.stage.offsets, explorer.stage._paths
    assert len({tuple(offset) for offset in offsets.tolist()}) == len(paths) == number
    for before, path, offset in zip(together, paths, offsets, strict=True):
        assert path == pytest.approx(before + offset)
    boxes = [(path.min(axis=0), path.max(axis=0)) for path in paths]
    for n, (low, high) in enumerate(boxes):
        for other_low, other_high in boxes[:n]:
            assert ((low > other_high) | (high < other_low))[:2].any(), "each is in a scene of its own"
    explorer.controls._show.value = ALONE
    explorer.controls._arrange()
    assert [episode.row for episode in explorer.shown] == [number - 1]


def test_a_fresh_start_is_the_same_for_all(explorer, runs):
    run = runs["point-maze"]
    explorer.open(str(run.path))
    for row in range(3):
        explorer.select(row, add=row > 0)
    explorer.controls._start.value = FRESH
    explorer.controls._change_start()
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
    assert len(explorer.stage._points) == 1


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
    explorer.open(next(iter(explorer.runs)))
    del explorer.runs[str(path)]


@pytest.fixture
def hurried(monkeypatch):
    monkeypatch.setattr(trials_module, "SECONDS", 0.0)  # nobody is watching


def test_adaptation_to_a_new_goal_finds_the_elite_that_is_there(explorer, runs, hurried):
    run = runs["point-maze"]
    explorer.open(str(run.path))
    trials = explorer.controls.trials
    before = explorer.stage.tiles._cells.batched_colors.copy()
    trials._goal.value = (0.5, -0.9)
    trials._number.value = len(run.elites)
    trials.search_goal()
    trials._thread.join(timeout=120)
    best = max(re.findall(r"^\d+\. cell (\S+): (\S+)$", trials._log.content, re.M), key=lambda each: float(each[1]))
    assert f"found after {len(run.elites)} trials: cell {best[0]}: {best[1]}" in trials._log.content
    assert explorer.selected == choose(run.elites, cell=[int(part) for part in best[0].split(",")]).tolist()
    assert "expected score" in explorer.controls._legend.content
    assert not np.array_equal(explorer.stage.tiles._cells.batched_colors, before), "the belief is drawn"
    assert explorer.stage._goal.x == 0.5
    trials.undo()
    assert np.array_equal(explorer.stage.tiles._cells.batched_colors, before)
    assert explorer.stage._goal == run.task.spec.floor.goal
    trials._goal.value = (5.0, 0.0)
    with pytest.raises(UserError, match="must lie on the floor"):
        trials.search_goal()


def test_a_goal_is_dropped_where_somebody_clicks(explorer, runs, hurried):
    run = runs["point-maze"]
    explorer.open(str(run.path))
    trials, shown = explorer.controls.trials, explorer.shown
    trials._number.value = 2
    trials.drop_goal()
    explorer._clicked(0)
    assert explorer.shown is shown, "the click is not the choice of a cell"
    trials._drop(SimpleNamespace(ray_origin=(0.5, -2.0, 4.0), ray_direction=(0.0, 0.25, -0.5)))
    assert trials._goal.value == (0.5, 0.0)
    assert not trials.takes_clicks
    trials._thread.join(timeout=120)
    assert "found after 2 trials" in trials._log.content
    trials.drop_goal()
    with pytest.raises(UserError, match="not on the floor"):
        trials._drop(SimpleNamespace(ray_origin=(0.5, -2.0, 4.0), ray_direction=(0.0, 0.25, 0.5)))


def test_a_body_without_a_leg_is_drawn_so_and_adapts(explorer, runs, hurried):
    explorer.open(str(runs["ant-trap"].path))
    trials = explorer.controls.trials
    whole = explorer.stage._body_colours()
    trials._leg.value, trials._number.value = "leg 2", 2
    trials.search_damage()
    trials._thread.join(timeout=120)
    assert "found after 2 trials" in trials._log.content
    changed = (explorer.stage._body_colours() != whole).any(axis=(0, 2))
    assert changed.sum() == 2, "the two shapes that hang on the hip of one leg"
    trials.undo()
    assert np.array_equal(explorer.stage._body_colours(), whole)


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


def test_words_of_strangers_are_words():
    assert as_markdown("<iframe> ![](x) *a* http://x\n# b") == (r"\<iframe\> \!\[\]\(x\) \*a\* http\:\/\/x \# b")
    assert name_of(99, ["a"]) == "emitter 99"


def test_what_cannot_be_explored_is_said(tmp_path):
    with pytest.raises(UserError, match="at least one run"):
        load_runs([])
    with pytest.raises(UserError, match="is not a run"):
        load_runs([tmp_path])
