"""The two ants against Gymnasium's own ant, the numbers of the fact sheet, and real physics."""

import heapq
from pathlib import Path

import gymnasium
import jax
import mujoco
import numpy as np
import pytest

from qdpg.errors import UserError
from qdpg.learn.networks import init_population
from qdpg.play.acting import Noise
from qdpg.play.player import make_player
from qdpg.tasks.ant import QUARTER_TURN
from qdpg.tasks.ant_maze import WALLS, AntMaze
from qdpg.tasks.ant_trap import AntTrap
from qdpg.tasks.task import Physics, compile_model


def still(number, observations):
    """Policies that never move."""
    return jax.tree.map(np.zeros_like, init_population(jax.random.key(0), number, (observations, 8)))


def throw(task, start, velocity=(0.0, 0.0), weights=(0.0, 0.0), seconds=4.0):
    """Throw the ant from `start`, and pull at it with a force in multiples of its weight; the torso's path [n, 3]."""
    model = compile_model(task)
    data, torso = mujoco.MjData(model), model.body("torso").id
    data.qpos[:2], data.qvel[:2] = start, velocity
    data.xfrc_applied[torso, :2] = np.array(weights) * 9.81 * model.body_mass.sum()
    path = []
    for _ in range(int(seconds / model.opt.timestep)):
        mujoco.mj_step(model, data)
        path.append(data.qpos[:3].copy())
    return np.array(path)


def test_trap_ant_is_the_stock_ant():
    ours = compile_model(AntTrap())
    assets = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
    stock = mujoco.MjModel.from_xml_path(str(assets / "ant.xml"))
    for name in (
        *("body_mass", "body_inertia", "body_pos", "body_ipos", "body_iquat", "jnt_type", "jnt_axis", "jnt_range"),
        *("jnt_limited", "dof_armature", "dof_damping", "actuator_gear", "actuator_trnid", "actuator_ctrlrange"),
    ):
        np.testing.assert_allclose(getattr(ours, name), getattr(stock, name), atol=1e-12, err_msg=name)
    moving_ours, moving_stock = ours.geom_bodyid > 0, stock.geom_bodyid > 0
    for name in (
        "geom_type",
        "geom_size",
        "geom_pos",
        "geom_friction",
        "geom_margin",
        "geom_condim",
        "geom_conaffinity",
    ):
        np.testing.assert_allclose(
            getattr(ours, name)[moving_ours], getattr(stock, name)[moving_stock], atol=1e-12, err_msg=name
        )
    for name in ("timestep", "integrator", "solver", "iterations", "cone"):
        assert getattr(ours.opt, name) == getattr(stock.opt, name), name


def test_maze_ant_is_heavy_and_slow_stepped():
    model = compile_model(AntMaze())
    assert model.body_mass.sum() == pytest.approx(40.0, abs=1e-9)
    assert model.body_mass[model.body("torso").id] == pytest.approx(14.4, abs=0.6)
    assert model.opt.timestep == 0.005
    assert AntMaze().frame_skip * model.opt.timestep == pytest.approx(0.025)


def test_maze_distances():
    task = AntMaze()
    goal, start = np.array(task.goal), np.array(task.body.start)
    assert np.linalg.norm(goal - start) == 60.0
    # Pulled into the end of the corridor at x = 9.7, as far as legs and head let it.
    path = throw(task, (5.0, -25.0), weights=(1.5, 0.0), seconds=8.0)
    assert 25.5 <= np.linalg.norm(path[-1, :2] - goal) <= 26.3


def test_maze_shortest_way():
    """Dijkstra among the corners of the walls, grown by the ant's reach of 0.5 m... the fact sheet's 80.6 m."""
    grow = 0.5
    corners = [
        (w.x + sx * (w.half_x + grow + 1e-6), w.y + sy * (w.half_y + grow + 1e-6))
        for w in WALLS[4:]
        for sx in (-1, 1)
        for sy in (-1, 1)
    ]
    points = np.array([AntMaze.body.start, *corners, AntMaze().goal])

    def free(a, b):
        line = a + np.linspace(0, 1, 2000)[:, None] * (b - a)
        return not any(
            ((abs(line[:, 0] - w.x) < w.half_x + grow) & (abs(line[:, 1] - w.y) < w.half_y + grow)).any() for w in WALLS
        )

    best, queue = {}, [(0.0, 0)]
    while queue:
        length, i = heapq.heappop(queue)
        if i in best:
            continue
        best[i] = length
        for j in range(len(points)):
            if j not in best and free(points[i], points[j]):
                heapq.heappush(queue, (length + np.linalg.norm(points[j] - points[i]), j))
    assert best[len(points) - 1] == pytest.approx(80.6, abs=0.5)


@pytest.mark.parametrize(
    ("task", "start", "velocity", "axis", "limit"),
    [
        (AntMaze(), (6.0, -25.0), (10.0, 0.0), 0, 9.7),
        (AntMaze(), (35.0, 36.0), (0.0, 10.0), 1, 39.7),
        (AntMaze(), (-19.0, 20.0), (10.0, 0.0), 0, -15.3),
        (AntTrap(), (9.0, 0.0), (10.0, 0.0), 0, 11.9),
        (AntTrap(), (9.0, 0.0), (0.0, 10.0), 1, 2.5),
    ],
)
def test_walls_hold_against_a_fast_ant(task, start, velocity, axis, limit):
    path = throw(task, start, velocity)
    assert path[:, axis].max() < limit
    assert path[:, axis].max() > limit - 1.5  # it did get there


def test_standing_still_scores():
    trap = make_player(AntTrap()).play(still(10, 113), np.arange(10))
    assert trap.lengths.tolist() == [1000] * 10
    assert np.median(trap.fitness) == pytest.approx(AntTrap().spec.references["motionless"], abs=10)
    maze = make_player(AntMaze(horizon=200)).play(still(4, 29), np.arange(4))
    np.testing.assert_allclose(maze.fitness, AntMaze().spec.references["motionless"], atol=0.5)


def test_trap_reward_is_ant_v2s():
    rollouts = make_player(AntTrap(horizon=60)).play(
        init_population(jax.random.key(1), 4, (113, 32, 8)), np.arange(4), noise=Noise(1.0)
    )
    assert rollouts.observations is not None
    assert rollouts.actions is not None
    x = rollouts.observations[..., 0].astype(np.float64)
    cost = 0.5 * (rollouts.actions.astype(np.float64) ** 2).sum(axis=(1, 2))
    travelled = x[np.arange(4), rollouts.lengths] - x[:, 0]
    np.testing.assert_allclose(rollouts.returns, 20 * travelled - cost + rollouts.lengths, atol=1e-3)


def test_trap_ends_by_height_and_keeps_the_last_observation():
    rollouts = make_player(AntTrap()).play(
        jax.tree.map(lambda leaf: 3 * leaf, init_population(jax.random.key(3), 10, (113, 32, 8))),
        np.arange(10),
        noise=Noise(1.0),
    )
    assert rollouts.observations is not None
    height = rollouts.observations[..., 2]
    assert rollouts.terminated.any(), "no ant fell; the test needs a wilder population"
    for n in np.nonzero(rollouts.terminated)[0]:
        length = rollouts.lengths[n]
        assert not 0.2 <= height[n, length] <= 1.0
        assert ((height[n, :length] >= 0.2) & (height[n, :length] <= 1.0)).all()
        np.testing.assert_array_equal(
            rollouts.descriptors[n, length:],
            rollouts.descriptors[n, length, None].repeat(rollouts.descriptors.shape[1] - length, axis=0),
        )


def test_trap_descriptors_are_clipped():
    physics = Physics(np.array([[-3.0, 9.0] + [0.0] * 13, [31.0, -20.0] + [0.0] * 13]), np.zeros((2, 14)))
    np.testing.assert_array_equal(AntTrap().describe(physics), [[0, 8], [30, -8]])


def test_contact_options():
    population = init_population(jax.random.key(1), 2, (113, 8))
    zeros = make_player(AntTrap(horizon=50)).play(population, np.arange(2))
    measured = make_player(AntTrap(horizon=50, contact="measured")).play(population, np.arange(2))
    assert zeros.observations is not None
    assert measured.observations is not None
    assert not zeros.observations[..., 29:].any()
    assert np.abs(measured.observations[..., 29:]).max() == 1.0  # clipped forces of the feet
    assert AntTrap(contact="left-out").spec.observation_size == 29
    with pytest.raises(UserError, match="contact is zeros, measured or left-out"):
        AntTrap(contact="guessed")


def test_maze_reward_scale_leaves_fitness_alone():
    population = init_population(jax.random.key(1), 3, (29, 8))
    full = make_player(AntMaze(horizon=50)).play(population, np.arange(3))
    scaled = make_player(AntMaze(horizon=50, reward_scale=0.05)).play(population, np.arange(3))
    np.testing.assert_allclose(scaled.returns, 0.05 * full.returns, rtol=1e-5)
    np.testing.assert_allclose(scaled.fitness, full.fitness, rtol=1e-5)
    assert (full.fitness == full.rewards.max(axis=1)).all()


def test_maze_observation_scales_the_position():
    qpos = np.arange(15.0)[None]
    qpos[0, :2] = 40, -30
    observed = AntMaze().observe(Physics(qpos, np.arange(14.0)[None]))
    np.testing.assert_allclose(observed[0, :3], [0.5, -0.5, 2])
    np.testing.assert_allclose(observed[0, 15:], np.arange(14))
    assert qpos[0, 0] == 40  # the state itself is untouched


@pytest.mark.parametrize(("task", "atol"), [(AntMaze(), 0.03), (AntTrap(), 1e-9)])
def test_an_ant_does_to_the_west_what_it_does_to_the_north(task, atol):
    """Ten steps from a turned state with turned actions end in the turned state; ant-maze's has a light head."""

    def turn(values: np.ndarray, which: int) -> np.ndarray:
        sources, signs = np.array(QUARTER_TURN[which]).T
        return values[sources] * signs

    model, rng = task.build(), np.random.default_rng(0)
    pose, speed = task.start(3)
    pose[3:7] /= np.linalg.norm(pose[3:7])
    pose[:2] = middle = np.array([25.0, 20.0])  # away from all walls
    start = np.concatenate([pose, speed])
    plain, turned = mujoco.MjData(model), mujoco.MjData(model)
    for data, state in ((plain, start), (turned, turn(start, 0))):
        data.qpos[:], data.qvel[:] = state[:15], state[15:]
    for _ in range(10):
        action = rng.uniform(-1, 1, 8)
        plain.ctrl[:], turned.ctrl[:] = action, turn(action, 1)
        for data in (plain, turned):
            mujoco.mj_step(model, data, 5)
    expected = turn(np.concatenate([plain.qpos, plain.qvel]), 0)
    x, y = plain.qpos[:2] - middle
    expected[:2] = middle + np.array([-y, x])
    np.testing.assert_allclose(np.concatenate([turned.qpos, turned.qvel]), expected, atol=atol)
    assert np.abs(plain.qpos[:2] - middle).max() > 0.01


def test_contact_forces_turn_with_the_ant():
    task = AntTrap(contact="measured")
    model, (pose, speed) = task.build(), task.start(3)
    pose[3:7] /= np.linalg.norm(pose[3:7])
    pose[:3] = 25.0, 20.0, 0.15  # torso and legs press on the floor
    turned, seen = np.array(task.spec.quarter_turn[0]), []
    start = np.concatenate([pose, speed])
    for state in (start, start[turned[:29, 0]] * turned[:29, 1]):
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:] = state[:15], state[15:]
        data.qpos[:2] = pose[:2]
        mujoco.mj_forward(model, data)
        seen.append(np.concatenate([data.qpos, data.qvel, data.cfrc_ext.ravel()]))
    plain, other = seen
    np.testing.assert_allclose(other[29:], (plain[turned[:, 0]] * turned[:, 1])[29:], atol=1e-6)
    assert np.abs(plain[29:]).max() > 1.0
