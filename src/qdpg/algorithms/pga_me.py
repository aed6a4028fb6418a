"""Policy Gradient Assisted MAP-Elites (Nilsson and Cully, GECCO 2021): QD-PG's machinery with one objective, quality.

Half of the offspring are bred by iso+line variation, the others climb critics that a greedy actor trains; the greedy
actor lives on from generation to generation and is played in each.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from qdpg.algorithms import qd_pg
from qdpg.algorithms.algorithm import Family
from qdpg.algorithms.qd_pg import QDPG


@dataclass(frozen=True)
class Config(qd_pg.Config):
    """Settings of PGA-ME: those of QD-PG, and two more. Defaults are its authors' (ollebompa/PGA-MAP-Elites).

    Attributes:
        critic_steps: Gradient steps of critics and greedy actor per generation, whatever was played.
        offspring_rate: Learning rate of the climbing offspring; `actor_rate` is the greedy actor's.
        greedy_steps: Gradient steps of each climbing offspring (QDax: 100).
    """

    population: int = 100
    hidden: tuple[int, ...] = (256, 256)
    greedy_actor: bool = True
    genetic_share: float = 0.5
    greedy_steps: int = 10
    initial_policies: int = 500
    critic_steps: int = 300
    offspring_rate: float = 1e-3


def preset(name: str, task: str, algorithm: str = "pga-me") -> Config:
    """The settings of preset `name` for `task`.

    "paper" is PGA-ME's own, with about three times the cells of QD-PG's grids, as the QD-PG paper says. "tuned" has
    generations of ten on point-maze, so that the critics learn as often as QD-PG's there, with its scale of rewards and
    networks, and wider variation, which small networks stand; on the ants generations of twenty, and QD-PG's networks
    and minibatches there. Scouts, which PGA-ME does not have, play with noise for the replay memory alone: from
    deterministic episodes only, the critics hardly learn what other actions are worth.
    """
    if task == "point-maze":
        paper = Config(cells=(9, 9))
        if name == "paper":
            return paper
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
            reward_scale=0.05,
            iso_sigma=0.01,
            line_sigma=0.2,
            replay_size=250_000,
            visited_threshold=0.01,
            scouts=4,
            scout_noise=0.3,
        )
    paper = Config(cells=(12, 12), visited_threshold=0.1)
    if name == "paper":
        return paper
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


class PGAME(QDPG):
    """PGA-ME."""

    config: Config

    def _gradient_steps(self) -> int:
        return self.config.critic_steps

    def _rates(self, objective: str, number: int, rng: np.random.Generator) -> np.ndarray:
        return np.full(number, self.config.offspring_rate)


FAMILY = Family(Config, preset, qd_pg.footprint, PGAME)
