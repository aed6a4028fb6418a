"""From the name of an algorithm and a preset to the algorithm itself."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from qdpg.errors import UserError
from qdpg.options import replace_options
from qdpg.plugins import find_plugins, import_named, name_class

if TYPE_CHECKING:
    from qdpg.algorithms.algorithm import Algorithm, Family, Footprint
    from qdpg.tasks.task import TaskSpec


@dataclass(frozen=True)
class Entry:
    """An algorithm, with the columns of the paper's summary (its Table 4).

    `source` is the module that has its code, imported only when it is used, with the name of its `Family` there.
    """

    title: str
    quality_gradient: bool
    diversity_gradient: bool
    quality_selection: bool
    diversity_selection: bool
    collection: bool
    source: str

    @property
    def family(self) -> Family:
        """Its code and the type of its settings."""
        module, _, name = self.source.partition(":")
        found: Family = getattr(importlib.import_module(f"qdpg.algorithms.{module}"), name or "FAMILY")
        return found

    def summary(self) -> dict[str, str | bool]:
        """Title and columns by name."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name != "source"}


ALGORITHMS = {
    "qd-pg": Entry("Quality-Diversity Policy Gradient", True, True, True, True, True, "qd_pg:QD_PG"),
    "qd-pg-sum": Entry("QD-PG on the sum of both rewards", True, True, True, True, True, "qd_pg:QD_PG_SUM"),
    "d-pg": Entry("QD-PG with the diversity gradient only", False, True, True, True, True, "qd_pg:D_PG"),
    "q-pg": Entry("QD-PG with the quality gradient only", True, False, True, True, True, "qd_pg:Q_PG"),
    "dc-qd-pg": Entry("Direction-conditioned QD-PG", True, True, True, True, True, "dc_qd_pg"),
    "td3": Entry("Twin Delayed DDPG", True, False, False, False, False, "td3"),
    "sac": Entry("Soft actor-critic", True, False, False, False, False, "sac"),
    "rnd": Entry("TD3 with random network distillation", True, True, False, False, False, "rnd"),
    "diayn": Entry("Skills that can be told apart, with SAC", False, True, False, False, False, "diayn"),
    "agac": Entry("Adversarially Guided Actor-Critic", True, True, False, False, False, "agac"),
    "cem-rl": Entry("Cross-entropy method with policy gradients", True, False, True, False, True, "cem_rl"),
    "p3s-td3": Entry("Population-guided parallel policy search", True, True, False, False, True, "p3s_td3"),
    "pga-me": Entry("Policy Gradient Assisted MAP-Elites", True, False, True, True, True, "pga_me"),
    "dcrl-me": Entry("Descriptor-conditioned RL MAP-Elites", True, False, True, True, True, "dcrl_me"),
    "map-elites": Entry("MAP-Elites on a grid", False, False, True, True, True, "map_elites"),
    "cvt-map-elites": Entry("MAP-Elites on a Voronoi tessellation", False, False, True, True, True, "map_elites"),
    "cma-mae": Entry("MAP-Annealing with separable CMA-ES", False, False, True, True, True, "cma_mae"),
    "me-es": Entry("MAP-Elites with evolution strategies", False, False, True, True, True, "me_es"),
    "ns-es": Entry("Novelty search with evolution strategies", False, False, False, True, True, "ns_es"),
    "nsr-es": Entry("NS-ES with fitness and novelty in equal parts", False, False, True, True, True, "ns_es"),
    "nsra-es": Entry("NS-ES with an adaptive part of fitness", False, False, True, True, True, "ns_es"),
}


def default_algorithm(preset: str = "tuned") -> str:
    """What `qdpg train` uses if nobody says otherwise: what is better on all tasks (docs/results), or the paper's."""
    return "qd-pg" if preset == "paper" else "dc-qd-pg"


def name_algorithm(algorithm: str | type | None, preset: str) -> str:
    """What an algorithm is called that was given by its name, as a class of the user's, or not at all.

    Raises:
        UserError: The class could not be found again.
    """
    if algorithm is None:
        return default_algorithm(preset)
    return name_class(algorithm, "qdpg.algorithms") if isinstance(algorithm, type) else algorithm


def find_family(algorithm: str) -> Family:
    """Return the code of `algorithm` and the type of its settings.

    Args:
        algorithm: One of ours, one that an installed package offers, or `module:Class` in a file of the user's.

    Raises:
        UserError: There is no such algorithm.
    """
    if algorithm in ALGORITHMS:
        return ALGORITHMS[algorithm].family
    plugins = find_plugins("qdpg.algorithms")
    if algorithm in plugins or ":" in algorithm:
        from qdpg.algorithms.own import make_family

        source = plugins[algorithm].source if algorithm in plugins else algorithm
        return make_family(import_named(source, "algorithm"), algorithm)
    close = difflib.get_close_matches(algorithm, [*ALGORITHMS, *plugins], n=1)
    hint = f"did you mean {close[0]!r}?" if close else "see `qdpg algorithms`."
    raise UserError(f"there is no algorithm {algorithm!r}; {hint}")


def make_config(algorithm: str, preset: str, task: str | TaskSpec, settings: Mapping[str, Any]) -> Any:
    """Return the settings of `algorithm` for `task`: a preset, with `settings` on top.

    A task that no preset names must come as its spec: its `tuned` is derived from that, where there is such a thing.

    Raises:
        UserError: There is no such algorithm, preset or setting.
    """
    from qdpg.algorithms.algorithm import PRESETS

    family = find_family(algorithm)
    if preset not in PRESETS:
        raise UserError(f"there is no preset {preset!r}; there are: {', '.join(PRESETS)}.")
    if preset not in family.presets:
        raise UserError(
            f"{algorithm} has no preset {preset!r}: it is in no paper; it has: {', '.join(family.presets)}."
        )
    start = _start(family, preset, task, algorithm)
    config = replace_options(start, settings, f"algorithm {algorithm!r}")
    idle = family.find_idle(config)
    for name in settings:
        if name in idle and _get(config, name) and _get(config, name) != _get(start, name):
            raise UserError(f"{name} would do nothing, since {idle[name]}; leave it out, or change that too.")
    return config


def _start(family: Family, preset: str, task: str | TaskSpec, algorithm: str) -> Any:
    """The preset as it is."""
    from qdpg.algorithms.general import GENERAL
    from qdpg.tasks.registry import PAPER_TASKS

    if isinstance(task, str):
        return family.preset(preset, task, algorithm)
    if preset == "tuned" and task.name not in PAPER_TASKS and algorithm in GENERAL:
        return GENERAL[algorithm](task, algorithm)
    return family.preset(preset, task.name, algorithm)


def _get(config: Any, name: str) -> Any:
    """The value of a setting, whose name may have dots."""
    return functools.reduce(getattr, name.split("."), config)


def make_algorithm(name: str, spec: TaskSpec, config: Any, seed: int) -> Algorithm:
    """Return a fresh algorithm."""
    return find_family(name).make(spec, config, seed, name)


def footprint(name: str, spec: TaskSpec, config: Any) -> Footprint:
    """What the algorithm will take, known before anything is allocated."""
    return find_family(name).footprint(spec, config, name)


def config_from_json(algorithm: str, data: Mapping[str, Any]) -> Any:
    """Return the settings that a run wrote down."""
    start, data = find_family(algorithm).config(), dict(data)
    if "parents_start" in data and not hasattr(start, "parents_start") and hasattr(start, "archive"):
        moved = {"parents_start": data.pop("parents_start")}  # its name until version 0.2
        data["archive"] = dict(data.get("archive", {})) | moved
    if "sum" in data:  # until version 0.2, `shaped` was meant for both of its rewards
        data["sum"] = {"novelty_shaped": data["sum"].get("shaped", False)} | dict(data["sum"])
    return replace_options(start, data, f"algorithm {algorithm!r}")


def config_to_json(config: Any) -> dict[str, Any]:
    """Return settings as plain data."""
    return dataclasses.asdict(config)
