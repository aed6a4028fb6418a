"""The direction gradient emitter: copies of elites climb direction-conditioned critics to where novelty grows."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np

from qdpg.emitters.emitter import Context, Emitter, Offspring
from qdpg.emitters.learner import Networks, climb_frozen, draw_rates
from qdpg.emitters.objective import GradientObjective
from qdpg.learn.directions import NovelDirections, Ranges
from qdpg.learn.td3 import Actors, TD3Settings, init_actors
from qdpg.memory.elites import Elites


class Selected(NamedTuple):
    """Elites that were selected."""

    rows: np.ndarray  # [n] rows of `Elites.data()`
    actors: Actors  # their copies, ready to be improved


class DirectionGradient(Emitter):
    """Copies of elites, improved in the direction in which novelty grows fastest, state by state.

    The critics are those that `DirectionField` has trained in the same generation; here they stand still.
    """

    def __init__(
        self,
        name: str,
        objective: GradientObjective,
        weights: Callable[[], jax.Array],
        size: int,
        networks: Networks,
        settings: TD3Settings,
        steps: int,
        ranges: Ranges = (),
    ) -> None:
        """Remember what to climb.

        Args:
            name: What the learner is called.
            objective: Its settings.
            weights: What tells [2], the weights of the environment's reward and of the movement in the direction.
            size: Offspring per generation.
            networks: What learns.
            settings: Of the update.
            steps: Gradient steps of each copy.
            ranges: Of the descriptors, if these are measured from -1 to 1; see `NovelDirections`.
        """
        self.learner, self.objective, self.weights, self.size = name, objective, weights, size
        self.networks, self.settings, self.steps, self.ranges = networks, settings, steps, ranges

    def select(self, elites: Elites, rng: np.random.Generator) -> Selected:
        """Draw elites, and a learning rate for each copy."""
        rows = elites.draw(rng, self.size, self.objective.selection_pressure)
        rates = draw_rates(self.objective, self.settings.actor_rate, self.size, rng)
        copies = init_actors(self.networks.for_learning(elites.policies(rows)), self.settings, rates)
        return Selected(rows, copies)

    def emit(self, selected: Selected, context: Context) -> Offspring | None:
        """Improve the copies."""
        if not len(selected.rows):
            return None
        assert context.transitions is not None
        minibatches = NovelDirections(context.transitions, self.weights(), self.networks.scaling, self.ranges)
        critics = context.learner.critics
        actors = climb_frozen(selected.actors, critics, minibatches, context, self.steps, self.settings)
        return Offspring(self.networks.for_play(actors.online), selected.rows)
