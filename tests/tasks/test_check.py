"""What `check_task` says: nothing about good tasks, and the right thing about each way of being broken."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from qdpg.cli.check_task import run
from qdpg.errors import UserError
from qdpg.tasks import JaxTask, MujocoTask, Physics, Task, TaskSpec, make_task
from qdpg.tasks.check import check_task
from qdpg.tasks.gymnasium import GymnasiumTask

SPEC = TaskSpec(
    name="slider",
    observation_size=2,
    action_size=1,
    horizon=30,
    action_low=(-1.0,),
    action_high=(1.0,),
    descriptor_low=(-20.0,),
    descriptor_high=(20.0,),
    descriptor_names=("x",),
)


@dataclass(frozen=True)
class JaxSlider(JaxTask):
    """A good task: a mass on a line, pushed by the action."""

    @property
    def spec(self) -> TaskSpec:
        return SPEC

    def reset(self, key: jax.Array) -> Any:
        return jax.random.uniform(key, (2,), minval=-1.0)

    def step(self, state: Any, action: jax.Array) -> Any:
        state = jnp.stack([state[0] + 0.1 * state[1], state[1] + 0.1 * action[0]])
        return state, -jnp.abs(state[0]), jnp.abs(state[0]) < 1e-6

    def observe(self, state: Any) -> Any:
        return state

    def describe(self, state: Any) -> Any:
        return state[:1]


class Unplayable(Task):
    """A task of no family."""

    @property
    def spec(self) -> TaskSpec:
        return make_task("point-maze").spec


class JaxRandomReset(JaxSlider):
    def reset(self, key: jax.Array) -> Any:
        return jnp.asarray(np.random.default_rng().normal(size=2), jnp.float32)


class JaxRandomStep(JaxSlider):
    def step(self, state: Any, action: jax.Array) -> Any:
        state, reward, ended = super().step(state, action)
        return state + 0.01 * np.random.default_rng().normal(), reward, ended


class JaxWrongDescriptor(JaxSlider):
    def describe(self, state: Any) -> Any:
        return state[0]


class JaxWrongObservation(JaxSlider):
    def observe(self, state: Any) -> Any:
        return jnp.concatenate([state, state])


class JaxInfiniteReward(JaxSlider):
    def step(self, state: Any, action: jax.Array) -> Any:
        state, _, ended = super().step(state, action)
        return state, 1 / jnp.zeros(()), ended


class JaxVectorReward(JaxSlider):
    def step(self, state: Any, action: jax.Array) -> Any:
        state, _, ended = super().step(state, action)
        return state, action, ended


class JaxPythonIf(JaxSlider):
    def step(self, state: Any, action: jax.Array) -> Any:
        return super().step(state, -action if state[0] > 0 else action)


class JaxOtherState(JaxSlider):
    def step(self, state: Any, action: jax.Array) -> Any:
        state, reward, ended = super().step(state, action)
        return state.astype(jnp.float16), reward, ended


class JaxNumberAsEnd(JaxSlider):
    def step(self, state: Any, action: jax.Array) -> Any:
        state, reward, ended = super().step(state, action)
        return state, reward, ended.astype(jnp.float32)


@dataclass(frozen=True)
class JaxUnhashable(JaxSlider):
    goals: Any = dataclasses.field(default_factory=list)


@dataclass(frozen=True)
class MujocoSlider(MujocoTask):
    """A good task: a bead on a rail."""

    @property
    def spec(self) -> TaskSpec:
        return SPEC

    def build(self) -> mujoco.MjModel:
        return mujoco.MjModel.from_xml_string(
            "<mujoco>"
            "<worldbody><body><joint name='rail' type='slide' axis='1 0 0'/><geom size='.1'/></body></worldbody>"
            "<actuator><motor joint='rail' gear='10' ctrlrange='-1 1'/></actuator>"
            "</mujoco>"
        )

    def start(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        return np.random.default_rng(seed).uniform(-1, 1, 1), np.zeros(1)

    def observe(self, physics: Physics) -> np.ndarray:
        return np.concatenate([physics.qpos, physics.qvel], axis=1)

    def describe(self, physics: Physics) -> np.ndarray:
        return physics.qpos.copy()

    def reward(self, before: Physics, action: np.ndarray, after: Physics) -> np.ndarray:
        return after.qpos[:, 0] - before.qpos[:, 0]

    def terminated(self, physics: Physics) -> np.ndarray:
        return np.zeros(len(physics.qpos), bool)


class MujocoAlias(MujocoSlider):
    def describe(self, physics: Physics) -> np.ndarray:
        return physics.qpos


class MujocoRandomStart(MujocoSlider):
    def start(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        return np.random.default_rng().uniform(-1, 1, 1), np.zeros(1)


class MujocoRandomReward(MujocoSlider):
    def reward(self, before: Physics, action: np.ndarray, after: Physics) -> np.ndarray:
        return np.random.default_rng().normal(size=len(after.qpos))


class MujocoOnlyFirst(MujocoSlider):
    def reward(self, before: Physics, action: np.ndarray, after: Physics) -> np.ndarray:
        return np.full(len(after.qpos), after.qpos[0, 0])


class MujocoFlatObservation(MujocoSlider):
    def observe(self, physics: Physics) -> np.ndarray:
        return np.concatenate([physics.qpos[0], physics.qvel[0]])


class MujocoTwoActions(MujocoSlider):
    @property
    def spec(self) -> TaskSpec:
        return dataclasses.replace(SPEC, action_size=2, action_low=(-1.0, -1.0), action_high=(1.0, 1.0))


class MujocoExplodes(MujocoSlider):
    def reward(self, before: Physics, action: np.ndarray, after: Physics) -> np.ndarray:
        return np.full(len(after.qpos), np.nan)


class Slider(gymnasium.Env):
    """A good environment, which draws a breeze at every step."""

    observation_space = Box(-100.0, 100.0, (2,), np.float32)
    action_space: gymnasium.Space = Box(-1.0, 1.0, (1,), np.float32)

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.state = self.np_random.uniform(-1, 1, 2).astype(np.float32)
        return self.state.copy(), {}

    def step(self, action: np.ndarray) -> tuple[Any, Any, bool, bool, dict]:
        self.state += 0.1 * np.array([self.state[1], action[0] + self.np_random.normal()], np.float32)
        return self.state.copy(), float(self.state[0]), False, False, {}


class DiscreteSlider(Slider):
    action_space = Discrete(2)


class UnboundedSlider(Slider):
    action_space = Box(-np.inf, np.inf, (1,), np.float32)


class UnseededReset(Slider):
    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        return super().reset()


class UnseededStep(Slider):
    def step(self, action: np.ndarray) -> tuple[Any, Any, bool, bool, dict]:
        return super().step(action + np.random.default_rng().normal())


class Remembering(Slider):
    """Gets faster from episode to episode, so that what happens depends on what was played before."""

    episodes = 0

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        self.episodes += 1
        return super().reset(seed=seed)

    def step(self, action: np.ndarray) -> tuple[Any, Any, bool, bool, dict]:
        return super().step(action * self.episodes)


class InfiniteReward(Slider):
    def step(self, action: np.ndarray) -> tuple[Any, Any, bool, bool, dict]:
        observation, _, *rest = super().step(action)
        return observation, float("-inf"), *rest


class WrongObservation(Slider):
    def step(self, action: np.ndarray) -> tuple[Any, Any, bool, bool, dict]:
        _, *rest = super().step(action)
        return np.zeros(3), *rest


class NanObservation(Slider):
    def step(self, action: np.ndarray) -> tuple[Any, Any, bool, bool, dict]:
        observation, *rest = super().step(action)
        return observation * np.array([1, np.nan]), *rest


class WordsForReward(Slider):
    def step(self, action: np.ndarray) -> tuple[Any, Any, bool, bool, dict]:
        observation, _, *rest = super().step(action)
        return observation, "well done", *rest


class GrowingDescriptor(Slider):
    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        return super().reset(seed=seed)[0], {"state_descriptor": 0.0}

    def step(self, action: np.ndarray) -> tuple[Any, Any, bool, bool, dict]:
        return *super().step(action)[:4], {"state_descriptor": [0.0, 0.0]}


class Crashing(Slider):
    def step(self, action: np.ndarray) -> tuple[Any, Any, bool, bool, dict]:
        raise RuntimeError("motor on fire")


SLIDER = GymnasiumTask(Slider, descriptor=0, low=-20, high=20, horizon=30)


class AliasTask(GymnasiumTask):
    """Overrides the copying `describe` by one that shows live state."""

    def describe(self, observation: Any, info: dict[str, Any]) -> np.ndarray:
        return observation[:1]


class LiveSlider(Slider):
    def step(self, action: np.ndarray) -> tuple[Any, Any, bool, bool, dict]:
        _, *rest = super().step(action)
        return self.state, *rest


def gym(env: Any, **changes: Any) -> GymnasiumTask:
    return dataclasses.replace(SLIDER, env=env, **changes)


@pytest.mark.parametrize(
    "task",
    [JaxSlider(), MujocoSlider(), SLIDER, gym("Pendulum-v1", low=-1, high=1)]
    + [make_task(name) for name in ("point-maze", "ant-maze", "ant-trap")]
    + [make_task("ant-trap", contact="measured"), make_task("ant-trap", contact="left-out")],
    ids=lambda task: f"{type(task).__name__}-{task.spec.observation_size}",
)
def test_good_tasks_are_fine(task: Task) -> None:
    assert check_task(task) == []


SEED = "resetting twice with the same seed gave different states"
DIFFER = "the same seed and actions gave different episodes"
ALIAS = "a descriptor that it returned changed at the next step; return a copy"


@pytest.mark.parametrize(
    ("task", "problem"),
    [
        (JaxRandomReset(), SEED),
        (JaxRandomStep(), DIFFER),
        (JaxWrongDescriptor(), r"the descriptor has shape \(\) instead of \(1,\)"),
        (JaxWrongObservation(), r"the observation has shape \(4,\) instead of \(2,\)"),
        (JaxInfiniteReward(), "its rewards are not always finite"),
        (JaxVectorReward(), r"a reward has shape \(1,\); return a single number"),
        (JaxPythonIf(), "its step fails with TracerBoolConversionError"),
        (JaxOtherState(), "step returns a state of another structure, shape or type than reset"),
        (JaxNumberAsEnd(), r"step says whether it ended by float32 \(\); return a single boolean"),
        (JaxUnhashable(), "it cannot be hashed .*tuples instead of lists"),
        (MujocoAlias(), ALIAS),
        (MujocoRandomStart(), SEED),
        (MujocoOnlyFirst(), "reward gives other results for several simulations than one by one"),
        (MujocoRandomReward(), "reward gives other results .*from its arguments alone"),
        (MujocoTwoActions(), "the model has 1 actuators, but the spec 2 actions"),
        (MujocoExplodes(), "its rewards are not always finite"),
        (gym(DiscreteSlider), r"takes actions in Discrete\(2\), but policies act in a box"),
        (gym(UnboundedSlider), "takes actions without bounds"),
        (gym(UnseededReset), SEED),
        (gym(UnseededStep), DIFFER),
        (gym(Remembering), DIFFER),
        (gym(InfiniteReward), "its rewards are not always finite"),
        (gym(WrongObservation), r"the observation has shape \(3,\) instead of \(2,\)"),
        (gym(NanObservation), "its observations are not always finite"),
        (gym(WordsForReward), "what it returns cannot be used .*return arrays of numbers"),
        (gym(Crashing), "its step fails with RuntimeError: motor on fire"),
        (gym(GrowingDescriptor, descriptor=None), "a state descriptor has 2 numbers instead of 1"),
        (gym(Slider, low=-0.1, high=0.1), r"descriptor 0 \(observation\[0\]\) went from .* outside its bounds -0.1 "),
        (gym(Slider, horizon=None), "has no time limit of its own"),
        (AliasTask(LiveSlider, descriptor=0, low=-20, high=20, horizon=30), ALIAS),
        (Unplayable(), "a Unplayable cannot be played; derive it from JaxTask or MujocoTask or GymnasiumTask"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Task) else "",
)  # fmt: skip
def test_each_fault_is_found_and_nothing_else(task: Task, problem: str) -> None:
    (found,) = check_task(task)
    assert re.search(problem, found), found
    assert found.endswith(".")
    assert "\n" not in found


def test_observations_without_rows_are_found() -> None:
    assert any("observation has shape ()" in problem for problem in check_task(MujocoFlatObservation()))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"horizon": 0}, "its horizon is 0; give a whole number"),
        ({"observation_size": 2.0}, "its observation_size is 2.0"),
        ({"action_low": (-1.0, -1.0)}, "it has 1 actions, but 2 lower and 1 upper bounds"),
        ({"action_high": (np.inf,)}, "its actions have no finite bounds"),
        ({"descriptor_low": (20.0,)}, r"its descriptor_low \(20.0,\) is not below its descriptor_high"),
        ({"descriptor_high": (20.0, 1.0)}, "it has 1 descriptors, but 1 lower and 2 upper bounds"),
        ({"descriptor_names": ("x", "y")}, "its 1 descriptors are named x, y"),
        ({"observation_scale": (1.0, 1.0, 1.0)}, "its observation_scale must be positive numbers"),
        ({"observation_scale": (1.0, 0.0)}, "its observation_scale must be positive numbers"),
        ({"observation_scale": (1.0,)}, "its observations from number 1 on are not always zero"),
        ({"located": ((0, 1.0, 0.0), (1, 1.0, 0.0))}, "its located must name an observation for each descriptor"),
        ({"located": ((5, 1.0, 0.0),)}, "its located must name an observation for each descriptor"),
        ({"located": ((0, 2.0, 0.5),)}, r"descriptor 0 \(x\) is not 2 times observation 0 plus 0.5"),
        ({"quarter_turn": (((0, 1),), ((0, 1),))}, "its quarter_turn must take every observation"),
        ({"behaviour": "first"}, "its behaviour is 'first'; choose final or mean"),
        ({"fitness": "fun"}, "its fitness is 'fun'; choose"),
    ],
)
def test_a_spec_must_agree_with_itself(changes: dict[str, Any], problem: str) -> None:
    class Odd(JaxSlider):
        @property
        def spec(self) -> TaskSpec:
            return dataclasses.replace(SPEC, **changes)

    (found,) = check_task(Odd())
    assert re.search(problem, found), found


def test_a_spec_that_fails_is_a_problem() -> None:
    class Odd(JaxSlider):
        @property
        def spec(self) -> TaskSpec:
            raise KeyError("size")

    assert check_task(Odd()) == ["its spec fails with KeyError: 'size'; let it return a TaskSpec."]


def test_the_command_prints_sizes_or_problems(capsys: pytest.CaptureFixture[str]) -> None:
    settings = ["task.descriptor=0,1", "task.low=-1,-1", "task.high=1,1"]
    assert run("gym:Pendulum-v1", settings) == 0
    assert capsys.readouterr().out == (
        "gym:Pendulum-v1: fine (3 observations, 1 actions, 2 descriptors from -1 to 1, -1 to 1, at most 200 steps)\n"
    )
    assert run("gym:Pendulum-v1", ["task.descriptor=0,2", "task.low=-1,-1", "task.high=1,1"]) == 2
    assert capsys.readouterr().out.startswith("gym:Pendulum-v1: descriptor 1 (observation[2]) went from")
    with pytest.raises(UserError, match="has no state descriptor"):
        run("gym:Pendulum-v1", [])
    with pytest.raises(UserError, match=r"descriptor is not an option of a task; write task\.KEY=VALUE"):
        run("gym:Pendulum-v1", ["descriptor=0"])


@pytest.mark.parametrize(
    ("base", "problem"),
    [
        ("qdpg.tasks.point_maze import PointMaze", "NameError: name 'sizes' is not defined"),
        ("qdpg.tasks import JaxTask", "abstract methods describe, observe, reset, step"),
    ],
)
def test_the_command_shows_no_traceback_of_a_users_mistake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, base: str, problem: str
) -> None:
    name = f"mistaken_{base.split()[-1].lower()}"
    (tmp_path / f"{name}.py").write_text(
        "from dataclasses import dataclass\n"
        f"from {base} as Base\n"
        "@dataclass(frozen=True)\n"
        "class Mistaken(Base):\n"
        "    @property\n"
        "    def spec(self):\n"
        "        return sizes['observation']\n"
    )
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=problem):
        run(f"{name}:Mistaken", [])
