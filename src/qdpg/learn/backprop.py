"""Forward and backward passes of perceptrons, written out.

Automatic differentiation gives the same numbers, but on a CPU the compiler then spends time on batched products in
awkward layouts, on joined inputs and on broadcasts. Everything here works with or without leading axes for a
population, as `jnp.matmul` does.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp

from qdpg.learn.networks import ACTIVATIONS, MLP, Activation, normed_relu


class Pass(NamedTuple):
    """A forward pass: what went into every layer, and what came out of the last."""

    inputs: tuple[jax.Array, ...]  # [..., B, fan_in] of each part of the first layer's input
    hidden: tuple[jax.Array, ...]  # [..., B, width] after each activation but the last
    sizes: tuple[jax.Array | None, ...]  # [..., B, 1] what each of these was divided by, if it is "normed"
    output: jax.Array  # [..., B, fan_out]


def forward(network: MLP, *inputs: jax.Array) -> Pass:
    """Apply `network` to the parts of its input, which need not be joined: their products are added instead."""
    products = [part @ weight for part, weight in zip(inputs, _split_first(network, inputs), strict=True)]
    x = functools.reduce(jnp.add, products)
    hidden, sizes = [], []
    for layer, bias in enumerate(network.biases[:-1]):
        x, size = _activate(network.hidden, x + bias[..., None, :])
        hidden.append(x)
        sizes.append(size)
        x = x @ network.weights[layer + 1]
    output = ACTIVATIONS[network.output](x + network.biases[-1][..., None, :])
    return Pass(inputs, tuple(hidden), tuple(sizes), output)


def parameter_gradient(network: MLP, passed: Pass, gradient: jax.Array) -> MLP:
    """Gradient with respect to weights and biases, shaped like `network`.

    Args:
        network: What was applied.
        passed: Its forward pass.
        gradient: [..., B, fan_out] with respect to the output.
    """
    deltas = _deltas(network, passed, gradient)
    first = [_transpose(part) @ deltas[0] for part in passed.inputs]
    weights = [first[0] if len(first) == 1 else jnp.concatenate(first, axis=-2)]
    weights += [_transpose(x) @ delta for x, delta in zip(passed.hidden, deltas[1:], strict=True)]
    biases = [delta.sum(axis=-2) for delta in deltas]
    return MLP(tuple(weights), tuple(biases), network.hidden, network.output)


def input_gradient(network: MLP, passed: Pass, gradient: jax.Array) -> jax.Array:
    """Gradient with respect to the last part of the input, [..., B, its width]; see `parameter_gradient`."""
    weight = _split_first(network, passed.inputs)[-1]
    return _deltas(network, passed, gradient)[0] @ _transpose(weight)


def _deltas(network: MLP, passed: Pass, gradient: jax.Array) -> list[jax.Array]:
    """Gradients with respect to what each layer's activation was applied to, first layer first."""
    deltas = [gradient * _slope(network.output, passed.output)]
    for weight, x, size in zip(network.weights[:0:-1], passed.hidden[::-1], passed.sizes[::-1], strict=True):
        back = deltas[-1] @ _transpose(weight)
        if size is not None:
            back = (back - x * jnp.mean(back * x, axis=-1, keepdims=True)) / size
        deltas.append(back * _slope(network.hidden, x))
    return deltas[::-1]


def _activate(activation: Activation, x: jax.Array) -> tuple[jax.Array, jax.Array | None]:
    """An activation's value, and what a "normed" one divided by."""
    return normed_relu(x) if activation == "normed" else (ACTIVATIONS[activation](x), None)


def _slope(activation: Activation, y: jax.Array) -> jax.Array | float:
    """Derivative of an activation, given its value; of a "normed" one, before the division."""
    if activation in ("relu", "normed"):
        return (y > 0).astype(y.dtype)
    return 1.0 - y * y if activation == "tanh" else 1.0


def _split_first(network: MLP, inputs: tuple[jax.Array, ...]) -> list[jax.Array]:
    """The first layer's weights in parts that belong to the parts of the input."""
    parts, start = [], 0
    for part in inputs:
        parts.append(network.weights[0][..., start : start + part.shape[-1], :])
        start += part.shape[-1]
    return parts


def _transpose(x: jax.Array) -> jax.Array:
    return jnp.swapaxes(x, -1, -2)
