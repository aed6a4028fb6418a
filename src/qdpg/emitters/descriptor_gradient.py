"""Emitters of DCRL-MAP-Elites (Faldor et al., 2024): a critic and an actor that know which behaviour is wanted."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from qdpg.emitters.emitter import Context, Emitter, Exploration, Offspring
from qdpg.emitters.iso_line import IsoLine
from qdpg.emitters.learner import Learner, Networks, climb_frozen, draw_rates, train_greedy
from qdpg.emitters.objective import GradientObjective
from qdpg.learn.descriptors import DescriptorMinibatches
from qdpg.learn.direction_field import Place, follow_fields
from qdpg.learn.networks import repeat_policies
from qdpg.learn.td3 import Actors, TD3Settings, init_actors
from qdpg.learn.transitions import Transitions
from qdpg.memory.elites import Elites
from qdpg.tasks.task import TaskSpec

WANTED = "wanted"  # extra field: the behaviour that a policy was to have, from -1 to 1; NaN for any
_NO_PLACE = Place(np.zeros(0, np.int64), np.zeros(0), np.zeros(0))

MakeMinibatches = Callable[[Transitions, jax.Array | None], DescriptorMinibatches]


def from_minus_one(behaviours: np.ndarray, spec: TaskSpec) -> np.ndarray:
    """Behaviours [..., D] from -1 to 1, as networks see them."""
    low, high = np.asarray(spec.descriptor_low), np.asarray(spec.descriptor_high)
    return (2.0 * (behaviours - low) / (high - low) - 1.0).astype(np.float32)


class Selected(NamedTuple):
    """Elites that were selected."""

    rows: np.ndarray  # [n] rows of `Elites.data()`
    actors: Actors  # their copies, ready to be improved
    wanted: np.ndarray  # [n, D] their behaviours


class DescriptorGradient(Emitter):
    """Trains the conditioned critics and actor; offspring are copies of elites that climb for their own behaviour."""

    def __init__(
        self,
        name: str,
        objective: GradientObjective,
        size: int,
        networks: Networks,
        settings: TD3Settings,
        minibatches: MakeMinibatches,
        steps: int,
        rate: float,
    ) -> None:
        """Remember what to climb.

        Args:
            name: What the learner is called.
            objective: Its settings.
            size: Offspring per generation.
            networks: What learns.
            settings: Of the update.
            minibatches: What critics and actors learn from: of transitions, and of what each actor wants.
            steps: Gradient steps of each copy.
            rate: Learning rate of the copies.
        """
        self.learner, self.objective, self.size, self.networks = name, objective, size, networks
        self.settings, self.minibatches, self.steps, self.rate = settings, minibatches, steps, rate

    def init(self, key: jax.Array) -> Learner:
        """Fresh critics and a fresh actor, which see the wanted behaviour behind the observation."""
        further = self.networks.spec.descriptor_size
        return self.networks.init_learner(key, self.settings, with_greedy=True, further_inputs=further)

    def select(self, elites: Elites, rng: np.random.Generator) -> Selected:
        """Draw elites, and a learning rate for each copy."""
        rows = elites.draw(rng, self.size, self.objective.selection_pressure)
        rates = draw_rates(self.objective, self.rate, self.size, rng)
        copies = init_actors(self.networks.for_learning(elites.policies(rows)), self.settings, rates)
        return Selected(rows, copies, from_minus_one(elites.data()["measures"][rows], self.networks.spec))

    def emit(self, selected: Selected, context: Context) -> Offspring:
        """Train, then let the copies climb critics that stand still."""
        assert context.transitions is not None
        learner = train_greedy(context.learner, self.minibatches(context.transitions, None), context, self.settings)
        wanted = self.minibatches(context.transitions, jnp.asarray(selected.wanted))
        actors = climb_frozen(selected.actors, learner.critics, wanted, context, self.steps, self.settings)
        policies = self.networks.for_play(actors.online)
        return Offspring(policies, selected.rows, {WANTED: selected.wanted}, learned=learner)


class ActorInjection(Emitter):
    """The conditioned actor, asked for the behaviours of elites; what it is asked for becomes part of its biases."""

    def __init__(self, name: str, objective: GradientObjective, size: int, networks: Networks) -> None:
        """Remember whose actor.

        Args:
            name: What the learner is called.
            objective: How many exploration episodes there are, and their noise.
            size: Offspring per generation.
            networks: What learns.
        """
        self.learner, self.objective, self.size, self.networks = name, objective, size, networks

    def select(self, elites: Elites, rng: np.random.Generator) -> np.ndarray:
        """Draw behaviours, [n, D]."""
        return from_minus_one(elites.data()["measures"][elites.draw(rng, self.size)], self.networks.spec)

    def emit(self, selected: np.ndarray, context: Context) -> Offspring:
        """Ask the actor for each of them."""
        policies = self.networks.for_play(follow_fields(context.learner.greedy.online, selected, _NO_PLACE))
        return Offspring(policies, np.full(len(selected), -1), {WANTED: selected})

    def explore(self, offspring: Offspring, rng: np.random.Generator) -> Exploration | None:
        """The same policies, to be played with noise."""
        number = self.objective.exploration_episodes
        if not number:
            return None
        return Exploration(repeat_policies(offspring.policies, number), self.objective.exploration_noise)


class FreeIsoLine(IsoLine):
    """Iso+line offspring, of which no behaviour is wanted: what they do is what they were to do."""

    def select(self, elites: Elites, rng: np.random.Generator) -> Offspring:
        """Draw pairs of elites, and vary them."""
        varied = super().select(elites, rng)
        nothing = np.full((len(varied.parents), elites.spec.descriptor_size), np.nan)
        return varied._replace(extra_fields={WANTED: nothing})
