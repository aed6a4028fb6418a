"""The environments that a Gymnasium player steps: one for each episode, or all of them as one vector environment.

An environment may offer to step many of its kind at once (`vector_entry_point` where it is registered). We take that
only if nobody can tell the difference: episodes must be those of single environments to the last bit, whoever else
plays. It is tried once, with two episodes, until one of them ends or for a few hundred steps.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, Protocol

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from qdpg.errors import UserError
from qdpg.tasks.gymnasium import GymnasiumTask, in_words

TRIED_SEEDS, TRIED_STEPS = (3, 4), 300


class Seen(NamedTuple):
    """What an environment showed after a reset or a step."""

    observation: np.ndarray  # [O] float32
    descriptor: np.ndarray  # [D] float32
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False


class Environments(Protocol):
    """Environments for as many episodes as are played side by side."""

    def reset(self, seeds: np.ndarray) -> list[Seen]:
        """Begin an episode for each of the seeds [N]."""

    def step(self, alive: np.ndarray, actions: np.ndarray) -> list[Seen]:
        """Step the episodes `alive` [n], from 0 to N - 1, with actions [n, ...] of the environment's own box."""


class Separate:
    """One environment per episode, one after the other. They are made when first needed, and kept."""

    def __init__(self, task: GymnasiumTask) -> None:
        self.task = task
        self._envs: list[gymnasium.Env] = []
        weakref.finalize(self, _close, self._envs)

    def reset(self, seeds: np.ndarray) -> list[Seen]:
        """See `Environments`."""
        while len(self._envs) < len(seeds):
            self._envs.append(self.task.make_env())
        return [self._reset(env, int(seed)) for env, seed in zip(self._envs, seeds, strict=False)]

    def step(self, alive: np.ndarray, actions: np.ndarray) -> list[Seen]:
        """See `Environments`."""
        return [self._step(self._envs[n], action) for n, action in zip(alive, actions, strict=True)]

    def _reset(self, env: gymnasium.Env, seed: int) -> Seen:
        with _blaming(self.task, "reset"):
            observation, info = env.reset(seed=seed)
            return Seen(self.task.flatten(observation), self.task.describe(observation, info))

    def _step(self, env: gymnasium.Env, action: np.ndarray) -> Seen:
        with _blaming(self.task, "step"):
            observation, reward, terminated, truncated, info = env.step(action)
            flat, psi = self.task.flatten(observation), self.task.describe(observation, info)
            return Seen(flat, psi, np.asarray(reward).item(), bool(terminated), bool(truncated))


class Together:
    """All episodes in one vector environment, which is kept for as long as their number does not change."""

    def __init__(self, task: GymnasiumTask) -> None:
        self.task = task
        self._envs: list[VectorEnv] = []  # one at most
        weakref.finalize(self, _close, self._envs)

    def reset(self, seeds: np.ndarray) -> list[Seen]:
        """See `Environments`."""
        if not self._envs or self._envs[0].num_envs != len(seeds):
            _close(self._envs)
            self._envs[:] = [make_vector_env(self.task, len(seeds))]
        with _blaming(self.task, "reset"):
            each: Any = [int(seed) for seed in seeds]  # what vector environments are declared to take is one for all
            observations, infos = self._envs[0].reset(seed=each)
            return [
                Seen(self.task.flatten(observations[n]), self.task.describe(observations[n], pick(infos, n)))
                for n in range(len(seeds))
            ]

    def step(self, alive: np.ndarray, actions: np.ndarray) -> list[Seen]:
        """See `Environments`; those that have ended are stepped too, and nobody looks."""
        env = self._envs[0]
        everyone = np.zeros((env.num_envs, *actions.shape[1:]), actions.dtype)
        everyone[alive] = actions
        with _blaming(self.task, "step"):
            observations, rewards, terminated, truncated, infos = env.step(everyone)
            return [
                Seen(
                    self.task.flatten(observations[n]),
                    self.task.describe(observations[n], pick(infos, n)),
                    np.asarray(rewards[n]).item(),
                    bool(terminated[n]),
                    bool(truncated[n]),
                )
                for n in alive
            ]


def make_environments(task: GymnasiumTask) -> Environments:
    """All together where the environment offers it and that changes nothing, otherwise separate ones."""
    return Together(task) if steps_together(task) else Separate(task)


def steps_together(task: GymnasiumTask) -> bool:
    """Whether the environment offers vectorised stepping whose episodes are those of single environments."""
    if not isinstance(task.env, str) or isinstance(task.descriptor, str):
        return False  # a ready-made descriptor looks into single environments
    try:
        offered = gymnasium.spec(task.env).vector_entry_point
    except Exception:
        return False
    return offered is not None and _is_the_same(task)


def _is_the_same(task: GymnasiumTask) -> bool:
    """Whether two short episodes are alike to the last bit, until one of them ends."""
    seeds, alive, rng = np.array(TRIED_SEEDS), np.arange(len(TRIED_SEEDS)), np.random.default_rng(0)
    pair: tuple[Environments, Environments] = (Separate(task), Together(task))
    try:
        shown = [each.reset(seeds) for each in pair]
        env = make_vector_env(task, len(seeds))
        space, mode = env.single_action_space, env.metadata.get("autoreset_mode")
        env.close()
        if mode != AutoresetMode.NEXT_STEP:
            return False  # what an episode ends in would be hidden, or may be where nothing is said
        for _ in range(TRIED_STEPS):
            if not all(map(_alike, *shown)):
                return False
            if any(each.terminated or each.truncated for each in shown[0]):
                break
            actions = task.scale(rng.uniform(-1, 1, (len(seeds), task.spec.action_size)), space)
            shown = [each.step(alive, actions) for each in pair]
        return all(map(_alike, *shown))
    except Exception:
        return False  # such as a vector environment that takes one seed for all


def _alike(one: Seen, other: Seen) -> bool:
    arrays = np.array_equal(one.observation, other.observation) and np.array_equal(one.descriptor, other.descriptor)
    return arrays and one[2:] == other[2:]


def make_vector_env(task: GymnasiumTask, number: int) -> VectorEnv:
    """The environment's own vector environment for so many episodes."""
    assert isinstance(task.env, str)
    return gymnasium.make_vec(task.env, number, vectorization_mode="vector_entry_point", **task.kwargs)


def pick(infos: dict[str, Any], n: int) -> dict[str, Any]:
    """What a vector environment's infos say of episode n; `_key` says for whom there is a value of `key`."""
    return {
        key: pick(values, n) if isinstance(values, dict) else values[n]
        for key, values in infos.items()
        if not (key.startswith("_") and key[1:] in infos) and infos.get(f"_{key}", {n: True})[n]
    }


@contextmanager
def _blaming(task: GymnasiumTask, where: str) -> Iterator[None]:
    """Turn an error inside the environment, which only its author can mend, into a sentence."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"{task.label} failed in {where}: {in_words(error)}; see `qdpg check-task`.") from error


def _close(envs: list[Any]) -> None:
    """Close what a player that is gone has left behind."""
    for env in envs:
        with suppress(Exception):  # nobody is left who could do anything about it
            env.close()
