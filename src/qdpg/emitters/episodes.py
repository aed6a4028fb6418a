"""Episodes that are to be played: policies, reset seeds, noise and roll-in, joined without counting indices."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from qdpg.learn.networks import MLP, join_policies


@dataclass(frozen=True)
class Episodes:
    """n episodes that are to be played."""

    policies: MLP  # n stacked
    seeds: np.ndarray  # [n] int64, reset seeds
    sigma: np.ndarray  # [n] or [n, A] float32, standard deviation of the action noise
    roll_in_steps: np.ndarray  # [n] int64, how long a guide acts first; 0 where nobody does
    limits: np.ndarray  # [n] int64, steps after which the episode is cut off; 0 plays to the end
    guides: MLP | None = None  # one for each episode whose `roll_in_steps` are not 0, stacked in order

    def __len__(self) -> int:
        """How many episodes."""
        return len(self.seeds)


def make_episodes(policies: MLP, seeds: np.ndarray, sigma: float | np.ndarray = 0.0) -> Episodes:
    """Episodes of these policies from the start to the end, each with the same noise or [n] or [n, A] of its own."""
    levels = np.asarray(sigma, np.float32)
    nothing = np.zeros(len(seeds), np.int64)
    return Episodes(policies, seeds, levels if levels.ndim else np.full(len(seeds), levels), nothing, nothing)


def roll_in(episodes: Episodes, guides: MLP, lengths: np.ndarray, own_steps: int, rng: np.random.Generator) -> Episodes:
    """Let a guide act in each episode first, for a random part of `lengths`, then its own policy for `own_steps`.

    Args:
        episodes: n of them.
        guides: n policies.
        lengths: [n] int, how long each guide acts at most.
        own_steps: After so many steps of the own policy the episode is cut off.
        rng: Where the draws come from.
    """
    steps = 1 + rng.integers(lengths)
    return replace(episodes, roll_in_steps=steps, limits=steps + own_steps, guides=guides)


def join_episodes(*parts: Episodes) -> Episodes:
    """Join episodes in order."""
    guides = [part.guides for part in parts if part.guides is not None]
    joined = {
        each.name: np.concatenate([getattr(part, each.name) for part in parts])
        for each in fields(Episodes)
        if each.name not in ("policies", "guides")
    }
    return Episodes(
        policies=join_policies(*(part.policies for part in parts)),
        guides=join_policies(*guides) if guides else None,
        **joined,
    )
