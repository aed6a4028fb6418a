"""The ask/tell pair of algorithms that train one policy, or a few side by side, from a replay memory.

A generation: every policy is improved by as many gradient steps as environment steps were played before, times a ratio.
Then each plays one episode without noise, by which it is judged, and some exploration episodes, with noise, which only
fill the replay memory. All of these steps count. At the start, policies are judged once; then all episodes are random
until there are as many random steps as wanted. The archive of elites keeps the best judged policies and never
feeds anything back, so with a single cell the user is handed the best policy of the run; how good the latest one is
stands in the deterministic evaluations of the training loop.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np

from qdpg.algorithms.algorithm import Clock, Counted, Generation
from qdpg.algorithms.pieces import (
    check_finite,
    draw_seeds,
    generation_key,
    pack_state,
    unpack_state,
)
from qdpg.emitters.episodes import make_episodes
from qdpg.emitters.learner import Networks, Rewarded, Scaled
from qdpg.learn.networks import MLP, Activation, deterministic, init_mlp, join_policies, repeat_policies, take_policies
from qdpg.memory.elites import Elites
from qdpg.memory.replay import Replay
from qdpg.memory.storing import rewards_for_critics
from qdpg.play.rollouts import Rollouts
from qdpg.ranges import Correlation, Count, CountOrNone, NotNegative, Number, Widths
from qdpg.tasks.task import TaskSpec


@dataclass(frozen=True)
class OffPolicyConfig:
    """Settings of the shared machinery; those of the updates come beside them.

    Attributes:
        hidden: Hidden layers of policies and critics.
        replay_size: Rows of the replay memory.
        gradient_steps_ratio: Gradient steps of every policy per environment step of all.
        start_steps: Environment steps played at random before anything is learned.
        exploration_episodes: Episodes with noise per policy and generation, beside the one without.
        exploration_noise: σ of their action noise, in units of the largest action.
        noise_correlation: Of that noise between successive steps; 0 is white noise.
        reward_scale: Factor on the environment's reward in the critics' eyes (fitness is untouched).
        reward_offset: What critics take off the reward of every step, such as a part of the survival bonus.
        shaped: Whether critics learn from what a step gains on the state before, by potential-based shaping.
        scaled: Whether networks that learn see scaled observations; see QD-PG.
    """

    hidden: Widths = (256, 256)
    replay_size: Count = 1_000_000
    gradient_steps_ratio: NotNegative = 1.0
    start_steps: CountOrNone = 25_000
    exploration_episodes: Count = 1
    exploration_noise: NotNegative = 0.1
    noise_correlation: Correlation = 0.0
    reward_scale: NotNegative = 1.0
    reward_offset: Number = 0.0
    shaped: bool = False
    scaled: Scaled = False


class State(NamedTuple):
    """All that is remembered besides replay memory and elites."""

    generation: int
    steps: int
    last_steps: int  # environment steps of the last generation
    learners: tuple[Any, ...]  # networks and optimisers of each policy
    extra: Any  # what a variant remembers besides


class OffPolicy(Counted, ABC):
    """What is the same for all of them. A learner is whatever a subclass makes it."""

    name: str
    warm_up_noise = 3**-0.5  # standard deviation of actions uniform in [-1, 1]

    def __init__(
        self,
        spec: TaskSpec,
        config: OffPolicyConfig,
        seed: int,
        policies: int = 1,
        cells: tuple[int, ...] | int | None = None,
        labels: int = 0,
        output: Activation = "tanh",
    ) -> None:
        """Start with empty memories and fresh learners.

        Args:
            spec: The task.
            config: Settings.
            seed: What all random draws come from.
            policies: How many learners are trained side by side.
            cells: Of the archive that keeps the best judged policies; None means a single one.
            labels: Numbers that `_label` puts behind each observation in the replay memory.
            output: What policies end in when they are judged.
        """
        cells = (1,) * spec.descriptor_size if cells is None else cells
        self.spec, self.config, self.seed, self.clock = spec, config, seed, Clock()
        self.networks = Networks(spec, config.hidden, output, config.scaled)
        self.critic_sizes = (len(self.networks.scale) + spec.action_size, *config.hidden, 1)
        played = (spec.observation_size, *config.hidden, spec.action_size)
        self.elites = Elites(spec, init_mlp(jax.random.key(0), played, output=output), cells, seed)
        stored = len(self.networks.scale) + labels
        self.replay = Replay(config.replay_size, stored, spec.action_size, spec.descriptor_size)
        start = generation_key(seed, -1)
        learners = tuple(self._init_learner(jax.random.fold_in(start, i)) for i in range(policies))
        self._state = State(0, 0, 0, learners, self._init_extra(learners, jax.random.fold_in(start, policies)))

    def ask(self, stop: Callable[[], bool] = lambda: False) -> Generation:
        """Improve every policy; propose each to be judged, and to explore."""
        config, rng = self.config, np.random.default_rng([self.seed, self.generation])
        self.networks.look(self.replay, np.zeros(0))
        learners, notes = self._state.learners, None
        is_warm = self.steps >= config.start_steps and self.replay.transitions > 0
        if is_warm:
            key = generation_key(self.seed, self.generation)
            steps = int(self._state.last_steps * config.gradient_steps_ratio)
            with self.clock.time("gradients"):
                learners, notes = self._improve(learners, key, steps, stop)
        policies = self.networks.for_play(join_policies(*(self._policy(learner) for learner in learners)))
        check_finite(self.generation, policies, {"quality": learners})
        # At the start only random episodes count, in the place of others: the policies are what they were.
        judged = take_policies(policies, slice(len(policies) if is_warm or not self.generation else 0))
        # A policy of zeros stands still, so that its noise is what it does.
        explorers = policies if is_warm else jax.tree.map(np.zeros_like, policies)
        exploring = repeat_policies(explorers, len(policies) * (1 + config.exploration_episodes) - len(judged))
        seeds, rest = np.split(draw_seeds(rng, len(judged) + len(exploring)), [len(judged)])
        exploration = make_episodes(exploring, rest, config.exploration_noise if is_warm else self.warm_up_noise)
        correlation = config.noise_correlation if is_warm else 0.0
        return Generation(make_episodes(judged, seeds), exploration, correlation, (learners, notes))

    def tell(self, generation: Generation, rollouts: Rollouts) -> dict[str, Any]:
        """Store the transitions in the replay memory, and the best judged policies among the elites."""
        old, (learners, notes) = self._state, generation.learned
        with self.clock.time("memory"):
            self.replay.insert(self._label(rewards_for_critics(rollouts, self.config)))
            judged, explored = generation.split(rollouts)
            self.elites.add(deterministic(generation.candidates.policies), judged, self.generation)
        extra, told = self._remember(learners, notes, judged, rollouts)
        self._state = State(old.generation + 1, old.steps + rollouts.steps, rollouts.steps, learners, extra)
        return {
            "judged_fitness": judged.fitness.max() if len(judged.fitness) else np.nan,
            "exploration_median": np.median(explored.fitness),
            "transitions": self.replay.transitions,
            **told,
        }

    def state(self) -> dict[str, np.ndarray]:
        """Everything but the replay memory."""
        return pack_state(self._state, self.elites)

    def load(self, state: dict[str, np.ndarray]) -> None:
        """Take up a state that `state()` returned."""
        self._state = unpack_state(state, self._state, self.elites)

    @abstractmethod
    def _init_learner(self, key: jax.Array) -> Any:
        """A fresh learner."""

    @abstractmethod
    def _policy(self, learner: Any) -> MLP:
        """The policies of a learner that are to be played in this generation, stacked; most have but one."""

    @abstractmethod
    def _improve(
        self, learners: tuple[Any, ...], key: jax.Array, steps: int, stop: Callable[[], bool]
    ) -> tuple[tuple[Any, ...], Any]:
        """Take `steps` gradient steps with every learner; return them, and notes for `_remember`."""

    def _label(self, rollouts: Rollouts) -> Rollouts:
        """The episodes as the replay memory stores them."""
        return rollouts

    def _init_extra(self, learners: tuple[Any, ...], key: jax.Array) -> Any:
        """What a variant remembers besides its learners, at the start."""
        return ()

    def _weights(self) -> jax.Array:
        """Of the environment's reward in the critics' eyes, and of the novelty, [2]."""
        if self.config.scaled == "learned":
            return self.networks.weights(cast(Rewarded, self.config), (1.0, 0.0))
        return jnp.array([self.config.reward_scale, 0.0])

    def _remember(
        self, learners: tuple[Any, ...], notes: Any, judged: Rollouts, rollouts: Rollouts
    ) -> tuple[Any, dict[str, Any]]:
        """The new extra state, and numbers worth recording.

        Args:
            learners: As they are now.
            notes: What `_improve` noted; None if nothing was improved.
            judged: Episodes without noise, of all policies in order; none in most generations of the start.
            rollouts: These and the others.
        """
        return self._state.extra, {}
