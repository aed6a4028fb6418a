"""Settings, state and footprint of the evolution strategies; `evolution.py` has what they do."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from qdpg.algorithms.algorithm import Footprint
from qdpg.learn.es import OptimiserState
from qdpg.learn.networks import count_parameters
from qdpg.learn.normaliser import ObservationStats
from qdpg.memory.visited import NoveltyKind
from qdpg.ranges import Cells, Count, NotNegative, Positive, Widths
from qdpg.tasks.task import TaskSpec


@dataclass(frozen=True)
class Config:
    """Settings that all evolution strategies share. Defaults are those of ME-ES's authors (Colas et al., 2020).

    Attributes:
        pairs: n, mirrored pairs of perturbations per generation; each pair is played twice.
        sigma: σ of the perturbations.
        rate: Adam's learning rate.
        decay: Weight decay.
        action_noise: σ of the action noise in episodes of perturbations.
        evaluations: Episodes of each improved policy, without noise; behaviour and fitness are their means.
        parents: Random policies to start from; NS-ES and its kin improve these M in turn.
        hidden: Hidden layers, of tanh units.
        initialisation: "normalised": units with incoming weights of length one, and hardly any action at first;
            "uniform": as TD3 has it.
        normalise: Whether steps are taken in the coordinates of normalised observations.
        neighbours: K of novelty.
        novelty: Mean of squared distances as the authors of ME-ES have it, or mean distance as those of NS-ES do.
        cells: Cells per dimension of the grid, or one number for a centroidal Voronoi tessellation.
        chunk: Episodes of perturbations played at once; bounds the memory, and does not change results.
    """

    pairs: Count = 5000
    sigma: Positive = 0.02
    rate: NotNegative = 0.01
    decay: NotNegative = 0.005
    action_noise: NotNegative = 0.01
    evaluations: Count = 30
    parents: Count = 5
    hidden: Widths = (256, 256)
    initialisation: Literal["normalised", "uniform"] = "normalised"
    normalise: bool = True
    neighbours: Count = 10
    novelty: NoveltyKind = "squared"
    cells: Cells = (10, 10)
    chunk: Count = 100


def shared_preset(name: str, task: str) -> dict[str, Any]:
    """What preset `name` changes for `task` in every evolution strategy; an unknown task gets the ants' settings.

    "paper" is the published scale, 10,000 episodes per generation. "tuned" is what two cores can do: few pairs, each
    generation a larger step, one episode per improved policy, as in QDax.
    """
    point = {"hidden": (64, 32), "cells": (5, 5), "chunk": 2000}  # networks and grid of QD-PG's Table 3
    if name == "paper":
        return point if task == "point-maze" else {}
    small = {"evaluations": 1, "action_noise": 0.0, "initialisation": "uniform"}
    if task == "point-maze":
        return {**point, **small, "pairs": 10, "sigma": 0.1, "rate": 0.2, "decay": 0.0}
    return {**small, "pairs": 50, "cells": (7, 7), "chunk": 20}


def proportional(values: np.ndarray) -> np.ndarray:
    """Shares [n] in proportion to non-negative values [n]; equal ones if there is nothing to go by."""
    total = values.sum(dtype=np.float64)
    return values / total if total > 0 else np.full(len(values), 1 / len(values))


class Start(NamedTuple):
    """Where a generation's step starts."""

    member: int  # row of the state that the improved policy will take
    policy: np.ndarray  # [P], plain
    optimiser: OptimiserState
    weight: float  # of fitness against novelty, in [0, 1]


class Step(NamedTuple):
    """A step taken, which `tell` will remember."""

    start: Start
    optimiser: OptimiserState  # after it
    measured: dict[str, float]  # numbers worth recording


class State(NamedTuple):
    """All that an evolution strategy remembers besides grid and archive."""

    generation: int
    steps: int
    policies: np.ndarray  # [M, P] float32, plain networks
    behaviours: np.ndarray  # [M, D] float32, their mean behaviours
    optimisers: list[OptimiserState]  # M of them
    observed: ObservationStats
    own: Any  # what the variant remembers besides, a pytree


def footprint(spec: TaskSpec, config: Config, name: str) -> Footprint:
    """What a run will take, known before anything is allocated; the archive of behaviours is too small to count."""
    policy = 4 * count_parameters(spec.observation_size, *config.hidden, spec.action_size)
    cells = config.cells if isinstance(config.cells, int) else math.prod(config.cells)
    checkpoint = (3 * config.parents + cells) * (policy + 4 * spec.descriptor_size + 64) + 2**16
    # A step is a reward, descriptors and action noise, which players hold twice while they rearrange them.
    step = 8 * (2 + spec.descriptor_size + spec.action_size)
    chunk = min(config.chunk, 2 * config.pairs) * (8 * policy + spec.horizon * step)
    judged = config.parents * config.evaluations * (6 * policy + spec.horizon * (step + 8 * spec.observation_size))
    return Footprint(memory=3 * checkpoint + max(chunk, judged), checkpoint=checkpoint, replay=0)
