"""Playing Gymnasium environments: real episodes, exactly repeatable, with nothing lost at their ends."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any, ClassVar

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium.spaces import Box

from qdpg.errors import DivergedError, UserError
from qdpg.learn.networks import MLP, deterministic, init_population
from qdpg.play import Rollouts, make_player
from qdpg.play.acting import Noise, RollIn
from qdpg.play.gymnasium_player import GymnasiumPlayer
from qdpg.tasks.gymnasium import GymnasiumTask

PENDULUM = GymnasiumTask("Pendulum-v1", descriptor=(0, 1), low=(-1, -1), high=(1, 1))
SEEDS = np.array([5, 17, 5, 2**40, 0])


class Countdown(gymnasium.Env):
    """Ends after 3 + seed % 5 steps, by a real end if the seed is even; refuses to be stepped on."""

    observation_space = Box(-10.0, 10.0, (2,), np.float32)
    action_space = Box(-1.0, 1.0, (1,), np.float32)
    made: ClassVar[int] = 0

    def __init__(self) -> None:
        type(self).made += 1

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        assert seed is not None
        self.left, self.real = 3 + seed % 5, seed % 2 == 0
        self.seen = np.array([self.left, 0], np.float32)
        return self.seen, {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        assert self.left > 0, "stepped after the end"
        self.left -= 1
        self.seen[:] = self.left, action[0]  # the same live array again
        over = self.left == 0
        return self.seen, float(self.left), over and self.real, over and not self.real, {}


class Failing(Countdown):
    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        raise ZeroDivisionError("the robot\nfell off")


class OldStyle(Countdown):
    def step(self, action: np.ndarray) -> Any:
        observation, reward, terminated, _, info = super().step(action)
        return observation, reward, terminated, info


class Shrinking(Countdown):
    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        _, *rest = super().step(action)
        return np.zeros(1, np.float32), *rest  # type: ignore[return-value]


class Diverging(Countdown):
    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        super().step(action)
        self.seen[1] = np.nan if self.left < 2 else 0
        return self.seen.copy(), 0.0, self.left == 0, False, {}


COUNTDOWN = GymnasiumTask(Countdown, descriptor=0, low=0, high=10, horizon=6)


def policies(task: GymnasiumTask, number: int) -> MLP:
    """Random policies, drawn by NumPy, since JAX would spend seconds on compiling the draw for every size."""
    rng, widths = np.random.default_rng(0), (task.spec.observation_size, 8, task.spec.action_size)
    weights = tuple(rng.normal(0, 0.5, (number, i, o)).astype(np.float32) for i, o in itertools.pairwise(widths))
    biases = tuple(rng.normal(0, 0.5, (number, o)).astype(np.float32) for o in widths[1:])
    return MLP(weights, biases)  # type: ignore[arg-type]


def pick(population: MLP, rows: list[int]) -> MLP:
    return jax.tree.map(lambda leaf: leaf[rows], population)


def episode(rollouts: Rollouts, n: int) -> list[bytes]:
    """Everything about episode n but its padding, bit for bit."""
    length = int(rollouts.lengths[n])
    parts = [rollouts.rewards[n, :length], rollouts.descriptors[n, : length + 1], rollouts.behaviours[n]]
    if rollouts.observations is not None and rollouts.actions is not None:
        parts += [rollouts.observations[n, : length + 1], rollouts.actions[n, :length]]
    return [part.tobytes() for part in parts] + [repr((rollouts.fitness[n], rollouts.terminated[n])).encode()]


def test_make_player_knows_the_family() -> None:
    assert isinstance(make_player(PENDULUM), GymnasiumPlayer)


@pytest.mark.parametrize("noise", [0.0, 0.3])
@pytest.mark.parametrize(
    "task",
    [
        dataclasses.replace(PENDULUM, horizon=40),
        COUNTDOWN,
        GymnasiumTask("InvertedPendulum-v5", descriptor=(0, 1), low=(-1, -0.3), high=(1, 0.3), horizon=40),
        GymnasiumTask("Reacher-v5", descriptor=(0, 1), low=(-1, -1), high=(1, 1)),
    ],
    ids=lambda task: task.label,
)
def test_an_episode_does_not_depend_on_who_else_plays(task: GymnasiumTask, noise: float) -> None:
    if task.env in ("InvertedPendulum-v5", "Reacher-v5"):
        pytest.importorskip("imageio", reason="Gymnasium's MuJoCo environments import it")
    player, population = GymnasiumPlayer(task), policies(task, len(SEEDS))
    together = player.play(population, SEEDS, noise=Noise(noise))
    for n in reversed(range(len(SEEDS))):
        alone = player.play(pick(population, [n]), SEEDS[[n]], noise=Noise(noise))
        assert episode(alone, 0) == episode(together, n)


def test_noise_is_drawn_from_the_seed_and_clipped() -> None:
    task = dataclasses.replace(PENDULUM, horizon=30)
    player, population = GymnasiumPlayer(task), pick(policies(task, 1), [0, 0, 0])
    plain, noisy = (player.play(population, np.array([5, 5, 6]), noise=Noise(noise)) for noise in (0.0, 2.0))
    assert plain.actions is not None
    assert noisy.actions is not None
    assert np.array_equal(noisy.actions[0], noisy.actions[1])
    assert not np.array_equal(noisy.actions[0], noisy.actions[2])
    assert np.abs(noisy.actions).max() == 1.0 > np.abs(plain.actions).max()


def test_a_guide_acts_first_and_a_limit_is_no_real_end() -> None:
    task = dataclasses.replace(PENDULUM, horizon=30)
    player, population, seeds = GymnasiumPlayer(task), policies(task, 3), np.array([5, 6])
    rolled_in = player.play(population, seeds, roll_in=RollIn(np.array([0, 2]), np.array([0, 10]), np.array([0, 25])))
    own, guide = player.play(pick(population, [0, 1]), seeds), player.play(pick(population, [2]), seeds[1:])
    assert episode(rolled_in, 0) == episode(own, 0)
    assert rolled_in.actions is not None
    assert guide.actions is not None
    assert np.array_equal(rolled_in.actions[1, :10], guide.actions[0, :10])
    assert not np.array_equal(rolled_in.actions[1, 10], guide.actions[0, 10])
    assert rolled_in.lengths.tolist() == [30, 25]
    assert not rolled_in.terminated.any()


def test_a_gaussian_policy_draws_from_the_seed_and_is_plain_without_noise() -> None:
    size = PENDULUM.spec.observation_size
    population = init_population(jax.random.key(0), 5, (size, 16, 2), output="gaussian")
    player, levels = make_player(PENDULUM), np.array([0.0, 1.0, 1.0, 0.0, 1.0])
    mixed, plain = player.play(population, SEEDS, noise=Noise(levels)), player.play(deterministic(population), SEEDS)
    for n in (0, 3):
        assert episode(mixed, n) == episode(plain, n)
    alone = player.play(pick(population, [2]), SEEDS[[2]], noise=Noise(1.0))
    assert episode(alone, 0) == episode(mixed, 2) != episode(plain, 2)
    assert np.abs(mixed.actions).max() <= 1


def test_what_is_recorded_is_what_the_environment_does() -> None:
    task = dataclasses.replace(PENDULUM, horizon=25)
    rollouts = GymnasiumPlayer(task).play(policies(task, 2), np.array([7, 8]))
    assert rollouts.observations is not None
    assert rollouts.actions is not None
    assert rollouts.observations.shape == (2, 26, 3)
    env = gymnasium.make("Pendulum-v1")
    for n, seed in enumerate([7, 8]):
        observation, _ = env.reset(seed=seed)
        for t in range(25):
            assert np.array_equal(rollouts.observations[n, t], observation)
            assert np.array_equal(rollouts.descriptors[n, t], observation[:2])
            observation, reward, *_ = env.step(2 * rollouts.actions[n, t])
            assert rollouts.rewards[n, t] == np.float32(reward)
        assert np.array_equal(rollouts.observations[n, 25], observation)
        assert np.array_equal(rollouts.behaviours[n], observation[:2])


def test_ends_are_told_apart_and_nothing_is_lost_at_them() -> None:
    # Seeds 0 and 2 end really after 3 and 5 steps, 1 is cut by the environment after 4, 3 by the horizon,
    # and 13 by both at once.
    seeds = np.array([0, 1, 2, 3, 13])
    rollouts = GymnasiumPlayer(COUNTDOWN).play(policies(COUNTDOWN, 5), seeds)
    assert rollouts.lengths.tolist() == [3, 4, 5, 6, 6]
    assert rollouts.terminated.tolist() == [True, False, True, False, False]
    assert rollouts.returns.tolist() == [3, 6, 10, 15, 15]
    assert rollouts.observations is not None
    assert rollouts.observations[0, :, 0].tolist() == [3, 2, 1, 0, 0, 0, 0]
    assert rollouts.descriptors[2, :, 0].tolist() == [5, 4, 3, 2, 1, 0, 0]
    assert rollouts.descriptors[3, :, 0].tolist() == [6, 5, 4, 3, 2, 1, 0]


def test_the_final_descriptor_is_repeated_after_the_end() -> None:
    task = dataclasses.replace(COUNTDOWN, descriptor=lambda observation, info: observation[0] + 1)
    rollouts = GymnasiumPlayer(task).play(policies(task, 2), np.array([0, 3]))
    assert rollouts.descriptors[0, :, 0].tolist() == [4, 3, 2, 1, 1, 1, 1]
    assert rollouts.behaviours.tolist() == [[1], [1]]


def test_the_environments_own_time_limit_is_a_truncation() -> None:
    rollouts = GymnasiumPlayer(PENDULUM).play(policies(PENDULUM, 1), np.array([0]), record=False)
    assert rollouts.lengths.tolist() == [200]
    assert rollouts.terminated.tolist() == [False]


def test_a_real_end_of_a_real_environment() -> None:
    pytest.importorskip("imageio", reason="Gymnasium's MuJoCo environments import it")
    task = GymnasiumTask("InvertedPendulum-v5", descriptor=(0, 1), low=(-1, -1), high=(1, 1))
    rollouts = GymnasiumPlayer(task).play(policies(task, 4), np.arange(4))
    assert rollouts.terminated.all()
    assert (rollouts.lengths < 1000).all()


def test_without_record_only_transitions_are_missing() -> None:
    player, population = GymnasiumPlayer(COUNTDOWN), policies(COUNTDOWN, 3)
    full, lean = (player.play(population, np.arange(3), record=record) for record in (True, False))
    assert lean.observations is None
    assert lean.actions is None
    assert lean.rewards.tobytes() == full.rewards.tobytes()
    assert lean.descriptors.tobytes() == full.descriptors.tobytes()


def test_environments_are_kept_and_used_again() -> None:
    player = GymnasiumPlayer(COUNTDOWN)
    before = Countdown.made
    for number in (2, 4, 3, 4):
        player.play(policies(COUNTDOWN, number), np.arange(number))
    assert Countdown.made - before == 4


@pytest.mark.parametrize(
    ("env", "error", "words"),
    [
        (Failing, UserError, "^Failing failed in step: ZeroDivisionError: the robot fell off; see"),
        (OldStyle, UserError, "^OldStyle failed in step: ValueError: not enough values to unpack"),
        (Shrinking, UserError, "^Shrinking failed in step: ValueError: an observation has 1 numbers instead of 2"),
        (Diverging, DivergedError, r"observation of Diverging is not finite \(episode with reset seed 4\)"),
    ],
)
def test_a_broken_environment_is_named(env: type[gymnasium.Env], error: type[Exception], words: str) -> None:
    task = dataclasses.replace(COUNTDOWN, env=env)
    with pytest.raises(error, match=words) as caught:
        GymnasiumPlayer(task).play(policies(task, 1), np.array([4]), record=False)
    assert "\n" not in str(caught.value)
