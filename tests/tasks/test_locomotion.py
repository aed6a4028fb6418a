"""The locomotion tasks do what Gymnasium's own environments do, step by step."""

import gymnasium
import jax
import mujoco
import numpy as np
import pytest

from qdpg.learn.networks import init_population
from qdpg.play.mujoco_player import MujocoPlayer
from qdpg.tasks import make_task
from qdpg.tasks.check import check_task
from qdpg.tasks.locomotion import LocomotionTask
from qdpg.tasks.task import Physics

PEERS = {
    "walker2d-uni": "Walker2d-v5",
    "halfcheetah-uni": "HalfCheetah-v5",
    "hopper-uni": "Hopper-v5",
    "ant-uni": "Ant-v5",
    "humanoid-uni": "Humanoid-v5",
    "ant-omni": "Ant-v5",
}
STEPS = 60


@pytest.mark.parametrize("name", PEERS)
def test_a_task_does_what_gymnasiums_environment_does(name):
    task, env = make_task(name, horizon=STEPS), gymnasium.make(PEERS[name]).unwrapped
    actions = np.random.default_rng(0).uniform(-1, 1, (STEPS, task.spec.action_size))
    qpos, qvel = task.start(3)
    env.reset(seed=0)
    env.set_state(qpos, qvel)
    before = Physics(env.data.qpos.copy()[None], env.data.qvel.copy()[None])
    model, agreed = task.build(), []
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = qpos, qvel
    mujoco.mj_forward(model, data)
    for action in actions:
        data.ctrl[:] = action
        mujoco.mj_step(model, data, nstep=task.frame_skip)
        contact = data.cfrc_ext.copy()[None] if task.measures_contact else None
        after = Physics(data.qpos.copy()[None], data.qvel.copy()[None], contact)
        seen, _, ended, _, info = env.step(action * task.torque)
        mine = task.observe(after)[0]
        np.testing.assert_allclose(mine, seen[: len(mine)], atol=1e-9)
        assert task.terminated(after)[0] == ended
        paid = info.get("reward_survive", 0.0)
        paid += info["reward_ctrl"] + (0.0 if name == "ant-omni" else info["reward_forward"])
        # Gymnasium's ant and humanoid take their speed from positions that lag a physics step behind.
        late = {"ant-uni": 0.2, "humanoid-uni": 2.0}.get(name, 1e-6)
        assert task.reward(before, action[None], after)[0] == pytest.approx(paid, abs=late)
        if name.endswith("-uni"):
            touching = env.data.contact.geom[: env.data.ncon]
            feet = [bool((touching == env.model.geom(foot).id).any()) for foot in task.robot.feet]
            agreed.append(task.describe(after)[0].tolist() == feet)
        before = after
        if ended:
            break
    # A foot that is listed as touching need not press on the ground yet.
    assert not agreed or np.mean(agreed) > 0.7


@pytest.mark.parametrize("name", PEERS)
def test_a_task_passes_its_own_check(name):
    task = make_task(name)
    assert isinstance(task, LocomotionTask)
    assert check_task(task) == []
    assert task.spec.fitness_floor <= 0


def test_feet_that_never_lift_are_always_in_contact():
    """The behaviour is the share of time that each foot touches the ground."""
    task = make_task("halfcheetah-uni", horizon=80)
    still = jax.tree.map(np.zeros_like, init_population(jax.random.key(0), 1, (17, 4, 6)))
    played = MujocoPlayer(task, threads=1).play(still, np.array([1]))
    touched = played.descriptors[0, 1:]
    assert set(np.unique(touched)) <= {0.0, 1.0}
    assert touched[-40:].all()  # it has come down, and lies on both feet
    assert 0.3 < played.behaviours[0].min() <= 1.0


def test_the_humanoids_motors_take_commands_to_one():
    model = make_task("humanoid-uni").build()
    assert (model.actuator_ctrlrange == [-1.0, 1.0]).all()
    original = gymnasium.make("Humanoid-v5").unwrapped.model
    np.testing.assert_allclose(model.actuator_gear, 0.4 * original.actuator_gear)


@pytest.mark.parametrize(("name", "slack"), [("walker2d-uni", 8.0), ("hopper-uni", 25.0), ("ant-omni", 1.0)])
def test_whoever_does_nothing_gets_what_the_reference_says(name, slack):
    task = make_task(name)
    still = jax.tree.map(
        np.zeros_like, init_population(jax.random.key(0), 16, (task.spec.observation_size, 4, task.spec.action_size))
    )
    rollouts = MujocoPlayer(task).play(still, np.arange(16), record=False)
    assert np.mean(rollouts.fitness) == pytest.approx(task.spec.references["motionless"], abs=slack)
