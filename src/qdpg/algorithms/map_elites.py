"""MAP-Elites (Mouret and Clune, 2015) and CVT-MAP-Elites (Vassiliades et al., 2017) with iso+line variation.

No gradients and no memory of transitions: elites, two of them drawn for each offspring, and a grid that keeps the best.
The two differ in the shape of the cells only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import jax

from qdpg.algorithms.algorithm import Family, Footprint, Generation
from qdpg.algorithms.archive import ArchiveAlgorithm
from qdpg.algorithms.pieces import count_cells
from qdpg.emitters.iso_line import IsoLine, IsoLineSettings
from qdpg.emitters.learner import Networks
from qdpg.errors import UserError
from qdpg.learn.networks import count_parameters
from qdpg.memory.reevaluated import ArchiveSettings
from qdpg.play.rollouts import Rollouts
from qdpg.ranges import Cells, Count, NotNegative, Widths
from qdpg.tasks.task import TaskSpec


@dataclass(frozen=True)
class Config:
    """Settings of MAP-Elites.

    Attributes:
        population: Offspring per generation (100 in PGA-ME's and QDax's runs).
        initial_policies: Random policies to start from (PGA-ME: 500).
        hidden: Hidden layers of the policies (QD-PG's Table 3, so that all algorithms train the same networks).
        iso_sigma: Gaussian part of iso+line variation (Vassiliades and Mouret, 2018).
        line_sigma: Directional part (the same).
        cells: Cells per dimension of the grid, or the number of cells of a centroidal Voronoi tessellation.
        archive: Whether elites must last.
    """

    population: Count = 100
    initial_policies: Count = 500
    hidden: Widths = (64, 32)
    iso_sigma: NotNegative = 0.01
    line_sigma: NotNegative = 0.2
    cells: Cells = (5, 5)
    archive: ArchiveSettings = field(default_factory=ArchiveSettings)


def preset(name: str, task: str, algorithm: str = "map-elites") -> Config:
    """The settings of preset `name` for `task`; an unknown task gets those of the ants.

    "paper" has the published variation and 1024 Voronoi cells, or QD-PG's grid. "tuned" has as many cells for both as
    QD-PG's grid, so that their scores can be compared, larger isotropic steps, and fewer ants per generation.
    """
    point = task == "point-maze"
    hidden = (64, 32) if point else (256, 256)
    grid = (5, 5) if point else (7, 7)
    voronoi = algorithm == "cvt-map-elites"
    if name == "paper":
        return Config(hidden=hidden, cells=1024 if voronoi else grid)
    return Config(
        population=100 if point else 20,
        initial_policies=200 if point else 40,
        hidden=hidden,
        iso_sigma=0.05,
        cells=math.prod(grid) if voronoi else grid,
    )


def footprint(spec: TaskSpec, config: Config, name: str) -> Footprint:
    """What a run will take, known before anything is allocated."""
    policy = 4 * count_parameters(spec.observation_size, *config.hidden, spec.action_size)
    elites = config.archive.entries_per_cell * count_cells(config.cells) * (policy + 4 * spec.descriptor_size + 64)
    most = max(config.population, config.initial_policies)
    episodes = most * spec.horizon * 8 * (spec.descriptor_size + 2)  # rewards and descriptors, twice
    return Footprint(memory=3 * elites + 6 * most * policy + episodes, checkpoint=elites + 4096, replay=0)


class MapElites(ArchiveAlgorithm):
    """MAP-Elites on a grid or on a tessellation."""

    def __init__(self, spec: TaskSpec, config: Config, seed: int, name: str = "map-elites") -> None:
        """Start with no elites.

        Args:
            spec: The task.
            config: Settings.
            seed: What all random draws come from.
            name: "map-elites" or "cvt-map-elites".

        Raises:
            UserError: The settings make no sense.
        """
        if isinstance(config.cells, int) != (name == "cvt-map-elites"):
            raise UserError(
                "cells of map-elites is one number per descriptor, that of cvt-map-elites a single number; "
                f"{config.cells} does not fit {name}."
            )
        emitter = IsoLine(config.population, IsoLineSettings(config.iso_sigma, config.line_sigma))
        super().__init__(Networks(spec, config.hidden), config, seed, name, [emitter])

    def tell(self, generation: Generation, rollouts: Rollouts) -> dict[str, Any]:
        """Offer the policies to the archive, and record the last rewards, which some authors rank by."""
        last = rollouts.last_rewards * self.spec.fitness_scale
        told = super().tell(generation, rollouts)
        return told | {"best_last_reward": last.max(), "episodes": {"last_reward": last}}

    def _first_key(self) -> jax.Array:
        return jax.random.key(self.seed)


FAMILY = Family(Config, preset, footprint, MapElites, lambda config: config.archive.find_idle())
