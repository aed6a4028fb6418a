"""Navigation fields: directions that lead from anywhere, on the shortest known way, to one place, and hold it.

A direction field b + A·z leads straight to a place, or round it, but not round a wall. A navigation field adds hinges:
w(z) = b + A·z + C·relu(P·z + q). The hinges are drawn at random along the way, and b, A and C are fitted to the
directions of the roadmap by least squares. A direction-conditioned policy that follows such a field is an ordinary
network with one layer more: its first layer hands on the observation and adds the hinges.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from qdpg.learn.direction_field import Place, direction_weights, find_entering
from qdpg.learn.networks import MLP
from qdpg.learn.roadmap import Roadmap, distance_from, find_way, look_ahead, walk
from qdpg.native import one_thread

HINGES = 96
LENGTH = 1.5  # of directions far from the target: as long as those that policies are trained with
REACH = 0.1  # distance from the target, in z, from which on they get shorter
FAR = 5.0  # a way that seems so many times as long leads round a wall
TUBE = 0.3  # distance from the way, in z, over which directions count less and less
ELSEWHERE = 0.02  # how much they count far from it
TRIES = 6  # draws of hinges, of which the one that fits best counts
PARTNERS = 32  # places that are drawn to find out where directions change
RIDGE = 1e-5  # keeps C small


class Field(NamedTuple):
    """m navigation fields."""

    linear: np.ndarray  # [m, 1 + D, D] float64: b, then A transposed
    hinges: np.ndarray  # [m, 1 + D, H]: q, then P transposed
    slopes: np.ndarray  # [m, H, D]: C transposed

    def __call__(self, places: np.ndarray) -> np.ndarray:
        """Directions at places [k, D] in z, [m, k, D]."""
        known = np.concatenate([np.ones((len(places), 1)), places], axis=1)
        return known @ self.linear + np.maximum(known @ self.hinges, 0.0) @ self.slopes


def flat_fields(fields: np.ndarray, descriptors: int) -> Field:
    """Direction fields [m, D + D·D] without hinges."""
    number = len(fields)
    linear = np.zeros((number, 1 + descriptors, descriptors))
    linear[:, 0] = fields[:, :descriptors]
    if fields.shape[1] > descriptors:
        linear[:, 1:] = fields[:, descriptors:].reshape(number, descriptors, descriptors).transpose(0, 2, 1)
    return Field(linear, np.zeros((number, 1 + descriptors, HINGES)), np.zeros((number, HINGES, descriptors)))


def plan_field(
    roadmap: Roadmap, target: np.ndarray, goal: int, starts: np.ndarray, units: np.ndarray, seed: int
) -> Field:
    """Fit one field that leads to a target.

    Args:
        roadmap: What is known.
        target: [D] in z.
        goal: Row of the bin up to which ways are known; from there it is straight on to the target.
        starts: [k, D] where episodes begin, in z.
        units: [D] what a step of 1 in z is in the descriptors that policies were taught directions of.
        seed: Where the hinges come from.
    """
    lengths, following = find_way(roadmap, goal)
    on_way = walk(following, roadmap.nearest(starts))
    ahead = roadmap.places[look_ahead(following)]
    remaining = np.linalg.norm((target - roadmap.places), axis=1, keepdims=True)
    near = (remaining[:, 0] < REACH) & (lengths < FAR * REACH)  # and not behind a wall
    ahead[near | (look_ahead(following) == following)] = target
    steps = (ahead - roadmap.places) * units
    size = np.linalg.norm(steps, axis=1, keepdims=True)
    slow = np.where(near[:, None], np.minimum(remaining / REACH, 1.0), 1.0)
    wanted = LENGTH * slow * steps / np.maximum(size, 1e-9)
    away = distance_from(roadmap, on_way)
    counts = ELSEWHERE + np.exp(-((np.minimum(away, 9.0) / TUBE) ** 2))
    rng = np.random.default_rng(seed)
    drawn = [_draw_hinges(roadmap.places, wanted, counts, rng) for _ in range(TRIES)]
    with one_thread():
        tries = [_fit(roadmap.places, wanted, counts, hinges) for hinges in drawn]
    return min(tries, key=lambda each: each[0])[1]


def _draw_hinges(places: np.ndarray, wanted: np.ndarray, counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Hinges with slopes of length 1, [1 + D, H].

    A third of them have any direction and lie on the way. The others are where directions change: between a place on
    the way and the one, of some that are drawn, to which the change over the distance is largest.
    """
    share = counts / counts.sum()
    on_way, others = rng.choice(len(places), HINGES, p=share), rng.choice(len(places), (HINGES, PARTNERS), p=share)
    steps = places[others] - places[on_way][:, None]
    distances = np.linalg.norm(steps, axis=2)
    change = np.linalg.norm(wanted[others] - wanted[on_way][:, None], axis=2) / (distances + 0.05)
    partner = np.where(distances > 0, change, -1.0).argmax(axis=1)
    across = steps[np.arange(HINGES), partner]
    anyhow = rng.standard_normal(across.shape)
    is_free = (np.arange(HINGES) < HINGES // 3) | ~across.any(axis=1)
    slopes = np.where(is_free[:, None], anyhow, across)
    slopes /= np.linalg.norm(slopes, axis=1, keepdims=True)
    through = places[on_way] + np.where(is_free, 0.0, rng.random(HINGES))[:, None] * across
    return np.concatenate([-(slopes * through).sum(axis=1)[None], slopes.T])


def _fit(places: np.ndarray, wanted: np.ndarray, counts: np.ndarray, hinges: np.ndarray) -> tuple[float, Field]:
    """The field with these hinges that comes nearest to the wanted directions, behind its error."""
    known = np.concatenate([np.ones((len(places), 1)), places], axis=1)
    features = np.concatenate([known, np.maximum(known @ hinges, 0.0)], axis=1)
    weighted = features * counts[:, None]
    ridge = RIDGE * counts.sum() * np.eye(features.shape[1])
    ridge[: known.shape[1], : known.shape[1]] *= 1e-3
    found = np.linalg.solve(features.T @ weighted + ridge, weighted.T @ wanted)
    linear, slopes = np.split(found, [known.shape[1]])
    error = float((counts[:, None] * (features @ found - wanted) ** 2).sum())
    return error, Field(linear[None], hinges[None], slopes[None])


def join_fields(*fields: Field) -> Field:
    """Fields in order."""
    return Field(*(np.concatenate(parts) for parts in zip(*fields, strict=True)))


def field_layer(seen: int) -> int:
    """Width of the layer that hands on `seen` observations and adds the hinges."""
    return 2 * seen + HINGES


def follow_navigation(policy: MLP, field: Field, place: Place) -> MLP:
    """Make of a direction-conditioned policy one ordinary policy for each field, with one layer more.

    Args:
        policy: A population of one, whose last D inputs are the direction, and whose hidden layers are ReLUs.
        field: m of them.
        place: How z is read off its other inputs.
    """
    number, descriptors = len(field.linear), field.linear.shape[2]
    own, seen = direction_weights(policy, descriptors)[0].astype(np.float64), policy.sizes[0] - descriptors
    # x as relu(x) - relu(-x), then the hinges.
    first = np.zeros((number, seen, field_layer(seen)))
    biases = np.zeros((number, field_layer(seen)))
    first[:, :, :seen], first[:, :, seen : 2 * seen] = np.eye(seen), -np.eye(seen)
    first[:, place.rows, 2 * seen :] = place.factors[:, None] * field.hinges[:, 1:]
    biases[:, 2 * seen :] = field.hinges[:, 0] + np.einsum("d,mdh->mh", place.shifts, field.hinges[:, 1:])
    straight = np.repeat(np.asarray(policy.weights[0], np.float64)[:, :seen], number, axis=0)
    straight[:, place.rows] += np.einsum("d,mde,ew->mdw", place.factors, field.linear[:, 1:], own)
    second = np.concatenate([straight, -straight, field.slopes @ own], axis=1)
    constant = field.linear[:, 0] + np.einsum("d,mde->me", place.shifts, field.linear[:, 1:])
    offsets = np.asarray(policy.biases[0], np.float64) + constant @ own
    rest = [np.repeat(np.asarray(leaf), number, axis=0) for leaf in (*policy.weights[1:], *policy.biases[1:])]
    later = len(policy.weights) - 1
    weights = (first.astype(np.float32), second.astype(np.float32), *rest[:later])
    bias = (biases.astype(np.float32), offsets.astype(np.float32), *rest[later:])
    return MLP(weights, bias, policy.hidden, policy.output)  # type: ignore[arg-type]


def add_to_navigation(policies: MLP, weights: np.ndarray, fields: np.ndarray, place: Place) -> MLP:
    """Add direction fields to what policies with hinges follow already; see `add_fields` for the arguments."""
    seen = (policies.weights[0].shape[2] - HINGES) // 2
    second, biases = (np.array(layer[1], np.float64) for layer in (policies.weights, policies.biases))
    by_place, everywhere = find_entering(weights, fields, place)
    second[:, place.rows] += by_place  # relu(x), then relu(-x)
    second[:, seen + place.rows] -= by_place
    biases += everywhere
    return MLP(
        (policies.weights[0], second.astype(np.float32), *policies.weights[2:]),  # type: ignore[arg-type]
        (policies.biases[0], biases.astype(np.float32), *policies.biases[2:]),  # type: ignore[arg-type]
        policies.hidden,
        policies.output,
    )
