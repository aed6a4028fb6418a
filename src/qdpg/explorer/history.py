"""What the archive was like during training, and what its elites can be coloured by. Pure; knows no browser."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qdpg.errors import UserError
from qdpg.explorer.archive import cell_index
from qdpg.runs.collection import Collection
from qdpg.runs.run import Run

EVALUATED, STORED_FITNESS, GENERATION, EMITTER = "evaluated fitness", "stored fitness", "generation", "emitter"


@dataclass(frozen=True)
class History:
    """What the archive held after each generation, from `episodes.csv`: the best stored fitness so far in each cell.

    Attributes:
        generations: [g] ascending.
        steps: [g] environment steps at their ends.
        index: [e] int, the cell of each episode that was a candidate for the archive, in the order played.
        fitness: [e].
        generation: [e].
        seed: [e], what each was reset with.
        emitter: [e], who made the policy, as `elites.json` counts them; None if the run did not record it.
    """

    generations: np.ndarray
    steps: np.ndarray
    index: np.ndarray
    fitness: np.ndarray
    generation: np.ndarray
    seed: np.ndarray
    emitter: np.ndarray | None

    def values(self, cells: np.ndarray, generation: float, what: str) -> np.ndarray:
        """What `cells` [n] were coloured by after a generation, [n]; not-a-number where there was nothing yet.

        Whoever had the highest fitness in a cell so far was its elite, of equals the first. What elites were worth
        from fresh starts is not known of the past; their stored fitness takes its place.
        """
        shown = np.flatnonzero((self.generation <= generation) & np.isin(self.index, cells))
        order = shown[np.lexsort((-shown, self.fitness[shown], self.index[shown]))]
        last = np.flatnonzero(np.diff(self.index[order], append=-1))  # of each cell
        known = {GENERATION: self.generation, EMITTER: self.emitter}.get(what, self.fitness)
        values = np.full(len(cells), np.nan)
        if known is not None:
            values[np.searchsorted(cells, self.index[order[last]])] = known[order[last]]
        return values

    def makers(self, elites: Collection) -> np.ndarray:
        """Who made each elite, [N], as `emitter` says; not-a-number if that is not known."""
        if self.emitter is None:
            return np.full(len(elites), np.nan)
        # Several policies may start from one seed, so the first episode of an elite is told by its fitness too. The
        # log counts generations from 1, the archive from 0.
        first = elites.arrays["trial_fitness"][:, 0] if "trial_fitness" in elites.arrays else elites.fitness
        some = np.isin(self.seed, elites.seeds)
        episodes = zip(self.generation[some], self.seed[some], self.fitness[some], strict=True)
        known = dict(zip(episodes, self.emitter[some], strict=True))
        wanted = zip(elites.arrays["generation"] + 1, elites.seeds, first, strict=True)
        return np.array([known.get(each, np.nan) for each in wanted])


def read_history(run: Run, elites: Collection) -> History | None:
    """The history of a run's archive; None if its log does not say where episodes ended."""
    try:
        episodes = run.episodes()
        behaviours = np.column_stack([episodes[name] for name in elites.spec.descriptor_names])
        generation, steps, fitness, seed = (episodes[name] for name in ("generation", "steps", "fitness", "seed"))
    except (UserError, KeyError):
        return None
    finite = np.isfinite(behaviours).all(axis=1) & np.isfinite(fitness) & np.isfinite(generation)
    good = finite & _candidates(run, episodes)
    if not good.any():
        return None
    generations, last = np.unique(generation[finite][::-1], return_index=True)
    return History(
        generations,
        steps[finite][::-1][last],
        cell_index(elites, behaviours[good]),
        fitness[good],
        generation[good],
        seed[good],
        episodes["emitter"][good] if "emitter" in episodes and elites.about.get("emitters") else None,
    )


def _candidates(run: Run, episodes: dict[str, np.ndarray]) -> np.ndarray:
    """Which episodes were candidates for the archive, [e] bool; the others only filled the replay memory."""
    if "emitter" in episodes:
        return episodes["emitter"] >= 0
    # Older runs do not say. In each of their generations the candidates come first, as many as the population has
    # policies, and in generations that changed nothing there may have been none.
    generation = episodes["generation"]
    try:
        population, metrics = int(run.config["config"]["population"]), run.metrics()
        changed = metrics["generation"][metrics["new_cells"] + metrics["improved_cells"] > 0]
    except (UserError, KeyError, TypeError, ValueError):
        return np.ones(len(generation), bool)
    place = np.arange(len(generation)) - np.searchsorted(generation, generation)
    return (place < population) & np.isin(generation, changed)


def measures(elites: Collection, history: History | None) -> dict[str, np.ndarray]:
    """What elites can be coloured by, by name, [N] each; the first is what matters most."""
    known = {} if elites.evaluated is None else {EVALUATED: elites.evaluated["mean"]}
    known |= {STORED_FITNESS: elites.fitness, GENERATION: elites.arrays["generation"].astype(float)}
    if history is not None and history.emitter is not None:
        known[EMITTER] = history.makers(elites)
    return known
