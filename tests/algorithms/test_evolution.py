"""What all evolution strategies share: chunks, counters, evaluation, memory."""

import time

import jax
import numpy as np
import pytest
from strategies import PLAYER, STRATEGIES, TASK, assert_same_state, evolve, make_strategy

from qdpg.algorithms.algorithm import TriesOut
from qdpg.algorithms.registry import ALGORITHMS, footprint, make_algorithm, make_config
from qdpg.errors import UserError
from qdpg.learn.climbing import Stopped
from qdpg.learn.networks import apply_mlp, flatten_population, unflatten_population
from qdpg.play.player import make_player
from qdpg.tasks.ant_maze import AntMaze
from qdpg.tasks.point_maze import PointMaze


@pytest.mark.parametrize("name", STRATEGIES)
def test_paper_preset_is_the_published_one(name):
    config = make_config(name, "paper", "ant-maze", {})
    published = {
        "pairs": 5000,
        "sigma": 0.02,
        "rate": 0.01,
        "decay": 0.005,
        "action_noise": 0.01,
        "evaluations": 30,
        "hidden": (256, 256),
        "initialisation": "normalised",
        "normalise": True,
        "neighbours": 10,
        "novelty": "squared",
        "cells": (10, 10),
        "parents": 5,
    }
    assert {key: getattr(config, key) for key in published} == published


@pytest.mark.parametrize("name", STRATEGIES)
def test_resumed_equals_uninterrupted(name):
    whole, first, second = (make_strategy(name) for _ in range(3))
    evolve(whole, 14)
    evolve(first, 6)
    first.ask()  # as if killed inside a generation
    second.load(first.state())
    evolve(second, 8)
    assert_same_state(whole, second)
    assert isinstance(whole, TriesOut)


def test_chunks_do_not_change_results():
    whole, pieces = make_strategy("me-es"), make_strategy("me-es", chunk=5)  # two pairs at a time
    for algorithm in (whole, pieces):
        evolve(algorithm, 4)
    assert_same_state(whole, pieces)


def test_no_chunk_exceeds_its_bound_and_nothing_is_recorded():
    algorithm = make_strategy("ns-es", pairs=10, chunk=6)
    evolve(algorithm)
    played = []

    class Watching:
        def play(self, population, seeds, **options):
            played.append((len(seeds), options["record"], options["noise"].sigma))
            return PLAYER.play(population, seeds, **options)

    algorithm.player = Watching()
    generation = algorithm.ask()
    assert played == [(6, False, 0.1)] * 3 + [(2, False, 0.1)]
    assert generation.tried.episodes == 20
    assert not generation.candidates.sigma.any()


def test_every_perturbation_counts():
    algorithm = make_strategy("nsr-es")
    evolve(algorithm)
    assert algorithm.steps == 5 * 3 * 40
    generation, told = evolve(algorithm)
    assert generation.tried == (12, 12 * 40)
    assert algorithm.steps == (5 * 3 + 12 + 3) * 40
    assert told["perturbations"] == 12


def test_stopping_inside_a_generation_gives_it_up():
    algorithm = make_strategy("me-es", chunk=4)
    evolve(algorithm, 2)
    before, asked = algorithm.state(), iter([False, True])
    with pytest.raises(Stopped):
        algorithm.ask(stop=lambda: next(asked))
    for name, array in algorithm.state().items():
        np.testing.assert_array_equal(array, before[name], err_msg=name)


def test_policies_in_the_grid_are_plain_networks_that_replay_exactly():
    algorithm = make_strategy("me-es")
    evolve(algorithm, 8)
    data = algorithm.elites.data()
    played = PLAYER.play(algorithm.elites.policies(np.arange(len(data["seed"]))), data["seed"], record=False)
    np.testing.assert_array_equal(played.fitness, data["objective"])
    np.testing.assert_array_equal(played.behaviours, data["measures"])
    assert not data["noise"].any()


def test_the_median_episode_represents_a_policy():
    algorithm = make_strategy("ns-es", parents=1, evaluations=5)
    generation = algorithm.ask()
    rollouts = generation.play(PLAYER)
    algorithm.tell(generation, rollouts)
    assert algorithm.elites.data()["objective"] == np.median(rollouts.fitness)
    np.testing.assert_allclose(algorithm.visited.descriptors[0], rollouts.behaviours.mean(axis=0), rtol=1e-6)


def test_normalisation_changes_coordinates_but_not_the_policy():
    """A perturbation moves the activations of the first layer equally, however observations are scaled."""
    algorithm = make_strategy("ns-es")
    evolve(algorithm, 3)
    start = algorithm._start(np.random.default_rng(0))
    centre = algorithm._centre(start)
    np.testing.assert_allclose(flatten_population(algorithm._plain(centre[None]))[0], start.policy, atol=1e-5)
    mean, std = algorithm._state.observed.moments()
    observations = np.random.default_rng(1).normal(mean, std, (50, 2)).astype(np.float32)
    moved = jax.tree.map(lambda leaf: leaf[0], algorithm._plain(centre[None]))
    normalised = jax.tree.map(lambda leaf: leaf[0], unflatten_population(centre[None], algorithm.template))
    np.testing.assert_allclose(
        apply_mlp(moved, observations), apply_mlp(normalised, (observations - mean) / std), atol=1e-5
    )
    assert algorithm._state.observed.number == 40 * (5 * 3 + 2 * 3)


@pytest.mark.parametrize("change", [{"pairs": 0}, {"evaluations": 0}, {"parents": 0}, {"chunk": 1}])
def test_settings_that_make_no_sense_are_refused(change):
    with pytest.raises(UserError, match="at least"):
        make_strategy("ns-es", **change)


def test_footprint_covers_the_checkpoint_and_is_bounded_by_the_chunk():
    algorithm = make_strategy("me-es", hidden=(64, 64))
    evolve(algorithm, 4)
    spec = TASK.spec
    foreseen = footprint("me-es", spec, algorithm.config)
    assert sum(array.nbytes for array in algorithm.state().values()) <= foreseen.checkpoint
    many = make_config("me-es", "paper", "ant-maze", {"evaluations": 1})
    few = make_config("me-es", "paper", "ant-maze", {"evaluations": 1, "pairs": 500})
    ants = AntMaze().spec
    assert footprint("me-es", ants, many).memory == footprint("me-es", ants, few).memory < 2**30


def test_ant_maze_takes_a_step():
    """A real ant, both performances told."""
    task = AntMaze(horizon=20, reward_scale=0.05)
    config = make_config("me-es", "tuned", "ant-maze", {"pairs": 4, "hidden": (16,), "chunk": 4})
    algorithm = make_algorithm("me-es", task.spec, config, 0)
    algorithm.player = make_player(task)
    for _ in range(2):
        generation = algorithm.ask()
        rollouts = generation.play(algorithm.player)
        told = algorithm.tell(generation, rollouts)
    assert algorithm.steps == (5 + 8 + 1) * 20
    assert told["last_reward"] == pytest.approx(20 * rollouts.rewards[0, -1])  # unscaled, as fitness is
    assert told["last_reward"] <= told["fitness"]  # the best of the episode is no worse than its end


def test_the_papers_columns():
    """Table 4 has quality and diversity selection and a collection for all; NS-ES does not look at quality."""
    for name in (*STRATEGIES, "map-elites", "cvt-map-elites"):
        columns = list(ALGORITHMS[name].summary().values())[1:]
        assert columns == [False, False, name != "ns-es", True, True], name


def test_perturbations_are_played_fast():
    """Far below what the machine can do, so that only a slow path fails: 1000 perturbations of a generation."""
    task = PointMaze()
    config = make_config("ns-es", "tuned", "point-maze", {"pairs": 500})
    algorithm = make_algorithm("ns-es", task.spec, config, 0)
    algorithm.player = make_player(task)
    evolve(algorithm)
    algorithm.ask()  # compiles
    began = time.perf_counter()
    tried = algorithm.ask().tried
    assert tried.steps / (time.perf_counter() - began) > 100_000
