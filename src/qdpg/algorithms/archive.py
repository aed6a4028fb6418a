"""An archive and a list of emitters: what all algorithms of the MAP-Elites family have in common.

Every emitter turns elites into offspring; together they are one generation, which is played once. Subclasses say which
emitters there are, what is remembered besides the archive, and what is learned from an episode.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

from qdpg.algorithms.algorithm import Clock, Counted, Generation
from qdpg.algorithms.pieces import check_finite, draw_seeds, generation_key, pack_state, unpack_state
from qdpg.emitters.emitter import Context, Emitter, Exploration, Offspring, find_starts, inherit_fields
from qdpg.emitters.episodes import Episodes, make_episodes, roll_in
from qdpg.emitters.learner import Networks
from qdpg.emitters.reevaluation import Reevaluation
from qdpg.emitters.shares import credit, resize, start_records
from qdpg.learn.networks import MLP, init_mlp, init_population, join_policies
from qdpg.learn.transitions import Transitions
from qdpg.memory.elites import Elites
from qdpg.memory.reevaluated import NEW, ArchiveSettings, ReevaluatedElites
from qdpg.memory.replay import Replay
from qdpg.play.rollouts import Rollouts


class State(NamedTuple):
    """All that is remembered besides archive, replay memory and visited states."""

    generation: int
    steps: int
    last_steps: int  # transitions that the last generation left in the replay memory
    learners: dict[str, Any]  # what emitters learn with, by name


def never() -> bool:
    """The default of `stop`: go on."""
    return False


class ArchiveAlgorithm(Counted):
    """An archive of elites, and emitters that turn them into offspring."""

    replay: Replay | None = None
    candidate_noise = 0.0  # σ of the action noise in the episodes that policies are judged by
    noise_correlation = 0.0  # of all action noise between successive steps
    roll_in_steps = 0  # steps that exploration episodes last after their roll-in; 0 means that there is none

    def __init__(
        self,
        networks: Networks,
        config: Any,
        seed: int,
        name: str,
        emitters: Sequence[Emitter],
        extra_fields: dict[str, int] | None = None,
    ) -> None:
        """Start with an empty archive and fresh learners.

        Args:
            networks: The networks that learn, and the task.
            config: Settings; `cells`, `population`, `initial_policies` among them, and `archive` if elites are to last.
            seed: What all random draws come from.
            name: What the algorithm is called.
            emitters: What makes offspring, in the order in which they stand in a generation.
            extra_fields: Numbers to remember of each elite by name, and how many there are of each.
        """
        self.networks, self.spec, self.config, self.seed, self.name = networks, networks.spec, config, seed, name
        self.clock = Clock()
        sizes = (self.spec.observation_size, *networks.policy_sizes[1:])
        template = init_mlp(jax.random.key(0), sizes, output=networks.output)
        self.archive_settings = archive = getattr(config, "archive", ArchiveSettings())
        again = archive.count_reevaluations(config.population)
        self.emitters = [*emitters, *([Reevaluation(again, archive)] if again else [])]
        make_elites = partial(ReevaluatedElites, settings=archive) if again else Elites
        self.elites: Elites = make_elites(self.spec, template, config.cells, seed, extra_fields)
        self.learner_names = list(dict.fromkeys(each.learner for each in emitters if each.learner is not None))
        learners: dict[str, Any] = {}
        for emitter in emitters:
            if emitter.learner is not None and emitter.learner not in learners:
                learners[emitter.learner] = emitter.init(self._learner_key(generation_key(seed, -1), emitter.learner))
        if getattr(getattr(config, "iso_line", None), "adaptive", False):
            learners |= start_records(self.emitters)
        self._state = State(0, 0, 0, learners)

    @property
    def emitter_names(self) -> list[str]:
        """Who may have made a policy, in words, in the order of `Generation.emitters`."""
        return ["random", *(emitter.label for emitter in self.emitters)]

    def ask(self, stop: Callable[[], bool] = never) -> Generation:
        """Draw random policies at first; from then on let every emitter make its offspring."""
        rng = np.random.default_rng([self.seed, self.generation])
        if self.generation == 0:
            return self.first_generation(rng)
        return self.propose(self.emit(rng, stop), rng)

    def first_generation(self, rng: np.random.Generator) -> Generation:
        """Random policies."""
        number = self.config.initial_policies or self.config.population
        drawn = init_population(self._first_key(), number, self.networks.policy_sizes, output=self.networks.output)
        candidates = make_episodes(self.networks.for_play(drawn), draw_seeds(rng, number), self.candidate_noise)
        fields = {name: np.zeros((number, size)) for name, size in self.elites.extra_fields.items()}
        return self._generation(candidates, None, self._state.learners, fields)

    def emit(self, rng: np.random.Generator, stop: Callable[[], bool]) -> list[Offspring | None]:
        """Let every emitter select, then emit: those with different learners side by side, the others in order."""
        resize(self.emitters, self._state.learners)
        for each in (each for each in self.emitters if isinstance(each, Reevaluation)):
            each.grow(self.generation * self.config.population, self.elites.archive.cells)
        selected = [emitter.select(self.elites, rng) for emitter in self.emitters]
        transitions = self.transitions()
        offspring: list[Offspring | None] = [None] * len(self.emitters)

        def emit_in_order(name: str | None) -> None:
            context = self.context(name, transitions, stop)
            for i, emitter in enumerate(self.emitters):
                if emitter.learner == name:
                    offspring[i] = made = emitter.emit(selected[i], context)
                    if made is not None and made.learned is not None:
                        context = context._replace(learner=made.learned)

        with self.clock.time("gradients"), ThreadPoolExecutor(len(self.learner_names) + 1) as pool:
            for emitting in [pool.submit(emit_in_order, name) for name in (*self.learner_names, None)]:
                emitting.result()
        return offspring

    def propose(self, offspring: list[Offspring | None], rng: np.random.Generator) -> Generation:
        """Make a generation of what the emitters made: candidates, and exploration episodes if there are any."""
        pairs = [(emitter, each) for emitter, each in zip(self.emitters, offspring, strict=True) if each is not None]
        made = [each for _, each in pairs]
        exploring = [each for pair in pairs if (each := pair[0].explore(pair[1], rng)) is not None]
        learned = self._state.learners | {
            emitter.learner: each.learned
            for emitter, each in pairs
            if emitter.learner is not None and each.learned is not None
        }
        policies = join_policies(*(each.policies for each in made))
        self.check(learned, policies, *(each.policies for each in exploring))
        number = len(policies)
        seeds, rest = np.split(draw_seeds(rng, number + sum(len(each.policies) for each in exploring)), [number])
        if self.archive_settings.parents_start:
            wanted = np.concatenate([find_starts(self.elites, *pair) for pair in pairs])
            seeds = np.where(wanted < 0, seeds, wanted)
        candidates = make_episodes(policies, seeds, self.candidate_noise)
        inherited = [inherit_fields(self.elites, each) for each in made]
        fields = {name: np.concatenate([each[name] for each in inherited]) for name in self.elites.extra_fields}
        makers = [np.full(len(each.parents), i + 1) for i, each in enumerate(offspring) if each is not None]
        generation = self._generation(candidates, self._explore(exploring, rest, rng), learned, fields)
        generation = generation._replace(emitters=np.concatenate(makers))
        if not isinstance(self.elites, ReevaluatedElites):
            return generation
        entries = [np.full(len(each.parents), NEW) if each.entries is None else each.entries for each in made]
        return generation._replace(entries=np.concatenate(entries))

    def tell(self, generation: Generation, rollouts: Rollouts) -> dict[str, Any]:
        """Offer the candidates to the archive."""
        return self.keep(generation, rollouts)

    def context(self, learner: str | None, transitions: Transitions | None, stop: Callable[[], bool]) -> Context:
        """What emitters with this learner may use in this generation."""
        key = generation_key(self.seed, self.generation)
        if learner is None:
            return Context(None, transitions, key, self.gradient_steps(), stop)
        state = self._state.learners[learner]
        return Context(state, transitions, self._learner_key(key, learner), self.gradient_steps(), stop)

    def check(self, learned: dict[str, Any], *populations: MLP) -> None:
        """Raise `DivergedError` if a policy, or a number of a learner, is not finite."""
        # Of a learner with critics these suffice: whatever is not finite elsewhere shows in them or in the policies.
        numbers = {name: each.critics.online if hasattr(each, "critics") else each for name, each in learned.items()}
        for policies in populations:
            check_finite(self.generation, policies, numbers)

    def transitions(self) -> Transitions | None:
        """The replay memory as this generation learns from it."""
        return None if self.replay is None else self.replay.view()

    def gradient_steps(self) -> int:
        """Steps that the critics take in this generation."""
        return 0

    def guide_lengths(self) -> np.ndarray:
        """For how many steps each elite may guide others, [elites]."""
        return self.elites.data()["length"]

    def new_fields(self, candidates: Rollouts) -> dict[str, np.ndarray]:
        """Extra fields of elites that come of having played."""
        return {}

    def keep(self, generation: Generation, rollouts: Rollouts, stored: int = 0) -> dict[str, Any]:
        """Offer the candidates to the archive, and go on to the next generation.

        Args:
            generation: What was proposed.
            rollouts: What came of it.
            stored: Transitions that it left in the replay memory.

        Returns:
            What happened to the archive.
        """
        candidates, _ = generation.split(rollouts)
        with self.clock.time("memory"):
            fields = dict(generation.extra_fields) | self.new_fields(candidates)
            if generation.entries is not None:
                fields["entries"] = generation.entries
            learned = credit(
                generation.learned, self.elites, generation.makers()[: len(candidates.seeds)] - 1, candidates
            )
            status = self.elites.add(generation.candidates.policies, candidates, self.generation, **fields)
        self._state = State(self.generation + 1, self.steps + rollouts.steps, stored, learned)
        return {"new_cells": int((status == 2).sum()), "improved_cells": int((status == 1).sum())}

    def state(self) -> dict[str, np.ndarray]:
        """Everything but the replay memory."""
        return pack_state(self._state, self.elites)

    def load(self, state: dict[str, np.ndarray]) -> None:
        """Take up a state that `state()` returned."""
        self._state = unpack_state(state, self._state, self.elites)

    def _explore(self, exploring: list[Exploration], seeds: np.ndarray, rng: np.random.Generator) -> Episodes | None:
        """Exploration episodes; with a roll-in if there is to be one, guided by any elites."""
        if not exploring:
            return None
        sigma = np.concatenate([np.full(len(each.policies), each.sigma, np.float32) for each in exploring])
        episodes = make_episodes(join_policies(*(each.policies for each in exploring)), seeds, sigma)
        if not self.roll_in_steps:
            return episodes
        guides = self.elites.draw(rng, len(episodes))
        return roll_in(episodes, self.elites.policies(guides), self.guide_lengths()[guides], self.roll_in_steps, rng)

    def _generation(
        self, candidates: Episodes, exploration: Episodes | None, learned: Any, fields: dict[str, np.ndarray]
    ) -> Generation:
        made = Generation(candidates, exploration, self.noise_correlation, learned, fields)
        return made._replace(emitters=np.zeros(len(candidates), int), record=self.replay is not None)

    def _first_key(self) -> jax.Array:
        """Where the first policies come from."""
        return generation_key(self.seed, 0)

    def _learner_key(self, key: jax.Array, learner: str) -> jax.Array:
        """The part of a random key that belongs to a learner."""
        return jax.random.fold_in(key, self.learner_names.index(learner))
