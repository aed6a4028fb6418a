"""What of an episode enters the replay memory, and with which rewards."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from qdpg.learn.transitions import shape_by_potential
from qdpg.play.rollouts import Rollouts


def whole_episodes(lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All steps of each episode: the first, and the one after the last, [N] each."""
    lengths = lengths.astype(np.int64)
    return np.zeros_like(lengths), lengths


def sub_trajectories(
    rollouts: Rollouts,
    candidates: int,
    roll_in_steps: np.ndarray,
    size: int,
    rng: np.random.Generator,
    settled: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """A part of each episode: its first step, and the one after its last, [N] each.

    Of a candidate's episode `size` successive steps are stored: the last ones if it really ended, otherwise any. Of an
    exploration episode all is stored that came after its roll-in. What an elite does where nobody has tried anything
    else says little about what would be better.

    Args:
        rollouts: N episodes, those of candidates first.
        candidates: How many of them are candidates'.
        roll_in_steps: [N - candidates] int.
        size: Steps of a candidate's episode.
        rng: Where sub-trajectories of candidates begin.
        settled: [N] int, the step from which each episode stays where it ends. If given, exploration episodes are
            stored only up to `size` steps after it: an ant that pushes against a wall teaches little.
    """
    lengths = rollouts.lengths.astype(np.int64)
    latest = np.maximum(lengths - size, 0)
    first = np.where(rollouts.terminated, latest, rng.integers(latest + 1))
    first[candidates:] = np.minimum(roll_in_steps, latest[candidates:])
    last = lengths.copy() if settled is None else np.minimum(np.maximum(first, settled) + size, lengths)
    last[:candidates] = np.minimum(first + size, lengths)[:candidates]
    return first, last


def rewards_for_critics(rollouts: Rollouts, objective: Any) -> Rollouts:
    """The same episodes with rewards as critics are to see them: shaped by potential if wanted, less an offset.

    `objective` has `discount`, `shaped` and `reward_offset`, such as `Objective`; None leaves rewards as they are.
    """
    if objective is None:
        return rollouts
    rewards = rollouts.rewards
    if objective.shaped:  # what the first state is worth is taken to be the first reward
        before = np.concatenate([rewards[:, :1], rewards[:, :-1]], axis=1)
        is_last = np.arange(rewards.shape[1]) == rollouts.lengths[:, None] - 1
        continues = 1.0 - (is_last & rollouts.terminated[:, None])
        rewards = shape_by_potential(before, rewards, continues, objective.discount)
    return replace(rollouts, rewards=rewards - objective.reward_offset)


def stratify(cells: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Choose at random so that no cell has more than `share` times the mean number per occupied cell.

    Args:
        cells: [m] int, the cell that each item lies in.
        share: How many times the mean a cell may keep.
        rng: Source of randomness.

    Returns:
        Indices of what is kept, in order.
    """
    shuffled = rng.permutation(len(cells))
    by_cell = shuffled[np.argsort(cells[shuffled], kind="stable")]
    _, first, count = np.unique(cells[by_cell], return_index=True, return_counts=True)
    rank = np.arange(len(cells)) - np.repeat(first, count)
    return np.sort(by_cell[rank < share * len(cells) / len(first)])
