"""Policy Gradient Assisted MAP-Elites (Nilsson and Cully, GECCO 2021).

Half of the offspring are made by iso+line variation; the others climb critics that a greedy actor trains. The greedy
actor lives on from generation to generation and is played in each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from qdpg.algorithms.algorithm import Family, Generation
from qdpg.algorithms.archive import ArchiveAlgorithm, never
from qdpg.algorithms.pieces import climbing_settings
from qdpg.algorithms.qd_pg_checks import check_settings, find_idle, footprint
from qdpg.algorithms.qd_pg_presets import preset as qd_pg_preset
from qdpg.emitters.emitter import Emitter
from qdpg.emitters.iso_line import IsoLineShare
from qdpg.emitters.learner import Networks, Scaled
from qdpg.emitters.objective import Objective
from qdpg.emitters.policy_gradient import PolicyGradient
from qdpg.emitters.screened import vary
from qdpg.learn.td3 import TD3Options
from qdpg.memory.reevaluated import ArchiveSettings
from qdpg.memory.replay import Replay
from qdpg.memory.storing import rewards_for_critics
from qdpg.play.rollouts import Rollouts
from qdpg.ranges import Cells, Correlation, Count, NotNegative, Widths
from qdpg.tasks.task import TaskSpec


@dataclass(frozen=True)
class Config(TD3Options):
    """Settings of PGA-ME. Defaults are its authors' (ollebompa/PGA-MAP-Elites).

    Attributes:
        population: Offspring per generation.
        initial_policies: Random policies to start from.
        hidden: Hidden layers of policies and critics.
        output: What policies end in: a tanh, or "linear", clipped to the actions' range; see QD-PG.
        noise_correlation: Of all action noise between successive steps; 0 is white noise.
        scaled: Whether networks that learn see scaled observations; see QD-PG.
        replay_size: Rows of the replay memory.
        cells: Cells per dimension of the archive, or one number for a centroidal Voronoi tessellation.
        archive: Whether elites must last.
        critic_steps: Gradient steps of critics and greedy actor per generation, whatever was played.
        greedy_steps: Gradient steps of each climbing offspring (QDax: 100).
        offspring_rate: Learning rate of the climbing offspring; `actor_rate` is the greedy actor's.
        iso_line: The other offspring, and what share of all they are.
        quality: Of the greedy actor and of the climbing offspring; PGA-ME itself has no exploration episodes.
    """

    population: Count = 100
    initial_policies: Count = 500
    hidden: Widths = (256, 256)
    output: Literal["tanh", "linear"] = "tanh"
    noise_correlation: Correlation = 0.0
    scaled: Scaled = False
    replay_size: Count = 1_000_000
    cells: Cells = (5, 5)
    critic_steps: Count = 300
    greedy_steps: Count = 10
    offspring_rate: NotNegative = 1e-3
    archive: ArchiveSettings = field(default_factory=ArchiveSettings)
    iso_line: IsoLineShare = field(default_factory=lambda: IsoLineShare(share=0.5))
    quality: Objective = field(default_factory=Objective)


def preset(name: str, task: str, algorithm: str = "pga-me") -> Config:
    """The settings of preset `name` for `task`.

    "paper" is PGA-ME's own, with about three times the cells of QD-PG's grids, as the QD-PG paper says. "tuned" has
    generations of ten on point-maze, so that the critics learn as often as QD-PG's there, with its scale of rewards and
    networks, and wider variation, which small networks stand. On the ants it has generations of twenty, and what helped
    QD-PG there and is no idea of QD-PG's; docs/research/baselines.md has the trials. Exploration episodes, which PGA-ME
    does not have, play with noise for the replay memory alone: from deterministic episodes only, the critics hardly
    learn what other actions are worth.
    """
    paper = Config(cells=(9, 9) if task == "point-maze" else (12, 12))
    if name == "paper":
        return paper
    if task in ("ant-trap", "ant-maze"):
        return tune_ants(paper, task)
    if task == "point-maze":
        return replace(
            paper,
            hidden=(64, 32),
            population=10,
            initial_policies=20,
            critic_steps=1_500,
            greedy_steps=100,
            critic_rate=1e-3,
            batch_size=100,
            softness=0.01,
            iso_line=IsoLineShare(share=0.5, iso_sigma=0.01, line_sigma=0.2),
            replay_size=250_000,
            quality=Objective(reward_scale=0.05, exploration_episodes=4, exploration_noise=0.3),
        )
    return replace(
        paper,
        hidden=(128, 128),
        batch_size=128,
        population=20,
        initial_policies=40,
        critic_steps=1_000,
        greedy_steps=50,
        replay_size=500_000,
    )


def tune_ants(paper: Config, task: str) -> Config:
    """A third of the episodes explores; there is a gradient step for every third step played, or more if ants fall."""
    ants = replace(
        paper,
        hidden=(128, 128),
        batch_size=128,
        population=20,
        initial_policies=20,
        critic_steps=10_000,
        greedy_steps=150,
        replay_size=500_000,
        actor_rate=1e-3,
        critic_rate=1e-3,
        critic_hidden="normed",
        scaled=True,
        output="linear",
        noise_correlation=0.9,
        iso_line=replace(paper.iso_line, selection_pressure=3.0),
        archive=ArchiveSettings(reevaluations=0.5, full_after=3.0),
        quality=replace(qd_pg_preset("tuned", task).quality, exploration_episodes=10),
    )
    if task == "ant-trap":
        return ants
    # A heavy ant with long episodes. Elites that last were not tried here.
    return replace(ants, initial_policies=4, critic_steps=30_000, archive=paper.archive)


def make_emitters(networks: Networks, config: Config) -> list[Emitter]:
    """Half of the offspring climb for quality, half are varied."""
    varied = round(config.iso_line.share * config.population)
    settings = climbing_settings(config, config.quality)
    climbing = PolicyGradient(
        "quality",
        config.quality,
        (1.0, 0.0),
        config.population - varied,
        networks,
        settings,
        greedy_steps=config.greedy_steps,
        offspring_rate=config.offspring_rate,
    )
    return [climbing, *vary(varied, config.iso_line)]


class PGAME(ArchiveAlgorithm):
    """PGA-ME."""

    replay: Replay

    def __init__(self, spec: TaskSpec, config: Config, seed: int, name: str = "pga-me") -> None:
        """Start with empty memories and fresh critics; see `ArchiveAlgorithm` for the arguments."""
        check_settings(spec, config, name)
        networks = Networks(spec, config.hidden, config.output, config.scaled)
        super().__init__(networks, config, seed, name, make_emitters(networks, config))
        self.replay = Replay(config.replay_size, len(networks.scale), spec.action_size, spec.descriptor_size)
        self.noise_correlation = config.noise_correlation

    def ask(self, stop: Callable[[], bool] = never) -> Generation:
        """As all archive algorithms, with what the replay memory says about observations and rewards."""
        self.networks.look(self.replay, np.zeros(0))
        return super().ask(stop)

    def gradient_steps(self) -> int:
        """Always as many."""
        return self.config.critic_steps

    def tell(self, generation: Generation, rollouts: Rollouts) -> dict[str, Any]:
        """Store the transitions in the replay memory, and the policies in the archive."""
        with self.clock.time("memory"):
            self.replay.insert(rewards_for_critics(rollouts, self.config.quality))
        return self.keep(generation, rollouts, rollouts.steps) | {"transitions": self.replay.transitions}


FAMILY = Family(Config, preset, footprint, PGAME, find_idle)
