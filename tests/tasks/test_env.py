"""The built-in tasks as Gymnasium environments: they pass its checker and play the same episodes as our players."""

from __future__ import annotations

from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import registry
from gymnasium.utils.env_checker import check_env

from qdpg.errors import DivergedError, UserError
from qdpg.learn.networks import MLP
from qdpg.play import make_player
from qdpg.registration import ENVS, register
from qdpg.tasks import make_task
from qdpg.tasks.ant_trap import AntTrap
from qdpg.tasks.env import TaskEnv
from qdpg.tasks.gymnasium import GymnasiumTask
from qdpg.tasks.point_maze import PointMaze


@pytest.mark.parametrize("env_id", ENVS)
def test_gymnasiums_checker_finds_nothing(env_id: str) -> None:
    # Warnings are errors in these tests, so the checker must not even murmur.
    env = gymnasium.make(env_id)
    check_env(env.unwrapped)
    observation, _ = env.reset(seed=0)
    assert observation in env.observation_space
    for _ in range(20):
        observation, *_ = env.step(env.action_space.sample())
        assert observation in env.observation_space


def test_registering_again_changes_nothing() -> None:
    before = {env_id: registry[env_id] for env_id in ENVS}
    register()
    assert all(registry[env_id] is spec for env_id, spec in before.items())


def test_options_of_the_task_are_arguments_of_make() -> None:
    env = gymnasium.make("qdpg/AntTrap-v0", contact="left-out", horizon=7)
    assert env.observation_space.shape == (29,)
    with pytest.raises(UserError, match="has no option 'colour'"):
        gymnasium.make("qdpg/PointMaze-v0", colour="red")


@pytest.mark.parametrize(
    ("name", "options"),
    [("point-maze", {}), ("ant-maze", {}), ("ant-trap", {}), ("ant-trap", {"contact": "measured"})],
)
def test_an_episode_is_the_one_that_a_player_plays(name: str, options: dict) -> None:
    task = make_task(name, horizon=40, **options)
    spec, rng = task.spec, np.random.default_rng(0)
    weight = rng.normal(0, 0.5, (1, spec.observation_size, spec.action_size)).astype(np.float32)
    population = MLP((weight,), (rng.normal(0, 1, (1, spec.action_size)).astype(np.float32),))  # type: ignore[arg-type]
    played = make_player(task).play(population, np.array([123]))
    assert played.observations is not None
    assert played.actions is not None
    # JAX compiles our step and the player's scan differently, which may move last bits; MuJoCo is the same code.
    tolerance = 1e-6 if name == "point-maze" else 0.0
    env = TaskEnv(task)
    observation, info = env.reset(seed=123)
    for t in range(int(played.lengths[0])):
        np.testing.assert_allclose(observation, played.observations[0, t], rtol=0, atol=tolerance)
        np.testing.assert_allclose(info["state_descriptor"], played.descriptors[0, t], rtol=0, atol=tolerance)
        observation, reward, terminated, truncated, info = env.step(played.actions[0, t])
        np.testing.assert_allclose(np.float32(reward), played.rewards[0, t], rtol=0, atol=tolerance)
    np.testing.assert_allclose(observation, played.observations[0, -1], rtol=0, atol=tolerance)
    np.testing.assert_allclose(info["state_descriptor"], played.behaviours[0], rtol=0, atol=tolerance)
    assert (terminated, truncated) == (played.terminated[0], played.lengths[0] == 40)


def test_seeds_and_draws() -> None:
    env = TaskEnv("point-maze")
    first = [env.reset(seed=4)[0], env.reset()[0], env.reset()[0]]
    again = [env.reset(seed=4)[0], env.reset()[0], env.reset()[0]]
    assert np.array_equal(first, again)
    assert len({tuple(start) for start in first}) == 3


def test_the_horizon_truncates_and_the_goal_terminates() -> None:
    env = TaskEnv("point-maze", horizon=3)
    env.reset(seed=0)
    ends = [env.step(np.zeros(2, np.float32))[2:4] for _ in range(3)]
    assert ends == [(False, False), (False, False), (False, True)]
    start, _ = env.reset(seed=0)
    env = TaskEnv(PointMaze(goal=tuple(start.tolist())))
    env.reset(seed=0)
    assert env.step(np.zeros(2, np.float32))[2:4] == (True, False)


def test_a_fallen_ant_terminates() -> None:
    env = TaskEnv("ant-trap")
    env.reset(seed=0)
    env._simulation._data.qpos[2] = 1.5  # type: ignore[attr-defined]
    assert env.step(np.zeros(8, np.float32))[2:4] == (True, False)


def test_actions_are_clipped() -> None:
    env = TaskEnv("ant-maze")
    results = []
    for size in (1.0, 50.0):
        env.reset(seed=0)
        results.append(env.step(np.full(8, size, np.float32))[0])
    assert np.array_equal(*results)


def test_descriptors_are_copies() -> None:
    env = TaskEnv("ant-maze")
    _, info = env.reset(seed=0)
    kept = info["state_descriptor"].copy()
    for _ in range(5):
        env.step(np.ones(8, np.float32))
    assert np.array_equal(info["state_descriptor"], kept)


def test_diverged_physics_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # where MuJoCo writes its log
    env = TaskEnv("ant-trap")
    env.reset(seed=0)
    env._simulation._data.qvel[:] = np.nan  # type: ignore[attr-defined]
    with pytest.raises(DivergedError, match="physics of ant-trap is not finite"):
        env.step(np.zeros(8, np.float32))


@pytest.mark.parametrize("env_id", ENVS)
def test_pictures_show_the_agent_moving(env_id: str) -> None:
    env = gymnasium.make(env_id, render_mode="rgb_array")
    env.reset(seed=1)
    first = env.render()
    for _ in range(20):
        env.step(np.ones(env.action_space.shape, np.float32))
    later = env.render()
    assert isinstance(first, np.ndarray)
    assert isinstance(later, np.ndarray)
    assert first.shape == (480, 480, 3)
    assert first.dtype == np.uint8
    changed = (first != later).any(axis=2).mean()
    assert 0 < changed < 0.05


def test_no_picture_is_drawn_unasked() -> None:
    env = TaskEnv("point-maze")
    env.reset(seed=0)
    assert env.render() is None


def test_limbs_are_the_capsules_of_the_ant() -> None:
    env = TaskEnv("ant-trap")
    env.reset(seed=0)
    qpos = env._simulation._data.qpos  # type: ignore[attr-defined]
    qpos[:] = [3, 4, 1, 1, 0, 0, 0, *[0] * 8]  # level, legs stretched out
    limbs = env._simulation.limbs()
    assert limbs is not None
    assert limbs.shape == (12, 2, 2)
    lengths = np.linalg.norm(limbs[:, 1] - limbs[:, 0], axis=1)
    np.testing.assert_allclose(np.sort(lengths), np.sort([0.2 * 2**0.5] * 8 + [0.4 * 2**0.5] * 4))
    np.testing.assert_allclose(limbs.mean(axis=(0, 1)), [3, 4], atol=1e-12)


def test_an_ant_out_of_range_is_drawn_where_it_is() -> None:
    env = TaskEnv(AntTrap(), render_mode="rgb_array")
    env.reset(seed=0)
    env._simulation._data.qpos[0] = -2.0  # type: ignore[attr-defined]
    *_, info = env.step(np.zeros(8, np.float32))
    assert info["state_descriptor"][0] == 0  # clipped
    assert env._trail[-1][0] == pytest.approx(-2, abs=0.1)


def test_a_gymnasium_task_need_not_be_wrapped() -> None:
    task = GymnasiumTask("Pendulum-v1", descriptor=0, low=-1, high=1)
    with pytest.raises(UserError, match="must be a JaxTask or MujocoTask"):
        TaskEnv(task)
    with pytest.raises(UserError, match="has no floor to draw"):
        TaskEnv(task, render_mode="rgb_array")
