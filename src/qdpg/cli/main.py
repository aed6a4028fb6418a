"""`qdpg`: what each command takes. The work is in one small module per command, imported only when it is called."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Literal, NoReturn

import tyro

from qdpg.cli.numbers import Whole
from qdpg.cluster.engine import find_engine
from qdpg.errors import DivergedError, UserError
from qdpg.terminal import has_controls, printable
from qdpg.version import __version__

app = tyro.extras.SubcommandApp()

Settings = Annotated[tuple[str, ...], tyro.conf.arg(name="set", metavar="KEY=VALUE")]
AsJson = Annotated[bool, tyro.conf.arg(name="json"), tyro.conf.FlagCreatePairsOff]
Switch = Annotated[bool, tyro.conf.FlagCreatePairsOff]
EngineName = Literal["local", "ray"]


@app.command
def train(
    task: tyro.conf.Positional[str],
    algorithm: str | None = None,
    preset: str = "tuned",
    steps: Whole = 1_000_000,
    seed: int = 0,
    out: Path | None = None,
    settings: Settings = (),
    until_solved: Switch = False,
    checkpoint_seconds: float = 60.0,
    evaluate_seconds: float = 120.0,
    engine: EngineName = "local",
    address: str | None = None,
    quiet: Switch = False,
) -> int:
    """Train a collection of policies.

    Args:
        task: A built-in task, gym:ENV_ID, or module:name.
        algorithm: See `qdpg algorithms`, or module:Class; `qdpg tasks` says which one a task has by default.
        preset: "tuned" (what works best) or "paper" (the paper's settings).
        steps: Environment steps to train for.
        seed: What every random draw comes from.
        out: Directory of the run; by default one in runs/ named after task, algorithm, preset and seed.
        settings: Settings of the algorithm as KEY=VALUE, options of the task as task.KEY=VALUE.
        until_solved: Stop as soon as the task is solved: the best elite's mean over 20 fixed fresh starts, that it was
            not chosen by, is good enough at two successive looks.
        checkpoint_seconds: Time between checkpoints.
        evaluate_seconds: Time for playing all elites from fresh starts at the end; `qdpg evaluate` plays the rest.
        engine: "local", or "ray": on the cores of a cluster (docs/cluster.md). Results do not depend on it.
        address: HOST:PORT of the cluster that this machine belongs to, or "auto"; by default Ray runs here alone.
        quiet: Print nothing but errors.
    """
    from qdpg.cli import train as command

    times = checkpoint_seconds, evaluate_seconds
    return command.run_train(
        task, algorithm, preset, steps, seed, out, settings, until_solved, *times, quiet, find_engine(engine, address)
    )


@app.command
def resume(
    run: tyro.conf.Positional[Path],
    steps: Whole | None = None,
    restart: Switch = False,
    trust: Switch = False,
    checkpoint_seconds: float = 60.0,
    evaluate_seconds: float = 120.0,
    engine: EngineName = "local",
    address: str | None = None,
    quiet: Switch = False,
) -> int:
    """Continue a run exactly where it stopped.

    Args:
        run: Directory of the run.
        steps: Train for this many environment steps in all, instead of what the run was started with.
        restart: Start over: delete what was trained.
        trust: Import code that the run names, such as a task in a file of its own.
        checkpoint_seconds: Time between checkpoints.
        evaluate_seconds: Time for playing all elites from fresh starts at the end; `qdpg evaluate` plays the rest.
        engine: "local", or "ray": on the cores of a cluster (docs/cluster.md). Results do not depend on it.
        address: HOST:PORT of the cluster that this machine belongs to, or "auto"; by default Ray runs here alone.
        quiet: Print nothing but errors.
    """
    from qdpg.cli import train as command

    times = checkpoint_seconds, evaluate_seconds
    return command.run_resume(run, steps, restart, trust, *times, quiet, find_engine(engine, address))


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
def verify(run: tyro.conf.Positional[Path], trust: Switch = False, as_json: AsJson = False) -> int:
    """Replay every elite from its stored seed; fitness and behaviour must equal the stored ones exactly.

    Also look for files of the run that are damaged or do not belong to it.

    Args:
        run: Directory of the run.
        trust: Import code that the run names, such as a task in a file of its own.
        as_json: Print one JSON object and nothing else.
    """
    from qdpg.cli import verify as command

    return command.run(run, as_json, trust)


@app.command
def evaluate(
    run: tyro.conf.Positional[Path],
    episodes: int = 20,
    seed: int = 0,
    seconds: float = float("inf"),
    trust: Switch = False,
    as_json: AsJson = False,
    engine: EngineName = "local",
    address: str | None = None,
    quiet: Switch = False,
) -> int:
    """Play every elite from fresh starts: what the collection is worth. What was stopped goes on.

    Args:
        run: Directory of the run.
        episodes: Episodes of each elite.
        seed: Other seeds give other starts.
        seconds: Begin nothing more after this time; the next call goes on.
        trust: Import code that the run names, such as a task in a file of its own.
        as_json: Print one JSON object and nothing else.
        engine: "local", or "ray": on the cores of a cluster (docs/cluster.md). Results do not depend on it.
        address: HOST:PORT of the cluster that this machine belongs to, or "auto"; by default Ray runs here alone.
        quiet: Print nothing but errors.
    """
    from qdpg.cli import evaluate as command

    return command.run(run, episodes, seed, seconds, as_json, quiet, trust, find_engine(engine, address))


@app.command
def plot(
    run: tyro.conf.Positional[Path],
    format: Literal["png", "svg", "pdf"] = "png",  # noqa: A002 (as it is called on the command line)
    trust: Switch = False,
    quiet: Switch = False,
) -> int:
    """Draw the grid, the learning curve, the coverage map and the elites' trajectories.

    Args:
        run: Directory of the run.
        format: Of the figures' files.
        trust: Import code that the run names, such as a task in a file of its own.
        quiet: Print nothing but errors.
    """
    from qdpg.cli import plot as command

    return command.run(run, quiet, trust, format)


@app.command
def compare(
    out: Path,
    tasks: tuple[str, ...] | None = None,
    algorithms: tuple[str, ...] | None = None,
    seeds: str | None = None,
    steps: Whole | None = None,
    preset: str | None = None,
    settings: Annotated[tuple[str, ...] | None, tyro.conf.arg(name="set", metavar="KEY=VALUE")] = None,
    jobs: int | None = None,
    threads: int | None = None,
    checkpoint_seconds: float = 60.0,
    evaluate_seconds: float = 120.0,
    trust: Switch = False,
    engine: EngineName = "local",
    address: str | None = None,
    quiet: Switch = False,
) -> int:
    """Run a matrix of tasks, algorithms and seeds, or continue one: options that are not given stay as they were.

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
        trust: Import code that a comparison begun earlier names; what is named here is trusted.
        engine: "local", or "ray": runs are trained on the nodes of a cluster (docs/cluster.md), their files come here.
        address: HOST:PORT of the cluster that this machine belongs to, or "auto"; by default Ray runs here alone.
        quiet: Print nothing but errors.
    """
    from qdpg.cli import compare as command

    rest = (checkpoint_seconds, evaluate_seconds, trust, quiet, find_engine(engine, address))
    return command.run(out, tasks, algorithms, seeds, steps, preset, settings, jobs, threads, *rest)


@app.command
def adapt(
    run: tyro.conf.Positional[Path],
    trials: int = 20,
    goals: int = 100,
    seed: int = 0,
    starts: Literal["fresh", "own"] = "fresh",
    out: Path | None = None,
    settings: Settings = (),
    trust: Switch = False,
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
        trust: Import code that the run names, such as a task in a file of its own.
        as_json: Print one JSON object and nothing else.
        quiet: Print nothing but errors.
    """
    from qdpg.cli import adapt as command

    return command.run(run, trials, goals, seed, starts, out, settings, as_json, quiet, trust)


@app.command
def report(
    directories: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="DIR [DIR ...]")],
    out: Path | None = None,
    format: Literal["png", "svg", "pdf"] = "png",  # noqa: A002 (as it is called on the command line)
    quiet: Switch = False,
) -> int:
    """Write tables, figures and one offline page about any set of runs, the paper's numbers beside ours.

    Args:
        directories: Directories with runs in them, at any depth.
        out: Directory of the report; by default `report` in the first of the directories.
        format: Write figures in this format too, besides PNG.
        quiet: Print nothing but errors.
    """
    from qdpg.cli import report as command

    return command.run(directories, out, quiet, format)


@app.command
def export(
    runs: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="RUN [RUN ...]")],
    to: Literal["onnx", "npz", "video", "gif"] = "onnx",
    best: Switch = False,
    cell: str | None = None,
    near: str | None = None,
    everything: Annotated[bool, tyro.conf.arg(name="all"), tyro.conf.FlagCreatePairsOff] = False,
    together: Switch = False,
    fresh: int | None = None,
    seconds: float = float("inf"),
    out: Path | None = None,
    trust: Switch = False,
    as_json: AsJson = False,
    quiet: Switch = False,
) -> int:
    """Write elites as ONNX or NumPy policies, checked against the player, or film them.

    Args:
        runs: Directories of runs.
        to: One file per elite: onnx, npz, video (mp4) or gif.
        best: The elite that is worth most; so it is if nothing is said.
        cell: The elite in this cell, such as 3,4.
        near: The elite whose behaviour is nearest to this, such as 0.5,-0.2.
        everything: All elites.
        together: One film of all of them at once, coloured by fitness, instead of one each.
        fresh: Film an episode from the fresh start with this number, instead of the stored episode.
        seconds: Film no more than this much of an episode.
        out: Directory for the files; by default export/ in the run.
        trust: Import code that the runs name, such as a task in a file of its own.
        as_json: Print one JSON object and nothing else.
        quiet: Print nothing but errors.
    """
    from qdpg.cli import export as command

    return command.run(runs, to, best, cell, near, everything, fresh, seconds, out, as_json, quiet, trust, together)


@app.command
def explore(
    runs: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="RUN [RUN ...]")],
    to: Path | None = None,
    host: str = "127.0.0.1",
    port: int = 8080,
    open_browser: Annotated[bool, tyro.conf.arg(name="open"), tyro.conf.FlagCreatePairsOff] = False,
    trust: Switch = False,
    quiet: Switch = False,
) -> int:
    """Look at the archive in a browser: click a cell and watch its elite.

    Args:
        runs: Directories of runs; a run in training is followed.
        to: Write one page that needs no server, instead of serving.
        host: Where to listen; on another than this machine's own, the address has a token.
        port: Where to listen; 0 takes any that is free.
        open_browser: Open the page in this machine's browser.
        trust: Import code that the runs name, such as a task in a file of its own.
        quiet: Print nothing but errors.
    """
    from qdpg.cli import explore as command

    return command.run(runs, to, host, port, open_browser, quiet, trust)


@app.command
def algorithms(as_json: AsJson = False) -> int:
    """List the algorithms.

    Args:
        as_json: Print one JSON object instead of a table.
    """
    from qdpg.cli import algorithms as command

    return command.run(as_json)


@app.command
def settings(
    algorithm: tyro.conf.Positional[str],
    task: str | None = None,
    preset: str = "tuned",
    settings: Settings = (),
    as_json: AsJson = False,
) -> int:
    """List every setting of an algorithm: its value, where that comes from, and what it means.

    Args:
        algorithm: See `qdpg algorithms`, or module:Class.
        task: Presets differ by task; by default, what a task gets that they do not know.
        preset: "tuned" (what works best) or "paper" (the paper's settings).
        settings: Settings on top, as KEY=VALUE: shows what they change, and which do nothing. Options of the task as
            task.KEY=VALUE.
        as_json: Print one JSON object instead.
    """
    from qdpg.cli import list_settings as command

    return command.run(algorithm, task, preset, settings, as_json)


@app.command
def tasks(
    name: tyro.conf.Positional[str | None] = None,
    settings: Settings = (),
    draw: Path | None = None,
    as_json: AsJson = False,
) -> int:
    """List the tasks, or say what there is to know about one: its contract, and what its options mean.

    Args:
        name: A built-in task, gym:ENV_ID, or module:name; by default, all that are built in.
        settings: Options of that task, as task.KEY=VALUE.
        draw: Also write a picture of each task into this directory.
        as_json: Print one JSON object instead of a table.
    """
    from qdpg.cli import tasks as command

    return command.run(name, settings, draw, as_json)


@app.command
def completion(shell: tyro.conf.Positional[Literal["bash", "zsh", "fish"]] = "bash") -> int:
    """Print what a shell needs to complete commands, options and names; docs/settings.md says where to put it.

    Args:
        shell: Which shell.
    """
    from qdpg.cli import completion as command

    return command.run(shell)


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
        if odd := next((word for word in sys.argv[1:] if has_controls(word)), None):
            raise UserError(f"the argument {odd!r:.60} has characters that control a terminal; leave them out.")
        arguments = join_settings(sys.argv[1:])
        code = app.cli(
            prog="qdpg", description="Train collections of diverse, high-performing policies.", args=arguments
        )
        sys.stdout.flush()
    except UserError as error:
        _end(str(error), 2)
    except DivergedError as error:
        _end(str(error), 3)
    except BrokenPipeError:  # whoever read what we print has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except OSError as error:
        _end(f"{error.filename or 'a file'} cannot be read or written ({error.strerror or error}).", 2)
    except MemoryError:
        _end("there is not enough memory; free some, or choose smaller settings.", 2)
    except KeyboardInterrupt:
        _end("interrupted", 130)
    except Exception as error:
        if is_out_of_memory(error):
            _end("there is not enough memory; free some, or choose smaller settings.", 2)
        raise  # an error in qdpg, or in somebody's own task: where it happened is what they need
    sys.exit(code)


def _end(sentence: str, code: int) -> NoReturn:
    print(f"qdpg: {printable(sentence)}", file=sys.stderr)
    sys.exit(code)


def is_out_of_memory(error: Exception) -> bool:
    """Whether a library says in its own words that memory ran out."""
    words = ("RESOURCE_EXHAUSTED", "Out of memory", "bad_alloc", "Cannot allocate memory", "can't start new thread")
    return any(word in str(error) for word in words)
