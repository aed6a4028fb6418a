"""Runs of format 1, the one before `dc-qd-pg` and emitters, in today's words.

Their elites, logs and figures need no change. Their settings do before training can go on; what today's algorithms
cannot do is refused in one sentence, and such a run can still be shown, verified and plotted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from qdpg.tasks.registry import foreign_code, make_task

OLD_FORMAT = 1
LAST_REVISION = "af3ebc3"  # the last revision that trains runs of format 1

_KEPT = [
    "population",
    "hidden",
    "replay_size",
    "gradient_steps_ratio",
    "batch_size",
    "softness",
    "target_noise",
    "target_noise_clip",
    "optimiser",
    "loss",
    "actor_rate",
    "critic_rate",
    "critic_hidden",
    "output",
    "noise_correlation",
    "cells",
    "initial_policies",
]
_VISITED = ("visited_size", "neighbours")

# Settings that today's code has no place for, and the values that mean that they were not used.
_GONE_FROM_ALL = {"delay": 2, "starts": 1, "novelty_deducted": False, "directions": "none", "shaped": False}
_GONE_FROM_QD_PG = {"balance": 0.0, "arrived": 0.0, "diversity_quality": 0.0}
_GONE_FROM_DC = {
    "exploration_noise": 0.0,
    "parents_start": False,
    "diversity_shaped": False,
    "novelty": "mean",
    "scaled": True,
    "output": "linear",
    "greedy_actor": True,
    "guided": True,
    "steering_sigma": 0.3,
    "steering_greed": 2.0,
    "steering_fresh": 0.2,
    "practice_scouts": 16,
}
_ELITE_FIELDS = {"steering": "direction_field", "told": "direction_weights", "arrival": "settled"}


class Unknown(Exception):  # noqa: N818 - a reason, not an error
    """Why a run of format 1 cannot go on."""


def migrate_config(data: Mapping[str, Any]) -> tuple[dict[str, Any], str | None]:
    """The content of a `config.json` of format 1 in today's words, and why it cannot be trained on, if so."""
    algorithm, old = data["algorithm"], data["config"]
    is_directed = isinstance(steered := old.get("steered", 0), int) and steered > 0
    name = "dc-qd-pg" if algorithm == "qd-pg" and is_directed else algorithm
    try:
        if algorithm in ("qd-pg", "qd-pg-sum", "d-pg", "q-pg"):
            if algorithm == "d-pg" and is_directed:
                raise Unknown("d-pg has no directions any more")
            span = _span(data)
            config = _directed(old, span) if name == "dc-qd-pg" else _undirected(old, algorithm, span)
        elif algorithm == "pga-me":
            config = _pga_me(old)
        else:
            config = _others(old)
    except (Unknown, KeyError, TypeError) as error:
        why = f"its setting {error} is missing" if isinstance(error, KeyError) else error
        sentence = f"it was trained by an older qdpg, and {why}; revision {LAST_REVISION} can go on with it"
        return {**data, "algorithm": name}, sentence
    return {**data, "algorithm": name, "config": config}, None


def migrate_state(state: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays of a checkpoint with today's names; those of today are left as they are."""
    from qdpg.emitters.shares import AGREEMENT, EARNINGS, nothing_seen  # heavy, and whoever looks at a run needs none

    renamed = {f"elites/{old}": f"elites/{new}" for old, new in _ELITE_FIELDS.items()}
    state = {renamed.get(name, name): array for name, array in state.items()}
    if "state.generation" in state:  # MAP-Elites had no such counter
        state.setdefault("state.last_steps", np.zeros(1, np.int64))
    if f"state.learners['{EARNINGS}'].gained" in state:  # shares once followed nothing else
        for field, value in nothing_seen()._asdict().items():
            state.setdefault(f"state.learners['{AGREEMENT}'].{field}", value)
    return state


def _span(data: Mapping[str, Any]) -> float:
    """Mean range of the descriptors, by which thresholds became shares."""
    if foreign_code(data["task"], data["task_options"]):
        raise Unknown("its task has code of its own")
    spec = make_task(data["task"], **data["task_options"]).spec
    return float(np.mean(np.asarray(spec.descriptor_high) - spec.descriptor_low))


def _refuse(old: Mapping[str, Any], gone: Mapping[str, Any]) -> None:
    for name, unused in gone.items():
        if name in old and old[name] != unused:
            raise Unknown(f"its setting {name}={old[name]} is gone")


def _iso_line(old: Mapping[str, Any], pressure: float) -> dict[str, Any]:
    return {
        "share": old["genetic_share"],
        "iso_sigma": old["iso_sigma"],
        "line_sigma": old["line_sigma"],
        "selection_pressure": pressure,
    }


def _quality(old: Mapping[str, Any], prefix: str = "quality_") -> dict[str, Any]:
    """The objective of quality; a single objective had the exploration episodes of the first, diversity."""
    episodes, noise = ("quality_scouts", "quality_noise") if prefix else ("scouts", "scout_noise")
    return {
        "discount": old["discount"],
        "reward_scale": old["reward_scale"],
        "action_bound": old["quality_reach"],
        "rate_range": old["rate_decades"],
        "selection_pressure": old["quality_greed"],
        "exploration_episodes": old[episodes],
        "exploration_noise": old[noise],
        "reward_offset": old["deducted"],
        "shaped": old["quality_shaped"],
    }


def _diversity(old: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "discount": old["diversity_discount"],
        "reward_scale": old["novelty_scale"],
        "action_bound": old["diversity_reach"],
        "rate_range": old["diversity_decades"],
        "selection_pressure": 1.0,
        "exploration_episodes": old["scouts"],
        "exploration_noise": old["scout_noise"],
    }


def _undirected(old: Mapping[str, Any], algorithm: str, span: float) -> dict[str, Any]:
    """QD-PG without directions, or an ablation."""
    _refuse(old, _GONE_FROM_ALL | _GONE_FROM_QD_PG)
    if old["guided"] and not old["guided_steps"]:
        raise Unknown("its guided exploration episodes without a limit are gone")
    config = {name: old[name] for name in _KEPT} | {
        "stored_steps": old["window"],
        "scaled": old["scaled"],
        "candidate_noise": old["exploration_noise"],
        "roll_in_steps": old["guided_steps"] if old["guided"] else 0,
        "iso_line": _iso_line(old, old["quality_greed"]),
        "archive": {"parents_start": old["parents_start"]},
        "greedy_steps": old["greedy_steps"] if old["greedy_actor"] else 0,
    }
    if algorithm == "q-pg":
        return config | {"quality": _quality(old, prefix="")}
    config |= {name: old[name] for name in _VISITED} | {
        "visited_threshold": old["visited_threshold"] / span,
        "novelty": old["novelty"],
    }
    diversity = _diversity(old) | {"reward_offset": 0.0, "shaped": old["diversity_shaped"]}
    if algorithm == "qd-pg":
        return config | {"diversity": diversity, "quality": _quality(old)}
    if algorithm == "d-pg":
        return config | {"diversity": diversity}
    if old["reward_scale"] != old["novelty_scale"] or old["diversity_shaped"] != old["quality_shaped"]:
        raise Unknown("its two rewards were not scaled alike, so that it did not climb their sum")
    single = _quality(old, prefix="") | {"rate_range": old["diversity_decades"], "selection_pressure": 1.0}
    return config | {"sum": single}


def _directed(old: Mapping[str, Any], span: float) -> dict[str, Any]:
    """What is DC-QD-PG today."""
    _refuse(old, _GONE_FROM_ALL | _GONE_FROM_DC)
    varied = round(old["genetic_share"] * old["population"])
    climbing = old["population"] - varied
    share = max(climbing // 2, old["steered"] + 1)
    return {name: old[name] for name in (*_KEPT, *_VISITED) if name != "output"} | {
        "visited_threshold": old["visited_threshold"] / span,
        "stored_steps": old["window"],
        "stratified": old["balance"],
        "greedy_steps": old["greedy_steps"],
        "direction_fields": old["steered"],
        "direction_gradients": share - old["steered"],
        "field_mutation": old.get("heirs", False),
        "unit_directions": old.get("pointing", False),
        "symmetry_augmentation": old.get("symmetric", False),
        "reward_share": old["diversity_quality"],
        "warm_up_steps": old["practice"],
        "roll_in_steps": old["guided_steps"],
        "settled": old.get("arrived", 0.0),
        "iso_line": _iso_line(old, old["quality_greed"]),
        "diversity": _diversity(old),
        "quality": _quality(old),
    }


def _pga_me(old: Mapping[str, Any]) -> dict[str, Any]:
    _refuse(old, _GONE_FROM_ALL | _GONE_FROM_QD_PG | {"guided": False, "scaled": False, "output": "tanh", "window": 0})
    _refuse(old, {"deducted": 0.0, "quality_shaped": False, "exploration_noise": 0.0, "noise_correlation": 0.0})
    _refuse(old, {"greedy_actor": True, "parents_start": False, "steered": 0})
    quality = _quality(old, prefix="") | {"rate_range": 0.0}
    kept = [name for name in _KEPT if name not in ("gradient_steps_ratio", "output", "noise_correlation")]
    return {name: old[name] for name in kept} | {
        "critic_steps": old["critic_steps"],
        "greedy_steps": old["greedy_steps"],
        "offspring_rate": old["offspring_rate"],
        "iso_line": _iso_line(old, old["quality_greed"]),
        "quality": {name: value for name, value in quality.items() if name not in ("reward_offset", "shaped")},
    }


def _others(old: Mapping[str, Any]) -> dict[str, Any]:
    """Algorithms around TD3 and SAC, and those without gradients."""
    gone = {"scale": [], "shaped": False, "reach": 1.0, "directions": "none", "quarter_turn": []}
    _refuse(old, gone)
    return {("exploration_episodes" if name == "scouts" else name): old[name] for name in old if name not in gone}
