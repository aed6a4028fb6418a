"""One policy outside a player, with the arithmetic of the players: the same observation gives the same bits."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Literal

import numpy as np

from qdpg.learn.networks import MLP
from qdpg.play.acting import Actor
from qdpg.tasks.task import JaxTask, Task

Arithmetic = Literal["jax", "native"]
Act = Callable[[np.ndarray], np.ndarray]  # [n, O] float32 -> [n, A]


def arithmetic_of(task: Task) -> Arithmetic:
    """Whose arithmetic the player of a task uses."""
    return "jax" if isinstance(task, JaxTask) else "native"


def act_alone(policy: MLP, arithmetic: Arithmetic) -> Act:
    """Return what a policy does with observations, as a player would.

    Args:
        policy: A population of one.
        arithmetic: Whose; see `arithmetic_of`.
    """
    if arithmetic == "native":
        actor = Actor(policy)
        return lambda observations: actor.act(observations, np.zeros(len(observations), np.int64))
    act = _compiled_act()
    # One at a time: what a compiled program does with several may depend on how many they are.
    return lambda observations: np.concatenate([np.asarray(act(policy, row[None])) for row in observations])


@functools.cache
def _compiled_act() -> Callable[..., np.ndarray]:
    import jax

    from qdpg.play.jax_player import act

    return jax.jit(act)
