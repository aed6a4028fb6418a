"""A collection: the policies a run hands to its user, as plain arrays.

The files can be read without qdpg: `elites.json` says what is what, `elites.safetensors` holds the arrays.
"""

from __future__ import annotations

import functools
import json
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
from qdpg.play.alone import Act, Arithmetic, act_alone
from qdpg.runs.files import checksum, write_arrays, write_json
from qdpg.runs.logs import read_csv
from qdpg.tasks.task import TaskSpec

_MEANING = {
    "index": "cell of the archive",
    "fitness": "fitness of the episode that earned the policy its place, or mean of its episodes if there are several",
    "behaviour": "behaviour descriptor of that episode, or mean of its episodes",
    "seed": "reset seed of that episode, or of the first of several",
    "noise": "standard deviation of the Gaussian action noise in it",
    "episodes": "how many episodes it was judged by; if this is missing, by one",
    "trial_seeds": "[policy, episode] their reset seeds, the first `episodes` of each row",
    "trial_fitness": "[policy, episode] their fitness",
    "trial_behaviours": "[policy, episode, descriptor] their behaviour descriptors",
    "length": "its steps",
    "episode_return": "its sum of rewards",
    "generation": "when it was played",
    "weight_i": "[policy, fan_in, fan_out]: layer i computes x @ weight_i + bias_i, then its activation; "
    "actions are clipped to [-1, 1]",
    "bias_i": "[policy, fan_out]",
}
EVALUATED, EVALUATED_ABOUT = "evaluated.csv", "evaluated.json"
_TRIALS = ("episodes", "trial_seeds", "trial_fitness", "trial_behaviours")


@dataclass(frozen=True)
class Policy:
    """One policy of a collection.

    Attributes:
        weights: [fan_in, fan_out] of each layer.
        biases: [fan_out] of each layer.
        hidden: Activation of the hidden layers.
        output: Activation of the last layer.
        fitness: Its stored fitness, which is optimistic: it was stored for it.
        behaviour: [D], its stored behaviour.
        seed: The reset seed of the episode that it was stored for, or of the first of several.
        evaluated_fitness: Its mean fitness from fresh starts; not-a-number before `qdpg evaluate`.
        arithmetic: Whose rounding it acts with; see `act_alone`.
    """

    weights: tuple[np.ndarray, ...]
    biases: tuple[np.ndarray, ...]
    hidden: str
    output: str
    fitness: float
    behaviour: np.ndarray
    seed: int
    evaluated_fitness: float = np.nan
    arithmetic: Arithmetic = "native"

    def act(self, observation: np.ndarray) -> np.ndarray:
        """Return the action [..., A] in [-1, 1] for an observation [..., O], bit for bit as a player would."""
        seen = np.asarray(observation, np.float32)
        actions = self._act(seen.reshape(-1, seen.shape[-1]))
        return actions.reshape(*seen.shape[:-1], -1)

    @functools.cached_property
    def _act(self) -> Act:
        weights, biases = (tuple(part[None] for part in parts) for parts in (self.weights, self.biases))
        return act_alone(MLP(weights, biases, self.hidden, self.output), self.arithmetic)  # type: ignore[arg-type]


class Collection:
    """Policies with their fitness and behaviours, in the order of their cells."""

    def __init__(
        self,
        spec: TaskSpec,
        about: dict[str, Any],
        arrays: dict[str, np.ndarray],
        evaluated: dict[str, np.ndarray] | None = None,
        arithmetic: Arithmetic = "native",
    ) -> None:
        """Hold policies.

        Args:
            spec: The task.
            about: What there is to know about all of them; see `elites.json`.
            arrays: What there is to know about each; see `elites.safetensors`.
            evaluated: What `qdpg evaluate` found about each, by column, if it has been called.
            arithmetic: Whose rounding they act with.
        """
        self.spec, self.about, self.arrays = spec, about, arrays
        self.evaluated, self.arithmetic = evaluated, arithmetic
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
            evaluated_fitness=float("nan") if self.evaluated is None else float(self.evaluated["mean"][row]),
            arithmetic=self.arithmetic,
        )

    @property
    def worth(self) -> np.ndarray:
        """What policies are compared by, [n]: the mean fitness from fresh starts if known, else the stored fitness."""
        return self.fitness if self.evaluated is None else self.evaluated["mean"]

    def best(self) -> Policy:
        """The policy with the highest mean fitness from fresh starts, or stored fitness before `qdpg evaluate`."""
        if not len(self):
            raise UserError("the collection is empty; train longer.")
        return self[int(self.worth.argmax())]

    def stored_episodes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """All episodes that policies were judged by: rows [m], reset seeds [m], fitness [m], behaviours [m, D]."""
        if "episodes" not in self.arrays:
            return np.arange(len(self)), self.seeds, self.fitness, self.behaviours
        seeds = self.arrays["trial_seeds"]
        rows, trials = np.nonzero(np.arange(seeds.shape[1]) < self.arrays["episodes"][:, None])
        fitness, behaviours = self.arrays["trial_fitness"], self.arrays["trial_behaviours"]
        return rows, seeds[rows, trials], fitness[rows, trials], behaviours[rows, trials]

    def population(self) -> MLP:
        """All policies, stacked, as players take them."""
        shape, layers = self.about["policy"], range(self._layers)
        return MLP(
            tuple(self.arrays[f"weight_{i}"] for i in layers),  # type: ignore[misc]
            tuple(self.arrays[f"bias_{i}"] for i in layers),  # type: ignore[misc]
            shape["hidden"],
            shape["output"],
        )

    def archive(self, corrected: bool = False) -> ArchiveBase:
        """The collection as a pyribs archive; solutions are flat: all weights, then all biases.

        Args:
            corrected: Put each policy where its mean behaviour from fresh starts is, with its mean fitness. Of several
                in a cell the best stays. Needs `qdpg evaluate`.
        """
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
        fitness, behaviours = self.fitness, self.behaviours
        if corrected:
            if self.evaluated is None:
                raise UserError("the collection has not been evaluated; call `qdpg evaluate` first.")
            names = [f"mean_{name}" for name in self.spec.descriptor_names]
            fitness, behaviours = self.worth, np.stack([self.evaluated[name] for name in names], axis=-1)
        elites.load(data | {"objective": fitness, "measures": behaviours})
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
    arrays |= {name: data[name] for name in _TRIALS if name in data}
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


def read_collection(directory: Path, spec: TaskSpec, arithmetic: Arithmetic = "native") -> Collection:
    """Read what `write_collection` wrote, and what was found about these policies since.

    Args:
        directory: Where it is.
        spec: The task.
        arithmetic: Whose rounding the policies act with.

    Raises:
        UserError: The files are missing or damaged.
    """
    try:
        about = json.loads((directory / "elites.json").read_text())
        arrays = load_file(directory / "elites.safetensors")
        return Collection(spec, about, arrays, _read_evaluated(directory), arithmetic)
    except UserError:
        raise
    except FileNotFoundError as error:
        raise UserError(f"{error.filename or directory} is missing; the run has no elites yet.") from error
    except Exception as error:
        raise UserError(f"the elites in {directory} cannot be read: {type(error).__name__}: {error}.") from error


def read_evaluated_about(directory: Path) -> dict[str, Any] | None:
    """What the last `qdpg evaluate` says about all policies of a collection; None if it was about others, or never."""
    try:
        about = json.loads((directory / EVALUATED_ABOUT).read_text())
        is_same = about["elites_sha256"] == checksum(directory / "elites.safetensors")
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return about if is_same else None


def _read_evaluated(directory: Path) -> dict[str, np.ndarray] | None:
    about = read_evaluated_about(directory)
    if about is None or not about.get("episodes") or not (directory / EVALUATED).exists():
        return None
    return read_csv(directory / EVALUATED)
