"""`qdpg train` and `qdpg resume`."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from qdpg.algorithms.registry import config_to_json, default_algorithm, footprint, make_algorithm, make_config
from qdpg.cli.settings import parse_settings, split_settings
from qdpg.errors import UserError
from qdpg.evaluation.evaluate import evaluate
from qdpg.evaluation.words import describe
from qdpg.runs.compiled import cache_compiled_programs
from qdpg.runs.display import ProgressDisplay
from qdpg.runs.room import check_room
from qdpg.runs.run import Run, RunConfig, change_steps, create_run, load_run, lock_run
from qdpg.runs.train import Trainer
from qdpg.tasks.registry import file_name, make_task


def run_train(
    task: str,
    algorithm: str | None,
    preset: str,
    steps: int,
    seed: int,
    out: Path | None,
    settings: Sequence[str],
    until_solved: bool,
    checkpoint_seconds: float,
    evaluate_seconds: float,
    quiet: bool,
) -> int:
    """Start a run, train it, and evaluate its elites."""
    if steps < 1:
        raise UserError(f"--steps is {steps}, but must be at least 1.")
    if not 0 <= seed < 2**31:
        raise UserError(f"--seed is {seed}, but must be at least 0 and below 2³¹.")
    algorithm = algorithm or default_algorithm(task)
    options, others = split_settings(parse_settings(settings))
    if until_solved and make_task(task, **options).spec.solved is None:
        raise UserError(f"--until-solved needs a task that says when it is solved, and {task} does not.")
    config = make_config(algorithm, preset, task, others)
    where = out or Path("runs") / f"{file_name(task)}-{algorithm}-{preset}-{seed}"
    spec = make_task(task, **options).spec
    check_room(footprint(algorithm, spec, config), where.absolute())
    make_algorithm(algorithm, spec, config, seed)  # says what does not fit before anything is written
    settings_of_run = RunConfig(task, options, algorithm, preset, config_to_json(config), seed, steps, until_solved)
    return _train(create_run(where, settings_of_run), checkpoint_seconds, evaluate_seconds, quiet)


def run_resume(path: Path, steps: int | None, checkpoint_seconds: float, evaluate_seconds: float, quiet: bool) -> int:
    """Continue a run exactly where it stopped, and evaluate its elites."""
    run = load_run(path)
    if steps is not None:
        run = change_steps(run, steps)
    return _train(run, checkpoint_seconds, evaluate_seconds, quiet)


def _train(run: Run, checkpoint_seconds: float, evaluate_seconds: float, quiet: bool) -> int:
    cache_compiled_programs()
    settings = run.settings
    received: list[int] = []

    def stop_soon(number: int, frame: FrameType | None) -> None:
        if received:  # asked twice: do not wait for the checkpoint
            raise KeyboardInterrupt
        received.append(number)

    with lock_run(run), ProgressDisplay(f"{settings.task} {settings.algorithm}", settings.steps, quiet) as display:
        previous = {number: signal.signal(number, stop_soon) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            trainer = Trainer(run, display, checkpoint_seconds)
            trainer.train(stop=lambda: bool(received))
            algorithm, elites = trainer.algorithm, trainer.algorithm.elites
            display.say(
                f"{'solved' if trainer.is_solved else 'stopped' if received else 'done'}: {algorithm.steps:,} steps in "
                f"{trainer.seconds:,.0f} s, {len(elites)} of {elites.archive.cells} cells, best stored fitness "
                f"{elites.best_fitness:.1f}"
            )
            if not received and evaluate_seconds > 0 and len(elites):
                display.say(f"playing {len(elites)} elites from fresh starts")
                found = evaluate(run, seconds=evaluate_seconds, stop=lambda: bool(received))
                for label, text in describe(found.summary).items():
                    display.say(f"{label}: {text}")
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)
        display.say(f"run: {run.path}" + (f"  (continue with: qdpg resume {run.path})" if received else ""))
    return 128 + received[0] if received else 0
