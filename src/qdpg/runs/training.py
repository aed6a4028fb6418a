"""`qdpg.train`: from a task and settings to a trained run, in one call."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from qdpg.algorithms.algorithm import Algorithm
from qdpg.algorithms.registry import (
    config_from_json,
    config_to_json,
    footprint,
    make_algorithm,
    make_config,
    name_algorithm,
)
from qdpg.cluster.engine import Engine, find_engine
from qdpg.compiled import cache_compiled_programs
from qdpg.errors import UserError
from qdpg.play.floor import with_floor
from qdpg.play.player import Player, open_player
from qdpg.ranges import SEED, check_seconds
from qdpg.runs.callbacks import Callback, CallbackError, check_callbacks
from qdpg.runs.display import ProgressDisplay
from qdpg.runs.room import check_room
from qdpg.runs.run import Run, RunConfig, check_steps, create_run, load_run, lock_run
from qdpg.runs.signals import interrupt_later
from qdpg.runs.train import Trainer
from qdpg.tasks.naming import name_task
from qdpg.tasks.registry import file_name, make_task
from qdpg.tasks.task import Task


def plan_run(
    task: str,
    task_options: Mapping[str, Any],
    algorithm: str | type[Algorithm] | None,
    preset: str,
    settings: Mapping[str, Any],
    seed: int,
    steps: int,
    out: Path | str | None,
    until_solved: bool,
) -> tuple[Path, RunConfig]:
    """Say where a new run will be and what it is, after all that can be wrong with it has been checked.

    Raises:
        UserError: Something does not fit, or there is no room for it.
    """
    steps, seed = check_steps(steps), SEED.whole(seed, "--seed")
    algorithm = name_algorithm(algorithm, preset)
    played, options = with_floor(make_task(task, **task_options), dict(task_options))
    spec = played.spec
    if until_solved and spec.solved is None:
        raise UserError(f"--until-solved needs a task that says when it is solved, and {task} does not.")
    config = make_config(algorithm, preset, spec, settings)
    where = Path(out) if out else Path("runs") / f"{file_name(task)}-{file_name(algorithm)}-{preset}-{seed}"
    check_room(footprint(algorithm, spec, config), where.absolute())
    make_algorithm(algorithm, spec, config, seed)  # says what does not fit before anything is written
    stored = config_to_json(config)
    return where, RunConfig(task, options, algorithm, preset, stored, seed, steps, until_solved)


def train(
    task: str | Task,
    algorithm: str | type[Algorithm] | None = None,
    steps: int = 1_000_000,
    seed: int = 0,
    out: Path | str | None = None,
    callbacks: Sequence[Callback] = (),
    *,
    preset: str = "tuned",
    task_options: Mapping[str, Any] | None = None,
    until_solved: bool = False,
    checkpoint_seconds: float = 60.0,
    progress: bool = False,
    player: Player | None = None,
    engine: Engine = "local",
    **settings: Any,
) -> Run:
    """Train a collection of policies.

    The run is a directory: it can be resumed, evaluated, drawn and explored, in Python and on the command line.

    Args:
        task: A built-in task, gym:ENV_ID, module:name, or a task that is made already. One of your own must be in a
            file that can be imported, so that the run can be opened again.
        algorithm: See `qdpg algorithms`; module:Class or a class of your own, likewise in a file; by default
            "dc-qd-pg", and "qd-pg" with the paper's settings.
        steps: Environment steps to train for.
        seed: What every random draw comes from.
        out: Directory of the run; by default one in runs/ named after task, algorithm, preset and seed.
        callbacks: Told how it goes; they may end the training.
        preset: "tuned" (what works best) or "paper" (the paper's settings).
        task_options: Options of the task, by name; see `qdpg tasks NAME`.
        until_solved: Stop as soon as the task is solved.
        checkpoint_seconds: Time between checkpoints.
        progress: Show a progress bar.
        player: Who plays; by default this process, on all its cores. Results do not depend on it.
        engine: "local"; "ray" to play on processes of Ray on this machine; a `RayEngine` for a cluster.
        **settings: Settings of the algorithm; see `qdpg settings ALGORITHM`. Nested ones are a mapping, as in
            `quality={"discount": 0.95}`.

    Returns:
        The run.

    Raises:
        UserError: Something does not fit, is there already, or a callback failed.
        DivergedError: Something is not finite any more. The last checkpoint stays as it is.
        KeyboardInterrupt: Ctrl-C; the run is saved first.

    Examples:
        >>> import qdpg
        >>> settings = {"population": 20, "initial_policies": 40, "hidden": (8, 8)}
        >>> run = qdpg.train("point-maze", "map-elites", steps=20_000, out="runs/doc", **settings)
        >>> int(run.metrics()["steps"][-1])
        20000
    """
    if isinstance(task, Task):
        if task_options:
            raise UserError("the task is made already, so it takes no task_options; give its name, or leave them out.")
        task, task_options = name_task(task)
    check_callbacks(callbacks)  # before anything is written
    check_seconds(checkpoint_seconds, "checkpoint_seconds")
    where, config = plan_run(task, task_options or {}, algorithm, preset, settings, seed, steps, out, until_solved)
    with open_player(make_task(task, **config.task_options), find_engine(engine), print, player) as ready:
        run = create_run(where, config)
        try:
            return continue_run(run, None, callbacks, checkpoint_seconds, progress, ready)
        except CallbackError as error:
            if error.method == "on_start":  # nothing was trained, and the same call shall do once that is mended
                shutil.rmtree(run.path)
            raise


def continue_run(
    run: Run,
    steps: int | None = None,
    callbacks: Sequence[Callback] = (),
    checkpoint_seconds: float = 60.0,
    progress: bool = False,
    player: Player | None = None,
    engine: Engine = "local",
) -> Run:
    """Train a run where it stopped; see `Run.resume`."""
    check_callbacks(callbacks)
    check_seconds(checkpoint_seconds, "checkpoint_seconds")
    check_room_for(run)
    cache_compiled_programs()
    settings = run.settings
    title, total = f"{settings.task} {settings.algorithm}", settings.steps if steps is None else check_steps(steps)
    with (
        open_player(run.task, find_engine(engine), print, player) as ready,
        lock_run(run),
        ProgressDisplay(title, total, quiet=not progress) as display,
        interrupt_later() as received,
    ):
        trainer = Trainer(run, display, checkpoint_seconds, steps, player=ready, callbacks=callbacks)
        trainer.train(stop=lambda: bool(received))
    return load_run(run.path, run.is_trusted)


def check_room_for(run: Run) -> None:
    """Refuse to train a run that would not fit.

    Raises:
        UserError: The memory that is free, or the disk, is too small.
    """
    settings = run.settings
    config = config_from_json(settings.algorithm, settings.config)
    check_room(footprint(settings.algorithm, run.spec, config), run.path.absolute())
