"""Settings of DC-QD-PG; `dc_qd_pg_presets.py` has its presets, `dc_qd_pg.py` the algorithm."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from qdpg.algorithms.qd_pg_checks import check_settings, find_idle
from qdpg.algorithms.qd_pg_settings import SPAN, VisitedSettings
from qdpg.emitters.iso_line import IsoLineShare
from qdpg.emitters.objective import GradientObjective, Objective
from qdpg.errors import UserError
from qdpg.learn.roadmap import BINS
from qdpg.learn.td3 import TD3Options
from qdpg.memory.reevaluated import ArchiveSettings
from qdpg.ranges import Cells, Correlation, Count, CountOrNone, NotNegative, Share, Widths
from qdpg.tasks.task import TaskSpec


@dataclass(frozen=True)
class Config(VisitedSettings, TD3Options):
    """Settings of DC-QD-PG. The defaults are those of a task that no preset names.

    Policies end in a linear layer, and each objective has a greedy actor. Learning networks see scaled observations
    where the task declares their sizes.

    Attributes:
        population: Offspring per generation; what the others leave climbs for quality.
        hidden: Hidden layers of policies and critics.
        replay_size: Rows of the replay memory.
        gradient_steps_ratio: Gradient steps per transition that the generation before left in the replay memory.
        stored_steps: How many successive steps of each candidate's episode enter the replay memory; see
            `sub_trajectories`. 0 stores all of them.
        stratified: How many times the mean of all occupied cells any cell of the archive may have of the transitions
            that are learned from, the rest being left out at random, anew in every generation; 0 learns from all alike.
        greedy_steps: Gradient steps of each copy of an elite.
        direction_fields: Offspring that are the greedy direction-conditioned policy with a direction field each.
        navigation_fields: Offspring that are the greedy direction-conditioned policy sent to a cell of the archive, on
            the shortest way that the replay memory knows. Policies then have one layer more. For tasks whose
            descriptors are places that can be read off observations.
        direction_gradients: Offspring that are copies of elites, improved in the direction in which novelty grows.
        field_mutation: Whether some of the `direction_fields` are elites' own networks with another field.
        normalised: Whether networks that learn see observations normalised by what is in the replay memory, rewards
            divided by their typical size there, and descriptors from -1 to 1. Directions then have any length up to
            1.75: the longer w is, the more movement counts beside the environment's reward. Where behaviour is the mean
            of ψ, the movement is that of the mean.
        unit_directions: Whether only the direction of w counts: to go there is then worth the same however long w is,
            and policies do not stand still where a field is weak.
        symmetry_augmentation: Whether quarters of each minibatch are seen as if all had happened one, two and three
            quarter turns further left, for bodies of which the task says that this makes no difference.
        reward_share: Share of the environment's reward that counts in the direction-conditioned critics too.
        warm_up_steps: Environment steps, from the start, in which the greedy actors only learn: all episodes
            explore, straight on in one direction and, after at most `roll_in_steps`, in another.
        roll_in_steps: An elite acts first in exploration episodes, through a part of its own episode; then the greedy
            actor acts for so many steps. 0: the greedy actor acts from the start to the end.
        settled: How near to its end, as a share of the descriptors' range, an episode has settled if it stays there.
            Elites then guide others only before they have settled, and exploration episodes are stored only up to
            `stored_steps` after they have. 0 makes no such difference.
        noise_correlation: Of all action noise between successive steps; 0 is white noise.
        cells: Cells per dimension of the archive, or one number for a centroidal Voronoi tessellation.
        archive: Whether elites must last.
        iso_line: Iso+line variation beside the gradients.
        initial_policies: Random policies to start from.
        diversity: Of direction-conditioned critics and policies; the reward is movement of ψ along the direction.
        quality: Of the policies improved for quality, and their critics.
    """

    population: Count = 12
    hidden: Widths = (128, 128)
    replay_size: Count = 500_000
    batch_size: Count = 128
    actor_rate: NotNegative = 1e-3
    critic_rate: NotNegative = 1e-3
    critic_hidden: Literal["relu", "normed"] = "normed"
    gradient_steps_ratio: NotNegative = 0.7
    stored_steps: CountOrNone = 200
    stratified: NotNegative = 2.0
    greedy_steps: Count = 150
    direction_fields: CountOrNone = 5
    navigation_fields: CountOrNone = 0
    direction_gradients: CountOrNone = 1
    field_mutation: bool = False
    normalised: bool = False
    unit_directions: bool = False
    symmetry_augmentation: bool = False
    reward_share: NotNegative = 1.0
    warm_up_steps: CountOrNone = 150_000
    roll_in_steps: CountOrNone = 200
    settled: Share = 0.0
    noise_correlation: Correlation = 0.9
    visited_threshold: NotNegative = 1 / SPAN["ant-trap"]
    neighbours: Count = 30
    cells: Cells = (7, 7)
    archive: ArchiveSettings = field(default_factory=ArchiveSettings)
    iso_line: IsoLineShare = field(default_factory=lambda: IsoLineShare(share=1 / 6, selection_pressure=3.0))
    initial_policies: Count = 4
    diversity: GradientObjective = field(
        default_factory=lambda: GradientObjective(
            reward_scale=2.0, action_bound=0.5, rate_range=2.0, exploration_episodes=10, exploration_noise=0.3
        )
    )
    quality: Objective = field(
        default_factory=lambda: Objective(
            discount=0.997,
            reward_scale=0.05,
            action_bound=0.5,
            rate_range=2.0,
            selection_pressure=3.0,
            exploration_episodes=5,
            exploration_noise=0.2,
        )
    )


def navigates(spec: TaskSpec) -> bool:
    """Whether navigation fields are for this task."""
    return bool(spec.located) and spec.behaviour == "final" and spec.descriptor_size in BINS


def check_directions(spec: TaskSpec, config: Config, name: str) -> None:
    """Raise a `UserError` if settings do not fit each other or the task."""
    check_settings(spec, config, name)
    climbing = config.population - round(config.iso_line.share * config.population)
    if climbing - config.direction_fields - config.direction_gradients - config.navigation_fields < 1:
        raise UserError(
            f"{name} needs an offspring for quality, but direction_fields, navigation_fields, direction_gradients and "
            f"iso_line.share leave none of a population of {config.population}; enlarge it."
        )
    if config.symmetry_augmentation and (config.reward_share or not spec.quarter_turn):
        raise UserError(
            f"symmetry_augmentation needs a task with a quarter_turn, which {spec.name} may not have, and no share of "
            "the environment's reward in the diversity gradient; give symmetry_augmentation=false, or reward_share=0."
        )
    if config.iso_line.adaptive and config.field_mutation:
        raise UserError(
            "iso_line.adaptive changes the number of direction fields, which field_mutation counts on; leave out one."
        )
    if config.navigation_fields and not navigates(spec):
        raise UserError(
            "navigation_fields needs behaviours that are one to three descriptors of the final state, which policies "
            f"can read off what they observe; {spec.name} has others; give navigation_fields=0."
        )
    if not config.direction_fields and (config.direction_gradients or config.navigation_fields or config.warm_up_steps):
        raise UserError(
            "without direction_fields nobody learns directions; "
            "set navigation_fields=0 direction_gradients=0 warm_up_steps=0."
        )


def find_idle_directions(config: Config) -> dict[str, str]:
    """Settings that do nothing beside the others, and why: whoever gives one of them is refused."""
    idle = {key: why for key, why in find_idle(config).items() if not key.endswith("action_bound")}
    if config.warm_up_steps:  # its episodes explore, whatever comes later
        for name in ("roll_in_steps", "noise_correlation", "diversity.exploration_noise"):
            idle.pop(name, None)
    if not config.direction_fields:
        reason = "direction_fields is 0"
        idle |= dict.fromkeys(("field_mutation", "unit_directions", "symmetry_augmentation", "reward_share"), reason)
        idle |= dict.fromkeys(("visited_size", "visited_threshold", "neighbours"), reason)
        idle |= {f"diversity.{each}": reason for each in GradientObjective.__dataclass_fields__}
    if not config.direction_gradients:
        idle |= dict.fromkeys(("diversity.rate_range", "diversity.selection_pressure"), "direction_gradients is 0")
    return idle
