"""From the name of an algorithm and a preset to the algorithm itself."""

from __future__ import annotations

import dataclasses
import difflib
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from qdpg.algorithms import (
    agac,
    cem_rl,
    dc_qd_pg,
    diayn,
    map_elites,
    me_es,
    ns_es,
    p3s_td3,
    pga_me,
    qd_pg,
    rnd,
    sac,
    td3,
)
from qdpg.algorithms.algorithm import PRESETS, Algorithm, Family, Footprint
from qdpg.errors import UserError
from qdpg.options import replace_options
from qdpg.tasks.task import TaskSpec


@dataclass(frozen=True)
class Entry:
    """An algorithm, with the columns of the paper's summary (its Table 4)."""

    title: str
    quality_gradient: bool
    diversity_gradient: bool
    quality_selection: bool
    diversity_selection: bool
    collection: bool
    family: Family

    def summary(self) -> dict[str, str | bool]:
        """Title and columns by name."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name != "family"}


ALGORITHMS = {
    "qd-pg": Entry("Quality-Diversity Policy Gradient", True, True, True, True, True, qd_pg.FAMILIES["qd-pg"]),
    "qd-pg-sum": Entry("QD-PG on the sum of both rewards", True, True, True, True, True, qd_pg.FAMILIES["qd-pg-sum"]),
    "d-pg": Entry("QD-PG with the diversity gradient only", False, True, True, True, True, qd_pg.FAMILIES["d-pg"]),
    "q-pg": Entry("QD-PG with the quality gradient only", True, False, True, True, True, qd_pg.FAMILIES["q-pg"]),
    "dc-qd-pg": Entry("Direction-conditioned QD-PG", True, True, True, True, True, dc_qd_pg.FAMILY),
    "td3": Entry("Twin Delayed DDPG", True, False, False, False, False, td3.FAMILY),
    "sac": Entry("Soft actor-critic", True, False, False, False, False, sac.FAMILY),
    "rnd": Entry("TD3 with random network distillation", True, True, False, False, False, rnd.FAMILY),
    "diayn": Entry("Skills that can be told apart, with SAC", False, True, False, False, False, diayn.FAMILY),
    "agac": Entry("Adversarially Guided Actor-Critic", True, True, False, False, False, agac.FAMILY),
    "cem-rl": Entry("Cross-entropy method with policy gradients", True, False, True, False, True, cem_rl.FAMILY),
    "p3s-td3": Entry("Population-guided parallel policy search", True, True, False, False, True, p3s_td3.FAMILY),
    "pga-me": Entry("Policy Gradient Assisted MAP-Elites", True, False, True, True, True, pga_me.FAMILY),
    "map-elites": Entry("MAP-Elites on a grid", False, False, True, True, True, map_elites.FAMILY),
    "cvt-map-elites": Entry("MAP-Elites on a Voronoi tessellation", False, False, True, True, True, map_elites.FAMILY),
    "me-es": Entry("MAP-Elites with evolution strategies", False, False, True, True, True, me_es.FAMILY),
    "ns-es": Entry("Novelty search with evolution strategies", False, False, False, True, True, ns_es.FAMILY),
    "nsr-es": Entry("NS-ES with fitness and novelty in equal parts", False, False, True, True, True, ns_es.FAMILY),
    "nsra-es": Entry("NS-ES with an adaptive part of fitness", False, False, True, True, True, ns_es.FAMILY),
}
DEFAULTS = {"ant-trap": "dc-qd-pg", "ant-maze": "dc-qd-pg"}  # what is better there; see docs/results


def default_algorithm(task: str) -> str:
    """What `qdpg train` uses for a task if nobody says otherwise."""
    return DEFAULTS.get(task, "qd-pg")


def make_config(algorithm: str, preset: str, task: str, settings: Mapping[str, Any]) -> Any:
    """Return the settings of `algorithm` for `task`: a preset, with `settings` on top.

    Raises:
        UserError: There is no such algorithm, preset or setting.
    """
    if algorithm not in ALGORITHMS:
        close = difflib.get_close_matches(algorithm, ALGORITHMS, n=1)
        hint = f"did you mean {close[0]!r}?" if close else "see `qdpg algorithms`."
        raise UserError(f"there is no algorithm {algorithm!r}; {hint}")
    if preset not in PRESETS:
        raise UserError(f"there is no preset {preset!r}; there are: {', '.join(PRESETS)}.")
    family = ALGORITHMS[algorithm].family
    if preset not in family.presets:
        raise UserError(
            f"{algorithm} has no preset {preset!r}: it is in no paper; it has: {', '.join(family.presets)}."
        )
    start = family.preset(preset, task, algorithm)
    config = replace_options(start, settings, f"algorithm {algorithm!r}")
    idle = family.find_idle(config)
    for name in settings:
        if name in idle and _get(config, name) and _get(config, name) != _get(start, name):
            raise UserError(f"{name} would do nothing, since {idle[name]}; leave it out, or change that too.")
    return config


def _get(config: Any, name: str) -> Any:
    """The value of a setting, whose name may have dots."""
    return functools.reduce(getattr, name.split("."), config)


def make_algorithm(name: str, spec: TaskSpec, config: Any, seed: int) -> Algorithm:
    """Return a fresh algorithm."""
    return ALGORITHMS[name].family.make(spec, config, seed, name)


def footprint(name: str, spec: TaskSpec, config: Any) -> Footprint:
    """What the algorithm will take, known before anything is allocated."""
    return ALGORITHMS[name].family.footprint(spec, config, name)


def config_from_json(algorithm: str, data: Mapping[str, Any]) -> Any:
    """Return the settings that a run wrote down."""
    return replace_options(ALGORITHMS[algorithm].family.config(), data, f"algorithm {algorithm!r}")


def config_to_json(config: Any) -> dict[str, Any]:
    """Return settings as plain data."""
    return dataclasses.asdict(config)
