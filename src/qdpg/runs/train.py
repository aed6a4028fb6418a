"""The training loop, written once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from qdpg.algorithms.algorithm import KINDS, Clock, Generation, TriesOut
from qdpg.errors import DivergedError, UserError
from qdpg.learn.climbing import Stopped
from qdpg.learn.networks import MLP
from qdpg.play.acting import NO_NOISE, Noise, RollIn
from qdpg.play.alone import arithmetic_of
from qdpg.play.judging import Outcomes, Policies, judge
from qdpg.play.player import Player, make_player
from qdpg.play.rollouts import Rollouts
from qdpg.play.starts import fresh_starts
from qdpg.runs.callbacks import Callback, CallbackError, call_all, check_callbacks
from qdpg.runs.checkpoint import START_OVER, Checkpoint, Checkpoints
from qdpg.runs.collection_files import stage_collection
from qdpg.runs.config import FORMAT
from qdpg.runs.evaluated import ABOUT
from qdpg.runs.events import TensorBoardLog
from qdpg.runs.files import Staged, remove_leftovers
from qdpg.runs.logs import CsvLog, read_csv
from qdpg.runs.looks import Looks, is_look_due
from qdpg.runs.records import Ties, Written, write_record
from qdpg.runs.room import peak_memory
from qdpg.runs.run import LOGS, Run, change_steps, check_steps, start_over, write_manifest
from qdpg.runs.software import begun, continued
from qdpg.runs.solved import steps_to_solved


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

    def judge(self, policies: Policies, seeds: np.ndarray, noise: Noise, chunk: int) -> Iterator[Outcomes]:
        """See `judging.judge`."""
        parts = judge(self._player, policies, seeds, noise=noise, chunk=chunk)
        while True:
            with self._clock.time("physics"):
                part = next(parts, None)
            if part is None:
                return
            self._report(part.steps)
            yield part


class Trainer:
    """One training, new or resumed."""

    def __init__(
        self,
        run: Run,
        display: Display,
        checkpoint_seconds: float = 60.0,
        steps: int | None = None,
        restart: bool = False,
        player: Player | None = None,
        callbacks: Sequence[Callback] = (),
    ) -> None:
        """Take up the run where its last checkpoint left it. Nothing on disk is changed before all of it was checked.

        Args:
            run: The run; its lock must be held.
            display: Where progress is shown.
            checkpoint_seconds: Time between checkpoints.
            steps: Train for this many steps in all, instead of what the run was started with.
            restart: Start over: delete what was trained.
            player: Who plays; by default this process, on all its cores. Results do not depend on it.
            callbacks: Told how it goes.

        Raises:
            UserError: The run cannot be taken up; it is as it was.
        """
        self.display, self.checkpoint_seconds = display, checkpoint_seconds
        self.callbacks: tuple[Callback, ...] = check_callbacks(callbacks)
        self.stop_reason: str | None = None
        self.task, self.algorithm = run.settings.make()
        self.player: Player = player or make_player(self.task)
        self.looks = Looks(self.player)
        if isinstance(self.algorithm, TriesOut):
            self.algorithm.player = _Watched(self.player, self.algorithm.clock, self._show_trials)
        self._tried = 0  # steps tried out so far in the present generation
        self.checkpoints = Checkpoints(run.path / "checkpoints")
        found = None if restart else self._find_checkpoint(run)
        new_steps = self._check_steps(run, steps)
        none = Written(0)
        self.logs = {name: CsvLog(run.path / f"{name}.csv", found.logs[name] if found else none) for name in LOGS}
        # From here on it goes on.
        if restart:
            run = start_over(run)
        if new_steps is not None or run.config["format"] != FORMAT:
            run = change_steps(run, run.settings.steps if new_steps is None else new_steps)
        self.run, self.settings = run, run.settings
        self._has_begun, self._is_claimed = found is not None, False
        self.seconds = found.seconds["all"] if found else 0.0
        for kind in KINDS:
            self.algorithm.clock.seconds[kind] = found.seconds.get(kind, 0.0) if found else 0.0
        for directory in (run.path, run.path / "checkpoints", run.path / "checkpoints" / "replay"):
            remove_leftovers(directory)
        if self.checkpoints.set_damaged_aside():
            assert found is not None
            self._publish(self._stage_elites(), found.logs)  # those on disk are newer than what will be trained
        for log in self.logs.values():
            log.cut()
        self.events = TensorBoardLog(run.path, self.algorithm.steps)
        self.is_solved = self.settings.until_solved and self._was_solved()

    def _find_checkpoint(self, run: Run) -> Checkpoint | None:
        """Put the newest usable checkpoint back; None if none was ever written."""
        found = self.checkpoints.restore(self.algorithm, run.identity, self.display.say)
        was_trained = run.ties is not None or not self.checkpoints.is_empty() or (run.path / "elites" / ABOUT).exists()
        if found is None and was_trained:
            raise UserError(f"{run.path} was trained, but its checkpoints are gone; {START_OVER}.")
        if found is not None and (missing := [name for name in LOGS if name not in found.logs]):
            raise UserError(f"the newest checkpoint of {run.path} says nothing about {missing[0]}.csv; {START_OVER}.")
        return found

    def _check_steps(self, run: Run, steps: int | None) -> int | None:
        """How many steps the run shall be told to train for, if it is not what it was told already."""
        if steps is None or (steps := check_steps(steps)) == run.settings.steps:
            return None
        if steps < self.algorithm.steps:
            raise UserError(
                f"--steps is {steps:,}, but {run.path} has played {self.algorithm.steps:,} steps already; "
                "ask for more, or leave out --steps."
            )
        return steps

    def train(self, stop: Callable[[], bool] = lambda: False) -> None:
        """Train until the steps are used up, the task is solved (if that is wanted), or somebody says stop; then save.

        Raises:
            UserError: Something cannot be written. The last checkpoint stays as it is.
            DivergedError: Something is not finite any more. The last checkpoint stays as it is.
            CallbackError: A callback failed. The run is saved.
        """
        try:
            try:
                self._train(stop)
            except CallbackError:
                self.save()
                raise
        except OSError as error:
            failure = UserError(
                f"{error.filename or self.run.path} could not be written ({error.strerror or error}); make room and "
                f"resume {self.run.path}: its last checkpoint is intact."
            )
            self._end(failure)
            raise failure from error
        except BaseException as error:
            self._end(error)
            raise
        self._end(None)

    def stop(self, reason: str) -> None:
        """End the training after the present generation."""
        self.stop_reason = reason if self.stop_reason is None else self.stop_reason

    def _end(self, error: BaseException | None) -> None:
        try:
            call_all(self.callbacks, "on_end", self, error)
        except CallbackError as failure:
            if error is None:
                raise
            self.display.say(str(failure))  # what ended the training is more important

    def _train(self, stop: Callable[[], bool]) -> None:
        algorithm, saved = self.algorithm, time.perf_counter()
        self._started = time.perf_counter() - self.seconds
        call_all(self.callbacks, "on_start", self)
        while algorithm.steps < self.settings.steps and not self._is_over(stop):
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
            self._claim()
            self.seconds = time.perf_counter() - self._started
            row = self._record(generation, rollouts, told)
            is_due = before // self.task.spec.evaluate_every < algorithm.steps // self.task.spec.evaluate_every
            is_due = is_due and len(generation.candidates) > 0  # otherwise there is nobody to evaluate
            evaluated = self._evaluate(generation.candidates.policies, before) if is_due else None
            self.seconds = time.perf_counter() - self._started
            self.display.update(row)
            call_all(self.callbacks, "on_generation", self, row)
            if evaluated is not None:
                call_all(self.callbacks, "on_evaluation", self, evaluated)
            if time.perf_counter() - saved > self.checkpoint_seconds:
                self._save_and_tell()
                saved = time.perf_counter()
        if self.stop_reason is not None:
            self.display.say(f"a callback ended the training: {self.stop_reason}")
        self._save_and_tell()

    def _claim(self) -> None:
        """Note which code trains, once it has trained."""
        if not self._is_claimed:
            made_by = continued if self._has_begun else begun
            self.run, self._is_claimed = replace(self.run, manifest=made_by(self.run.manifest)), True

    def _is_over(self, stop: Callable[[], bool]) -> bool:
        """Whether training ends before its steps are used up."""
        return stop() or self.is_solved or self.stop_reason is not None

    def _save_and_tell(self) -> None:
        call_all(self.callbacks, "on_checkpoint", self, self.save())

    def save(self) -> Path:
        """Write a checkpoint, and the elites as files of their own."""
        lengths = {name: log.sync() for name, log in self.logs.items()}
        seconds = {"all": self.seconds, **{kind: self.algorithm.clock.seconds[kind] for kind in KINDS}}
        # The checkpoint holds the digests of the elites, so these are written before and get their names after it.
        elites = self._stage_elites()
        path = self.checkpoints.write(self.algorithm, self._ties(elites, lengths), seconds)
        self._publish(elites, lengths)
        return path

    def _stage_elites(self) -> list[Staged]:
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
            "arithmetic": arithmetic_of(self.task),
            "emitters": getattr(self.algorithm, "emitter_names", []),
        }
        return stage_collection(self.run.path / "elites", self.algorithm.elites, about)

    def _ties(self, elites: list[Staged], logs: dict[str, Written]) -> Ties:
        digests = {staged.path.name: staged.sha256 for staged in elites}
        return Ties(self.run.identity, self.algorithm.generation, self.algorithm.steps, logs, digests)

    def _publish(self, elites: list[Staged], logs: dict[str, Written]) -> None:
        """Give the elites their names, and write down what belongs together."""
        for staged in elites:
            staged.publish()
        # `max` keeps its first argument unless the second is greater: what is not known (NaN) is never kept.
        write_record(self.run.path / "resources.json", {"peak_memory": max(peak_memory(), self.run.peak_memory())})
        write_manifest(self.run.path, self.run.manifest, self._ties(elites, logs), self.run.outline)

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
        per_episode = {**told.pop("episodes", {}), "emitter": generation.makers()}
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

    def _evaluate(self, population: MLP, before: int) -> dict[str, Any]:
        """Play the current population without noise, and now and then the best elites; these steps do not count.

        Args:
            population: The current population.
            before: Environment steps before it was played.

        Returns:
            The row of evaluations.csv.
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
        return row

    def _was_solved(self) -> bool:
        """Whether the evaluations so far have found the task solved."""
        path, solved = self.logs["evaluations"].path, self.task.spec.solved
        if solved is None or not path.exists():
            return False
        rows = read_csv(path)
        return bool(np.isfinite(steps_to_solved(rows["steps"], rows["elite_mean_fitness"], solved)))
