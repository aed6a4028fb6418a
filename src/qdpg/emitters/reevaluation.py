"""The re-evaluation emitter: elites, and those that may be better, as they are. It makes nothing new."""

from __future__ import annotations

import numpy as np

from qdpg.emitters.emitter import Context, Emitter, Offspring
from qdpg.memory.elites import Elites
from qdpg.memory.reevaluated import ReevaluatedElites


class Reevaluation(Emitter):
    """Policies of the archive that are to be judged by one more episode each."""

    def __init__(self, size: int) -> None:
        """Remember how many, per generation at most."""
        self.size = size

    def select(self, elites: Elites, rng: np.random.Generator) -> Offspring | None:
        """Choose them."""
        assert isinstance(elites, ReevaluatedElites)
        chosen = elites.choose(rng, self.size)
        if not len(chosen):
            return None
        nobody = np.full(len(chosen), -1)
        return Offspring(elites.entry_policies(chosen), nobody, elites.entry_fields(chosen), entries=chosen)

    def emit(self, selected: Offspring | None, context: Context) -> Offspring | None:
        """They are ready."""
        return selected
