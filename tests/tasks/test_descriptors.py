"""Ready-made descriptors of Gymnasium environments on MuJoCo."""

import gymnasium
import numpy as np
import pytest

from qdpg.errors import UserError
from qdpg.tasks import make_task
from qdpg.tasks.descriptors import FeetContact, MeanObservation, Position
from qdpg.tasks.gymnasium import GymnasiumTask


def test_position_is_x_and_y_of_a_free_body_and_x_of_a_planar_one():
    for name, size in (("Ant-v5", 2), ("Hopper-v5", 1)):
        env = Position(gymnasium.make(name))
        _, info = env.reset(seed=0)
        start = info["state_descriptor"]
        assert start.shape == (size,)
        _, _, _, _, info = env.step(env.action_space.sample())
        np.testing.assert_array_equal(info["state_descriptor"], env.unwrapped.data.qpos[:size])
        assert not np.array_equal(info["state_descriptor"], start)


def test_feet_are_found_by_their_names_or_named():
    env = FeetContact(gymnasium.make("Walker2d-v5"))
    assert len(env.feet) == 2
    _, info = env.reset(seed=0)
    seen = [info["state_descriptor"]]
    for _ in range(30):
        seen.append(env.step(np.zeros(6))[4]["state_descriptor"])
    assert set(np.concatenate(seen)) == {0.0, 1.0}  # it starts in the air, and lands
    assert len(FeetContact(gymnasium.make("Ant-v5"), ["left_ankle_geom"]).feet) == 1
    with pytest.raises(UserError, match="no geom 'hand'"):
        FeetContact(gymnasium.make("Ant-v5"), ["hand"])


def test_mean_observation_takes_some_of_them():
    env = MeanObservation(gymnasium.make("Pendulum-v1"), [0, 1])
    observation, info = env.reset(seed=3)
    np.testing.assert_array_equal(info["state_descriptor"], observation[:2])


def test_a_descriptor_that_needs_mujoco_says_so():
    with pytest.raises(UserError, match="MuJoCo"):
        Position(gymnasium.make("Pendulum-v1")).reset()


def test_a_task_names_them_and_makes_its_environment_with_keyword_arguments():
    options = {"descriptor": "position", "low": (-9, -9), "high": (9, 9), "horizon": 20}
    small = make_task("gym:Ant-v5", **options, **{"kwargs.include_cfrc_ext_in_observation": False})
    assert small.spec.observation_size == 27
    assert make_task("gym:Ant-v5", **options).spec.observation_size == 105
    walker = make_task("gym:Walker2d-v5", descriptor="feet", low=(0, 0), high=(1, 1), behaviour="mean")
    assert walker.spec.descriptor_size == 2
    with pytest.raises(UserError, match="no ready-made descriptor 'tail'; there are: position, feet"):
        GymnasiumTask(env="Ant-v5", descriptor="tail", low=0, high=1).spec  # noqa: B018


def test_descriptors_that_are_observations_are_located_and_can_be_named():
    options = {"descriptor": (0, 1), "low": (-1, -1), "high": (1, 1)}
    spec = make_task("gym:Pendulum-v1", **options, descriptor_names=("cos", "sin")).spec
    assert spec.located == ((0, 1.0, 0.0), (1, 1.0, 0.0))
    assert spec.descriptor_names == ("cos", "sin")
    with pytest.raises(UserError, match="descriptor_names has 1"):
        make_task("gym:Pendulum-v1", **options, descriptor_names=("cos",))
