"""Gradient steps in pieces, so that a run can be stopped between two of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import jax

from qdpg.learn.td3 import Actors, Critics, TD3Settings, improve
from qdpg.learn.transitions import Minibatches

T = TypeVar("T")
CHUNK = 400  # actor steps between two looks at whether to stop; does not change results


class Stopped(Exception):  # noqa: N818 - not an error
    """A generation was given up half-way because the run is to stop; nothing it learned has been kept."""


def climb(
    actors: Actors,
    critics: Critics,
    minibatches: Minibatches,
    key: jax.Array,
    steps: int,
    stop: Callable[[], bool],
    *,
    settings: TD3Settings,
    chunk: int = CHUNK,
    watch: Callable[[Actors], None] = lambda actors: None,
    **options: Any,
) -> tuple[Actors, Critics]:
    """Take `steps` gradient steps with `improve`, looking up now and then.

    Args:
        actors: See `improve`, as for all that is not explained here.
        critics: See there.
        minibatches: See there.
        key: See there.
        steps: Steps in all.
        stop: Asked after every chunk.
        settings: See there.
        chunk: Blocks of `settings.delay` steps that are taken at once.
        watch: Called with the actors after every chunk.
        options: Handed on to `improve`.

    Raises:
        Stopped: `stop()` became true.
    """

    def take(learner: tuple[Actors, Critics], first: int, number: int) -> tuple[Actors, Critics]:
        return improve(*learner, minibatches, key, first, number, settings=settings, **options)

    return in_chunks(take, (actors, critics), steps, chunk * settings.delay, stop, lambda learner: watch(learner[0]))


def in_chunks(
    take: Callable[[T, int, int], T],
    learner: T,
    steps: int,
    length: int,
    stop: Callable[[], bool],
    watch: Callable[[T], None] = lambda learner: None,
) -> T:
    """Take `steps` gradient steps, `length` at a time.

    Args:
        take: Maps a learner, the number of steps already taken and the number to take now to the improved learner.
        learner: Whatever is improved.
        steps: Steps in all.
        length: Steps between two looks up.
        stop: Asked after every chunk.
        watch: Called with the learner after every chunk.

    Raises:
        Stopped: `stop()` became true.
    """
    for first in range(0, steps, length):
        learner = jax.block_until_ready(take(learner, first, min(length, steps - first)))
        watch(learner)
        if stop():
            raise Stopped
    return learner
