"""Diversity is all you need (Eysenbach et al., ICLR 2019): SAC that learns K skills which can be told apart.

One policy and its critics see a skill beside the observation. Their reward is how well a discriminator tells the skill
from the state it led to; the environment's reward is ignored. A skill, its input folded into the biases of the first
layer, is a plain policy.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from qdpg.algorithms.algorithm import Family, Footprint
from qdpg.algorithms.pieces import replay_footprint
from qdpg.algorithms.sac import SAC, Learner, explore_as_the_policy_says, sac_numbers
from qdpg.algorithms.sac import Config as SACConfig
from qdpg.algorithms.td3 import tune
from qdpg.errors import UserError
from qdpg.learn.discriminator import Seen, init_discriminator, log_probabilities
from qdpg.learn.networks import MLP, count_parameters
from qdpg.play.rollouts import Rollouts
from qdpg.ranges import Cells, Count, NotNegative, Positive, Share, Widths
from qdpg.tasks.task import TaskSpec


@dataclass(frozen=True)
class Config(SACConfig):
    """Settings of DIAYN. Defaults are those of its authors' code (ben-eysenbach/sac) unless said otherwise: minibatches
    of 128, τ 0.01, two hidden layers of 300, a fixed temperature of 0.1, 50 skills.

    Attributes:
        reward_scale: Factor on log q(z|s) − log p(z) in the critics' eyes.
        skills: K, how many skills are learned.
        skills_at_once: How many of them, in turn, are judged and explore in a generation (one per episode in the code).
        discriminator_input: What the discriminator sees of a state (the observation in the code; the descriptor here,
            by which skills are also compared with other algorithms' elites).
        discriminator_rate: Its learning rate.
        cells: Of the archive that keeps the best judged skills by behaviour, as QD-PG's grid has them; it does not
            influence training.
    """  # noqa: D205

    hidden: Widths = (300, 300)
    exploration_episodes: Count = 1
    batch_size: Count = 128
    softness: Share = 0.01
    start_temperature: Positive = 0.1
    temperature_rate: NotNegative = 0.0
    skills: Count = 50
    skills_at_once: Count = 5
    discriminator_input: Seen = "descriptor"
    discriminator_rate: NotNegative = 3e-4
    cells: Cells = (5, 5)


def preset(name: str, task: str, algorithm: str = "diayn") -> Config:
    """The settings of preset `name` for `task`: DIAYN's own, or those of SAC's `tuned` with ten skills.

    What concerns the environment's reward is left out, and the temperature is DIAYN's. On point-maze all ten play in
    every generation; on the ants, whose episodes are long, two.
    """
    paper = Config() if task == "point-maze" else Config(cells=(7, 7))
    if name == "paper":
        return paper
    tuned = explore_as_the_policy_says(tune(paper, task))
    unpaid: dict[str, Any] = {"reward_scale": 1.0, "reward_offset": 0.0, "shaped": False}
    tuned = replace(tuned, **unpaid, exploration_episodes=1, skills=10, discriminator_rate=1e-3)
    if task == "point-maze":
        return replace(tuned, skills_at_once=10)
    return replace(tuned, skills_at_once=2)


class Skills(NamedTuple):
    """What is remembered of the skills."""

    fitness: np.ndarray  # [K] float64, of each one's last judged episode; NaN before there was one


def footprint(spec: TaskSpec, config: Config, name: str) -> Footprint:
    """What a run will take, known before anything is allocated."""
    seen = _bounds(spec, config.discriminator_input, spec.observation_size)[0].size
    discriminator = 3 * count_parameters(seen, *config.hidden, config.skills) + 2 * seen + 8
    numbers = sac_numbers(spec, config, config.skills) + discriminator + 2 * config.skills
    episodes = config.skills_at_once * (1 + config.exploration_episodes)
    return replay_footprint(spec, config.hidden, config.replay_size, config.cells, numbers, episodes, labels=1)


class DIAYN(SAC):
    """SAC with a skill beside the observation and the discriminator's reward."""

    config: Config

    def __init__(self, spec: TaskSpec, config: Config, seed: int, name: str = "diayn") -> None:
        """Start afresh; see `OffPolicy` for the arguments."""
        if config.skills < 1:
            raise UserError(f"{name} needs at least one skill.")
        if not 1 <= config.skills_at_once <= config.skills:
            raise UserError(f"{name} has {config.skills} skills; skills_at_once must be from 1 to that.")
        super().__init__(spec, config, seed, name, cells=config.cells, labels=1)

    def _init_learner(self, key: jax.Array) -> Learner:
        config = self.config
        low, high = _bounds(self.spec, config.discriminator_input, len(self.networks.scale))
        discriminator = init_discriminator(
            jax.random.fold_in(key, 2),
            (low.size, *config.hidden, config.skills),
            config.discriminator_input,
            low,
            high,
            config.discriminator_rate,
        )
        return Learner(self._init_agent(key, config.skills), discriminator)

    def _init_extra(self, learners: tuple[Learner, ...], key: jax.Array) -> Skills:
        return Skills(np.full(self.config.skills, np.nan))

    def _skills(self) -> np.ndarray:
        """Whose turn it is in this generation, [skills_at_once]."""
        config = self.config
        return (self.generation * config.skills_at_once + np.arange(config.skills_at_once)) % config.skills

    def _policy(self, learner: Learner) -> MLP:
        return fold_skills(learner.agent.actor, self._skills(), len(self.networks.scale))

    def _label(self, rollouts: Rollouts) -> Rollouts:
        """Put the number of its skill behind every observation of an episode."""
        assert rollouts.observations is not None
        episodes, times, _ = rollouts.observations.shape
        labels = np.broadcast_to(np.resize(self._skills(), episodes)[:, None, None], (episodes, times, 1))
        observations = rollouts.observations[..., : len(self.networks.scale)]
        observations = np.concatenate([observations, labels.astype(np.float32)], axis=2)
        return dataclasses.replace(rollouts, observations=observations)

    def _remember(
        self, learners: tuple[Learner, ...], notes: Any, judged: Rollouts, rollouts: Rollouts
    ) -> tuple[Skills, dict[str, Any]]:
        """Note how each skill was judged, and how well the discriminator knows skills by where their episodes ended."""
        skills, fitness = self._skills(), self._state.extra.fitness.copy()
        fitness[skills[: len(judged.fitness)]] = judged.fitness
        discriminator, last = learners[0].discriminator, (np.arange(len(rollouts.seeds)), rollouts.lengths)
        assert discriminator is not None
        assert rollouts.observations is not None
        seen = rollouts.observations[..., : len(self.networks.scale)]
        states = (rollouts.descriptors if discriminator.seen == "descriptor" else seen)[last]
        played = np.resize(skills, len(states))
        guessed = np.asarray(log_probabilities(discriminator, jnp.asarray(states))).argmax(axis=1)
        told = {
            **super()._remember(learners, notes, judged, rollouts)[1],
            "discriminator_accuracy": float((guessed == played).mean()),
            "best_skill": int(np.nanargmax(fitness)),
            "skills_median": float(np.nanmedian(fitness)),
            "episodes": {"skill": played},
        }
        return Skills(fitness), told


def fold_skills(actor: MLP, skills: np.ndarray, observation_size: int) -> MLP:
    """The policies of `skills` [m], stacked, of one that sees a skill as zeros and a one behind the observation."""
    first, bias = np.asarray(actor.weights[0]), np.asarray(actor.biases[0])
    rest = [np.repeat(np.asarray(leaf)[None], len(skills), axis=0) for leaf in (*actor.weights[1:], *actor.biases[1:])]
    weight = np.repeat(first[None, :observation_size], len(skills), axis=0)
    layers = len(actor.weights) - 1
    weights, biases = (weight, *rest[:layers]), (bias + first[observation_size + skills], *rest[layers:])
    return MLP(weights, biases, actor.hidden, actor.output)  # type: ignore[arg-type]


def _bounds(spec: TaskSpec, seen: Seen, size: int) -> tuple[np.ndarray, np.ndarray]:
    """What becomes -1 and 1 for the discriminator: descriptors have bounds, the `size` observations are left alone."""
    if seen == "descriptor":
        return np.array(spec.descriptor_low), np.array(spec.descriptor_high)
    return -np.ones(size), np.ones(size)


def find_idle(config: Config) -> dict[str, str]:
    """Settings that do nothing, and why."""
    return dict.fromkeys(("reward_offset", "shaped"), "the environment's reward is ignored")


FAMILY = Family(Config, preset, footprint, DIAYN, find_idle)
