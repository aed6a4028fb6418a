"""Looks at a run while it is trained: has an elite solved the task?

A look compares the few elites of the highest stored fitness by the same fixed starts, chooses the best of them, and
judges it by other fixed starts. The task is *solved* if the elite's mean from these reaches the task's threshold at two
successive looks. Starts are fixed, so an elite that was played at an earlier look need not be played again.
"""

from __future__ import annotations

import hashlib
import math

import jax
import numpy as np

from qdpg.learn.networks import MLP, flatten_population
from qdpg.memory.elites import Elites
from qdpg.play.player import Player
from qdpg.play.starts import Purpose, fresh_starts
from qdpg.tasks.task import TaskSpec

CANDIDATES = 3  # elites that are compared
STARTS = 20  # episodes that each of them plays, and that the chosen one is judged by
SHARE = 0.2  # of environment steps that looks may take beside training, where there is no threshold to wait for


class Looks:
    """What was seen of the best elites. Nothing here is state: an elite and a start always give the same episode."""

    def __init__(self, player: Player) -> None:
        """Remember who plays."""
        self._player = player
        self._means: dict[tuple[str, Purpose], float] = {}

    def judge_best(self, elites: Elites) -> float:
        """The mean fitness, from starts that it was not chosen by, of the best elite."""
        best = np.argsort(-elites.data()["objective"], kind="stable")[:CANDIDATES]
        policies = elites.policies(best)
        means = self._mean_fitness(policies, "look-choose")
        chosen = int(means.argmax())
        one = jax.tree.map(lambda leaf: leaf[chosen : chosen + 1], policies)
        return float(self._mean_fitness(one, "look-report")[0])

    def _mean_fitness(self, policies: MLP, purpose: Purpose) -> np.ndarray:
        names = [hashlib.sha256(row.tobytes()).hexdigest() for row in flatten_population(policies)]
        missing = [n for n, name in enumerate(names) if (name, purpose) not in self._means]
        if missing:
            repeated = jax.tree.map(lambda leaf: np.repeat(np.asarray(leaf)[missing], STARTS, axis=0), policies)
            seeds = np.tile(fresh_starts(purpose, STARTS), len(missing))
            played = self._player.play(repeated, seeds, record=False)
            for n, mean in zip(missing, played.fitness.reshape(len(missing), -1).mean(axis=1), strict=True):
                self._means[names[n], purpose] = float(mean)
        return np.array([self._means[name, purpose] for name in names])


def is_look_due(spec: TaskSpec, before: int, steps: int, best_fitness: float) -> bool:
    """Whether to look at the best elites at an evaluation.

    Args:
        spec: The task.
        before: Environment steps before this generation.
        steps: Environment steps now.
        best_fitness: Stored fitness of the best elite; below the threshold, no elite is worth a look.
    """
    if spec.solved is not None:
        return best_fitness >= spec.solved
    every = spec.evaluate_every * math.ceil((CANDIDATES + 1) * STARTS * spec.horizon / SHARE / spec.evaluate_every)
    return before // every < steps // every
