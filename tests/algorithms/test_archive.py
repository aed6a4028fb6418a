"""An archive and its emitters: the order of draws, learners that are shared, fields, seeds and roll-ins."""

from types import SimpleNamespace

import jax
import numpy as np
import pytest
from small_qd_pg import TASK

from qdpg.algorithms.archive import ArchiveAlgorithm, State
from qdpg.algorithms.pieces import generation_key
from qdpg.emitters.emitter import Emitter, Exploration, Offspring
from qdpg.emitters.learner import Learner, Networks
from qdpg.errors import DivergedError
from qdpg.learn.networks import flatten_population, take_policies
from qdpg.memory.reevaluated import ArchiveSettings
from stage import made_up_rollouts

NETWORKS = Networks(TASK.spec, (4,))
CONFIG = SimpleNamespace(cells=(5, 5), population=6, initial_policies=0, archive=ArchiveSettings())


class Copies(Emitter):
    """Copies of the first elites. What it learns is a count, in the place of critics."""

    def __init__(self, number, learner=None, explores=0, **says):
        self.number, self.learner, self.explores, self.says, self.contexts = number, learner, explores, says, []

    def init(self, key):
        return learner_of(0.0)

    def select(self, elites, rng):
        return elites.policies(np.arange(self.number)), rng.random()

    def emit(self, selected, context):
        self.contexts.append(context)
        if not self.number:
            return None
        learned = learner_of(context.learner.critics.online[0] + 1) if self.learner else None
        return Offspring(selected[0], np.arange(self.number), learned=learned, **self.says)

    def explore(self, offspring, rng):
        policies = take_policies(offspring.policies, slice(self.explores))
        return Exploration(policies, 0.5) if self.explores else None


def learner_of(number):
    """Something that has critics."""
    return Learner(SimpleNamespaceTree(np.array([number])), None)


@jax.tree_util.register_pytree_node_class
class SimpleNamespaceTree:
    def __init__(self, online):
        self.online = online

    def tree_flatten(self):
        return (self.online,), None

    @classmethod
    def tree_unflatten(cls, _, leaves):
        return cls(*leaves)


def start(*emitters, extra_fields=None, **attributes):
    algorithm = ArchiveAlgorithm(NETWORKS, CONFIG, 3, "archive", emitters, extra_fields)
    for name, value in attributes.items():
        setattr(algorithm, name, value)
    tell(algorithm, algorithm.ask())
    assert len(algorithm.elites) > 3
    return algorithm


def tell(algorithm, generation, number=6):
    rollouts = made_up_rollouts(TASK.spec, number, seed=algorithm.generation)
    return algorithm.keep(generation, rollouts, 7)


def test_the_first_generation_is_random_policies():
    algorithm = ArchiveAlgorithm(NETWORKS, CONFIG, 3, "archive", [], {"age": 2})
    first = algorithm.ask()
    assert len(first.candidates) == len(np.unique(flatten_population(first.candidates.policies), axis=0)) == 6
    assert first.exploration is None
    assert not first.record  # no replay memory, no transitions
    np.testing.assert_array_equal(first.extra_fields["age"], np.zeros((6, 2)))


def test_all_select_before_any_emits_so_that_draws_have_one_order():
    one, two = Copies(1), Copies(2)
    algorithm = start(one, two)
    drawn = []
    for emitter in (one, two):
        emitter.select = lambda elites, rng, emitter=emitter: (
            drawn.append(rng.random())
            or (
                elites.policies(np.arange(emitter.number)),
                0,
            )
        )
    algorithm.ask()
    rng = np.random.default_rng([3, 1])
    assert drawn == [rng.random(), rng.random()]


def test_offspring_stand_in_the_order_of_their_emitters():
    algorithm = start(Copies(2), Copies(0), Copies(3, "critic"), Copies(1))
    elites = algorithm.elites.data()["solution"]
    found = flatten_population(algorithm.ask().candidates.policies)
    np.testing.assert_array_equal(found, elites[[0, 1, 0, 1, 2, 0]])


def test_a_generation_says_who_made_what():
    algorithm = start(Copies(2), Copies(0), Copies(3, "critic", explores=2))
    assert algorithm.emitter_names == ["random", "copies", "copies", "copies (critic)"]
    assert algorithm.ask().makers().tolist() == [1, 1, 3, 3, 3, -1, -1]
    first = ArchiveAlgorithm(NETWORKS, CONFIG, 3, "archive", [Copies(1)]).ask()
    assert first.makers().tolist() == [0] * 6


def test_emitters_that_share_a_learner_go_on_from_one_another():
    emitters = [Copies(1, "a"), Copies(1, "b"), Copies(1, "a"), Copies(1)]
    algorithm = start(*emitters)
    generation = algorithm.ask()
    learned = {name: each.critics.online[0] for name, each in generation.learned.items()}
    assert learned == {"a": 2, "b": 1}
    handed = [each.contexts[-1].learner for each in emitters]
    assert handed[3] is None
    assert [each.critics.online[0] for each in handed[:3]] == [0, 0, 1]
    assert {each.critics.online[0] for each in algorithm._state.learners.values()} == {0}  # until it is told
    tell(algorithm, generation, 4)
    assert [algorithm._state.learners[name].critics.online[0] for name in "ab"] == [2, 1]
    assert [each.critics.online[0] for each in algorithm.ask().learned.values()] == [4, 2]


def test_every_learner_has_a_random_key_of_its_own():
    emitters = [Copies(1, "a"), Copies(1, "b"), Copies(1)]
    start(*emitters).ask()
    key = generation_key(3, 1)
    expected = [jax.random.fold_in(key, 0), jax.random.fold_in(key, 1), key]
    for emitter, own in zip(emitters, expected, strict=True):
        np.testing.assert_array_equal(*(jax.random.key_data(k) for k in (emitter.contexts[-1].key, own)))


def test_offspring_may_be_judged_from_their_parents_start():
    better, different = Copies(2), Copies(2)
    better.keeps_start = True
    algorithm = start(better, different)
    stored = algorithm.elites.data()["seed"][:2].tolist()
    assert not set(algorithm.ask().candidates.seeds.tolist()) & set(stored)
    algorithm.archive_settings = ArchiveSettings(parents_start=True)
    seeds = algorithm.ask().candidates.seeds.tolist()
    assert seeds[:2] == stored
    assert not set(seeds[2:]) & set(stored)
    assert len(set(seeds)) == 4


def test_exploration_episodes_have_their_own_noise_and_the_candidates_theirs():
    algorithm = start(Copies(3, explores=2), Copies(1), candidate_noise=0.25, noise_correlation=0.5)
    generation = algorithm.ask()
    assert generation.candidates.sigma.tolist() == [0.25] * 4
    assert generation.exploration.sigma.tolist() == [0.5] * 2
    assert generation.noise_correlation == 0.5
    assert generation.exploration.guides is None


def test_with_a_roll_in_elites_guide_exploration_episodes():
    algorithm = start(Copies(3, explores=2), roll_in_steps=9)
    explored = algorithm.ask().exploration
    held = algorithm.elites.data()["solution"].tolist()
    assert all(guide in held for guide in flatten_population(explored.guides).tolist())
    assert ((explored.roll_in_steps >= 1) & (explored.roll_in_steps <= 6)).all()  # elites' episodes have six steps
    np.testing.assert_array_equal(explored.limits, explored.roll_in_steps + 9)


def test_offspring_inherit_extra_fields():
    says = {"extra_fields": {"age": np.array([[5.0], [6.0]])}}
    algorithm = start(Copies(2), Copies(2, **says), extra_fields={"age": 1})
    algorithm.elites.archive.clear()
    policies = algorithm.first_generation(np.random.default_rng(0)).candidates.policies
    rollouts = made_up_rollouts(TASK.spec, 6)
    algorithm.elites.add(policies, rollouts, 0, age=np.arange(1.0, 7.0)[:, None])
    held = algorithm.elites.data()["age"]
    np.testing.assert_array_equal(algorithm.ask().extra_fields["age"], [held[0], held[1], [5.0], [6.0]])


def test_counters_advance_when_a_generation_is_told():
    algorithm = start(Copies(6))
    told = tell(algorithm, algorithm.ask())
    assert set(told) == {"new_cells", "improved_cells"}
    assert algorithm._state[:3] == State(2, 2 * 36, 7, {})[:3]
    assert (algorithm.generation, algorithm.steps) == (2, 72)


@pytest.mark.parametrize("where", ["policy", "critic"])
def test_what_is_not_finite_is_named(where):
    algorithm = start(Copies(2, "quality"))
    if where == "critic":
        algorithm._state = algorithm._state._replace(learners={"quality": learner_of(np.nan)})
    else:
        algorithm.emitters[0].select = lambda elites, rng: (
            jax.tree.map(lambda leaf: leaf * np.nan, elites.policies(np.arange(2))),
            0,
        )
    with pytest.raises(DivergedError, match=f"{where}.*not finite in generation 1"):
        algorithm.ask()


@pytest.mark.parametrize("number", [1.0, np.nan])
def test_a_learner_need_have_no_critics(number):
    class Counts(Copies):
        def init(self, key):
            return np.zeros(1)

        def emit(self, selected, context):
            return Offspring(selected[0], np.arange(2), learned=context.learner + number)

    algorithm = start(Counts(2, "count"))
    if np.isnan(number):
        with pytest.raises(DivergedError, match=r"count.*not finite"):
            algorithm.ask()
    else:
        assert algorithm.ask().learned["count"].tolist() == [1.0]


def test_a_state_can_be_taken_up():
    first, second = (ArchiveAlgorithm(NETWORKS, CONFIG, 3, "archive", [Copies(2, "a")]) for _ in range(2))
    tell(first, first.ask())
    tell(first, first.ask(), 2)
    second.load(first.state())
    assert second.state().keys() == first.state().keys()
    for key, array in first.state().items():
        np.testing.assert_array_equal(second.state()[key], array, err_msg=key)
    np.testing.assert_array_equal(*(flatten_population(x.ask().candidates.policies) for x in (first, second)))
