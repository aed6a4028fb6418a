"""Presets of DC-QD-PG for the paper's tasks; docs/dc-qd-pg.md says why."""

from __future__ import annotations

from dataclasses import replace

from qdpg.algorithms.dc_qd_pg_settings import Config
from qdpg.algorithms.qd_pg_settings import SPAN
from qdpg.memory.reevaluated import ArchiveSettings


def preset(name: str, task: str, algorithm: str = "dc-qd-pg") -> Config:
    """The settings of preset "tuned", the only one, for `task`."""
    config = Config()
    if task == "ant-trap":
        return _tune_ant_trap(config)
    if task == "ant-maze":
        return _tune_ant_maze(config)
    if task == "point-maze":
        return _tune_point_maze(config)
    return config


def _tune_ant_trap(config: Config) -> Config:
    """A light ant, for which it is easier to reach a place than to stay there until the end."""
    return replace(
        config,
        population=16,
        direction_fields=1,
        navigation_fields=9,
        unit_directions=True,
        symmetry_augmentation=True,
        reward_share=0.0,
        cells=(15, 8),
        archive=ArchiveSettings(reevaluations=1.0, full_after=3.0),
        iso_line=replace(config.iso_line, share=1 / 8),
        quality=replace(config.quality, reward_offset=0.75),
    )


def _tune_ant_maze(config: Config) -> Config:
    """A heavy ant, which needs all its strength, in a large place."""
    return replace(
        config,
        gradient_steps_ratio=1.5,
        stored_steps=50,
        stratified=0.0,
        direction_fields=8,
        field_mutation=True,
        unit_directions=True,
        symmetry_augmentation=True,
        reward_share=0.0,
        warm_up_steps=200_000,
        roll_in_steps=250,
        settled=0.01,
        visited_threshold=4 / SPAN["ant-maze"],
        cells=(14, 14),
        iso_line=replace(config.iso_line, share=1 / 12),
        initial_policies=2,
        diversity=replace(
            config.diversity, reward_scale=8.0, action_bound=1.0, exploration_episodes=12, exploration_noise=0.7
        ),
        quality=replace(
            config.quality,
            discount=0.99,
            reward_scale=5.0,
            shaped=True,
            action_bound=1.0,
            exploration_episodes=2,
            exploration_noise=0.6,
        ),
    )


def _tune_point_maze(config: Config) -> Config:
    """Small networks; a point needs no gait, so that the warm-up is short, but a way round two walls."""
    return replace(
        config,
        hidden=(64, 32),
        batch_size=100,
        replay_size=250_000,
        gradient_steps_ratio=1.5,
        stored_steps=0,
        direction_fields=1,
        navigation_fields=5,
        warm_up_steps=5_000,
        roll_in_steps=50,
        unit_directions=True,
        reward_share=0.0,
        visited_threshold=0.005,
        cells=(5, 5),
        initial_policies=20,
        diversity=replace(
            config.diversity, reward_scale=5.0, action_bound=1.0, exploration_episodes=4, exploration_noise=0.6
        ),
        quality=replace(config.quality, discount=0.99, action_bound=3.0, exploration_episodes=2, exploration_noise=0.6),
    )
