"""Finding a good elite for something new in a few trials, one real episode at a time.

`adapt` is the loop around a score function; `Adaptation` is what it asks and tells, for loops of one's own. What comes
next depends only on the collection, the settings and the trials so far, so that a search goes on from its saved trials
as if it had never stopped.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from qdpg.adaptation.model import Settings, desirability, features, predict
from qdpg.errors import UserError
from qdpg.native import one_thread
from qdpg.runs.collection import Collection
from qdpg.runs.files import read_json, write_json
from qdpg.runs.policy import Policy

FORMAT = 1


@dataclass(frozen=True)
class Trial:
    """One episode with one elite.

    Attributes:
        elite: Its row in the collection.
        score: What it scored; None if the trial failed.
        failure: Why it failed.
    """

    elite: int
    score: float | None
    failure: str | None = None


class Adaptation:
    """A search for the elite that scores highest. `ask` for an elite, play it, `tell` its score."""

    def __init__(
        self,
        collection: Collection,
        settings: Settings | None = None,
        state: Path | str | None = None,
        ways: np.ndarray | None = None,
    ) -> None:
        """Begin, or go on where `state` says.

        Args:
            collection: The elites to choose from.
            settings: How to choose.
            state: A JSON file to keep the trials in, whole after every `tell`; it need not be there yet.
            ways: [N, D], mean descriptors along each elite's way, for example `known_ways(task, collection)`.

        Raises:
            UserError: The collection is empty, the ways are not its own, or the file is damaged or belongs to another
                search.
        """
        if not len(collection):
            raise UserError("the collection is empty; train longer.")
        if ways is not None and np.shape(ways) != collection.behaviours.shape:
            raise UserError(f"the ways are {np.shape(ways)}, but must be {collection.behaviours.shape}, one per elite.")
        self.collection, self.settings = collection, settings or Settings()
        self._ways, self._places = ways, features(collection, self.settings, ways)
        self._prior = collection.fitness if self.settings.prior == "fitness" else np.zeros(len(collection))
        self._state = None if state is None else Path(state)
        self.trials: list[Trial] = [] if self._state is None or not self._state.exists() else self._read(self._state)

    def ask(self) -> int:
        """The row of the elite to try next; none is tried twice.

        The first is the one with the highest prior, of equals the one in the middle of the collection.

        Raises:
            UserError: All elites were tried.
        """
        if len(self.trials) == len(self.collection):
            raise UserError(f"all {len(self.collection)} elites were tried.")
        if not self.trials:
            behaviours = self._places[:, : self.collection.spec.descriptor_size]
            middle = ((behaviours - behaviours.mean(axis=0)) ** 2).sum(axis=1)
            return int(np.lexsort((middle, -self._prior))[0])
        tried = np.array([trial.elite for trial in self.trials])
        # One thread is fastest for matrices this small, and rounds alike on every machine.
        with one_thread():
            worth = desirability(self._places, self._prior, tried, self._scores(), self.settings)
        worth[tried] = -np.inf
        return int(worth.argmax())

    def tell(self, elite: int, score: float, failure: str | None = None) -> Trial:
        """Remember what an elite scored, and save it.

        Args:
            elite: Its row.
            score: Higher is better. One that is not finite means that the trial failed.
            failure: Why it failed, if it did.

        Raises:
            UserError: There is no such elite, or it was tried before.
        """
        if not 0 <= elite < len(self.collection):
            raise UserError(f"there is no elite {elite}; the collection has {len(self.collection)}.")
        if any(trial.elite == elite for trial in self.trials):
            raise UserError(f"elite {elite} was tried before.")
        score = float(score)
        if failure is None and not math.isfinite(score):
            failure = f"its score was {score}"
        trial = Trial(int(elite), None if failure else score, failure)
        trials = [*self.trials, trial]
        if self._state is not None:
            saved = {"format": FORMAT, **self._about(), "trials": [dataclasses.asdict(trial) for trial in trials]}
            write_json(self._state, saved)
        self.trials = trials
        return trial

    def belief(self) -> np.ndarray:
        """What the model expects every elite to score, [N]; before the first trial, its prior."""
        if not self.trials:
            return np.array(self._prior, float)
        tried = np.array([trial.elite for trial in self.trials])
        with one_thread():
            mean, _, unit, zero = predict(self._places, self._prior, tried, self._scores(), self.settings)
        return zero + unit * mean

    @property
    def best(self) -> Trial | None:
        """The trial of the highest score, the first of equals; None if there is none that worked."""
        worked = [trial for trial in self.trials if trial.score is not None]
        return max(worked, key=lambda trial: trial.score or 0.0, default=None)

    @property
    def best_policy(self) -> Policy:
        """The policy of the highest score.

        Raises:
            UserError: No trial worked.
        """
        if self.best is None:
            first = f"; the first failed because {self.trials[0].failure}" if self.trials else ""
            raise UserError(f"none of {len(self.trials)} trials gave a score{first}.")
        return self.collection[self.best.elite]

    def _scores(self) -> np.ndarray:
        """[n]; a trial that failed counts as the worst that worked, so that its neighbours lose appeal too."""
        scores = np.array([math.nan if trial.score is None else trial.score for trial in self.trials])
        worst = 0.0 if np.isnan(scores).all() else float(np.nanmin(scores))
        return np.where(np.isnan(scores), worst, scores)

    def _about(self) -> dict[str, Any]:
        """What a saved search belongs to."""
        elites = hashlib.sha256()
        for part in (self.collection.behaviours, self.collection.fitness, self._ways):
            elites.update(b"" if part is None else np.ascontiguousarray(part).tobytes())
        settings = json.loads(json.dumps(dataclasses.asdict(self.settings)))
        return {"elites": len(self.collection), "checksum": elites.hexdigest(), "settings": settings}

    def _read(self, path: Path) -> list[Trial]:
        try:
            saved = read_json(path)
            about = {name: saved[name] for name in ("format", "elites", "checksum", "settings")}
            trials = [Trial(**trial) for trial in saved["trials"]]
            rows = [trial.elite for trial in trials]
            sound = len(set(rows)) == len(rows) and all(type(row) is int and 0 <= row < about["elites"] for row in rows)
            if not sound or not all(_is_sound(trial) for trial in trials):
                raise ValueError("its trials make no sense")
        except (OSError, UserError, ValueError, TypeError, KeyError) as error:
            raise UserError(
                f"{path} is damaged or no saved adaptation ({type(error).__name__}: {error}); "
                "restore it, or remove it to begin anew."
            ) from error
        wanted = {"format": FORMAT, **self._about()}
        for name, what in (
            ("format", "another format"),
            ("checksum", "another collection"),
            ("settings", "other settings"),
        ):
            if about[name] != wanted[name]:
                raise UserError(f"{path} was begun with {what}; give another file, or remove it to begin anew.")
        return trials


def _is_sound(trial: Trial) -> bool:
    if trial.score is None:
        return isinstance(trial.failure, str)
    return isinstance(trial.score, float) and math.isfinite(trial.score) and trial.failure is None


def adapt(
    collection: Collection,
    score: Callable[[Policy], float],
    trials: int = 20,
    state: Path | str | None = None,
    settings: Settings | None = None,
    ways: np.ndarray | None = None,
    say: Callable[[str], None] = lambda sentence: print(sentence, file=sys.stderr),
) -> Adaptation:
    """Find a good policy for something new, with `trials` real episodes at most.

    A trial whose score is not finite, or that raises an exception, is said, counts, and is not repeated; to the model
    it is as bad as the worst that worked. Ctrl-C ends the search; what was told is in `state`, and the same call goes
    on from there.

    Args:
        collection: The policies to choose from, for example `load_run(path).elites`.
        score: Plays one episode with a policy and returns how good it was; higher is better.
        trials: The budget, earlier trials of a saved search included.
        state: A JSON file that the search is saved in after every trial.
        settings: How the next policy is chosen.
        ways: [N, D], mean descriptors along each policy's way, if known; see `known_ways`.
        say: Takes a sentence about every trial that failed.

    Returns:
        The search: `best_policy` is what it found, `best.score` what that scored, `trials` what was tried.

    Raises:
        UserError: The collection is too small for the budget, the saved search is damaged or another one's, or no
            trial worked.

    Examples:
        >>> import qdpg
        >>> elites = qdpg.load_run("runs/doc").elites
        >>> def score(policy):  # in earnest, it plays an episode
        ...     return -float(abs(policy.behaviour - [0.3, -0.5]).sum())
        >>> found = qdpg.adapt(elites, score, trials=5)
        >>> found.best.score == max(trial.score for trial in found.trials)
        True
    """
    check_budget(collection, trials)
    search = Adaptation(collection, settings, state, ways)
    while len(search.trials) < trials:
        elite = search.ask()
        try:
            told = search.tell(elite, *_try(score, collection[elite]))
        except OSError as error:
            raise UserError(f"cannot save the search in {state}: {error.strerror or error}.") from error
        if told.failure is not None:
            say(f"trial {len(search.trials)} of {trials}, with elite {elite}, failed: {told.failure}")
    search.best_policy  # noqa: B018 (says so if no trial worked)
    return search


def check_budget(collection: Collection, trials: int) -> None:
    """Refuse a budget that the collection cannot fill.

    Raises:
        UserError: There are fewer elites than trials.
    """
    if trials < 1:
        raise UserError(f"the number of trials is {trials}, but must be at least 1.")
    if len(collection) < trials:
        raise UserError(
            f"the collection has {len(collection)} elites, too few for {trials} trials; train longer, or ask for fewer."
        )


def _try(score: Callable[[Policy], float], policy: Policy) -> tuple[float, str | None]:
    try:
        return float(score(policy)), None
    except Exception as error:  # whatever went wrong in the user's episode
        return math.nan, f"{type(error).__name__}: {error}"
