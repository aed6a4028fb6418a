"""What emitters with policy gradients learn with: critics, and perhaps a greedy actor that trains them.

Networks that learn may see scaled observations; policies that are played or stored always see them as they are, with
the scaling in their first layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from qdpg.emitters.emitter import Context
from qdpg.emitters.objective import GradientObjective
from qdpg.errors import UserError
from qdpg.learn.climbing import climb
from qdpg.learn.navigation import field_layer
from qdpg.learn.networks import MLP, Activation, add_inputs, init_population, scale_inputs
from qdpg.learn.normaliser import ObservationStats, fold, no_stats, unfold
from qdpg.learn.td3 import Actors, Critics, TD3Settings, init_actors, init_critics
from qdpg.learn.transitions import REWARD, Minibatches, Scaling
from qdpg.memory.replay import Replay
from qdpg.tasks.task import TaskSpec


class Learner(NamedTuple):
    """The critics that all policies of an objective share and, if there is one, the greedy actor that trains them."""

    critics: Critics
    greedy: Actors | None


class Rewarded(Protocol):
    """Settings that say how critics see rewards."""

    @property
    def reward_scale(self) -> float:
        """Factor on rewards."""

    @property
    def discount(self) -> float:
        """γ."""


Scaled = bool | Literal["learned"]
TYPICAL_VALUE = 10.0  # of states, where rewards are divided by their typical size
LOOKED_AT = 1 << 16  # transitions at a time: all of a large replay memory in double precision would be gigabytes


@dataclass
class Networks:
    """Shapes of the networks that learn, and how they see.

    Attributes:
        spec: The task.
        hidden: Hidden layers of policies and critics.
        output: What policies end in.
        navigates: Whether policies have a first layer more, for navigation fields.
        scaled: Whether learning networks see observations divided by the task's typical sizes, and without those that
            are always zero. "learned": they see them normalised by the mean and the deviation of what is in the replay
            memory, and rewards divided by their typical size there; `look` finds these.
        stats: Of the observations in the replay memory, where that counts.
        units: [2] typical sizes of the environment's reward and of the diversity reward there.
    """

    spec: TaskSpec
    hidden: tuple[int, ...]
    output: Activation = "tanh"
    scaled: Scaled = False
    navigates: bool = False
    stats: ObservationStats = field(init=False)
    units: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        """Nothing has been seen yet.

        Raises:
            UserError: The task does not say how to scale.
        """
        if self.scaled is True and not self.spec.observation_scale:
            raise UserError(
                f"scaled=true would do nothing: {self.spec.name} declares no observation_scale; leave it out, "
                "or give scaled=learned."
            )
        self.stats, self.units = no_stats(self.spec.observation_size), np.ones(2)

    def look(self, replay: Replay, diversity: np.ndarray) -> None:
        """Find out what observations and rewards are like.

        All of it follows from the replay memory, so that there is nothing to remember: call it before every generation.

        Args:
            replay: What has been seen.
            diversity: Diversity rewards there, [any].
        """
        slots = replay.playable_slots()
        if self.scaled != "learned" or not len(slots):
            return
        self.stats = no_stats(self.spec.observation_size)
        for first in range(0, len(slots), LOOKED_AT):
            self.stats = self.stats.add(replay.rows[slots[first : first + LOOKED_AT], : self.spec.observation_size])
        self.units = np.array([_typical(replay.rows[slots, REWARD]), _typical(diversity)])

    def weights(self, objective: Rewarded, shares: Sequence[float]) -> jax.Array:
        """How much the environment's reward and the diversity reward count for critics, [2].

        Args:
            objective: Whose critics; it has a scale of rewards and a discount.
            shares: Of the two.
        """
        weights = np.asarray(shares, np.float64) * objective.reward_scale
        if self.scaled == "learned":
            weights = weights * TYPICAL_VALUE * (1.0 - objective.discount) / self.units
        return jnp.asarray(weights, jnp.float32)

    @property
    def scale(self) -> np.ndarray:
        """[O'] what the observations that learning networks see, the first of all, are divided by."""
        if self.scaled == "learned":
            return self.stats.moments()[1].astype(np.float64)
        sizes = self.spec.observation_scale if self.scaled else ()
        return np.array(sizes or (1.0,) * self.spec.observation_size)

    @property
    def middle(self) -> np.ndarray:
        """[O'] what is taken off them before."""
        return self.stats.moments()[0].astype(np.float64) if self.scaled == "learned" else np.zeros(len(self.scale))

    @property
    def scaling(self) -> Scaling | None:
        """The same for minibatches."""
        if not self.scaled:
            return None
        factors, offsets = 1.0 / self.scale, -self.middle / self.scale
        return Scaling(jnp.asarray(factors, jnp.float32), jnp.asarray(offsets, jnp.float32))

    def see(self, observations: np.ndarray) -> np.ndarray:
        """Observations [..., O] as networks that learn see them, [..., O'] float32."""
        seen = observations[..., : len(self.scale)]
        return seen if not self.scaled else ((seen - self.middle) / self.scale).astype(np.float32)

    @property
    def policy_sizes(self) -> tuple[int, ...]:
        """Widths of policies that learn."""
        seen = len(self.scale)
        first = (field_layer(seen),) if self.navigates else ()
        return (seen, *first, *self.hidden, self.spec.action_size)

    def init_learner(
        self, key: jax.Array, settings: TD3Settings, with_greedy: bool, further_inputs: int = 0
    ) -> Learner:
        """Fresh critics and perhaps a greedy actor, which see `further_inputs` numbers behind the observation."""
        seen = len(self.scale) + further_inputs
        critics = init_critics(key, (seen + self.spec.action_size, *self.hidden, 1), settings)
        if not with_greedy:
            return Learner(critics, None)
        sizes = (seen, *self.hidden, self.spec.action_size) if further_inputs else self.policy_sizes
        first = init_population(jax.random.fold_in(key, 1), 1, sizes, output=self.output)
        return Learner(critics, init_actors(first, settings))

    def for_learning(self, policies: MLP) -> MLP:
        """Policies for scaled observations, of policies that play."""
        return unfold(policies, self.stats) if self.scaled == "learned" else scale_inputs(policies, self.scale)

    def for_play(self, policies: MLP) -> MLP:
        """Policies for observations as they are, of policies that learn."""
        if self.scaled == "learned":
            return fold(policies, self.stats)
        return add_inputs(scale_inputs(policies, 1.0 / self.scale), self.spec.observation_size)


def _typical(rewards: np.ndarray) -> float:
    """The root mean square of rewards; 1 where there are none but zeros."""
    size = float(np.sqrt(np.mean(np.square(rewards, dtype=np.float64)))) if rewards.size else 0.0
    return size if size > 0 else 1.0


def draw_rates(objective: GradientObjective, rate: float, number: int, rng: np.random.Generator) -> np.ndarray:
    """Learning rates of copies that are to be improved for an objective, [number], none above `rate`."""
    if not objective.rate_range:
        return np.full(number, rate)
    return rate * 10 ** -rng.uniform(0, objective.rate_range, number)


def train_greedy(learner: Learner, minibatches: Minibatches, context: Context, settings: TD3Settings) -> Learner:
    """Train critics and their greedy actor together."""
    assert learner.greedy is not None
    greedy, critics = climb(
        learner.greedy, learner.critics, minibatches, context.key, context.steps, context.stop, settings=settings
    )
    return Learner(critics, greedy)


def climb_frozen(
    actors: Actors, critics: Critics, minibatches: Minibatches, context: Context, steps: int, settings: TD3Settings
) -> Actors:
    """Improve policies with critics that stand still."""
    key = jax.random.fold_in(context.key, 1)
    return climb(actors, critics, minibatches, key, steps, context.stop, settings=settings, train_critics=False)[0]
