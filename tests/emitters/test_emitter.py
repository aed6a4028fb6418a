import jax
import numpy as np
import pytest
from small_emitters import make_elites

from qdpg.emitters.emitter import Emitter, Offspring, inherit_fields

AGES = np.arange(15.0)[:, None]


def test_offspring_inherit_what_they_do_not_say_themselves():
    elites = make_elites(extra_fields={"age": AGES, "place": np.hstack([AGES, AGES])})
    parents = np.array([2, -1, 0])
    said = np.array([[9.0], [8.0], [7.0]])
    fields = inherit_fields(elites, Offspring(elites.policies(parents), parents, {"age": said}))
    np.testing.assert_array_equal(fields["age"], said)
    held = elites.data()["place"]
    np.testing.assert_array_equal(fields["place"], [held[2], [0.0, 0.0], held[0]])  # who has no parent inherits nothing


def test_an_archive_without_extra_fields_inherits_nothing():
    elites = make_elites()
    assert inherit_fields(elites, Offspring(elites.policies(np.array([0])), np.array([0]))) == {}


def test_an_emitter_must_select_and_emit_and_need_do_no_more():
    with pytest.raises(TypeError, match="abstract"):
        Emitter()

    class Copies(Emitter):
        def select(self, elites, rng):
            return Offspring(elites.policies(np.array([0])), np.array([0]))

        def emit(self, selected, context):
            return selected

    copies = Copies()
    assert copies.learner is None
    assert copies.init(jax.random.key(0)) is None
    assert copies.explore(copies.select(make_elites(), None), None) is None
