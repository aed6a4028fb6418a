"""The presets of QD-PG and its ablations for the paper's tasks; docs/qd-pg.md says why."""

from __future__ import annotations

from dataclasses import asdict, fields, replace
from typing import Any

from qdpg.algorithms.qd_pg_settings import CONFIGS, SPAN, Config
from qdpg.emitters.iso_line import IsoLineShare
from qdpg.emitters.objective import Objective, SumObjective
from qdpg.memory.reevaluated import ArchiveSettings


def preset(name: str, task: str, algorithm: str = "qd-pg") -> Any:
    """The settings of preset `name` for `task`.

    "paper" is Table 3 as printed, for an unknown task that of the ants. "tuned" departs from it, for an unknown task by
    Adam only; docs/qd-pg.md says how and why. Ablations have the settings of QD-PG and differ in their objectives only.
    """
    full = paper(task)
    if name == "tuned":
        full = {"point-maze": tune_point_maze, "ant-trap": tune_ant_trap, "ant-maze": tune_ant_maze}.get(
            task, lambda config: config
        )(replace(full, optimiser="adam"))
    return ablate(full, algorithm)


def ablate(config: Config, algorithm: str) -> Any:
    """The settings of an ablation: those of QD-PG, with its own objective."""
    kind = CONFIGS[algorithm]
    known = {each.name: getattr(config, each.name, None) for each in fields(kind)}
    return kind(**known | ({"sum": add_up(config.diversity, config.quality)} if "sum" in known else {}))


def add_up(diversity: Objective, quality: Objective) -> SumObjective:
    """The objective of SUM, with quality's settings: its reward is the sum of what the critics of both would see."""
    weight = diversity.reward_scale / quality.reward_scale
    return SumObjective(**asdict(quality), novelty_weight=weight, novelty_shaped=diversity.shaped)


def paper(task: str) -> Config:
    """Table 3 as printed."""
    if task == "point-maze":
        return Config(optimiser="sgd", actor_rate=6e-3, critic_rate=6e-3)
    return Config(
        optimiser="sgd",
        population=10,
        hidden=(256, 256),
        replay_size=500_000,
        gradient_steps_ratio=0.1,
        cells=(7, 7),
        visited_threshold=0.1 / SPAN.get(task, SPAN["ant-trap"]),
    )


def tune_point_maze(config: Config) -> Config:
    """Smaller minibatches and fewer gradient steps; rewards that make values of the order of one; exploration."""
    return replace(
        config,
        actor_rate=1e-3,
        critic_rate=1e-3,
        batch_size=100,
        gradient_steps_ratio=1.5,
        softness=0.01,
        visited_threshold=0.005,
        output="linear",
        population=8,
        iso_line=IsoLineShare(share=0.5, iso_sigma=0.01, line_sigma=0.0, selection_pressure=5.0),
        archive=ArchiveSettings(reevaluations=0.25),
        noise_correlation=0.9,
        initial_policies=20,
        replay_size=250_000,
        diversity=Objective(exploration_episodes=1, exploration_noise=0.8),
        quality=Objective(
            reward_scale=0.05,
            action_bound=3.0,
            selection_pressure=5.0,
            rate_range=2.0,
            exploration_episodes=1,
            exploration_noise=0.6,
        ),
    )


def tune_ant_trap(config: Config) -> Config:
    """Critics of novelty as the paper has them, with what helps any ant to walk; chosen on seed 0."""
    return replace(
        config,
        hidden=(128, 128),
        batch_size=128,
        actor_rate=1e-3,
        critic_rate=1e-3,
        critic_hidden="normed",
        scaled=True,
        output="linear",
        population=12,
        iso_line=IsoLineShare(share=1 / 3, selection_pressure=3.0),
        gradient_steps_ratio=0.7,
        stored_steps=200,
        greedy_steps=150,
        roll_in_steps=200,
        noise_correlation=0.9,
        visited_threshold=1 / SPAN["ant-trap"],
        neighbours=30,
        cells=(15, 8),
        initial_policies=20,
        diversity=Objective(
            discount=0.997,
            reward_scale=20.0,
            shaped=True,
            action_bound=0.5,
            rate_range=2.0,
            exploration_episodes=5,
            exploration_noise=0.2,
        ),
        quality=Objective(
            discount=0.997,
            reward_scale=0.05,
            reward_offset=0.75,
            action_bound=0.5,
            rate_range=2.0,
            selection_pressure=3.0,
            exploration_episodes=8,
            exploration_noise=0.2,
        ),
    )


def tune_ant_maze(config: Config) -> Config:
    """The same for a heavy ant, which needs all its strength, in a large place."""
    trap = tune_ant_trap(config)
    bolder: dict[str, Any] = {"action_bound": 1.0, "exploration_noise": 0.7, "exploration_episodes": 6}
    return replace(
        trap,
        roll_in_steps=300,
        visited_threshold=4 / SPAN["ant-maze"],
        cells=(14, 14),
        initial_policies=4,
        diversity=replace(trap.diversity, **bolder),
        quality=replace(trap.quality, **bolder, discount=0.99, reward_scale=5.0, reward_offset=0.0, shaped=True),
    )
