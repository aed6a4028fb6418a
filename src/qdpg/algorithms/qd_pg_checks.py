"""What is known of a run of QD-PG, or of a relative, before it begins: whether its settings fit, and what it takes."""

from __future__ import annotations

from typing import Any

from qdpg.algorithms.algorithm import Footprint
from qdpg.algorithms.pieces import count_cells
from qdpg.emitters.learner import Networks
from qdpg.errors import UserError
from qdpg.learn.networks import count_parameters
from qdpg.memory.replay import replay_bytes
from qdpg.tasks.task import TaskSpec

OBJECTIVES = ("diversity", "quality", "sum")


def objectives(config: Any) -> list[str]:
    """The names of the objectives that a kind of settings has."""
    return [name for name in OBJECTIVES if hasattr(config, name)]


def check_settings(spec: TaskSpec, config: Any, name: str) -> None:
    """Raise a `UserError` if settings do not fit each other or the task."""
    varied = round(config.iso_line.share * config.population)
    if config.population - varied < len(objectives(config)):
        raise UserError(
            f"{name} needs a policy per objective besides the iso+line offspring, but of a population of "
            f"{config.population} iso_line.share leaves {config.population - varied}; enlarge the population."
        )


def find_idle(config: Any) -> dict[str, str]:
    """Settings that do nothing beside the others, and why: whoever gives one of them is refused."""
    idle: dict[str, str] = config.archive.find_idle()
    explores = False
    for name in objectives(config):
        objective = getattr(config, name)
        explores |= objective.exploration_episodes > 0
        if getattr(config, "output", "tanh") == "tanh":
            idle[f"{name}.action_bound"] = "policies end in a tanh"
        if not objective.exploration_episodes:
            idle[f"{name}.exploration_noise"] = f"{name}.exploration_episodes is 0"
    if not explores:
        idle["roll_in_steps"] = "there are no exploration episodes"
        if not getattr(config, "candidate_noise", 0.0):
            idle["noise_correlation"] = "no action has noise"
    if not config.iso_line.share:
        names = ("iso_sigma", "line_sigma", "selection_pressure", "screened_from")
        idle |= {f"iso_line.{each}": "iso_line.share is 0" for each in names}
    return idle


def footprint(spec: TaskSpec, config: Any, name: str) -> Footprint:
    """What a run will take, known before anything is allocated."""
    networks = Networks(spec, config.hidden, scaled=getattr(config, "scaled", False))
    return networks_footprint(networks, config, len(objectives(config)))


def networks_footprint(networks: Networks, config: Any, learners: int, further_inputs: int = 0) -> Footprint:
    """What critics and policies that see so many further inputs, the archive, 𝔸 and the replay memory will take."""
    spec, seen = networks.spec, len(networks.scale)
    policy = count_parameters(spec.observation_size + further_inputs, *networks.policy_sizes[1:])
    critic = count_parameters(seen + further_inputs + spec.action_size, *config.hidden, 1)
    numbers = learners * 4 * (2 * critic + policy)  # online, target, and two moments of Adam
    visited = getattr(config, "visited_size", 0) * spec.descriptor_size
    state = 4 * (numbers + config.archive.entries_per_cell * count_cells(config.cells) * policy + visited)
    replay = replay_bytes(config.replay_size, seen, spec.action_size, spec.descriptor_size)
    made = config.population * config.iso_line.screened_from  # of which `population` are played
    return Footprint(memory=replay + 3 * state + 16 * made * policy, checkpoint=state, replay=replay)
