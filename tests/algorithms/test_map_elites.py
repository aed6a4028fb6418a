"""MAP-Elites and CVT-MAP-Elites: what is published about them, and whether they illuminate."""

from dataclasses import dataclass, replace

import jax.numpy as jnp
import numpy as np
import pytest

from qdpg.algorithms.map_elites import Config, MapElites, footprint, preset
from qdpg.algorithms.registry import make_config
from qdpg.errors import UserError
from qdpg.learn.networks import flatten_population
from qdpg.play.player import make_player
from qdpg.tasks.point_maze import PointMaze
from qdpg.tasks.task import JaxTask, TaskSpec

TASK = PointMaze(horizon=50)
SMALL = Config(population=20, initial_policies=30, hidden=(16,), iso_sigma=0.05)
NAMES = {"map-elites": (5, 5), "cvt-map-elites": 25}


def advance(algorithm, player, generations=1):
    for _ in range(generations):
        generation = algorithm.ask()
        rollouts = generation.play(player)
        told = algorithm.tell(generation, rollouts)
    return generation, told


@dataclass(frozen=True)
class PlanarArm(JaxTask):
    """Eight joints in a plane; one step sets all angles. Behaviour: where the hand is; fitness: equal angles."""

    @property
    def spec(self):
        sizes = {"observation_size": 1, "action_size": 8, "horizon": 1}
        bounds = {"action_low": (-1.0,) * 8, "action_high": (1.0,) * 8}
        return TaskSpec(name="arm", descriptor_low=(0.0, 0.0), descriptor_high=(1.0, 1.0), **sizes, **bounds)

    def reset(self, key):
        return jnp.zeros(8)

    def step(self, state, action):
        return action, -jnp.std(action), jnp.array(False)

    def observe(self, state):
        return jnp.zeros(1)

    def describe(self, state):
        angles = jnp.cumsum(jnp.pi * state)
        return 0.5 + jnp.stack([jnp.cos(angles).sum(), jnp.sin(angles).sum()]) / 16


@pytest.mark.long
@pytest.mark.parametrize(("name", "cells"), [("map-elites", (32, 32)), ("cvt-map-elites", 256)])
def test_planar_arm_after_50_000_evaluations(name, cells):
    """Random search reaches 0.57 of the grid, the published operator 0.82 (in batches of 100)."""
    task = PlanarArm()
    algorithm, player = MapElites(task.spec, Config(100, 100, (), cells=cells), 0, name), make_player(task)
    advance(algorithm, player, 500)
    assert algorithm.steps == 50_000
    assert algorithm.elites.coverage >= 0.77


def test_presets():
    paper = preset("paper", "ant-maze")
    assert (paper.iso_sigma, paper.line_sigma, paper.population, paper.initial_policies) == (0.01, 0.2, 100, 500)
    assert (paper.hidden, paper.cells) == ((256, 256), (7, 7))
    assert preset("paper", "ant-maze", "cvt-map-elites").cells == 1024
    assert preset("tuned", "point-maze", "cvt-map-elites").cells == 25


@pytest.mark.parametrize(("name", "cells"), NAMES.items())
def test_resumed_equals_uninterrupted(name, cells):
    config, player = replace(SMALL, cells=cells), make_player(TASK)
    whole, first, second = (MapElites(TASK.spec, config, 3, name) for _ in range(3))
    advance(whole, player, 6)
    advance(first, player, 3)
    first.ask()  # as if killed before it was told
    second.load(first.state())
    advance(second, player, 3)
    expected = whole.state()
    assert expected.keys() == second.state().keys()
    for key, array in second.state().items():
        np.testing.assert_array_equal(array, expected[key], err_msg=key)


def test_every_episode_counts_and_ends_in_the_grid_or_not():
    algorithm, player = MapElites(TASK.spec, SMALL, 0), make_player(TASK)
    generation, told = advance(algorithm, player)
    assert not generation.record
    assert algorithm.steps == 30 * 50
    assert told["new_cells"] >= len(algorithm.elites)
    advance(algorithm, player, 2)
    assert algorithm.steps == (30 + 20 + 20) * 50
    assert algorithm.generation == 3


def test_elites_replay_exactly():
    algorithm, player = MapElites(TASK.spec, SMALL, 0), make_player(TASK)
    advance(algorithm, player, 4)
    data = algorithm.elites.data()
    played = player.play(algorithm.elites.policies(np.arange(len(algorithm.elites))), data["seed"], record=False)
    np.testing.assert_array_equal(played.fitness, data["objective"])
    np.testing.assert_array_equal(played.behaviours, data["measures"])


def test_offspring_vary_all_parameters_around_elites():
    algorithm, player = MapElites(TASK.spec, replace(SMALL, line_sigma=0.0), 0), make_player(TASK)
    advance(algorithm, player)
    children = flatten_population(algorithm.ask().candidates.policies)
    elites = algorithm.elites.data()["solution"]
    steps = (children[:, None] - elites[None]).std(axis=2).min(axis=1)  # to the parent, the nearest elite
    np.testing.assert_allclose(steps, 0.05, rtol=0.35)


def test_the_last_reward_is_told():
    algorithm, player = MapElites(TASK.spec, SMALL, 0), make_player(TASK)
    generation = algorithm.ask()
    rollouts = generation.play(player)
    told = algorithm.tell(generation, rollouts)
    np.testing.assert_array_equal(told["episodes"]["last_reward"], rollouts.rewards[:, -1])
    assert told["best_last_reward"] == rollouts.rewards[:, -1].max()


@pytest.mark.parametrize(
    ("change", "name", "sentence"),
    [
        ({"cells": 25}, "map-elites", "does not fit map-elites"),
        ({"cells": (5, 5)}, "cvt-map-elites", "does not fit cvt-map-elites"),
        ({"cells": (5, 5, 5)}, "map-elites", "2 descriptors, but cells is"),
    ],
)
def test_settings_that_make_no_sense_are_refused(change, name, sentence):
    with pytest.raises(UserError, match=sentence):
        MapElites(TASK.spec, replace(SMALL, **change), 0, name)


@pytest.mark.parametrize("setting", ["population", "initial_policies"])
def test_an_empty_generation_is_refused(setting):
    with pytest.raises(UserError, match=f"{setting}.* must be .*, not 0"):
        make_config("map-elites", "tuned", "point-maze", {setting: 0})


def test_footprint_covers_the_checkpoint():
    algorithm, player = MapElites(TASK.spec, SMALL, 0), make_player(TASK)
    advance(algorithm, player, 5)
    foreseen = footprint(TASK.spec, SMALL, "map-elites")
    held = sum(array.nbytes for array in algorithm.state().values())
    assert held <= foreseen.checkpoint < 4 * held
    assert foreseen.replay == 0
    assert foreseen.memory > 6 * 30 * 4 * algorithm.elites.data()["solution"].shape[1]


def test_illuminates_point_maze_better_than_chance():
    """As many random policies as MAP-Elites plays fill fewer cells."""
    player, filled = make_player(PointMaze()), {}
    for generations, config in ((9, preset("tuned", "point-maze")), (1, Config(initial_policies=1000))):
        algorithm = MapElites(PointMaze().spec, config, 0)
        advance(algorithm, player, generations)
        filled[generations] = len(algorithm.elites)
        assert algorithm.steps == 200 * 1000
    assert filled[9] >= max(15, filled[1] + 3), filled
