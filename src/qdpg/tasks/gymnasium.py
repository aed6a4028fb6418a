"""Any Gymnasium environment with a box of actions and a box of observations, as a task.

The environment says what happens; the user adds what quality-diversity needs besides: a state descriptor and its
bounds. Nothing is checked before `spec` is asked for, so that options can still be changed.
"""

from __future__ import annotations

import math
import numbers
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, get_args

import gymnasium
import numpy as np
from gymnasium.spaces import Box

from qdpg.errors import UserError
from qdpg.ranges import Horizon, Number
from qdpg.tasks.descriptors import BY_NAME, INFO_KEY
from qdpg.tasks.locating import Located, find_located
from qdpg.tasks.task import BehaviourKind, FitnessKind, Task, TaskSpec

Descriptor = Callable[[Any, dict[str, Any]], Any]
LOOKED_AT = 100  # random steps that show which observations the descriptors are


@dataclass(frozen=True)
class GymnasiumTask(Task):
    """A Gymnasium environment to be solved.

    Attributes:
        env: The environment's id, or a class or function that makes one.
        descriptor: ψ(s): indices of the flattened observation, or a function of the observation and the info as the
            environment gives them, or the name of a ready-made one ("position", "feet"; see `qdpg.tasks.descriptors`);
            None takes `info["state_descriptor"]`.
        low: Lower bounds of the descriptor, one number per descriptor.
        high: Upper bounds, likewise.
        horizon: Steps until an episode is cut; None takes the environment's own limit.
        behaviour: ξ as a function of the episode's ψ; see `TaskSpec`.
        fitness: What ranks policies; see `TaskSpec`.
        fitness_floor: What the QD score counts from; see `TaskSpec`. None lets a training estimate it from random play,
            and write it down.
        solved: Fitness above which the task counts as solved.
        name: What the task is called; None takes the environment's name.
        kwargs: What the environment is made with.
        descriptor_names: What the descriptors are called in figures; empty gives them numbers.
        observation_scale: Typical sizes of the observations, if they are known; see `TaskSpec`.
        located: Which observations the descriptors are; see `TaskSpec`. None finds out by random play, and () says that
            they are none.
    """

    env: str | Callable[[], gymnasium.Env]
    descriptor: tuple[int, ...] | int | str | Descriptor | None = None
    low: tuple[Number, ...] | Number | None = None
    high: tuple[Number, ...] | Number | None = None
    horizon: Horizon | None = None
    behaviour: BehaviourKind = "final"
    fitness: FitnessKind = "return"
    fitness_floor: Number | None = None
    solved: Number | None = None
    name: str | None = None
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    descriptor_names: tuple[str, ...] = ()
    observation_scale: tuple[float, ...] = ()
    located: Located | None = None

    @property
    def label(self) -> str:
        """What to call the task in a sentence."""
        if self.name is not None:
            return self.name
        if isinstance(self.env, str):
            return f"gym:{self.env}"
        name = getattr(self.env, "__name__", "")
        return name if name.isidentifier() else "gymnasium-task"  # a lambda or the like has no name worth showing

    @cached_property
    def spec(self) -> TaskSpec:
        """The contract, found by making the environment and resetting it once.

        Raises:
            UserError: The environment cannot be made or is of the wrong kind, or an option is missing or wrong.
        """
        env = self.make_env()
        try:
            action_space, observation_space = self._check_spaces(env)
            observation_size = math.prod(observation_space.shape)
            self._check_descriptor(observation_size)
            try:
                psi = self._describe(*env.reset(seed=0))
            except UserError:
                raise
            except Exception as error:
                raise UserError(f"{self.label} failed when it was reset: {in_words(error)}") from error
            horizon = self._choose_horizon(env)
            located = self._locate(env)
        finally:
            env.close()
        self._check_choices()
        low, high = self._check_bounds(psi.size)
        names = tuple(f"descriptor[{i}]" for i in range(psi.size))
        if self._has_indices:
            names = tuple(f"observation[{i}]" for i in self._indices)
        return TaskSpec(
            name=self.label,
            observation_size=observation_size,
            action_size=math.prod(action_space.shape),
            horizon=horizon,
            action_low=tuple(action_space.low.ravel().tolist()),
            action_high=tuple(action_space.high.ravel().tolist()),
            descriptor_low=low,
            descriptor_high=high,
            descriptor_names=self._check_names(psi.size) or names,
            located=located,
            observation_scale=self.observation_scale,
            behaviour=self.behaviour,
            fitness=self.fitness,
            fitness_floor=self.fitness_floor or 0.0,
            solved=self.solved,
            evaluate_every=max(10_000, 50 * horizon),
        )

    @cached_property
    def action_space(self) -> Box:
        """The environment's own box of actions."""
        env = self.make_env()
        try:
            return self._check_spaces(env)[0]
        finally:
            env.close()

    def make_env(self) -> gymnasium.Env:
        """Make one environment.

        Raises:
            UserError: It cannot be made.
        """
        if not callable(self.env) and not isinstance(self.env, str):
            kind = type(self.env).__name__
            raise UserError(
                f"env is a {kind}, but must be the id of an environment, or a class or function to make one."
            )
        try:
            # Gymnasium's own checker costs time at every step of training; `qdpg check-task` looks once.
            if isinstance(self.env, str):
                env = gymnasium.make(self.env, disable_env_checker=True, **self.kwargs)
            else:
                env = self.env(**self.kwargs)
            if isinstance(self.descriptor, str):
                env = self._wrap(env, self.descriptor)
        except UserError:
            raise
        except gymnasium.error.UnregisteredEnv as error:
            raise UserError(
                f"there is no Gymnasium environment {self.env!r} ({in_words(error, kind=False)}); "
                "write gym:MODULE:ENV_ID if a package of its own must be imported first."
            ) from error
        except (ImportError, gymnasium.error.DependencyNotInstalled) as error:
            raise UserError(
                f"{self.label} needs something that is not installed ({in_words(error, kind=False)}); install it "
                '(Gymnasium has extras for its own environments, such as `pip install "gymnasium[mujoco]"`).'
            ) from error
        except Exception as error:
            raise UserError(f"{self.label} cannot be made: {in_words(error)}") from error
        if not isinstance(env, gymnasium.Env):
            raise UserError(f"{self.label} made a {type(env).__name__}, but must make a gymnasium.Env.")
        return env

    def _wrap(self, env: gymnasium.Env, name: str) -> gymnasium.Env:
        """Let a ready-made descriptor describe it."""
        if name not in BY_NAME:
            raise UserError(f"there is no ready-made descriptor {name!r}; there are: {', '.join(BY_NAME)}.")
        return BY_NAME[name](env)

    def flatten(self, observation: Any) -> np.ndarray:
        """Return what the policy sees, a copy, [O] float32."""
        flat = np.array(observation, np.float32).reshape(-1)
        _check_size("an observation", flat, self.spec.observation_size)
        return flat

    def describe(self, observation: Any, info: dict[str, Any]) -> np.ndarray:
        """Return ψ of the state with this observation and info as the environment gave them, a copy, [D] float32."""
        psi = self._describe(observation, info)
        _check_size("a state descriptor", psi, self.spec.descriptor_size)
        return psi

    def scale(self, actions: np.ndarray, space: gymnasium.Space) -> np.ndarray:
        """Bring actions [..., A] in [-1, 1] to the environment's own box `space`, in its shape and type."""
        assert isinstance(space, Box)
        low, high = space.low.astype(np.float64), space.high.astype(np.float64)
        actions = np.asarray(actions, np.float64).reshape(*actions.shape[:-1], *space.shape)
        return np.clip((low + high) / 2 + (high - low) / 2 * actions, low, high).astype(space.dtype)

    @property
    def _has_indices(self) -> bool:
        return not (self.descriptor is None or isinstance(self.descriptor, str) or callable(self.descriptor))

    @cached_property
    def _indices(self) -> list[int]:
        """The descriptor, if it is indices of the observation."""
        return list(_as_tuple(self.descriptor))

    def _describe(self, observation: Any, info: dict[str, Any]) -> np.ndarray:
        if self.descriptor is None or isinstance(self.descriptor, str):
            if INFO_KEY not in info:
                raise UserError(
                    f"{self.label} has no state descriptor: name the observations that describe a state, for example "
                    f"--set task.descriptor=0,1, or give a function of observation and info, or info[{INFO_KEY!r}]."
                )
            psi = info[INFO_KEY]
        elif callable(self.descriptor):
            psi = self.descriptor(observation, info)
        else:
            psi = np.asarray(observation).reshape(-1)[self._indices]
        return np.array(psi, np.float32).reshape(-1)  # np.array copies, so a view of live state does no harm

    def _locate(self, env: gymnasium.Env) -> Located:
        """Find out which observations the descriptors are: from what was said, from indices, or by random play."""
        if self.located is not None:
            return self.located
        if self._has_indices:
            return tuple((i, 1.0, 0.0) for i in self._indices)
        rng, seen, described, ended = np.random.default_rng(0), [], [], True
        low, high = env.action_space.low, env.action_space.high  # type: ignore[attr-defined]
        try:
            for step in range(LOOKED_AT):
                if ended:
                    observation, info = env.reset(seed=step)
                    ended = False
                else:
                    action = rng.uniform(low, high).astype(env.action_space.dtype)
                    observation, _, terminated, truncated, info = env.step(action)
                    ended = terminated or truncated
                seen.append(np.array(observation, np.float64).reshape(-1))
                described.append(self._describe(observation, info).astype(np.float64))
            return find_located(np.stack(seen), np.stack(described))
        except Exception:
            return ()  # whatever is wrong with its steps, others say it better

    def _check_spaces(self, env: gymnasium.Env) -> tuple[Box, Box]:
        """Return the action and observation spaces, if policies can deal with them."""
        action, observation = env.action_space, env.observation_space
        if not isinstance(action, Box) or not np.issubdtype(action.dtype, np.floating):
            raise UserError(
                f"{self.label} takes actions in {action}, but policies act in a box of real numbers; choose a variant "
                "with continuous actions, or wrap it with gymnasium.wrappers.TransformAction."
            )
        if not (np.isfinite(action.low).all() and np.isfinite(action.high).all()):
            raise UserError(
                f"{self.label} takes actions without bounds, but policies act in [-1, 1], which must be scaled to "
                "something; give its action_space finite low and high."
            )
        if not isinstance(observation, Box):
            raise UserError(
                f"{self.label} gives observations in a {type(observation).__name__} space, but policies see one box "
                "of numbers; wrap it with gymnasium.wrappers.FlattenObservation in a function that makes it."
            )
        return action, observation

    def _check_descriptor(self, size: int) -> None:
        if not self._has_indices:
            return
        if not self._indices or not all(_is_whole(i) and 0 <= i < size for i in self._indices):
            raise UserError(
                f"descriptor is {self.descriptor!r}, but must hold indices of the {size} observations of {self.label}, "
                f"from 0 to {size - 1}."
            )

    def _check_names(self, size: int) -> tuple[str, ...]:
        if self.descriptor_names and len(self.descriptor_names) != size:
            raise UserError(
                f"{self.label} has {size} descriptors, but descriptor_names has {len(self.descriptor_names)}; give one "
                "for each."
            )
        return tuple(self.descriptor_names)

    def _choose_horizon(self, env: gymnasium.Env) -> int:
        limit = env.spec.max_episode_steps if env.spec is not None else None
        horizon = limit if self.horizon is None else self.horizon
        if horizon is None:
            raise UserError(
                f"{self.label} has no time limit of its own; give one, for example --set task.horizon=1000."
            )
        if not _is_whole(horizon) or horizon < 1:
            raise UserError(f"horizon is {horizon!r}, but must be a whole number of steps, at least 1.")
        if limit is not None and horizon > limit:
            raise UserError(
                f"{self.label} cuts its episodes after {limit} steps, so a horizon of {horizon} cannot be reached; "
                "give less, or as env a function that calls gymnasium.make(..., max_episode_steps=...)."
            )
        return int(horizon)

    def _check_choices(self) -> None:
        for option, kinds in (("behaviour", BehaviourKind), ("fitness", FitnessKind)):
            value, known = getattr(self, option), get_args(kinds)
            if value not in known:
                raise UserError(f"{option} is {value!r}, but must be {' or '.join(known)}.")
        if self.solved is not None and not _is_number(self.solved):
            raise UserError(f"solved is {self.solved!r}, but must be a number, the fitness that counts as solved.")

    def _check_bounds(self, size: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
        example = ",".join(["-1"] * size), ",".join(["1"] * size)
        how = f"for example --set task.low={example[0]} task.high={example[1]}"
        if self.low is None or self.high is None:
            raise UserError(f"{self.label} lacks the bounds of its {size} descriptors; give low and high, {how}.")
        low, high = _as_tuple(self.low), _as_tuple(self.high)
        if not len(low) == len(high) == size or not all(map(_is_number, (*low, *high))):
            raise UserError(
                f"{self.label} has {size} descriptors, but low is {self.low!r} and high is {self.high!r}; give each "
                f"one number per descriptor, {how}."
            )
        if any(a >= b for a, b in zip(low, high, strict=True)):
            raise UserError(f"low is {self.low!r} and high is {self.high!r}, but every low must be below its high.")
        return tuple(map(float, low)), tuple(map(float, high))


def in_words(error: Exception, kind: bool = True) -> str:
    """Return an error as part of one line, with its type unless the sentence makes that superfluous."""
    text = textwrap.shorten(str(error), 300, placeholder=" …").rstrip(".")  # some libraries explain at length
    return f"{type(error).__name__}: {text}" if kind else text


def _as_tuple(value: Any) -> tuple[Any, ...]:
    if isinstance(value, np.ndarray):
        return tuple(value.ravel().tolist())
    return tuple(value) if isinstance(value, Iterable) and not isinstance(value, str) else (value,)


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _check_size(what: str, array: np.ndarray, size: int) -> None:
    if array.size != size:
        raise ValueError(f"{what} has {array.size} numbers instead of {size}")
