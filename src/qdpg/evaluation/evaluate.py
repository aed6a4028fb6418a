"""Playing every elite of a run from fresh starts.

The files lie beside the elites, and can be read without qdpg:

    evaluated-episodes.csv    a row per episode
    evaluated.csv             a row per elite
    evaluated.json            what it was, and what it comes to

An evaluation that was stopped goes on where it was. It belongs to the elites it was made of, whose checksum it holds.
"""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from qdpg.errors import UserError
from qdpg.evaluation.corrected import Score, loss, score
from qdpg.evaluation.table import describe_elites
from qdpg.play.player import Player, make_player
from qdpg.play.starts import fresh_starts
from qdpg.runs.collection import EVALUATED, EVALUATED_ABOUT, Collection, read_evaluated_about
from qdpg.runs.files import checksum, lock_directory, write_bytes, write_json
from qdpg.runs.logs import CsvLog, read_csv
from qdpg.runs.run import Run, describe_software, load_run

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

    Raises:
        UserError: The arguments make no sense, or there are no elites.
    """
    if episodes < 1:
        raise UserError(f"the number of episodes is {episodes}, but must be at least 1.")
    if seed < 0:
        raise UserError(f"the seed of an evaluation is {seed}, but must not be negative.")
    run = run if isinstance(run, Run) else load_run(run)
    directory, began = run.path / "elites", time.perf_counter()
    elites = run.elites
    if not len(elites):
        raise UserError(f"{run.path} has no elites to evaluate; train longer.")
    with lock_directory(directory, f"another process is evaluating {run.path}; wait for it or stop it."):
        log = _take_up(directory, elites, episodes, seed)
        player = make_player(run.task)
        done, wanted = len(_read_episodes(directory, elites)[0]), len(elites) * episodes
        order = play_order(len(elites), episodes)
        seeds = fresh_starts("choose", episodes, seed)
        batch = max(1, BATCH_STEPS // run.task.spec.horizon)
        progress(done, wanted)
        while done < wanted and not stop() and time.perf_counter() - began < seconds:
            rows, episode = order[done : done + batch].T
            log.append(_play(player, elites, rows, seeds[episode]))
            log.sync()
            done += len(rows)
            progress(done, wanted)
        summary = _summarise(run, directory, player, elites, order[:done], episodes, seed)
    return Evaluation(run.elites, summary)


def play_order(elites: int, episodes: int) -> np.ndarray:
    """The order in which episodes are played, [elites · episodes, 2]: which elite, and which of its episodes."""
    rounds = [np.arange(first, min(first + ROUND, episodes)) for first in range(0, episodes, ROUND)]
    pairs = [np.stack(np.meshgrid(np.arange(elites), each, indexing="ij"), axis=-1).reshape(-1, 2) for each in rounds]
    return np.concatenate(pairs)


def _play(player: Player, elites: Collection, rows: np.ndarray, seeds: np.ndarray) -> list[dict[str, Any]]:
    population = jax.tree.map(lambda leaf: leaf[rows], elites.population())
    played = player.play(population, seeds, record=False)
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


def _take_up(directory: Path, elites: Collection, episodes: int, seed: int) -> CsvLog:
    """Go on with the evaluation that is there, or begin one if it is of other elites or starts."""
    about = {
        "format": 1,
        "elites_sha256": checksum(directory / "elites.safetensors"),
        "elites": len(elites),
        "episodes_wanted": episodes,
        "seed": seed,
    }
    found = read_evaluated_about(directory)
    path = directory / EPISODES
    if found is None or any(found.get(key) != value for key, value in about.items()):
        path.unlink(missing_ok=True)
        (directory / EVALUATED).unlink(missing_ok=True)
        write_json(directory / EVALUATED_ABOUT, {**about, "episodes": 0})
    elif path.exists():
        text = path.read_bytes()
        CsvLog(path).truncate(text.rfind(b"\n") + 1)  # a line that was being written when the process ended
    return CsvLog(path)


def _read_episodes(directory: Path, elites: Collection) -> tuple[np.ndarray, np.ndarray]:
    """Fitness [m] and behaviours [m, D] of the episodes played so far, in the order of `play_order`."""
    path, names = directory / EPISODES, elites.spec.descriptor_names
    if not path.exists():
        return np.zeros(0), np.zeros((0, len(names)), np.float32)
    columns = read_csv(path)
    return columns["fitness"], np.stack([columns[name] for name in names], axis=-1).astype(np.float32)


def _summarise(
    run: Run,
    directory: Path,
    player: Player,
    elites: Collection,
    order: np.ndarray,
    episodes: int,
    seed: int,
) -> dict[str, Any]:
    """Write what the episodes come to; only as many of each elite count as all of them have played."""
    about = read_evaluated_about(directory)
    assert about is not None
    fitness, behaviours = _read_episodes(directory, elites)
    counted = int(np.bincount(order[:, 0], minlength=len(elites)).min()) if len(order) else 0
    if not counted:
        return about
    first = np.lexsort((order[:, 1], order[:, 0]))  # by elite, then by episode
    first = first[order[first, 1] < counted]
    fitness = fitness[first].reshape(len(elites), counted)
    behaviours = behaviours[first].reshape(len(elites), counted, -1)
    table = describe_elites(elites, fitness, behaviours)
    write_bytes(directory / EVALUATED, _as_csv(table))
    archive, floor = elites.archive(), elites.spec.fitness_floor
    stored = score(archive, floor, elites.fitness, elites.behaviours)
    means = behaviours.mean(axis=1, dtype=np.float64).astype(np.float32)
    corrected = score(archive, floor, table["mean"], means)
    about |= {
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
    write_json(directory / EVALUATED_ABOUT, about)
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


def _as_csv(columns: dict[str, np.ndarray]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
    return text.getvalue().encode()


__all__ = ["Evaluation", "Score", "evaluate"]
