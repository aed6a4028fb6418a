"""Direction-conditioned QD-PG: direction fields, warm-up, what is stored and what is learned from."""

from dataclasses import replace

import numpy as np
import pytest
from small_qd_pg import PLAYER, TASK, advance

from qdpg.algorithms import dc_qd_pg
from qdpg.algorithms.dc_qd_pg import DCQDPG, footprint
from qdpg.algorithms.dc_qd_pg_presets import preset
from qdpg.algorithms.dc_qd_pg_settings import Config
from qdpg.algorithms.registry import make_config
from qdpg.emitters.fields import FIELD, WEIGHTS, count_mutated
from qdpg.emitters.iso_line import IsoLineShare
from qdpg.emitters.navigation_field import START
from qdpg.emitters.objective import GradientObjective, Objective
from qdpg.errors import UserError
from qdpg.learn.direction_field import follow_fields
from qdpg.learn.navigation import HINGES
from qdpg.learn.networks import flatten_population
from qdpg.play.rollouts import find_settled
from qdpg.tasks.ant_trap import AntTrap
from qdpg.tasks.point_maze import PointMaze
from stage import made_up_rollouts

SMALL = Config(
    population=8,
    direction_fields=2,
    direction_gradients=1,
    iso_line=IsoLineShare(share=0.25),
    hidden=(16, 16),
    batch_size=64,
    critic_hidden="relu",
    gradient_steps_ratio=0.05,
    greedy_steps=5,
    replay_size=5000,
    stored_steps=0,
    stratified=0.0,
    warm_up_steps=0,
    roll_in_steps=12,
    neighbours=10,
    cells=(5, 5),
    diversity=GradientObjective(discount=0.9, exploration_episodes=2, exploration_noise=0.4),
    quality=Objective(exploration_episodes=1, exploration_noise=0.2),
)
TURN = (((1, -1), (0, 1)), ((1, -1), (0, 1)))


def make_small(seed=1, spec=TASK.spec, **changes):
    return DCQDPG(spec, replace(SMALL, **changes), seed)


def test_a_generation_has_direction_fields_direction_gradients_quality_gradients_and_variation():
    algorithm = make_small()
    advance(algorithm, 2)
    generation, stored = algorithm.ask(), algorithm.elites.data()[FIELD]
    fields, learner = generation.extra_fields[FIELD], generation.learned["diversity"]
    assert fields.shape == (8, 6)
    assert learner.greedy.online.sizes[0] == 4  # position and direction
    policies = flatten_population(generation.candidates.policies)
    followed = flatten_population(follow_fields(learner.greedy.online, fields[:2], algorithm.fields.place))
    np.testing.assert_array_equal(policies[:2], followed)
    greedy = flatten_population(generation.learned["quality"].greedy.online)[0]
    np.testing.assert_array_equal(policies[3], greedy)
    assert not fields[3].any()
    for inherited in fields[[2, 4, 5, 6, 7]]:
        assert inherited.tolist() in stored.tolist()
    assert not any(mutated.tolist() in stored.tolist() for mutated in fields[:2])
    assert generation.exploration.sigma.tolist() == pytest.approx([0.4, 0.4, 0.2])
    np.testing.assert_array_equal(flatten_population(generation.exploration.policies)[2], greedy)
    straight = generation.exploration.policies.weights[0][:2]
    expected = np.repeat(np.asarray(learner.greedy.online.weights[0])[:, :2], 2, axis=0)
    np.testing.assert_array_equal(straight, expected)  # the same everywhere
    algorithm.tell(generation, generation.play(PLAYER))
    held = algorithm.elites.data()
    for solution, field in zip(held["solution"], held[FIELD], strict=True):
        row = (policies == solution).all(axis=1)
        if row.any():
            assert field.tolist() == fields[row][0].tolist()


def test_the_first_policies_have_constant_fields_to_be_mutated_from():
    fields = make_small().ask().extra_fields[FIELD]
    np.testing.assert_allclose(np.linalg.norm(fields[:, :2], axis=1), 1, rtol=1e-5)
    assert not fields[:, 2:].any()


def test_mutated_fields_belong_to_elites_own_networks():
    sizes = {"population": 11, "iso_line": IsoLineShare(share=2 / 11), "direction_fields": 5}
    algorithm = make_small(2, field_mutation=True, **sizes)
    advance(algorithm)
    assert not algorithm.elites.data()[WEIGHTS].any()  # random policies see no directions
    for _ in range(3):
        elites, generation = algorithm.elites.data(), algorithm.ask()
        mutated = count_mutated(5, algorithm.elites)
        weights, greedy = generation.extra_fields[WEIGHTS], generation.learned["diversity"].greedy.online
        assert len(generation.candidates) == len(weights) == 11
        np.testing.assert_array_equal(
            weights[: 5 - mutated], np.tile(np.asarray(greedy.weights[0])[0, 2:].ravel(), (5 - mutated, 1))
        )
        assert all(each.tolist() in elites[WEIGHTS].tolist() for each in weights[11 - mutated :])
        algorithm.tell(generation, generation.play(PLAYER))
    full = make_small(2, field_mutation=True, cells=(1, 1), **sizes)  # one cell, filled at once
    full.tell(full.ask(), made_up_rollouts(TASK.spec, 4))
    assert count_mutated(5, full.elites) == 4  # all but one


def test_novelty_says_for_every_stored_state_where_it_grows():
    algorithm = make_small()
    algorithm.tell(algorithm.ask(), made_up_rollouts(TASK.spec, 4))
    algorithm.refresh_novelty()
    slots = algorithm.replay.playable_slots()
    held, states = (x.astype(float) for x in (algorithm.visited.descriptors, algorithm.replay.descriptors[slots]))
    away = states[:, None] - held
    distances = np.linalg.norm(away, axis=2)
    for n, row in enumerate(np.argsort(distances, axis=1)[:, :10]):
        expected = (away[n, row] / np.maximum(distances[n, row], 1e-6)[:, None]).mean(axis=0)
        np.testing.assert_allclose(algorithm.replay.novelty_gradients[slots[n]], expected, atol=1e-5)


def test_the_warm_up_is_all_exploration(monkeypatch):
    monkeypatch.setattr(dc_qd_pg, "WARM_UP_EPISODES", 6)
    algorithm = make_small(warm_up_steps=600)
    advance(algorithm)
    before = algorithm.elites.data()["solution"]
    while algorithm.steps < 600:
        generation, told = advance(algorithm)
        explored = generation.exploration
        assert (len(generation.candidates), len(explored)) == (0, 6)
        assert told["new_cells"] == told["improved_cells"] == 0
        assert (explored.roll_in_steps <= 12).all()
        np.testing.assert_array_equal(explored.limits, explored.roll_in_steps + 12)
        assert explored.sigma.tolist() == pytest.approx([0.4] * 6)
        assert set(generation.learned) == {"diversity", "quality"}
    np.testing.assert_array_equal(algorithm.elites.data()["solution"], before)
    assert algorithm.replay.transitions == algorithm.steps
    assert len(algorithm.ask().candidates) == 8


def test_the_warm_up_teaches_all_directions():
    """After 3,000 steps of warm-up, policies with constant fields go where these lead."""
    diversity = replace(SMALL.diversity, reward_scale=10.0, exploration_noise=0.5)
    algorithm = make_small(0, warm_up_steps=3000, roll_in_steps=20, gradient_steps_ratio=0.5, diversity=diversity)
    while algorithm.steps < 3000:
        advance(algorithm)
    angles = np.linspace(0, 2 * np.pi, 16, endpoint=False)
    fields = np.zeros((16, 6), np.float32)
    fields[:, 0], fields[:, 1] = np.cos(angles), np.sin(angles)
    learner = algorithm.context("diversity", None, lambda: False).learner
    rollouts = PLAYER.play(algorithm.fields.follow(learner, fields), np.arange(16))
    moved = rollouts.descriptors[:, 2] - rollouts.descriptors[:, 0]  # in two steps no wall is reached
    there = (moved * fields[:, :2]).sum(axis=1) / 0.2
    assert np.median(there) > 0.5, there
    assert (there > 0).mean() > 0.9, there


def test_stratified_learning_leaves_out_what_there_is_too_much_of():
    algorithm = make_small(stratified=1.0)
    crowded = made_up_rollouts(TASK.spec, 4, steps=50)
    crowded.descriptors[:2] = 0.1
    algorithm.tell(algorithm.ask(), crowded)
    view, cells = algorithm.transitions(), algorithm.elites.archive.index_of(algorithm.replay.descriptors)
    slots = np.asarray(view.playable)[: int(view.number)].copy()
    _, held = np.unique(cells[algorithm.replay.playable_slots()], return_counts=True)
    _, sampled = np.unique(cells[slots], return_counts=True)
    due = algorithm.replay.transitions / len(held)
    assert held.max() > due + 1 > sampled.max()
    np.testing.assert_array_equal(sampled, np.minimum(held, np.ceil(due)))
    again = np.asarray(algorithm.transitions().playable)[: len(slots)]
    np.testing.assert_array_equal(slots, again)  # asked again, the same
    assert int(make_small().transitions().number) == 0


def test_guides_act_and_exploration_teaches_only_until_an_episode_has_settled():
    algorithm = make_small(settled=0.02, stored_steps=5, roll_in_steps=30, initial_policies=20)
    cut = 0
    for _ in range(4):
        elites = algorithm.elites.data()
        generation = algorithm.ask()
        rollouts, row = generation.play(PLAYER), algorithm.replay.inserted
        algorithm.tell(generation, rollouts)
        settled, candidates = find_settled(rollouts, TASK.spec, 0.02), len(generation.candidates)
        for n, length in enumerate(rollouts.lengths):
            if n < candidates:
                row += min(5, length) + 1
                continue
            guided = generation.exploration.roll_in_steps[n - candidates]
            first = min(guided, max(length - 5, 0))
            last = min(max(first, settled[n]) + 5, length)
            row += last - first + 1
            cut += last < length
        assert row == algorithm.replay.inserted
        if generation.exploration is not None:
            guides, steps = flatten_population(generation.exploration.guides), generation.exploration.roll_in_steps
            for guide, number in zip(guides, steps, strict=True):
                same = (elites["solution"] == guide).all(axis=1)
                assert 0 < number <= elites["settled"][same].max()
        data = algorithm.elites.data()
        for step, seed in zip(data["settled"][:, 0], data["seed"], strict=True):
            if (rollouts.seeds[:candidates] == seed).any():
                assert step == settled[:candidates][rollouts.seeds[:candidates] == seed][0]
    assert cut, "no exploration episode ever settled"


def test_only_what_is_symmetric_is_turned():
    with pytest.raises(UserError, match="symmetry_augmentation=false"):
        make_small(symmetry_augmentation=True, reward_share=0.0)
    spec = replace(TASK.spec, quarter_turn=TURN)
    with pytest.raises(UserError, match="reward_share=0"):
        make_small(spec=spec, symmetry_augmentation=True, reward_share=0.5)
    algorithm = make_small(spec=spec, symmetry_augmentation=True, reward_share=0.0)
    fields, gradients = algorithm.emitters[:2]
    transitions = algorithm.replay.view()
    assert fields.minibatches(transitions).quarter_turn == TURN
    assert make_small().emitters[0].minibatches(transitions).quarter_turn == ()
    assert gradients.weights().tolist() == [0.0, 1.0]


def test_the_diversity_gradient_may_have_a_share_of_the_environments_reward():
    quality = Objective(reward_scale=4.0)
    diversity = GradientObjective(reward_scale=3.0)
    algorithm = make_small(quality=quality, diversity=diversity, reward_share=0.5)
    assert algorithm.emitters[1].weights().tolist() == [2.0, 3.0]
    minibatches = algorithm.emitters[0].minibatches(algorithm.replay.view())
    assert minibatches.weights.tolist() == [2.0, 3.0]
    assert not minibatches.unit
    assert make_small(unit_directions=True).emitters[0].minibatches(algorithm.replay.view()).unit


def test_navigation_fields_lead_to_cells_and_can_be_taken_up_again():
    algorithm = make_small(navigation_fields=2, population=10, iso_line=IsoLineShare(share=0.2))
    advance(algorithm, 3)
    data = algorithm.elites.data()
    starts = np.abs(
        data[START]
        - np.array([PLAYER.play(algorithm.elites.policies([0]), [seed]).descriptors[0, 0] for seed in data["seed"]])
    )
    assert starts.max() == 0
    generation = algorithm.ask()
    assert len(generation.candidates) == 10
    assert generation.candidates.policies.sizes == (2, 2 * 2 + HINGES, 16, 16, 2)
    assert (generation.emitters[2:4] == 2).all()  # behind the direction fields
    sent = flatten_population(generation.candidates.policies)[2:4]
    again = make_small(navigation_fields=2, population=10, iso_line=IsoLineShare(share=0.2))
    again.load(algorithm.state())
    again.replay.insert_rows(*algorithm.replay.since(0).values())
    again.replay.index()
    np.testing.assert_array_equal(flatten_population(again.ask().candidates.policies)[2:4], sent)


def test_without_direction_fields_nothing_is_remembered_of_them():
    algorithm = make_small(direction_fields=0, direction_gradients=0, field_mutation=True)
    assert [emitter.learner for emitter in algorithm.emitters] == ["quality", None]
    assert FIELD not in algorithm.elites.extra_fields
    assert not algorithm.ask().extra_fields


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"direction_fields": 5}, "needs an offspring for quality"),
        ({"direction_fields": 0}, "navigation_fields=0 direction_gradients=0 warm_up_steps=0"),
        ({"cells": (5, 5, 5)}, "2 descriptors, but cells is"),
    ],
)
def test_settings_that_do_not_fit_each_other_are_refused(changes, sentence):
    with pytest.raises(UserError, match=sentence):
        make_small(**changes)


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        (
            {"direction_fields": 0, "direction_gradients": 0, "warm_up_steps": 0, "reward_share": 0.5},
            "reward_share",
        ),
        ({"direction_gradients": 0, "diversity.rate_range": 1.0}, "diversity.rate_range"),
        ({"stored_steps": -1}, "stored_steps"),
        ({"settled": 2.0}, "settled"),
        ({"stratified": -1.0}, "stratified"),
        ({"warm_up_steps": -1}, "warm_up_steps"),
    ],
)
def test_settings_that_do_nothing_or_lie_outside_their_range_are_refused(settings, name):
    with pytest.raises(UserError, match=name):
        make_config("dc-qd-pg", "tuned", "point-maze", settings)


def test_it_is_in_no_paper():
    with pytest.raises(UserError, match="in no paper"):
        make_config("dc-qd-pg", "paper", "ant-maze", {})


@pytest.mark.parametrize("task", [PointMaze(), AntTrap()])
def test_footprint_is_what_is_allocated(task):
    config = replace(preset("tuned", task.spec.name), replay_size=20_000)
    algorithm, foreseen = DCQDPG(task.spec, config, 0), footprint(task.spec, config, "dc-qd-pg")
    replay = algorithm.replay
    held = replay.rows.nbytes + replay.descriptors.nbytes + replay.novelty_gradients.nbytes
    assert held <= foreseen.replay < 1.1 * (held + 5 * replay.capacity)
    assert foreseen.checkpoint >= sum(array.nbytes for array in algorithm.state().values())
