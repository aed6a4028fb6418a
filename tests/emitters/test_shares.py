import numpy as np
import pytest

from qdpg import load_run, train
from qdpg.algorithms.registry import make_algorithm, make_config
from qdpg.emitters.shares import (
    AGREEMENT,
    EARNINGS,
    ENOUGH,
    KEPT,
    PRESSURE,
    Agreement,
    Earnings,
    agree,
    credit,
    find_gains,
    nothing_earned,
    nothing_seen,
    record,
    resize,
    share_out,
)
from qdpg.errors import UserError
from qdpg.play.player import make_player
from qdpg.runs.migration import migrate_state
from qdpg.tasks.registry import make_task

SMALL = {"population": 9, "initial_policies": 9, "hidden": (8, 8), "batch_size": 8, "gradient_steps_ratio": 0.02}
TASK = make_task("point-maze", horizon=20)


def make(adaptive=True, seed=0):
    settings = SMALL | {"iso_line.share": 1 / 3, "iso_line.adaptive": adaptive, "archive.reevaluations": 0}
    return make_algorithm("qd-pg", TASK.spec, make_config("qd-pg", "tuned", TASK.spec, settings), seed)


def advance(algorithm, generations):
    player = make_player(TASK)
    for _ in range(generations):
        generation = algorithm.ask()
        algorithm.tell(generation, generation.play(player))


def test_shares_grow_with_what_an_offspring_earned():
    # Each is credited with four offspring of the mean, which earned 1.
    earned = Earnings(np.array([30.0, 0.0, 0.0]), np.array([10.0, 10.0, 10.0]))
    worth = np.array([34 / 14, 4 / 14, 4 / 14]) ** PRESSURE
    sizes = share_out(10_000, np.zeros(3, int), earned)
    np.testing.assert_allclose(sizes / 10_000, worth / worth.sum(), atol=1e-4)
    least = np.array([1, 2, 1])
    sizes = share_out(10, least, earned)
    assert sizes.sum() == 10
    assert (sizes >= least).all()
    assert sizes[0] == max(sizes)


def test_who_earned_nothing_still_gets_a_chance_and_equals_get_equal_shares():
    equal = Earnings(np.full(3, 7.0), np.full(3, 5.0))
    assert share_out(9, np.ones(3, int), equal).tolist() == [3, 3, 3]
    nothing = nothing_earned(3)
    assert share_out(9, np.ones(3, int), nothing).tolist() == [3, 3, 3]


def test_what_was_earned_is_forgotten_by_and_by():
    makers, gains = np.array([0, 0, 1, -1]), np.array([1.0, 2.0, 5.0, 100.0])
    first = record(nothing_earned(2), makers, gains)
    assert (first.gained.tolist(), first.played.tolist()) == ([3.0, 5.0], [2.0, 1.0])
    second = record(first, np.zeros(0, int), np.zeros(0))
    np.testing.assert_allclose(second.gained, KEPT * first.gained)
    np.testing.assert_allclose(second.played, KEPT * first.played)


@pytest.mark.long
def test_gains_are_what_the_qd_score_grows_by():
    algorithm = make()
    advance(algorithm, 1)
    generation = algorithm.ask()
    rollouts, _ = generation.split(generation.play(make_player(TASK)))
    gains, before = find_gains(algorithm.elites, rollouts), algorithm.elites.qd_score
    some = int(np.argmax(gains))
    assert gains[some] > 0
    policies = generation.candidates.policies
    one = type(policies)(
        tuple(w[some : some + 1] for w in policies.weights),
        tuple(b[some : some + 1] for b in policies.biases),
        policies.hidden,
        policies.output,
    )
    algorithm.elites.add(one, rollouts.take(slice(some, some + 1)), 1)
    assert algorithm.elites.qd_score - before == pytest.approx(gains[some])


def test_sizes_follow_and_the_population_stays():
    algorithm = make()
    assert [emitter.size for emitter in algorithm.emitters] == [3, 3, 3]
    resize(algorithm.emitters, {})
    resize(algorithm.emitters, {EARNINGS: nothing_earned(3)})
    assert [emitter.size for emitter in algorithm.emitters] == [3, 3, 3]
    resize(algorithm.emitters, {EARNINGS: Earnings(np.array([0.0, 0.0, 50.0]), np.full(3, 10.0))})
    sizes = [emitter.size for emitter in algorithm.emitters]
    assert sum(sizes) == 9
    assert sizes[2] > 3
    assert len(algorithm.ask().candidates) == 9


def test_too_few_offspring_are_not_shared_out():
    algorithm = make()
    sizes = [1, 1, 0]
    for emitter, size in zip(algorithm.emitters, sizes, strict=True):
        emitter.size = size
    assert sum(emitter.least for emitter in algorithm.emitters) > sum(sizes)
    resize(algorithm.emitters, {EARNINGS: Earnings(np.array([0.0, 0.0, 50.0]), np.full(3, 10.0))})
    assert [emitter.size for emitter in algorithm.emitters] == sizes


@pytest.mark.long
def test_a_resumed_run_shares_out_as_one_that_went_on(tmp_path):
    settings = SMALL | {"iso_line.share": 1 / 3, "iso_line.adaptive": True}
    common = {"algorithm": "qd-pg", "task_options": {"horizon": 20}, **settings}
    whole = train("point-maze", steps=1600, out=tmp_path / "whole", **common)
    train("point-maze", steps=800, out=tmp_path / "parts", **common)
    parts = load_run(tmp_path / "parts").resume(1600)
    assert (parts.episodes()["emitter"] == whole.episodes()["emitter"]).all()
    elites = [(run.path / "elites" / "elites.safetensors").read_bytes() for run in (parts, whole)]
    assert elites[0] == elites[1]
    made = whole.episodes()
    sizes = {tuple(np.bincount(made["emitter"][made["generation"] == n].astype(int) + 1)[2:]) for n in range(3, 8)}
    assert sizes != {(3, 3, 3)}, "shares follow success"


def test_a_checkpoint_without_a_record_of_novelties_is_taken_up():
    algorithm = make()
    advance(algorithm, 1)
    state = algorithm.state()
    older = {name: array for name, array in state.items() if AGREEMENT not in name}
    assert len(older) < len(state)
    algorithm.load(migrate_state(older))
    assert algorithm.state().keys() == state.keys()


def see(states, behaviours):
    novelties = {"state_novelty": np.asarray(states), "solution_novelty": np.asarray(behaviours)}
    return agree({AGREEMENT: nothing_seen()}, novelties)[AGREEMENT]


def test_agreement_is_the_correlation_of_both_novelties():
    rng = np.random.default_rng(0)
    states = rng.random(100)
    behaviours = states + rng.random(100)
    assert see(states, behaviours).correlation() == pytest.approx(np.corrcoef(states, behaviours)[0, 1])
    assert see(states, -behaviours).correlation() < 0
    few = int(ENOUGH) - 1
    assert see(states[:few], -behaviours[:few]).correlation() == 1.0  # too few to tell
    assert see(states, np.full(100, 3.0)).correlation() == 1.0
    unknown = see(np.append(states, np.nan), np.append(behaviours, 1.0))
    assert unknown.correlation() == see(states, behaviours).correlation()


def test_agreement_is_forgotten_by_and_by():
    states = np.linspace(0, 1, 50)
    learned = {AGREEMENT: see(states, -states)}
    for _ in range(20):
        learned = agree(learned, {"state_novelty": states, "solution_novelty": states})
    assert learned[AGREEMENT].correlation() > 0.9


def test_where_novel_states_make_no_novel_behaviours_nobody_climbs_novelty():
    algorithm = make()
    assert [emitter.climbs_novelty for emitter in algorithm.emitters] == [True, False, False]
    earned = {EARNINGS: Earnings(np.full(3, 10.0), np.full(3, 10.0))}
    states = np.linspace(0, 1, 50)
    for sign, sizes in ((1, [3, 3, 3]), (-1, [1, 4, 4])):
        resize(algorithm.emitters, earned | {AGREEMENT: see(states, sign * states)})
        assert [emitter.size for emitter in algorithm.emitters] == sizes


def test_qd_pg_remembers_how_novelties_agree():
    algorithm = make()
    advance(algorithm, 2)
    held = algorithm._state.learners[AGREEMENT]
    assert isinstance(held, Agreement)
    assert held.episodes > 9
    assert np.isfinite(held.products).all()


def test_without_the_setting_there_is_no_record():
    algorithm = make(adaptive=False)
    advance(algorithm, 2)
    assert not {EARNINGS, AGREEMENT} & set(algorithm._state.learners)
    learned = {"quality": 1}
    assert credit(learned, algorithm.elites, np.zeros(0, int), None) is learned


def test_it_does_not_go_with_field_mutation():
    settings = {"iso_line.adaptive": True, "field_mutation": True}
    with pytest.raises(UserError, match="leave out one"):
        make_algorithm("dc-qd-pg", TASK.spec, make_config("dc-qd-pg", "tuned", TASK.spec, settings), 0)
