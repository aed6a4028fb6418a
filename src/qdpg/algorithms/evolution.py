"""What the evolution strategies have in common; see `ns_es.py` and `me_es.py`.

A generation improves one policy: its mirrored perturbations are played, their novelty and fitness ranked, and the
policy takes a step up the gradient that the ranks estimate. The improved policy is played a few times without noise;
its mean behaviour joins an archive that novelty is measured against, and the policy is offered to a grid. Variants say
where a step starts and how much fitness weighs against novelty.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from qdpg.algorithms.algorithm import (
    NOTHING,
    Clock,
    Counted,
    Generation,
    Tried,
    arrays_to_tree,
    tree_to_arrays,
    with_prefix,
    without_prefix,
)
from qdpg.algorithms.evolution_parts import Config, Start, State, Step
from qdpg.emitters.episodes import make_episodes
from qdpg.errors import DivergedError, UserError
from qdpg.learn.climbing import Stopped
from qdpg.learn.es import Perturbations, Source, ascend, blend_ranks, estimate_gradient, init_optimiser
from qdpg.learn.networks import (
    MLP,
    flatten_population,
    init_normalised,
    init_population,
    unflatten_population,
)
from qdpg.learn.normaliser import ObservationStats, fold, no_stats, unfold
from qdpg.memory.elites import Elites
from qdpg.memory.visited import Visited
from qdpg.play.acting import Noise
from qdpg.play.judging import join_outcomes, judge
from qdpg.play.player import Player
from qdpg.play.rollouts import Rollouts
from qdpg.tasks.task import TaskSpec


class EvolutionStrategy(Counted, ABC):
    """An evolution strategy; subclasses are the variants."""

    config: Any

    def __init__(self, spec: TaskSpec, config: Config, seed: int, name: str, members: int, own: Any) -> None:
        """Start with empty memories.

        Args:
            spec: The task.
            config: Settings.
            seed: What all random draws come from.
            name: Which variant.
            members: M, policies that are remembered besides the grid.
            own: What the variant remembers at first.
        """
        if min(config.pairs, config.evaluations, config.parents) < 1 or config.chunk < 2:
            raise UserError(f"{name} needs pairs, evaluations and parents of at least 1, and a chunk of at least 2.")
        self.spec, self.config, self.seed, self.name = spec, config, seed, name
        self.player: Player | None = None  # given by whoever trains it
        self.replay, self.clock = None, Clock()
        self.template = jax.tree.map(lambda leaf: leaf[0], self._init_policies(np.random.default_rng(0), 1))
        self.elites = Elites(spec, self.template, config.cells, seed)
        # Every behaviour is kept: distances are never negative.
        self.visited = Visited(spec.descriptor_size, 2**62, threshold=-1.0, neighbours=config.neighbours)
        blank = np.zeros((members, sum(leaf.size for leaf in jax.tree.leaves(self.template))), np.float32)
        behaviours = np.zeros((members, spec.descriptor_size), np.float32)
        optimisers = [init_optimiser(policy) for policy in blank]
        self._state = State(0, 0, blank, behaviours, optimisers, no_stats(spec.observation_size), own)

    @abstractmethod
    def _start(self, rng: np.random.Generator) -> Start:
        """Choose where the next step starts."""

    @abstractmethod
    def _remember(self, step: Step | None, fitness: np.ndarray, discovered: np.ndarray) -> tuple[Any, dict[str, Any]]:
        """What the variant remembers from now on, and numbers worth recording.

        Args:
            step: The step taken; None for the policies that it all starts from.
            fitness: [G], mean fitness of each policy that was evaluated.
            discovered: [c] int, cells of the grid that were empty before.
        """

    def ask(self, stop: Callable[[], bool] = lambda: False) -> Generation:
        """Propose random policies at first, then one improved policy, each as often as it is to be evaluated."""
        rng = np.random.default_rng([self.seed, self.generation])
        if self.generation == 0:
            return self._propose(flatten_population(self._init_policies(rng, self.config.parents)), rng)
        start = self._start(rng)
        fitness, behaviours, tried = self._play_perturbations(start, rng, stop)
        with self.clock.time("novelty"):
            novelty = self.visited.novelty(behaviours, self.config.novelty)
        with self.clock.time("gradients"):
            centre = self._centre(start)
            ranks = blend_ranks(novelty, fitness, start.weight)
            gradient = estimate_gradient(ranks, self._source, len(centre))
            centre, optimiser = ascend(centre, gradient, start.optimiser, self.config.rate, self.config.decay)
            policy = flatten_population(self._plain(centre[None]))
        if not np.isfinite(policy).all():
            raise DivergedError(f"a policy's parameters are not finite in generation {self.generation}")
        measured = {
            "perturbed_best": fitness.max(),
            "perturbed_mean": fitness.mean(),
            "perturbed_novelty": novelty.mean(),
            "gradient_norm": float(np.linalg.norm(gradient)),
        }
        return self._propose(policy, rng, Step(start, optimiser, measured), tried)

    def tell(self, generation: Generation, rollouts: Rollouts) -> dict[str, Any]:
        """Add the policies' behaviours to the archive, the policies to the grid, and go on from there."""
        config, step = self.config, generation.learned
        episodes = np.arange(len(rollouts.seeds)).reshape(-1, config.evaluations)  # [G, evaluations]
        fitness = rollouts.fitness[episodes].mean(axis=1)
        behaviours = rollouts.behaviours[episodes].mean(axis=1, dtype=np.float64).astype(np.float32)
        # The grid keeps one real episode, so that an elite can be replayed: the one of median fitness.
        order = np.argsort(rollouts.fitness[episodes], axis=1, kind="stable")
        median = episodes[np.arange(len(episodes)), order[:, (config.evaluations - 1) // 2]]
        judged = rollouts.take(median)
        policies = jax.tree.map(lambda leaf: leaf[median], generation.candidates.policies)
        with self.clock.time("novelty"):
            novelty = self.visited.novelty(behaviours, config.novelty)
            self.visited.add(behaviours)
        with self.clock.time("memory"):
            status = self.elites.add(policies, judged, self.generation)
            discovered = np.unique(self.elites.archive.index_of(judged.behaviours[status == 2]))
        own, recorded = self._remember(step, fitness, discovered)
        self._state = self._advance(step, flatten_population(policies), behaviours)._replace(
            generation=self.generation + 1,
            steps=self.steps + generation.tried.steps + rollouts.steps,
            observed=self._observe(rollouts),
            own=own,
        )
        last = rollouts.last_rewards * self.spec.fitness_scale
        blank = dict.fromkeys(("perturbed_best", "perturbed_mean", "perturbed_novelty", "gradient_norm"), "")
        return {
            "fitness": fitness.mean(),
            "novelty": novelty.mean(),
            "last_reward": last.mean(),
            "perturbations": generation.tried.episodes,
            **(step.measured if step else blank),
            **recorded,
            "episodes": {"last_reward": last},
        }

    def state(self) -> dict[str, np.ndarray]:
        """Everything."""
        return {
            **with_prefix("state", tree_to_arrays(self._state)),
            **with_prefix("elites/", self.elites.data()),
            "visited": self.visited.descriptors,
        }

    def load(self, state: dict[str, np.ndarray]) -> None:
        """Take up a state that `state()` returned."""
        tree = arrays_to_tree(without_prefix("state", state), self._state)
        self._state = tree._replace(generation=int(tree.generation), steps=int(tree.steps))
        self.elites.load(without_prefix("elites/", state))
        self.visited.set(state["visited"])

    @property
    def _source(self) -> Source:
        return Source(self.seed, self.generation)

    def _play_perturbations(
        self, start: Start, rng: np.random.Generator, stop: Callable[[], bool]
    ) -> tuple[np.ndarray, np.ndarray, Tried]:
        """Play all perturbations, a chunk at a time; return fitness [2n], behaviours [2n, D] and how much it was."""
        assert self.player is not None, "an evolution strategy needs a player"
        config = self.config
        seeds = rng.integers(2**31, size=config.pairs)  # a pair starts alike, so that only its policies differ
        centre = unflatten_population(self._centre(start)[None], self.template)
        policies = Perturbations(centre, config.sigma, self._source, self._state.observed)
        noise, chunk = Noise(config.action_noise), config.chunk - config.chunk % 2
        parts = []
        for part in judge(self.player, policies, np.repeat(seeds, 2), noise=noise, chunk=chunk):
            parts.append(part)
            if stop():
                raise Stopped
        played = join_outcomes(parts)
        return played.fitness, played.behaviours, Tried(2 * config.pairs, played.steps)

    def _propose(
        self, policies: np.ndarray, rng: np.random.Generator, step: Step | None = None, tried: Tried = NOTHING
    ) -> Generation:
        """Each of the plain `policies` [G, P] as often as it is to be evaluated."""
        repeated = unflatten_population(np.repeat(policies, self.config.evaluations, axis=0), self.template)
        seeds = rng.integers(2**31, size=len(policies) * self.config.evaluations)
        episodes = make_episodes(repeated, seeds)
        return Generation(episodes, learned=step, record=self.config.normalise, tried=tried)

    def _advance(self, step: Step | None, policies: np.ndarray, behaviours: np.ndarray) -> State:
        """The state with the policies that were evaluated in their places."""
        state = self._state
        if step is None:
            members = len(state.policies)
            return state._replace(policies=policies[:members], behaviours=behaviours[:members])
        where, optimisers = np.arange(len(state.policies)) == step.start.member, list(state.optimisers)
        optimisers[step.start.member] = step.optimiser
        return state._replace(
            policies=np.where(where[:, None], policies, state.policies),
            behaviours=np.where(where[:, None], behaviours, state.behaviours),
            optimisers=optimisers,
        )

    def _observe(self, rollouts: Rollouts) -> ObservationStats:
        """Statistics of observations, from the episodes without noise."""
        if rollouts.observations is None:
            return self._state.observed
        return self._state.observed.add(rollouts.observations[:, :-1][rollouts.played()])

    def _centre(self, start: Start) -> np.ndarray:
        """The start's policy in the coordinates that are searched, [P]."""
        plain = unflatten_population(start.policy[None], self.template)
        return flatten_population(unfold(plain, self._state.observed))[0]

    def _plain(self, vectors: np.ndarray) -> MLP:
        """Policies to be played, from their coordinates [n, P]."""
        return fold(unflatten_population(vectors, self.template), self._state.observed)

    def _init_policies(self, rng: np.random.Generator, number: int) -> MLP:
        sizes = (self.spec.observation_size, *self.config.hidden, self.spec.action_size)
        if self.config.initialisation == "normalised":
            return init_normalised(rng, number, sizes, output_scale=0.01)
        return init_population(jax.random.key(rng.integers(2**31)), number, sizes, hidden="tanh")
