"""Diversity Policy Gradient for Sample Efficient Quality-Diversity Optimization (Pierrot et al., GECCO 2022).

QD-PG and its three ablations. Read `ask` and `tell` beside Algorithm 1 of the paper: M is `elites`, 𝔸 is `visited`, the
replay buffer is `replay`, and the two critics belong to the two emitters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from qdpg.algorithms.algorithm import Family, Generation
from qdpg.algorithms.archive import ArchiveAlgorithm, never
from qdpg.algorithms.pieces import climbing_settings
from qdpg.algorithms.qd_pg_checks import check_settings, find_idle, footprint
from qdpg.algorithms.qd_pg_presets import preset
from qdpg.algorithms.qd_pg_settings import CONFIGS, SharedSettings, novelty_objective, quality_objective, rewards_of
from qdpg.emitters.emitter import Emitter
from qdpg.emitters.learner import Networks
from qdpg.emitters.policy_gradient import PolicyGradient
from qdpg.emitters.screened import vary
from qdpg.emitters.shares import agree
from qdpg.learn.transitions import NOVELTY
from qdpg.memory.compatibility import episode_novelty
from qdpg.memory.replay import Replay
from qdpg.memory.storing import rewards_for_critics, sub_trajectories, whole_episodes
from qdpg.memory.visited import Visited, make_visited
from qdpg.play.rollouts import Rollouts
from qdpg.tasks.task import TaskSpec


def make_emitters(networks: Networks, config: SharedSettings) -> list[Emitter]:
    """QD-PG: half of the offspring climb for diversity, half for quality. An ablation has one objective for all."""
    rewards = rewards_of(config)
    varied = round(config.iso_line.share * config.population)
    shares = [len(share) for share in np.array_split(np.arange(config.population - varied), len(rewards))][::-1]
    emitters: list[Emitter] = []
    for (name, counting), size in zip(rewards.items(), shares, strict=True):
        objective = getattr(config, name)
        options: dict[str, Any] = {"greedy_steps": config.greedy_steps, "explore_with_first": config.roll_in_steps > 0}
        settings = climbing_settings(config, objective)
        emitters.append(PolicyGradient(name, objective, counting, size, networks, settings, **options))
    return [*emitters, *vary(varied, config.iso_line)]


class QDPG(ArchiveAlgorithm):
    """QD-PG, or one of its ablations."""

    replay: Replay

    def __init__(self, spec: TaskSpec, config: Any, seed: int, name: str = "qd-pg") -> None:
        """Start with empty memories and fresh critics.

        Args:
            spec: The task.
            config: Settings, of the kind that belongs to `name`.
            seed: What all random draws come from.
            name: Which variant.
        """
        check_settings(spec, config, name)
        networks = Networks(spec, config.hidden, config.output, config.scaled)
        self._start(networks, config, seed, name, make_emitters(networks, config))
        self.candidate_noise = config.candidate_noise

    def _start(self, networks: Networks, config: Any, *others: Any) -> None:
        """Make the memories; `others` are handed on to `ArchiveAlgorithm`."""
        super().__init__(networks, config, *others)
        self.visited: Visited | None = make_visited(self.spec, config) if hasattr(config, "visited_size") else None
        self.replay = Replay(config.replay_size, len(networks.scale), self.spec.action_size, self.spec.descriptor_size)
        self.noise_correlation, self.roll_in_steps = config.noise_correlation, config.roll_in_steps
        self.paid = quality_objective(config)

    def ask(self, stop: Callable[[], bool] = never) -> Generation:
        """Sampling and mutation."""
        rng = np.random.default_rng([self.seed, self.generation])
        if self.generation == 0:
            return self.first_generation(rng)  # N initial actors
        self.refresh_novelty()  # Compute fresh novelty rewards
        self.networks.look(self.replay, self.diversity_rewards())
        # Sample generation in grid; sample batches of transitions in replay buffer; update half the generation for
        # diversity, the other half for quality; update diversity and quality critics: `PolicyGradient` does all of it.
        offspring = self.emit(rng, stop)
        return self.propose(offspring, rng)

    def tell(self, generation: Generation, rollouts: Rollouts) -> dict[str, Any]:
        """Evaluation: store the transitions, the state descriptors and the policies."""
        candidates, _ = generation.split(rollouts)
        told: dict[str, Any] = {}
        if self.visited is not None:
            with self.clock.time("novelty"):
                told["episodes"] = episode_novelty(rollouts, self.visited, self.elites)
                generation = generation._replace(learned=agree(generation.learned, told["episodes"]))
                states = candidates.descriptors[:, :-1][candidates.played()]
                accepted = self.visited.add(states)  # Update 𝔸 with the state descriptors
                told |= {"accepted_states": accepted, "visited": len(self.visited)}
        with self.clock.time("memory"):
            first, last = self.stored(generation, rollouts)
            self.replay.insert(rewards_for_critics(rollouts, self.paid), first, last)  # Update the replay buffer
        told |= self.keep(generation, rollouts, int((last - first).sum()))  # Update the grid
        return told | {"transitions": self.replay.transitions}

    def refresh_novelty(self) -> None:
        """Bring the stored diversity rewards up to date with 𝔸, which changes only between generations."""
        if self.visited is None or (objective := novelty_objective(self.config)) is None:
            return
        with self.clock.time("novelty"):
            # Of a shaped reward, the last state of an episode has its part too.
            slots = slice(len(self.replay)) if objective.shaped else self.replay.playable_slots()
            novelty = self.visited.novelty(self.replay.descriptors[slots], self.config.novelty)
            self.replay.set_novelty(slots, novelty - objective.reward_offset)

    def diversity_rewards(self) -> np.ndarray:
        """Of what is in the replay memory, for those who want to know their typical size."""
        return self.replay.rows[self.replay.playable_slots(), NOVELTY]

    def gradient_steps(self) -> int:
        """So many for each transition that the last generation left."""
        return int(self._state.last_steps * self.config.gradient_steps_ratio)

    def stored(self, generation: Generation, rollouts: Rollouts) -> tuple[np.ndarray, np.ndarray]:
        """The first step of each episode that enters the replay memory, and the one after the last, [N] each."""
        if not self.config.stored_steps or not len(generation.candidates):
            return whole_episodes(rollouts.lengths)
        explored, rng = generation.exploration, np.random.default_rng([self.seed, self.generation, 2])
        steps = np.zeros(0, np.int64) if explored is None else explored.roll_in_steps
        settled = self.settled(rollouts)
        return sub_trajectories(rollouts, len(generation.candidates), steps, self.config.stored_steps, rng, settled)

    def settled(self, rollouts: Rollouts) -> np.ndarray | None:
        """The step from which each episode stays where it ends, [N], if what comes after it is not worth storing."""
        return None

    def state(self) -> dict[str, np.ndarray]:
        """Everything but the replay memory."""
        return super().state() | ({} if self.visited is None else {"visited": self.visited.descriptors})

    def load(self, state: dict[str, np.ndarray]) -> None:
        """Take up a state that `state()` returned."""
        super().load(state)
        if self.visited is not None:
            self.visited.set(state["visited"])


QD_PG, QD_PG_SUM, D_PG, Q_PG = (
    Family(CONFIGS[name], preset, footprint, QDPG, find_idle) for name in ("qd-pg", "qd-pg-sum", "d-pg", "q-pg")
)
