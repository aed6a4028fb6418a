"""Our TD3 and SAC next to Stable-Baselines3's, with the same settings, numbers of steps and updates, and seeds.

    python benchmarks/against_sb3.py --task gym:Pendulum-v1 --steps 10000 --seeds 3

Prints one Markdown table, then one line of JSON; progress goes to stderr. Needs the extra `bench`.

Stable-Baselines3 updates after every step; we play whole episodes and then take as many updates as steps were played.
So steps are rounded up to whole generations, for both, and Stable-Baselines3 starts to learn when that gives it as many
updates. Of our episodes, one in 1 + `exploration_episodes` is played without exploration noise and counts all the same.
Before learning starts, we draw normal actions, Stable-Baselines3 uniform ones. Contestants take turns, in the other
direction with every other seed. Seconds are those of training, compilation and our run directory included; ours
compiles once per process. That the numbers are equal is certain only where episodes end by the time limit alone.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np

from qdpg.algorithms.registry import ALGORITHMS, config_to_json, make_config
from qdpg.errors import UserError
from qdpg.learn.networks import repeat_policies
from qdpg.play.player import make_player
from qdpg.runs.display import ProgressDisplay
from qdpg.runs.run import RunConfig, create_run
from qdpg.runs.train import Trainer
from qdpg.tasks.registry import make_task

KNOWN = ("td3", "sac")
# One policy is trained, so any descriptor will do.
OPTIONS: dict[str, Any] = {"descriptor": (0,), "low": (-1.0,), "high": (1.0,)}
_EVALUATION = 10**6  # added to the seeds of evaluation episodes, which training does not use


@dataclass(frozen=True)
class Plan:
    """What both sides are given."""

    task: str
    steps: int
    start: int  # steps at random before learning
    rate: float
    batch_size: int
    hidden: tuple[int, ...]
    discount: float
    softness: float
    noise: float  # σ of TD3's exploration, in units of the largest action
    exploration_episodes: int
    episodes: int  # of the evaluation

    @property
    def generation(self) -> int:
        """Environment steps that we play between updates."""
        return (1 + self.exploration_episodes) * make_task(self.task, **OPTIONS).spec.horizon

    def whole(self, steps: int) -> int:
        """`steps` rounded up to whole generations."""
        return -(-steps // self.generation) * self.generation


class Outcome(NamedTuple):
    """What one training gave."""

    returns: float  # mean over the evaluation's episodes
    seconds: float
    steps: int
    updates: int


def train_ours(algorithm: str, plan: Plan, seed: int) -> Outcome:
    """One ordinary run of the library, with overridden settings; its latest policy is evaluated."""
    settings: dict[str, Any] = {
        "hidden": plan.hidden,
        "batch_size": plan.batch_size,
        "actor_rate": plan.rate,
        "critic_rate": plan.rate,
        "discount": plan.discount,
        "softness": plan.softness,
        "start_steps": plan.start,
        "replay_size": plan.whole(plan.steps),
        "gradient_steps_ratio": 1.0,
        "exploration_episodes": plan.exploration_episodes,
    }
    settings |= {"exploration_noise": plan.noise} if algorithm == "td3" else {"temperature_rate": plan.rate}
    config = config_to_json(make_config(algorithm, "paper", plan.task, settings))
    with tempfile.TemporaryDirectory() as folder, ProgressDisplay("", plan.steps, quiet=True) as display:
        began = time.perf_counter()
        run = create_run(
            Path(folder) / "run", RunConfig(plan.task, OPTIONS, algorithm, "paper", config, seed, plan.steps)
        )
        trainer = Trainer(run, display, checkpoint_seconds=float("inf"))
        trainer.train()
        latest = trainer.algorithm.ask().candidates.policies  # with the updates that belong to the last episodes
        seconds = time.perf_counter() - began
        told = np.asarray(run.metrics()["steps"], int)
    updates = int(np.diff(told, prepend=0)[told >= plan.start].sum())
    policies = repeat_policies(latest, plan.episodes)
    played = make_player(trainer.task).play(policies, _EVALUATION + np.arange(plan.episodes), record=False)
    return Outcome(float(played.returns.mean()), seconds, int(told[-1]), updates)


def train_theirs(algorithm: str, plan: Plan, seed: int) -> Outcome:
    """The same with Stable-Baselines3, whose last policy is evaluated."""
    from stable_baselines3 import SAC, TD3
    from stable_baselines3.common.noise import NormalActionNoise

    env_id = plan.task.removeprefix("gym:")
    env, evaluation = gymnasium.make(env_id), gymnasium.make(env_id)
    actions = env.action_space.shape or (1,)
    own: dict[str, Any] = (
        {"action_noise": NormalActionNoise(np.zeros(actions), np.full(actions, plan.noise))}
        if algorithm == "td3"
        else {"ent_coef": "auto"}  # starts at 1 and wants an entropy of -1 per action, as ours
    )
    steps = plan.whole(plan.steps)
    began = time.perf_counter()
    model = (TD3 if algorithm == "td3" else SAC)(
        "MlpPolicy",
        env,
        learning_rate=plan.rate,
        buffer_size=steps,
        learning_starts=plan.whole(max(plan.start, 1)) - plan.generation,
        batch_size=plan.batch_size,
        tau=plan.softness,
        gamma=plan.discount,
        policy_kwargs={"net_arch": list(plan.hidden)},
        seed=seed,
        device="cpu",
        **own,
    )
    model.learn(steps)
    seconds = time.perf_counter() - began
    returns = []
    for episode in range(plan.episodes):
        observation, _ = evaluation.reset(seed=_EVALUATION + episode)
        total, is_over = 0.0, False
        while not is_over:
            action, _ = model.predict(observation, deterministic=True)
            observation, reward, terminated, truncated, _ = evaluation.step(action)
            total, is_over = total + float(reward), terminated or truncated
        returns.append(total)
    return Outcome(float(np.mean(returns)), seconds, int(model.num_timesteps), int(model._n_updates))


def compare(algorithms: Sequence[str], plan: Plan, seeds: int) -> dict[str, list[Outcome]]:
    """Train all contestants with all seeds, taking turns."""
    contestants = {
        f"{side} {algorithm}": (train, algorithm)
        for algorithm in algorithms
        for side, train in (("qdpg", train_ours), ("sb3", train_theirs))
    }
    results: dict[str, list[Outcome]] = {name: [] for name in contestants}
    for seed in range(seeds):
        for name in list(contestants)[:: -1 if seed % 2 else 1]:
            train, algorithm = contestants[name]
            results[name].append(train(algorithm, plan, seed))
            print(f"{name}, seed {seed}: {results[name][-1]}", file=sys.stderr, flush=True)
    return results


def in_markdown(results: dict[str, list[Outcome]]) -> str:
    """One row per contestant."""
    lines = ["| | return per seed | median | seconds per seed | steps | updates |", "|---|---|---|---|---|---|"]
    for name, outcomes in results.items():
        returns = ", ".join(f"{outcome.returns:.1f}" for outcome in outcomes)
        seconds = ", ".join(f"{outcome.seconds:.0f}" for outcome in outcomes)
        median = np.median([outcome.returns for outcome in outcomes])
        steps, updates = (", ".join(sorted({f"{o[i]:,}" for o in outcomes})) for i in (2, 3))
        lines.append(f"| {name} | {returns} | {median:.1f} | {seconds} | {steps} | {updates} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="gym:Pendulum-v1", help="a Gymnasium environment, gym:ENV_ID")
    parser.add_argument("--algorithms", nargs="+", choices=KNOWN, default=[n for n in KNOWN if n in ALGORITHMS])
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--seeds", type=int, default=3, help="how many, from 0")
    parser.add_argument("--start", type=int, default=1_000, help="steps at random before learning")
    parser.add_argument("--rate", type=float, default=1e-3, help="all learning rates")
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--hidden", type=int, nargs="+", default=[256, 256])
    parser.add_argument("--discount", type=float, default=0.99)
    parser.add_argument("--softness", type=float, default=0.005)
    parser.add_argument("--noise", type=float, default=0.1, help="exploration of TD3")
    parser.add_argument(
        "--exploration-episodes", type=int, default=1, help="our episodes with noise per episode without"
    )
    parser.add_argument("--episodes", type=int, default=20, help="of the evaluation, without noise")
    options = vars(parser.parse_args())
    algorithms, seeds = options.pop("algorithms"), options.pop("seeds")
    plan = Plan(**options | {"hidden": tuple(options["hidden"])})
    try:
        if not plan.task.startswith("gym:"):
            raise UserError(f"--task is {plan.task}, but Stable-Baselines3 needs a Gymnasium environment, gym:ENV_ID.")
        if min(plan.steps, seeds, plan.exploration_episodes, plan.episodes) < 1:
            raise UserError("--steps, --seeds, --exploration-episodes and --episodes must be at least 1.")
        results = compare(algorithms, plan, seeds)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(in_markdown(results))
    outcomes = {name: [outcome._asdict() for outcome in found] for name, found in results.items()}
    print(json.dumps({"plan": asdict(plan), "results": outcomes}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
