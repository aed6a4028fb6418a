"""The fast-adaptation experiment of the paper: random new goals, a few trials each, and what else one could do.

For each goal, three ways to find an elite, all with the same episodes: Bayesian optimisation, random choice with as
many trials, and exhaustive search, which plays every elite.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from qdpg.adaptation.goals import Starts, draw_goals, known_ways, movable, play_elites, scores
from qdpg.adaptation.model import Settings
from qdpg.adaptation.search import Adaptation, check_budget
from qdpg.errors import UserError
from qdpg.runs.collection import Collection
from qdpg.tasks.task import Task

METHODS = ("bayesian", "random", "exhaustive")


@dataclass(frozen=True)
class Experiment:
    """What came of G goals with n trials each.

    Attributes:
        goals: [G, 2].
        tried: [G, n] int, rows of the elites that Bayesian optimisation tried, in order.
        tried_scores: [G, n], their scores.
        drawn: [G, n] int, rows of those drawn at random.
        drawn_scores: [G, n], their scores.
        best: [G] int, row of the best of all elites.
        best_scores: [G], its score.
        again: By method, [G], what the elite that it found scores when it is played once more, from another fresh
            start: the best of several scores is optimistic, this is not.
    """

    goals: np.ndarray
    tried: np.ndarray
    tried_scores: np.ndarray
    drawn: np.ndarray
    drawn_scores: np.ndarray
    best: np.ndarray
    best_scores: np.ndarray
    again: dict[str, np.ndarray]

    @property
    def trials(self) -> int:
        """Trials per goal, n."""
        return self.tried.shape[1]

    def found(self) -> dict[str, np.ndarray]:
        """The score of the elite that each method found, [G], by method."""
        found = self.tried_scores.max(axis=1), self.drawn_scores.max(axis=1), self.best_scores
        return dict(zip(METHODS, found, strict=True))

    def so_far(self) -> dict[str, np.ndarray]:
        """The best score after each trial, [G, n], by method; exhaustive search as if it were done from the start."""
        parts = self.tried_scores, self.drawn_scores, np.tile(self.best_scores[:, None], self.trials)
        return {name: np.maximum.accumulate(part, axis=1) for name, part in zip(METHODS, parts, strict=True)}

    def rows(self, cells: np.ndarray) -> list[dict[str, Any]]:
        """A row of a table per goal; `cells` [N] are the elites' cells in the archive."""
        row, at = np.arange(len(self.best)), self.tried_scores.argmax(axis=1)
        elites = found_elites(self.tried, self.tried_scores, self.drawn, self.drawn_scores, self.best)
        columns = {
            "goal_x": self.goals[:, 0],
            "goal_y": self.goals[:, 1],
            **self.found(),
            **{f"{name}_again": self.again[name] for name in METHODS},
            **{f"{name}_elite": cells[chosen] for name, chosen in elites.items()},
            "trials": np.full(len(row), self.trials),
            "found_in_trial": at + 1,
        }
        return [{name: column[i].item() for name, column in columns.items()} for i in row]


def found_elites(
    tried: np.ndarray, tried_scores: np.ndarray, drawn: np.ndarray, drawn_scores: np.ndarray, best: np.ndarray
) -> dict[str, np.ndarray]:
    """Rows of the elites that each method found, [G], by method; see `Experiment`."""
    row = np.arange(len(best))
    chosen = tried[row, tried_scores.argmax(axis=1)], drawn[row, drawn_scores.argmax(axis=1)], best
    return dict(zip(METHODS, chosen, strict=True))


def run_experiment(
    task: Task,
    elites: Collection,
    *,
    trials: int,
    goals: int,
    seed: int,
    starts: Starts = "fresh",
    settings: Settings | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> Experiment:
    """Adapt to random goals.

    Args:
        task: What the elites were trained on.
        elites: The collection.
        trials: Episodes per goal.
        goals: How many goals.
        seed: Where goals, fresh starts and random choices come from.
        starts: See `play_elites`.
        settings: How Bayesian optimisation chooses.
        progress: Told the number of goals done.

    Raises:
        UserError: The goal cannot be moved, or the collection is too small for the budget.
    """
    if goals < 1:
        raise UserError(f"the number of goals is {goals}, but must be at least 1.")
    goal_task = movable(task)
    check_budget(elites, trials)
    goal_seed, start_seed, choice_seed, again_seed = np.random.SeedSequence(seed).spawn(4)
    places = draw_goals(goal_task, goals, np.random.default_rng(goal_seed))
    played = play_elites(goal_task, elites, starts, int(start_seed.generate_state(1)[0]))
    played_again = play_elites(goal_task, elites, "fresh", int(again_seed.generate_state(1)[0]))
    ways = known_ways(goal_task, elites)  # known before any trial
    rng = np.random.default_rng(choice_seed)
    tried, drawn = np.zeros((goals, trials), int), np.zeros((goals, trials), int)
    all_scores, again_scores = np.zeros((goals, len(elites))), np.zeros((goals, len(elites)))
    for number, goal in enumerate(places):
        all_scores[number] = scores(goal_task, played, goal)
        again_scores[number] = scores(goal_task, played_again, goal)
        search = Adaptation(elites, settings, ways=ways)
        for _ in range(trials):
            elite = search.ask()
            search.tell(elite, all_scores[number, elite])
        tried[number] = [trial.elite for trial in search.trials]
        drawn[number] = rng.permutation(len(elites))[:trials]
        progress(number + 1)
    tried_scores, drawn_scores = (np.take_along_axis(all_scores, each, axis=1) for each in (tried, drawn))
    best = all_scores.argmax(axis=1)
    found = found_elites(tried, tried_scores, drawn, drawn_scores, best)
    return Experiment(
        goals=places,
        tried=tried,
        tried_scores=tried_scores,
        drawn=drawn,
        drawn_scores=drawn_scores,
        best=best,
        best_scores=all_scores.max(axis=1),
        again={name: again_scores[np.arange(goals), rows] for name, rows in found.items()},
    )


def summarise(scores: dict[str, np.ndarray]) -> dict[str, dict[str, float]]:
    """Mean, standard deviation, median and quartiles of scores [G] over goals, by method."""
    words = ("mean", "std", "median", "lower_quartile", "upper_quartile")
    return {name: dict(zip(words, _statistics(found), strict=True)) for name, found in scores.items()}


def _statistics(found: np.ndarray) -> tuple[float, ...]:
    return float(found.mean()), float(found.std()), *np.quantile(found, (0.5, 0.25, 0.75)).tolist()
