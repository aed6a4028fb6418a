"""DCRL-MAP-Elites (Faldor, Chalumeau, Flageat and Cully, 2024): descriptor-conditioned reinforcement learning.

Half of the offspring are made by iso+line variation. A quarter are copies of elites that climb a critic for their own
behaviour: it learns that a reward is worth less the further the episode ended from where its policy was to end. The
last quarter is the actor that trains this critic and can be asked for any behaviour.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import numpy as np

from qdpg.algorithms.algorithm import Family, Footprint, Generation
from qdpg.algorithms.archive import ArchiveAlgorithm, never
from qdpg.algorithms.pieces import engine_settings
from qdpg.algorithms.qd_pg_checks import find_idle, networks_footprint
from qdpg.emitters.descriptor_gradient import WANTED, ActorInjection, DescriptorGradient, FreeIsoLine, from_minus_one
from qdpg.emitters.emitter import Emitter
from qdpg.emitters.iso_line import IsoLineShare
from qdpg.emitters.learner import Networks, Scaled
from qdpg.emitters.objective import GradientObjective
from qdpg.emitters.screened import vary
from qdpg.errors import UserError
from qdpg.learn.descriptors import DescriptorMinibatches
from qdpg.learn.td3 import TD3Options, TD3Settings
from qdpg.learn.transitions import Transitions
from qdpg.memory.reevaluated import ArchiveSettings
from qdpg.memory.replay import Replay, replay_bytes
from qdpg.play.rollouts import Rollouts
from qdpg.ranges import Cells, Count, NotNegative, Positive, Widths
from qdpg.tasks.task import TaskSpec


@dataclass(frozen=True)
class Config(TD3Options):
    """Settings of DCRL-ME. Defaults are its authors' (QDax and their own benchmark).

    Attributes:
        population: Offspring per generation.
        injected: Offspring that are the conditioned actor.
        initial_policies: Random policies to start from.
        hidden: Hidden layers of policies and critics.
        scaled: "learned" lets networks that learn see normalised observations; see QD-PG.
        replay_size: Rows of the replay memory.
        cells: Cells per dimension of the archive, or one number for a centroidal Voronoi tessellation.
        archive: Whether elites must last.
        critic_steps: Gradient steps of critics and conditioned actor per generation, whatever was played.
        greedy_steps: Gradient steps of each climbing offspring.
        offspring_rate: Learning rate of the climbing offspring; `actor_rate` is the conditioned actor's.
        length_scale: ℓ: how fast a reward loses its worth with the distance from the wanted behaviour, all of which go
            from -1 to 1.
        iso_line: The other offspring, and what share of all they are.
        quality: Of conditioned actor and climbing offspring; DCRL-ME itself has no exploration episodes.
    """

    population: Count = 256
    injected: Count = 64
    initial_policies: Count = 256
    hidden: Widths = (256, 256)
    scaled: Scaled = False
    batch_size: Count = 100
    replay_size: Count = 1_000_000
    cells: Cells = (12, 12)
    critic_steps: Count = 3_000
    greedy_steps: Count = 150
    offspring_rate: NotNegative = 5e-3
    length_scale: Positive = 0.1
    archive: ArchiveSettings = field(default_factory=ArchiveSettings)
    iso_line: IsoLineShare = field(default_factory=lambda: IsoLineShare(share=0.5))
    quality: GradientObjective = field(default_factory=GradientObjective)


def preset(name: str, task: str, algorithm: str = "dcrl-me") -> Config:
    """The settings of preset `name` for `task`.

    "paper" is DCRL-ME's own. "tuned" has generations of twenty and the networks, minibatches and cells of our PGA-ME,
    of which it is a relative, on the same task.
    """
    point = task == "point-maze"
    paper = Config(cells=(9, 9) if point else (12, 12))
    if name == "paper":
        return paper
    tuned = replace(paper, population=20, injected=5, initial_policies=40, offspring_rate=1e-3)
    if point:
        return replace(tuned, hidden=(64, 32), critic_rate=1e-3, softness=0.01, replay_size=250_000)
    return replace(tuned, hidden=(128, 128), batch_size=128, replay_size=500_000)


def make_emitters(networks: Networks, config: Config) -> list[Emitter]:
    """Conditioned gradient, conditioned actor, iso+line variation."""
    varied = round(config.iso_line.share * config.population)
    quality, size = config.quality, networks.spec.descriptor_size
    settings = engine_settings(TD3Settings, config, discount=quality.discount)

    def minibatches(transitions: Transitions, wanted: jax.Array | None) -> DescriptorMinibatches:
        weight, _ = networks.weights(quality, (1.0, 0.0))
        return DescriptorMinibatches(transitions, weight, config.length_scale, size, networks.scaling, wanted)

    climbing = config.population - varied - config.injected
    steps, rate = config.greedy_steps, config.offspring_rate
    emitters: list[Emitter] = [
        DescriptorGradient("quality", quality, climbing, networks, settings, minibatches, steps, rate),
        ActorInjection("quality", quality, config.injected, networks),
    ]
    return [*emitters, *vary(varied, config.iso_line, FreeIsoLine)]


class DCRLME(ArchiveAlgorithm):
    """DCRL-ME."""

    replay: Replay

    def __init__(self, spec: TaskSpec, config: Config, seed: int, name: str = "dcrl-me") -> None:
        """Start with empty memories and fresh critics; see `ArchiveAlgorithm` for the arguments."""
        varied = round(config.iso_line.share * config.population)
        if config.population - varied - config.injected < 1:
            raise UserError(
                f"{name} needs a climbing offspring, but iso_line.share and injected leave none of a population of "
                f"{config.population}; enlarge it."
            )
        if config.scaled is True:
            raise UserError(f"{name} has no use for the task's observation_scale; give scaled=learned or false.")
        networks = Networks(spec, config.hidden, scaled=config.scaled)
        extra_fields = {WANTED: spec.descriptor_size}
        super().__init__(networks, config, seed, name, make_emitters(networks, config), extra_fields)
        self.replay = Replay(config.replay_size, *_row_sizes(spec))

    def ask(self, stop: Callable[[], bool] = never) -> Generation:
        """As all archive algorithms, with what the replay memory says about observations and rewards."""
        self.networks.look(self.replay, np.zeros(0))
        return super().ask(stop)

    def first_generation(self, rng: np.random.Generator) -> Generation:
        """Random policies, of which no behaviour is wanted."""
        first = super().first_generation(rng)
        nothing = np.full((len(first.candidates), self.spec.descriptor_size), np.nan)
        return first._replace(extra_fields={WANTED: nothing})

    def gradient_steps(self) -> int:
        """Always as many."""
        return self.config.critic_steps

    def tell(self, generation: Generation, rollouts: Rollouts) -> dict[str, Any]:
        """Store the transitions with what was reached and what was wanted, and the policies in the archive."""
        with self.clock.time("memory"):
            reached = from_minus_one(rollouts.behaviours, self.spec)
            wanted, known = reached.copy(), generation.extra_fields[WANTED]
            wanted[: len(known)] = np.where(np.isnan(known), reached[: len(known)], known)
            self.replay.insert(label(rollouts, np.concatenate([reached, wanted], axis=1)))
        return self.keep(generation, rollouts, rollouts.steps) | {"transitions": self.replay.transitions}

    def new_fields(self, candidates: Rollouts) -> dict[str, np.ndarray]:
        """What an elite reached is what it was to reach, as far as anybody remembers."""
        return {WANTED: from_minus_one(candidates.behaviours, self.spec)}


def label(rollouts: Rollouts, labels: np.ndarray) -> Rollouts:
    """The episodes with `labels` [N, L] behind every observation."""
    assert rollouts.observations is not None
    repeated = np.repeat(labels[:, None].astype(np.float32), rollouts.observations.shape[1], axis=1)
    return replace(rollouts, observations=np.concatenate([rollouts.observations, repeated], axis=2))


def _row_sizes(spec: TaskSpec) -> tuple[int, int, int]:
    """Of observations with two behaviours behind them, actions and descriptors."""
    return spec.observation_size + 2 * spec.descriptor_size, spec.action_size, spec.descriptor_size


def footprint(spec: TaskSpec, config: Config, name: str) -> Footprint:
    """What a run will take, known before anything is allocated."""
    own = networks_footprint(Networks(spec, config.hidden), config, 1, spec.descriptor_size)
    replay = replay_bytes(config.replay_size, *_row_sizes(spec))
    return own._replace(memory=own.memory - own.replay + replay, replay=replay)


FAMILY = Family(Config, preset, footprint, DCRLME, find_idle)
