"""Says in words what is wrong with a task, by reading its spec and playing a few short random episodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import jax
import mujoco
import numpy as np

from qdpg.errors import UserError
from qdpg.tasks.contract import find_spec_problems
from qdpg.tasks.gymnasium import GymnasiumTask, in_words
from qdpg.tasks.task import JaxTask, MujocoTask, Physics, Task, TaskSpec, compile_model

SEEDS = (0, 1, 2)
STEPS = 100  # per episode
HOLD = 5  # steps for which a random action is kept, so that episodes get somewhere


def check_task(task: Task) -> list[str]:
    """Return the problems of `task`, each a sentence that says what is wrong and what to do; none if it is fine.

    Examples:
        >>> import qdpg
        >>> qdpg.check_task(qdpg.make_task("point-maze"))
        []
    """
    families = (JaxTask, MujocoTask, GymnasiumTask)
    if not isinstance(task, families):
        names = " or ".join(family.__name__ for family in families)
        return [f"a {type(task).__name__} cannot be played; derive it from {names}."]
    try:
        spec = task.spec
    except UserError as error:
        return [str(error)]
    except Exception as error:
        return [f"its spec fails with {in_words(error)}; let it return a TaskSpec."]
    problems = list(find_spec_problems(spec))
    if problems:
        return problems  # without sizes and bounds that hold, episodes would only show their consequences
    try:
        return list(_check_play(task, spec))
    except UserError as error:
        return [str(error)]
    except Exception as error:
        return [f"what it returns cannot be used ({in_words(error)}); return arrays of numbers."]


class _Shown(NamedTuple):
    """What a task shows after a reset or a step: its own arrays, not copies."""

    observation: Any
    descriptor: Any
    reward: Any = 0.0
    ended: bool = False


class _Stage(Protocol):
    """Where one episode at a time of a task is played."""

    def reset(self, seed: int) -> _Shown: ...

    def step(self, action: np.ndarray) -> _Shown: ...


@dataclass
class _Episode:
    """Copies of everything that an episode of T steps showed."""

    observations: list[np.ndarray] = field(default_factory=list)  # T + 1 of [O]
    descriptors: list[np.ndarray] = field(default_factory=list)  # T + 1 of [D]
    rewards: list[np.ndarray] = field(default_factory=list)  # T + 1, that of the reset being 0
    aliased: bool = False  # whether a descriptor that had been handed out changed at the next step

    def keep(self, shown: _Shown) -> None:
        self.observations.append(np.array(shown.observation, np.float64))
        self.descriptors.append(np.array(shown.descriptor, np.float64))
        self.rewards.append(np.array(shown.reward, np.float64))


def _play(stage: _Stage, spec: TaskSpec, seed: int) -> _Episode:
    """Play a random episode, the same whenever it is called with the same seed."""
    rng, episode = np.random.default_rng(seed), _Episode()
    shown = _call("reset", stage.reset, seed)
    episode.keep(shown)
    for t in range(min(spec.horizon, STEPS)):
        if t % HOLD == 0:
            action = rng.uniform(-1, 1, spec.action_size).astype(np.float32)
        before, shown = shown, _call("step", stage.step, action)
        if not np.array_equal(before.descriptor, episode.descriptors[-1], equal_nan=True):
            episode.aliased = True
        episode.keep(shown)
        if shown.ended:
            break
    return episode


def _call(what: str, method: Any, argument: Any) -> Any:
    try:
        return method(argument)
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"its {what} fails with {in_words(error)}; mend that first.") from error


def _check_play(task: Task, spec: TaskSpec) -> Iterator[str]:
    try:
        hash(task)
    except TypeError as error:
        if not isinstance(task, GymnasiumTask):  # the others serve as keys of caches of compiled code
            yield f"it cannot be hashed ({error}); use a frozen dataclass, and tuples instead of lists."
            return
    stage = _call("set-up", _set_up, task)
    episodes = [_play(stage, spec, seed) for seed in SEEDS]
    problems = list(_check_shapes(task, spec, episodes))
    yield from problems
    if any(episode.aliased for episode in episodes):
        yield "a descriptor that it returned changed at the next step; return a copy, not a view of live state."
    if problems:
        return  # what has the wrong shape cannot be compared
    yield from _check_values(spec, episodes)
    yield from _check_located(spec, episodes)
    # Once more where other episodes have left their traces, and once on a new stage.
    again = [_play(stage, spec, SEEDS[0]), _play(_call("set-up", _set_up, task), spec, SEEDS[0])]
    yield from _check_same(episodes[0], again)


def _check_shapes(task: Task, spec: TaskSpec, episodes: list[_Episode]) -> Iterator[str]:
    for what, size in (("observation", spec.observation_size), ("descriptor", spec.descriptor_size)):
        shapes = {array.shape for episode in episodes for array in getattr(episode, f"{what}s")}
        for shape in shapes - {(size,)}:
            yield f"of one state, the {what} has shape {shape} instead of ({size},); return what the spec says."
    for shape in {reward.shape for episode in episodes for reward in episode.rewards} - {()}:
        yield f"a reward has shape {shape}; return a single number."
    if isinstance(task, MujocoTask):
        yield from _check_rows(task)
    if isinstance(task, JaxTask):
        yield from _check_structure(task, spec)


def _check_values(spec: TaskSpec, episodes: list[_Episode]) -> Iterator[str]:
    for what in ("observation", "descriptor", "reward"):
        values = np.concatenate([np.stack(getattr(episode, f"{what}s")) for episode in episodes])
        if not np.isfinite(values).all():
            yield f"its {what}s are not always finite; look for divisions by zero, or for physics that blows up."
        elif what == "observation" and (seen := len(spec.observation_scale)) and values[:, seen:].any():
            yield (
                f"its observations from number {seen} on are not always zero, but have no observation_scale; give them "
                "one."
            )
        elif what == "descriptor":
            low, high = np.array(spec.descriptor_low), np.array(spec.descriptor_high)
            slack = 1e-6 * (high - low)  # for rounding to float32
            for i in np.nonzero((values < low - slack).any(axis=0) | (values > high + slack).any(axis=0))[0]:
                yield (
                    f"descriptor {i} ({spec.descriptor_names[i]}) went from {values[:, i].min():.4g} to "
                    f"{values[:, i].max():.4g}, outside its bounds {low[i]:g} and {high[i]:g}; widen low and high, or "
                    "clip the descriptor."
                )


def _check_located(spec: TaskSpec, episodes: list[_Episode]) -> Iterator[str]:
    seen, told = (
        np.concatenate([getattr(each, f"{what}s") for each in episodes]) for what in ("observation", "descriptor")
    )
    if not np.isfinite(seen).all():
        return  # which has been said
    for i, (row, factor, shift) in enumerate(spec.located):
        low, high = spec.descriptor_low[i], spec.descriptor_high[i]
        read = np.clip(factor * seen[:, row] + shift, low, high)
        if not np.allclose(read, np.clip(told[:, i], low, high), atol=1e-4 * (high - low)):
            yield (
                f"descriptor {i} ({spec.descriptor_names[i]}) is not {factor:g} times observation {row} plus "
                f"{shift:g}; mend located; located=() says that there is none."
            )


def _check_same(first: _Episode, others: list[_Episode]) -> Iterator[str]:
    def same(a: list[np.ndarray], b: list[np.ndarray]) -> bool:
        return len(a) == len(b) and all(np.array_equal(x, y, equal_nan=True) for x, y in zip(a, b, strict=True))

    parts = ("observations", "descriptors", "rewards")
    if not all(same(getattr(first, p)[:1], getattr(other, p)[:1]) for other in others for p in parts):
        yield "resetting twice with the same seed gave different states; draw the start from that seed alone."
    elif not all(same(getattr(first, p), getattr(other, p)) for other in others for p in parts):
        yield (
            "the same seed and actions gave different episodes; let steps draw only from what the reset seeded, and "
            "let the reset clear everything that an earlier episode changed."
        )


def _set_up(task: Task) -> _Stage:
    if isinstance(task, JaxTask):
        return _JaxStage(task)
    if isinstance(task, MujocoTask):
        return _MujocoStage(task)
    assert isinstance(task, GymnasiumTask)
    return _GymnasiumStage(task)


class _JaxStage:
    """Plays a `JaxTask`, compiled anew for each stage, so that what leaked into the code shows as a difference."""

    def __init__(self, task: JaxTask) -> None:
        self._reset = jax.jit(lambda key: task.reset(key))
        self._step = jax.jit(lambda state, action: task.step(state, action))
        self._look = jax.jit(lambda state: (task.observe(state), task.describe(state)))

    def reset(self, seed: int) -> _Shown:
        self._state = self._reset(jax.random.key(seed))
        return _Shown(*self._look(self._state))

    def step(self, action: np.ndarray) -> _Shown:
        self._state, reward, ended = self._step(self._state, action)
        observation, psi = self._look(self._state)
        return _Shown(observation, psi, reward, bool(ended))


def _check_structure(task: JaxTask, spec: TaskSpec) -> Iterator[str]:
    """Compiled loops need a state that keeps its structure."""
    before = jax.eval_shape(task.reset, jax.random.key(0))
    after, _, ended = jax.eval_shape(task.step, before, jax.ShapeDtypeStruct((spec.action_size,), np.float32))  # type: ignore[no-untyped-call]
    if _outline(before) != _outline(after):
        yield "step returns a state of another structure, shape or type than reset; make the two alike."
    if ended.shape != () or ended.dtype != np.bool_:
        yield f"step says whether it ended by {ended.dtype} {ended.shape}; return a single boolean."


def _outline(tree: Any) -> tuple[str, list[Any]]:
    return str(jax.tree.structure(tree)), [(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(tree)]


class _MujocoStage:
    """Plays a `MujocoTask`, showing it live arrays, as an author may forget that they are."""

    def __init__(self, task: MujocoTask) -> None:
        self._task, self._model = task, compile_model(task)
        self._data = data = mujoco.MjData(self._model)
        if self._model.nu != task.spec.action_size:
            raise ValueError(f"the model has {self._model.nu} actuators, but the spec {task.spec.action_size} actions")
        self._live = Physics(data.qpos[None], data.qvel[None], data.cfrc_ext[None] if task.measures_contact else None)

    def reset(self, seed: int) -> _Shown:
        mujoco.mj_resetData(self._model, self._data)
        self._data.qpos[:], self._data.qvel[:] = self._task.start(seed)
        mujoco.mj_forward(self._model, self._data)
        return _Shown(self._task.observe(self._live)[0], self._task.describe(self._live)[0])

    def step(self, action: np.ndarray) -> _Shown:
        before = Physics(*(None if part is None else part.copy() for part in self._live))  # type: ignore[arg-type]
        self._data.ctrl[:] = action
        mujoco.mj_step(self._model, self._data, nstep=self._task.frame_skip)
        task, live = self._task, self._live
        reward, ended = task.reward(before, action[None], live)[0], task.terminated(live)[0]
        return _Shown(task.observe(live)[0], task.describe(live)[0], reward, bool(ended))


def _check_rows(task: MujocoTask) -> Iterator[str]:
    """What a simulation gives must not depend on who is beside it."""
    model = compile_model(task)
    contact = np.zeros((1, model.nbody, 6)) if task.measures_contact else None
    alone = [Physics(qpos[None], qvel[None], contact) for qpos, qvel in map(task.start, SEEDS)]
    rows = [np.concatenate(parts) if parts[0] is not None else None for parts in zip(*alone, strict=True)]
    action = np.zeros((len(SEEDS), model.nu), np.float32)
    methods = {
        "observe": lambda physics: task.observe(physics),
        "describe": lambda physics: task.describe(physics),
        "reward": lambda physics: task.reward(physics, action[: len(physics.qpos)], physics),
        "terminated": lambda physics: task.terminated(physics),
    }
    for name, method in methods.items():
        together = np.asarray(_call(name, method, Physics(*rows)))  # type: ignore[arg-type]
        one_by_one = np.concatenate([np.atleast_1d(method(physics)) for physics in alone])  # type: ignore[no-untyped-call]
        if not np.array_equal(together, one_by_one, equal_nan=True):
            yield (
                f"{name} gives other results for several simulations than one by one; compute it row by row, and from "
                "its arguments alone."
            )


class _GymnasiumStage:
    """Plays a `GymnasiumTask` in one environment."""

    def __init__(self, task: GymnasiumTask) -> None:
        self._task, self._env = task, task.make_env()

    def reset(self, seed: int) -> _Shown:
        observation, info = self._env.reset(seed=seed)
        return _Shown(np.ravel(observation), self._task.describe(observation, info))

    def step(self, action: np.ndarray) -> _Shown:
        scaled = self._task.scale(action, self._env.action_space)
        observation, reward, terminated, truncated, info = self._env.step(scaled)
        psi = self._task.describe(observation, info)
        return _Shown(np.ravel(observation), psi, reward, bool(terminated or truncated))
