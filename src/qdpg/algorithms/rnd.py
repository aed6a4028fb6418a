"""Random network distillation (Burda et al., ICLR 2019) on TD3: the reward plus a bonus for states seldom met.

The QD-PG paper does not say which agent gets the bonus; here it is the TD3 that it also compares with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from qdpg.algorithms.algorithm import Family, Footprint
from qdpg.algorithms.pieces import generation_key, td3_footprint
from qdpg.algorithms.td3 import TD3, Learner, find_idle, tune
from qdpg.algorithms.td3 import Config as TD3Config
from qdpg.learn.distillation import Distillation, init_distillation, make_bonus, observe, train_predictor
from qdpg.learn.networks import count_parameters
from qdpg.learn.transitions import Minibatches, WithBonus
from qdpg.play.rollouts import Rollouts
from qdpg.ranges import Count, CountOrNone, NotNegative, Share, Widths
from qdpg.tasks.task import TaskSpec

_KEY = 1_000  # keeps the predictor's draws apart from the learners'


@dataclass(frozen=True)
class Config(TD3Config):
    """Settings of TD3 with RND's bonus.

    Attributes:
        beta: Weight of the bonus beside the environment's reward (RND: 1 to 2).
        bonus_hidden: Hidden layers of target and predictor (RND has convolutions; as wide as TD3's networks).
        embedding: What both networks map to (RND: 512, for images).
        predictor_rate: Learning rate of the predictor (RND: 10⁻⁴).
        predictor_epochs: How often the predictor is shown a generation's states, on average (RND: 4).
        bonus_discount: γ of the running sums whose deviation the bonus is divided by (RND: 0.99).
    """

    beta: NotNegative = 0.5
    bonus_hidden: Widths = (256, 256)
    embedding: Count = 64
    predictor_rate: NotNegative = 1e-4
    predictor_epochs: CountOrNone = 4
    bonus_discount: Share = 0.99


def preset(name: str, task: str, algorithm: str = "rnd") -> Config:
    """The settings of preset `name` for `task`: those of TD3, and "paper" has RND's own for the bonus."""
    if name == "paper":
        return Config()
    return tune(Config(beta=4.0, bonus_hidden=(64, 64), predictor_rate=3e-4, predictor_epochs=25), task)


def footprint(spec: TaskSpec, config: Config, name: str) -> Footprint:
    """What a run will take, known before anything is allocated."""
    network = count_parameters(spec.observation_size, *config.bonus_hidden, config.embedding)
    others = 4 * network + 4 * spec.observation_size + 2 * (1 + config.exploration_episodes) + 16
    return td3_footprint(spec, config.hidden, config.replay_size, 1, 1, 1 + config.exploration_episodes, others)


class RND(TD3):
    """TD3 plus the bonus, which is computed afresh for every minibatch."""

    config: Config

    def __init__(self, spec: TaskSpec, config: Config, seed: int, name: str = "rnd") -> None:
        """Start afresh; see `OffPolicy` for the arguments."""
        super().__init__(spec, config, seed, name)

    def _init_extra(self, learners: tuple[Learner, ...], key: jax.Array) -> Distillation:
        sizes = (len(self.networks.scale), *self.config.bonus_hidden, self.config.embedding)
        return init_distillation(key, sizes, len(learners) * (1 + self.config.exploration_episodes))

    def _minibatches(self) -> Minibatches:
        return WithBonus(super()._minibatches(), make_bonus(self._state.extra, self.config.beta))

    def _remember(
        self, learners: tuple[Learner, ...], notes: Any, judged: Rollouts, rollouts: Rollouts
    ) -> tuple[Distillation, dict[str, Any]]:
        """Take the episodes into the statistics, then show their states to the predictor."""
        config, horizon = self.config, self.spec.horizon
        with self.clock.time("novelty"):
            assert rollouts.observations is not None
            missing = ((0, 0), (0, horizon - rollouts.rewards.shape[1]))  # compiled programs want one shape
            states = np.pad(self.networks.see(rollouts.observations[:, 1:]), (*missing, (0, 0)))
            played = np.pad(rollouts.played(), missing)
            state = observe(self._state.extra, states, played, config.bonus_discount)
            key = jax.random.fold_in(generation_key(self.seed, self.generation), _KEY)
            steps = -(-config.predictor_epochs * rollouts.steps // config.batch_size)
            state = train_predictor(state, states, played, key, steps, config.predictor_rate, config.batch_size)
        return state, {"bonus_scale": float(state.sums.variance**0.5)}


FAMILY = Family(Config, preset, footprint, RND, find_idle)
