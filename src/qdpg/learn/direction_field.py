"""Direction fields: how one policy that goes in any direction becomes many that each find a way of their own.

A direction-conditioned policy sees a direction behind its observation, and goes there. A direction field names a
direction for every place: b + A·z, where z is the place, in descriptors brought to ±1, as far as it can be read off the
observation. A constant field leads straight on; others lead to a place, away from it, or round it. Since b + A·z is
part of what goes into the first layer, a policy that follows a field is an ordinary network that sees only its
observation.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import numpy as np

from qdpg.learn.networks import MLP


class Place(NamedTuple):
    """How to read z off observations: z = factors · observation[rows] + shifts."""

    rows: np.ndarray  # [D'] int; D' is D, or 0 if z cannot be read off
    factors: np.ndarray  # [D'] float64
    shifts: np.ndarray  # [D'] float64


def find_place(
    located: tuple[tuple[int, float, float], ...],
    low: tuple[float, ...],
    high: tuple[float, ...],
    scale: np.ndarray,
    offsets: np.ndarray | float = 0.0,
) -> Place:
    """How a policy reads z off observations x that it sees as (x - offsets) / scale.

    Args:
        located: See `TaskSpec`.
        low: [D] descriptors that are -1 in z.
        high: [D] descriptors that are 1 in z.
        scale: [O].
        offsets: [O], or one for all.
    """
    rows = np.array([row for row, _, _ in located], np.int64)
    factors, shifts = (np.array([each[i] for each in located], np.float64) for i in (1, 2))
    middle, half = (np.asarray(low) + high) / 2, (np.asarray(high) - low) / 2
    if not located:
        return Place(rows, factors, shifts)
    return Place(
        rows,
        factors * scale[rows] / half,
        (shifts + factors * np.broadcast_to(offsets, len(scale))[rows] - middle) / half,
    )


def field_size(descriptors: int, place: Place) -> int:
    """Numbers of a direction field: b first, then the rows of A."""
    return descriptors * (1 + len(place.rows))


def follow_fields(policy: MLP, fields: np.ndarray, place: Place) -> MLP:
    """Make of a direction-conditioned policy one ordinary policy for each direction field.

    Args:
        policy: A population of one, whose last D inputs are the direction.
        fields: [m, field_size].
        place: How z is read off its other inputs.
    """
    weights = direction_weights(policy, fields.shape[1] // (1 + len(place.rows)))
    repeated = jax.tree.map(lambda leaf: np.repeat(np.asarray(leaf), len(fields), axis=0), policy)
    first = (repeated.weights[0][:, : -weights.shape[1]], *repeated.weights[1:])
    plain = MLP(first, repeated.biases, policy.hidden, policy.output)
    return add_fields(plain, np.repeat(weights, len(fields), axis=0), fields, place)


def direction_weights(policies: MLP, descriptors: int) -> np.ndarray:
    """How directions, the last inputs, enter the first layer of direction-conditioned policies, [m, D, width]."""
    return np.asarray(policies.weights[0])[:, -descriptors:]


def add_fields(policies: MLP, weights: np.ndarray, fields: np.ndarray, place: Place) -> MLP:
    """Add direction fields to what policies follow already; they need not see directions themselves.

    Args:
        policies: m ordinary ones.
        weights: [m, D, width] how directions would enter their first layer; see `direction_weights`.
        fields: [m, field_size] what comes on top of the fields that they follow now.
        place: How z is read off their inputs.
    """
    first, biases = (np.array(layer[0], np.float64) for layer in (policies.weights, policies.biases))
    by_place, everywhere = find_entering(weights, fields, place)
    first[:, place.rows] += by_place
    biases += everywhere
    return MLP(
        (first.astype(np.float32), *policies.weights[1:]),  # type: ignore[arg-type]
        (biases.astype(np.float32), *policies.biases[1:]),  # type: ignore[arg-type]
        policies.hidden,
        policies.output,
    )


def find_entering(weights: np.ndarray, fields: np.ndarray, place: Place) -> tuple[np.ndarray, np.ndarray]:
    """What fields add to the layer that directions enter: to the weights of the place, [m, D', width], and biases."""
    number, size = weights.shape[:2]
    constant, slopes = fields[:, :size], fields[:, size:].reshape(number, size, len(place.rows))
    by_place = np.einsum("mdz,z,mdw->mzw", slopes, place.factors, weights)
    return by_place, np.einsum("md,mdw->mw", constant + slopes @ place.shifts, weights)


def draw_constant_fields(rng: np.random.Generator, number: int, descriptors: int, place: Place) -> np.ndarray:
    """Fields that lead straight on in random directions of length 1, [number, field_size] float32."""
    fields = np.zeros((number, field_size(descriptors, place)), np.float32)
    directions = rng.standard_normal((number, descriptors))
    fields[:, :descriptors] = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    return fields


def mutate_fields(
    parents: np.ndarray,
    rng: np.random.Generator,
    sigma: float | np.ndarray,
    fresh: float,
    place: Place,
    longest: float | None = None,
) -> np.ndarray:
    """Change direction fields by normal draws; a share of them is drawn afresh, half of these constant.

    Args:
        parents: [m, field_size].
        rng: Where the draws come from.
        sigma: Standard deviation of the changes, one for all or [m, 1].
        fresh: Share of new ones.
        place: How z is read off.
        longest: Where it matters how long directions are, the longest; None makes all of length 1.
    """
    constants = parents.shape[1] // (1 + len(place.rows))
    draws, chance = rng.standard_normal(parents.shape), rng.random((len(parents), 1))
    children = np.where(chance < fresh, draws, parents + sigma * draws)
    children[:, constants:] *= chance >= fresh / 2
    return limit_fields(children, place, longest)


def limit_fields(fields: np.ndarray, place: Place, longest: float | None = None) -> np.ndarray:
    """Give direction fields [m, field_size] the length that they are to have, float32; see `mutate_fields`."""
    constants = fields.shape[1] // (1 + len(place.rows))
    weights = np.where(np.arange(fields.shape[1]) < constants, 1.0, 1 / 3)
    size = np.sqrt((weights * fields**2).sum(axis=1, keepdims=True))  # of its directions, over all z
    # Where length does not matter, a field is as good as any multiple of it.
    length = 1.0 if longest is None else np.minimum(size, longest)
    return (length * fields / np.maximum(size, 1e-6)).astype(np.float32)
