"""The training loop, written once."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from qdpg.algorithms.algorithm import KINDS, Clock, Generation, TriesOut
from qdpg.errors import DivergedError, UserError
from qdpg.learn.climbing import Stopped
from qdpg.learn.networks import MLP
from qdpg.play.acting import NO_NOISE, Noise, RollIn
from qdpg.play.player import Player, make_player
from qdpg.play.rollouts import Rollouts
from qdpg.play.starts import fresh_starts
from qdpg.runs.checkpoint import Checkpoints
from qdpg.runs.collection import write_collection
from qdpg.runs.files import write_json
from qdpg.runs.logs import CsvLog, TensorBoardLog, read_csv
from qdpg.runs.looks import Looks, is_look_due, steps_to_solved
from qdpg.runs.room import peak_memory
from qdpg.runs.run import Run, RunConfig

LOGS = ("metrics", "episodes", "evaluations")


class Display(Protocol):
    """Shows how training goes."""

    def update(self, row: dict[str, Any]) -> None:
        """Show the newest row of metrics."""
        ...

    def say(self, sentence: str) -> None:
        """Show a sentence."""
        ...


class _Watched:
    """A player that is timed, and that tells somebody how many steps it has just played."""

    def __init__(self, player: Player, clock: Clock, report: Callable[[int], None]) -> None:
        self._player, self._clock, self._report = player, clock, report

    def play(
        self,
        population: MLP,
        seeds: np.ndarray,
        *,
        noise: Noise = NO_NOISE,
        record: bool = True,
        roll_in: RollIn | None = None,
    ) -> Rollouts:
        """See `Player.play`."""
        with self._clock.time("physics"):
            rollouts = self._player.play(population, seeds, noise=noise, record=record, roll_in=roll_in)
        self._report(rollouts.steps)
        return rollouts


class Trainer:
    """One training, new or resumed."""

    def __init__(self, run: Run, display: Display, checkpoint_seconds: float = 60.0) -> None:
        """Take up the run where its last checkpoint left it.

        Args:
            run: The run; its lock must be held.
            display: Where progress is shown.
            checkpoint_seconds: Time between checkpoints.
        """
        self.run, self.display, self.checkpoint_seconds = run, display, checkpoint_seconds
        self.settings: RunConfig = run.settings
        self.task, self.algorithm = self.settings.make()
        self.player: Player = make_player(self.task)
        self.looks = Looks(self.player)
        if isinstance(self.algorithm, TriesOut):
            self.algorithm.player = _Watched(self.player, self.algorithm.clock, self._show_trials)
        self._tried = 0  # steps tried out so far in the present generation
        self.checkpoints = Checkpoints(run.path / "checkpoints")
        self.logs = {name: CsvLog(run.path / f"{name}.csv") for name in LOGS}
        found = self.checkpoints.restore(self.algorithm, display.say)
        for name, log in self.logs.items():
            log.truncate(found.logs[name] if found else 0)
        self.seconds = found.seconds["all"] if found else 0.0
        for kind in KINDS:
            self.algorithm.clock.seconds[kind] = found.seconds[kind] if found else 0.0
        self.events = TensorBoardLog(run.path, self.algorithm.steps)
        self.is_solved = self.settings.until_solved and self._was_solved()

    def train(self, stop: Callable[[], bool] = lambda: False) -> None:
        """Train until the steps are used up, the task is solved (if that is wanted), or `stop()`; then save.

        Raises:
            DivergedError: Something is not finite any more. The last checkpoint stays as it is.
        """
        algorithm, saved = self.algorithm, time.perf_counter()
        self._started = time.perf_counter() - self.seconds
        while algorithm.steps < self.settings.steps and not stop() and not self.is_solved:
            self._tried = 0
            try:
                generation = algorithm.ask(stop)
                with algorithm.clock.time("physics"):
                    rollouts = generation.play(self.player)
            except Stopped:
                self.seconds = time.perf_counter() - self._started  # given up, but spent
                break
            except DivergedError as error:
                kept = (
                    f"generation {paths[0].name.lstrip('0') or '0'}" if (paths := self.checkpoints.paths()) else "none"
                )
                raise DivergedError(
                    f"{error}; training stopped in generation {algorithm.generation} (last checkpoint: {kept})."
                ) from error
            before = algorithm.steps
            told = algorithm.tell(generation, rollouts)
            self.seconds = time.perf_counter() - self._started
            row = self._record(generation, rollouts, told)
            is_due = before // self.task.spec.evaluate_every < algorithm.steps // self.task.spec.evaluate_every
            if is_due and len(generation.candidates):  # otherwise there is nobody to evaluate
                self._evaluate(generation.candidates.policies, before)
            self.seconds = time.perf_counter() - self._started
            self.display.update(row)
            if time.perf_counter() - saved > self.checkpoint_seconds:
                self.save()
                saved = time.perf_counter()
        self.save()
        self.events.close()

    def save(self) -> Path:
        """Write a checkpoint, and the elites as files of their own."""
        try:
            lengths = {name: log.sync() for name, log in self.logs.items()}
            seconds = {"all": self.seconds, **{kind: self.algorithm.clock.seconds[kind] for kind in KINDS}}
            settings = self.settings
            about = {
                "task": settings.task,
                "task_options": settings.task_options,
                "algorithm": settings.algorithm,
                "seed": settings.seed,
                "steps": self.algorithm.steps,
                "noise_correlation": getattr(self.algorithm.config, "noise_correlation", 0.0),
                "cells": self.algorithm.elites.cells,
                "archive_seed": settings.seed,
            }
            path = self.checkpoints.write(self.algorithm, lengths, seconds)
            write_collection(self.run.path / "elites", self.algorithm.elites, about)
            # `max` keeps its first argument unless the second is greater: what is not known (NaN) is never kept.
            write_json(self.run.path / "resources.json", {"peak_memory": max(peak_memory(), self.run.peak_memory())})
        except OSError as error:
            raise UserError(
                f"the checkpoint could not be written ({error.strerror or error}); make room in {self.run.path} and "
                "resume: the checkpoint before it is intact."
            ) from error
        return path

    def _show_trials(self, steps: int) -> None:
        """Show that `steps` more have been tried out in the present generation, which may take long."""
        self._tried += steps
        self.seconds = time.perf_counter() - self._started
        self.display.update(self._status(self._tried))

    def _status(self, tried: int = 0) -> dict[str, Any]:
        """How far training has come, `tried` steps into the present generation."""
        algorithm, elites = self.algorithm, self.algorithm.elites
        return {
            "generation": algorithm.generation,
            "steps": algorithm.steps + tried,
            "seconds": self.seconds,
            "cells": len(elites),
            "coverage": elites.coverage,
            "qd_score": elites.qd_score,
            "best_fitness": elites.best_fitness,
            **{f"{kind}_seconds": algorithm.clock.seconds[kind] for kind in KINDS},
        }

    def _record(self, generation: Generation, rollouts: Rollouts, told: dict[str, Any]) -> dict[str, Any]:
        """Write a row of metrics and a row per episode."""
        algorithm, spec, status = self.algorithm, self.task.spec, self._status()
        per_episode = told.pop("episodes", {})
        row = {
            **status,
            "episodes": generation.tried.episodes + len(rollouts.seeds),
            "generation_best": rollouts.fitness.max(),
            "generation_median": np.median(rollouts.fitness),
            **told,
            "rest_seconds": self.seconds - sum(status[f"{kind}_seconds"] for kind in KINDS),
        }
        self.logs["metrics"].append([row])
        self.logs["episodes"].append(
            [
                {
                    "generation": algorithm.generation,
                    "steps": algorithm.steps,
                    "seed": rollouts.seeds[n],
                    "length": rollouts.lengths[n],
                    "terminated": int(rollouts.terminated[n]),
                    "fitness": rollouts.fitness[n],
                    "return": rollouts.returns[n],
                    **dict(zip(spec.descriptor_names, rollouts.behaviours[n], strict=True)),
                    **{name: values[n] for name, values in per_episode.items()},
                }
                for n in range(len(rollouts.seeds))
            ]
        )
        self.events.append("train", row, algorithm.steps)
        return row

    def _evaluate(self, population: MLP, before: int) -> None:
        """Play the current population without noise, and now and then the best elites; these steps do not count.

        Args:
            population: The current population.
            before: Environment steps before it was played.
        """
        seeds = fresh_starts("population", len(population), self.settings.seed, self.algorithm.generation)
        rollouts = self.player.play(population, seeds, record=False)
        row: dict[str, Any] = {
            "steps": self.algorithm.steps,
            "generation": self.algorithm.generation,
            "best_fitness": rollouts.fitness.max(),
            "median_fitness": np.median(rollouts.fitness),
            "elite_mean_fitness": "",
        }
        if is_look_due(self.task.spec, before, self.algorithm.steps, self.algorithm.elites.best_fitness):
            row["elite_mean_fitness"] = self.looks.judge_best(self.algorithm.elites)
        self.logs["evaluations"].append([row])
        self.events.append("evaluation", row, self.algorithm.steps)
        self.is_solved = self.settings.until_solved and self._was_solved()

    def _was_solved(self) -> bool:
        """Whether the evaluations so far have found the task solved."""
        path, solved = self.logs["evaluations"].path, self.task.spec.solved
        if solved is None or not path.exists():
            return False
        rows = read_csv(path)
        return bool(np.isfinite(steps_to_solved(rows["steps"], rows["elite_mean_fitness"], solved)))
