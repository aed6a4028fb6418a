"""A collection: the policies a run hands to its user, as plain arrays.

The files can be read without qdpg: `elites.json` says what is what, `elites.safetensors` holds the arrays.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
from ribs.archives import ArchiveBase
from safetensors.numpy import load_file

from qdpg.errors import UserError
from qdpg.learn.networks import MLP
from qdpg.memory.elites import Elites
from qdpg.play.acting import Noise
from qdpg.runs.files import write_arrays, write_json
from qdpg.tasks.task import TaskSpec

_MEANING = {
    "index": "cell of the archive",
    "fitness": "fitness of the episode that earned the policy its place",
    "behaviour": "behaviour descriptor of that episode",
    "seed": "reset seed of that episode",
    "noise": "standard deviation of the Gaussian action noise in it",
    "length": "its steps",
    "episode_return": "its sum of rewards",
    "generation": "when it was played",
    "weight_i": "[policy, fan_in, fan_out]: layer i computes x @ weight_i + bias_i, then its activation; "
    "actions are clipped to [-1, 1]",
    "bias_i": "[policy, fan_out]",
}
_ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
    "linear": lambda x: x,
}


@dataclass(frozen=True)
class Policy:
    """One policy in plain NumPy."""

    weights: tuple[np.ndarray, ...]
    biases: tuple[np.ndarray, ...]
    hidden: str
    output: str
    fitness: float
    behaviour: np.ndarray
    seed: int

    def act(self, observation: np.ndarray) -> np.ndarray:
        """Return the action [..., A] in [-1, 1] for an observation [..., O]."""
        x = np.asarray(observation, np.float32)
        last = len(self.weights) - 1
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = _ACTIVATIONS[self.output if i == last else self.hidden](x @ weight + bias)
        return np.clip(x, -1.0, 1.0)


class Collection:
    """Policies with their fitness and behaviours, in the order of their cells."""

    def __init__(self, spec: TaskSpec, about: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        self.spec, self.about, self.arrays = spec, about, arrays
        self.fitness, self.behaviours = arrays["fitness"], arrays["behaviour"]
        self.seeds, self.cells_index = arrays["seed"], arrays["index"]
        self.noise = Noise(arrays["noise"], about["noise_correlation"])
        self._layers = len(about["policy"]["sizes"]) - 1

    def __len__(self) -> int:
        return len(self.fitness)

    def __getitem__(self, row: int) -> Policy:
        if not -len(self) <= row < len(self):
            raise IndexError(row)
        shape, layers = self.about["policy"], range(self._layers)
        return Policy(
            weights=tuple(self.arrays[f"weight_{i}"][row] for i in layers),
            biases=tuple(self.arrays[f"bias_{i}"][row] for i in layers),
            hidden=shape["hidden"],
            output=shape["output"],
            fitness=float(self.fitness[row]),
            behaviour=self.behaviours[row],
            seed=int(self.seeds[row]),
        )

    def best(self) -> Policy:
        """The policy of the highest fitness."""
        if not len(self):
            raise UserError("the collection is empty; train longer.")
        return self[int(self.fitness.argmax())]

    def population(self) -> MLP:
        """All policies, stacked, as players take them."""
        shape, layers = self.about["policy"], range(self._layers)
        return MLP(
            tuple(self.arrays[f"weight_{i}"] for i in layers),  # type: ignore[misc]
            tuple(self.arrays[f"bias_{i}"] for i in layers),  # type: ignore[misc]
            shape["hidden"],
            shape["output"],
        )

    def archive(self) -> ArchiveBase:
        """The collection as a pyribs archive; solutions are flat: all weights, then all biases."""
        cells = self.about["cells"]
        template = jax.tree.map(lambda leaf: np.zeros(leaf.shape[1:], np.float32), self.population())
        elites = Elites(
            self.spec, template, cells if isinstance(cells, int) else tuple(cells), self.about["archive_seed"]
        )
        leaves = jax.tree.leaves(self.population())
        data = {
            name: self.arrays[name] for name in ("index", "seed", "noise", "length", "episode_return", "generation")
        }
        data["solution"] = np.concatenate([leaf.reshape(len(self), -1) for leaf in leaves], axis=1)
        elites.load(data | {"objective": self.fitness, "measures": self.behaviours})
        return elites.archive


def write_collection(directory: Path, elites: Elites, about: dict[str, Any]) -> None:
    """Write the elites of a run with what there is to know `about` them."""
    data, spec, template = elites.data(), elites.spec, elites.template
    population = elites.policies(np.arange(len(elites)))
    arrays = {
        "index": data["index"],
        "fitness": data["objective"],
        "behaviour": data["measures"],
        **{name: data[name] for name in ("seed", "noise", "length", "episode_return", "generation")},
    }
    for i, (weight, bias) in enumerate(zip(population.weights, population.biases, strict=True)):
        arrays |= {f"weight_{i}": np.asarray(weight), f"bias_{i}": np.asarray(bias)}
    write_arrays(directory / "elites.safetensors", arrays)
    description = {
        "format": 1,
        **about,
        "policies": len(elites),
        "policy": {"sizes": list(template.sizes), "hidden": template.hidden, "output": template.output},
        "descriptor_names": list(spec.descriptor_names),
        "descriptor_low": list(spec.descriptor_low),
        "descriptor_high": list(spec.descriptor_high),
        "fields": _MEANING,
    }
    write_json(directory / "elites.json", description)


def read_collection(directory: Path, spec: TaskSpec) -> Collection:
    """Read what `write_collection` wrote.

    Raises:
        UserError: The files are missing or damaged.
    """
    try:
        about = json.loads((directory / "elites.json").read_text())
        return Collection(spec, about, load_file(directory / "elites.safetensors"))
    except FileNotFoundError as error:
        raise UserError(f"{error.filename or directory} is missing; the run has no elites yet.") from error
    except Exception as error:
        raise UserError(f"the elites in {directory} cannot be read: {type(error).__name__}: {error}.") from error
