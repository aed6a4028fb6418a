"""`qdpg`: what each command takes. The work is in one small module per command, imported only when it is called."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import tyro

from qdpg.errors import DivergedError, UserError
from qdpg.version import __version__

app = tyro.extras.SubcommandApp()

Settings = Annotated[tuple[str, ...], tyro.conf.arg(name="set", metavar="KEY=VALUE")]
AsJson = Annotated[bool, tyro.conf.arg(name="json"), tyro.conf.FlagCreatePairsOff]
Switch = Annotated[bool, tyro.conf.FlagCreatePairsOff]


@app.command
def train(
    task: tyro.conf.Positional[str],
    algorithm: str | None = None,
    preset: str = "tuned",
    steps: int = 1_000_000,
    seed: int = 0,
    out: Path | None = None,
    settings: Settings = (),
    until_solved: Switch = False,
    checkpoint_seconds: float = 60.0,
    evaluate_seconds: float = 120.0,
    quiet: Switch = False,
) -> int:
    """Train a collection of policies.

    Args:
        task: A built-in task, gym:ENV_ID, or module:name.
        algorithm: See `qdpg algorithms`; `qdpg tasks` says which one a task has by default.
        preset: "tuned" (what works best) or "paper" (the paper's settings).
        steps: Environment steps to train for.
        seed: What every random draw comes from.
        out: Directory of the run; by default one in runs/ named after task, algorithm, preset and seed.
        settings: Settings of the algorithm as KEY=VALUE, options of the task as task.KEY=VALUE.
        until_solved: Stop as soon as the task is solved: the best elite's mean over 20 fixed fresh starts, that it was
            not chosen by, is good enough at two successive looks.
        checkpoint_seconds: Time between checkpoints.
        evaluate_seconds: Time for playing all elites from fresh starts at the end; `qdpg evaluate` plays the rest.
        quiet: Print nothing but errors.
    """
    from qdpg.cli import train as command

    return command.run_train(
        task, algorithm, preset, steps, seed, out, settings, until_solved, checkpoint_seconds, evaluate_seconds, quiet
    )


@app.command
def resume(
    run: tyro.conf.Positional[Path],
    steps: int | None = None,
    checkpoint_seconds: float = 60.0,
    evaluate_seconds: float = 120.0,
    quiet: Switch = False,
) -> int:
    """Continue a run exactly where it stopped.

    Args:
        run: Directory of the run.
        steps: Train for this many environment steps in all, instead of what the run was started with.
        checkpoint_seconds: Time between checkpoints.
        evaluate_seconds: Time for playing all elites from fresh starts at the end; `qdpg evaluate` plays the rest.
        quiet: Print nothing but errors.
    """
    from qdpg.cli import train as command

    return command.run_resume(run, steps, checkpoint_seconds, evaluate_seconds, quiet)


@app.command
def show(run: tyro.conf.Positional[Path], as_json: AsJson = False) -> int:
    """Summarise a run.

    Args:
        run: Directory of the run.
        as_json: Print one JSON object and nothing else.
    """
    from qdpg.cli import show as command

    return command.run(run, as_json)


@app.command
def verify(run: tyro.conf.Positional[Path], as_json: AsJson = False) -> int:
    """Replay every elite from its stored seed; fitness and behaviour must equal the stored ones exactly.

    Args:
        run: Directory of the run.
        as_json: Print one JSON object and nothing else.
    """
    from qdpg.cli import verify as command

    return command.run(run, as_json)


@app.command
def evaluate(
    run: tyro.conf.Positional[Path],
    episodes: int = 20,
    seed: int = 0,
    seconds: float = float("inf"),
    as_json: AsJson = False,
    quiet: Switch = False,
) -> int:
    """Play every elite from fresh starts: what the collection is worth. What was stopped goes on.

    Args:
        run: Directory of the run.
        episodes: Episodes of each elite.
        seed: Other seeds give other starts.
        seconds: Begin nothing more after this time; the next call goes on.
        as_json: Print one JSON object and nothing else.
        quiet: Print nothing but errors.
    """
    from qdpg.cli import evaluate as command

    return command.run(run, episodes, seed, seconds, as_json, quiet)


@app.command
def plot(run: tyro.conf.Positional[Path], quiet: Switch = False) -> int:
    """Draw the grid, the learning curve, the coverage map and the elites' trajectories.

    Args:
        run: Directory of the run.
        quiet: Print nothing but errors.
    """
    from qdpg.cli import plot as command

    return command.run(run, quiet)


@app.command
def compare(
    out: Path,
    tasks: tuple[str, ...] | None = None,
    algorithms: tuple[str, ...] | None = None,
    seeds: str | None = None,
    steps: int | None = None,
    preset: str | None = None,
    settings: Annotated[tuple[str, ...] | None, tyro.conf.arg(name="set", metavar="KEY=VALUE")] = None,
    jobs: int | None = None,
    threads: int | None = None,
    checkpoint_seconds: float = 60.0,
    evaluate_seconds: float = 120.0,
    quiet: Switch = False,
) -> int:
    """Run a matrix of tasks, algorithms and seeds, or go on with one; what is left away is as it was begun.

    Args:
        out: Directory of the comparison.
        tasks: Tasks, between commas.
        algorithms: Algorithms, between commas, or "all".
        seeds: How many, or which: 3, 0,1,2 or 0-2.
        steps: Environment steps of each run.
        preset: "tuned" (what works best, the default) or "paper" (the paper's settings).
        settings: Settings of all algorithms as KEY=VALUE, of one as ALGORITHM.KEY=VALUE, of the task as task.KEY=VALUE.
        jobs: Runs at once; by default as many as there are cores for, as far as memory allows.
        threads: Cores for each run; by default an equal share.
        checkpoint_seconds: Time between checkpoints of a run.
        evaluate_seconds: Time for playing all elites of a run from fresh starts at its end.
        quiet: Print nothing but errors.
    """
    from qdpg.cli import compare as command

    seconds = checkpoint_seconds, evaluate_seconds
    return command.run(out, tasks, algorithms, seeds, steps, preset, settings, jobs, threads, *seconds, quiet)


@app.command
def adapt(
    run: tyro.conf.Positional[Path],
    trials: int = 20,
    goals: int = 100,
    seed: int = 0,
    starts: Literal["fresh", "own"] = "fresh",
    out: Path | None = None,
    settings: Settings = (),
    as_json: AsJson = False,
    quiet: Switch = False,
) -> int:
    """Adapt the elites of a run to random new goals, by Bayesian optimisation, random choice and exhaustive search.

    Args:
        run: Directory of the run.
        trials: Episodes that may be played per goal.
        goals: How many goals.
        seed: Where goals, fresh starts and random choices come from.
        starts: Play each elite from a "fresh" start, or from its "own", that of the episode it was stored for. Both are
            reported; this one is drawn.
        out: Directory for tables and figures; by default adapt/ in the run.
        settings: Settings of the optimisation as KEY=VALUE, such as acquisition=ei; docs/adapt.md has all.
        as_json: Print one JSON object and nothing else.
        quiet: Print nothing but errors.
    """
    from qdpg.cli import adapt as command

    return command.run(run, trials, goals, seed, starts, out, settings, as_json, quiet)


@app.command
def report(
    directories: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="DIR [DIR ...]")],
    out: Path | None = None,
    quiet: Switch = False,
) -> int:
    """Write tables, figures and one offline page about any set of runs, the paper's numbers beside ours.

    Args:
        directories: Directories with runs in them, at any depth.
        out: Directory of the report; by default `report` in the first of the directories.
        quiet: Print nothing but errors.
    """
    from qdpg.cli import report as command

    return command.run(directories, out, quiet)


@app.command
def algorithms(as_json: AsJson = False) -> int:
    """List the algorithms.

    Args:
        as_json: Print one JSON object instead of a table.
    """
    from qdpg.cli import algorithms as command

    return command.run(as_json)


@app.command
def tasks(draw: Path | None = None, as_json: AsJson = False) -> int:
    """List the tasks.

    Args:
        draw: Also write a picture of each task into this directory.
        as_json: Print one JSON object instead of a table.
    """
    from qdpg.cli import tasks as command

    return command.run(draw, as_json)


@app.command(name="check-task")
def check_task(task: tyro.conf.Positional[str], settings: Settings = ()) -> int:
    """Say in words what is wrong with a task.

    Args:
        task: module:name, gym:ENV_ID, or a built-in task.
        settings: Options of the task, as task.KEY=VALUE.
    """
    from qdpg.cli import check_task as command

    return command.run(task, settings)


@app.command
def play(
    task: tyro.conf.Positional[str],
    policies: int = 32,
    seed: int = 0,
    out: Path = Path("runs/play"),
    settings: Settings = (),
    quiet: Switch = False,
) -> int:
    """Play random policies and draw what they did.

    Args:
        task: A built-in task, gym:ENV_ID, or module:name.
        policies: How many policies, one episode each.
        seed: Seed of the policies and of their episodes.
        out: Directory for the picture.
        settings: Options of the task, as task.KEY=VALUE.
        quiet: Print nothing but errors.
    """
    from qdpg.cli import play as command

    return command.run(task, policies, seed, out, settings, quiet)


@app.command
def bench(
    what: tyro.conf.Positional[Literal["engine", "iteration", "novelty", "rollouts", "scaling"]] = "engine",
    turns: int = 5,
    draw: Path | None = None,
    as_json: AsJson = False,
) -> int:
    """Measure speed on this machine.

    Args:
        what: What to measure.
        turns: How often each contestant runs; its best turn counts.
        draw: Directory for the figure of `scaling`.
        as_json: Print one JSON object and nothing else.
    """
    from qdpg.cli import bench as command

    return command.run(what, turns, as_json, draw)


def join_settings(arguments: list[str]) -> list[str]:
    """Put what follows every `--set` behind a single one: of several, the parser would quietly keep only the last."""
    rest: list[str] = []
    settings: list[str] = []
    into = rest
    for argument in arguments:
        if argument == "--set":
            into = settings
        elif argument.startswith("--set="):
            settings.append(argument.removeprefix("--set="))
        else:
            into = rest if argument.startswith("-") else into
            into.append(argument)
    return [*rest, "--set", *settings] if settings else arguments


def main() -> None:
    """Run the command line and exit: 0 done, 1 some of it failed, 2 bad input, 3 diverged, 130 interrupted."""
    if sys.argv[1:] == ["--version"]:
        print(f"qdpg {__version__}")
        sys.exit(0)
    try:
        arguments = join_settings(sys.argv[1:])
        sys.exit(
            app.cli(prog="qdpg", description="Train collections of diverse, high-performing policies.", args=arguments)
        )
    except UserError as error:
        print(f"qdpg: {error}", file=sys.stderr)
        sys.exit(2)
    except DivergedError as error:
        print(f"qdpg: {error}", file=sys.stderr)
        sys.exit(3)
    except KeyboardInterrupt:
        print("qdpg: interrupted", file=sys.stderr)
        sys.exit(130)
