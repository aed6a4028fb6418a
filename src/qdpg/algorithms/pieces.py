"""What several algorithms need: keys and seeds, state, checks, arithmetic."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, TypeVar

import jax
import numpy as np

from qdpg.algorithms.algorithm import Footprint, arrays_to_tree, tree_to_arrays, with_prefix, without_prefix
from qdpg.emitters.objective import GradientObjective
from qdpg.errors import DivergedError
from qdpg.learn.networks import MLP, count_parameters, flatten_population
from qdpg.learn.td3 import TD3Settings
from qdpg.memory.elites import Elites
from qdpg.memory.replay import replay_bytes
from qdpg.tasks.task import TaskSpec

T = TypeVar("T")


def generation_key(seed: int, generation: int) -> jax.Array:
    """The random key of a generation (-1: of the start). Cheap generator: the updates draw a lot."""
    return jax.random.fold_in(jax.random.key(seed, impl="rbg"), generation + 1)


def draw_seeds(rng: np.random.Generator, number: int) -> np.ndarray:
    """Reset seeds of training episodes, [number] int64."""
    return rng.integers(2**31, size=number)


def count_cells(cells: tuple[int, ...] | int) -> int:
    """Cells of a grid or of a tessellation."""
    return cells if isinstance(cells, int) else math.prod(cells)


def td3_settings(config: Any, **changes: Any) -> TD3Settings:
    """The part of an algorithm's settings that the engine takes, with `changes`."""
    return engine_settings(TD3Settings, config, **changes)


def engine_settings(kind: type[T], config: Any, **changes: Any) -> T:
    """The part of an algorithm's settings that an engine with settings of this kind takes, with `changes`."""
    known = {field.name for field in dataclasses.fields(config)}
    shared = {f.name: getattr(config, f.name) for f in dataclasses.fields(kind) if f.name in known}  # type: ignore[arg-type]
    return kind(**(shared | changes))


def climbing_settings(config: Any, objective: GradientObjective) -> TD3Settings:
    """TD3's part of an algorithm's settings, for policies that climb this objective."""
    return td3_settings(config, discount=objective.discount, action_bound=objective.action_bound)


def check_finite(generation: int, population: MLP, critics: dict[str, Any]) -> None:
    """Raise `DivergedError` if a parameter of a policy, or of critics by name, is not finite."""
    if not np.isfinite(flatten_population(population)).all():
        raise DivergedError(f"a policy's parameters are not finite in generation {generation}")
    for name, networks in critics.items():
        if not all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(networks)):
            raise DivergedError(f"the {name} critic is not finite in generation {generation}")


def pack_state(state: Any, elites: Elites) -> dict[str, np.ndarray]:
    """An algorithm's own state (any pytree) and its elites as arrays by name."""
    return with_prefix("state", tree_to_arrays(state)) | with_prefix("elites/", elites.state())


def unpack_state(arrays: dict[str, np.ndarray], like: Any, elites: Elites) -> Any:
    """The inverse of `pack_state`: fill `elites`, and return a state shaped like `like`."""
    elites.load(without_prefix("elites/", arrays))
    return arrays_to_tree(without_prefix("state", arrays), like)


def td3_footprint(
    spec: TaskSpec,
    hidden: tuple[int, ...],
    replay_size: int,
    cells: tuple[int, ...] | int,
    learners: int,
    population: int,
    others: int = 0,
) -> Footprint:
    """What an algorithm around TD3 will take.

    Args:
        spec: The task.
        hidden: Hidden layers of policies and critics.
        replay_size: Rows of the replay memory.
        cells: Cells of the archive.
        learners: Actors with twin critics of their own that live on.
        population: Policies at play or in the making at a time.
        others: Further numbers in the state.
    """
    policy = count_parameters(spec.observation_size, *hidden, spec.action_size)
    critic = count_parameters(spec.observation_size + spec.action_size, *hidden, 1)
    # Online, target, and two moments of Adam; and counters.
    own = learners * (4 * (2 * critic + policy) + 8)
    return replay_footprint(spec, hidden, replay_size, cells, own + others, population)


def replay_footprint(
    spec: TaskSpec,
    hidden: tuple[int, ...],
    replay_size: int,
    cells: tuple[int, ...] | int,
    numbers: int,
    population: int,
    labels: int = 0,
) -> Footprint:
    """What an algorithm with a replay memory and an archive will take.

    Args:
        spec: The task.
        hidden: Hidden layers of the policies.
        replay_size: Rows of the replay memory.
        cells: Cells of the archive.
        numbers: In the state, but for the archive.
        population: Policies at play or in the making at a time.
        labels: Numbers beside each observation in the replay memory.
    """
    policy = count_parameters(spec.observation_size, *hidden, spec.action_size)
    # An elite is its policy and a few numbers.
    elites = count_cells(cells) * (policy + 16 + spec.descriptor_size)
    state = 4 * (numbers + elites) + 1024
    replay = replay_bytes(replay_size, spec.observation_size + labels, spec.action_size, spec.descriptor_size)
    return Footprint(memory=replay + 3 * state + 16 * population * policy, checkpoint=state, replay=replay)
