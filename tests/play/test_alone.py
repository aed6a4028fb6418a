"""One policy, one result: what a stored elite does by itself is what it did in the player, bit for bit."""

import gymnasium
import jax
import numpy as np
import pytest

from qdpg import load_run
from qdpg.algorithms.registry import config_to_json, make_config
from qdpg.learn.networks import init_population
from qdpg.play import make_player
from qdpg.play.alone import act_alone, arithmetic_of
from qdpg.runs.run import RunConfig, create_run
from qdpg.runs.train import Trainer
from qdpg.tasks import make_task

ENVS = {"point-maze": "qdpg/PointMaze-v0", "ant-maze": "qdpg/AntMaze-v0", "ant-trap": "qdpg/AntTrap-v0"}


class Silent:
    def update(self, row):
        pass

    def say(self, sentence):
        pass


def play_by_hand(env, policy, seed, spec):
    """Fitness and behaviour of an episode in an ordinary Gymnasium loop."""
    observation, info = env.reset(seed=seed)
    rewards, is_over = [], False
    while not is_over:
        observation, reward, terminated, truncated, info = env.step(policy.act(observation))
        rewards.append(np.float32(reward))
        is_over = terminated or truncated
    fitness = np.cumsum(rewards, dtype=np.float64)[-1] if spec.fitness == "return" else np.float64(max(rewards))
    return fitness * spec.fitness_scale, info["state_descriptor"]


@pytest.mark.parametrize("name", ENVS)
def test_stored_episodes_come_out_the_same_through_gymnasium(name, tmp_path):
    options = {"horizon": 150}
    settings = {"population": 6, "initial_policies": 8, "hidden": (24, 16), "iso_sigma": 0.3}
    config = config_to_json(make_config("map-elites", "tuned", name, settings))
    run = create_run(tmp_path / "run", RunConfig(name, options, "map-elites", "tuned", config, seed=5, steps=2500))
    Trainer(run, Silent()).train()
    elites, env = load_run(run.path).elites, gymnasium.make(ENVS[name], **options)
    assert len(elites) > 1 or name == "ant-maze"
    for elite in elites:
        fitness, behaviour = play_by_hand(env, elite, elite.seed, elites.spec)
        assert fitness == elite.fitness
        assert np.array_equal(behaviour, elite.behaviour)


@pytest.mark.parametrize("output", ["tanh", "linear"])
@pytest.mark.parametrize("name", ENVS)
def test_every_action_of_a_player_is_that_of_the_policy_alone(name, output):
    task = make_task(name, horizon=60)
    spec = task.spec
    population = jax.tree.map(
        lambda leaf: 2 * np.asarray(leaf),
        init_population(jax.random.key(1), 7, (spec.observation_size, 40, 20, spec.action_size), output=output),
    )
    played = make_player(task).play(population, np.arange(7))
    for n in range(7):
        act = act_alone(jax.tree.map(lambda leaf, n=n: leaf[n : n + 1], population), arithmetic_of(task))
        length = played.lengths[n]
        assert np.array_equal(act(played.observations[n, :length]), played.actions[n, :length])


def test_shapes():
    population = jax.tree.map(np.asarray, init_population(jax.random.key(1), 1, (3, 4, 2)))
    for arithmetic in ("jax", "native"):
        act = act_alone(population, arithmetic)
        assert act(np.zeros((5, 3), np.float32)).shape == (5, 2)
