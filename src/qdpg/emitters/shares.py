"""Shares that follow success: emitters whose offspring raised the QD score lately make more of the next.

Which emitter is worth its episodes depends on the task, and changes as the archive fills. This is a bandit with
proportional shares; pyribs and multi-emitter MAP-Elites have others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from qdpg.emitters.emitter import Emitter
from qdpg.memory.elites import Elites
from qdpg.play.rollouts import Rollouts

EARNINGS = "earnings"  # the name of the record among what is learned
KEPT = 0.8  # of what was earned before, per generation: what counts are some five generations
PRESSURE = 2.0  # shares are in proportion to this power of what an offspring earned
PRIOR = 4.0  # offspring as good as all on average that each emitter is credited with, so that chance decides little


class Earnings(NamedTuple):
    """What the offspring of each emitter earned lately."""

    gained: np.ndarray  # [E] QD score that they added
    played: np.ndarray  # [E] how many they were


def nothing_earned(emitters: int) -> Earnings:
    """The record at the start."""
    return Earnings(np.zeros(emitters), np.zeros(emitters))


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


def share_out(total: int, least: np.ndarray, earnings: Earnings) -> np.ndarray:
    """How many of `total` offspring each emitter makes, [E]: the more, the more one of its offspring earned.

    Args:
        total: Offspring of a generation.
        least: [E] what each makes at least.
        earnings: What they earned.
    """
    gained, played = earnings
    mean = gained.sum() / max(played.sum(), 1.0)
    worth = ((gained + PRIOR * mean) / (played + PRIOR)) ** PRESSURE
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


def resize(emitters: Sequence[Emitter], earnings: Earnings | None) -> None:
    """Give every emitter that has `least` its share of the offspring that they make together.

    Without a record, and until something was earned, they keep the sizes that they were made with.
    """
    rows = [i for i, emitter in enumerate(emitters) if emitter.least]
    if earnings is None or not earnings.gained[rows].any():
        return
    total = sum(emitters[i].size for i in rows)
    own = Earnings(earnings.gained[rows], earnings.played[rows])
    for i, size in zip(rows, share_out(total, np.array([emitters[i].least for i in rows]), own), strict=True):
        emitters[i].size = int(size)
