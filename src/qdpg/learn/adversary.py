"""The adversary of AGAC (Flet-Berliac et al., ICLR 2021): it learns to predict a policy that is paid to surprise it."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax

from qdpg.learn.gaussian import Gaussian, divergence, init_gaussian, log_density
from qdpg.learn.networks import apply_mlp
from qdpg.learn.ppo import Experience, make_optimiser, take_batch


class Adversary(NamedTuple):
    """A Gaussian policy that imitates, and its optimiser."""

    policy: Gaussian
    optimiser: Any


class Surprise(NamedTuple):
    """How badly an adversary predicts each of M rows."""

    excess: jax.Array  # [M], log-density of the action under the policy minus that under the adversary
    divergence: jax.Array  # [M], Kullback-Leibler divergence of the adversary from the policy


def init_adversary(key: jax.Array, sizes: tuple[int, ...], std: float, rate: float, gradient_clip: float) -> Adversary:
    """Draw an adversary of widths `sizes` from its input to actions."""
    policy = init_gaussian(key, sizes, std)
    return Adversary(policy, make_optimiser(rate, gradient_clip).init(policy))


@jax.jit
def surprise(adversary: Adversary, experience: Experience, log_std: jax.Array, inputs: jax.Array) -> Surprise:
    """Compare the adversary with the policy that acted.

    Args:
        adversary: Who predicts.
        experience: M rows that the policy played.
        log_std: [A], log-deviations of that policy.
        inputs: [M, I], what the adversary sees.
    """
    excess = experience.log_densities - log_density(adversary.policy, inputs, experience.actions)
    predicted = apply_mlp(adversary.policy.mean, inputs)
    return Surprise(excess, divergence(experience.means, log_std, predicted, adversary.policy.log_std))


@jax.jit
def imitate(
    adversary: Adversary,
    means: jax.Array,
    log_std: jax.Array,
    inputs: jax.Array,
    order: jax.Array,
    steps: jax.Array,
    *,
    rate: float | jax.Array,
    weight: float | jax.Array,
    gradient_clip: float | jax.Array,
) -> Adversary:
    """Move the adversary towards the policy that acted, which stays as it was.

    Args:
        adversary: Who learns.
        means: [M, A] of that policy.
        log_std: [A] of that policy.
        inputs: [M, I], what the adversary sees.
        order: [S, B] rows of the minibatches; see `draw_order`.
        steps: How many of them to take.
        rate: Learning rate.
        weight: Of the divergence as a loss. Adam hardly sees it, unless gradients come near its ε.
        gradient_clip: Largest norm of the gradient.
    """
    optimiser = make_optimiser(rate, gradient_clip)

    def loss(policy: Gaussian, batch: tuple[jax.Array, jax.Array], weights: jax.Array) -> jax.Array:
        seen, mean = batch
        distances = divergence(mean, log_std, apply_mlp(policy.mean, seen), policy.log_std)
        return weight * (weights * distances).sum()

    def step(i: jax.Array, adversary: Adversary) -> Adversary:
        moves, state = optimiser.update(
            jax.grad(loss)(adversary.policy, *take_batch((inputs, means), order[i])), adversary.optimiser
        )
        policy = jax.tree.map(lambda p, move: p + move, adversary.policy, moves)
        return Adversary(policy, state)

    return jax.lax.fori_loop(0, steps, step, adversary)
