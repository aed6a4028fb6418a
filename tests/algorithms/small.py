"""Small settings of the baselines, all of the same sizes, so that they share compiled programs; and how to run them."""

from qdpg.algorithms.registry import ALGORITHMS, make_algorithm, make_config
from qdpg.emitters.episodes import join_episodes
from qdpg.tasks.point_maze import PointMaze

TASK = PointMaze(goal=(-0.95, -0.95), horizon=60)  # a goal in the corner, with no wall before it
NAMES = ("td3", "sac", "rnd", "diayn", "p3s-td3", "cem-rl", "pga-me", "dcrl-me")
SMALL = {"hidden": (32, 32), "batch_size": 64, "replay_size": 8000, "actor_rate": 3e-4, "critic_rate": 1e-3}
OWN = {
    "td3": {"start_steps": 400},
    "sac": {"start_steps": 400, "actor_rate": 1e-3},
    "diayn": {"start_steps": 400, "actor_rate": 1e-3, "skills": 4, "skills_at_once": 2},
    "rnd": {"start_steps": 400, "bonus_hidden": (16,), "embedding": 8},
    "p3s-td3": {"start_steps": 400, "learners": 2, "gradient_steps_ratio": 0.5},
    "cem-rl": {"start_steps": 500, "climbers": 2, "population": 6},
    "pga-me": {
        "quality.exploration_episodes": 0,
        "population": 6,
        "initial_policies": 10,
        "critic_steps": 400,
        "cells": (5, 5),
    },
    "dcrl-me": {
        "population": 6,
        "injected": 2,
        "initial_policies": 10,
        "critic_steps": 400,
        "greedy_steps": 100,
        "cells": (5, 5),
        "quality.reward_scale": 0.05,
        "iso_line.iso_sigma": 0.01,
        "iso_line.line_sigma": 0.2,
    },
}


def small_config(name, **changes):
    return make_config(name, "tuned", "point-maze", SMALL | OWN[name] | changes)


def small(name, seed=0, **changes):
    """A small baseline."""
    return make_algorithm(name, TASK.spec, small_config(name, **changes), seed)


def advance(algorithm, player, generations=1):
    for _ in range(generations):
        generation = algorithm.ask()
        told = algorithm.tell(generation, generation.play(player))
    return generation, told


def all_episodes(generation):
    """What a generation plays: candidates first, then exploration episodes."""
    exploration = generation.exploration
    return generation.candidates if exploration is None else join_episodes(generation.candidates, exploration)


def foresee(name, config, spec):
    return ALGORITHMS[name].family.footprint(spec, config, name)
