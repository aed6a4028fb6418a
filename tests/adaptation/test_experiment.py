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
    run_train("point-maze", "map-elites", "tuned", 100_000, 0, path, settings, False, 1e9, 0.0, quiet=True)
    return load_run(path)


@pytest.fixture(scope="module")
def plays():
    """What the experiment of this module let its elites play, in order."""
    return []


@pytest.fixture(scope="module")
def experiment(run, plays):
    def play(*arguments):
        plays.append(play_elites(*arguments))
        return plays[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("qdpg.adaptation.experiment.play_elites", play)
        return run_experiment(run.task, run.elites, trials=15, goals=30, seed=4)


def test_optimisation_comes_near_exhaustive_search_and_beats_random_choice(run, experiment):
    assert len(run.elites) > 40, "enough to choose from"
    means = {name: summary["mean"] for name, summary in summarise(experiment.found()).items()}
    assert means["random"] < means["bayesian"] <= means["exhaustive"]
    behind = means["exhaustive"] - means["bayesian"]
    assert behind < 0.1 * abs(means["exhaustive"])
    assert behind < 0.5 * (means["exhaustive"] - means["random"])


def test_scores_are_those_of_the_elites_named_and_again_those_of_another_start(run, experiment, plays):
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
    played, again = plays
    assert not set(played.seeds.tolist()) & set(again.seeds.tolist()), "nobody plays twice from the same start"
    for goal, row in enumerate(experiment.rows(elites.cells_index)):
        assert 1 <= row["found_in_trial"] <= row["trials"] == 15
        place = np.array([row["goal_x"], row["goal_y"]])
        of_goal, once_more = (scores(run.task, each, place) for each in (played, again))
        for name in METHODS:
            elite = cell[row[f"{name}_elite"]]
            assert row[name] == of_goal[elite]
            assert row[f"{name}_again"] == experiment.again[name][goal] == once_more[elite]


def test_starts_are_fresh_unless_those_that_elites_were_stored_for_are_wanted(run, experiment, plays):
    assert not set(run.elites.seeds.tolist()) & {seed for played in plays for seed in played.seeds.tolist()}
    own = run_experiment(run.task, run.elites, trials=15, goals=3, seed=4, starts="own")
    np.testing.assert_array_equal(own.goals, experiment.goals[:3])
    assert (own.best_scores != experiment.best_scores[:3]).all()
    stored = play_elites(run.task, run.elites, "own", 0)
    for goal, best in zip(own.goals, own.best_scores, strict=True):
        assert scores(run.task, stored, goal).max() == best
    # Whoever was found is played again from a fresh start all the same.
    once_more = np.stack([scores(run.task, plays[1], goal) for goal in own.goals])
    np.testing.assert_array_equal(own.again["exhaustive"], once_more[np.arange(3), own.best])


def test_the_same_seed_gives_the_same_and_another_does_not(run, experiment):
    again = run_experiment(run.task, run.elites, trials=15, goals=30, seed=4)
    first, second = (dataclasses.asdict(each) for each in (experiment, again))
    first_again, second_again = first.pop("again"), second.pop("again")
    assert first_again.keys() == second_again.keys() == set(METHODS)
    for name, array in (first | first_again).items():
        np.testing.assert_array_equal((second | second_again)[name], array, err_msg=name)
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
