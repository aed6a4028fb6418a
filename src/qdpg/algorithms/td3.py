"""Twin Delayed DDPG (Fujimoto, van Hoof and Meger, ICML 2018): one policy and its twin critics.

The update is that of `learn/td3.py` with a single actor; the episodes are those of `off_policy.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, NamedTuple

import jax

from qdpg.algorithms.algorithm import Family, Footprint
from qdpg.algorithms.off_policy import OffPolicy, OffPolicyConfig
from qdpg.algorithms.pieces import td3_footprint, td3_settings
from qdpg.learn.climbing import climb
from qdpg.learn.networks import MLP, init_population
from qdpg.learn.td3 import ActorCriticSettings, Actors, Critics, TD3Options, init_actors, init_critics
from qdpg.learn.transitions import Minibatches, UniformMinibatches
from qdpg.ranges import Count, Positive
from qdpg.tasks.task import TaskSpec


@dataclass(frozen=True)
class Config(OffPolicyConfig, ActorCriticSettings, TD3Options):
    """Settings of TD3. All defaults are those of its authors' code (sfujim/TD3): Adam at 3·10⁻⁴, minibatches of 256,
    γ 0.99, τ 0.005, two critic steps per actor step, target noise 0.2 clipped at 0.5, two hidden layers of 256, 10⁶
    transitions, 25,000 steps at random, exploration noise 0.1, one update per environment step.

    Attributes:
        delay: Critic steps per actor step.
        output: What policies end in: a tanh, or "linear", clipped to the actions' range; they then climb by inverting
            gradients, as QD-PG's do in `tuned`.
        action_bound: How far from 0 the last layer may go where it is linear; actions are clipped at 1.
    """  # noqa: D205

    delay: Count = 2
    output: Literal["tanh", "linear"] = "tanh"
    action_bound: Positive = 1.0


def preset(name: str, task: str, algorithm: str = "td3") -> Config:
    """The settings of preset `name` for `task`.

    "paper" is TD3's own, because the QD-PG paper gives none for its baselines. "tuned" is `tune` of that.
    """
    return Config() if name == "paper" else tune(Config(), task)


def tune(paper: Any, task: str) -> Any:
    """Settings of TD3 or of a variant for two cores.

    Point-maze gets what QD-PG's `tuned` has there: small networks and minibatches, rewards scaled so that values are of
    the order of one, faster targets; and a short start, since random play finds nothing in that maze. Policies keep
    TD3's rate: at 10⁻³ their actions saturate, and they stay in a corner of the maze for good. The ants get what helped
    QD-PG there and is no idea of QD-PG's; docs/research/baselines.md has the trials.
    """
    changes = {"point-maze": POINT_MAZE, "ant-trap": ANT_TRAP, "ant-maze": ANT_MAZE}.get(task)
    if task.startswith("ant-"):
        changes = changes or ANY_ANT
    if changes is None:
        return replace(paper, start_steps=min(paper.start_steps, 5_000))
    known = {each.name for each in fields(paper)}
    return replace(paper, **{name: value for name, value in changes.items() if name in known})


POINT_MAZE: dict[str, Any] = {
    "hidden": (64, 32),
    "batch_size": 100,
    "critic_rate": 1e-3,
    "softness": 0.01,
    "reward_scale": 0.05,
    "start_steps": 2_000,
    "replay_size": 250_000,
}
ANY_ANT: dict[str, Any] = {
    "hidden": (128, 128),
    "batch_size": 128,
    "gradient_steps_ratio": 0.25,  # what a core manages beside the physics
    "replay_size": 500_000,
}
ANT_TRAP: dict[str, Any] = ANY_ANT | {
    "actor_rate": 1e-3,
    "critic_rate": 1e-3,
    "critic_hidden": "normed",
    "scaled": True,
    "output": "linear",
    "action_bound": 0.5,
    "gradient_steps_ratio": 0.5,
    "reward_scale": 0.05,
    "reward_offset": 0.75,  # standing still is then worth little
    "exploration_episodes": 4,
    "exploration_noise": 0.2,
    "noise_correlation": 0.9,
    "start_steps": 10_000,
}
ANT_MAZE: dict[str, Any] = ANT_TRAP | {
    "action_bound": 1.0,  # a heavy ant
    "exploration_noise": 0.7,
    "start_steps": 20_000,
    "reward_scale": 5.0,
    "reward_offset": 0.0,
    "shaped": True,
}


class Learner(NamedTuple):
    """A policy that is learning, and its critics."""

    actors: Actors  # of one
    critics: Critics


def find_idle(config: Config) -> dict[str, str]:
    """Settings that do nothing beside the others, and why."""
    return {"action_bound": "policies end in a tanh"} if config.output == "tanh" else {}


def footprint(spec: TaskSpec, config: Config, name: str) -> Footprint:
    """What a run will take, known before anything is allocated."""
    return td3_footprint(spec, config.hidden, config.replay_size, 1, 1, 1 + config.exploration_episodes)


class TD3(OffPolicy):
    """TD3."""

    config: Config

    def __init__(self, spec: TaskSpec, config: Config, seed: int, name: str = "td3", **options: Any) -> None:
        """Start afresh; see `OffPolicy` for the arguments."""
        self.name = name
        super().__init__(spec, config, seed, output=config.output, **options)

    def _init_learner(self, key: jax.Array) -> Learner:
        settings = td3_settings(self.config)
        policy = init_population(jax.random.fold_in(key, 1), 1, self.networks.policy_sizes, output=self.config.output)
        return Learner(init_actors(policy, settings), init_critics(key, self.critic_sizes, settings))

    def _policy(self, learner: Learner) -> MLP:
        return learner.actors.online

    def _improve(
        self, learners: tuple[Learner, ...], key: jax.Array, steps: int, stop: Callable[[], bool]
    ) -> tuple[tuple[Learner, ...], Any]:
        return tuple(self._climb(each, jax.random.fold_in(key, i), steps, stop) for i, each in enumerate(learners)), ()

    def _climb(self, learner: Learner, key: jax.Array, steps: int, stop: Callable[[], bool], **options: Any) -> Learner:
        """Take `steps` gradient steps with a learner; `options` are those of the engine."""
        settings = td3_settings(self.config)
        return Learner(*climb(*learner, self._minibatches(), key, steps, stop, settings=settings, **options))

    def _minibatches(self) -> Minibatches:
        """What draws the transitions to learn from."""
        return UniformMinibatches(self.replay.view(), self._weights(), self.networks.scaling)


FAMILY = Family(Config, preset, footprint, TD3, find_idle)
