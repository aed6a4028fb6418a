"""Looks at the best elites while a run is trained, and what counts as solved."""

import dataclasses

import jax
import numpy as np
import pytest

from qdpg.learn.networks import init_mlp, init_population
from qdpg.memory.elites import Elites
from qdpg.play.player import make_player
from qdpg.play.starts import fresh_starts
from qdpg.runs.looks import CANDIDATES, STARTS, Looks, is_look_due
from qdpg.runs.solved import steps_to_solved
from qdpg.tasks.point_maze import PointMaze

TASK = PointMaze(horizon=25)
STEPS = np.array([10.0, 20.0, 30.0, 40.0])


class Counting:
    """A player that counts the episodes it plays."""

    def __init__(self):
        self.player, self.seeds = make_player(TASK), []

    def play(self, population, seeds, **options):
        self.seeds += seeds.tolist()
        return self.player.play(population, seeds, **options)


def trained():
    elites = Elites(TASK.spec, init_mlp(jax.random.key(0), (2, 8, 2)), (5, 5))
    population = init_population(jax.random.key(2), 40, (2, 8, 2))
    elites.add(population, make_player(TASK).play(population, np.arange(40)), 0)
    return elites


def test_the_best_elite_is_chosen_by_some_starts_and_judged_by_others():
    player, elites = Counting(), trained()
    judged = Looks(player).judge_best(elites)
    best = np.argsort(-elites.data()["objective"], kind="stable")[:CANDIDATES]
    means = {}
    for purpose in ("look-choose", "look-report"):
        population = elites.policies(np.repeat(best, STARTS))
        played = player.player.play(population, np.tile(fresh_starts(purpose, STARTS), len(best)), record=False)
        means[purpose] = played.fitness.reshape(len(best), -1).mean(axis=1)
    assert judged == means["look-report"][means["look-choose"].argmax()]
    chosen, reported = (set(fresh_starts(purpose, STARTS).tolist()) for purpose in ("look-choose", "look-report"))
    assert set(player.seeds) == chosen | reported
    assert len(player.seeds) == (CANDIDATES + 1) * STARTS


def test_an_elite_is_not_played_twice():
    player, elites = Counting(), trained()
    looks = Looks(player)
    first = looks.judge_best(elites)
    count = len(player.seeds)
    assert looks.judge_best(elites) == first
    assert len(player.seeds) == count


@pytest.mark.parametrize(
    ("means", "expected"),
    [
        ([0, 1, 1, 0], 30.0),
        ([1, 1, 0, 0], 20.0),
        ([1, 0, 1, 0], np.inf),
        ([0, 0, 0, 1], np.inf),
        ([np.nan, 1, np.nan, 1], np.inf),
        ([np.nan, np.nan, 1, 1], 40.0),
        ([1, 1, 1, 1], 20.0),
    ],
)
def test_solved_means_two_looks_in_a_row(means, expected):
    assert steps_to_solved(STEPS, np.array(means, float), 1.0) == expected


def test_nothing_is_solved_without_looks_or_a_threshold():
    assert steps_to_solved(np.array([]), np.array([]), 1.0) == np.inf
    assert np.isnan(steps_to_solved(STEPS, np.ones(4), None))


def test_when_a_look_is_due():
    spec = PointMaze().spec
    assert not is_look_due(spec, 0, 5000, spec.solved - 0.1)
    assert is_look_due(spec, 0, 5000, spec.solved)
    endless = dataclasses.replace(spec, solved=None, horizon=1000, evaluate_every=150_000)
    # 80 episodes of 1,000 steps may be a fifth of what is trained: every 450,000 steps.
    assert [n for n in range(1, 10) if is_look_due(endless, (n - 1) * 150_000, n * 150_000, 0.0)] == [3, 6, 9]
