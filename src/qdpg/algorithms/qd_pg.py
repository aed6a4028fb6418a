"""Diversity Policy Gradient for Sample Efficient Quality-Diversity Optimization (Pierrot et al., GECCO 2022).

QD-PG and its three ablations. Read `ask` and `tell` beside Algorithm 1 of the paper.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from qdpg.algorithms.algorithm import Clock, Counted, Family, Footprint, Generation
from qdpg.algorithms.pieces import (
    check_finite,
    climb,
    draw_seeds,
    generation_key,
    join_policies,
    pack_state,
    repeat_policies,
    td3_settings,
    unpack_state,
)
from qdpg.errors import UserError
from qdpg.learn.networks import MLP, add_inputs, count_parameters, init_mlp, init_population, scale_inputs
from qdpg.learn.td3 import Actors, Critics, TD3Settings, gain, init_actors, init_critics
from qdpg.learn.variation import iso_line
from qdpg.memory.elites import Elites
from qdpg.memory.replay import Replay, ReplayView, replay_bytes, thin_out
from qdpg.memory.visited import NoveltyKind, Visited
from qdpg.play.acting import Lead, Noise
from qdpg.play.rollouts import Rollouts
from qdpg.tasks.task import TaskSpec

# For each variant its objectives: weights of the environment's reward and of the novelty, and share of the population.
OBJECTIVES: dict[str, dict[str, tuple[float, float]]] = {
    "qd-pg": {"diversity": (0.0, 1.0), "quality": (1.0, 0.0)},
    "qd-pg-sum": {"sum": (1.0, 1.0)},
    "d-pg": {"diversity": (0.0, 1.0)},
    "q-pg": {"quality": (1.0, 0.0)},
    "pga-me": {"quality": (1.0, 0.0)},
}


@dataclass(frozen=True)
class Config:
    """Settings of QD-PG. The defaults are those of Table 3 that hold for all tasks; presets give the rest.

    Attributes:
        population: N, policies per generation (appendix C.1: 4 for point-maze, 10 for the ants).
        hidden: Hidden layers of policies and critics (Table 3).
        replay_size: Rows of the replay memory (Table 3).
        gradient_steps_ratio: Gradient steps per environment step of the generation before (Table 3).
        batch_size: Minibatch of each policy (Table 3).
        discount: γ of the quality critic (Table 3).
        diversity_discount: γ of the diversity critic; the theory has 1, Table 3 gives one value for both.
        softness: τ (Table 3).
        delay: Critic steps per actor step (Table 3).
        target_noise: σ of target smoothing (not given; TD3's default).
        target_noise_clip: Where it is cut (not given; TD3's default).
        optimiser: "sgd" as printed in Table 3, or "adam", as TD3 has it.
        loss: Whether losses are sums over the minibatch, as the equations are printed, or means, as TD3 has them.
        actor_rate: Learning rate of policies (Table 3 gives one for all).
        rate_decades: Powers of ten below `actor_rate` over which the rates of policies improved for quality are spread,
            one drawn for each, uniformly in the logarithm; 0 in the paper.
        diversity_decades: The same of policies improved for diversity.
        critic_rate: Learning rate of critics.
        critic_hidden: Activation in critics; "normed" is a ReLU divided by its layer's root mean square.
        scaled: Whether critics and policies being improved see observations divided by the task's typical sizes, where
            it gives them, and without those that are always zero. Policies that are played or stored have the division
            in their first layer.
        output: What policies end in: a tanh, as in TD3, or "linear", clipped to the actions' range; they then climb by
            inverting gradients.
        diversity_reach: How far from 0 the last layer of linear policies improved for diversity goes; actions end at 1.
        quality_reach: The same of the others; more lets them turn more sharply, but not as easily otherwise.
        exploration_noise: σ of the action noise in the episodes that policies are judged by (not given).
        scouts: Further episodes per generation, of copies of the policies improved for the first objective (diversity,
            where there is one), which only add to the replay memory: 𝔸 is what the policies themselves have visited.
        scout_noise: σ of the action noise in them.
        quality_scouts: The same, of copies of the policies improved for the second objective, if there is one.
        quality_noise: σ of the action noise in these.
        guided: Whether scouts are copies of the first policy improved for their objective (with `greedy_actor` the
            greedy one) which an elite, any one of the grid, leads through a part of its own episode before they act
            themselves: critics learn what becomes of their policy wherever the collection has been.
        guided_steps: How many steps guided scouts act themselves before they are cut off; 0 lets them play to the end.
        noise_correlation: Of the action noise between successive steps; 0 is white noise.
        cells: Cells per dimension of the grid (Table 3), or one number for a centroidal Voronoi tessellation.
        visited_size: Capacity of 𝔸 (Table 3).
        visited_threshold: What a state's mean distance to its neighbours must exceed to enter 𝔸 (Table 3).
        neighbours: K (Table 3).
        balance: How many times its due any cell of the grid may have of the transitions that are learned from, the rest
            being left out at random, afresh in every generation; 0 learns from all alike, as the paper does.
        novelty: Mean distance (appendix), sum of distances (main text), or mean of squares (QDax).
        reward_scale: Factor on the environment's reward in the critics' eyes (fitness is untouched).
        deducted: What critics take off the environment's reward of every step, such as a part of the pay for being
            alive: standing still is then worth little, and the risk to end costs little. Fitness is untouched.
        novelty_scale: Factor on the diversity reward, likewise.
        novelty_deducted: Whether novelty counts from the least that any state in the replay memory has, so that the
            risk to end costs no more than what was gained.
        diversity_quality: Share of the environment's reward that counts in the diversity gradient too.
        diversity_shaped: Whether the diversity reward of a step is what it gained in novelty, which ranks policies as
            before but is far easier to learn; see `gain`.
        quality_shaped: The same with the environment's reward, for tasks that pay for being somewhere, not for moving.
        genetic_share: Share of offspring made by iso+line variation instead of gradients (the paper's future work), of
            elites drawn with `quality_greed`.
        iso_sigma: Gaussian part of iso+line variation (PGA-ME's value).
        line_sigma: Directional part (PGA-ME's value).
        quality_greed: How strongly policies to be improved for quality are drawn from the better elites (see
            `Elites.sample`); 1 draws from all alike, as the paper does.
        greedy_actor: Whether the critics of each objective are trained by a greedy policy of their own, which lives on
            from generation to generation and is played as one of the population, as in PGA-ME and QDax; the other
            offspring then climb frozen critics.
        greedy_steps: Climbing steps of each offspring with a greedy actor (QDax: 100).
        initial_policies: Random policies to start from; 0 means one population.
        parents_start: Whether policies improved for quality, and bred ones, are judged by an episode with the reset
            that their parent was stored for, so that a lucky start does not make an elite unbeatable.
        starts: Episodes that each policy is judged by; the worst of them counts and is the one that is stored.
    """

    population: int = 4
    hidden: tuple[int, ...] = (64, 32)
    replay_size: int = 1_000_000
    gradient_steps_ratio: float = 4.0
    batch_size: int = 256
    discount: float = 0.99
    diversity_discount: float = 0.99
    softness: float = 0.005
    delay: int = 2
    target_noise: float = 0.2
    target_noise_clip: float = 0.5
    optimiser: Literal["adam", "sgd"] = "adam"
    loss: Literal["mean", "sum"] = "mean"
    actor_rate: float = 3e-4
    rate_decades: float = 0.0
    diversity_decades: float = 0.0
    critic_rate: float = 3e-4
    critic_hidden: Literal["relu", "normed"] = "relu"
    scaled: bool = False
    output: Literal["tanh", "linear"] = "tanh"
    diversity_reach: float = 1.0
    quality_reach: float = 1.0
    exploration_noise: float = 0.0
    scouts: int = 0
    scout_noise: float = 0.0
    quality_scouts: int = 0
    quality_noise: float = 0.0
    guided: bool = False
    guided_steps: int = 0
    noise_correlation: float = 0.0
    cells: tuple[int, ...] | int = (5, 5)
    visited_size: int = 10_000
    visited_threshold: float = 1e-4
    neighbours: int = 10
    balance: float = 0.0
    novelty: NoveltyKind = "mean"
    reward_scale: float = 1.0
    deducted: float = 0.0
    novelty_scale: float = 1.0
    novelty_deducted: bool = False
    diversity_quality: float = 0.0
    diversity_shaped: bool = False
    quality_shaped: bool = False
    genetic_share: float = 0.0
    iso_sigma: float = 0.005
    line_sigma: float = 0.05
    quality_greed: float = 1.0
    greedy_actor: bool = False
    greedy_steps: int = 100
    initial_policies: int = 0
    parents_start: bool = False
    starts: int = 1


def preset(name: str, task: str, algorithm: str = "qd-pg") -> Config:
    """The settings of preset `name` for `task`, the same for all variants; an unknown task gets the paper's for ants.

    "paper" is Table 3 as printed. "tuned" departs from it: always by Adam, and for an unknown task by nothing else.

    For point-maze: smaller minibatches and fewer gradient steps; rewards scaled so that values are of the order of one,
    which small Adam steps can reach; targets that follow faster; 𝔸 thinned out more, so that agents that stand at a
    wall do not fill it; scouts that explore with noise correlated in time; policies whose last layer is linear, which
    never get stuck at the end of an action's range; for quality better parents and steps of many sizes, since large
    ones lead back into the deceptive optimum; and small random changes of good policies, for the last few points.

    For the ants (docs/research/ants.md tells what was tried): critics with normed layers, and observations
    of one size; policies whose last layer is linear and which act gently; a greedy actor per objective, improved as
    often as two cores allow, and steps of many sizes for the others; scouts that elites lead to where the greedy actors
    would not come by themselves, and learning balanced over the grid, so that they go on from there; on ant-trap a
    longer horizon, and critics that hardly see the pay for being alive, for which ants stand still; a diversity reward
    for gains in novelty, with 𝔸 thinned out and many neighbours, so that novelty points the way from afar; noise
    correlated in time; bred offspring; a finer grid, which a gait can cross in steps.
    """
    paper = Config(optimiser="sgd", actor_rate=6e-3, critic_rate=6e-3)
    if task != "point-maze":
        paper = replace(
            paper,
            population=10,
            hidden=(256, 256),
            replay_size=500_000,
            gradient_steps_ratio=0.1,
            actor_rate=3e-4,
            critic_rate=3e-4,
            cells=(7, 7),
            visited_threshold=0.1,
        )
    if name == "paper":
        return paper
    with_adam = replace(paper, optimiser="adam")
    if task in ("ant-trap", "ant-maze"):
        return _tuned_for_ants(with_adam, task)
    if task != "point-maze":
        return with_adam
    return replace(
        with_adam,
        actor_rate=1e-3,
        critic_rate=1e-3,
        batch_size=100,
        gradient_steps_ratio=1.5,
        softness=0.01,
        reward_scale=0.05,
        visited_threshold=0.01,
        output="linear",
        quality_reach=3.0,
        quality_greed=5.0,
        rate_decades=2.0,
        population=8,
        genetic_share=0.5,
        iso_sigma=0.01,
        line_sigma=0.0,
        parents_start=True,
        scouts=1,
        scout_noise=0.8,
        quality_scouts=1,
        quality_noise=0.6,
        noise_correlation=0.9,
        initial_policies=20,
        replay_size=250_000,
    )


def _tuned_for_ants(base: Config, task: str) -> Config:
    """What `tuned` changes for ant-trap or ant-maze; see `preset`."""
    ants = replace(
        base,
        hidden=(128, 128),
        batch_size=128,
        actor_rate=1e-3,
        critic_rate=1e-3,
        critic_hidden="normed",
        scaled=True,
        output="linear",
        diversity_reach=0.5,
        quality_reach=0.5,
        population=8,
        genetic_share=1 / 3,
        gradient_steps_ratio=0.5,
        greedy_actor=True,
        greedy_steps=150,
        rate_decades=2.0,
        diversity_decades=2.0,
        quality_greed=3.0,
        scouts=2,
        scout_noise=0.2,
        quality_scouts=8,
        quality_noise=0.2,
        guided=True,
        guided_steps=200,
        balance=2.0,
        noise_correlation=0.9,
        discount=0.997,
        reward_scale=0.05,
        deducted=0.75,
        novelty_scale=20.0,
        novelty_deducted=True,
        diversity_shaped=True,
        diversity_discount=0.997,
        visited_threshold=1.0,
        neighbours=30,
        cells=(15, 8),
        initial_policies=20,
    )
    if task == "ant-trap":
        return ants
    return replace(  # a heavy ant, which needs all its strength, in a large place
        ants,
        population=6,
        gradient_steps_ratio=0.3,
        diversity_reach=1.0,
        quality_reach=1.0,
        scouts=4,
        quality_scouts=6,
        guided_steps=300,
        scout_noise=0.7,
        quality_noise=0.7,
        quality_shaped=True,
        discount=0.99,
        reward_scale=5.0,
        deducted=0.0,
        visited_threshold=4.0,
        cells=(14, 14),
        initial_policies=4,
    )


class Learner(NamedTuple):
    """What belongs to one objective: the critics the population shares and, if there is one, their greedy actor."""

    critics: Critics
    greedy: Actors | None


class State(NamedTuple):
    """All that QD-PG remembers besides its three memories."""

    generation: int
    steps: int
    last_steps: int  # environment steps of the last generation
    learners: dict[str, Learner]  # by objective


def footprint(spec: TaskSpec, config: Config, name: str) -> Footprint:
    """What a run will take, known before anything is allocated."""
    seen = len(seen_scale(spec, config))
    policy = count_parameters(spec.observation_size, *config.hidden, spec.action_size)
    critic = count_parameters(seen + spec.action_size, *config.hidden, 1)
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
        if config.population - round(config.genetic_share * config.population) < len(self.objectives):
            raise UserError(f"{name} needs a population with a policy per objective besides the bred ones; enlarge it.")
        if config.starts < 1:
            raise UserError(f"{name} judges policies by their episodes; give at least one of them as starts.")
        for setting in ("balance", "guided_steps"):
            if getattr(config, setting) < 0:
                raise UserError(f"{setting} is {getattr(config, setting)}; give 0, which turns it off, or more.")
        self.scale = np.array(seen_scale(spec, config))
        self.seen_sizes = (len(self.scale), *config.hidden, spec.action_size)  # of policies that learn
        sizes = (spec.observation_size, *config.hidden, spec.action_size)
        self.elites = Elites(spec, init_mlp(jax.random.key(0), sizes, output=config.output), config.cells, seed)
        self.replay = Replay(config.replay_size, len(self.scale), spec.action_size, spec.descriptor_size)
        self.visited = Visited(spec.descriptor_size, config.visited_size, config.visited_threshold, config.neighbours)
        self._state = State(0, 0, 0, self._init_learners())

    def ask(self, stop: Callable[[], bool] = lambda: False) -> Generation:
        """Select N elites and improve one share for each objective, with the critics they share."""
        config, key = self.config, generation_key(self.seed, self.generation)
        rng = np.random.default_rng([self.seed, self.generation])
        if self.generation == 0:
            number = config.initial_policies or config.population
            first = self._for_play(init_population(key, number, self.seen_sizes, output=config.output))
            population = join_policies(*[first] * config.starts)
            seeds, again = draw_seeds(rng, number * config.starts), number * (config.starts - 1)
            return Generation(population, seeds, self._noise(number * config.starts), self._state.learners, again)

        steps = self._gradient_steps()
        if "quality" not in self.objectives or len(self.objectives) > 1:
            self._refresh_novelty()
        bred = round(config.genetic_share * config.population)
        shares = np.array_split(np.arange(config.population - bred), len(self.objectives))[::-1]
        parents = {
            objective: self._draw_parents(objective, len(share) - config.greedy_actor, rng)
            for objective, share in zip(self.objectives, shares, strict=True)
        }
        selected = [self._copy(objective, rows, rng) for objective, rows in parents.items()]
        view = self._view()
        mothers = self.elites.draw(rng, bred, config.quality_greed)
        with self.clock.time("gradients"):
            # Objectives do not see each other while they learn, so each has a thread of its own.
            with ThreadPoolExecutor(len(shares)) as pool:
                improving = [
                    pool.submit(self._improve, actors, objective, view, jax.random.fold_in(key, i), steps, stop)
                    for i, (objective, actors) in enumerate(zip(self.objectives, selected, strict=True))
                ]
            improved = [improvement.result() for improvement in improving]
            parts = [policies for policies, _ in improved]
            learned = {objective: learner for objective, (_, learner) in zip(self.objectives, improved, strict=True)}
            if bred:
                pairs = self.elites.policies(mothers), self.elites.sample(rng, bred)
                parts.append(iso_line(*pairs, rng, config.iso_sigma, config.line_sigma))
            scouts = (config.scouts, config.quality_scouts)[: len(self.objectives)]
            copied = [repeat_policies(part, 1) if config.guided else part for part in parts]
            copies = [repeat_policies(part, number) for part, number in zip(copied, scouts, strict=False)]
            population = join_policies(*parts * config.starts, *copies)
        check_finite(self.generation, population, {name: each.critics.online for name, each in learned.items()})
        seeds = draw_seeds(rng, config.population * config.starts + sum(scouts))
        if config.parents_start:
            stored = self.elites.data()["seed"]
            last = config.population - bred  # behind it come the bred ones; those improved for quality end there
            seeds[last : config.population] = stored[mothers]
            if "quality" in parents:
                seeds[last - len(parents["quality"]) : last] = stored[parents["quality"]]
        noise, lead = self._noise(config.population * config.starts, scouts), None
        if config.guided and any(scouts):
            guides = self.elites.draw(rng, sum(scouts))
            lead = self._lead(guides, len(seeds), rng)
            population = join_policies(population, self.elites.policies(guides))
        return Generation(population, seeds, noise, learned, len(seeds) - config.population, lead=lead)

    def tell(self, generation: Generation, rollouts: Rollouts) -> dict[str, Any]:
        """Store the transitions in the replay memory, the states in 𝔸, and the policies in the grid."""
        with self.clock.time("novelty"):
            episodes = self._novelty_of_episodes(rollouts)
            candidates = len(rollouts.seeds) - generation.scouts
            judged = rollouts.first(candidates * self.config.starts)
            accepted = self.visited.add(judged.descriptors[:, :-1][judged.played()])
        with self.clock.time("memory"):
            self.replay.insert(self._shape(rollouts))
            worst = judged.fitness.reshape(-1, candidates).argmin(axis=0)
            judged = judged.take(worst * candidates + np.arange(candidates))
            status = self.elites.add(generation.candidates(), judged, self.generation)
        self._state = State(
            self._state.generation + 1, self._state.steps + rollouts.steps, rollouts.steps, generation.learned
        )
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

    def _copy(self, objective: str, rows: np.ndarray, rng: np.random.Generator) -> Actors:
        """Make copies of the elites in `rows`, ready to be improved for `objective`."""
        config, settings = self.config, self._settings(objective)
        policies = scale_inputs(self.elites.policies(rows), self.scale)
        decades = config.rate_decades if objective == "quality" else config.diversity_decades
        if objective != "quality" and not decades:
            return init_actors(policies, settings)
        return init_actors(policies, settings, config.actor_rate * 10 ** -rng.uniform(0, decades, len(rows)))

    def _view(self) -> ReplayView:
        """The replay memory as this generation learns from it."""
        if not self.config.balance:
            return self.replay.view()
        with self.clock.time("memory"):
            slots = self.replay.playable_slots()
            cells = self.elites.archive.index_of(self.replay.descriptors[slots])
            kept = thin_out(cells, self.config.balance, np.random.default_rng([self.seed, self.generation, 1]))
            return self.replay.view(slots[kept])

    def _improve(
        self, actors: Actors, objective: str, view: ReplayView, key: jax.Array, steps: int, stop: Callable[[], bool]
    ) -> tuple[MLP, Learner]:
        """Improve `actors` for `objective` by `steps` gradient steps each; return them and the critics after it."""
        critics, greedy = self._state.learners[objective]
        if greedy is None:
            actors, critics = self._climb(objective, actors, critics, view, key, steps, stop)
            return self._for_play(actors.online), Learner(critics, None)
        greedy, critics = self._climb(objective, greedy, critics, view, key, steps, stop)
        if not len(actors.rates):  # the greedy actor is this objective's whole share
            return self._for_play(greedy.online), Learner(critics, greedy)
        actors, _ = self._climb(
            objective,
            actors,
            critics,
            view,
            jax.random.fold_in(key, 1),
            self.config.greedy_steps,
            stop,
            train_critics=False,
        )
        return self._for_play(join_policies(greedy.online, actors.online)), Learner(critics, greedy)

    def _climb(
        self,
        objective: str,
        actors: Actors,
        critics: Critics,
        view: ReplayView,
        key: jax.Array,
        steps: int,
        stop: Callable[[], bool],
        **options: Any,
    ) -> tuple[Actors, Critics]:
        """Take `steps` gradient steps up `objective`, looking up now and then whether to stop."""
        quality, diversity = self.objectives[objective]
        if objective == "diversity":
            quality = self.config.diversity_quality
        weights = jnp.array([quality * self.config.reward_scale, diversity * self.config.novelty_scale])
        return climb(
            actors,
            critics,
            view,
            weights,
            key,
            steps,
            stop,
            settings=self._settings(objective),
            **options,
        )

    def _shape(self, rollouts: Rollouts) -> Rollouts:
        """The same episodes with rewards as critics are to see them."""
        rewards = rollouts.rewards
        if self.config.quality_shaped:  # what the first state is worth is taken to be the first reward
            before = np.concatenate([rewards[:, :1], rewards[:, :-1]], axis=1)
            is_last = np.arange(rewards.shape[1]) == rollouts.lengths[:, None] - 1
            continues = 1.0 - (is_last & rollouts.terminated[:, None])
            rewards = gain(before, rewards, continues, self.config.discount)
        return replace(rollouts, rewards=rewards - self.config.deducted)

    def _for_play(self, policies: MLP) -> MLP:
        """Policies for observations as they are, of policies for scaled ones."""
        return add_inputs(scale_inputs(policies, 1.0 / self.scale), self.spec.observation_size)

    def _refresh_novelty(self) -> None:
        """Bring the stored diversity rewards up to date with 𝔸, which changes only between generations."""
        with self.clock.time("novelty"):
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

    def _settings(self, objective: str) -> TD3Settings:
        config = self.config
        if objective == "diversity":
            changes = {"discount": config.diversity_discount, "reach": config.diversity_reach}
        else:
            changes = {"reach": config.quality_reach}
        shaped = config.diversity_shaped and objective != "quality"
        return td3_settings(config, scale=tuple(self.scale) if config.scaled else (), shaped=shaped, **changes)

    def _init_learners(self) -> dict[str, Learner]:
        sizes = (len(self.scale) + self.spec.action_size, *self.config.hidden, 1)
        learners = {}
        for index, objective in enumerate(self.objectives):
            key = jax.random.fold_in(generation_key(self.seed, -1), index)
            settings = self._settings(objective)
            greedy = None
            if self.config.greedy_actor:
                first = init_population(jax.random.fold_in(key, 1), 1, self.seen_sizes, output=self.config.output)
                greedy = init_actors(first, settings)
            learners[objective] = Learner(init_critics(key, sizes, settings), greedy)
        return learners

    def _lead(self, guides: np.ndarray, episodes: int, rng: np.random.Generator) -> Lead:
        """The elites in `guides` as leaders of the last episodes, each up to some step of its own stored episode."""
        led, lengths = np.arange(episodes)[-len(guides) :], self.elites.data()["length"][guides]
        policies, steps = np.arange(episodes), np.zeros(episodes, np.int64)
        policies[led] = episodes + np.arange(len(guides))
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
