"""Gymnasium environments as tasks: what is read from them, what is refused, and in which words."""

from __future__ import annotations

import dataclasses
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete

from qdpg.cli.settings import parse_settings, split_settings
from qdpg.errors import UserError
from qdpg.tasks import make_task
from qdpg.tasks.gymnasium import GymnasiumTask


class Walk(gymnasium.Env):
    """A point that walks in a plane. It hands out its one live array, as careless environments do."""

    observation_space = Box(-10.0, 10.0, (2, 2), np.float32)
    action_space = Box(np.array([0.0, -3.0]), np.array([1.0, 3.0]), dtype=np.float64)

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.state = np.zeros((2, 2), np.float32)
        self.state[0] = self.np_random.uniform(-1, 1, 2)
        return self.state, {"state_descriptor": self.state[0]}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.state[1] = action
        self.state[0] += 0.1 * self.state[1]
        return self.state, 1.0, False, False, {"state_descriptor": self.state[0]}


class Silent(Walk):
    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        return super().reset(seed=seed)[0], {}


class DiscreteActions(Walk):
    action_space = Discrete(3)


class WholeActions(Walk):
    action_space = Box(0, 9, (2,), np.int64)


class UnboundedActions(Walk):
    action_space = Box(-np.inf, np.inf, (2,), np.float32)


class DictObservations(Walk):
    observation_space = Dict({"a": Box(-1, 1, (2,))})


class Unmakeable(Walk):
    def __init__(self) -> None:
        raise RuntimeError("no such\n  robot")


class MissingPackage(Walk):
    def __init__(self) -> None:
        import package_that_nobody_has  # noqa: F401


class Unresettable(Walk):
    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        raise ZeroDivisionError("oops")


PENDULUM = GymnasiumTask("Pendulum-v1", descriptor=(0, 1), low=(-1, -1), high=(1, 1))
WALK = GymnasiumTask(Walk, low=(-5, -5), high=(5, 5), horizon=20)


def test_spec_is_read_from_the_environment_and_the_options() -> None:
    spec = dataclasses.replace(PENDULUM, behaviour="mean", fitness="last-reward", solved=-1.0).spec
    assert (spec.name, spec.observation_size, spec.action_size, spec.horizon) == ("gym:Pendulum-v1", 3, 1, 200)
    assert (spec.action_low, spec.action_high) == ((-2.0,), (2.0,))
    assert (spec.descriptor_low, spec.descriptor_high) == ((-1.0, -1.0), (1.0, 1.0))
    assert spec.descriptor_names == ("observation[0]", "observation[1]")
    assert (spec.behaviour, spec.fitness, spec.solved) == ("mean", "last-reward", -1.0)


def test_spec_is_made_once() -> None:
    assert PENDULUM.spec is PENDULUM.spec


def test_boxes_of_any_shape_are_flattened() -> None:
    assert (WALK.spec.name, WALK.spec.observation_size, WALK.spec.action_size) == ("Walk", 4, 2)
    assert WALK.spec.descriptor_names == ("descriptor[0]", "descriptor[1]")
    assert WALK.flatten(np.arange(4).reshape(2, 2)).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("words", "size"), [(["task.descriptor=2", "task.low=-8", "task.high=8"], 1),
                        (["task.descriptor=0,1", "task.low=-1,-1", "task.high=1,1", "task.horizon=50"], 2)],
)  # fmt: skip
def test_options_come_from_the_command_line(words: list[str], size: int) -> None:
    options, _ = split_settings(parse_settings(words))
    spec = make_task("gym:Pendulum-v1", **options).spec
    assert spec.descriptor_size == size
    assert spec.horizon == (200 if size == 1 else 50)


def test_a_task_of_ones_own_is_a_few_lines_in_a_file(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "swing_tasks.py").write_text(
        "from qdpg.tasks.gymnasium import GymnasiumTask\n"
        "def speed(observation, info):\n"
        "    return observation[2] / 8\n"
        "swing = GymnasiumTask('Pendulum-v1', descriptor=speed, low=-1, high=1, name='swing')\n"
    )
    monkeypatch.chdir(tmp_path)
    task = make_task("swing_tasks:swing", horizon=30)
    assert (task.spec.name, task.spec.horizon, task.spec.descriptor_size) == ("swing", 30, 1)
    assert isinstance(task, GymnasiumTask)
    assert task.describe(np.array([1.0, 0.0, 4.0]), {}).tolist() == [0.5]


def test_a_factory_without_a_name_still_makes_a_task() -> None:
    task = dataclasses.replace(WALK, env=lambda: Walk())
    assert task.spec.name == "gymnasium-task"


def test_options_that_cannot_be_hashed_do_no_harm() -> None:
    class Unhashable:
        __hash__ = None  # type: ignore[assignment]

        def __call__(self, observation: np.ndarray, info: dict) -> np.ndarray:
            return observation[0]

    task = GymnasiumTask(Walk, descriptor=Unhashable(), low=[-5, -5], high=np.array([5, 5]), horizon=9)  # type: ignore[arg-type]
    assert task.spec.descriptor_high == (5.0, 5.0)


@pytest.mark.parametrize("descriptor", [None, (0, 1), lambda observation, info: observation[0]])
def test_descriptors_are_copies_of_live_state(descriptor: Any) -> None:
    task, env = dataclasses.replace(WALK, descriptor=descriptor), Walk()
    psi = task.describe(*env.reset(seed=3))
    kept = psi.copy()
    observation, *_ = env.step(np.ones(2))
    assert psi.dtype == np.float32
    assert np.array_equal(psi, kept)
    assert not np.shares_memory(psi, observation)


def test_actions_fill_the_environments_own_box() -> None:
    space = Walk.action_space
    for action, expected in [((-1, -1), (0, -3)), ((1, 1), (1, 3)), ((0, 0), (0.5, 0)), ((7, -7), (1, -3))]:
        scaled = WALK.scale(np.array(action, np.float32), space)
        assert scaled.tolist() == list(expected)
        assert scaled in space
    assert WALK.scale(np.zeros(4), Box(-1, 1, (2, 2), np.float32)).shape == (2, 2)
    widest = float(np.finfo(np.float32).max)
    assert WALK.scale(np.ones(1), Box(-widest, widest, (1,), np.float32)).tolist() == [widest]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"env": "Pendulom-v1"}, r"no Gymnasium environment 'Pendulom-v1' .*Did you mean: `Pendulum`"),
        ({"env": "Pendulum-v9"}, r"no Gymnasium environment 'Pendulum-v9' .*versioned environments: \[ `v1` \]"),
        ({"env": "nobody/Walk-v0"}, "no Gymnasium environment 'nobody/Walk-v0'"),
        ({"env": MissingPackage}, "MissingPackage needs something .*package_that_nobody_has.*; install it"),
        ({"env": Unmakeable}, "Unmakeable cannot be made: RuntimeError: no such robot"),
        ({"env": Unresettable}, "Unresettable failed when it was reset: ZeroDivisionError: oops"),
        ({"env": Walk()}, "env is a Walk, but must be the id"),
        ({"env": dict}, "dict made a dict, but must make a gymnasium.Env"),
        ({"env": "CartPole-v1"}, r"takes actions in Discrete\(2\), but policies act in a box"),
        ({"env": DiscreteActions}, r"takes actions in Discrete\(3\), but policies act in a box"),
        ({"env": WholeActions}, "but policies act in a box of real numbers"),
        ({"env": UnboundedActions}, "takes actions without bounds.*give its action_space finite low and high"),
        ({"env": DictObservations}, "observations in a Dict space.*FlattenObservation"),
        ({"env": Silent}, "has no state descriptor: name the observations.*task.descriptor=0,1"),
        ({"descriptor": (0, 4)}, "indices of the 4 observations of Walk, from 0 to 3"),
        ({"descriptor": ("x", "y")}, "descriptor is .*but must hold indices"),
        ({"descriptor": "xy"}, "no ready-made descriptor 'xy'"),
        ({"descriptor": ()}, "but must hold indices"),
        ({"low": None}, "lacks the bounds of its 2 descriptors; give low and high.*task.low=-1,-1"),
        ({"high": None}, "lacks the bounds of its 2 descriptors"),
        ({"low": -1}, "has 2 descriptors, but low is -1"),
        ({"descriptor": 0}, "has 1 descriptors, but low is"),
        ({"low": (-1, "a")}, "one number per descriptor"),
        ({"high": (5, float("inf"))}, "one number per descriptor"),
        ({"low": (-5, 5)}, "every low must be below its high"),
        ({"horizon": None}, "has no time limit of its own; give one.*task.horizon=1000"),
        ({"horizon": 0}, "horizon is 0, but must be a whole number"),
        ({"horizon": 2.5}, "horizon is 2.5, but must be a whole number"),
        ({"env": "Pendulum-v1", "horizon": 201, "descriptor": (0, 1)}, "cuts its episodes after 200 steps.*give less"),
        ({"behaviour": "median"}, "behaviour is 'median', but must be final or mean"),
        ({"fitness": "fun"}, "fitness is 'fun', but must be return or best-reward or last-reward"),
        ({"solved": "yes"}, "solved is 'yes', but must be a number"),
    ],
)  # fmt: skip
def test_what_cannot_work_is_refused_in_one_sentence(changes: dict[str, Any], words: str) -> None:
    task = dataclasses.replace(WALK, **changes)
    with pytest.raises(UserError, match=words) as caught:
        _ = task.spec
    assert "\n" not in str(caught.value)
