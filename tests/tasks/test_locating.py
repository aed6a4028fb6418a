"""Which observations descriptors can be read off."""

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box

from qdpg.tasks.gymnasium import GymnasiumTask
from qdpg.tasks.locating import LEAST_STATES, find_located

SEEN = np.random.default_rng(0).standard_normal((60, 5))


def test_descriptors_that_are_observations():
    assert find_located(SEEN, SEEN[:, [3, 1]]) == ((3, 1.0, 0.0), (1, 1.0, 0.0))


def test_descriptors_that_are_scaled_and_moved():
    (first, second) = find_located(SEEN, np.stack([2 * SEEN[:, 0] - 1, -0.5 * SEEN[:, 4]], axis=1))
    np.testing.assert_allclose(first, (0, 2.0, -1.0), atol=1e-9)
    np.testing.assert_allclose(second, (4, -0.5, 0.0), atol=1e-9)


@pytest.mark.parametrize(
    "descriptors",
    [
        SEEN[:, :1] + 0.01 * SEEN[:, 1:2],  # a little of something else
        SEEN[:, :1] > 0,  # a contact
        np.zeros((60, 1)),
        SEEN[:, :1] ** 2,
        np.stack([SEEN[:, 0], SEEN[:, 1] ** 3], axis=1),  # one of two
    ],
)
def test_descriptors_that_are_not(descriptors):
    assert find_located(SEEN, descriptors) == ()


@pytest.mark.parametrize("bent", [np.sin, np.tanh])
def test_what_only_looks_alike_in_a_small_range_is_not_the_same(bent):
    angles = np.linspace(-0.02, 0.1, 60)[:, None]
    assert find_located(angles, bent(angles)) == ()


def test_what_moves_less_than_rounding_shows_is_not_the_same():
    descriptors = np.float32(1000) + np.float32(1e-4) * np.arange(60, dtype=np.float32)[:, None] % 7
    assert find_located(SEEN, descriptors) == ()


def test_single_precision_far_from_zero_is_the_same():
    place = np.linspace(1000, 1003, 60)[:, None]
    assert find_located(place, place.astype(np.float32)) == ((0, 1.0, 0.0),)


def test_descriptors_that_are_not_numbers():
    descriptors = SEEN[:, :1].copy()
    descriptors[7] = np.nan
    assert find_located(SEEN, descriptors) == ()


def test_few_states_say_nothing():
    few = SEEN[: LEAST_STATES - 1]
    assert find_located(few, few[:, :1]) == ()


class Cart(gymnasium.Env):
    """A cart on a line; `info` has its place, or what was chosen instead."""

    observation_space = Box(-np.inf, np.inf, (3,), np.float32)
    action_space = Box(-1.0, 1.0, (1,), np.float32)

    def __init__(self, fails_after=np.inf):
        self.fails_after = fails_after

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.speed, self.steps = self.np_random.uniform(-1, 1), 0.0, 0
        return self._see()

    def step(self, action):
        self.steps += 1
        if self.steps > self.fails_after:
            raise RuntimeError("a wheel came off")
        self.speed = 0.9 * self.speed + float(action[0])
        self.place += self.speed
        seen, info = self._see()
        return seen, 0.0, self.steps == 7, False, info

    def _see(self):
        seen = np.array([self.speed, self.place, 1.0], np.float32)
        return seen, {"state_descriptor": np.array([10 * self.place], np.float32)}


def test_tasks_find_it_by_random_play():
    ((row, factor, shift),) = GymnasiumTask(env=Cart, low=-5.0, high=5.0, horizon=20).spec.located
    assert row == 1
    np.testing.assert_allclose((factor, shift), (10.0, 0.0), atol=1e-3)


def test_it_does_not_matter_if_random_play_fails():
    assert GymnasiumTask(env=lambda: Cart(3), low=-5.0, high=5.0, horizon=20).spec.located == ()
