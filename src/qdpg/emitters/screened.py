"""Screened offspring: of many that another emitter could make, those are played that promise most."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from qdpg.emitters.emitter import Context, Emitter, Exploration, Offspring
from qdpg.emitters.iso_line import IsoLine, IsoLineShare
from qdpg.emitters.shares import expect_gains
from qdpg.learn.networks import take_policies
from qdpg.learn.surrogate import describe, predict
from qdpg.learn.transitions import REWARD
from qdpg.memory.elites import Elites
from qdpg.native import one_thread

STATES = 64  # in which policies are compared
SAMPLES = 32  # of what an offspring may do
MOST_KNOWN = 512  # elites that predictions are made from, drawn at random if there are more
FEWEST_KNOWN = 5  # with fewer elites nothing is predicted


class Selected(NamedTuple):
    """What the other emitter selected, and the draws of the screening."""

    own: Any
    states: np.ndarray  # [STATES] which states policies are compared in, as shares of the replay memory
    known: np.ndarray  # [k] rows of elites that predictions are made from
    samples: np.ndarray  # [SAMPLES, D + 1] standard normal draws
    elites: Elites


class Screened(Emitter):
    """Offspring of another emitter, chosen by how much they are expected to add to the QD score."""

    def __init__(self, emitter: Emitter, made: int) -> None:
        """Remember whose offspring are to be screened.

        Args:
            emitter: Who makes them.
            made: How many for each that is played.
        """
        self.made, self.emitter, self.learner, self.size = made, emitter, emitter.learner, emitter.size
        self.keeps_start, self.least = emitter.keeps_start, emitter.least

    @property
    def label(self) -> str:
        """As that of the other emitter."""
        return self.emitter.label

    def init(self, key: Any) -> Any:
        """As the other emitter."""
        return self.emitter.init(key)

    def select(self, elites: Elites, rng: np.random.Generator) -> Selected:
        """Let the other emitter select many times as many."""
        self.emitter.size = self.size * self.made
        own = self.emitter.select(elites, rng)
        known = rng.permutation(len(elites))[:MOST_KNOWN]
        samples = rng.standard_normal((SAMPLES, elites.spec.descriptor_size + 1))
        return Selected(own, rng.random(STATES), known, samples, elites)

    def emit(self, selected: Selected, context: Context) -> Offspring | None:
        """Make them all; of every `made` keep the one that is expected to add most."""
        offspring, transitions = self.emitter.emit(selected.own, context), context.transitions
        if offspring is None or not self.size:
            return None
        assert transitions is not None
        number = len(offspring.parents) // self.made
        if len(selected.known) < FEWEST_KNOWN or not int(transitions.number):
            return take(offspring, np.arange(number) * self.made)
        slots = np.asarray(transitions.playable)[(selected.states * int(transitions.number)).astype(int)]
        spec, rows = selected.elites.spec, np.asarray(transitions.rows)[slots]
        seen = min(spec.observation_size, rows.shape[1] + REWARD - spec.action_size)  # the others are always zero
        states = np.zeros((STATES, spec.observation_size), np.float32)
        states[:, :seen] = rows[:, :seen]
        data = selected.elites.data()
        targets = np.column_stack([data["measures"], data["objective"]])[selected.known].astype(np.float64)
        known = describe(selected.elites.policies(selected.known), states)
        asked = describe(offspring.policies, states)
        with one_thread():
            expected = predict(known, targets, asked)
        drawn = expected.means + expected.deviations * selected.samples[:, None]
        gains = expect_gains(selected.elites, drawn[..., :-1], drawn[..., -1]).mean(axis=0)
        return take(offspring, gains.reshape(number, self.made).argmax(axis=1) + np.arange(number) * self.made)

    def explore(self, offspring: Offspring, rng: np.random.Generator) -> Exploration | None:
        """As the other emitter."""
        return self.emitter.explore(offspring, rng)


def vary(number: int, settings: IsoLineShare, kind: type[IsoLine] = IsoLine) -> list[Emitter]:
    """The emitter of so many iso+line offspring, screened if that is wanted; nobody if there are to be none."""
    if not number:
        return []
    emitter = kind(number, settings)
    return [emitter if settings.screened_from == 1 else Screened(emitter, settings.screened_from)]


def take(offspring: Offspring, rows: np.ndarray) -> Offspring:
    """Some of them; what was learned on the way stays."""
    entries = None if offspring.entries is None else offspring.entries[rows]
    fields = {name: values[rows] for name, values in offspring.extra_fields.items()}
    return offspring._replace(
        policies=take_policies(offspring.policies, rows),
        parents=offspring.parents[rows],
        extra_fields=fields,
        entries=entries,
    )
