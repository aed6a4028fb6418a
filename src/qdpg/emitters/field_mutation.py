"""The field mutation emitter: elites' own networks, each with another direction field.

With the gait of a later greedy policy, an elite's field may lead elsewhere. These keep the gait and change the field.
"""

from __future__ import annotations

import numpy as np

from qdpg.emitters.emitter import Context, Emitter, Offspring
from qdpg.emitters.fields import FIELD, SIGMA, WEIGHTS, DirectionFields, count_mutated
from qdpg.learn.direction_field import limit_fields, mutate_fields
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
        data, place = elites.data(), self.fields.place
        sigmas = SIGMA * 10 ** -rng.uniform(0, SIGMA_RANGE, (number, 1))
        held, weights = data[FIELD][rows], data[WEIGHTS][rows]
        drawn = mutate_fields(held, rng, sigmas, 0.0, place, longest=np.inf)
        # Navigation fields are not remembered: whatever is drawn is a change of them.
        navigates = ~held.any(axis=1, keepdims=True)
        fields = np.where(navigates, held, limit_fields(drawn, place))
        changes = np.where(navigates, drawn, fields) - held
        return Offspring(self.fields.add(elites.policies(rows), weights, changes), rows, {FIELD: fields})

    def emit(self, selected: Offspring | None, context: Context) -> Offspring | None:
        """They are ready."""
        return selected
