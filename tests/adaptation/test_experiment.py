"""The experiment on a real, briefly trained collection of point-maze."""

import dataclasses

import numpy as np
import pytest
from made_up import collection, grid

from qdpg import load_run
from qdpg.adaptation.experiment import METHODS, run_experiment, summarise
from qdpg.adaptation.goals import move_goal, play_elites, scores
from qdpg.adaptation.model import Settings
from qdpg.cli.train import run_train
from qdpg.errors import UserError
from qdpg.tasks.ant_trap import AntTrap
from qdpg.tasks.point_maze import PointMaze


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = tmp_path_factory.mktemp("trained") / "run"
    settings = ["population=50", "initial_policies=100", "hidden=8,8", "cells=10,10"]
    run_train("point-maze", "map-elites", "tuned", 100_000, 0, path, settings, False, 1e9, quiet=True)
    return load_run(path)


@pytest.fixture(scope="module")
def experiment(run):
    return run_experiment(run.task, run.elites, trials=15, goals=30, seed=4)


def test_optimisation_comes_near_exhaustive_search_and_beats_random_choice(run, experiment):
    assert len(run.elites) > 40, "enough to choose from"
    means = {name: summary["mean"] for name, summary in summarise(experiment).items()}
    assert means["random"] < means["bayesian"] <= means["exhaustive"]
    behind = means["exhaustive"] - means["bayesian"]
    assert behind < 0.1 * abs(means["exhaustive"])
    assert behind < 0.5 * (means["exhaustive"] - means["random"])


def test_scores_are_those_of_the_elites_named(run, experiment):
    elites = run.elites
    for name in ("tried", "drawn"):
        rows = getattr(experiment, name)
        assert rows.shape == (30, 15)
        assert all(len(set(row)) == 15 for row in rows.tolist())
    so_far = experiment.so_far()
    for method, found in experiment.found().items():
        assert (found <= experiment.best_scores).all()
        np.testing.assert_array_equal(so_far[method][:, -1], found)
        assert (np.diff(so_far[method], axis=1) >= 0).all()
    cell = {int(index): row for row, index in enumerate(elites.cells_index)}
    played = play_elites(run.task, elites, "own", 0)
    for row in experiment.rows(elites.cells_index):
        assert 1 <= row["found_in_trial"] <= row["trials"] == 15
        of_goal = scores(run.task, played, np.array([row["goal_x"], row["goal_y"]]))
        assert [of_goal[cell[row[f"{name}_elite"]]] for name in METHODS] == [row[name] for name in METHODS]


def test_fresh_starts_are_not_those_the_elites_were_stored_for(run, experiment):
    fresh = run_experiment(run.task, run.elites, trials=15, goals=3, seed=4, starts="fresh")
    np.testing.assert_array_equal(fresh.goals, experiment.goals[:3])
    assert (fresh.best_scores != experiment.best_scores[:3]).all()


def test_the_same_seed_gives_the_same_and_another_does_not(run, experiment):
    again = run_experiment(run.task, run.elites, trials=15, goals=30, seed=4)
    for field in dataclasses.fields(experiment):
        np.testing.assert_array_equal(getattr(again, field.name), getattr(experiment, field.name), err_msg=field.name)
    other = run_experiment(run.task, run.elites, trials=2, goals=3, seed=5)
    assert (other.goals != experiment.goals[:3]).all()


def test_settings_change_what_is_tried_and_goals_are_told_as_they_are_done(run, experiment):
    done = []
    keen = Settings(kappa=0.0)
    changed = run_experiment(run.task, run.elites, trials=15, goals=3, seed=4, settings=keen, progress=done.append)
    np.testing.assert_array_equal(changed.goals, experiment.goals[:3])
    assert (changed.tried != experiment.tried[:3]).any()
    assert done == [1, 2, 3]


def test_where_the_training_goal_was_makes_no_difference(run, experiment):
    elsewhere = move_goal(run.task, np.array([0.9, 0.9]))
    moved = run_experiment(elsewhere, run.elites, trials=15, goals=30, seed=4)
    np.testing.assert_array_equal(moved.tried, experiment.tried)


def test_bad_requests_are_one_clear_sentence():
    few = collection(grid(2))
    with pytest.raises(UserError, match="4 elites, too few for 5 trials"):
        run_experiment(PointMaze(), few, trials=5, goals=3, seed=0)
    with pytest.raises(UserError, match="number of goals is 0"):
        run_experiment(PointMaze(), few, trials=2, goals=0, seed=0)
    with pytest.raises(UserError, match="ant-trap has no goal that can be moved"):
        run_experiment(AntTrap(), few, trials=2, goals=1, seed=0)
