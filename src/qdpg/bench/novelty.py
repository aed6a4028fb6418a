"""What it costs to bring the diversity rewards of a whole replay memory up to date."""

from __future__ import annotations

import numpy as np

from qdpg.bench.engine import WORKLOADS, fill_replay, make_ours
from qdpg.bench.timing import time_alternating
from qdpg.memory.visited import Visited

TRANSITIONS, STATES = 500_000, 10_000
_GENERATION = 3000  # gradient steps of an ant-maze generation: ten episodes of 3000 steps, one tenth of a step for each


def measure_novelty(turns: int = 5) -> dict[str, dict[str, float]]:
    """Measure a full refresh, and compare it with the gradient steps of an ant generation (physics comes on top)."""
    rng = np.random.default_rng(0)
    visited = Visited(2, STATES, threshold=0.0, neighbours=10)
    visited.set(rng.uniform(-30, 40, (STATES, 2)).astype(np.float32))
    descriptors = rng.uniform(-30, 40, (TRANSITIONS, 2)).astype(np.float32)
    workload = WORKLOADS["ant29"]
    engine = make_ours(workload, fill_replay(workload))
    best = time_alternating({"refresh": lambda: visited.novelty(descriptors), "engine": engine}, turns)
    generation = best["engine"] / workload.steps * _GENERATION
    return {
        "ant-maze": {
            "refresh_seconds": best["refresh"],
            "transitions_per_s": TRANSITIONS / best["refresh"],
            "generation_seconds": generation,
            "fraction_of_generation": best["refresh"] / generation,
        }
    }
