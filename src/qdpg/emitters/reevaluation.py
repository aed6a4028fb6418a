"""The re-evaluation emitter: elites, and those that may be better, as they are. It makes nothing new."""

from __future__ import annotations

import numpy as np

from qdpg.emitters.emitter import Context, Emitter, Offspring
from qdpg.memory.elites import Elites
from qdpg.memory.reevaluated import ArchiveSettings, ReevaluatedElites


class Reevaluation(Emitter):
    """Policies of the archive that are to be judged by one more episode each."""

    def __init__(self, most: int, settings: ArchiveSettings) -> None:
        """Remember how many, per generation at most, and after how many offspring there are so many."""
        self.size = self.most = most
        self.full_after = settings.full_after

    def grow(self, offspring: int, cells: int) -> None:
        """Let `size` be what it is to be after so many offspring, for an archive of so many cells."""
        full = self.full_after * cells
        self.size = self.most if offspring >= full else round(self.most * offspring / full)

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
