"""CMA-MAE: strategies learn from improvements over thresholds, and from nothing else."""

import numpy as np
import pytest
from small import TASK, advance

from qdpg.algorithms.cma_mae import THRESHOLDS
from qdpg.algorithms.registry import ALGORITHMS, make_algorithm, make_config
from qdpg.errors import UserError
from qdpg.learn.networks import flatten_population
from qdpg.learn.sep_cma import update
from qdpg.play.player import make_player
from qdpg.runs.checkpoint import Checkpoints
from qdpg.runs.records import Ties

PLAYER = make_player(TASK)
SMALL = {"population": 11, "strategies": 2, "hidden": (8, 8), "cells": (4, 4), "annealing_rate": 0.1, "sigma": 0.1}


def make(seed=0, **changes):
    return make_algorithm("cma-mae", TASK.spec, make_config("cma-mae", "tuned", TASK.spec, SMALL | changes), seed)


def learned(algorithm, name="strategy 1"):
    return algorithm._state.learners[name]


def test_every_strategy_samples_around_its_own_mean_from_the_first_generation_on():
    algorithm = make()
    generation = algorithm.ask()
    vectors, makers = flatten_population(generation.candidates.policies), generation.makers()
    assert makers.tolist() == [1] * 6 + [2] * 5
    for i in (1, 2):
        mean = learned(algorithm, f"strategy {i}").strategy.mean
        own, other = (np.abs(vectors[makers == each] - mean).mean() for each in (i, 3 - i))
        assert own < 0.15 < other
    assert algorithm.emitter_names == ["random", *(f"evolution strategy (strategy {i})" for i in (1, 2))]


def test_strategies_learn_from_what_their_own_samples_gained_over_thresholds():
    algorithm = make(seed=1)
    advance(algorithm, PLAYER, 2)
    generation, before = algorithm.ask(), learned(algorithm, "strategy 2").strategy
    thresholds = learned(algorithm, THRESHOLDS)
    rollouts = generation.play(PLAYER)
    algorithm.tell(generation, rollouts)
    cells = algorithm.elites.archive.index_of(rollouts.behaviours)
    gains = rollouts.fitness - thresholds[cells]
    after, _ = update(before, int(generation.learned["strategy 2"].seed), gains[6:])
    np.testing.assert_array_equal(learned(algorithm, "strategy 2").strategy.mean, after.mean)
    assert (after.mean != before.mean).any()
    assert (learned(algorithm, THRESHOLDS) > thresholds).any()
    assert (learned(algorithm, THRESHOLDS) >= thresholds).all()


def test_thresholds_stay_below_the_elites():
    algorithm = make(seed=2)
    assert (learned(algorithm, THRESHOLDS) == TASK.spec.fitness_floor).all()
    advance(algorithm, PLAYER, 4)
    data, thresholds = algorithm.elites.data(), learned(algorithm, THRESHOLDS)
    assert (thresholds[data["index"]] < data["objective"]).all()
    assert (np.delete(thresholds, data["index"]) == TASK.spec.fitness_floor).all()


def test_who_is_played_again_teaches_no_strategy():
    algorithm = make(seed=3, **{"archive.reevaluations": 1.0})
    advance(algorithm, PLAYER, 2)
    generation = algorithm.ask()
    assert (generation.makers() == 3).sum() > 3
    rollouts = generation.play(PLAYER)
    before = learned(algorithm).strategy, learned(algorithm, THRESHOLDS)
    algorithm.tell(generation, rollouts)
    cells = algorithm.elites.archive.index_of(rollouts.behaviours)
    own = generation.makers() == 1
    after, _ = update(before[0], int(generation.learned["strategy 1"].seed), (rollouts.fitness - before[1][cells])[own])
    np.testing.assert_array_equal(learned(algorithm).strategy.mean, after.mean)


def test_a_strategy_that_has_ended_starts_again_from_an_elite():
    algorithm = make(seed=4)
    advance(algorithm, PLAYER, 1)
    emitter = algorithm.strategies[0]
    state = emitter.learn(learned(algorithm), np.zeros(6), algorithm.elites, np.random.default_rng(0))
    assert (algorithm.elites.data()["solution"] == state.strategy.mean).all(axis=1).any()
    assert (state.strategy.sigma, state.strategy.samples) == (0.1, 0)


def test_resumes_exactly_where_it_stopped(tmp_path):
    whole, first, second = (make(seed=5) for _ in range(3))
    advance(whole, PLAYER, 5)
    advance(first, PLAYER, 3)
    Checkpoints(tmp_path).write(first, Ties("", first.generation, first.steps, {}, {}), {"all": 0.0})
    Checkpoints(tmp_path).restore(second, "")
    second.ask()  # leaves no trace
    advance(second, PLAYER, 2)
    expected, found = whole.state(), second.state()
    assert found.keys() == expected.keys()
    for key, array in expected.items():
        np.testing.assert_array_equal(found[key], array, err_msg=key)


def test_footprint_is_what_is_remembered():
    algorithm = make(seed=6)
    advance(algorithm, PLAYER, 4)
    foreseen = ALGORITHMS["cma-mae"].family.footprint(TASK.spec, algorithm.config, "cma-mae")
    assert sum(array.nbytes for array in algorithm.state().values()) <= foreseen.checkpoint
    assert foreseen.replay == 0


def test_too_few_offspring_are_refused():
    with pytest.raises(UserError, match=r"population=3 leaves fewer for 2; enlarge it"):
        make(population=3)


def test_the_authors_numbers():
    config = make_config("cma-mae", "paper", "ant-trap", {})
    assert (config.strategies, config.population, config.sigma, config.annealing_rate) == (5, 200, 0.02, 0.001)
