"""Diversity Policy Gradient for Sample Efficient Quality-Diversity Optimization (Pierrot et al., GECCO 2022).

QD-PG and its three ablations. Read `ask` and `tell` beside Algorithm 1 of the paper.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import numpy as np

from qdpg.algorithms.algorithm import Clock, Counted, Family, Footprint, Generation
from qdpg.algorithms.pieces import (
    check_finite,
    draw_seeds,
    generation_key,
    join_policies,
    pack_state,
    repeat_policies,
    unpack_state,
)
from qdpg.algorithms.qd_pg_learning import Improver, Learner
from qdpg.algorithms.qd_pg_settings import Config, preset
from qdpg.algorithms.qd_pg_steering import Steerer
from qdpg.errors import UserError
from qdpg.learn.networks import count_parameters, init_mlp, init_population
from qdpg.learn.td3 import Actors, gain
from qdpg.learn.variation import iso_line
from qdpg.memory.elites import Elites
from qdpg.memory.replay import Replay, ReplayView, replay_bytes, thin_out
from qdpg.memory.visited import Visited
from qdpg.play.acting import Lead, Noise
from qdpg.play.rollouts import Rollouts, find_arrivals
from qdpg.tasks.task import TaskSpec

# For each variant its objectives: weights of the environment's reward and of the novelty, and share of the population.
OBJECTIVES: dict[str, dict[str, tuple[float, float]]] = {
    "qd-pg": {"diversity": (0.0, 1.0), "quality": (1.0, 0.0)},
    "qd-pg-sum": {"sum": (1.0, 1.0)},
    "d-pg": {"diversity": (0.0, 1.0)},
    "q-pg": {"quality": (1.0, 0.0)},
    "pga-me": {"quality": (1.0, 0.0)},
}


class State(NamedTuple):
    """All that QD-PG remembers besides its three memories."""

    generation: int
    steps: int
    last_steps: int  # transitions that the last generation left in the replay memory
    learners: dict[str, Learner]  # by objective


def footprint(spec: TaskSpec, config: Config, name: str) -> Footprint:
    """What a run will take, known before anything is allocated."""
    seen = len(seen_scale(spec, config))
    told = spec.descriptor_size if config.steered else 0
    policy = count_parameters(spec.observation_size + told, *config.hidden, spec.action_size)
    critic = count_parameters(seen + told + spec.action_size, *config.hidden, 1)
    cells = config.cells if isinstance(config.cells, int) else math.prod(config.cells)
    learners = len(OBJECTIVES[name]) * 4 * (2 * critic + policy)  # online, target, and two moments of Adam
    state = 4 * (learners + cells * policy + config.visited_size * spec.descriptor_size)
    replay = replay_bytes(config.replay_size, seen, spec.action_size, spec.descriptor_size)
    return Footprint(memory=replay + 3 * state + 16 * config.population * policy, checkpoint=state, replay=replay)


def seen_scale(spec: TaskSpec, config: Config) -> tuple[float, ...]:
    """What the observations that networks see while they learn, the first of all, are divided by."""
    return (spec.observation_scale if config.scaled else ()) or (1.0,) * spec.observation_size


class QDPG(Counted):
    """QD-PG, or one of its ablations."""

    def __init__(self, spec: TaskSpec, config: Config, seed: int, name: str = "qd-pg") -> None:
        """Start with empty memories and fresh critics.

        Args:
            spec: The task.
            config: Settings.
            seed: What all random draws come from.
            name: Which variant.
        """
        self.spec, self.config, self.seed = spec, config, seed
        self.name = name
        self.objectives, self.clock = OBJECTIVES[name], Clock()
        self.is_directed = config.steered > 0 and "diversity" in self.objectives
        if min(self._shares()) < 1:
            raise UserError(f"{name} needs a population with a policy per objective besides the bred ones; enlarge it.")
        if config.steered and not config.greedy_actor:
            raise UserError(f"only a greedy actor is steered; give {name} one with greedy_actor=true, or steered=0.")
        if config.symmetric and (config.diversity_quality or not spec.quarter_turn):
            raise UserError(
                f"symmetric needs a task with a quarter_turn, which {spec.name} may not have, and no share of the "
                "environment's reward in the diversity gradient; give symmetric=false, or diversity_quality=0."
            )
        if config.starts < 1:
            raise UserError(f"{name} judges policies by their episodes; give at least one of them as starts.")
        for setting in ("balance", "guided_steps", "arrived", "window", "practice"):
            if getattr(config, setting) < 0:
                raise UserError(f"{setting} is {getattr(config, setting)}; give 0, which turns it off, or more.")
        if config.practice and not config.guided_steps:
            raise UserError("practice needs to know how far to go in one direction; give guided_steps.")
        self.scale = np.array(seen_scale(spec, config))
        self.steerer = Steerer(spec, config, self.scale)
        self.improver = Improver(spec, config, self.objectives, self.steerer)
        sizes = (spec.observation_size, *config.hidden, spec.action_size)
        further = self.steerer.fields() if self.is_directed else {}
        further |= {"arrival": 1} if config.arrived else {}
        template = init_mlp(jax.random.key(0), sizes, output=config.output)
        self.elites = Elites(spec, template, config.cells, seed, further)
        self.replay = Replay(config.replay_size, len(self.scale), spec.action_size, spec.descriptor_size)
        self.visited = Visited(spec.descriptor_size, config.visited_size, config.visited_threshold, config.neighbours)
        self._state = State(0, 0, 0, self.improver.init_learners(seed))

    def ask(self, stop: Callable[[], bool] = lambda: False) -> Generation:
        """Select N elites and improve one share for each objective, with the critics they share."""
        config, key = self.config, generation_key(self.seed, self.generation)
        rng = np.random.default_rng([self.seed, self.generation])
        if self.generation == 0:
            number = config.initial_policies or config.population
            first = self.improver.for_play(init_population(key, number, self.improver.sizes, output=config.output))
            population = join_policies(*[first] * config.starts)
            seeds, again = draw_seeds(rng, number * config.starts), number * (config.starts - 1)
            noise, further = self._noise(number * config.starts), {}
            if self.is_directed:  # random policies cannot be told anything
                further = {field: np.zeros((number, size)) for field, size in self.steerer.fields().items()}
                further["steering"] = self.steerer.straight(rng, number)
            return Generation(population, seeds, noise, self._state.learners, again, further=further)

        steps = self._gradient_steps()
        if self.is_directed and self.steps < config.practice:
            return self._practise(key, steps, stop, rng)
        if "quality" not in self.objectives or len(self.objectives) > 1:
            self._refresh_novelty()
        bred = config.population - sum(shares := self._shares())
        number = self._count_heirs()
        steered = self._steer(config.steered - number, rng)
        parents, selected = {}, {}
        for objective, share in zip(self.objectives, shares, strict=True):
            parents[objective] = self._draw_parents(objective, share - self._count_greedy(objective), rng)
            selected[objective] = self._copy(objective, parents[objective], rng)
        view = self._view()
        mothers = self.elites.draw(rng, bred, config.quality_greed)
        varied = None
        if bred:
            pairs = self.elites.policies(mothers), self.elites.sample(rng, bred)
            varied = iso_line(*pairs, rng, config.iso_sigma, config.line_sigma)
        heirs = self.steerer.draw_heirs(self.elites, number, rng)
        steerings = self._steerings(steered, parents, mothers, heirs, rng)
        with self.clock.time("gradients"):
            parts, learned = self.improver.improve(self._state.learners, selected, view, key, steps, stop, steered)
            if varied is not None:
                parts.append(varied)
            if len(heirs):
                inherited = self.steerer.inherit(self.elites, heirs, steerings[-len(heirs) :])
                parts.append(self.improver.for_play(inherited))
            scouts = (config.scouts, config.quality_scouts)[: len(self.objectives)]
            copied = [repeat_policies(part, 1) if config.guided else part for part in parts]
            copies = [repeat_policies(part, number) for part, number in zip(copied, scouts, strict=False)]
            if self.is_directed:
                copies[0] = self.improver.steer(learned["diversity"], self.steerer.straight(rng, config.scouts))
            population = join_policies(*parts * config.starts, *copies)
        check_finite(self.generation, population, {name: each.critics.online for name, each in learned.items()})
        seeds = draw_seeds(rng, config.population * config.starts + sum(scouts))
        if config.parents_start:
            stored = self.elites.data()["seed"]
            last = sum(shares) - len(heirs)  # behind it come bred ones and heirs; those improved for quality end there
            seeds[last : config.population] = stored[np.concatenate([mothers, heirs])]
            if "quality" in parents:
                seeds[last - len(parents["quality"]) : last] = stored[parents["quality"]]
        noise, lead = self._noise(config.population * config.starts, scouts), None
        if config.guided and any(scouts):
            guides = self.elites.draw(rng, sum(scouts))
            lead = self._lead(self._leadable()[guides], len(seeds), rng)
            population = join_policies(population, self.elites.policies(guides))
        further = {"steering": steerings} if self.is_directed else {}
        if "told" in self.elites.further:
            told = self.improver.told(learned["diversity"], config.steered - len(heirs))
            further["told"] = self._of_candidates("told", told, parents, np.concatenate([mothers, heirs]))
        return Generation(population, seeds, noise, learned, len(seeds) - config.population, lead=lead, further=further)

    def _practise(self, key: jax.Array, steps: int, stop: Callable[[], bool], rng: np.random.Generator) -> Generation:
        """Let the greedy policies learn, and the one for diversity go in many directions; see `Config.practice`."""
        none = {objective: self._copy(objective, np.arange(0), rng) for objective in self.objectives}
        number = self.config.practice_scouts
        steerings = self.steerer.straight(rng, 2 * number)
        with self.clock.time("gradients"):
            view, some = self.replay.view(), steerings[:1]  # what policies come of it is nobody's concern
            _, learned = self.improver.improve(self._state.learners, none, view, key, steps, stop, some)
        population = self.improver.steer(learned["diversity"], steerings)  # scouts, and their leaders
        check_finite(self.generation, population, {name: each.critics.online for name, each in learned.items()})
        lead = self._lead(np.full(number, self.config.guided_steps), number, rng)
        return Generation(population, draw_seeds(rng, number), self._noise(0, (number,)), learned, number, lead=lead)

    def tell(self, generation: Generation, rollouts: Rollouts) -> dict[str, Any]:
        """Store the transitions in the replay memory, the states in 𝔸, and the policies in the grid."""
        with self.clock.time("novelty"):
            episodes = self._novelty_of_episodes(rollouts)
            candidates = len(rollouts.seeds) - generation.scouts
            judged = rollouts.first(candidates * self.config.starts)
            accepted = self.visited.add(judged.descriptors[:, :-1][judged.played()])
        with self.clock.time("memory"):
            arrivals = find_arrivals(rollouts, self.spec, self.config.arrived)
            first, last = self._windows(generation, rollouts, arrivals)
            self.replay.insert(self._shape(rollouts), first, last)
            status = np.zeros(0, int)
            if candidates:
                worst = judged.fitness.reshape(-1, candidates).argmin(axis=0)
                rows = worst * candidates + np.arange(candidates)
                further = generation.further | ({"arrival": arrivals[rows, None]} if self.config.arrived else {})
                status = self.elites.add(generation.candidates(), judged.take(rows), self.generation, **further)
        steps, stored = self._state.steps + rollouts.steps, int((last - first).sum())
        self._state = State(self._state.generation + 1, steps, stored, generation.learned)
        return {
            "visited": len(self.visited),
            "accepted_states": accepted,
            "new_cells": int((status == 2).sum()),
            "improved_cells": int((status == 1).sum()),
            "transitions": self.replay.transitions,
            "episodes": episodes,
        }

    def state(self) -> dict[str, np.ndarray]:
        """Everything but the replay memory."""
        return pack_state(self._state, self.elites) | {"visited": self.visited.descriptors}

    def load(self, state: dict[str, np.ndarray]) -> None:
        """Take up a state that `state()` returned."""
        self._state = unpack_state(state, self._state, self.elites)
        self.visited.set(state["visited"])

    def _gradient_steps(self) -> int:
        """Steps that the critics take in this generation."""
        return int(self._state.last_steps * self.config.gradient_steps_ratio)

    def _draw_parents(self, objective: str, number: int, rng: np.random.Generator) -> np.ndarray:
        """Draw the elites whose copies are to be improved for `objective`, rows [number]."""
        return self.elites.draw(rng, number, self.config.quality_greed if objective == "quality" else 1.0)

    def _rates(self, objective: str, number: int, rng: np.random.Generator) -> np.ndarray | None:
        """Learning rates of copies that are to be improved for `objective`, [number], if not all the usual one."""
        decades = self.config.rate_decades if objective == "quality" else self.config.diversity_decades
        if not decades:
            return None
        return self.config.actor_rate * 10 ** -rng.uniform(0, decades, number)

    def _copy(self, objective: str, rows: np.ndarray, rng: np.random.Generator) -> Actors:
        """Make copies of the elites in `rows`, ready to be improved for `objective`."""
        return self.improver.copy(objective, self.elites.policies(rows), self._rates(objective, len(rows), rng))

    def _shares(self) -> list[int]:
        """How many policies each objective has: as many, but for the steered ones, besides whom somebody must climb."""
        rest = self.config.population - round(self.config.genetic_share * self.config.population)
        shares = [len(share) for share in np.array_split(np.arange(rest), len(self.objectives))][::-1]
        if self.is_directed and len(shares) > 1:
            shares[0] = max(shares[0], self.config.steered + 1)
            shares[1] = rest - shares[0]
        return shares

    def _count_greedy(self, objective: str) -> int:
        """How many of the policies for `objective` are the greedy one's, not copies of elites."""
        return self.config.steered if self.improver.knows_directions(objective) else int(self.config.greedy_actor)

    def _count_heirs(self) -> int:
        """How many of the steered policies, but for one, are elites' own: the more, the more there is to inherit."""
        if not self.is_directed or not self.config.heirs:
            return 0
        return min(round(self.config.steered * self.elites.coverage), self.config.steered - 1)

    def _steer(self, number: int, rng: np.random.Generator) -> np.ndarray:
        """Changed steerings for the greedy policy, [number, S], if it is told anything."""
        return self.steerer.breed(self.elites, number, rng) if self.is_directed else np.zeros((0, 0), np.float32)

    def _steerings(
        self,
        steered: np.ndarray,
        parents: dict[str, np.ndarray],
        mothers: np.ndarray,
        heirs: np.ndarray,
        rng: np.random.Generator,
    ) -> np.ndarray:
        """Of all candidates, in order, [N, S]: those to be steered and heirs have changed ones."""
        if not self.is_directed:
            return steered
        inherited = self.steerer.breed_heirs(self.elites, heirs, rng)
        return np.concatenate([self._of_candidates("steering", steered, parents, mothers), inherited])

    def _of_candidates(
        self, field: str, steered: np.ndarray, parents: dict[str, np.ndarray], bred: np.ndarray
    ) -> np.ndarray:
        """A field of all candidates: `steered` has it of those, others have that of the elites they come from.

        The greedy policy for quality comes from none, and so has zeros.
        """
        stored, parts = self.elites.data()[field], [steered]
        for objective, rows in parents.items():
            if objective != "diversity":
                parts.append(np.zeros((self._count_greedy(objective), stored.shape[1]), np.float32))
            parts.append(stored[rows])
        return np.concatenate([*parts, stored[bred]])

    def _view(self) -> ReplayView:
        """The replay memory as this generation learns from it."""
        if not self.config.balance:
            return self.replay.view()
        with self.clock.time("memory"):
            slots = self.replay.playable_slots()
            cells = self.elites.archive.index_of(self.replay.descriptors[slots])
            kept = thin_out(cells, self.config.balance, np.random.default_rng([self.seed, self.generation, 1]))
            return self.replay.view(slots[kept])

    def _shape(self, rollouts: Rollouts) -> Rollouts:
        """The same episodes with rewards as critics are to see them."""
        rewards = rollouts.rewards
        if self.config.quality_shaped:  # what the first state is worth is taken to be the first reward
            before = np.concatenate([rewards[:, :1], rewards[:, :-1]], axis=1)
            is_last = np.arange(rewards.shape[1]) == rollouts.lengths[:, None] - 1
            continues = 1.0 - (is_last & rollouts.terminated[:, None])
            rewards = gain(before, rewards, continues, self.config.discount)
        return replace(rollouts, rewards=rewards - self.config.deducted)

    def _leadable(self) -> np.ndarray:
        """For how many steps each elite may lead others, [elites]."""
        data = self.elites.data()
        return data["arrival"][:, 0].astype(np.int64) if self.config.arrived else data["length"]

    def _windows(
        self, generation: Generation, rollouts: Rollouts, arrivals: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The first step of each episode that enters the replay memory, and the one after the last, [N] each."""
        size, lengths = self.config.window, rollouts.lengths.astype(np.int64)
        candidates = (len(lengths) - generation.scouts) * self.config.starts
        if not size or not candidates:
            return np.zeros_like(lengths), lengths
        latest, rng = np.maximum(lengths - size, 0), np.random.default_rng([self.seed, self.generation, 2])
        first = np.where(rollouts.terminated, latest, rng.integers(latest + 1))
        led = 0 if generation.lead is None else generation.lead.steps[candidates:]
        first[candidates:] = np.minimum(led, latest[candidates:])
        last = np.minimum(np.maximum(first, arrivals) + size, lengths) if self.config.arrived else lengths.copy()
        last[:candidates] = np.minimum(first + size, lengths)[:candidates]
        return first, last

    def _refresh_novelty(self) -> None:
        """Bring the stored diversity rewards up to date with 𝔸, which changes only between generations."""
        with self.clock.time("novelty"):
            if self.is_directed:
                playable = self.replay.playable_slots()
                self.replay.slopes[playable] = self.visited.slope(self.replay.descriptors[playable])
                return
            # Of a shaped reward, the last state of an episode has its part too.
            slots = slice(len(self.replay)) if self.config.diversity_shaped else self.replay.playable_slots()
            novelty = self.visited.novelty(self.replay.descriptors[slots], self.config.novelty)
            least = novelty.min() if self.config.novelty_deducted else 0.0
            self.replay.set_novelty(slots, novelty - least)

    def _novelty_of_episodes(self, rollouts: Rollouts) -> dict[str, np.ndarray]:
        """Both sides of the compatibility condition (equation 3), before the episodes enter any memory, [N] each.

        Novelty at the level of states is summed along the trajectory; novelty at the level of solutions is the distance
        of the behaviour to the nearest elite's, θ₂ of Proposition 1.
        """
        played = rollouts.played()
        along = np.zeros(played.shape)
        along[played] = self.visited.novelty(rollouts.descriptors[:, :-1][played])
        nearest = Visited(self.spec.descriptor_size, len(self.elites), threshold=0.0, neighbours=1)
        nearest.set(self.elites.data()["measures"])
        return {"state_novelty": along.sum(axis=1), "solution_novelty": nearest.novelty(rollouts.behaviours)}

    def _lead(self, lengths: np.ndarray, episodes: int, rng: np.random.Generator) -> Lead:
        """Policies behind the others as leaders of the last episodes, each for at most `lengths` steps."""
        led = np.arange(episodes)[-len(lengths) :]
        policies, steps = np.arange(episodes), np.zeros(episodes, np.int64)
        policies[led] = episodes + np.arange(len(lengths))
        steps[led] = 1 + rng.integers(lengths)
        limits = np.where(steps > 0, steps + self.config.guided_steps, 0)
        return Lead(policies, steps, limits if self.config.guided_steps else np.zeros_like(steps))

    def _noise(self, candidates: int, scouts: tuple[int, ...] = ()) -> Noise:
        """Of a generation's episodes: candidates, then the scouts of each objective."""
        levels = [self.config.exploration_noise] * candidates
        for number, sigma in zip(scouts, (self.config.scout_noise, self.config.quality_noise), strict=False):
            levels += [sigma] * number
        return Noise(np.array(levels, np.float32), self.config.noise_correlation)


FAMILY = Family(Config, preset, footprint, QDPG)
