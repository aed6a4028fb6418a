"""Iso+line variation (Vassiliades and Mouret, 2018): offspring without gradients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qdpg.emitters.emitter import Context, Emitter, Offspring
from qdpg.learn.variation import iso_line
from qdpg.memory.elites import Elites
from qdpg.ranges import AtLeastOne, Count, NotNegative, Share


@dataclass(frozen=True)
class IsoLineSettings:
    """How far offspring lie from their parents.

    Attributes:
        iso_sigma: σ₁, of the isotropic part: a normal draw for every parameter.
        line_sigma: σ₂, of the part along the line to a second elite: one normal draw.
        selection_pressure: How strongly parents are drawn from the better elites (see `Elites.draw`); 1 draws from all
            alike.
    """

    iso_sigma: NotNegative = 0.01
    line_sigma: NotNegative = 0.2
    selection_pressure: AtLeastOne = 1.0


@dataclass(frozen=True)
class IsoLineShare(IsoLineSettings):
    """Iso+line variation beside the policy gradients (the paper's future work); PGA-ME's values.

    Attributes:
        share: Share of offspring made by it.
        adaptive: Whether shares follow success: emitters whose offspring added more to the QD score lately make more of
            the next. `share` is then only what it begins with.
        screened_from: How many are made for each that is played, which is the one that a model of what policies do,
            told by how they act, expects to add most to the QD score. 1: all that are made are played.
    """

    iso_sigma: NotNegative = 0.005
    line_sigma: NotNegative = 0.05
    share: Share = 0.0
    adaptive: bool = False
    screened_from: Count = 1


class IsoLine(Emitter):
    """Offspring x + σ₁·N(0, I) + σ₂·N(0, 1)·(y − x) of two elites x and y."""

    keeps_start, least = True, 1

    def __init__(self, size: int, settings: IsoLineSettings) -> None:
        """Remember how to vary.

        Args:
            size: Offspring per generation.
            settings: How far.
        """
        self.size, self.settings = size, settings

    def select(self, elites: Elites, rng: np.random.Generator) -> Offspring:
        """Draw pairs of elites, and vary them."""
        rows = elites.draw(rng, self.size, self.settings.selection_pressure)
        pairs = elites.policies(rows), elites.sample(rng, self.size)
        policies = iso_line(*pairs, rng, self.settings.iso_sigma, self.settings.line_sigma)
        return Offspring(policies, rows)

    def emit(self, selected: Offspring, context: Context) -> Offspring:
        """They are ready."""
        return selected
