"""How much results differ on other processors: the same episodes, compiled for other instruction sets.

    python benchmarks/other_processors.py

Compilers choose instructions by what the processor has; some of them, such as fused multiply-add, round differently.
Here XLA, Numba and NumPy are told to do without, each in a process of its own, and what they compute is compared with
what this processor gives by default: whole episodes of the built-in tasks. What becomes of learning, the digests show:
`python tests/algorithms/golden.py --check` with the same environment variables.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

FORCED = {
    "as it is": {},
    "AVX": {"XLA_FLAGS": "--xla_cpu_max_isa=AVX", "NUMBA_CPU_NAME": "sandybridge"},
    "SSE4.2": {"XLA_FLAGS": "--xla_cpu_max_isa=SSE4_2", "NUMBA_CPU_NAME": "nehalem"},
    "generic": {"XLA_FLAGS": "--xla_cpu_max_isa=SSE4_2", "NUMBA_CPU_NAME": "generic"},
}
TASKS = {"point-maze": 200, "ant-trap": 1000, "ant-maze": 3000}
LOOKS = (1, 10, 100, 1000, 3000)  # steps after which states are compared


def compute(path: Path) -> None:
    """Play, and write what came of it."""
    import jax

    from qdpg.learn.networks import init_population
    from qdpg.play import make_player
    from qdpg.tasks import make_task

    found = {}
    for name, horizon in TASKS.items():
        task = make_task(name)
        sizes = (task.spec.observation_size, 64, 32, task.spec.action_size)
        population = jax.tree.map(np.asarray, init_population(jax.random.key(0), 4, sizes))
        played = make_player(task).play(population, np.arange(4))
        for step in LOOKS:
            if step <= horizon:
                found[f"{name}: state after {step:,} steps"] = played.descriptors[:, min(step, played.rewards.shape[1])]
        found[f"{name}: fitness"] = played.fitness
    np.savez(path, **found)  # type: ignore[arg-type]


def main() -> None:
    results = {}
    with tempfile.TemporaryDirectory() as directory:
        for number, (label, environment) in enumerate(FORCED.items()):
            path = Path(directory) / f"{number}.npz"
            # Compiled programs are not to be taken from a cache that another processor filled.
            environment = (
                os.environ | environment | {"XDG_CACHE_HOME": directory, "NUMBA_CACHE_DIR": f"{directory}/{number}"}
            )
            ended = subprocess.run([sys.executable, __file__, str(path)], env=environment, check=False)
            if ended.returncode == 0:
                results[label] = dict(np.load(path))
            else:
                print(f"{label}: exit code {ended.returncode}", file=sys.stderr)
    usual = results.pop("as it is")
    print("| largest difference in | " + " | ".join(results) + " |\n|---|" + "---|" * len(results))
    for name, values in usual.items():
        differences = [np.abs(other[name].astype(np.float64) - values).max() for other in results.values()]
        print(f"| {name} | " + " | ".join("0" if d == 0 else f"{d:.1e}" for d in differences) + " |")


if __name__ == "__main__":
    compute(Path(sys.argv[1])) if len(sys.argv) > 1 else main()
