"""What emitters with direction fields share: how fields lie beside elites, and from which elites they are mutated."""

from __future__ import annotations

import numpy as np

from qdpg.emitters.learner import Learner, Networks
from qdpg.learn.direction_field import (
    Place,
    add_fields,
    direction_weights,
    draw_constant_fields,
    field_size,
    find_place,
    follow_fields,
    mutate_fields,
)
from qdpg.learn.directions import LONGEST
from qdpg.learn.navigation import Field, add_to_navigation, flat_fields, follow_navigation
from qdpg.learn.networks import MLP
from qdpg.memory.elites import Elites
from qdpg.memory.visited import Visited

FIELD, WEIGHTS = "direction_field", "direction_weights"  # extra fields of elites

SIGMA = 0.3  # how much a mutated field differs from its parent's
FRESH = 0.2  # share of fields that are drawn anew
SELECTION_PRESSURE = 2.0  # towards elites in sparse regions, whose fields are mutated
NEIGHBOURS = 4  # elites that say how sparse a region is: as many as a cell of a grid has sides


class DirectionFields:
    """The direction fields of one task's elites."""

    def __init__(self, networks: Networks, keeps_weights: bool, any_length: bool = False) -> None:
        """Remember whose they are.

        Args:
            networks: The networks that learn.
            keeps_weights: Whether elites remember how directions enter their network, so that their own field can be
                changed later.
            any_length: Whether it matters how long directions are.
        """
        spec = networks.spec
        self.networks, self.keeps_weights, self.descriptors = networks, keeps_weights, spec.descriptor_size
        self.any_length = any_length

    @property
    def place(self) -> Place:
        """How places are read off observations as learning networks see them."""
        spec, networks = self.networks.spec, self.networks
        located = spec.located if spec.behaviour == "final" else ()  # a mean is no place
        return find_place(located, spec.descriptor_low, spec.descriptor_high, networks.scale, networks.middle)

    def extra_fields(self) -> dict[str, int]:
        """What is remembered of each elite, and how many numbers it is."""
        weights = {WEIGHTS: self.descriptors * self.networks.hidden[0]} if self.keeps_weights else {}
        return {FIELD: field_size(self.descriptors, self.place)} | weights

    def constant(self, rng: np.random.Generator, number: int) -> np.ndarray:
        """Fields that lead straight on in random directions, [number, S]."""
        return draw_constant_fields(rng, number, self.descriptors, self.place)

    def mutate(self, parents: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Change fields [number, S]."""
        return mutate_fields(parents, rng, SIGMA, FRESH, self.place, LONGEST if self.any_length else None)

    @property
    def units(self) -> np.ndarray:
        """[D] what a step of 1 in z is in the descriptors that the policy was taught directions of."""
        low, high = np.asarray(self.networks.spec.descriptor_low), np.asarray(self.networks.spec.descriptor_high)
        return np.ones(self.descriptors) if self.any_length else (high - low) / 2

    def navigate(self, learner: Learner, fields: Field) -> MLP:
        """The greedy direction-conditioned policy with each of the navigation fields, for play."""
        assert learner.greedy is not None
        return self.networks.for_play(follow_navigation(learner.greedy.online, fields, self.place))

    def follow(self, learner: Learner, fields: np.ndarray) -> MLP:
        """The greedy direction-conditioned policy with each of the fields, for play."""
        assert learner.greedy is not None
        if self.networks.navigates:  # all policies have the same shape
            return self.navigate(learner, flat_fields(fields, self.descriptors))
        return self.networks.for_play(follow_fields(learner.greedy.online, fields, self.place))

    def add(self, policies: MLP, weights: np.ndarray, changes: np.ndarray) -> MLP:
        """Change the fields that policies follow; `weights` [m, D·width] say how directions enter each of them."""
        weights = weights.reshape(len(weights), self.descriptors, -1)
        add = add_to_navigation if self.networks.navigates else add_fields
        return self.networks.for_play(add(self.networks.for_learning(policies), weights, changes, self.place))

    def remember(self, learner: Learner, fields: np.ndarray) -> dict[str, np.ndarray]:
        """The extra fields of policies that `follow` made; those of `navigate` have a field of zeros."""
        assert learner.greedy is not None
        if not self.keeps_weights:
            return {FIELD: fields}
        weights = direction_weights(learner.greedy.online, self.descriptors).reshape(1, -1)
        return {FIELD: fields, WEIGHTS: np.repeat(weights, len(fields), axis=0)}

    def draw_sparse(self, elites: Elites, rng: np.random.Generator, number: int) -> np.ndarray:
        """Draw elites whose fields are to be mutated, rows, best those in sparse regions of the behaviour space."""
        data = elites.data()
        others = Visited(self.descriptors, len(elites), threshold=0.0, neighbours=NEIGHBOURS)
        others.set(data["measures"])
        sparsity = others.novelty(data["measures"], held=True)
        if WEIGHTS in data:  # those that cannot be given another field come last
            sparsity *= data[WEIGHTS].any(axis=1)
        return elites.draw(rng, number, SELECTION_PRESSURE, sparsity)


def count_mutated(size: int, elites: Elites) -> int:
    """How many of `size` policies with fields, but for one, are elites' own networks.

    Their share is that of filled cells: the more elites there are, the more there is to inherit.
    """
    return min(round(size * elites.coverage), size - 1)
