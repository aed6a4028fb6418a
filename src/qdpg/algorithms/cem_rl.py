"""CEM-RL: the cross-entropy method with policy gradients (Pourchot and Sigaud, ICLR 2019).

Policies are drawn from a normal distribution. Half of them climb a gradient, one after another, each training the
shared critics first; then all are played without noise, and the distribution moves to the better half.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from qdpg.algorithms.algorithm import Clock, Counted, Family, Footprint, Generation
from qdpg.algorithms.pieces import (
    check_finite,
    draw_seeds,
    generation_key,
    pack_state,
    td3_footprint,
    td3_settings,
    unpack_state,
)
from qdpg.emitters.episodes import make_episodes
from qdpg.errors import UserError
from qdpg.learn.cem import Distribution, init_distribution, sample, update
from qdpg.learn.climbing import climb
from qdpg.learn.networks import (
    MLP,
    count_parameters,
    flatten_population,
    init_population,
    join_policies,
    unflatten_population,
)
from qdpg.learn.td3 import ActorCriticSettings, Critics, TD3Options, init_actors, init_critics
from qdpg.learn.transitions import UniformMinibatches
from qdpg.memory.elites import Elites
from qdpg.memory.replay import Replay
from qdpg.play.rollouts import Rollouts
from qdpg.ranges import Cells, Count, CountOrNone, NotNegative, Positive, Widths
from qdpg.tasks.task import TaskSpec


@dataclass(frozen=True)
class Config(ActorCriticSettings, TD3Options):
    """Settings of CEM-RL. Defaults are those of its authors' code (apourchot/CEM-RL) unless said otherwise.

    Attributes:
        population: Policies per generation, an even number.
        climbers: How many of them climb.
        start_variance: Variance of every parameter at the start, and ε at the start.
        activation: Of the policies' hidden layers (the critics have ReLU; leaky ReLU in the authors' code).
        hidden: Hidden layers of policies and critics.
        replay_size: Rows of the replay memory.
        gradient_steps_ratio: Gradient steps of each climber per environment step of the last generation; the critics
            take as many in all.
        start_steps: Environment steps before anybody climbs.
        reward_scale: Factor on the environment's reward in the critics' eyes (fitness is untouched).
        cells: Of the archive that keeps the best policies by behaviour, as QD-PG's grid has them; it does not influence
            training.
    """

    batch_size: Count = 100
    actor_rate: NotNegative = 1e-3
    critic_rate: NotNegative = 1e-3
    population: Count = 10
    climbers: CountOrNone = 5
    start_variance: Positive = 1e-3
    activation: Literal["relu", "tanh"] = "tanh"
    hidden: Widths = (400, 300)
    replay_size: Count = 1_000_000
    gradient_steps_ratio: NotNegative = 1.0
    start_steps: CountOrNone = 10_000
    reward_scale: NotNegative = 1.0
    cells: Cells = (5, 5)


def preset(name: str, task: str, algorithm: str = "cem-rl") -> Config:
    """The settings of preset `name` for `task`; "paper" is the authors' own.

    "tuned" has QD-PG's networks and scale of rewards on point-maze, where 2,000 steps are start enough, and a wider
    distribution, as fastpbrl has it; on the ants it has QD-PG's networks and its gradient steps per environment step.
    """
    paper = Config() if task == "point-maze" else Config(cells=(7, 7))
    if name == "paper":
        return paper
    if task == "point-maze":
        return replace(
            paper,
            hidden=(64, 32),
            softness=0.01,
            reward_scale=0.05,
            start_steps=2_000,
            start_variance=1e-2,
            replay_size=250_000,
        )
    if task.startswith("ant-"):
        return replace(paper, hidden=(256, 256), gradient_steps_ratio=0.1, replay_size=500_000)
    return paper


class State(NamedTuple):
    """All that CEM-RL remembers besides replay memory and elites."""

    generation: int
    steps: int
    last_steps: int  # environment steps of the last generation
    distribution: Distribution
    critics: Critics


def footprint(spec: TaskSpec, config: Config, name: str) -> Footprint:
    """What a run will take, known before anything is allocated."""
    # Mean and variance in float64.
    others = 4 * count_parameters(spec.observation_size, *config.hidden, spec.action_size) + 16
    return td3_footprint(spec, config.hidden, config.replay_size, config.cells, 1, config.population, others)


class CEMRL(Counted):
    """CEM-RL."""

    def __init__(self, spec: TaskSpec, config: Config, seed: int, name: str = "cem-rl") -> None:
        """Start with empty memories, fresh critics, and a distribution around a fresh policy.

        Args:
            spec: The task.
            config: Settings.
            seed: What all random draws come from.
            name: What it is called.
        """
        if config.population < 2 or config.population % 2 or not 0 <= config.climbers <= config.population:
            raise UserError(f"{name} needs an even population, and no more climbers than that.")
        self.spec, self.config, self.seed, self.name, self.clock = spec, config, seed, name, Clock()
        key = generation_key(seed, -1)
        sizes = (spec.observation_size, *config.hidden, spec.action_size)
        first = init_population(jax.random.fold_in(key, 1), 1, sizes, hidden=config.activation)
        self.elites = Elites(spec, jax.tree.map(lambda leaf: leaf[0], first), config.cells, seed)
        self.replay = Replay(config.replay_size, spec.observation_size, spec.action_size, spec.descriptor_size)
        critics = init_critics(key, (spec.observation_size + spec.action_size, *config.hidden, 1), td3_settings(config))
        distribution = init_distribution(flatten_population(first)[0], config.start_variance)
        self._state = State(0, 0, 0, distribution, critics)

    def ask(self, stop: Callable[[], bool] = lambda: False) -> Generation:
        """Draw policies, and let the first of them climb."""
        config, rng = self.config, np.random.default_rng([self.seed, self.generation])
        vectors = sample(self._state.distribution, rng, config.population).astype(np.float32)
        population, critics = unflatten_population(vectors, self.elites.template), self._state.critics
        if self.steps > config.start_steps and config.climbers:
            with self.clock.time("gradients"):
                population, critics = self._climb(population, critics, stop)
        check_finite(self.generation, population, {"quality": critics.online})
        return Generation(make_episodes(population, draw_seeds(rng, config.population)), learned=critics)

    def _climb(self, population: MLP, critics: Critics, stop: Callable[[], bool]) -> tuple[MLP, Critics]:
        """Each climber trains the critics, which have it for their target policy, and then climbs them as they are."""
        config, key = self.config, generation_key(self.seed, self.generation)
        steps = int(self._state.last_steps * config.gradient_steps_ratio)
        minibatches = UniformMinibatches(self.replay.view(), jnp.array([config.reward_scale, 0.0]))
        settings = td3_settings(config)
        climbed = []
        for i in range(config.climbers):
            actors = init_actors(jax.tree.map(lambda leaf, i=i: leaf[i : i + 1], population), settings)
            down, up = (jax.random.fold_in(key, 2 * i + k) for k in (0, 1))
            actors, critics = climb(
                actors,
                critics,
                minibatches,
                down,
                steps // config.climbers,
                stop,
                settings=settings,
                train_actors=False,
            )
            actors, _ = climb(actors, critics, minibatches, up, steps, stop, settings=settings, train_critics=False)
            climbed.append(actors.online)
        rest = jax.tree.map(lambda leaf: leaf[config.climbers :], population)
        return join_policies(*climbed, rest), critics

    def tell(self, generation: Generation, rollouts: Rollouts) -> dict[str, Any]:
        """Store the transitions, offer the policies to the archive, and move the distribution to the better half."""
        old = self._state
        with self.clock.time("memory"):
            self.replay.insert(rollouts)
            self.elites.add(generation.candidates.policies, rollouts, self.generation)
        distribution = update(
            old.distribution, flatten_population(generation.candidates.policies).astype(np.float64), rollouts.fitness
        )
        self._state = State(
            old.generation + 1, old.steps + rollouts.steps, rollouts.steps, distribution, generation.learned
        )
        climbers, others = np.split(rollouts.fitness, [self.config.climbers])
        return {
            "climbers_median": np.median(climbers) if len(climbers) else np.nan,
            "others_median": np.median(others) if len(others) else np.nan,
            "deviation": float(np.sqrt(distribution.variance.mean())),
            "transitions": self.replay.transitions,
        }

    def state(self) -> dict[str, np.ndarray]:
        """Everything but the replay memory."""
        return pack_state(self._state, self.elites)

    def load(self, state: dict[str, np.ndarray]) -> None:
        """Take up a state that `state()` returned."""
        self._state = unpack_state(state, self._state, self.elites)


FAMILY = Family(Config, preset, footprint, CEMRL)
