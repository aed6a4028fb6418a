"""What the best elites of a run are worth from fresh starts: an elite's own fitness is that of one episode.

    python benchmarks/fresh_starts.py RUN [--elites 10] [--episodes 20]

Prints, for the elites of the highest stored fitness, mean and quartiles of their fitness over episodes that no training
has seen, how many of these ended early, and where their median ends.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import jax
import numpy as np

from qdpg import load_run
from qdpg.play.player import make_player

_FIRST_SEED = 10**10  # beyond all reset seeds of training and evaluation


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--elites", type=int, default=10)
    parser.add_argument("--episodes", type=int, default=20)
    given = parser.parse_args()
    run = load_run(given.run)
    elites = run.elites
    best = np.argsort(-elites.fitness, kind="stable")[: given.elites]
    population = jax.tree.map(lambda leaf: np.repeat(leaf[best], given.episodes, axis=0), elites.population())
    seeds = np.tile(_FIRST_SEED + np.arange(given.episodes), len(best))
    played = make_player(run.task).play(population, seeds, record=False)
    shape = (len(best), given.episodes)
    ends = np.median(played.behaviours.reshape(*shape, -1), axis=1)
    print("| stored | mean | quartiles | ended early | stored end | median end |\n|---|---|---|---|---|---|")
    for row, fitness, ended, end in zip(
        best, played.fitness.reshape(shape), played.terminated.reshape(shape), ends, strict=True
    ):
        quartiles = ", ".join(f"{q:,.1f}" for q in np.quantile(fitness, [0.25, 0.5, 0.75]))
        places = " | ".join("(" + ", ".join(f"{x:.1f}" for x in place) + ")" for place in (elites.behaviours[row], end))
        print(f"| {elites.fitness[row]:,.1f} | {fitness.mean():,.1f} | {quartiles} | {ended.sum()} | {places} |")


if __name__ == "__main__":
    main()
