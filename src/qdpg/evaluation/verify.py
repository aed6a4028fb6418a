"""`verify`: replay every elite of a run, and compare with what is stored."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from qdpg.errors import UserError
from qdpg.play.player import make_player
from qdpg.runs.run import Run, load_run
from qdpg.runs.ties import find_problems, find_strangers


@dataclass(frozen=True)
class Verification:
    """What came of verifying a run.

    Attributes:
        elites: How many there are.
        episodes: How many episodes were replayed.
        exact: Elites whose fitness and behaviour equal the stored ones, bit for bit.
        largest_fitness_difference: Between a replayed and a stored fitness.
        largest_behaviour_difference: Likewise, of any descriptor.
        problems: Files that are damaged, missing or of another run, in words.
        strangers: Names in the run's directory that qdpg did not make.
        different: Elites that do not replay exactly: cell, stored and replayed fitness.
    """

    elites: int
    episodes: int
    exact: int
    largest_fitness_difference: float
    largest_behaviour_difference: float
    problems: list[str]
    strangers: list[str]
    different: list[dict[str, Any]]

    @property
    def is_exact(self) -> bool:
        """Whether every elite is exactly what it is said to be, and all files belong to the run."""
        return not self.different and not self.problems


def verify(run: Run | Path | str) -> Verification:
    """Replay every elite from its stored seed; fitness and behaviour must equal the stored ones exactly.

    Args:
        run: The run, or its directory.

    Raises:
        UserError: There is no run, it cannot be read, or it has no elites.

    Examples:
        >>> import qdpg
        >>> qdpg.verify("runs/doc").is_exact
        True
    """
    run = run if isinstance(run, Run) else load_run(run)
    problems, strangers = find_problems(run.path, run.ties), find_strangers(run.path)
    elites = run.elites
    if not len(elites):
        raise UserError(f"{run.path} has no elites to verify.")
    rows, seeds, fitness, behaviours = elites.stored_episodes()
    population = jax.tree.map(lambda leaf: leaf[rows], elites.population())
    noise = elites.noise._replace(sigma=np.asarray(elites.noise.sigma)[rows])
    played = make_player(run.task).play(population, seeds, noise=noise, record=False)
    is_equal = (played.fitness == fitness) & (played.behaviours == behaviours).all(axis=1)
    wrong, first = np.unique(rows[~is_equal], return_index=True)
    episodes = np.flatnonzero(~is_equal)[first]
    return Verification(
        elites=len(elites),
        episodes=len(rows),
        exact=len(elites) - len(wrong),
        largest_fitness_difference=float(np.abs(played.fitness - fitness).max()),
        largest_behaviour_difference=float(np.abs(played.behaviours - behaviours).max()),
        problems=problems,
        strangers=strangers,
        different=[
            {
                "cell": int(elites.cells_index[row]),
                "stored_fitness": float(fitness[n]),
                "replayed_fitness": float(played.fitness[n]),
            }
            for row, n in zip(wrong, episodes, strict=True)
        ],
    )
