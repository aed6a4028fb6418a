"""The files of a collection, which can be read without qdpg.

`elites.json` says what is what, `elites.safetensors` holds the arrays.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from qdpg.errors import DamagedError, UserError
from qdpg.learn.networks import Activation
from qdpg.memory.elites import Elites
from qdpg.options import fit
from qdpg.play.alone import Arithmetic
from qdpg.ranges import Cells, Correlation, Count, Seed
from qdpg.runs.collection import Collection
from qdpg.runs.evaluated import ABOUT, ARRAYS, FORMAT, OLD_FORMAT, read_evaluated, write_evaluated
from qdpg.runs.files import Staged, as_json, read_arrays, read_json, stage, stage_arrays
from qdpg.runs.records import DIGEST, Length, parse, read_sealed, sealed
from qdpg.tasks.contract import check_spec
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
_WHOLE = ("index", "seed", "length", "generation")
_KINDS = {"whole": "iu", "signed": "iu", "real": "f", "any": "iuf"}  # kinds of NumPy's types
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


@dataclass(frozen=True)
class _About:
    """What there must be to know about a collection; the rest of `elites.json` is for its readers."""

    policies: Length
    policy: _Shape
    cells: Cells
    archive_seed: Seed
    noise_correlation: Correlation
    steps: Length
    emitters: list[str] = field(default_factory=list)


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
    where = str(directory / ABOUT)
    is_of_run = spec is not None
    if spec is None:
        spec = parse(TaskSpec, about.get("spec"), f"'spec' in {where}")
        check_spec(spec, where)
    if arithmetic is None:
        arithmetic = fit(about.get("arithmetic", "native"), Arithmetic, f"'arithmetic' in {where}")
    known = {each.name for each in dataclasses.fields(_About)}
    found = parse(_About, {name: value for name, value in about.items() if name in known}, where)
    _check_about(found, spec, where)
    arrays = read_arrays(directory / ARRAYS, str(about.get("elites_sha256", "")))
    _check_arrays(arrays, found, spec, f"{directory / ARRAYS} is damaged:")
    if is_of_run and (np.diff(arrays["index"]) <= 0).any():
        raise DamagedError(f"{directory / ARRAYS} is damaged: 'index' does not ascend.")
    return Collection(
        spec, about, arrays, read_evaluated(directory, len(arrays["index"]), spec.descriptor_names), arithmetic
    )


def _check_about(about: _About, spec: TaskSpec, where: str) -> None:
    """Refuse a description that does not fit the task."""
    sizes, heads = about.policy.sizes, 2 if about.policy.output == "gaussian" else 1
    if len(sizes) < 2 or sizes[0] != spec.observation_size or sizes[-1] != heads * spec.action_size:
        raise DamagedError(f"{where} is of another task: its policies have the sizes {sizes!s:.60}.")
    if isinstance(about.cells, tuple) and len(about.cells) != spec.descriptor_size:
        raise DamagedError(f"{where} is of another task: its cells are {about.cells!s:.60}.")


def _check_arrays(arrays: dict[str, np.ndarray], about: _About, spec: TaskSpec, where: str) -> None:
    """Refuse arrays that do not fit each other, their description or the task."""
    wanted: dict[str, tuple[str, tuple[int, ...]]] = dict.fromkeys(_WHOLE, ("whole", ()))
    wanted |= dict.fromkeys(("fitness", "noise", "episode_return"), ("real", ()))
    wanted["behaviour"] = "real", (spec.descriptor_size,)
    for i, (fan_in, fan_out) in enumerate(itertools.pairwise(about.policy.sizes)):
        wanted |= {f"weight_{i}": ("real", (fan_in, fan_out)), f"bias_{i}": ("real", (fan_out,))}
    if "episodes" in arrays:
        most = arrays["trial_seeds"].shape[1] if arrays.get("trial_seeds", np.zeros(0)).ndim == 2 else 0
        wanted |= {"episodes": ("whole", ()), "trial_seeds": ("signed", (most,)), "trial_fitness": ("any", (most,))}
        wanted["trial_behaviours"] = "any", (most, spec.descriptor_size)
    for name, (kind, tail) in wanted.items():
        found = arrays[name].shape if name in arrays else "missing"
        if found != (about.policies, *tail):
            raise DamagedError(f"{where} {name!r} is {found}, not {(about.policies, *tail)}.")
        if arrays[name].dtype.kind not in _KINDS[kind]:
            raise DamagedError(f"{where} {name!r} holds {arrays[name].dtype}, not {kind} numbers.")
        if kind == "real" and not np.isfinite(arrays[name]).all():
            raise DamagedError(f"{where} {name!r} is not finite.")
        if kind == "whole" and (arrays[name] < 0).any():
            raise DamagedError(f"{where} {name!r} has numbers below 0.")
    if (arrays["index"] >= math.prod(np.atleast_1d(about.cells).tolist())).any():
        raise DamagedError(f"{where} 'index' names cells that there are not.")
    if "episodes" in arrays and (arrays["episodes"] > most).any():
        raise DamagedError(f"{where} 'episodes' are more than were written.")
