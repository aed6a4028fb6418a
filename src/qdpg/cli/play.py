"""`qdpg play`: play random policies and draw what they did."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import jax
import numpy as np
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from qdpg.cli.settings import read_task_options
from qdpg.learn.networks import init_population
from qdpg.play.player import make_player
from qdpg.play.rollouts import Rollouts, concatenate
from qdpg.ranges import SEED, Range
from qdpg.report.episodes import draw_episodes
from qdpg.report.figures import save_figure
from qdpg.tasks.registry import file_name, make_task
from qdpg.terminal import make_console

_AT_ONCE = 16  # episodes between two moves of the progress bar


def run(name: str, policies: int, seed: int, out: Path, settings: Sequence[str], quiet: bool) -> int:
    """Play, print a summary, write a picture."""
    Range(1, 100_000).check(policies, "--policies")
    SEED.check(seed, "--seed")
    options = read_task_options(settings)
    task = make_task(name, **options)
    spec, player = task.spec, make_player(task)
    population = init_population(jax.random.key(seed), policies, (spec.observation_size, 64, 64, spec.action_size))
    seeds = np.random.default_rng(seed).integers(2**31, size=policies)

    console = make_console(quiet=quiet)
    columns = TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    played: list[Rollouts] = []
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task(f"{spec.name}: random policies", total=policies)
        for first in range(0, policies, _AT_ONCE):
            chosen = slice(first, min(first + _AT_ONCE, policies))
            played.append(player.play(jax.tree.map(lambda leaf, rows=chosen: leaf[rows], population), seeds[chosen]))
            progress.update(bar, completed=chosen.stop)
    rollouts = concatenate(played)
    path = save_figure(draw_episodes(spec, rollouts), out / f"{file_name(spec.name)}.png")
    best, median = rollouts.fitness.max(), np.median(rollouts.fitness)
    console.print(f"{rollouts.steps:,} steps; fitness: best {best:.1f}, median {median:.1f}")
    console.print(f"picture: {path}", soft_wrap=True)
    return 0
