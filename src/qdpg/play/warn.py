"""What will make a task hard to learn, though nothing is wrong with it: said before hours are spent on it."""

from __future__ import annotations

from collections.abc import Iterator

import jax
import numpy as np

from qdpg.learn.networks import init_population
from qdpg.play.acting import Noise
from qdpg.play.player import make_player
from qdpg.play.rollouts import Rollouts
from qdpg.tasks.task import Task, TaskSpec

EPISODES = 8  # of random policies, half of them with actions at random besides
HIDDEN = (32,)
NARROW = 0.02  # share of a descriptor's range; who stays within has hardly moved
LARGE, SMALL = 1e3, 1e-6  # rewards that critics cannot learn without scaling


def warn_task(task: Task) -> list[str]:
    """Return what will be hard about `task`, each a sentence that says what to do; none if nothing was seen."""
    spec = task.spec
    policies = init_population(jax.random.key(0), EPISODES, (spec.observation_size, *HIDDEN, spec.action_size))
    sigma = np.where(np.arange(EPISODES) % 2, np.float32(1.0), np.float32(0.0))
    noise = Noise(sigma, correlation=0.9)  # so that random play gets somewhere
    return list(find_warnings(spec, make_player(task).play(policies, np.arange(EPISODES), noise=noise, record=False)))


def find_warnings(spec: TaskSpec, rollouts: Rollouts) -> Iterator[str]:
    """What episodes of random play say about a task."""
    low, high = np.asarray(spec.descriptor_low), np.asarray(spec.descriptor_high)
    states = rollouts.descriptors[:, :-1][rollouts.played()]
    for i, name in enumerate(spec.descriptor_names):
        seen = states[:, i]
        share = (seen.max() - seen.min()) / (high[i] - low[i])
        if share == 0:
            yield f"descriptor {i} ({name}) never changed in random play; no policy will be told from another by it."
        elif share < NARROW:
            yield (
                f"descriptor {i} ({name}) took only {share:.2%} of its range {low[i]:g} to {high[i]:g} in random play; "
                "if that is all a policy can do, give narrower bounds."
            )
        elif spec.behaviour == "final" and len(np.unique(seen)) <= 2:
            yield (
                f"descriptor {i} ({name}) is one of two values, so that its final value fills two cells; take "
                "behaviour=mean."
            )
    size = float(np.abs(rollouts.rewards[rollouts.played()]).mean())
    if size > LARGE or 0 < size < SMALL:
        yield (
            f"rewards are of the size of {size:.2g}; the general settings scale them, but with others critics will "
            "not learn them: scale them, or set quality.reward_scale."
        )
    if size == 0:
        yield "random play got no reward at all; policies that look alike cannot be improved. Pay for coming nearer."
    if np.median(rollouts.lengths) < 0.02 * spec.horizon:
        yield (
            f"half of the random episodes ended within {int(np.median(rollouts.lengths))} of {spec.horizon} steps; "
            "start less far from where policies can stand, or let episodes end later."
        )
