"""`qdpg verify`: replay every elite and compare with what is stored."""

from __future__ import annotations

import json
from pathlib import Path

import jax
import numpy as np

from qdpg.compiled import cache_compiled_programs
from qdpg.errors import UserError
from qdpg.play.player import make_player
from qdpg.runs.run import load_run
from qdpg.runs.software import describe_software, differences
from qdpg.runs.ties import find_problems, find_strangers
from qdpg.terminal import make_console


def run(path: Path, as_json: bool, trust: bool = False) -> int:
    """Replay, compare, print; 0 if every elite is exactly what it is said to be and all files belong, else 1."""
    cache_compiled_programs()
    found = load_run(path, trust)
    problems, strangers = find_problems(path, found.ties), find_strangers(path)
    elites = found.elites
    if not len(elites):
        raise UserError(f"{path} has no elites to verify.")
    rows, seeds, fitness, behaviours = elites.stored_episodes()
    population = jax.tree.map(lambda leaf: leaf[rows], elites.population())
    noise = elites.noise._replace(sigma=np.asarray(elites.noise.sigma)[rows])
    played = make_player(found.task).play(population, seeds, noise=noise, record=False)
    is_equal = (played.fitness == fitness) & (played.behaviours == behaviours).all(axis=1)
    wrong, first = np.unique(rows[~is_equal], return_index=True)
    first = np.flatnonzero(~is_equal)[first]
    result = {
        "elites": len(elites),
        "episodes": len(rows),
        "exact": len(elites) - len(wrong),
        "largest_fitness_difference": float(np.abs(played.fitness - fitness).max()),
        "largest_behaviour_difference": float(np.abs(played.behaviours - behaviours).max()),
        "problems": problems,
        "strangers": strangers,
        "different": [
            {
                "cell": int(elites.cells_index[row]),
                "stored_fitness": float(fitness[n]),
                "replayed_fitness": float(played.fitness[n]),
            }
            for row, n in zip(wrong, first, strict=True)
        ],
    }
    if as_json:
        print(json.dumps(result))
        return 1 if len(wrong) or problems else 0
    console = make_console()
    for problem in problems:
        console.print(problem, soft_wrap=True)
    if strangers:
        console.print(f"not made by qdpg: {', '.join(strangers)}", soft_wrap=True)
    if not len(wrong):
        console.print(f"all {len(elites)} elites replay exactly: fitness and behaviour equal the stored ones.")
        return 1 if problems else 0
    console.print(
        f"{len(wrong)} of {len(elites)} elites do not replay exactly (cells {elites.cells_index[wrong].tolist()})."
    )
    if changed := differences(found.manifest, describe_software()):
        console.print(f"versions or machine differ: {'; '.join(changed)}")
    return 1
