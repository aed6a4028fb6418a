"""What playing a population gave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from qdpg.errors import DivergedError
from qdpg.tasks.task import TaskSpec


@dataclass(frozen=True)
class Rollouts:
    """N episodes of at most T steps. An episode is determined by its policy, its seed and its noise.

    Attributes:
        seeds: [N] int64, what each episode was reset with.
        noise: [N] float32, standard deviation of its action noise; the largest where actions differ.
        lengths: [N] int32, steps played.
        terminated: [N] bool, True for a real end, False for the time limit.
        rewards: [N, T] float32, zero after the end.
        descriptors: [N, T + 1, D] float32, ψ of every visited state, the final one repeated after the end.
        observations: [N, T + 1, O] float32, zero after the final one; None if transitions were not wanted.
        actions: [N, T, A] float32 in [-1, 1] as played (noise included), zero after the end; None likewise.
        returns: [N] float64, sums of rewards.
        fitness: [N] float64, as the task defines it.
        behaviours: [N, D] float32, ξ of every episode.
    """

    seeds: np.ndarray
    noise: np.ndarray
    lengths: np.ndarray
    terminated: np.ndarray
    rewards: np.ndarray
    descriptors: np.ndarray
    observations: np.ndarray | None
    actions: np.ndarray | None
    returns: np.ndarray
    fitness: np.ndarray
    behaviours: np.ndarray

    @property
    def steps(self) -> int:
        """Environment steps played in all."""
        return int(self.lengths.sum())

    @property
    def last_rewards(self) -> np.ndarray:
        """[N] float64, the reward of each episode's last step."""
        return self.rewards[np.arange(len(self.lengths)), self.lengths - 1].astype(np.float64)

    def first(self, number: int) -> Rollouts:
        """The first `number` episodes; views."""
        return self.take(slice(number))

    def take(self, rows: np.ndarray | slice) -> Rollouts:
        """The episodes in `rows`."""
        parts: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        parts = {name: None if part is None else part[rows] for name, part in parts.items()}
        return Rollouts(**parts)

    def played(self) -> np.ndarray:
        """[N, T] bool, which steps were really played."""
        return np.arange(self.rewards.shape[1]) < self.lengths[:, None]


def find_settled(rollouts: Rollouts, spec: TaskSpec, near: float) -> np.ndarray:
    """The step, from 1 to the last, since when each episode stays near its end, [N] int64.

    Args:
        rollouts: The episodes.
        spec: Their task.
        near: How near, as a share of the range of any descriptor.
    """
    span = np.asarray(spec.descriptor_high) - spec.descriptor_low
    away = (np.abs(rollouts.descriptors - rollouts.descriptors[:, -1:]) > near * span).any(axis=-1)  # [N, T + 1]
    last = away.shape[1] - 1 - away[:, ::-1].argmax(axis=1)  # when it was away last
    return np.where(away.any(axis=1), last + 1, 1).astype(np.int64)


def make_rollouts(
    spec: TaskSpec,
    *,
    seeds: np.ndarray,
    lengths: np.ndarray,
    terminated: np.ndarray,
    rewards: np.ndarray,
    descriptors: np.ndarray,
    observations: np.ndarray | None,
    actions: np.ndarray | None,
    noise: float | np.ndarray = 0.0,
) -> Rollouts:
    """Trim what a player recorded to the longest episode, and derive returns, fitness and behaviours from it.

    All sums run in time order in float64, so that a result does not depend on the padding or on other episodes.

    Raises:
        DivergedError: A reward, descriptor or observation is not finite.
    """
    longest = int(lengths.max())
    rewards, descriptors = rewards[:, :longest], descriptors[:, : longest + 1]
    observations = None if observations is None else observations[:, : longest + 1]
    actions = None if actions is None else actions[:, :longest]
    for name, array in (("reward", rewards), ("state descriptor", descriptors), ("observation", observations)):
        if array is not None and not np.isfinite(array).all():
            bad = int(np.nonzero(~np.isfinite(array).all(axis=tuple(range(1, array.ndim))))[0][0])
            raise DivergedError(f"a {name} of {spec.name} is not finite (episode with reset seed {seeds[bad]})")
    sigma = np.asarray(noise, np.float32)
    row, last = np.arange(len(lengths)), lengths - 1
    returns = np.cumsum(rewards, axis=1, dtype=np.float64)[row, last]
    if spec.fitness == "return":
        fitness = returns
    elif spec.fitness == "best-reward":
        played = np.arange(longest) < lengths[:, None]
        fitness = np.where(played, rewards, -np.inf).max(axis=1).astype(np.float64)
    else:
        fitness = rewards[row, last].astype(np.float64)
    if spec.behaviour == "final":
        behaviours = descriptors[row, lengths]
    else:
        visited = np.cumsum(descriptors[:, 1:], axis=1, dtype=np.float64)[row, last]
        behaviours = (visited / lengths[:, None]).astype(np.float32)
    return Rollouts(
        seeds=np.asarray(seeds, np.int64),
        noise=sigma.max(axis=1) if sigma.ndim == 2 else np.broadcast_to(sigma, len(seeds)),
        lengths=np.asarray(lengths, np.int32),
        terminated=np.asarray(terminated, bool),
        rewards=rewards,
        descriptors=descriptors,
        observations=observations,
        actions=actions,
        returns=returns,
        fitness=fitness * spec.fitness_scale,
        behaviours=behaviours,
    )


def concatenate(parts: Sequence[Rollouts]) -> Rollouts:
    """Join rollouts of the same task, padding each to the longest episode of all."""
    longest = max(part.rewards.shape[1] for part in parts)

    def pad(array: np.ndarray, length: int, mode: str) -> np.ndarray:
        missing = [(0, 0)] * array.ndim
        missing[1] = (0, length - array.shape[1])
        return np.pad(array, missing, mode=mode)  # type: ignore[call-overload]

    def join(name: str, extra: int | None = None, mode: str = "constant") -> np.ndarray | None:
        arrays = [getattr(part, name) for part in parts]
        if any(array is None for array in arrays):
            return None
        return np.concatenate(arrays if extra is None else [pad(a, longest + extra, mode) for a in arrays])

    padded = {"rewards": (0,), "descriptors": (1, "edge"), "observations": (1,), "actions": (0,)}
    return Rollouts(**{f.name: join(f.name, *padded.get(f.name, ())) for f in fields(Rollouts)})  # type: ignore[arg-type]
