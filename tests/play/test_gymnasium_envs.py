"""Vector environments: taken where nobody can tell the difference, and left alone where somebody could."""

from __future__ import annotations

from dataclasses import replace

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from qdpg.learn.networks import init_population
from qdpg.play.acting import Noise
from qdpg.play.gymnasium_envs import Separate, Together, make_environments
from qdpg.play.gymnasium_player import GymnasiumPlayer
from qdpg.tasks.gymnasium import GymnasiumTask

OBSERVED, ACTED = Box(-9.0, 9.0, (2,), np.float64), Box(-2.0, 2.0, (1,), np.float64)


def start(seed):
    return np.random.default_rng(seed).uniform(-1, 1, 2)


def move(state, action):
    """A cart [..., 2] that ends beyond 1.5."""
    speed = 0.9 * state[..., 1] + 0.2 * action[..., 0]
    after = np.stack([state[..., 0] + 0.3 * speed, speed], axis=-1)
    return after, -np.square(action[..., 0]), np.abs(after[..., 0]) > 1.5


class Cart(gymnasium.Env):
    observation_space, action_space = OBSERVED, ACTED

    def __init__(self, pull=1.0, max_episode_steps=None):
        self.pull = pull

    def reset(self, *, seed=None, options=None):
        self.state = start(seed)
        return self.state, {"state_descriptor": self.state[:1]}

    def step(self, action):
        self.state, reward, ended = move(self.state, self.pull * action)
        return self.state, float(reward), bool(ended), False, {"state_descriptor": self.state[:1]}


class Carts(VectorEnv):
    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012 (as Gymnasium has it)
    steps = 0

    def __init__(self, num_envs=1, pull=1.0, max_episode_steps=None):
        self.num_envs, self.pull = num_envs, pull
        self.single_observation_space, self.single_action_space = OBSERVED, ACTED
        self.observation_space, self.action_space = (batch_space(each, num_envs) for each in (OBSERVED, ACTED))
        self.ended = np.zeros(num_envs, bool)

    def tell(self):
        return self.state.copy(), {"state_descriptor": self.state[:, :1].copy()}

    def reset(self, *, seed=None, options=None):
        self.state, self.ended = np.stack([start(each) for each in seed]), np.zeros(self.num_envs, bool)
        return self.tell()

    def step(self, actions):
        type(self).steps += 1
        after, rewards, ended = move(self.state, self.pull * actions)
        self.state = np.where(self.ended[:, None], start(0), after)  # whoever ended begins anew
        self.ended = ended & ~self.ended
        observations, infos = self.tell()
        return observations, rewards, self.ended, np.zeros(self.num_envs, bool), infos


class OneSeedForAll(Carts):
    def reset(self, *, seed=None, options=None):
        return super().reset(seed=[seed[0]] * self.num_envs)


class Otherwise(Carts):
    def step(self, actions):
        observations, rewards, *rest = super().step(actions)
        return observations, np.nextafter(rewards, np.inf), *rest


class Hiding(Carts):
    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012


class SilentlyHiding(Carts):
    """It begins anew in the step in which an episode ends, and does not say so."""

    metadata = {}  # noqa: RUF012

    def step(self, actions):
        _, rewards, ended, *rest = super().step(actions)
        self.state = np.where(self.ended[:, None], start(0), self.state)
        return self.state.copy(), rewards, ended, *rest


class Nested(Carts):
    def tell(self):
        observations, infos = super().tell()
        return observations, infos | {
            "more": {"place": self.state[:, 0].copy(), "_place": np.ones(self.num_envs, bool)}
        }


class Breaking(Carts):
    def reset(self, *, seed=None, options=None):
        raise TypeError("expected an integer")


for vector in (Carts, OneSeedForAll, Otherwise, Hiding, SilentlyHiding, Nested, Breaking):
    gymnasium.register(f"{vector.__name__}-v0", Cart, vector_entry_point=vector, max_episode_steps=30)
gymnasium.register("Cart-v0", Cart, max_episode_steps=30)

TASK = GymnasiumTask("Carts-v0", low=-1.5, high=1.5)


def play(task, number=5):
    population = init_population(jax.random.key(0), number, (2, 8, 1))
    return GymnasiumPlayer(task).play(population, np.arange(10, 10 + number), noise=Noise(0.3))


def test_episodes_in_a_vector_environment_are_those_of_single_ones():
    assert isinstance(make_environments(TASK), Together)
    before = Carts.steps
    together, separate = play(TASK), play(replace(TASK, env="Cart-v0"))
    assert 0 < Carts.steps - before <= 30 + 30  # tried, then played
    assert len(set(separate.lengths.tolist())) > 1  # some end early
    for name in ("lengths", "terminated", "rewards", "descriptors", "observations", "actions"):
        assert getattr(together, name).tobytes() == getattr(separate, name).tobytes(), name


def test_arguments_reach_the_vector_environment():
    strong = replace(TASK, kwargs={"pull": 2.0})
    assert isinstance(make_environments(strong), Together)
    assert play(strong).rewards.tobytes() == play(replace(strong, env="Cart-v0")).rewards.tobytes()
    assert play(strong).rewards.tobytes() != play(TASK).rewards.tobytes()


def test_the_number_of_episodes_may_change():
    player = GymnasiumPlayer(TASK)
    population = init_population(jax.random.key(0), 4, (2, 8, 1))
    four = player.play(population, np.arange(4))
    two = player.play(jax.tree.map(lambda leaf: leaf[:2], population), np.arange(2))
    assert two.rewards.tobytes() == four.rewards[:2].tobytes()


def test_infos_may_be_nested():
    nested = replace(TASK, env="Nested-v0")
    assert isinstance(make_environments(nested), Together)
    assert play(nested).rewards.tobytes() == play(TASK).rewards.tobytes()


@pytest.mark.parametrize(
    "name", ["OneSeedForAll-v0", "Otherwise-v0", "Hiding-v0", "SilentlyHiding-v0", "Breaking-v0", "Cart-v0"]
)
def test_others_are_played_one_by_one(name):
    assert isinstance(make_environments(replace(TASK, env=name)), Separate)


def test_ready_made_descriptors_look_into_single_environments():
    task = GymnasiumTask("Hopper-v5", descriptor="feet", behaviour="mean", low=0, high=1)
    assert isinstance(make_environments(task), Separate)
