import jax
import numpy as np
import pytest
from small_emitters import NETWORKS, SETTINGS, make_elites

from qdpg.emitters.fields import FIELD, WEIGHTS, DirectionFields, count_mutated
from qdpg.learn.networks import apply_mlp
from stage import EvenDraws


@pytest.fixture(scope="module")
def learner():
    return NETWORKS.init_learner(jax.random.key(1), SETTINGS, with_greedy=True, further_inputs=2)


@pytest.mark.parametrize("keeps_weights", [False, True])
def test_elites_remember_their_field_and_perhaps_how_it_enters(learner, keeps_weights):
    fields = DirectionFields(NETWORKS, keeps_weights)
    sizes = {FIELD: 6} | ({WEIGHTS: 2 * 16} if keeps_weights else {})  # b and A; a row of 16 weights per descriptor
    assert fields.extra_fields() == sizes
    drawn = np.random.default_rng(0).normal(size=(3, 6)).astype(np.float32)
    remembered = fields.remember(learner, drawn)
    assert {name: array.shape for name, array in remembered.items()} == {n: (3, size) for n, size in sizes.items()}
    np.testing.assert_array_equal(remembered[FIELD], drawn)
    if keeps_weights:
        entering = np.asarray(learner.greedy.online.weights[0])[0, 2:]
        np.testing.assert_array_equal(remembered[WEIGHTS], np.tile(entering.ravel(), (3, 1)))


def test_to_follow_a_field_is_to_see_its_direction(learner):
    """b + A·z, where z is the position in the maze, which is an observation itself."""
    fields, rng = DirectionFields(NETWORKS, False), np.random.default_rng(0)
    drawn, seen = rng.normal(size=(3, 6)), rng.uniform(-1, 1, (7, 2))
    policies = fields.follow(learner, drawn)
    conditioned = jax.tree.map(lambda leaf: leaf[0], learner.greedy.online)
    for row, field in enumerate(drawn):
        directions = field[:2] + seen @ field[2:].reshape(2, 2).T
        expected = apply_mlp(conditioned, np.hstack([seen, directions]).astype(np.float32))
        alone = jax.tree.map(lambda leaf, row=row: leaf[row], policies)
        np.testing.assert_allclose(apply_mlp(alone, seen.astype(np.float32)), expected, atol=1e-5)


def test_constant_fields_lead_straight_on():
    drawn = DirectionFields(NETWORKS, False).constant(np.random.default_rng(0), 50)
    np.testing.assert_allclose(np.linalg.norm(drawn[:, :2], axis=1), 1, rtol=1e-5)
    assert not drawn[:, 2:].any()


BEHAVIOURS = np.float32([[-0.9, -0.9], [-0.5, -0.9], [-0.9, -0.5], [-0.5, -0.5], [-0.1, -0.5], [0.9, 0.9]])


def test_fields_are_mutated_from_elites_in_sparse_regions():
    elites = make_elites(6, behaviours=BEHAVIOURS)
    rows = DirectionFields(NETWORKS, False).draw_sparse(elites, EvenDraws(), 600)
    measures, counts = elites.data()["measures"], np.bincount(rows, minlength=6)
    lonely = (measures == BEHAVIOURS[5]).all(axis=1).argmax()
    assert counts.argmax() == lonely
    ranks = (6 * EvenDraws().random(600) ** 2).astype(int)
    assert sorted(counts, reverse=True) == np.bincount(ranks).tolist()


def test_elites_that_cannot_be_given_another_field_come_last():
    weights = np.ones((6, 32))
    weights[5] = 0  # the lonely one was no direction-conditioned policy
    elites = make_elites(6, {FIELD: np.ones((6, 6)), WEIGHTS: weights}, behaviours=BEHAVIOURS)
    rows = DirectionFields(NETWORKS, True).draw_sparse(elites, EvenDraws(), 600)
    lonely = (elites.data()["measures"] == BEHAVIOURS[5]).all(axis=1).argmax()
    assert np.bincount(rows, minlength=6).argmin() == lonely


@pytest.mark.parametrize(("cells", "mutated"), [((1, 1), 4), ((5, 5), 1), ((50, 50), 0)])
def test_the_more_cells_are_filled_the_more_fields_are_mutated_but_never_all(cells, mutated):
    elites = make_elites(6, behaviours=BEHAVIOURS, cells=cells)
    assert count_mutated(5, elites) == mutated
