"""Settings of QD-PG and its ablations; `qd_pg_presets.py` has their values for the paper's tasks."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from qdpg.emitters.iso_line import IsoLineShare
from qdpg.emitters.learner import Scaled
from qdpg.emitters.objective import Objective, SumObjective
from qdpg.learn.td3 import TD3Options
from qdpg.memory.reevaluated import ArchiveSettings
from qdpg.memory.visited import NoveltyKind
from qdpg.ranges import Cells, Correlation, Count, CountOrNone, NotNegative, Widths

SPAN = {"point-maze": 2.0, "ant-maze": 70.0, "ant-trap": 23.0}
"""Mean range of the descriptors, by which the paper's thresholds, in the units of ψ, become shares of it."""


@dataclass(frozen=True)
class VisitedSettings:
    """What is held of visited states: 𝔸, the archive of their descriptors.

    Attributes:
        visited_size: How many states 𝔸 holds at most; the oldest leave first (Table 3).
        visited_threshold: How far a state must lie from those that were visited before to enter 𝔸: its mean distance to
            its `neighbours` there must exceed this share of the mean range of the descriptors. Larger: fewer states,
            farther apart. Table 3 has it in the units of ψ; the preset `paper` has the same distances as shares.
        neighbours: K: the novelty of a state is its mean distance to so many nearest states in 𝔸 (Table 3).
    """

    visited_size: Count = 10_000
    visited_threshold: NotNegative = 1e-4 / SPAN["point-maze"]
    neighbours: Count = 10


@dataclass(frozen=True)
class NoveltySettings(VisitedSettings):
    """How novel a state is: its distance to 𝔸.

    Attributes:
        novelty: Mean distance to the neighbours (appendix), sum of distances (main text), or mean of squares (QDax).
    """

    novelty: NoveltyKind = "mean"


@dataclass(frozen=True)
class SharedSettings(TD3Options):
    """All settings that do not belong to an objective. The defaults are those of Table 3 that hold for all tasks.

    Attributes:
        population: N, policies per generation (appendix C.1: 4 for point-maze, 10 for the ants).
        hidden: Hidden layers of policies and critics (Table 3).
        replay_size: Rows of the replay memory (Table 3).
        gradient_steps_ratio: Gradient steps per transition that the generation before left in the replay memory: one
            for each of its environment steps, as in Table 3, unless there are `stored_steps`.
        stored_steps: How many successive steps of each candidate's episode enter the replay memory, and of exploration
            episodes what came after their roll-in; see `sub_trajectories`. 0 stores all of them, as the paper does.
        scaled: Whether networks that learn see observations divided by the task's typical sizes (`observation_scale`).
            "learned": normalised by what is in the replay memory, and rewards divided by their typical size there.
        output: What policies end in: a tanh, as in TD3, or "linear", clipped to the actions' range; they then climb by
            inverting gradients.
        candidate_noise: σ of the action noise in the episodes that policies are judged by (not given).
        noise_correlation: Of all action noise between successive steps; 0 is white noise.
        roll_in_steps: If not 0, an elite acts first in exploration episodes, through a part of its own episode; then a
            copy of the first policy improved for the objective acts for so many steps. So critics learn what becomes of
            their policy wherever the archive has been.
        cells: Cells per dimension of the archive (Table 3), or one number for a centroidal Voronoi tessellation.
        archive: Whether elites must last.
        iso_line: Iso+line variation beside the policy gradients.
        initial_policies: Random policies to start from; 0 means one population.
        greedy_steps: If not 0, the critics of each objective are trained by a greedy actor of their own, which lives on
            from generation to generation and is played as one of the population, as in PGA-ME; the other offspring then
            climb frozen critics for so many steps. 0 in the paper: the offspring train the critics.
    """

    population: Count = 4
    hidden: Widths = (64, 32)
    replay_size: Count = 1_000_000
    gradient_steps_ratio: NotNegative = 4.0
    stored_steps: CountOrNone = 0
    scaled: Scaled = False
    output: Literal["tanh", "linear"] = "tanh"
    candidate_noise: NotNegative = 0.0
    noise_correlation: Correlation = 0.0
    roll_in_steps: CountOrNone = 0
    cells: Cells = (5, 5)
    archive: ArchiveSettings = field(default_factory=ArchiveSettings)
    iso_line: IsoLineShare = field(default_factory=IsoLineShare)
    initial_policies: CountOrNone = 0
    greedy_steps: CountOrNone = 0


@dataclass(frozen=True)
class Config(NoveltySettings, SharedSettings):
    """Settings of QD-PG.

    Attributes:
        diversity: Of the policies improved for diversity, and their critics.
        quality: Of the policies improved for quality, and their critics.
    """

    diversity: Objective = field(default_factory=Objective)
    quality: Objective = field(default_factory=Objective)


@dataclass(frozen=True)
class SumConfig(NoveltySettings, SharedSettings):
    """Settings of QD-PG-SUM.

    Attributes:
        sum: Of the one objective, whose reward is the sum of both. In presets its settings are those of quality, and
            novelty counts as much as in the critics of diversity.
    """

    sum: SumObjective = field(default_factory=SumObjective)


@dataclass(frozen=True)
class DiversityConfig(NoveltySettings, SharedSettings):
    """Settings of D-PG.

    Attributes:
        diversity: Of all policies that climb, and their critics.
    """

    diversity: Objective = field(default_factory=Objective)


@dataclass(frozen=True)
class QualityConfig(SharedSettings):
    """Settings of Q-PG.

    Attributes:
        quality: Of all policies that climb, and their critics.
    """

    quality: Objective = field(default_factory=Objective)


def rewards_of(config: Any) -> dict[str, tuple[float, float]]:
    """By objective, how much of the environment's reward and of the novelty counts."""
    if hasattr(config, "sum"):
        return {"sum": (1.0, config.sum.novelty_weight)}
    rewards = {"diversity": (0.0, 1.0), "quality": (1.0, 0.0)}
    return {name: each for name, each in rewards.items() if hasattr(config, name)}


def quality_objective(config: Any) -> Objective | None:
    """The objective that the environment's reward belongs to, if there is one."""
    return getattr(config, "quality", None) or getattr(config, "sum", None)


def novelty_objective(config: Any) -> Objective | None:
    """The objective that novelty belongs to, if there is one. SUM's offset is taken off the environment's reward."""
    if hasattr(config, "sum"):
        return replace(config.sum, reward_offset=0.0, shaped=config.sum.novelty_shaped)
    return getattr(config, "diversity", None)


CONFIGS = {"qd-pg": Config, "qd-pg-sum": SumConfig, "d-pg": DiversityConfig, "q-pg": QualityConfig}
