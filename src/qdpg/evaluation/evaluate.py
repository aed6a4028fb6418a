"""Playing every elite of a run from fresh starts.

The files lie beside the elites, and can be read without qdpg:

    evaluated-episodes.csv    a row per episode
    evaluated.csv             a row per elite
    evaluated.json            what it was, and what it comes to

An evaluation that was stopped goes on where it was. It belongs to the elites it was made of, whose checksum it holds.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from qdpg.cluster.engine import Engine, find_engine
from qdpg.errors import DamagedError, MissingError, UserError
from qdpg.evaluation.corrected import Score, loss, score
from qdpg.evaluation.table import describe_elites
from qdpg.play.judging import Chosen, Outcomes, judge
from qdpg.play.player import Player, open_player
from qdpg.play.starts import fresh_starts
from qdpg.ranges import SEED, Range, check_seconds
from qdpg.runs.collection import Collection
from qdpg.runs.evaluated import ARRAYS, EVALUATED, EVALUATED_ABOUT, FORMAT, read_evaluated_about, write_table
from qdpg.runs.files import checksum, lock_directory
from qdpg.runs.logs import CsvLog, check_finite, read_csv
from qdpg.runs.records import Written, parse, write_record
from qdpg.runs.run import Run, load_run
from qdpg.runs.software import describe_software

EPISODES = "evaluated-episodes.csv"
ROUND = 5  # episodes of an elite that are played before the next: whoever is stopped knows something about all
BATCH_STEPS = 100_000  # environment steps between two looks at the clock


@dataclass(frozen=True)
class Evaluation:
    """What came of evaluating a run.

    Attributes:
        elites: The policies, their `evaluated` columns filled.
        summary: What `evaluated.json` holds.
    """

    elites: Collection
    summary: dict[str, Any]


def evaluate(
    run: Run | Path | str,
    episodes: int = 20,
    seed: int = 0,
    seconds: float = np.inf,
    progress: Callable[[int, int], None] = lambda done, of: None,
    stop: Callable[[], bool] = lambda: False,
    *,
    engine: Engine = "local",
    player: Player | None = None,
) -> Evaluation:
    """Play every elite of a run from fresh starts, without noise, on all cores; write tables beside the elites.

    All elites play the same starts. The best is chosen by these, and then judged by others.

    Args:
        run: The run, or its directory.
        episodes: Episodes of each elite.
        seed: Other seeds give other starts.
        seconds: Begin nothing more after this time. What is missing is played by the next call.
        progress: Told the episodes played so far, and those wanted.
        stop: Asked now and then; when true, what was played is kept.
        engine: "local", "ray" (on this machine), or a `RayEngine`. Results do not depend on it.
        player: Who plays, if there is a player for the run's task already.

    Returns:
        The elites with what is known about them now, and a `summary` of all.

    Raises:
        UserError: The arguments make no sense, or there are no elites.

    Examples:
        >>> import qdpg
        >>> found = qdpg.evaluate("runs/doc", episodes=3)
        >>> found.summary["episodes"], found.summary["elites"] == len(found.elites)
        (3, True)
        >>> bool(found.elites.best().evaluated_fitness == found.elites.worth.max())
        True
    """
    episodes = Range(1, 1_000_000).whole(episodes, "the number of episodes")
    seed = SEED.whole(seed, "the seed of an evaluation")
    check_seconds(seconds, "the time for an evaluation")
    run = run if isinstance(run, Run) else load_run(run)
    directory, began = run.path / "elites", time.perf_counter()
    elites = run.elites
    if not len(elites):
        raise UserError(f"{run.path} has no elites to evaluate; train longer.")
    with (
        open_player(run.task, find_engine(engine), ready=player) as player,
        lock_directory(directory, f"another process is evaluating {run.path}; wait for it or stop it."),
    ):
        about, log = _take_up(directory, elites, episodes, seed)
        done, wanted = len(_read_episodes(directory, elites)[0]), len(elites) * episodes
        order = play_order(len(elites), episodes)
        seeds = fresh_starts("choose", episodes, seed)
        batch = max(1, BATCH_STEPS // run.task.spec.horizon)
        progress(done, wanted)
        rows, episode = order[done:].T
        parts = judge(player, Chosen(elites.population(), rows), seeds[episode], chunk=batch)
        while done < wanted and not stop() and time.perf_counter() - began < seconds:
            part = next(parts)
            rows, episode = order[done : done + len(part.fitness)].T
            log.append(_describe(elites, rows, seeds[episode], part))
            about["tables"][EPISODES] = dataclasses.asdict(log.sync())
            write_record(directory / EVALUATED_ABOUT, about)
            done += len(rows)
            progress(done, wanted)
        summary = _summarise(about, directory, player, elites, order[:done], episodes, seed)
    return Evaluation(run.elites, summary)


def play_order(elites: int, episodes: int) -> np.ndarray:
    """The order in which episodes are played, [elites · episodes, 2]: which elite, and which of its episodes."""
    rounds = [np.arange(first, min(first + ROUND, episodes)) for first in range(0, episodes, ROUND)]
    pairs = [np.stack(np.meshgrid(np.arange(elites), each, indexing="ij"), axis=-1).reshape(-1, 2) for each in rounds]
    return np.concatenate(pairs)


def _describe(elites: Collection, rows: np.ndarray, seeds: np.ndarray, played: Outcomes) -> list[dict[str, Any]]:
    """Rows of the table of episodes."""
    return [
        {
            "cell": elites.cells_index[row],
            "seed": seeds[n],
            "fitness": played.fitness[n],
            "length": played.lengths[n],
            "terminated": int(played.terminated[n]),
            **dict(zip(elites.spec.descriptor_names, played.behaviours[n], strict=True)),
        }
        for n, row in enumerate(rows)
    ]


def _take_up(directory: Path, elites: Collection, episodes: int, seed: int) -> tuple[dict[str, Any], CsvLog]:
    """Go on with the evaluation that is there, or begin one if it is of other elites or starts."""
    about = {
        "format": FORMAT,
        "elites_sha256": checksum(directory / ARRAYS),
        "elites": len(elites),
        "episodes_wanted": episodes,
        "seed": seed,
    }
    try:
        found = read_evaluated_about(directory)
    except DamagedError:  # nothing is lost but time
        found = None
    path = directory / EPISODES
    if found is not None and all(found.get(key) == value for key, value in about.items()):
        try:
            written = parse(Written, found["tables"].get(EPISODES, {"length": 0}), str(path))
            log = CsvLog(path, written)
            log.cut()  # what was being written when the process ended
            _check_episodes(directory, elites, episodes)
            return found, log
        except (DamagedError, MissingError):  # nothing is lost but time
            pass
    for name in (EPISODES, EVALUATED):
        (directory / name).unlink(missing_ok=True)
    about |= {"episodes": 0, "tables": {}}
    write_record(directory / EVALUATED_ABOUT, about)
    return about, CsvLog(path)


def _check_episodes(directory: Path, elites: Collection, episodes: int) -> None:
    """Refuse a table that holds anything but the first of the episodes that are to be played."""
    path = directory / EPISODES
    if not path.is_file():
        return
    table, order = read_csv(path), play_order(len(elites), episodes)
    check_finite(table, ("cell", "fitness", *elites.spec.descriptor_names), path)
    rows = order[: len(table["cell"]), 0]
    if not np.array_equal(table["cell"], elites.cells_index[rows]):
        raise DamagedError(f"{path} is damaged: its episodes are not those that were to be played.")


def _read_episodes(directory: Path, elites: Collection) -> tuple[np.ndarray, np.ndarray]:
    """Fitness [m] and behaviours [m, D] of the episodes played so far, in the order of `play_order`."""
    path, names = directory / EPISODES, elites.spec.descriptor_names
    if not path.is_file():
        return np.zeros(0), np.zeros((0, len(names)), np.float32)
    columns = read_csv(path)
    return columns["fitness"], np.stack([columns[name] for name in names], axis=-1).astype(np.float32)


def _summarise(
    about: dict[str, Any],
    directory: Path,
    player: Player,
    elites: Collection,
    order: np.ndarray,
    episodes: int,
    seed: int,
) -> dict[str, Any]:
    """Write what the episodes come to; only as many of each elite count as all of them have played."""
    fitness, behaviours = _read_episodes(directory, elites)
    counted = int(np.bincount(order[:, 0], minlength=len(elites)).min()) if len(order) else 0
    if not counted:
        return about
    first = np.lexsort((order[:, 1], order[:, 0]))  # by elite, then by episode
    first = first[order[first, 1] < counted]
    fitness = fitness[first].reshape(len(elites), counted)
    behaviours = behaviours[first].reshape(len(elites), counted, -1)
    table = describe_elites(elites, fitness, behaviours)
    written = write_table(directory / EVALUATED, table)
    archive, floor = elites.archive(), elites.spec.fitness_floor
    stored = score(archive, floor, elites.fitness, elites.behaviours)
    means = behaviours.mean(axis=1, dtype=np.float64).astype(np.float32)
    corrected = score(archive, floor, table["mean"], means)
    about |= {
        "tables": about["tables"] | {EVALUATED: dataclasses.asdict(written)},
        "episodes": counted,
        "complete": counted == episodes,
        "steps": elites.about["steps"],
        "corrected": corrected.as_dict(),
        "stored": stored.as_dict(),
        "loss": {name: loss(getattr(stored, name), getattr(corrected, name)) for name in ("qd_score", "coverage")},
        "share_own_cell": float(table["share_own_cell"].mean()),
        "spread": _spread(elites, behaviours),
        "best": _judge_best(player, elites, table["mean"], episodes, seed) if counted == episodes else None,
        "software": describe_software(),
    }
    write_record(directory / EVALUATED_ABOUT, about)
    return about


def _spread(elites: Collection, behaviours: np.ndarray) -> float:
    """Median over elites of the standard deviation of their behaviour, as a share of the descriptors' ranges."""
    span = np.asarray(elites.spec.descriptor_high) - elites.spec.descriptor_low
    return float(np.median(np.sqrt(((behaviours.std(axis=1, dtype=np.float64) / span) ** 2).mean(axis=1))))


def _judge_best(player: Player, elites: Collection, means: np.ndarray, episodes: int, seed: int) -> dict[str, Any]:
    """Play the elite of the highest mean again, from starts that nobody chose it by."""
    row = int(means.argmax())
    population = jax.tree.map(lambda leaf: np.repeat(leaf[row : row + 1], episodes, axis=0), elites.population())
    fitness = player.play(population, fresh_starts("report", episodes, seed), record=False).fitness
    lower, median, upper = np.quantile(fitness, (0.25, 0.5, 0.75)).tolist()
    solved = elites.spec.solved
    return {
        "cell": int(elites.cells_index[row]),
        "mean": float(fitness.mean()),
        "lower_quartile": lower,
        "median": median,
        "upper_quartile": upper,
        "share_solved": None if solved is None else float((fitness >= solved).mean()),
        "mean_when_chosen": float(means[row]),
        "stored_fitness": float(elites.fitness[row]),
    }


__all__ = ["Evaluation", "Score", "evaluate"]
