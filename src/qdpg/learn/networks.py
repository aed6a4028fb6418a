"""Multi-layer perceptrons as pytrees. A population is the same pytree with a leading axis N on every leaf."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

Activation = Literal["relu", "tanh", "linear", "gaussian", "normed"]


def normed_relu(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """A ReLU divided by the root mean square of its layer, so that it is never large; and that divisor, [..., 1]."""
    y = jax.nn.relu(x)
    size = jnp.sqrt(jnp.mean(y * y, axis=-1, keepdims=True) + 1e-6)  # a little more, never zero
    return y / size, size


# What a Gaussian policy's last layer gives is left as it is here: see `deviation` for what is made of it.
ACTIVATIONS = {
    "relu": jax.nn.relu,
    "tanh": jnp.tanh,
    "linear": lambda x: x,
    "gaussian": lambda x: x,
    "normed": lambda x: normed_relu(x)[0],
}

# Logarithms of a Gaussian policy's deviations lie within this much of that, in [-5, 2] (CleanRL's SAC).
LOG_DEVIATION, LOG_DEVIATION_RANGE = -1.5, 3.5


class MLP(eqx.Module):
    """A multi-layer perceptron, or N of them stacked.

    Attributes:
        weights: One [..., fan_in, fan_out] array per layer.
        biases: One [..., fan_out] array per layer.
        hidden: Activation after every layer but the last.
        output: Activation after the last layer; "tanh" makes it a policy that acts in [-1, 1]. "gaussian" makes it a
            policy that acts at random: its last layer gives A means, and A numbers that `deviation` turns into
            standard deviations; the action is the tanh of a normal draw. What a policy with another one would do is
            clipped to [-1, 1] by whoever plays it.
    """

    weights: tuple[jax.Array, ...]
    biases: tuple[jax.Array, ...]
    hidden: Activation = eqx.field(static=True, default="relu")
    output: Activation = eqx.field(static=True, default="tanh")

    def __len__(self) -> int:
        """Networks that are stacked, N."""
        return len(self.biases[0])

    @property
    def sizes(self) -> tuple[int, ...]:
        """Widths from input to output."""
        return (self.weights[0].shape[-2], *(w.shape[-1] for w in self.weights))


def init_mlp(key: jax.Array, sizes: tuple[int, ...], hidden: Activation = "relu", output: Activation = "tanh") -> MLP:
    """Draw one network: weights and biases uniform in ±1/√fan_in, as TD3's reference code (PyTorch's default) does.

    Args:
        key: Random key.
        sizes: Widths from input to output, e.g. (2, 64, 32, 2).
        hidden: Activation after every layer but the last.
        output: Activation after the last layer.
    """
    return jax.tree.map(lambda leaf: leaf[0], init_population(key, 1, sizes, hidden, output))


def init_population(
    key: jax.Array, number: int, sizes: tuple[int, ...], hidden: Activation = "relu", output: Activation = "tanh"
) -> MLP:
    """Draw `number` networks, stacked on a leading axis; see `init_mlp`."""
    # NumPy draws them, because JAX would first compile a program for every shape.
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)).ravel())
    weights, biases = [], []
    for fan_in, fan_out in itertools.pairwise(sizes):
        bound = fan_in**-0.5
        weights.append(rng.uniform(-bound, bound, (number, fan_in, fan_out)).astype(np.float32))
        biases.append(rng.uniform(-bound, bound, (number, fan_out)).astype(np.float32))
    return MLP(tuple(weights), tuple(biases), hidden, output)  # type: ignore[arg-type]


def init_normalised(
    rng: np.random.Generator,
    number: int,
    sizes: tuple[int, ...],
    output_scale: float,
    hidden: Activation = "tanh",
    output: Activation = "tanh",
) -> MLP:
    """Draw `number` networks whose units each have incoming weights of length one, and no biases, stacked.

    Args:
        rng: Where the draws come from.
        number: How many.
        sizes: Widths from input to output.
        output_scale: Length of the incoming weights of the last layer's units; a small one makes hardly any action.
        hidden: Activation after every layer but the last.
        output: Activation after the last layer.
    """
    layers = list(itertools.pairwise(sizes))
    weights = [rng.standard_normal((number, *layer), np.float32) for layer in layers]
    weights = [weight / np.linalg.norm(weight, axis=1, keepdims=True) for weight in weights]
    weights[-1] *= np.float32(output_scale)
    biases = [np.zeros((number, fan_out), np.float32) for _, fan_out in layers]
    return MLP(tuple(weights), tuple(biases), hidden, output)  # type: ignore[arg-type]


def scale_inputs(network: MLP, factors: Sequence[float] | np.ndarray) -> MLP:
    """A network, or N of them, that does with x what `network` does with `factors` · x. Exact for powers of two.

    Inputs beyond the last factor are cut off.
    """
    first = network.weights[0][..., : len(factors), :] * np.asarray(factors, np.float32)[:, None]
    return MLP((first, *network.weights[1:]), network.biases, network.hidden, network.output)


def add_inputs(network: MLP, number: int) -> MLP:
    """A network, or N of them, with further inputs behind its own, `number` in all, which have no effect."""
    first = np.asarray(network.weights[0])
    none = np.zeros((*first.shape[:-2], number - first.shape[-2], first.shape[-1]), np.float32)
    weights = (np.concatenate([first, none], axis=-2), *network.weights[1:])
    return MLP(weights, network.biases, network.hidden, network.output)  # type: ignore[arg-type]


def count_parameters(*sizes: int) -> int:
    """Weights and biases of a network with these widths from input to output."""
    return sum((fan_in + 1) * fan_out for fan_in, fan_out in itertools.pairwise(sizes))


def apply_mlp(network: MLP, x: jax.Array) -> jax.Array:
    """Apply one network to inputs [..., fan_in]; for a population use `jax.vmap`."""
    last = len(network.weights) - 1
    for layer, (weight, bias) in enumerate(zip(network.weights, network.biases, strict=True)):
        x = ACTIVATIONS[network.output if layer == last else network.hidden](x @ weight + bias)
    return x


def deviation(raw: jax.Array) -> jax.Array:
    """Standard deviations of a Gaussian policy, from the second half of what its last layer gives."""
    return jnp.exp(LOG_DEVIATION + LOG_DEVIATION_RANGE * jnp.tanh(raw))


def deterministic(network: MLP) -> MLP:
    """A policy that acts as `network` does without noise: of a Gaussian one, or N of them, the tanh of the means."""
    if network.output != "gaussian":
        return network
    means = network.biases[-1].shape[-1] // 2
    weights = (*network.weights[:-1], network.weights[-1][..., :means])
    return MLP(weights, (*network.biases[:-1], network.biases[-1][..., :means]), network.hidden, "tanh")


def flatten_population(population: MLP) -> np.ndarray:
    """Turn N stacked networks into parameter vectors, [N, P] float32."""
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(population)]
    return np.concatenate([leaf.reshape(len(leaf), -1) for leaf in leaves], axis=1, dtype=np.float32)


def unflatten_population(vectors: np.ndarray, template: MLP) -> MLP:
    """Turn parameter vectors [N, P] into N stacked networks shaped like `template` (one network)."""
    leaves, structure = jax.tree.flatten(template)
    ends = np.cumsum([leaf.size for leaf in leaves])
    parts = np.split(vectors, ends[:-1], axis=1)
    stacked = [part.reshape(len(vectors), *leaf.shape) for part, leaf in zip(parts, leaves, strict=True)]
    return jax.tree.unflatten(structure, stacked)


def join_policies(*populations: MLP) -> MLP:
    """Join populations of the same shape."""
    return jax.tree.map(lambda *leaves: np.concatenate([np.asarray(leaf) for leaf in leaves]), *populations)


def take_policies(population: MLP, rows: np.ndarray | slice) -> MLP:
    """The policies in `rows` of a population; any row may come more than once."""
    return jax.tree.map(lambda leaf: np.asarray(leaf)[rows], population)


def repeat_policies(population: MLP, number: int) -> MLP:
    """`number` copies of policies of a population, in turn."""
    return take_policies(population, np.arange(number) % len(population))
