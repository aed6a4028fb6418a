"""What emitters with policy gradients learn with: critics, and perhaps a greedy actor that trains them.

Networks that learn may see scaled observations; policies that are played or stored always see them as they are, with
the division in their first layer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import jax
import numpy as np

from qdpg.emitters.emitter import Context
from qdpg.emitters.objective import GradientObjective
from qdpg.learn.climbing import climb
from qdpg.learn.networks import MLP, Activation, add_inputs, init_population, scale_inputs
from qdpg.learn.td3 import Actors, Critics, TD3Settings, init_actors, init_critics
from qdpg.learn.transitions import Minibatches
from qdpg.tasks.task import TaskSpec


class Learner(NamedTuple):
    """The critics that all policies of an objective share and, if there is one, the greedy actor that trains them."""

    critics: Critics
    greedy: Actors | None


@dataclass(frozen=True)
class Networks:
    """Shapes of the networks that learn, and how they see.

    Attributes:
        spec: The task.
        hidden: Hidden layers of policies and critics.
        output: What policies end in.
        scaled: Whether learning networks see observations divided by the task's typical sizes, and without those that
            are always zero.
    """

    spec: TaskSpec
    hidden: tuple[int, ...]
    output: Activation = "tanh"
    scaled: bool = False

    @property
    def scale(self) -> np.ndarray:
        """[O'] what the observations that learning networks see, the first of all, are divided by."""
        sizes = self.spec.observation_scale if self.scaled else ()
        return np.array(sizes or (1.0,) * self.spec.observation_size)

    @property
    def static_scale(self) -> tuple[float, ...]:
        """The same for minibatches; empty if nothing is divided."""
        return tuple(self.scale.tolist()) if self.scaled else ()

    @property
    def policy_sizes(self) -> tuple[int, ...]:
        """Widths of policies that learn."""
        return (len(self.scale), *self.hidden, self.spec.action_size)

    def init_learner(
        self, key: jax.Array, settings: TD3Settings, with_greedy: bool, further_inputs: int = 0
    ) -> Learner:
        """Fresh critics and perhaps a greedy actor, which see `further_inputs` numbers behind the observation."""
        seen = len(self.scale) + further_inputs
        critics = init_critics(key, (seen + self.spec.action_size, *self.hidden, 1), settings)
        if not with_greedy:
            return Learner(critics, None)
        sizes = (seen, *self.policy_sizes[1:])
        first = init_population(jax.random.fold_in(key, 1), 1, sizes, output=self.output)
        return Learner(critics, init_actors(first, settings))

    def for_learning(self, policies: MLP) -> MLP:
        """Policies for scaled observations, of policies that play."""
        return scale_inputs(policies, self.scale)

    def for_play(self, policies: MLP) -> MLP:
        """Policies for observations as they are, of policies that learn."""
        return add_inputs(scale_inputs(policies, 1.0 / self.scale), self.spec.observation_size)


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
