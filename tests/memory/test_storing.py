"""What of an episode is stored, and with which rewards."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from qdpg.memory.storing import rewards_for_critics, stratify, sub_trajectories, whole_episodes
from qdpg.play.rollouts import Rollouts, make_rollouts
from qdpg.tasks.point_maze import PointMaze

SIZE = 10


def episodes(lengths, terminated=False) -> Rollouts:
    """Made-up episodes of these lengths, which may really have ended."""
    lengths = np.asarray(lengths)
    rng, longest = np.random.default_rng(0), lengths.max()
    is_played = np.arange(longest) < lengths[:, None]
    return make_rollouts(
        PointMaze().spec,
        seeds=np.arange(len(lengths)),
        lengths=lengths,
        terminated=np.broadcast_to(terminated, len(lengths)),
        rewards=np.where(is_played, rng.normal(size=is_played.shape), 0.0).astype(np.float32),
        descriptors=rng.uniform(-1, 1, (len(lengths), longest + 1, 2)).astype(np.float32),
        observations=None,
        actions=None,
    )


def sub(rollouts, candidates, roll_in_steps=(), settled=None, seed=0):
    rng = np.random.default_rng(seed)
    return sub_trajectories(rollouts, candidates, np.array(roll_in_steps, int), SIZE, rng, settled)


def test_whole_episodes_are_all_steps():
    first, last = whole_episodes(np.array([3, 200], np.int32))
    assert (first.tolist(), last.tolist()) == ([0, 0], [3, 200])


def test_any_successive_steps_of_a_candidate_are_stored():
    first, last = sub(episodes([50] * 4000), 4000)
    assert (last - first == SIZE).all()
    counts = np.bincount(first)
    assert len(counts) == 41  # 0 to 40
    assert counts.min() > 50  # 98 expected, standard deviation 10


def test_the_last_steps_of_a_candidate_that_really_ended_are_stored():
    first, last = sub(episodes([50, 12, 33], terminated=True), 3)
    assert (first.tolist(), last.tolist()) == ([40, 2, 23], [50, 12, 33])


def test_short_episodes_are_stored_as_they_are():
    for terminated in (True, False):
        first, last = sub(episodes([1, 9, 10], terminated), 3)
        assert (first.tolist(), last.tolist()) == ([0, 0, 0], [1, 9, 10])


def test_of_exploration_episodes_all_after_the_roll_in_is_stored():
    first, last = sub(episodes([50, 50, 50, 40], terminated=[False, False, True, False]), 1, [0, 20, 40])
    assert last[0] - first[0] == SIZE
    assert first[1:].tolist() == [0, 20, 30]  # at least `SIZE` steps, even if the guide took some of them
    assert last[1:].tolist() == [50, 50, 40]


def test_settled_exploration_episodes_are_cut_off():
    settled = np.array([1, 1, 25, 5, 45])
    first, last = sub(episodes([50] * 5), 1, [0, 0, 20, 20], settled)
    assert last[0] - first[0] == SIZE  # a candidate's is not
    assert first[1:].tolist() == [0, 0, 20, 20]
    assert last[1:].tolist() == [11, 35, 30, 50]  # some steps after settling, or after the roll-in if that is later


def test_what_is_stored_depends_on_the_seed_only():
    rollouts = episodes([50] * 20)
    first, again, other = (sub(rollouts, 20, seed=seed)[0] for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_without_an_objective_rewards_are_left_alone():
    rollouts = episodes([5, 3])
    assert rewards_for_critics(rollouts, None) is rollouts


def test_an_offset_is_taken_off_every_reward():
    rollouts = episodes([5, 3])
    seen = rewards_for_critics(rollouts, SimpleNamespace(discount=0.9, shaped=False, reward_offset=0.5))
    np.testing.assert_array_equal(seen.rewards, rollouts.rewards - np.float32(0.5))


@pytest.mark.parametrize("offset", [0.0, 0.5])
def test_shaped_rewards_are_a_part_of_the_reward_and_a_difference_of_potentials(offset):
    """(1 − γ) · reached + γ · potential then − potential now, where nothing is left once an episode really ended."""
    rollouts, discount = episodes([5, 3, 4], terminated=[False, True, True]), 0.9
    seen = rewards_for_critics(rollouts, SimpleNamespace(discount=discount, shaped=True, reward_offset=offset))
    for n, length in enumerate(rollouts.lengths):
        for t in range(length):
            reached = rollouts.rewards[n, t]
            now, then = rollouts.rewards[n, max(t - 1, 0)], reached
            if rollouts.terminated[n] and t == length - 1:
                then = 0.0
            expected = (1 - discount) * reached + discount * then - now - offset
            assert seen.rewards[n, t] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("shaped", [True, False])
def test_fitness_is_untouched(shaped):
    rollouts = episodes([5, 3])
    seen = rewards_for_critics(rollouts, SimpleNamespace(discount=0.9, shaped=shaped, reward_offset=0.5))
    assert (seen.rewards != rollouts.rewards).any()
    back = replace(seen, rewards=rollouts.rewards)
    for name in ("returns", "fitness", "behaviours", "lengths", "terminated"):
        assert getattr(back, name) is getattr(rollouts, name)


def test_stratifying_leaves_no_cell_with_more_than_its_share():
    cells = np.random.default_rng(0).permutation(np.repeat([3, 5, 9, 40], [1000, 10, 100, 90]))
    kept = stratify(cells, 1.5, np.random.default_rng(1))
    numbers = dict(zip(*np.unique(cells[kept], return_counts=True), strict=True))
    assert numbers == {3: 450, 5: 10, 9: 100, 40: 90}  # 1200 in four cells: 300 each, and half as many again
    assert (np.diff(kept) > 0).all()
    again = stratify(cells, 1.5, np.random.default_rng(2))
    assert set(kept) != set(again)  # the 1000 in cell 3 take turns
    np.testing.assert_array_equal(stratify(cells, 4.0, np.random.default_rng(1)), np.arange(len(cells)))
