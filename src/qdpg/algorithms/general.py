"""Settings for tasks that no preset names: derived from a task's sizes, horizon and bounds, never from its name.

They were chosen on halfcheetah-uni, hopper-uni, ant-omni, the hills of docs/your-own-task.md and the tasks of
benchmarks/choosing_tasks.py, and judged on others; docs/research/any-task.md has both. Networks, minibatches and
gradient steps are what an ordinary processor can afford.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from qdpg.algorithms import (
    cma_mae,
    dc_qd_pg_settings,
    dcrl_me,
    map_elites,
    pga_me,
    qd_pg_presets,
    qd_pg_settings,
    sac,
    td3,
)
from qdpg.algorithms.pieces import count_cells
from qdpg.emitters.iso_line import IsoLineShare
from qdpg.emitters.objective import GradientObjective, Objective
from qdpg.memory.reevaluated import ArchiveSettings
from qdpg.tasks.task import TaskSpec

GRIDS = {1: (50,), 2: (10, 10), 3: (5, 5, 5), 4: (4, 4, 4, 4)}  # by the number of descriptors
VORONOI = 256  # cells where there are more descriptors than a grid can take
HIDDEN = (128, 128)
LEARNING: dict[str, Any] = {"hidden": HIDDEN, "batch_size": 128, "critic_hidden": "normed"}
REPLAY = 500_000
SCALED: dict[str, Any] = {"scaled": "learned", "replay_size": REPLAY}
VARIATION: dict[str, Any] = {"iso_sigma": 0.05, "line_sigma": 0.2}  # narrower ones found a third of the new cells
SCREENED = 10  # iso+line offspring made for each that is played; 5 and 20 found as much, 100 now and then less
LASTING = ArchiveSettings(reevaluations=1.0, full_after=4.0)  # new cells come first, then elites that keep their word
FIRST = 10  # random policies to start from: untrained networks behave alike


def cells(spec: TaskSpec) -> tuple[int, ...] | int:
    """The same cells for every algorithm."""
    return GRIDS.get(spec.descriptor_size, VORONOI)


def for_map_elites(spec: TaskSpec, algorithm: str) -> map_elites.Config:
    """MAP-Elites: small generations, so that elites are soon varied further."""
    grid = cells(spec)
    return map_elites.Config(
        population=20,
        initial_policies=40,
        hidden=HIDDEN,
        iso_sigma=0.05,
        archive=LASTING,
        cells=count_cells(grid) if algorithm == "cvt-map-elites" else grid,
    )


def for_cma_mae(spec: TaskSpec, algorithm: str) -> cma_mae.Config:
    """CMA-MAE with few strategies, since a generation counts more than its size where there are few episodes."""
    return cma_mae.Config(strategies=2, population=40, hidden=HIDDEN, cells=cells(spec), archive=LASTING)


def for_pga_me(spec: TaskSpec, algorithm: str) -> pga_me.Config:
    """PGA-ME with what helps any critic to learn."""
    return pga_me.Config(
        **LEARNING,
        population=10,
        initial_policies=FIRST,
        cells=cells(spec),
        archive=LASTING,
        critic_steps=2_000,
        greedy_steps=100,
        actor_rate=1e-3,
        critic_rate=1e-3,
        **SCALED,
        iso_line=IsoLineShare(share=0.5, **VARIATION),
        quality=Objective(exploration_episodes=1, exploration_noise=0.2),
    )


def for_dcrl_me(spec: TaskSpec, algorithm: str) -> dcrl_me.Config:
    """DCRL-ME with the same."""
    return dcrl_me.Config(
        **LEARNING,
        population=10,
        injected=2,
        initial_policies=FIRST,
        cells=cells(spec),
        archive=LASTING,
        critic_steps=2_000,
        greedy_steps=100,
        actor_rate=1e-3,
        critic_rate=1e-3,
        offspring_rate=1e-3,
        **SCALED,
        iso_line=IsoLineShare(share=0.5, **VARIATION),
        quality=GradientObjective(exploration_episodes=1, exploration_noise=0.2),
    )


def for_qd_pg(spec: TaskSpec, algorithm: str) -> Any:
    """QD-PG with what helps any critic to learn, a greedy actor for each objective, and shares that follow success."""
    explores: dict[str, Any] = {"exploration_episodes": 1, "exploration_noise": 0.2}
    full = qd_pg_settings.Config(
        **LEARNING,
        population=10,
        initial_policies=FIRST,
        cells=cells(spec),
        archive=LASTING,
        gradient_steps_ratio=0.25,
        greedy_steps=100,
        actor_rate=1e-3,
        critic_rate=1e-3,
        scaled="learned",
        output="linear",
        replay_size=REPLAY,
        visited_threshold=0.01,
        noise_correlation=0.5,
        iso_line=IsoLineShare(share=0.5, adaptive=True, screened_from=SCREENED, **VARIATION),
        diversity=Objective(**explores, rate_range=1.0),
        quality=Objective(**explores, rate_range=1.0),
    )
    return qd_pg_presets.ablate(full, algorithm)


def for_dc_qd_pg(spec: TaskSpec, algorithm: str) -> dc_qd_pg_settings.Config:
    """DC-QD-PG from the first generation on: no warm-up, no roll-in, whole episodes stored, adaptive shares.

    Where behaviours are places, most of what follows directions goes to cells by navigation fields.
    """
    start = dc_qd_pg_settings.Config()
    led = dc_qd_pg_settings.navigates(spec)
    explores: dict[str, Any] = {"exploration_episodes": 1, "exploration_noise": 0.2}
    explores |= {"reward_scale": 1.0, "action_bound": 1.0, "discount": 0.99, "rate_range": 1.0}
    return replace(
        start,
        normalised=True,
        population=10,
        initial_policies=FIRST,
        cells=cells(spec),
        archive=LASTING,
        gradient_steps_ratio=0.25,
        stored_steps=0,
        stratified=0.0,
        greedy_steps=100,
        direction_fields=1 if led else 3,
        navigation_fields=3 if led else 0,
        direction_gradients=0,
        warm_up_steps=0,
        roll_in_steps=0,
        replay_size=REPLAY,
        visited_threshold=0.01,
        noise_correlation=0.5,
        iso_line=IsoLineShare(share=0.4, adaptive=True, screened_from=SCREENED, **VARIATION),
        diversity=replace(start.diversity, **explores | {"exploration_episodes": 0, "exploration_noise": 0.0}),
        quality=replace(start.quality, **explores, selection_pressure=1.0),
    )


def for_td3(spec: TaskSpec, algorithm: str) -> td3.Config:
    """TD3 with the same networks and scales, and exploration episodes that outweigh the judged one."""
    return td3.Config(
        **LEARNING,
        **SCALED,
        actor_rate=1e-3,
        critic_rate=1e-3,
        gradient_steps_ratio=0.5,
        start_steps=5_000,
        exploration_episodes=4,
        exploration_noise=0.2,
        noise_correlation=0.5,
    )


def for_sac(spec: TaskSpec, algorithm: str) -> sac.Config:
    """SAC with the same; rewards are small, so the temperature starts low and moves faster."""
    return sac.Config(
        **LEARNING,
        **SCALED,
        actor_rate=1e-3,
        critic_rate=1e-3,
        gradient_steps_ratio=0.5,
        start_temperature=0.05,
        temperature_rate=1e-3,
    )


GENERAL = {
    "td3": for_td3,
    "sac": for_sac,
    "map-elites": for_map_elites,
    "cvt-map-elites": for_map_elites,
    "cma-mae": for_cma_mae,
    "pga-me": for_pga_me,
    "dcrl-me": for_dcrl_me,
    "dc-qd-pg": for_dc_qd_pg,
    **dict.fromkeys(qd_pg_settings.CONFIGS, for_qd_pg),
}
