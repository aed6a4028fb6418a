import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small import TASK, advance, small

from qdpg.learn.networks import apply_mlp
from qdpg.learn.transitions import REWARD
from qdpg.play.player import make_player

pytestmark = [pytest.mark.xdist_group("baselines")]
MANY = {"population": 42, "initial_policies": 60, "iso_line.share": 0.5}


def test_offspring_are_better_in_the_eyes_of_the_critic():
    algorithm, player = small("pga-me", greedy_steps=30, **MANY), make_player(TASK)
    advance(algorithm, player, 2)
    parents = algorithm.elites.sample(np.random.default_rng([0, 2]), 20)
    generation = algorithm.ask()
    assert len(generation.candidates) == 42
    critic = generation.learned["quality"].critics.online[0]
    states = jnp.asarray(algorithm.replay.rows[algorithm.replay.playable_slots(), :2])

    def judge(population):
        acted = jax.vmap(apply_mlp, (0, None))(population, states)
        pairs = jnp.concatenate([jnp.broadcast_to(states, (*acted.shape[:2], 2)), acted], axis=-1)
        return np.asarray(apply_mlp(critic, pairs)[..., 0].mean(axis=1))

    children = jax.tree.map(lambda leaf: leaf[1:21], generation.candidates.policies)  # greedy actor, these, the varied
    assert (judge(children) > judge(parents)).mean() > 0.95


def test_climbing_offspring_do_not_train_the_critics():
    player, learned = make_player(TASK), []
    for steps in (1, 30):
        algorithm = small("pga-me", greedy_steps=steps, **MANY)
        advance(algorithm, player)
        learned.append(algorithm.ask().learned)
    for a, b in zip(jax.tree.leaves(learned[0]), jax.tree.leaves(learned[1]), strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_greedy_actor_lives_on_and_is_always_played():
    algorithm, player = small("pga-me"), make_player(TASK)
    advance(algorithm, player)
    for _ in range(2):
        generation, _ = advance(algorithm, player)
        greedy = generation.learned["quality"].greedy
        np.testing.assert_array_equal(generation.candidates.policies.weights[0][0], greedy.online.weights[0][0])
        assert int(greedy.optimiser.count) == 200 * (algorithm.generation - 1)  # every other of 400 steps
        assert algorithm._state.learners["quality"].greedy is greedy


@pytest.mark.parametrize("rate", [0.0, 1e-3])
def test_offspring_climb_at_a_rate_of_their_own(rate):
    algorithm = small("pga-me", greedy_steps=30, offspring_rate=rate, **MANY)
    advance(algorithm, make_player(TASK), 2)
    before = algorithm.elites.sample(np.random.default_rng([0, 2]), 20).weights[0]
    after = algorithm.ask().candidates.policies.weights[0][1:21]
    moved = np.abs(np.asarray(after) - before).max(axis=(1, 2))
    assert (moved > 10 * rate).all() if rate else not moved.any()


def test_what_helps_any_critic_is_there_for_its_critics_too():
    own = {"output": "linear", "noise_correlation": 0.9, "quality.reward_offset": 0.5, "quality.action_bound": 0.3}
    algorithm, player = small("pga-me", **own, **{"quality.exploration_episodes": 2}), make_player(TASK)
    plain = small("pga-me")
    for each in (algorithm, plain):
        advance(each, player)  # random policies: the same but for what they end in
    best = max(each.replay.rows[each.replay.playable_slots(), REWARD].max() for each in (algorithm, plain))
    assert best <= 0.0  # this maze pays minus a distance
    assert algorithm.replay.rows[algorithm.replay.playable_slots(), REWARD].max() <= -0.5
    assert plain.replay.rows[plain.replay.playable_slots(), REWARD].max() > -0.5
    generation, _ = advance(algorithm, player)
    assert generation.noise_correlation == 0.9
    assert generation.candidates.policies.output == "linear"
    assert algorithm.emitters[0].settings.action_bound == 0.3
