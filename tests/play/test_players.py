"""Players: exact episodes, whatever the company, the threads or the noise."""

import jax
import mujoco
import numpy as np
import pytest

from qdpg.errors import DivergedError
from qdpg.learn.networks import apply_mlp, deterministic, deviation, init_population
from qdpg.play.acting import Actor, Noise, RollIn, draw_noise
from qdpg.play.mujoco_player import MujocoPlayer
from qdpg.play.player import make_player
from qdpg.play.rollouts import concatenate, make_rollouts
from qdpg.tasks.ant_maze import AntMaze
from qdpg.tasks.ant_trap import AntTrap
from qdpg.tasks.point_maze import PointMaze
from qdpg.tasks.task import Physics, compile_model

TASKS = {"point-maze": PointMaze(), "ant-maze": AntMaze(horizon=60), "ant-trap": AntTrap(horizon=60)}


def population_for(task, number, *hidden, key=0, output="tanh"):
    spec = task.spec
    actions = spec.action_size * (2 if output == "gaussian" else 1)
    sizes = (spec.observation_size, *hidden, actions)
    return init_population(jax.random.key(key), number, sizes, output=output)


def take(population, rows):
    return jax.tree.map(lambda leaf: leaf[rows], population)


def assert_same_episodes(part, whole, rows):
    """`part` must hold exactly what `whole` holds in `rows`."""
    for name in ("seeds", "lengths", "terminated", "returns", "fitness", "behaviours"):
        np.testing.assert_array_equal(getattr(part, name), getattr(whole, name)[rows], err_msg=name)
    steps = part.rewards.shape[1]
    for name, extra in (("rewards", 0), ("actions", 0), ("descriptors", 1), ("observations", 1)):
        np.testing.assert_array_equal(getattr(part, name), getattr(whole, name)[rows, : steps + extra], err_msg=name)


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize(
    ("noise", "hidden", "output"),
    [(0.0, (64, 32), "tanh"), (0.3, (96, 80), "tanh"), (1.0, (64, 32), "gaussian")],
)
def test_episodes_do_not_depend_on_company_or_threads(name, noise, hidden, output):
    task = TASKS[name]
    population, seeds = population_for(task, 9, *hidden, output=output), np.arange(100, 109)
    whole = make_player(task).play(population, seeds, noise=Noise(noise))
    for rows in ([4], [8, 2], [0, 1, 2, 3, 5]):
        part = make_player(task, threads=1).play(take(population, np.array(rows)), seeds[rows], noise=Noise(noise))
        assert_same_episodes(part, whole, rows)
    assert_same_episodes(make_player(task, threads=3).play(population, seeds, noise=Noise(noise)), whole, np.arange(9))


@pytest.mark.parametrize("name", TASKS)
def test_seeds_and_noise_matter(name):
    task = TASKS[name]
    population = take(population_for(task, 1, 16), np.zeros(3, int))
    rollouts = make_player(task).play(population, np.array([1, 1, 2]), noise=Noise(0.2))
    assert rollouts.returns[0] == rollouts.returns[1] != rollouts.returns[2]
    quiet = make_player(task).play(population, np.array([1, 1, 2]))
    assert quiet.returns[0] != rollouts.returns[0]
    np.testing.assert_array_equal(quiet.observations[:, 0], rollouts.observations[:, 0])


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("output", ["tanh", "gaussian"])
def test_episodes_go_on_where_the_roll_in_stops(name, output):
    """Three episodes of which policies 3 and 4 guide the last two; the first must not notice."""
    task = TASKS[name]
    population, seeds = population_for(task, 5, 16, output=output), np.array([7, 8, 9])
    roll_in = RollIn(np.array([0, 3, 4]), np.array([0, 20, 5]), np.array([0, 0, 30]))
    rolled_in = make_player(task).play(population, seeds, roll_in=roll_in)
    own = make_player(task).play(take(population, np.arange(3)), seeds)
    guides = make_player(task).play(take(population, np.array([0, 3, 4])), seeds)
    assert_same_episodes(rolled_in.take(slice(1)), own, np.arange(1))
    policies = deterministic(population) if output == "gaussian" else population
    for n, until in ((1, 20), (2, 5)):
        np.testing.assert_array_equal(rolled_in.observations[n, : until + 1], guides.observations[n, : until + 1])
        np.testing.assert_array_equal(rolled_in.actions[n, :until], guides.actions[n, :until])
        after = slice(until, rolled_in.lengths[n])
        expected = apply_mlp(take(policies, n), rolled_in.observations[n, after])
        np.testing.assert_allclose(rolled_in.actions[n, after], expected, atol=1e-5)
        assert not np.allclose(rolled_in.actions[n, until], guides.actions[n, until])
    assert rolled_in.lengths.tolist() == [own.lengths[0], TASKS[name].spec.horizon, 30]
    assert not rolled_in.terminated[1:].any()


@pytest.mark.parametrize("name", TASKS)
def test_guides_act_without_noise(name):
    task = TASKS[name]
    population, seeds, noise = population_for(task, 4, 16), np.array([7, 8]), Noise(0.5)
    roll_in = RollIn(np.array([2, 3]), np.array([20, 5]), np.array([0, 0]))
    rolled_in = make_player(task).play(population, seeds, noise=noise, roll_in=roll_in)
    guides = make_player(task).play(take(population, np.array([2, 3])), seeds)
    for n, until in enumerate(roll_in.steps):
        np.testing.assert_array_equal(rolled_in.actions[n, :until], guides.actions[n, :until])
        own = apply_mlp(take(population, n), rolled_in.observations[n, until : rolled_in.lengths[n]])
        assert np.abs(rolled_in.actions[n, until : rolled_in.lengths[n]] - own).mean() > 0.1


@pytest.mark.parametrize("name", TASKS)
def test_without_recording_only_the_transitions_are_missing(name):
    task = TASKS[name]
    population, seeds = population_for(task, 4, 16), np.arange(4)
    full = make_player(task).play(population, seeds)
    lean = make_player(task).play(population, seeds, record=False)
    assert lean.observations is None
    assert lean.actions is None
    np.testing.assert_array_equal(lean.fitness, full.fitness)
    np.testing.assert_array_equal(lean.descriptors, full.descriptors)


@pytest.mark.parametrize("name", ["ant-maze", "ant-trap"])
def test_ants_equal_one_mjdata_stepped_alone(name):
    """The batch, bit for bit, against the plainest possible loop."""
    task = TASKS[name]
    population, seeds = population_for(task, 5, 256, 256), np.arange(5)
    rollouts = make_player(task).play(population, seeds)
    for n in range(5):
        model = compile_model(task)
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:] = task.start(int(seeds[n]))
        actor = Actor(population)
        for t in range(rollouts.lengths[n]):
            before = Physics(data.qpos[None].copy(), data.qvel[None].copy())
            seen = task.observe(before).astype(np.float32)
            np.testing.assert_array_equal(seen[0], rollouts.observations[n, t])
            np.testing.assert_array_equal(task.describe(before)[0].astype(np.float32), rollouts.descriptors[n, t])
            action = actor.act(seen, np.array([n]))
            np.testing.assert_array_equal(action[0], rollouts.actions[n, t])
            data.ctrl[:] = action[0]
            for _ in range(task.frame_skip):
                mujoco.mj_step(model, data)
            after = Physics(data.qpos[None], data.qvel[None])
            assert np.float32(task.reward(before, action, after)[0]) == rollouts.rewards[n, t]


@pytest.mark.parametrize(("hidden", "output"), [("relu", "tanh"), ("tanh", "linear")])
def test_actor_computes_the_network(hidden, output):
    population = init_population(jax.random.key(0), 6, (7, 33, 21, 3), hidden, output)
    x = np.random.default_rng(0).standard_normal((6, 7)).astype(np.float32)
    x[:, 3] = 0
    rows = np.array([5, 0, 2])
    expected = jax.vmap(apply_mlp)(take(population, rows), x[rows])
    np.testing.assert_allclose(Actor(population).act(x[rows], rows), expected, atol=2e-6)


@pytest.mark.parametrize("hidden", [(32, 32), (256, 256)])
@pytest.mark.parametrize("name", TASKS)
def test_a_gaussian_policy_without_noise_is_its_plain_self(name, hidden):
    """Bit for bit, also beside policies with noise: an elite is judged as one and replayed as the other."""
    task, seeds = TASKS[name], np.arange(6)
    population = population_for(task, 6, *hidden, output="gaussian")
    plain = make_player(task).play(deterministic(population), seeds)
    assert_same_episodes(make_player(task).play(population, seeds), plain, np.arange(6))
    levels = np.array([0.0, 1.0, 0.0, 1.0, 1.0, 0.0])
    mixed = make_player(task).play(population, seeds, noise=Noise(levels))
    quiet = levels == 0
    assert_same_episodes(mixed.take(quiet), plain, quiet)
    assert (mixed.returns[~quiet] != plain.returns[~quiet]).all()


@pytest.mark.parametrize("name", TASKS)
def test_a_gaussian_policy_acts_with_the_tanh_of_a_normal_draw(name):
    task, seeds = TASKS[name], np.arange(3)
    population = population_for(task, 3, 16, output="gaussian")
    rollouts = make_player(task).play(population, seeds, noise=Noise(1.0))
    steps = min(rollouts.lengths)
    draws = draw_noise(seeds, Noise(1.0), task.spec.horizon, task.spec.action_size)[:, :steps]
    mean, raw = np.split(jax.vmap(apply_mlp)(population, rollouts.observations[:, :steps]), 2, axis=-1)
    np.testing.assert_allclose(rollouts.actions[:, :steps], np.tanh(mean + deviation(raw) * draws), atol=1e-5)
    assert np.exp(-5) <= deviation(-1e9) < deviation(0.0) < deviation(1e9) <= np.exp(2) * (1 + 1e-6)


def test_noise_is_a_stream_per_episode():
    draws = draw_noise(np.array([7, 8, 7, 7]), Noise(np.array([1.0, 1.0, 1.0, 0.5])), 20_000, 2)
    assert np.array_equal(draws[0], draws[2])
    assert np.array_equal(0.5 * draws[0], draws[3])
    assert not np.array_equal(draws[0], draws[1])
    assert draws[0].std() == pytest.approx(1, abs=0.02)
    assert draw_noise(np.array([7, 8]), Noise(), 10, 2) is None


def test_noise_may_differ_between_actions():
    alike, apart = (
        draw_noise(np.array([7, 8]), Noise(sigma), 10, 2) for sigma in (1.0, np.array([[1.0, 0.5], [0.0, 2.0]]))
    )
    np.testing.assert_array_equal(apart, alike * np.array([[[1.0, 0.5]], [[0.0, 2.0]]], np.float32))
    population = take(population_for(TASKS["ant-trap"], 1, 16), np.zeros(2, int))
    levels = np.zeros((2, 8), np.float32)
    levels[1, 3] = 0.5
    rollouts = make_player(TASKS["ant-trap"]).play(population, np.array([1, 1]), noise=Noise(levels))
    np.testing.assert_array_equal(np.flatnonzero(rollouts.actions[0, 0] != rollouts.actions[1, 0]), [3])
    np.testing.assert_array_equal(rollouts.noise, np.array([0.0, 0.5], np.float32))


@pytest.mark.parametrize("name", TASKS)
def test_actions_of_any_policy_are_clipped(name):
    task = TASKS[name]
    sizes = (task.spec.observation_size, 16, task.spec.action_size)
    wild = jax.tree.map(lambda leaf: 5 * leaf, init_population(jax.random.key(0), 4, sizes, output="linear"))
    actions = make_player(task).play(wild, np.arange(4)).actions
    assert np.abs(actions).max() == 1


def test_correlated_noise():
    draws = draw_noise(np.array([7]), Noise(1.0, 0.9), 50_000, 1)[0, :, 0]
    assert draws.std() == pytest.approx(1, abs=0.05)
    assert np.corrcoef(draws[:-1], draws[1:])[0, 1] == pytest.approx(0.9, abs=0.01)


def test_diverged_physics_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # MuJoCo writes its own log of the divergence

    class Exploding(AntTrap):
        def start(self, seed):
            qpos, qvel = super().start(seed)
            return qpos, qvel * np.nan if seed == 13 else qvel

    with pytest.raises(DivergedError, match="seed 13"):
        MujocoPlayer(Exploding(horizon=5)).play(population_for(AntTrap(), 2, 8), np.array([12, 13]))


def test_an_error_in_a_share_reaches_the_caller():
    class Broken(AntTrap):
        def reward(self, before, action, after):
            raise RuntimeError("no reward today")

    with pytest.raises(RuntimeError, match="no reward today"):
        MujocoPlayer(Broken(horizon=5)).play(population_for(AntTrap(), 3, 8), np.arange(3))


def test_summaries_of_an_episode():
    """Returns, best and last rewards, final and mean descriptors of a hand-made recording."""
    from dataclasses import replace

    spec = PointMaze().spec
    recording = {
        "seeds": np.array([5, 6]),
        "noise": 0.25,
        "lengths": np.array([2, 3]),
        "terminated": np.array([True, False]),
        "rewards": np.array([[-1.0, -3.0, 0.0, 0.0], [-2.0, -1.0, -4.0, 0.0]], np.float32),
        "descriptors": np.arange(20, dtype=np.float32).reshape(2, 5, 2),
        "observations": None,
        "actions": None,
    }
    rollouts = make_rollouts(spec, **recording)
    assert rollouts.steps == 5
    assert rollouts.rewards.shape == (2, 3)
    np.testing.assert_array_equal(rollouts.returns, [-4, -7])
    np.testing.assert_array_equal(rollouts.fitness, [-4, -7])
    np.testing.assert_array_equal(rollouts.last_rewards, [-3, -4])
    np.testing.assert_array_equal(rollouts.behaviours, [[4, 5], [16, 17]])
    np.testing.assert_array_equal(rollouts.played(), [[1, 1, 0], [1, 1, 1]])
    best = make_rollouts(replace(spec, fitness="best-reward", fitness_scale=2.0, behaviour="mean"), **recording)
    np.testing.assert_array_equal(best.fitness, [-2, -2])
    np.testing.assert_array_equal(best.behaviours, [[3, 4], [14, 15]])
    last = make_rollouts(replace(spec, fitness="last-reward"), **recording)
    np.testing.assert_array_equal(last.fitness, [-3, -4])


def test_concatenate_pads_to_the_longest():
    task = AntTrap(horizon=120)
    wild = jax.tree.map(lambda leaf: 3 * leaf, population_for(task, 6, 32, key=3))
    seeds = np.arange(6)
    whole = make_player(task).play(wild, seeds, noise=Noise(1.0))
    parts = [make_player(task).play(take(wild, np.array([n])), seeds[[n]], noise=Noise(1.0)) for n in range(6)]
    assert len({part.rewards.shape[1] for part in parts}) > 1, "all episodes are equally long"
    assert_same_episodes(concatenate(parts), whole, np.arange(6))
