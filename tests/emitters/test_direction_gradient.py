import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_emitters import NETWORKS, SETTINGS, STEPS, make_context, make_elites

from qdpg.emitters.direction_gradient import DirectionGradient
from qdpg.emitters.objective import GradientObjective
from qdpg.learn.networks import apply_mlp, flatten_population

ELITES = make_elites()
LEARNER = NETWORKS.init_learner(jax.random.key(4), SETTINGS, with_greedy=True, further_inputs=2)


def make_emitter(size, rate_range=0.0, pressure=1.0):
    objective = GradientObjective(rate_range=rate_range, selection_pressure=pressure)
    return DirectionGradient("diversity", objective, lambda: jnp.array([0.0, 1.0]), size, NETWORKS, SETTINGS, 5 * STEPS)


def test_copies_climb_the_critics_to_where_novelty_grows():
    """The first critic thinks more of what they do in the direction of the novelty gradient of each state."""
    emitter = make_emitter(4)
    selected = emitter.select(ELITES, np.random.default_rng(0))
    context = make_context(emitter, learner=LEARNER)
    before = jax.tree.map(np.array, LEARNER)
    offspring = emitter.emit(selected, context)
    np.testing.assert_array_equal(offspring.parents, selected.rows)
    assert offspring.learned is None
    transitions = context.transitions
    slots = np.asarray(transitions.playable)[: int(transitions.number)]
    states, directions = transitions.rows[slots, :2], transitions.novelty_gradients[slots]

    def judge(policies):
        acted = jax.vmap(apply_mlp, (0, None))(policies, states)
        seen = jnp.broadcast_to(jnp.hstack([states, directions]), (len(acted), len(slots), 4))
        return np.asarray(
            apply_mlp(LEARNER.critics.online[0], jnp.concatenate([seen, acted], axis=-1)).mean(axis=(1, 2))
        )

    parents = ELITES.policies(selected.rows)
    assert (judge(jax.tree.map(jnp.asarray, offspring.policies)) > judge(jax.tree.map(jnp.asarray, parents))).all()
    for a, b in zip(jax.tree.leaves(before), jax.tree.leaves(LEARNER), strict=True):
        np.testing.assert_array_equal(a, b)
    assert flatten_population(offspring.policies).shape == flatten_population(parents).shape  # plain networks


def test_there_may_be_none():
    emitter = make_emitter(0)
    selected = emitter.select(ELITES, np.random.default_rng(0))
    assert emitter.emit(selected, make_context(emitter, learner=LEARNER)) is None


@pytest.mark.parametrize("rate_range", [0.0, 2.0])
def test_rates_may_be_spread(rate_range):
    rates = np.asarray(make_emitter(30, rate_range).select(ELITES, np.random.default_rng(0)).actors.rates)
    assert rates.max() <= np.float32(0.05)
    assert len(set(rates.tolist())) == (30 if rate_range else 1)
