"""The files of a collection, which can be read without qdpg.

`elites.json` says what is what, `elites.safetensors` holds the arrays.
"""

from __future__ import annotations

import dataclasses
import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from qdpg.errors import DamagedError, UserError
from qdpg.learn.networks import Activation
from qdpg.memory.elites import Elites
from qdpg.options import fit
from qdpg.play.alone import Arithmetic
from qdpg.ranges import Cells, Count
from qdpg.runs.collection import Collection
from qdpg.runs.evaluated import ABOUT, ARRAYS, FORMAT, OLD_FORMAT, read_evaluated, write_evaluated
from qdpg.runs.files import Staged, as_json, read_arrays, read_json, stage, stage_arrays
from qdpg.runs.records import DIGEST, parse, read_sealed, sealed
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
_TRIALS = ("episodes", "trial_seeds", "trial_fitness", "trial_behaviours")


def stage_collection(directory: Path, elites: Elites, about: dict[str, Any]) -> list[Staged]:
    """Write the elites of a run with what there is to know `about` them, under temporary names."""
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
    staged = stage_arrays(directory / ARRAYS, arrays)
    description = {
        "format": FORMAT,
        **about,
        "elites_sha256": staged.sha256,
        "policies": len(elites),
        "policy": {"sizes": list(template.sizes), "hidden": template.hidden, "output": template.output},
        "descriptor_names": list(spec.descriptor_names),
        "descriptor_low": list(spec.descriptor_low),
        "descriptor_high": list(spec.descriptor_high),
        "spec": dataclasses.asdict(spec),
        "fields": _MEANING,
    }
    # The description is the last to get its name: whoever finds it there finds all.
    return [staged, stage(directory / ABOUT, [as_json(sealed(description))])]


def write_collection(directory: Path, elites: Elites, about: dict[str, Any]) -> None:
    """Write the elites of a run with what there is to know `about` them."""
    for staged in stage_collection(directory, elites, about):
        staged.publish()


@dataclass(frozen=True)
class _Shape:
    """The networks of a collection."""

    sizes: list[Count]
    hidden: Activation
    output: Activation


def save_collection(elites: Collection, directory: Path) -> None:
    """Write a collection on its own, with what is known about its policies.

    Raises:
        UserError: There is something in the directory already.
    """
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise UserError(f"{directory} is there already and is not empty; choose another directory.")
    staged = stage_arrays(directory / ARRAYS, elites.arrays)
    written = {"format": FORMAT, "arithmetic": elites.arithmetic, "spec": dataclasses.asdict(elites.spec)}
    description = {**elites.about, **written, "elites_sha256": staged.sha256}
    for each in (staged, stage(directory / ABOUT, [as_json(sealed(description))])):
        each.publish()
    if elites.evaluated is not None:
        write_evaluated(directory, elites.evaluated)


def read_collection(directory: Path, spec: TaskSpec | None = None, arithmetic: Arithmetic | None = None) -> Collection:
    """Read what `write_collection` wrote, and what was found about these policies since.

    Args:
        directory: Where it is.
        spec: The task; by default what was written down of it.
        arithmetic: Whose rounding the policies act with; by default what was written down.

    Raises:
        UserError: The files are missing or damaged.
    """
    if not directory.is_dir():
        raise UserError(f"{directory} is missing; the run has no elites yet.")
    about = read_json(directory / ABOUT)
    if about.get("format") != OLD_FORMAT or DIGEST in about:
        about = read_sealed(directory / ABOUT)
        if about.get("format") != FORMAT:
            raise DamagedError(f"{directory / ABOUT} has format {about.get('format')!r:.40}, not {FORMAT}.")
    if spec is None:
        spec = parse(TaskSpec, about.get("spec"), f"'spec' in {directory / ABOUT}")
    if arithmetic is None:
        arithmetic = fit(about.get("arithmetic", "native"), Arithmetic, f"'arithmetic' in {directory / ABOUT}")
    arrays = read_arrays(directory / ARRAYS, about.get("elites_sha256", ""))
    _check(directory, spec, about, arrays)
    return Collection(
        spec, about, arrays, read_evaluated(directory, len(arrays["index"]), spec.descriptor_names), arithmetic
    )


def _check(directory: Path, spec: TaskSpec, about: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Refuse arrays that do not fit each other, their description or the task."""
    shape = parse(_Shape, about.get("policy"), f"'policy' in {directory / ABOUT}")
    sizes = shape.sizes
    wanted: dict[str, tuple[int, ...]] = dict.fromkeys(
        ("index", "fitness", "seed", "noise", "length", "episode_return", "generation"), ()
    )
    wanted["behaviour"] = (spec.descriptor_size,)
    for i, (fan_in, fan_out) in enumerate(itertools.pairwise(sizes)):
        wanted |= {f"weight_{i}": (fan_in, fan_out), f"bias_{i}": (fan_out,)}
    policies = len(arrays["index"]) if "index" in arrays and arrays["index"].ndim else 0
    for name, tail in wanted.items():
        if name not in arrays or arrays[name].shape != (policies, *tail):
            found = arrays[name].shape if name in arrays else "missing"
            raise DamagedError(f"{directory / ARRAYS} is damaged: {name!r} is {found}, not {(policies, *tail)}.")
        if arrays[name].dtype.kind == "f" and not np.isfinite(arrays[name]).all():
            raise DamagedError(f"{directory / ARRAYS} is damaged: {name!r} is not finite.")
    if sizes[0] != spec.observation_size:
        raise DamagedError(f"{directory / ABOUT} is of another task: policies see {sizes[0]} numbers.")
    if about.get("policies") != policies:
        raise DamagedError(f"{directory / ABOUT} is damaged: it speaks of {about.get('policies')!r:.40} policies.")
    for name, least in (("noise_correlation", float), ("archive_seed", int), ("steps", int)):
        if not isinstance(about.get(name), int | least) or isinstance(about.get(name), bool):
            raise DamagedError(f"{directory / ABOUT} is damaged: {name!r} is {about.get(name)!r:.40}.")
    fit(about.get("cells"), Cells, f"'cells' in {directory / ABOUT}")
