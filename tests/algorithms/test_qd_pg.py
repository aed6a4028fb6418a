"""QD-PG against Algorithm 1 of the paper, and whether it learns.

The first tests compare one generation with the same computed plainly from the memories alone.
"""

from dataclasses import replace
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import plain_td3
import pytest
from small_qd_pg import PLAYER, SMALL, TASK, advance, make_small

from qdpg.algorithms.pieces import generation_key
from qdpg.algorithms.qd_pg import QDPG
from qdpg.algorithms.qd_pg_checks import footprint
from qdpg.algorithms.qd_pg_presets import preset
from qdpg.emitters.iso_line import IsoLineShare
from qdpg.emitters.objective import Objective
from qdpg.errors import UserError
from qdpg.learn.climbing import Stopped
from qdpg.learn.networks import apply_mlp, flatten_population, take_policies
from qdpg.learn.td3 import TD3Settings, draw_target_noise
from qdpg.learn.transitions import CONTINUES, NOVELTY, REWARD, Batch, draw_slots
from qdpg.memory.reevaluated import ArchiveSettings
from qdpg.memory.visited import Visited
from qdpg.play.player import make_player
from qdpg.tasks.ant_trap import AntTrap
from qdpg.tasks.point_maze import PointMaze
from stage import EvenDraws, made_up_rollouts

SIZES = {"diversity": 2, "quality": 3}  # of the halves of a population of five
EXPLORING = replace(
    SMALL,
    candidate_noise=0.1,
    diversity=Objective(exploration_episodes=3, exploration_noise=0.7),
    quality=Objective(exploration_episodes=2, exploration_noise=0.2),
)
GUIDED = replace(EXPLORING, candidate_noise=0.0, roll_in_steps=5, greedy_steps=4)


def layers(network, row=...):
    """A network, or one of a stack, as plain TD3 takes it."""
    pairs = zip(network.weights, network.biases, strict=True)
    return [(np.asarray(w[row], np.float64), np.asarray(b[row], np.float64)) for w, b in pairs]


def assert_close(network, plain, row=...):
    for found, expected in zip(layers(network, row), plain, strict=True):
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, atol=2e-5)


def plain_novelty(algorithm):
    """Mean distance of every stored state to its ten nearest neighbours in 𝔸, one by one."""
    held = algorithm.visited.descriptors.astype(np.float64)
    stored = algorithm.replay.descriptors[: len(algorithm.replay)].astype(np.float64)
    return np.array([np.sort(np.linalg.norm(held - each, axis=1))[:10].mean() for each in stored])


def plain_generation(algorithm, steps):
    """What Algorithm 1 makes of the memories: parents, offspring and critics of each objective."""
    replay, data = algorithm.replay, algorithm.elites.data()
    rng = np.random.default_rng([algorithm.seed, algorithm.generation])
    best_first = np.argsort(-data["objective"])
    rewards = {"diversity": plain_novelty(algorithm), "quality": replay.rows[: len(replay), REWARD]}
    settings = TD3Settings(
        batch_size=32, discount=0.99, delay=2, softness=0.05, optimiser="sgd", actor_rate=0.05, critic_rate=0.05
    )
    made = {}
    for index, (name, number) in enumerate(SIZES.items()):
        rows = best_first[(len(data["objective"]) * rng.random(number)).astype(int)]
        key = jax.random.fold_in(generation_key(algorithm.seed, algorithm.generation), index)
        words, batches = jax.random.bits(key, (2,), jnp.uint32), []
        for step in range(steps):
            slots = np.asarray(draw_slots(replay.view(), words, jnp.int32(step), (number, 32)))
            held = replay.rows[slots]
            paid, following = rewards[name][slots], replay.rows[slots + 1, :2]
            batch = Batch(held[..., :4], held[..., :2], paid, held[..., CONTINUES], following)
            batches.append((batch, draw_target_noise(words, jnp.int32(step), (number, 32, 2), settings)))
        parents = algorithm.elites.policies(rows)
        critics = [layers(critic) for critic in algorithm._state.learners[name].critics.online]
        actors, online, _, target = plain_td3.improve(
            [layers(parents, row) for row in range(number)], critics, batches, settings
        )
        made[name] = SimpleNamespace(parents=parents, actors=actors, online=online, target=target)
    return made


@pytest.fixture(scope="module")
def compared():
    """A generation of QD-PG, and the same computed plainly."""
    algorithm = make_small()
    advance(algorithm)
    plain = plain_generation(algorithm, steps=int(0.055 * 5 * 50))
    return algorithm.ask(), plain


@pytest.fixture
def started():
    """An algorithm after two generations."""
    algorithm = make_small()
    advance(algorithm, 2)
    return algorithm


@pytest.mark.parametrize(("objective", "first"), [("diversity", 0), ("quality", 2)])
def test_each_half_climbs_its_own_reward(compared, objective, first):
    generation, plain = compared
    assert len(generation.candidates) == 5
    for row, expected in enumerate(plain[objective].actors):
        assert_close(generation.candidates.policies, expected, first + row)
    moved = plain[objective].actors[0][0][0] - plain[objective].parents.weights[0][0]
    assert np.abs(moved).max() > 1e-3  # the comparison is not between two idle things


@pytest.mark.parametrize("objective", ["diversity", "quality"])
def test_critics_learn_from_all_policies_of_their_objective(compared, objective):
    generation, plain = compared
    for critic, expected in zip(generation.learned[objective].critics.online, plain[objective].online, strict=True):
        assert_close(critic, expected)


@pytest.mark.parametrize("objective", ["diversity", "quality"])
def test_target_critics_follow_softly(compared, objective):
    generation, plain = compared
    critics = generation.learned[objective].critics
    for critic, expected in zip(critics.target, plain[objective].target, strict=True):
        assert_close(critic, expected)
    assert np.abs(np.asarray(critics.target[0].weights[0] - critics.online[0].weights[0])).max() > 1e-3


def test_halves_may_differ_by_one_and_iso_line_offspring_come_last():
    for population, share, sizes in ((4, 0.0, [2, 2]), (5, 0.0, [2, 3]), (8, 0.25, [3, 3, 2])):
        config = replace(SMALL, population=population, iso_line=IsoLineShare(share=share))
        emitters = make_small(config).emitters
        assert [emitter.size for emitter in emitters] == sizes
        assert [emitter.learner for emitter in emitters] == ["diversity", "quality", None][: len(sizes)]


def test_gradient_steps_are_a_share_of_the_steps_played_before():
    algorithm, handed = make_small(), []
    advance(algorithm)
    for steps in (250, 250):
        contexts = [algorithm.context(name, None, lambda: False) for name in SIZES]
        handed += [context.steps for context in contexts]
        assert algorithm.gradient_steps() == int(0.055 * steps)
        advance(algorithm)
    assert handed == [13] * 4
    assert int(make_small(replace(SMALL, gradient_steps_ratio=4.0)).gradient_steps()) == 0  # nothing played yet


def test_parents_are_drawn_from_all_elites_alike():
    algorithm = make_small()
    algorithm.elites.add(init_policies(algorithm, 12), made_up_rollouts(TASK.spec, 12), 0)
    number = len(algorithm.elites)
    assert number > 5
    for emitter in algorithm.emitters:
        emitter.size = 3 * number
        drawn = emitter.select(algorithm.elites, EvenDraws()).rows
        assert np.bincount(drawn, minlength=number).tolist() == [3] * number


def init_policies(algorithm, number, seed=0):
    """Random policies that fit an algorithm's archive."""
    shape = algorithm.elites.template
    rng = np.random.default_rng(seed)
    return jax.tree.map(lambda leaf: rng.normal(size=(number, *leaf.shape)).astype(np.float32), shape)


def test_only_a_better_policy_takes_the_place_of_an_elite():
    algorithm = make_small()
    generation = algorithm.ask()
    place = {"behaviours": np.full((5, 2), 0.1, np.float32)}

    def tell(*fitness):
        before = algorithm.elites.data()["solution"]
        rollouts = made_up_rollouts(TASK.spec, 5, fitness=np.array(fitness, float), **place)
        told = algorithm.tell(generation, rollouts)
        after = algorithm.elites.data()
        return told, after["objective"].tolist(), np.array_equal(before, after["solution"])

    assert tell(-9, -5, -7, -8, -9)[1:] == ([-5.0], False)
    np.testing.assert_array_equal(
        algorithm.elites.data()["solution"][0], flatten_population(generation.candidates.policies)[1]
    )
    told, fitness, is_same = tell(-6, -50, -5, -7, -8)  # none is better, one is as good
    assert (fitness, is_same, told["improved_cells"], told["new_cells"]) == ([-5.0], True, 0, 0)
    told, fitness, is_same = tell(-9, -9, -4, -9, -9)
    assert (fitness, is_same, told["improved_cells"]) == ([-4.0], False, 1)


def test_diversity_rewards_are_fresh(started):
    """𝔸 has grown since the transitions were stored, and since their novelty was last computed."""
    stale = started.replay.rows[:, NOVELTY].copy()
    started.ask()
    expected, slots = plain_novelty(started), started.replay.playable_slots()
    found = started.replay.rows[slots, NOVELTY]
    np.testing.assert_allclose(found, expected[slots], rtol=1e-5, atol=1e-6)
    assert (np.abs(found - stale[slots]) > 1e-3).mean() > 0.5


def test_visited_states_leave_oldest_first():
    config = replace(SMALL, visited_size=60, visited_threshold=0.0)
    algorithm, unbounded = make_small(config), Visited(2, 10**6, 0.0, 10)
    for seed in range(3):
        rollouts = made_up_rollouts(TASK.spec, 5, seed)
        states = rollouts.descriptors[:, :-1].reshape(-1, 2)
        algorithm.tell(make_small(config).ask(), rollouts)
        unbounded.add(states)
        np.testing.assert_array_equal(algorithm.visited.descriptors, unbounded.descriptors[-60:])
    assert len(unbounded) == 90


def test_exploration_episodes_explore_with_a_noise_of_their_own():
    algorithm = make_small(EXPLORING)
    assert algorithm.ask().exploration is None  # nobody has improved yet
    advance(algorithm)
    generation = algorithm.ask()
    assert generation.candidates.sigma.tolist() == pytest.approx([0.1] * 5)
    assert generation.exploration.sigma.tolist() == pytest.approx([0.7] * 3 + [0.2] * 2)
    explored, offspring = (
        flatten_population(each.policies) for each in (generation.exploration, generation.candidates)
    )
    np.testing.assert_array_equal(explored, offspring[[0, 1, 0, 2, 3]])  # in turn, each of its objective's
    steps = algorithm.steps
    advance(algorithm, 2)
    assert algorithm.replay.transitions == algorithm.steps == steps + 2 * 10 * TASK.spec.horizon
    assert set(algorithm.elites.data()["noise"].tolist()) == {np.float32(0.1)}


def test_exploration_episodes_never_become_elites():
    """However good they were, and wherever they led."""
    algorithm = make_small(EXPLORING)
    advance(algorithm)
    generation = algorithm.ask()
    rollouts = made_up_rollouts(TASK.spec, 10, fitness=np.append(np.full(5, -1e6), np.full(5, 1e6)))
    rollouts.behaviours[:5], rollouts.behaviours[5:] = -0.9, 0.9
    before = algorithm.elites.data()["solution"]
    algorithm.tell(generation, rollouts)
    data = algorithm.elites.data()
    assert data["objective"].max() < 1e6
    assert not (data["measures"] > 0.8).all(axis=1).any()
    new = [each for each in data["solution"].tolist() if each not in before.tolist()]
    assert all(each in flatten_population(generation.candidates.policies).tolist() for each in new)


def test_states_of_exploration_episodes_do_not_count_as_visited():
    algorithm = make_small(EXPLORING)
    advance(algorithm)
    generation, before = algorithm.ask(), len(algorithm.visited)
    rollouts = made_up_rollouts(TASK.spec, 10)
    rollouts.descriptors[5:] += 10  # nowhere near the others
    algorithm.tell(generation, rollouts)
    assert len(algorithm.visited) > before
    assert (algorithm.visited.descriptors < 2).all()
    assert (algorithm.replay.descriptors > 2).any()  # but they are learned from


def test_every_episode_starts_from_a_seed_of_its_own():
    algorithm, seen = make_small(EXPLORING), []
    for _ in range(3):
        generation, _ = advance(algorithm)
        seen += generation.candidates.seeds.tolist()
        seen += [] if generation.exploration is None else generation.exploration.seeds.tolist()
    assert len(set(seen)) == len(seen) == 5 + 10 + 10


def test_what_was_learned_is_state_after_tell_and_not_before(started):
    before = jax.tree.leaves(started._state.learners)
    generation = started.ask()
    assert all(a is b for a, b in zip(before, jax.tree.leaves(started._state.learners), strict=True))
    learned = jax.tree.leaves(generation.learned)
    assert not all(np.array_equal(a, b) for a, b in zip(before, learned, strict=True))
    started.tell(generation, generation.play(PLAYER))
    contexts = [started.context(name, None, lambda: False) for name in SIZES]
    for a, b in zip(
        learned, jax.tree.leaves({n: c.learner for n, c in zip(SIZES, contexts, strict=True)}), strict=True
    ):
        np.testing.assert_array_equal(a, b)


def test_ask_changes_nothing_and_is_repeatable(started):
    before = {name: array.copy() for name, array in started.state().items()}
    first, second = started.ask(), started.ask()
    np.testing.assert_array_equal(*(flatten_population(each.candidates.policies) for each in (first, second)))
    np.testing.assert_array_equal(first.candidates.seeds, second.candidates.seeds)
    for name, array in started.state().items():
        np.testing.assert_array_equal(array, before[name], err_msg=name)


def test_all_steps_count_from_the_first_population_on(started):
    assert started.generation == 2
    assert started.steps == 2 * 5 * 50
    assert started.replay.transitions == started.steps


def test_stopping_gives_up_the_generation(started):
    before = started.generation
    with pytest.raises(Stopped):
        started.ask(stop=lambda: True)
    assert started.generation == before


def test_with_a_roll_in_greedy_actors_explore_where_elites_have_been():
    algorithm = make_small(GUIDED)
    assert algorithm.ask().exploration is None
    advance(algorithm, 2)
    generation, elites = algorithm.ask(), algorithm.elites.data()
    explored, offspring = generation.exploration, flatten_population(generation.candidates.policies)
    np.testing.assert_array_equal(flatten_population(explored.policies), offspring[[0, 0, 0, 2, 2]])  # greedy ones
    assert not generation.candidates.roll_in_steps.any()
    for guide, steps in zip(flatten_population(explored.guides), explored.roll_in_steps, strict=True):
        assert 0 < steps <= elites["length"][(elites["solution"] == guide).all(axis=1)].max()
    assert len(set(explored.roll_in_steps)) > 1
    rollouts = generation.play(PLAYER)
    np.testing.assert_array_equal(rollouts.lengths[5:], np.minimum(explored.roll_in_steps + 5, TASK.spec.horizon))
    own = PLAYER.play(generation.candidates.policies, generation.candidates.seeds)
    np.testing.assert_array_equal(own.fitness, rollouts.fitness[:5])
    algorithm.tell(generation, rollouts)
    assert algorithm.replay.transitions == algorithm.steps


def test_policies_for_quality_and_varied_ones_start_as_their_parents_did():
    config = replace(SMALL, population=7, iso_line=IsoLineShare(share=2 / 7), initial_policies=20)
    config = replace(config, archive=ArchiveSettings(parents_start=True))
    algorithm = make_small(config)
    advance(algorithm)
    seeds, stored = algorithm.ask().candidates.seeds, set(algorithm.elites.data()["seed"].tolist())
    assert set(seeds[2:].tolist()) <= stored
    assert not set(seeds[:2].tolist()) & stored


@pytest.mark.parametrize(("name", "objective"), [("q-pg", "quality"), ("d-pg", "diversity"), ("qd-pg-sum", "sum")])
def test_an_ablation_climbs_one_objective_with_all_its_offspring(name, objective):
    algorithm = make_small(name=name)
    (emitter,) = algorithm.emitters
    assert (emitter.size, emitter.learner) == (5, objective)
    assert list(emitter.rewards) == {"quality": [1, 0], "diversity": [0, 1], "sum": [1, 1]}[objective]
    assert (algorithm.visited is None) == (name == "q-pg")


@pytest.mark.parametrize(("shaped", "novelty_shaped"), [(False, True), (True, False)])
def test_the_sum_weighs_and_shapes_novelty_by_itself(shaped, novelty_shaped):
    quality, diversity = Objective(reward_scale=0.5, shaped=shaped), Objective(reward_scale=4.0, shaped=novelty_shaped)
    algorithm = make_small(replace(SMALL, quality=quality, diversity=diversity), name="qd-pg-sum")
    (emitter,) = algorithm.emitters
    np.testing.assert_allclose(emitter._minibatches(algorithm.replay.view()).weights, [0.5, 4.0])
    assert emitter.shaping == (0.99 if novelty_shaped else None)
    assert algorithm.paid.shaped == shaped


def test_offspring_are_better_in_the_eyes_of_their_critic():
    """With frozen critics, climbing raises Q1 of nearly every offspring."""
    config = replace(SMALL, greedy_steps=50, population=22, initial_policies=40)
    algorithm = make_small(config, 0, "q-pg")
    advance(algorithm, 3)
    parents = algorithm.elites.sample(np.random.default_rng([0, algorithm.generation]), 21)
    generation = algorithm.ask()
    critic = generation.learned["quality"].critics.online
    states = np.broadcast_to(algorithm.replay.rows[algorithm.replay.playable_slots()[:500], :2], (21, 500, 2))

    def judge(population):
        acted = jax.vmap(apply_mlp)(population, states)
        return np.asarray(apply_mlp(critic[0], jnp.concatenate([states, acted], axis=-1))[..., 0].mean(axis=1))

    children = take_policies(generation.candidates.policies, slice(1, None))  # the first is the greedy actor
    assert (judge(children) > judge(parents)).mean() > 0.95


def test_too_small_a_population_is_refused():
    with pytest.raises(UserError, match="enlarge"):
        make_small(replace(SMALL, population=2, iso_line=IsoLineShare(share=0.5)))


def test_cells_that_do_not_fit_the_descriptors_are_refused():
    with pytest.raises(UserError, match="2 descriptors, but cells is"):
        make_small(replace(SMALL, cells=(5, 5, 5)))


@pytest.mark.parametrize("task", [PointMaze(), AntTrap()])
def test_footprint_is_what_is_allocated(task):
    config = replace(preset("paper", task.spec.name), replay_size=20_000)
    algorithm, foreseen = QDPG(task.spec, config, 0), footprint(task.spec, config, "qd-pg")
    replay = algorithm.replay
    held = replay.rows.nbytes + replay.descriptors.nbytes + replay.novelty_gradients.nbytes
    assert held <= foreseen.replay < 1.1 * (held + 5 * replay.capacity)
    assert foreseen.checkpoint >= sum(array.nbytes for array in algorithm.state().values())


@pytest.mark.long
def test_q_pg_learns_an_open_way():
    """A goal with no wall before it: an elite must find it from most starts, which none does by chance."""
    task = PointMaze(goal=(-0.6, -0.7), horizon=60)
    tuned = preset("tuned", "point-maze")
    config = replace(
        tuned,
        hidden=(32, 32),
        candidate_noise=0.3,
        quality=replace(tuned.quality, rate_range=0.0, exploration_episodes=0, exploration_noise=0.0),
    )
    algorithm, player = make_small(config, 0, "q-pg", task), make_player(task)
    while algorithm.steps < 5000:
        advance(algorithm, player=player)
    number = len(algorithm.elites)
    played = player.play(
        algorithm.elites.policies(np.repeat(np.arange(number), 20)), np.tile(np.arange(1000, 1020), number)
    )
    best = played.fitness.reshape(number, 20).mean(axis=1).max()
    assert best > -15, "a straight way costs about -2.5, the best without gradient steps -25 to -21, standing still -37"


@pytest.mark.long
def test_d_pg_explores_more_than_its_noise_does():
    """The same run without gradient steps, which replays copies of the first policies, fills fewer cells."""
    filled, task = {}, PointMaze()
    once = ArchiveSettings(parents_start=True)  # nobody plays again, so that all steps are those of offspring
    small = replace(preset("tuned", "point-maze"), archive=once, hidden=(32, 32), initial_policies=4)
    for ratio in (0.0, 0.5):
        config = replace(small, gradient_steps_ratio=ratio)
        algorithm, player = make_small(config, 0, "d-pg", task), make_player(task)
        while algorithm.steps < 12_800:
            advance(algorithm, player=player)
        filled[ratio] = len(algorithm.elites)
    assert filled[0.5] >= filled[0.0] + 3, filled


def test_policies_that_saw_scaled_observations_are_played_with_real_ones():
    task = AntTrap(horizon=20)
    config, player = replace(SMALL, population=4, scaled=True, gradient_steps_ratio=0.0), make_player(task)
    algorithm = make_small(config, 0, task=task)
    generation, _ = advance(algorithm, player=player)
    policies = generation.candidates.policies
    assert policies.weights[0].shape[1] == 113
    assert algorithm.replay.observation_size == 29  # the others are always zero
    assert not policies.weights[0][:, 29:].any()
    assert np.abs(policies.weights[0][:, 0]).max() < 1 / 64 / 29**0.5  # x is divided by 64
    # Scaled for improvement, not improved, and scaled back, policies are their parents to the last bit.
    parents = flatten_population(policies).tolist()
    assert all(child in parents for child in flatten_population(algorithm.ask().candidates.policies).tolist())
    improved = make_small(replace(config, gradient_steps_ratio=0.5), 0, task=task)
    advance(improved, player=player)
    assert not any(child in parents for child in flatten_population(improved.ask().candidates.policies).tolist())


def test_rewards_may_be_shaped_by_potential():
    task = PointMaze(goal=(0.0, -0.75), horizon=50)  # in the way, so that some episodes end
    plain, shaped = (make_small(replace(SMALL, quality=Objective(shaped=on)), 3, task=task) for on in (False, True))
    generation = plain.ask()
    rollouts = generation.play(make_player(task))
    for algorithm in (plain, shaped):
        algorithm.tell(generation, rollouts)
    first = 0
    for length, ends in zip(rollouts.lengths, rollouts.terminated, strict=True):
        rows = slice(first, first + length)
        reward, gained = plain.replay.rows[rows, REWARD], shaped.replay.rows[rows, REWARD]
        expected = reward - np.append(reward[0], reward[:-1])
        expected[-1] -= 0.99 * reward[-1] * ends
        np.testing.assert_allclose(gained, expected, atol=1e-5)
        first += length + 1
    assert rollouts.terminated.any()


def test_a_part_of_the_reward_may_be_kept_from_the_critics():
    quality = Objective(reward_offset=0.25)
    plain, less = make_small(seed=3), make_small(replace(SMALL, quality=quality), 3)
    rollouts = made_up_rollouts(TASK.spec, 5)
    for algorithm in (plain, less):
        algorithm.tell(plain.ask(), rollouts)
    slots = plain.replay.playable_slots()
    np.testing.assert_allclose(less.replay.rows[slots, REWARD], plain.replay.rows[slots, REWARD] - 0.25, rtol=1e-5)
    np.testing.assert_array_equal(less.elites.data()["objective"], plain.elites.data()["objective"])


def test_a_part_of_the_novelty_may_be_kept_from_the_critics_but_not_from_those_of_the_sum():
    found = []
    for name in ("qd-pg", "qd-pg-sum"):
        offset = Objective(reward_offset=0.25)
        algorithm = make_small(replace(SMALL, diversity=offset, quality=offset), name=name)
        algorithm.tell(make_small().ask(), made_up_rollouts(TASK.spec, 5))
        algorithm.refresh_novelty()
        slots = algorithm.replay.playable_slots()
        found.append(algorithm.replay.rows[slots, NOVELTY] - plain_novelty(algorithm)[slots])
    np.testing.assert_allclose(found[0], -0.25, atol=1e-6)
    np.testing.assert_allclose(found[1], 0.0, atol=1e-6)  # it is taken off the environment's reward already


def test_shaped_novelty_is_known_of_the_last_states_too():
    algorithm = make_small(replace(SMALL, diversity=Objective(shaped=True)))
    algorithm.tell(make_small().ask(), made_up_rollouts(TASK.spec, 5))
    algorithm.refresh_novelty()
    held = len(algorithm.replay)
    np.testing.assert_allclose(algorithm.replay.rows[:held, NOVELTY], plain_novelty(algorithm), rtol=1e-5, atol=1e-6)
    diversity, quality = algorithm.emitters
    assert (diversity.shaping, quality.shaping) == (0.99, None)


def test_a_sub_trajectory_of_each_episode_enters_the_replay_memory():
    task = PointMaze(goal=(0.0, -0.75), horizon=50)  # in the way, so that some episodes end
    algorithm = make_small(replace(GUIDED, stored_steps=10, roll_in_steps=15, initial_policies=30), task=task)
    player = make_player(task)
    for _ in range(3):
        generation = algorithm.ask()
        rollouts, before = generation.play(player), algorithm.replay.inserted
        algorithm.tell(generation, rollouts)
        candidates, row = len(generation.candidates), before
        for n, length in enumerate(rollouts.lengths):
            explores = n >= candidates
            own = length - generation.exploration.roll_in_steps[n - candidates] if explores else 0
            stored = min(max(own, 10), length)
            states = algorithm.replay.rows[row : row + stored + 1, :2]
            ways = np.lib.stride_tricks.sliding_window_view(rollouts.observations[n, : length + 1], stored + 1, axis=0)
            matches = np.flatnonzero((ways == states.T).all(axis=(1, 2)))
            assert len(matches), "successive steps of the episode"
            if explores or rollouts.terminated[n]:
                assert matches[-1] == length - stored, "those before the end"
            assert (algorithm.replay.rows[row + stored - 1, CONTINUES] == 0) == rollouts.terminated[n]
            row += stored + 1
        assert row == algorithm.replay.inserted
        assert algorithm.gradient_steps() == int(0.055 * (row - before - len(rollouts.seeds)))
    assert algorithm.steps > algorithm.replay.transitions


@pytest.mark.parametrize("name", ["qd-pg", "q-pg", "d-pg", "qd-pg-sum"])
def test_a_state_can_be_taken_up(name):
    first, second = make_small(name=name), make_small(name=name)
    first.tell(first.ask(), made_up_rollouts(TASK.spec, 5))
    second.load(first.state())
    assert second.state().keys() == first.state().keys()
    for key, array in first.state().items():
        np.testing.assert_array_equal(second.state()[key], array, err_msg=key)
    assert (second.generation, second.steps) == (1, 30)


def test_ablations_play_exactly_their_own_exploration_episodes():
    for name, sigmas in (("q-pg", [0.2] * 2), ("d-pg", [0.7] * 3), ("qd-pg-sum", [0.2] * 2)):
        algorithm = make_small(replace(EXPLORING, gradient_steps_ratio=0.0), name=name)
        algorithm.tell(algorithm.ask(), made_up_rollouts(TASK.spec, 5))
        assert algorithm.ask().exploration.sigma.tolist() == pytest.approx(sigmas), name
