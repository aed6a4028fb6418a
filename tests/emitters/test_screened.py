"""Screened offspring: many are made, those that promise most are played."""

import jax
import numpy as np
import pytest
from small_emitters import assert_same, differ, make_context, make_elites

from qdpg.algorithms.registry import make_algorithm, make_config
from qdpg.emitters import screened
from qdpg.emitters.emitter import Emitter, Offspring
from qdpg.emitters.iso_line import IsoLine, IsoLineShare
from qdpg.emitters.screened import Screened, take, vary
from qdpg.errors import UserError
from qdpg.learn.networks import flatten_population
from qdpg.learn.surrogate import Prediction
from qdpg.play.player import make_player
from qdpg.tasks.registry import make_task

SETTINGS = IsoLineShare(share=0.5, iso_sigma=0.3, line_sigma=0.2)


class Kept(Emitter):
    """Iso+line variation that remembers all it made."""

    size, learner, least, keeps_start = 3, "somebody", 1, True

    def __init__(self):
        self.own = IsoLine(3, SETTINGS)

    def select(self, elites, rng):
        self.own.size = self.size
        return self.own.select(elites, rng)

    def emit(self, selected, context):
        number = len(selected.parents)
        marks = {"mark": np.arange(float(number))[:, None]}
        self.made = selected._replace(extra_fields=marks, learned="what was learned")
        return self.made


def screen(emitter, elites, seed=0):
    context = make_context(emitter, learner="nothing")
    return emitter.emit(emitter.select(elites, np.random.default_rng(seed)), context)


def test_of_every_so_many_the_one_is_played_that_is_expected_to_add_most(monkeypatch):
    inner, elites = Kept(), make_elites(fitness=np.full(15, 1.0))
    low, high = np.array(elites.spec.descriptor_low), np.array(elites.spec.descriptor_high)
    empty = np.setdiff1d(np.arange(25), elites.data()["index"])[0]
    to_empty = low + (np.array(np.unravel_index(empty, (5, 5))) + 0.5) / 5 * (high - low)
    chosen = [3, 0, 7]  # of each eight: these alone are expected to fill a cell

    def expect(known, targets, asked):
        taken = np.append(elites.data()["measures"][0], -1e6)
        means = np.tile(taken, (len(asked), 1))
        for group, place in enumerate(chosen):
            means[8 * group + place] = [*to_empty, 1.0]
        return Prediction(means, np.full_like(means, 1e-9))

    monkeypatch.setattr(screened, "predict", expect)
    offspring = screen(Screened(inner, 8), elites)
    assert offspring.extra_fields["mark"].ravel().tolist() == [3, 8, 23]
    assert offspring.learned == "what was learned"
    assert_same(offspring.policies, jax.tree.map(lambda leaf: np.asarray(leaf)[[3, 8, 23]], inner.made.policies))
    np.testing.assert_array_equal(offspring.parents, inner.made.parents[[3, 8, 23]])


def test_what_is_known_are_elites_and_what_is_asked_are_the_offspring(monkeypatch):
    asked_for, inner, elites = [], Kept(), make_elites()
    monkeypatch.setattr(
        screened, "predict", lambda *parts: asked_for.append(parts) or Prediction(*2 * [np.ones((24, 3))])
    )
    screen(Screened(inner, 8), elites)
    known, targets, asked = asked_for[0]
    assert len(known) == len(targets) == len(elites)
    assert len(asked) == 24
    data = elites.data()
    wanted = np.column_stack([data["measures"], data["objective"]])
    np.testing.assert_allclose(np.sort(targets, axis=0), np.sort(wanted, axis=0), rtol=1e-6)
    assert known.shape[1] == asked.shape[1] == screened.STATES * elites.spec.action_size


def test_with_few_elites_nothing_is_predicted(monkeypatch):
    monkeypatch.setattr(screened, "predict", None)
    offspring = screen(Screened(Kept(), 8), make_elites(offered=2))
    assert offspring.extra_fields["mark"].ravel().tolist() == [0, 8, 16]


def test_it_stands_for_the_other_emitter():
    inner = Kept()
    emitter = Screened(inner, 4)
    assert (emitter.learner, emitter.size, emitter.least, emitter.keeps_start) == ("somebody", 3, 1, True)
    assert emitter.label == inner.label
    emitter.size = 5  # where shares follow success
    assert len(screen(emitter, make_elites()).parents) == 5


def test_who_has_nothing_to_offer_is_not_screened():
    class Silent(Kept):
        def emit(self, selected, context):
            return None

    assert screen(Screened(Silent(), 4), make_elites()) is None


def test_rows_are_taken_of_all_that_is_said_of_offspring():
    made = Offspring(
        make_elites().policies(np.arange(6)), np.arange(6), {"x": np.ones((6, 2))}, np.arange(6) + 10, "it"
    )
    some = take(made, np.array([4, 1]))
    assert (some.parents.tolist(), some.entries.tolist(), some.extra_fields["x"].shape) == ([4, 1], [14, 11], (2, 2))
    assert some.learned == "it"
    np.testing.assert_array_equal(flatten_population(some.policies), flatten_population(made.policies)[[4, 1]])


def test_variation_is_screened_where_that_is_wanted():
    assert vary(0, SETTINGS) == []
    assert type(vary(3, SETTINGS)[0]) is IsoLine
    (emitter,) = vary(3, IsoLineShare(share=0.5, screened_from=7))
    assert (type(emitter), emitter.size, emitter.made) == (Screened, 3, 7)


@pytest.mark.parametrize(
    "name", ["pga-me", *(pytest.param(name, marks=pytest.mark.long) for name in ("qd-pg", "dcrl-me"))]
)
def test_all_with_a_replay_memory_can_have_it(name):
    task = make_task("point-maze", horizon=20)
    settings = {"population": 8, "initial_policies": 12, "hidden": (8, 8), "batch_size": 8, "iso_line.share": 0.5}
    settings |= {"critic_steps": 5} if name != "qd-pg" else {"gradient_steps_ratio": 0.02}
    settings |= {"injected": 2} if name == "dcrl-me" else {}
    played = []
    for screened_from in (1, 9, 9):
        config = make_config(name, "tuned", task.spec, settings | {"iso_line.screened_from": screened_from})
        algorithm = make_algorithm(name, task.spec, config, 3)
        player = make_player(task)
        for _ in range(3):
            generation = algorithm.ask()
            algorithm.tell(generation, generation.play(player))
        played.append(algorithm.elites.data()["solution"])
    assert played[0].shape != played[1].shape or differ(played[0], played[1])
    np.testing.assert_array_equal(played[1], played[2])


def test_without_variation_there_is_nothing_to_screen():
    with pytest.raises(UserError, match=r"iso_line\.share is 0"):
        make_config("qd-pg", "paper", "point-maze", {"iso_line.screened_from": 5})
