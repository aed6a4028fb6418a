"""The field mutation emitter: elites' own networks, each with another direction field.

With the gait of a later greedy policy, an elite's field may lead elsewhere. These keep the gait and change the field.
"""

from __future__ import annotations

import numpy as np

from qdpg.emitters.emitter import Context, Emitter, Offspring
from qdpg.emitters.fields import FIELD, SIGMA, WEIGHTS, DirectionFields, count_mutated
from qdpg.learn.direction_field import add_fields, mutate_fields
from qdpg.memory.elites import Elites

SIGMA_RANGE = 1.5  # powers of ten below `SIGMA` over which changes are spread, uniformly in the logarithm


class FieldMutation(Emitter):
    """Elites whose own field is changed, by much or by little."""

    def __init__(self, size: int, fields: DirectionFields, selection_pressure: float) -> None:
        """Remember how to mutate.

        Args:
            size: The number that `DirectionField` and this emitter share.
            fields: How fields lie beside elites.
            selection_pressure: Towards the better elites, from which half of the parents are drawn.
        """
        self.size, self.fields, self.selection_pressure = size, fields, selection_pressure

    def select(self, elites: Elites, rng: np.random.Generator) -> Offspring | None:
        """Draw elites, half of them good ones, half in sparse regions, and change their fields."""
        number = count_mutated(self.size, elites)
        if not number:
            return None
        good = elites.draw(rng, number // 2, self.selection_pressure)
        rows = np.concatenate([good, self.fields.draw_sparse(elites, rng, number - len(good))])
        data, place, networks = elites.data(), self.fields.place, self.fields.networks
        sigmas = SIGMA * 10 ** -rng.uniform(0, SIGMA_RANGE, (number, 1))
        fields = mutate_fields(data[FIELD][rows], rng, sigmas, 0.0, place)
        weights = data[WEIGHTS][rows].reshape(number, self.fields.descriptors, -1)
        policies = networks.for_learning(elites.policies(rows))
        policies = networks.for_play(add_fields(policies, weights, fields - data[FIELD][rows], place))
        return Offspring(policies, rows, {FIELD: fields})

    def emit(self, selected: Offspring | None, context: Context) -> Offspring | None:
        """They are ready."""
        return selected
