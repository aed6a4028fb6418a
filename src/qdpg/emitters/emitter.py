"""The contract of an emitter: something that turns elites into offspring.

A generation is made in two passes over an algorithm's list of emitters. In the first, every emitter *selects*: it makes
all its random draws, so that draws have one order. In the second, every emitter *emits*: it turns what it selected into
offspring, without a random draw of its own; emitters with different learners do so side by side.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import numpy as np

from qdpg.learn.networks import MLP
from qdpg.learn.transitions import Transitions
from qdpg.memory.elites import Elites


class Offspring(NamedTuple):
    """New policies, and what is to be remembered if they are played."""

    policies: MLP  # n stacked, as they are played
    parents: np.ndarray  # [n] int, rows of `Elites.data()` that they come from; -1 for none
    extra_fields: Mapping[str, np.ndarray] = {}
    entries: np.ndarray | None = None  # [n] of `ReevaluatedElites` that they are; None: all are new
    learned: Any = None  # what the emitter's learner has become; state in `tell`, and not before


class Context(NamedTuple):
    """What an emitter may use when it emits."""

    learner: Any  # the state of its learner, as the emitters before it in this generation left it
    transitions: Transitions | None  # the replay memory, if there is one
    key: jax.Array  # random key of this generation and learner
    steps: int  # gradient steps of this generation
    stop: Callable[[], bool]  # long work asks now and then, and raises `Stopped`


class Exploration(NamedTuple):
    """Policies for exploration episodes: these only fill the replay memory, never the archive."""

    policies: MLP  # n stacked
    sigma: float  # standard deviation of the action noise


class Emitter(ABC):
    """Something that turns elites into offspring.

    Attributes:
        learner: The name of what it learns with, or None. Emitters that name the same one share it: they emit one after
            another, each with what the one before it learned.
        keeps_start: Whether its offspring may be judged from the start that their parent was stored for: they are to be
            better there, not different.
        size: Offspring per generation, if that is a fixed number.
        least: How many offspring it makes at least where shares follow success; 0 if its number does not change.
        climbs_novelty: Whether it counts on novel states to make novel behaviours.
    """

    learner: str | None = None
    keeps_start: bool = False
    size: int = 0
    least: int = 0
    climbs_novelty: bool = False

    @property
    def label(self) -> str:
        """What it is called in words, for people: its class, and what it learns with."""
        words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", type(self).__name__).lower()
        return words if self.learner is None else f"{words} ({self.learner})"

    def init(self, key: jax.Array) -> Any:
        """The state of its learner at the start. Of emitters that share a learner, the first is asked."""
        return None

    @abstractmethod
    def select(self, elites: Elites, rng: np.random.Generator) -> Any:
        """Make all random draws of a generation."""

    @abstractmethod
    def emit(self, selected: Any, context: Context) -> Offspring | None:
        """Turn what `select` returned into offspring; None if there are none this time."""

    def explore(self, offspring: Offspring, rng: np.random.Generator) -> Exploration | None:
        """Policies for exploration episodes beside these offspring; None if there are none."""
        return None


def find_starts(elites: Elites, emitter: Emitter, offspring: Offspring) -> np.ndarray:
    """The starts that the parents of offspring were stored for, [n] reset seeds; -1 where there is none to keep."""
    parents = offspring.parents
    return np.where((parents < 0) | (not emitter.keeps_start), -1, elites.data()["seed"][parents])


def inherit_fields(elites: Elites, offspring: Offspring) -> dict[str, np.ndarray]:
    """What an archive with extra fields remembers of offspring: what they say, else what their parents had, else 0."""
    stored, parents, fields = elites.data(), offspring.parents, {}
    for name in elites.extra_fields:
        given = offspring.extra_fields.get(name)
        fields[name] = np.where(parents[:, None] < 0, 0.0, stored[name][parents]) if given is None else given
    return fields
