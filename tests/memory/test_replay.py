import jax
import jax.numpy as jnp
import numpy as np

from qdpg.learn.networks import init_population
from qdpg.learn.transitions import CONTINUES, NOVELTY, REWARD
from qdpg.memory.replay import Replay, replay_bytes
from qdpg.play.acting import Noise
from qdpg.play.player import make_player
from qdpg.play.rollouts import Rollouts
from qdpg.tasks.ant_trap import AntTrap
from qdpg.tasks.point_maze import PointMaze


def episodes(number=4, seed=0):
    population = init_population(jax.random.key(seed), number, (2, 8, 2))
    return make_player(PointMaze(horizon=9)).play(population, np.arange(number) + 100 * seed)


def falling_ants():
    population = jax.tree.map(lambda leaf: 3 * leaf, init_population(jax.random.key(3), 6, (113, 32, 8)))
    return make_player(AntTrap(horizon=150)).play(population, np.arange(6), noise=Noise(1.0))


def transitions(rollouts: Rollouts, first=0, last=None):
    """All (s, a, r, continues, s') as a sorted table, straight from the rollouts; if wanted, of some steps only."""
    rows = []
    for n, length in enumerate(rollouts.lengths):
        for t in range(first, length if last is None else last):
            ends = rollouts.terminated[n] and t == length - 1
            o, a = rollouts.observations[n], rollouts.actions[n, t]
            rows.append(np.concatenate([o[t], a, [rollouts.rewards[n, t], 0.0 if ends else 1.0], o[t + 1]]))
    return np.array(sorted(map(tuple, rows)), np.float32)


def held(replay: Replay):
    """The same table from the replay memory."""
    size = replay.observation_size
    slots = replay.playable_slots()
    rows, after = replay.rows[slots], replay.rows[(slots + 1) % replay.capacity, :size]
    table = np.concatenate([rows[:, : size + replay.action_size], rows[:, [REWARD, CONTINUES]], after], axis=1)
    return np.array(sorted(map(tuple, table)), np.float32)


def test_holds_exactly_the_transitions_played():
    for rollouts, sizes in ((episodes(), (2, 2, 2)), (falling_ants(), (113, 8, 2))):
        replay = Replay(2000, *sizes)
        replay.insert(rollouts)
        assert replay.transitions == rollouts.steps
        np.testing.assert_array_equal(held(replay), transitions(rollouts))
    assert rollouts.terminated.any()


def test_ring_forgets_oldest_first_and_never_mixes_episodes():
    replay = Replay(25, 2, 2, 2)  # two episodes of nine steps and their last states, and a bit
    played = [episodes(1, seed) for seed in range(7)]
    for rollouts in played:
        replay.insert(rollouts)
        known = {tuple(row) for part in played for row in transitions(part)}
        assert {tuple(row) for row in held(replay)} <= known
    newest = {tuple(row) for row in transitions(played[-1])}
    assert newest <= {tuple(row) for row in held(replay)}
    assert replay.transitions == 9 + 9 + 4  # what remains of the third last


def test_descriptors_go_with_their_rows():
    rollouts = episodes()
    replay = Replay(100, 2, 2, 2)
    replay.insert(rollouts)
    slots = replay.playable_slots()
    np.testing.assert_array_equal(replay.descriptors[slots], replay.rows[slots, :2])  # ψ is the observation here


def test_view_shares_memory():
    replay = Replay(100, 2, 2, 2)
    replay.insert(episodes())
    view = replay.view()
    assert view.rows.unsafe_buffer_pointer() == replay.rows.ctypes.data
    replay.set_novelty(replay.playable_slots(), np.ones(replay.transitions))
    assert float(jnp.sum(replay.view().rows[:, NOVELTY])) == replay.transitions


def test_novelty_gradients_are_written_where_they_belong():
    replay = Replay(100, 2, 2, 2)
    replay.insert(episodes())
    slots, gradients = np.array([5, 3]), np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
    replay.set_novelty_gradients(slots, gradients)
    np.testing.assert_array_equal(np.asarray(replay.view().novelty_gradients)[slots], gradients)
    assert np.count_nonzero(replay.novelty_gradients) == 4


def test_only_wanted_steps_are_held():
    """A part of an episode ends as one cut off by the time limit, unless its last step is the episode's."""
    rollouts = falling_ants()
    first, last = rollouts.lengths // 2, rollouts.lengths.copy()
    last[::2] -= 1
    replay = Replay(2000, 113, 8, 2)
    replay.insert(rollouts, first, last)
    parts = [
        transitions(rollouts.take(slice(n, n + 1)), a, b) for n, (a, b) in enumerate(zip(first, last, strict=True))
    ]
    np.testing.assert_array_equal(held(replay), np.array(sorted(map(tuple, np.concatenate(parts)))))
    ended = replay.rows[replay.playable_slots(), CONTINUES] == 0
    assert ended.sum() == rollouts.terminated[1::2].sum() > 0


def test_size_in_bytes_is_what_is_allocated():
    replay = Replay(100, 5, 3, 2)
    arrays = (replay.rows, replay.descriptors, replay.novelty_gradients, replay.is_playable, replay._playable)
    assert replay_bytes(100, 5, 3, 2) == sum(array.nbytes for array in arrays)


def test_rows_since_a_point_rebuild_the_memory():
    replay, copy = Replay(50, 2, 2, 2), Replay(50, 2, 2, 2)
    marks = []
    for seed in range(4):
        marks.append(replay.inserted)
        replay.insert(episodes(2, seed))
    for mark in (marks[1], marks[2], marks[3]):
        copy.inserted = max(mark, replay.inserted - 50)
        copy.insert_rows(**replay.since(mark))
    copy.index()
    assert copy.inserted == replay.inserted
    np.testing.assert_array_equal(copy.rows, replay.rows)
    np.testing.assert_array_equal(copy.playable_slots(), replay.playable_slots())


def test_only_chosen_slots_are_sampled():
    replay = Replay(200, 2, 2, 2)
    replay.insert(episodes())
    chosen = replay.playable_slots()[::3]
    view = replay.view(chosen)
    np.testing.assert_array_equal(np.asarray(view.playable)[: int(view.number)], chosen)
    assert int(replay.view().number) == replay.transitions > len(chosen)
