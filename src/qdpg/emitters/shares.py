"""Shares that follow success: emitters whose offspring raised the QD score lately make more of the next.

Which emitter is worth its episodes depends on the task, and changes as the archive fills. This is a bandit with
proportional shares; pyribs and multi-emitter MAP-Elites have others.

Those who climb novelty count on one thing more: that whoever visits novel states behaves in a novel way. So their share
also follows how far the two went together lately, the paper's compatibility condition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from qdpg.emitters.emitter import Emitter
from qdpg.memory.elites import Elites
from qdpg.play.rollouts import Rollouts

EARNINGS, AGREEMENT = "earnings", "agreement"  # the names of the records among what is learned
KEPT = 0.8  # of what was earned before, per generation: what counts are some five generations
PRESSURE = 2.0  # shares are in proportion to this power of what an offspring earned
PRIOR = 4.0  # offspring as good as all on average that each emitter is credited with, so that chance decides little
FULL = 0.3  # correlation of the two novelties from which on novelty is worth climbing; less counts in proportion
ENOUGH = 20.0  # episodes, recent ones, before which their correlation says nothing


class Earnings(NamedTuple):
    """What the offspring of each emitter earned lately."""

    gained: np.ndarray  # [E] QD score that they added
    played: np.ndarray  # [E] how many they were


def nothing_earned(emitters: int) -> Earnings:
    """The record at the start."""
    return Earnings(np.zeros(emitters), np.zeros(emitters))


class Agreement(NamedTuple):
    """How far the novelty of visited states and the novelty of behaviours went together lately."""

    episodes: np.ndarray  # [] how many
    sums: np.ndarray  # [2] of both novelties
    products: np.ndarray  # [2, 2] of each with each

    def correlation(self) -> float:
        """Pearson's; 1 while there are too few episodes, or where one novelty is always the same."""
        if self.episodes < ENOUGH:
            return 1.0
        means = self.sums / self.episodes
        covariance = self.products / self.episodes - np.outer(means, means)
        (own, across), (_, other) = covariance
        largest = np.square(means) * 1e-9  # rounding
        return float(across / np.sqrt(own * other)) if own > largest[0] and other > largest[1] else 1.0


def nothing_seen() -> Agreement:
    """The record at the start."""
    return Agreement(np.zeros(()), np.zeros(2), np.zeros((2, 2)))


def agree(learned: dict[str, Any], novelties: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """What was learned, with the novelties of the episodes of a generation, if that record is kept."""
    if AGREEMENT not in learned:
        return learned
    pairs = np.stack([novelties["state_novelty"], novelties["solution_novelty"]])
    pairs, held = pairs[:, np.isfinite(pairs).all(axis=0)], learned[AGREEMENT]
    new = Agreement(
        KEPT * held.episodes + pairs.shape[1],
        KEPT * held.sums + pairs.sum(axis=1),
        KEPT * held.products + pairs @ pairs.T,
    )
    return learned | {AGREEMENT: new}


def start_records(emitters: Sequence[Emitter]) -> dict[str, Any]:
    """What is recorded of emitters whose shares follow success, at the start."""
    novelty = {AGREEMENT: nothing_seen()} if any(emitter.climbs_novelty for emitter in emitters) else {}
    return {EARNINGS: nothing_earned(len(emitters))} | novelty


def find_gains(elites: Elites, candidates: Rollouts) -> np.ndarray:
    """What each candidate would add to the QD score of the archive as it is, [N]."""
    if not len(candidates.seeds):
        return np.zeros(0)
    return expect_gains(elites, candidates.behaviours, candidates.fitness)


def expect_gains(elites: Elites, behaviours: np.ndarray, fitness: np.ndarray) -> np.ndarray:
    """What policies of such behaviours [..., D] and fitness [...] would add to the QD score, [...]."""
    floor = elites.spec.fitness_floor
    occupied, stored = elites.archive.retrieve(behaviours.reshape(-1, behaviours.shape[-1]).astype(np.float32))
    before = np.where(occupied, np.maximum(stored["objective"] - floor, 0.0), 0.0)
    return np.maximum(np.maximum(fitness.reshape(-1) - floor, 0.0) - before, 0.0).reshape(fitness.shape)


def record(earnings: Earnings, makers: np.ndarray, gains: np.ndarray) -> Earnings:
    """The record after a generation; `makers` [N] has the emitter of each candidate, -1 for none."""
    own, number = makers >= 0, len(earnings.gained)
    gained = np.bincount(makers[own], gains[own], minlength=number)
    played = np.bincount(makers[own], minlength=number)
    return Earnings(KEPT * earnings.gained + gained, KEPT * earnings.played + played)


def share_out(total: int, least: np.ndarray, earnings: Earnings, trust: np.ndarray | float = 1.0) -> np.ndarray:
    """How many of `total` offspring each emitter makes, [E]: the more, the more one of its offspring earned.

    Args:
        total: Offspring of a generation.
        least: [E] what each makes at least.
        earnings: What they earned.
        trust: [E] what each one's worth is multiplied by, from 0 to 1.
    """
    gained, played = earnings
    mean = gained.sum() / max(played.sum(), 1.0)
    worth = trust * ((gained + PRIOR * mean) / (played + PRIOR)) ** PRESSURE
    free = total - int(least.sum())
    wanted = free * (worth / worth.sum() if worth.sum() > 0 else np.full(len(worth), 1 / len(worth)))
    sizes = np.floor(wanted).astype(int)
    rest = np.argsort(-(wanted - sizes), kind="stable")[: free - int(sizes.sum())]
    sizes[rest] += 1
    return least + sizes


def credit(learned: dict[str, Any], elites: Elites, makers: np.ndarray, candidates: Rollouts) -> dict[str, Any]:
    """What was learned, with the record after a generation that is about to enter the archive, if one is kept."""
    if EARNINGS not in learned:
        return learned
    return learned | {EARNINGS: record(learned[EARNINGS], makers, find_gains(elites, candidates))}


def resize(emitters: Sequence[Emitter], learned: Mapping[str, Any]) -> None:
    """Give every emitter that has `least` its share of the offspring that they make together.

    Without a record, and until something was earned, they keep the sizes that they were made with.
    """
    rows, earnings = [i for i, emitter in enumerate(emitters) if emitter.least], learned.get(EARNINGS)
    if earnings is None or not earnings.gained[rows].any():
        return
    total = sum(emitters[i].size for i in rows)
    if total < sum(emitters[i].least for i in rows):
        return  # too few to be shared out
    own = Earnings(earnings.gained[rows], earnings.played[rows])
    novelty = np.clip(learned[AGREEMENT].correlation() / FULL, 0.0, 1.0) if AGREEMENT in learned else 1.0
    trust = np.array([novelty if emitters[i].climbs_novelty else 1.0 for i in rows])
    least = np.array([emitters[i].least for i in rows])
    for i, size in zip(rows, share_out(total, least, own, trust), strict=True):
        emitters[i].size = int(size)
