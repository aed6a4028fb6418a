"""Steering: how one policy that goes wherever it is told becomes many that each find a way of their own.

A policy that sees a direction behind its observation goes there. A steering tells it a direction in every place: it is
b + A·z, where z is the place, in descriptors brought to ±1, as far as it can be read off the observation. A constant
one leads straight on, others lead to a place, away from it, or round it. Since b + A·z is part of what goes into the
first layer, a steered policy is an ordinary network that sees nothing but its observation.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import numpy as np

from qdpg.learn.networks import MLP


class Bearings(NamedTuple):
    """How to read z off observations: z = factors · observation[rows] + shifts."""

    rows: np.ndarray  # [D'] int; D' is D, or 0 if z cannot be read off
    factors: np.ndarray  # [D'] float64
    shifts: np.ndarray  # [D'] float64


def find_bearings(
    located: tuple[tuple[int, float, float], ...],
    low: tuple[float, ...],
    high: tuple[float, ...],
    scale: np.ndarray,
) -> Bearings:
    """How a policy reads z off observations that were divided by `scale`.

    Args:
        located: See `TaskSpec`.
        low: [D] descriptors that are -1 in z.
        high: [D] descriptors that are 1 in z.
        scale: [O].
    """
    rows = np.array([row for row, _, _ in located], np.int64)
    factors, shifts = (np.array([each[i] for each in located], np.float64) for i in (1, 2))
    middle, half = (np.asarray(low) + high) / 2, (np.asarray(high) - low) / 2
    if not located:
        return Bearings(rows, factors, shifts)
    return Bearings(rows, factors * scale[rows] / half, (shifts - middle) / half)


def steering_size(descriptors: int, bearings: Bearings) -> int:
    """Numbers of a steering: b first, then the rows of A."""
    return descriptors * (1 + len(bearings.rows))


def steer(policy: MLP, steerings: np.ndarray, bearings: Bearings) -> MLP:
    """Make of a policy that sees a direction one ordinary policy for each steering.

    Args:
        policy: A population of one, whose last D inputs are the direction.
        steerings: [m, steering_size].
        bearings: How z is read off its other inputs.
    """
    told = told_rows(policy, steerings.shape[1] // (1 + len(bearings.rows)))
    repeated = jax.tree.map(lambda leaf: np.repeat(np.asarray(leaf), len(steerings), axis=0), policy)
    weights = (repeated.weights[0][:, : -told.shape[1]], *repeated.weights[1:])
    plain = MLP(weights, repeated.biases, policy.hidden, policy.output)
    return add_steerings(plain, np.repeat(told, len(steerings), axis=0), steerings, bearings)


def told_rows(policies: MLP, descriptors: int) -> np.ndarray:
    """How directions, the last inputs, enter the first layer of policies that see them, [m, D, width]."""
    return np.asarray(policies.weights[0])[:, -descriptors:]


def add_steerings(policies: MLP, told: np.ndarray, steerings: np.ndarray, bearings: Bearings) -> MLP:
    """Let policies go where they would if so much more were told to them; they need not see directions themselves.

    Args:
        policies: m ordinary ones.
        told: [m, D, width] how directions would enter their first layer.
        steerings: [m, steering_size] what comes on top of what they are told now.
        bearings: How z is read off their inputs.
    """
    number, size = told.shape[:2]
    weights, biases = (np.array(layer[0], np.float64) for layer in (policies.weights, policies.biases))
    constant, slopes = steerings[:, :size], steerings[:, size:].reshape(number, size, len(bearings.rows))
    weights[:, bearings.rows] += np.einsum("mdz,z,mdw->mzw", slopes, bearings.factors, told)
    biases += np.einsum("md,mdw->mw", constant + slopes @ bearings.shifts, told)
    return MLP(
        (weights.astype(np.float32), *policies.weights[1:]),  # type: ignore[arg-type]
        (biases.astype(np.float32), *policies.biases[1:]),  # type: ignore[arg-type]
        policies.hidden,
        policies.output,
    )


def draw_straight(rng: np.random.Generator, number: int, descriptors: int, bearings: Bearings) -> np.ndarray:
    """Steerings straight on in random directions of length 1, [number, steering_size] float32."""
    steerings = np.zeros((number, steering_size(descriptors, bearings)), np.float32)
    directions = rng.standard_normal((number, descriptors))
    steerings[:, :descriptors] = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    return steerings


def breed_steerings(
    parents: np.ndarray, rng: np.random.Generator, sigma: float | np.ndarray, fresh: float, bearings: Bearings
) -> np.ndarray:
    """Change steerings by normal draws; a share of them is drawn afresh, half of these straight.

    Args:
        parents: [m, steering_size].
        rng: Where the draws come from.
        sigma: Standard deviation of the changes, one for all or [m, 1].
        fresh: Share of new ones.
        bearings: How z is read off.
    """
    constants = parents.shape[1] // (1 + len(bearings.rows))
    draws, chance = rng.standard_normal(parents.shape), rng.random((len(parents), 1))
    children = np.where(chance < fresh, draws, parents + sigma * draws)
    children[:, constants:] *= chance >= fresh / 2
    # A steering is as good as any multiple of it; this one's directions have a mean square of 1 over all z.
    weights = np.where(np.arange(parents.shape[1]) < constants, 1.0, 1 / 3)
    size = np.sqrt((weights * children**2).sum(axis=1, keepdims=True))
    return (children / np.maximum(size, 1e-6)).astype(np.float32)
