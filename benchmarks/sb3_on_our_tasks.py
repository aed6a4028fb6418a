"""A peer on our tasks: Stable-Baselines3's TD3, unchanged, trained for a little while on each registered environment.

It shows that the environments serve other people's algorithms, and how fast those run here. A few thousand steps are
not a result. Needs the extra `bench`: `python benchmarks/sb3_on_our_tasks.py [--steps 3000]`.
"""

from __future__ import annotations

import argparse
import time

import gymnasium
import numpy as np
from stable_baselines3 import TD3
from stable_baselines3.common.env_checker import check_env

from qdpg.registration import ENVS


def train(env_id: str, steps: int) -> str:
    env = gymnasium.make(env_id)
    check_env(env.unwrapped)
    model = TD3("MlpPolicy", env, learning_starts=min(500, steps // 2), seed=0, device="cpu")
    start = time.perf_counter()
    model.learn(steps)
    seconds = time.perf_counter() - start
    returns = [episode["r"] for episode in model.ep_info_buffer]
    ended = f"mean return {np.mean(returns):.1f} over {len(returns)} episodes" if returns else "no episode ended"
    return f"{env_id}: {steps:,} steps in {seconds:.1f} s ({steps / seconds:.0f} per second), {ended}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=3_000, help="environment steps per environment")
    steps = parser.parse_args().steps
    for env_id in ENVS:
        print(train(env_id, steps), flush=True)


if __name__ == "__main__":
    main()
