"""Soft actor-critic (Haarnoja et al., ICML 2018): one policy that acts at random, as far as that costs little.

The update is that of `learn/sac.py`; the episodes are those of `off_policy.py`. Exploration episodes play the policy
as it is, with its own draws; it is judged, and handed over, without them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import numpy as np

from qdpg.algorithms.algorithm import Family, Footprint
from qdpg.algorithms.off_policy import OffPolicy, OffPolicyConfig
from qdpg.algorithms.pieces import engine_settings, replay_footprint
from qdpg.algorithms.td3 import tune
from qdpg.errors import UserError
from qdpg.learn.climbing import CHUNK, in_chunks
from qdpg.learn.discriminator import Discriminator
from qdpg.learn.networks import LOG_DEVIATION, MLP, count_parameters, init_mlp
from qdpg.learn.sac import Agent, SACSettings, improve, init_agent
from qdpg.play.rollouts import Rollouts
from qdpg.ranges import Count, CountOrNone, NotNegative
from qdpg.tasks.task import TaskSpec


@dataclass(frozen=True)
class Config(OffPolicyConfig, SACSettings):
    """Settings of SAC. Defaults are those of its authors' "Soft Actor-Critic Algorithms and Applications" (2018): Adam
    at 3·10⁻⁴, minibatches of 256, γ 0.99, τ 0.005, two hidden layers of 256, 10⁶ transitions, one update per step of
    the environment, an entropy of −1 per action. Deviations between e⁻⁵ and e² and 5,000 steps at random are CleanRL's.

    Attributes:
        exploration_noise: In units of the policy's own standard deviation; 1 is the policy itself.
        exploration_episodes: Played at random, as the policy says, beside one without; with only every second at random
            it learned HalfCheetah more slowly (docs/results/against-sb3.md).
    """  # noqa: D205

    exploration_episodes: Count = 4
    start_steps: CountOrNone = 5_000
    exploration_noise: NotNegative = 1.0


def preset(name: str, task: str, algorithm: str = "sac") -> Config:
    """The settings of preset `name` for `task`.

    "paper" is SAC's own, because the QD-PG paper gives none for its baselines. "tuned" is TD3's `tune` of that, but it
    explores as its policy says, and has no linear layer. On the paper's tasks the temperature starts at a twentieth, as
    small as the rewards are scaled there, and moves at CleanRL's rate: from 1 it would drown the reward for ten
    thousand steps. On point-maze every second episode is judged.
    """
    if name == "paper":
        return Config()
    tuned = explore_as_the_policy_says(tune(Config(), task))
    if task == "point-maze":
        tuned = replace(tuned, exploration_episodes=1)
    is_scaled = task == "point-maze" or task.startswith("ant-")
    return replace(tuned, start_temperature=0.05, temperature_rate=1e-3) if is_scaled else tuned


def explore_as_the_policy_says(tuned: Any) -> Any:
    """Without TD3's noise: a policy that acts at random has its own."""
    return replace(tuned, exploration_noise=1.0, noise_correlation=0.0)


class Learner(NamedTuple):
    """A policy that is learning with its critics, and what tells its skills apart, if it has any."""

    agent: Agent
    discriminator: Discriminator | None = None


def sac_numbers(spec: TaskSpec, config: Config, skills: int = 0) -> int:
    """Numbers in the state of a learner; `skills` are those that policy and critics see."""
    seen = spec.observation_size + skills
    actor = count_parameters(seen, *config.hidden, 2 * spec.action_size)
    critic = count_parameters(seen + spec.action_size, *config.hidden, 1)
    return 3 * actor + 8 * critic + 16  # with two moments of Adam, and the critics with targets


def footprint(spec: TaskSpec, config: Config, name: str) -> Footprint:
    """What a run will take, known before anything is allocated."""
    numbers = sac_numbers(spec, config)
    return replay_footprint(spec, config.hidden, config.replay_size, 1, numbers, 1 + config.exploration_episodes)


class SAC(OffPolicy):
    """SAC."""

    config: Config
    # A Gaussian policy of zeros then acts with the deviation of actions uniform in [-1, 1], 0.58.
    warm_up_noise = 0.85 / math.exp(LOG_DEVIATION)

    def __init__(self, spec: TaskSpec, config: Config, seed: int, name: str = "sac", **options: Any) -> None:
        """Start afresh; see `OffPolicy` for the arguments."""
        if config.start_temperature <= 0:
            raise UserError(f"{name} needs a start_temperature above 0, not {config.start_temperature}.")
        self.name = name
        super().__init__(spec, config, seed, **options)

    def _init_learner(self, key: jax.Array) -> Learner:
        return Learner(self._init_agent(key))

    def _init_agent(self, key: jax.Array, skills: int = 0) -> Agent:
        """A fresh policy and its critics, which see `skills` numbers beside the observation."""
        seen, actions = len(self.networks.scale) + skills, self.spec.action_size
        actor = init_mlp(jax.random.fold_in(key, 1), (seen, *self.config.hidden, 2 * actions), output="gaussian")
        return init_agent(key, actor, (seen + actions, *self.config.hidden, 1), self._settings)

    @property
    def _settings(self) -> SACSettings:
        return engine_settings(SACSettings, self.config)

    def _policy(self, learner: Learner) -> MLP:
        return jax.tree.map(lambda leaf: np.asarray(leaf)[None], learner.agent.actor)

    def _improve(
        self, learners: tuple[Learner, ...], key: jax.Array, steps: int, stop: Callable[[], bool]
    ) -> tuple[tuple[Learner, ...], Any]:
        view, scale, settings = self.replay.view(), self._weights()[0], self._settings
        scaling = self.networks.scaling
        improved = []
        for i, learner in enumerate(learners):
            own = jax.random.fold_in(key, i)

            def take(learner: Learner, first: int, number: int, own: jax.Array = own) -> Learner:
                return Learner(*improve(*learner, view, scale, own, first, number, scaling, settings=settings))

            improved.append(in_chunks(take, learner, steps, CHUNK, stop))
        return tuple(improved), ()

    def _remember(
        self, learners: tuple[Learner, ...], notes: Any, judged: Rollouts, rollouts: Rollouts
    ) -> tuple[Any, dict[str, Any]]:
        return self._state.extra, {"temperature": float(np.exp(learners[0].agent.log_temperature))}


FAMILY = Family(Config, preset, footprint, SAC)
