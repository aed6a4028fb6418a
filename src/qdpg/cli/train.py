"""`qdpg train` and `qdpg resume`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from qdpg.cli.settings import parse_settings, split_settings
from qdpg.cluster.engine import RayEngine
from qdpg.compiled import cache_compiled_programs
from qdpg.evaluation.evaluate import evaluate
from qdpg.play.player import Player, open_player
from qdpg.ranges import check_seconds
from qdpg.runs.display import ProgressDisplay
from qdpg.runs.run import Run, check_steps, create_run, load_run, lock_run
from qdpg.runs.signals import stop_soon
from qdpg.runs.software import describe_software, differences
from qdpg.runs.summary import describe_evaluation
from qdpg.runs.train import Trainer
from qdpg.runs.training import check_room_for, plan_run
from qdpg.tasks.registry import make_task


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
    engine: RayEngine | None = None,
) -> int:
    """Start a run, train it, and evaluate its elites."""
    _check_seconds(checkpoint_seconds, evaluate_seconds)
    options, others = split_settings(parse_settings(settings))
    where, config = plan_run(task, options, algorithm, preset, others, seed, steps, out, until_solved)
    with open_player(make_task(task, **config.task_options), engine, _teller(quiet)) as player:
        return _train(create_run(where, config), checkpoint_seconds, evaluate_seconds, player, quiet)


def run_resume(
    path: Path,
    steps: int | None,
    restart: bool,
    trust: bool,
    checkpoint_seconds: float,
    evaluate_seconds: float,
    quiet: bool,
    engine: RayEngine | None = None,
) -> int:
    """Continue a run exactly where it stopped, and evaluate its elites."""
    _check_seconds(checkpoint_seconds, evaluate_seconds)
    if steps is not None:
        check_steps(steps)
    run = load_run(path, trust)
    check_room_for(run)
    with open_player(run.task, engine, _teller(quiet)) as player:
        return _train(run, checkpoint_seconds, evaluate_seconds, player, quiet, steps, restart)


def _teller(quiet: bool) -> Callable[[str], None]:
    return (lambda sentence: None) if quiet else print


def _check_seconds(checkpoint_seconds: float, evaluate_seconds: float) -> None:
    check_seconds(checkpoint_seconds, "--checkpoint-seconds")
    check_seconds(evaluate_seconds, "--evaluate-seconds")


def _train(
    run: Run,
    checkpoint_seconds: float,
    evaluate_seconds: float,
    player: Player,
    quiet: bool,
    steps: int | None = None,
    restart: bool = False,
) -> int:
    cache_compiled_programs()
    settings = run.settings
    total = settings.steps if steps is None else check_steps(steps)
    with (
        lock_run(run),
        ProgressDisplay(f"{settings.task} {settings.algorithm}", total, quiet) as display,
        stop_soon() as received,
    ):
        if changed := differences(run.manifest, describe_software()):
            display.say(f"not the same bits as before are to be expected: {'; '.join(changed)}")
        trainer = Trainer(run, display, checkpoint_seconds, steps, restart, player)
        trainer.train(stop=lambda: bool(received))
        display.end()
        algorithm, elites = trainer.algorithm, trainer.algorithm.elites
        display.say(
            f"{'solved' if trainer.is_solved else 'stopped' if received else 'done'}: {algorithm.steps:,} steps in "
            f"{trainer.seconds:,.0f} s, {len(elites)} of {elites.archive.cells} cells, best stored fitness "
            f"{elites.best_fitness:.1f}"
        )
        if not received and evaluate_seconds > 0 and len(elites):
            display.say(f"playing {len(elites)} elites from fresh starts")
            trained = load_run(run.path, run.is_trusted)
            found = evaluate(trained, seconds=evaluate_seconds, stop=lambda: bool(received), player=player)
            for label, text in describe_evaluation(found.summary).items():
                display.say(f"{label}: {text}")
        display.say(f"run: {run.path}" + (f"  (continue with: qdpg resume {run.path})" if received else ""))
    return 128 + received[0] if received else 0
