"""QD-PG against Algorithm 1 and Table 3 of the paper, and whether it learns."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from qdpg.algorithms.algorithm import Stopped
from qdpg.algorithms.qd_pg import OBJECTIVES, QDPG, Config, footprint, preset
from qdpg.errors import UserError
from qdpg.learn.networks import apply_mlp, flatten_population
from qdpg.learn.steering import steer
from qdpg.learn.variation import iso_line
from qdpg.memory.replay import CONTINUES, NOVELTY, REWARD
from qdpg.memory.visited import Visited
from qdpg.play.player import make_player
from qdpg.play.rollouts import find_arrivals
from qdpg.tasks.ant_trap import AntTrap
from qdpg.tasks.point_maze import PointMaze

SMALL = Config(hidden=(16, 16), batch_size=32, gradient_steps_ratio=0.5, replay_size=5000, actor_rate=1e-3)
TASK = PointMaze(horizon=50)


def advance(algorithm, player, generations=1):
    for _ in range(generations):
        generation = algorithm.ask()
        told = algorithm.tell(generation, generation.play(player))
    return generation, told


@pytest.fixture
def started():
    """An algorithm after two generations."""
    algorithm, player = QDPG(TASK.spec, SMALL, seed=1), make_player(TASK)
    advance(algorithm, player, 2)
    return algorithm, player


def test_paper_preset_is_table_3():
    point, ant = preset("paper", "point-maze"), preset("paper", "ant-trap")
    table = {
        "optimiser": ("sgd", "sgd"),
        "actor_rate": (6e-3, 3e-4),
        "critic_rate": (6e-3, 3e-4),
        "discount": (0.99, 0.99),
        "replay_size": (10**6, 5 * 10**5),
        "hidden": ((64, 32), (256, 256)),
        "batch_size": (256, 256),
        "softness": (0.005, 0.005),
        "delay": (2, 2),
        "gradient_steps_ratio": (4, 0.1),
        "visited_size": (10_000, 10_000),
        "visited_threshold": (1e-4, 0.1),
        "neighbours": (10, 10),
        "cells": ((5, 5), (7, 7)),
        "population": (4, 10),
    }
    for name, (at_point, at_ant) in table.items():
        assert (getattr(point, name), getattr(ant, name)) == (at_point, at_ant), name
    for config in (point, ant):
        off = (config.genetic_share, config.greedy_actor, config.exploration_noise, config.reward_scale)
        assert off == (0.0, False, 0.0, 1.0)
    assert preset("paper", "ant-maze") == ant


def test_ask_changes_nothing_and_is_repeatable(started):
    algorithm, _ = started
    before = {name: array.copy() for name, array in algorithm.state().items()}
    first, second = algorithm.ask(), algorithm.ask()
    np.testing.assert_array_equal(flatten_population(first.population), flatten_population(second.population))
    np.testing.assert_array_equal(first.seeds, second.seeds)
    for name, array in algorithm.state().items():
        np.testing.assert_array_equal(array, before[name], err_msg=name)


def test_all_steps_count_from_the_first_population_on(started):
    algorithm, _ = started
    assert algorithm.generation == 2
    assert algorithm.steps == 2 * 4 * 50
    assert algorithm.replay.transitions == algorithm.steps


def test_first_half_for_diversity_second_for_quality(started):
    """Offspring of a generation with one objective's critics frozen at zero gradient do not move."""
    algorithm, _ = started
    config = replace(SMALL, population=5)
    algorithm.config = config
    generation = algorithm.ask()
    assert len(generation.population.biases[0]) == 5
    assert list(generation.learned) == ["diversity", "quality"]


def test_scouts_explore_and_are_never_elites():
    config = replace(SMALL, population=5, scouts=3, scout_noise=0.7, exploration_noise=0.1)
    algorithm, player = QDPG(TASK.spec, config, seed=1), make_player(TASK)
    advance(algorithm, player)
    generation = algorithm.ask()
    assert generation.noise.sigma.tolist() == pytest.approx([0.1] * 5 + [0.7] * 3)
    assert len(generation.candidates().biases[0]) == 5
    weights = np.asarray(generation.population.weights[0])
    np.testing.assert_array_equal(weights[5:], weights[[0, 1, 0]])  # of the two improved for diversity
    steps = algorithm.steps
    advance(algorithm, player, 10)
    assert algorithm.replay.transitions == algorithm.steps == steps + 10 * 8 * TASK.spec.horizon
    assert set(algorithm.elites.data()["noise"].tolist()) == {np.float32(0.1)}


def test_scouts_of_quality_have_a_noise_of_their_own_and_none_enters_visited():
    config = replace(SMALL, population=4, scouts=1, scout_noise=0.7, quality_scouts=2, quality_noise=0.2)
    algorithm, player = QDPG(TASK.spec, config, seed=1), make_player(TASK)
    advance(algorithm, player)
    generation = algorithm.ask()
    assert generation.noise.sigma.tolist() == pytest.approx([0.0] * 4 + [0.7] + [0.2] * 2)
    weights = np.asarray(generation.population.weights[0])
    np.testing.assert_array_equal(weights[4:], weights[[0, 2, 3]])
    rollouts = generation.play(player)
    expected = Visited(2, config.visited_size, config.visited_threshold, config.neighbours)
    expected.set(algorithm.visited.descriptors)
    judged = rollouts.first(4)
    expected.add(judged.descriptors[:, :-1][judged.played()])
    algorithm.tell(generation, rollouts)
    np.testing.assert_array_equal(algorithm.visited.descriptors, expected.descriptors)


def test_guided_scouts_are_greedy_actors_that_elites_have_led_somewhere():
    config = replace(SMALL, population=4, scouts=1, quality_scouts=3, guided=True, guided_steps=5, greedy_actor=True)
    algorithm, player = QDPG(TASK.spec, config, seed=1), make_player(TASK)
    assert algorithm.ask().lead is None
    advance(algorithm, player)
    generation = algorithm.ask()
    assert (len(generation.seeds), generation.scouts) == (8, 4)
    vectors, elites = flatten_population(generation.population), algorithm.elites.data()
    np.testing.assert_array_equal(vectors[4:8], vectors[[0, 2, 2, 2]])  # the greedy actors
    assert generation.lead.steps[:4].tolist() == [0] * 4
    for leader, steps in zip(generation.lead.policies[4:], generation.lead.steps[4:], strict=True):
        assert 0 < steps <= max(elites["length"][(elites["solution"] == vectors[leader]).all(axis=1)])
    assert len(set(generation.lead.steps[4:])) > 1
    rollouts = generation.play(player)
    np.testing.assert_array_equal(rollouts.lengths[4:], np.minimum(generation.lead.steps[4:] + 5, TASK.spec.horizon))
    algorithm.tell(generation, rollouts)
    assert algorithm.replay.transitions == algorithm.steps
    own = player.play(generation.candidates(), generation.seeds[:4])
    np.testing.assert_array_equal(own.fitness, rollouts.fitness[:4])


def test_balanced_learning_leaves_out_what_there_is_too_much_of():
    algorithm, player = QDPG(TASK.spec, replace(SMALL, balance=1.0), seed=1), make_player(TASK)
    advance(algorithm, player, 3)
    view, cells = algorithm._view(), algorithm.elites.archive.index_of(algorithm.replay.descriptors)
    slots = np.asarray(view.playable)[: int(view.number)]
    held = np.unique(cells[algorithm.replay.playable_slots()], return_counts=True)
    _, sampled = np.unique(cells[slots], return_counts=True)
    due = algorithm.replay.transitions / len(held[0])
    assert held[1].max() > due + 1 > sampled.max()
    np.testing.assert_array_equal(sampled, np.minimum(held[1], np.ceil(due)))
    np.testing.assert_array_equal(slots, np.asarray(algorithm._view().playable)[: len(slots)])  # asked again, the same


def test_policies_for_quality_and_bred_ones_start_as_their_parents_did():
    config = replace(SMALL, population=6, genetic_share=1 / 3, parents_start=True, initial_policies=20)
    algorithm = QDPG(TASK.spec, config, seed=1)
    advance(algorithm, make_player(TASK))
    seeds, stored = algorithm.ask().seeds, set(algorithm.elites.data()["seed"].tolist())
    assert set(seeds[2:].tolist()) <= stored
    assert not set(seeds[:2].tolist()) & stored


def test_diversity_rewards_are_fresh(started):
    algorithm, player = started
    advance(algorithm, player, 1)
    algorithm.ask()
    slots = algorithm.replay.playable_slots()
    expected = algorithm.visited.novelty(algorithm.replay.descriptors[slots])
    np.testing.assert_array_equal(algorithm.replay.rows[slots, NOVELTY], expected)


def test_novelty_may_count_from_the_least_there_is():
    algorithm, player = (
        QDPG(TASK.spec, replace(SMALL, novelty_deducted=True, visited_threshold=0.1), seed=1),
        make_player(TASK),
    )
    advance(algorithm, player, 2)
    algorithm.ask()
    slots = algorithm.replay.playable_slots()
    novelty = algorithm.visited.novelty(algorithm.replay.descriptors[slots])
    np.testing.assert_array_equal(algorithm.replay.rows[slots, NOVELTY], novelty - novelty.min())
    assert novelty.min() > 0


@pytest.mark.parametrize(("name", "objective"), [("q-pg", "quality"), ("d-pg", "diversity"), ("qd-pg-sum", "sum")])
def test_ablations_have_one_objective(name, objective):
    algorithm = QDPG(TASK.spec, SMALL, 0, name)
    advance(algorithm, make_player(TASK))
    assert list(algorithm.ask().learned) == [objective]
    assert OBJECTIVES[name][objective] == {"quality": (1, 0), "diversity": (0, 1), "sum": (1, 1)}[objective]


def test_offspring_are_better_in_the_eyes_of_their_critic():
    """With frozen critics, climbing raises Q1 of nearly every offspring."""
    config = replace(SMALL, greedy_actor=True, greedy_steps=50, population=22, initial_policies=40)
    algorithm, player = QDPG(TASK.spec, config, 0, "q-pg"), make_player(TASK)
    advance(algorithm, player, 3)
    rng = np.random.default_rng([0, algorithm.generation])
    parents = algorithm.elites.sample(rng, 21)
    generation = algorithm.ask()
    critic = generation.learned["quality"].critics.online
    states = np.broadcast_to(algorithm.replay.rows[algorithm.replay.playable_slots()[:500], :2], (21, 500, 2))

    def judge(population):
        acted = jax.vmap(apply_mlp)(population, states)
        return np.asarray(apply_mlp(critic[0], jnp.concatenate([states, acted], axis=-1))[..., 0].mean(axis=1))

    children = jax.tree.map(lambda leaf: leaf[1:], generation.population)  # the first is the greedy actor
    assert (judge(children) > judge(parents)).mean() > 0.95


def test_stopping_gives_up_the_generation(started):
    algorithm, _ = started
    before = algorithm.generation
    with pytest.raises(Stopped):
        algorithm.ask(stop=lambda: True)
    assert algorithm.generation == before


def test_iso_line_draws_one_line_per_offspring():
    algorithm = QDPG(TASK.spec, SMALL, 0)
    advance(algorithm, make_player(TASK))
    rng = np.random.default_rng(0)
    a, b = algorithm.elites.sample(rng, 50), algorithm.elites.sample(rng, 50)
    x, y = flatten_population(a), flatten_population(b)
    pure_line = flatten_population(iso_line(a, b, np.random.default_rng(1), 0.0, 0.5))
    moved = np.abs(y - x).max(axis=1) > 0
    slope = ((pure_line - x) / np.where(y == x, 1, y - x))[moved]
    assert np.ptp(slope, axis=1).max() < 0.05  # all parameters of an offspring move by the same share
    pure_iso = flatten_population(iso_line(a, b, np.random.default_rng(1), 0.1, 0.0))
    assert (pure_iso - x).std() == pytest.approx(0.1, rel=0.02)


def test_too_small_a_population_is_refused():
    with pytest.raises(UserError, match="enlarge"):
        QDPG(TASK.spec, replace(SMALL, population=2, genetic_share=0.5), 0)


def test_no_starts_are_refused():
    with pytest.raises(UserError, match="at least one"):
        QDPG(TASK.spec, replace(SMALL, starts=0), 0)


@pytest.mark.parametrize("setting", ["balance", "guided_steps", "arrived", "window", "practice"])
def test_what_cannot_be_negative_is_refused(setting):
    with pytest.raises(UserError, match=f"{setting} is -1; give 0"):
        QDPG(TASK.spec, replace(SMALL, **{setting: -1}), 0)


def test_cells_that_do_not_fit_the_descriptors_are_refused():
    with pytest.raises(UserError, match="2 descriptors, but cells is"):
        QDPG(TASK.spec, replace(SMALL, cells=(5, 5, 5)), 0)


@pytest.mark.parametrize("task", [PointMaze(), AntTrap()])
def test_footprint_is_what_is_allocated(task):
    config = replace(preset("paper", task.spec.name), replay_size=20_000)
    algorithm = QDPG(task.spec, config, 0)
    foreseen = footprint(task.spec, config, "qd-pg")
    replay = algorithm.replay
    held = replay.rows.nbytes + replay.descriptors.nbytes + replay.slopes.nbytes
    assert held <= foreseen.replay < 1.1 * (held + 5 * replay.capacity)
    assert foreseen.checkpoint >= sum(array.nbytes for array in algorithm.state().values())


def test_q_pg_learns_an_open_way():
    """A goal with no wall before it: an elite must find it from most starts, which none does by chance."""
    task = PointMaze(goal=(-0.6, -0.7), horizon=60)
    config = replace(preset("tuned", "point-maze"), hidden=(32, 32), rate_decades=0.0, exploration_noise=0.3)
    algorithm, player = QDPG(task.spec, config, 0, "q-pg"), make_player(task)
    while algorithm.steps < 5000:
        advance(algorithm, player)
    number = len(algorithm.elites)
    played = player.play(
        algorithm.elites.policies(np.repeat(np.arange(number), 20)), np.tile(np.arange(1000, 1020), number)
    )
    best = played.fitness.reshape(number, 20).mean(axis=1).max()
    assert best > -15, "a straight way costs about -2.5, the best without gradient steps -25 to -21, standing still -37"


def test_d_pg_explores_more_than_its_noise_does():
    """The same run without gradient steps, which replays copies of the first policies, fills fewer cells."""
    filled = {}
    for ratio in (0.0, 0.5):
        config = replace(preset("tuned", "point-maze"), gradient_steps_ratio=ratio, hidden=(32, 32), initial_policies=4)
        algorithm, player = QDPG(PointMaze().spec, config, 0, "d-pg"), make_player(PointMaze())
        while algorithm.steps < 12_800:
            advance(algorithm, player)
        filled[ratio] = len(algorithm.elites)
    assert filled[0.5] >= filled[0.0] + 3, filled


def test_policies_that_saw_scaled_observations_are_played_with_real_ones():
    task = AntTrap(horizon=20)
    config = replace(SMALL, scaled=True, gradient_steps_ratio=0.0)
    algorithm, player = QDPG(task.spec, config, seed=0), make_player(task)
    generation, _ = advance(algorithm, player)
    assert generation.population.weights[0].shape[1] == 113
    assert algorithm.replay.observation_size == 29  # the others are always zero
    assert not generation.population.weights[0][:, 29:].any()
    assert np.abs(generation.population.weights[0][:, 0]).max() < 1 / 64 / 29**0.5  # x is divided by 64
    # Scaled for improvement, not improved, and scaled back, policies are their parents to the last bit.
    parents = flatten_population(generation.population).tolist()
    assert all(child in parents for child in flatten_population(algorithm.ask().population).tolist())
    improved = QDPG(task.spec, replace(config, gradient_steps_ratio=0.5), seed=0)
    advance(improved, player)
    assert not any(child in parents for child in flatten_population(improved.ask().population).tolist())


def test_rewards_may_be_stored_as_gains():
    task = PointMaze(goal=(0.0, -0.75), horizon=50)  # in the way, so that some episodes end
    plain, shaped = (QDPG(task.spec, replace(SMALL, quality_shaped=on), seed=3) for on in (False, True))
    rollouts = make_player(task).play(plain.ask().population, np.arange(4))
    for algorithm in (plain, shaped):
        algorithm.tell(algorithm.ask(), rollouts)
    first = 0
    for length, ends in zip(rollouts.lengths, rollouts.terminated, strict=True):
        rows = slice(first, first + length)
        reward, gained = plain.replay.rows[rows, REWARD], shaped.replay.rows[rows, REWARD]
        before = np.append(reward[0], reward[:-1])
        expected = reward - before
        expected[-1] -= SMALL.discount * reward[-1] * ends
        np.testing.assert_allclose(gained, expected, atol=1e-5)
        first += length + 1
    assert rollouts.terminated.any()


def test_a_part_of_the_reward_may_be_kept_from_the_critics():
    plain, less = (QDPG(TASK.spec, replace(SMALL, deducted=pay), seed=3) for pay in (0.0, 0.25))
    rollouts = make_player(TASK).play(plain.ask().population, np.arange(4))
    for algorithm in (plain, less):
        algorithm.tell(algorithm.ask(), rollouts)
    slots = plain.replay.playable_slots()
    np.testing.assert_allclose(less.replay.rows[slots, REWARD], plain.replay.rows[slots, REWARD] - 0.25, rtol=1e-5)
    np.testing.assert_array_equal(less.elites.data()["objective"], plain.elites.data()["objective"])


def test_the_worst_of_several_starts_counts():
    algorithm, player = QDPG(TASK.spec, replace(SMALL, starts=3, scouts=1), 0), make_player(TASK)
    for _ in range(2):
        generation = algorithm.ask()
        rollouts = generation.play(player)
        fitness = rollouts.fitness[:12].reshape(3, 4)
        algorithm.tell(generation, rollouts)
        assert len(generation.candidates().biases[0]) == 4
        vectors = flatten_population(generation.population)[:12].reshape(3, 4, -1)
        assert (vectors == vectors[0]).all()
        assert len(set(generation.seeds)) == len(generation.seeds)
        elites = algorithm.elites.data()
        for vector, worst in zip(vectors[0], fitness.min(axis=0), strict=True):
            stored = elites["objective"][(elites["solution"] == vector).all(axis=1)]
            assert (stored == worst).all()
    assert algorithm.steps == algorithm.replay.transitions == (12 + 13) * 50


def test_the_diversity_gradient_may_have_a_share_of_quality():
    """With the environment's reward alone in it, diversity learns what quality learns from the same memory."""
    learned = []
    for changes, name in (({"diversity_quality": 1.0, "novelty_scale": 0.0}, "d-pg"), ({}, "q-pg")):
        algorithm = QDPG(TASK.spec, replace(SMALL, **changes), 0, name)
        advance(algorithm, make_player(TASK))
        (learner,) = algorithm.ask().learned.values()
        learned.append(jax.tree.leaves(learner.critics.online))
    for a, b in zip(*learned, strict=True):
        np.testing.assert_array_equal(a, b)


STEERED = replace(SMALL, greedy_actor=True, steered=2, population=8, genetic_share=0.25, scouts=2, guided=True)


def test_steered_policies_are_the_greedy_one_told_where_to_go():
    algorithm, player = QDPG(TASK.spec, STEERED, seed=1), make_player(TASK)
    advance(algorithm, player, 2)
    generation, stored = algorithm.ask(), algorithm.elites.data()["steering"]
    steerings, learner = generation.further["steering"], generation.learned["diversity"]
    assert steerings.shape == (8, 6)
    assert learner.greedy.online.sizes[0] == 4  # position and direction
    expected = flatten_population(steer(learner.greedy.online, steerings[:2], algorithm.steerer.bearings))
    np.testing.assert_array_equal(flatten_population(generation.population)[:2], expected)
    assert not steerings[3].any()  # the greedy policy for quality
    for inherited in steerings[[2, 4, 5, 6, 7]]:
        assert inherited.tolist() in stored.tolist()
    assert not any(bred.tolist() in stored.tolist() for bred in steerings[:2])
    scouts = flatten_population(generation.population)[8:10]
    first, hidden = (
        flatten_population(jax.tree.map(lambda x: x[:, :2] if x.shape[1:] == (4, 16) else x, learner.greedy.online)),
        16,
    )
    assert not (scouts == first).all(axis=1).any()  # told something too
    np.testing.assert_array_equal(
        scouts[:, : 2 * hidden], first[0, : 2 * hidden] * np.ones((2, 1))
    )  # everywhere the same
    algorithm.tell(generation, generation.play(player))
    known = algorithm.elites.data()
    for solution, steering in zip(known["solution"], known["steering"], strict=True):
        row = (flatten_population(generation.candidates()) == solution).all(axis=1)
        if row.any():
            assert steering.tolist() == steerings[row][0].tolist()


def test_heirs_are_elites_told_something_else():
    """An heir differs from the elite it comes from by what it is told more, in the way in which it is told things."""
    config = replace(STEERED, population=12, genetic_share=1 / 6, steered=5, heirs=True)
    algorithm, player = QDPG(TASK.spec, config, seed=2), make_player(TASK)
    advance(algorithm, player)
    assert not algorithm.elites.data()["told"].any()  # random policies see no directions
    bearings, numbers, changed = algorithm.steerer.bearings, [], 0
    for _ in range(6):
        elites, generation = algorithm.elites.data(), algorithm.ask()
        population, steerings = generation.population, generation.further["steering"]
        told, policy = generation.further["told"], generation.learned["diversity"].greedy.online
        numbers.append(min(round(5 * len(elites["index"]) / 25), 4))
        assert (told[: 5 - numbers[-1]] == np.asarray(policy.weights[0])[0, 2:].ravel()).all()
        assert len(told) == len(steerings) == len(generation.candidates().biases[0]) == 12
        for heir in range(12 - numbers[-1], 12):
            parents = np.nonzero((elites["told"] == told[heir]).all(axis=1))[0]
            differences = []
            for parent in parents:
                more = steerings[heir] - elites["steering"][parent]
                slopes, entry = more[2:].reshape(2, 2), told[heir].reshape(2, 16)
                first = bearings.factors[:, None] * (slopes.T @ entry)
                before = algorithm.elites.policies(np.array([parent]))
                weights, biases = (layer[heir] for layer in (population.weights[0], population.biases[0]))
                change = np.abs(weights - before.weights[0][0] - first).max()
                shift = biases - before.biases[0][0] - (more[:2] + slopes @ bearings.shifts) @ entry
                differences.append(max(change, np.abs(shift).max()))
                changed += differences[-1] < 1e-5 and np.abs(more).max() > 0.01 and entry.any()
            assert min(differences) < 1e-5
        algorithm.tell(generation, generation.play(player))
    assert changed
    full = replace(config, cells=(1, 1))  # one cell, filled at once: all but one of those steered are heirs
    algorithm = QDPG(TASK.spec, full, seed=2)
    advance(algorithm, player)
    assert algorithm._count_heirs() == 4


def test_novelty_points_the_way_for_the_others():
    algorithm, player = QDPG(TASK.spec, STEERED, seed=1), make_player(TASK)
    advance(algorithm, player, 2)
    algorithm.ask()
    slots = algorithm.replay.playable_slots()
    expected = algorithm.visited.slope(algorithm.replay.descriptors[slots])
    np.testing.assert_array_equal(algorithm.replay.slopes[slots], expected)
    assert np.abs(expected).max() > 0.5


def test_practice_comes_first_and_is_all_scouts():
    config = replace(STEERED, practice=1000, practice_scouts=6, guided_steps=12, scout_noise=0.4)
    algorithm, player = QDPG(TASK.spec, config, seed=1), make_player(TASK)
    advance(algorithm, player)
    before = algorithm.elites.data()["solution"]
    while algorithm.steps < 1000:
        generation, told = advance(algorithm, player)
        assert len(generation.seeds) == generation.scouts == 6
        assert told["new_cells"] == told["improved_cells"] == 0
        assert (generation.lead.steps <= 12).all()
        np.testing.assert_array_equal(generation.lead.limits, generation.lead.steps + 12)
        assert generation.noise.sigma.tolist() == pytest.approx([0.4] * 6)
    np.testing.assert_array_equal(algorithm.elites.data()["solution"], before)
    assert algorithm.replay.transitions == algorithm.steps
    assert len(algorithm.ask().candidates().biases[0]) == 8


def test_practice_teaches_all_directions():
    """After 3,000 steps of practice, policies steered straight on go where they are told."""
    task = PointMaze(horizon=40)
    config = replace(
        STEERED,
        practice=3000,
        guided_steps=20,
        scout_noise=0.5,
        novelty_scale=10.0,
        diversity_discount=0.9,
        batch_size=64,
    )
    algorithm, player = QDPG(task.spec, config, 0), make_player(task)
    while algorithm.steps < config.practice:
        advance(algorithm, player)
    angles = np.linspace(0, 2 * np.pi, 16, endpoint=False)
    steerings = np.zeros((16, 6), np.float32)
    steerings[:, 0], steerings[:, 1] = np.cos(angles), np.sin(angles)
    rollouts = player.play(algorithm.improver.steer(algorithm._state.learners["diversity"], steerings), np.arange(16))
    moved = rollouts.descriptors[:, 2] - rollouts.descriptors[:, 0]  # in two steps no wall is reached
    there = (moved * steerings[:, :2]).sum(axis=1) / 0.2
    assert np.median(there) > 0.8, there
    assert (there > 0).mean() > 0.9, there


def test_only_a_greedy_actor_is_steered():
    with pytest.raises(UserError, match="greedy_actor=true"):
        QDPG(TASK.spec, replace(STEERED, greedy_actor=False), 0)
    with pytest.raises(UserError, match="give guided_steps"):
        QDPG(TASK.spec, replace(STEERED, practice=100), 0)
    with pytest.raises(UserError, match="a policy per objective"):
        QDPG(TASK.spec, replace(STEERED, steered=5), 0)
    assert QDPG(TASK.spec, replace(STEERED, steered=4), 0)._shares() == [5, 1]


def test_only_what_is_symmetric_is_turned():
    with pytest.raises(UserError, match="give symmetric=false"):
        QDPG(TASK.spec, replace(STEERED, symmetric=True), 0)
    turn = (((1, -1), (0, 1)), ((1, -1), (0, 1)))
    spec = replace(TASK.spec, quarter_turn=turn)
    with pytest.raises(UserError, match="diversity_quality=0"):
        QDPG(spec, replace(STEERED, symmetric=True, diversity_quality=0.5), 0)
    algorithm = QDPG(spec, replace(STEERED, symmetric=True), 0)
    assert algorithm.improver.settings("diversity").quarter_turn == turn
    assert algorithm.improver.settings("quality").quarter_turn == ()


def test_ablations_without_diversity_have_nothing_to_steer():
    algorithm = QDPG(TASK.spec, replace(STEERED, heirs=True), 0, "q-pg")
    advance(algorithm, make_player(TASK), 2)
    assert "steering" not in algorithm.elites.data()
    assert not algorithm.ask().further


def test_a_window_of_each_episode_enters_the_replay_memory():
    task = PointMaze(goal=(0.0, -0.75), horizon=50)  # in the way, so that some episodes end
    config = replace(STEERED, window=10, guided_steps=15, initial_policies=30)
    algorithm, player = QDPG(task.spec, config, seed=1), make_player(task)
    for _ in range(3):
        generation = algorithm.ask()
        rollouts, before = generation.play(player), algorithm.replay.inserted
        algorithm.tell(generation, rollouts)
        judged, row = len(rollouts.seeds) - generation.scouts, before
        for n, length in enumerate(rollouts.lengths):
            own = length - generation.lead.steps[n] if n >= judged else 0
            stored = min(max(own, 10), length)
            states = algorithm.replay.rows[row : row + stored + 1, :2]
            ways = np.lib.stride_tricks.sliding_window_view(rollouts.observations[n, : length + 1], stored + 1, axis=0)
            matches = np.flatnonzero((ways == states.T).all(axis=(1, 2)))
            assert len(matches), "successive steps of the episode"
            if n >= judged or rollouts.terminated[n]:
                assert matches[-1] == length - stored, "those before the end"
            ends = algorithm.replay.rows[row + stored - 1, CONTINUES] == 0
            assert ends == rollouts.terminated[n]
            row += stored + 1
        assert row == algorithm.replay.inserted
        assert algorithm._gradient_steps() == int(0.5 * (row - before - len(rollouts.seeds)))
    assert algorithm.steps > algorithm.replay.transitions


def test_guides_lead_and_scouts_teach_only_on_the_way():
    """With `arrived`, what happens after an episode has come to its end place counts no more."""
    config = replace(STEERED, arrived=0.02, window=5, guided_steps=30, initial_policies=20)
    algorithm, player = QDPG(TASK.spec, config, seed=1), make_player(TASK)
    cut = 0
    for _ in range(4):
        elites = algorithm.elites.data()
        generation = algorithm.ask()
        rollouts, before = generation.play(player), algorithm.replay.inserted
        algorithm.tell(generation, rollouts)
        arrivals = find_arrivals(rollouts, TASK.spec, 0.02)
        judged, row = len(rollouts.seeds) - generation.scouts, before
        for n, length in enumerate(rollouts.lengths):
            led = generation.lead.steps[n] if n >= judged else 0
            last = min(max(led, arrivals[n]) + 5, length)
            row += (last - led if n >= judged else min(5, length)) + 1
            cut += n >= judged and last < length
        assert row == algorithm.replay.inserted
        if generation.lead is not None:
            vectors = flatten_population(generation.population)
            for leader, steps in zip(generation.lead.policies[judged:], generation.lead.steps[judged:], strict=True):
                same = (elites["solution"] == vectors[leader]).all(axis=1)
                assert 0 < steps <= elites["arrival"][same].max()
        for index, seed in zip(algorithm.elites.data()["arrival"][:, 0], algorithm.elites.data()["seed"], strict=True):
            if (rollouts.seeds[:judged] == seed).any():
                assert index == arrivals[:judged][rollouts.seeds[:judged] == seed][0]
    assert cut, "no scout ever arrived anywhere"
