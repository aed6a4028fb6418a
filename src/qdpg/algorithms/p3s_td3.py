"""Population-guided parallel policy search (Jung, Park and Sung, ICLR 2020) on TD3.

Learners with actors and critics of their own share one replay memory. All but the best are drawn towards the best
policy, by a weight β that keeps them at a distance: far enough to search another place, near enough to profit.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from qdpg.algorithms.algorithm import Family, Footprint
from qdpg.algorithms.pieces import td3_footprint
from qdpg.algorithms.td3 import TD3, Learner, find_idle, tune
from qdpg.algorithms.td3 import Config as TD3Config
from qdpg.errors import UserError
from qdpg.learn.backprop import forward
from qdpg.learn.networks import MLP, count_parameters
from qdpg.learn.td3 import Actors, Pull
from qdpg.play.rollouts import Rollouts
from qdpg.ranges import Cells, Count, CountOrNone, NotNegative, Positive, Widths
from qdpg.tasks.task import TaskSpec

_RECENT = 10  # episodes of a learner that decide whether it is the best
_WATCHED = 100  # actor steps between two looks at how far apart the policies are
_STATES = 256  # states at which they are compared
_KEY = 1_000  # keeps the draws of these states apart from the learners'


@dataclass(frozen=True)
class Config(TD3Config):
    """Settings of P3S-TD3. Defaults are those of its authors' code (wyjung0625/p3s) unless said otherwise.

    Attributes:
        learners: N, policies with critics of their own.
        start_beta: β at the start.
        rho: How much farther from the best policy than from its own last one a learner is to be.
        least_distance: d_min, the distance to the best policy that is to be kept at least (0.02 or 0.05 in the code).
        cells: Of the archive that keeps the best judged policies by behaviour, as QD-PG's grid has them; it does not
            influence training.
    """

    hidden: Widths = (400, 300)
    batch_size: Count = 100
    actor_rate: NotNegative = 1e-3
    critic_rate: NotNegative = 1e-3
    start_steps: CountOrNone = 1_000
    learners: Count = 4
    start_beta: NotNegative = 1.0
    rho: Positive = 2.0
    least_distance: NotNegative = 0.02
    cells: Cells = (5, 5)


def preset(name: str, task: str, algorithm: str = "p3s-td3") -> Config:
    """The settings of preset `name` for `task`: P3S's own, or those of TD3's `tuned` with P3S's rules.

    Every learner takes a gradient step for every environment step of all, N times the work of TD3; on the ants all of
    them together take as many as TD3 does.
    """
    paper = Config()
    if task != "point-maze":
        paper = replace(paper, cells=(7, 7), start_steps=10_000)
    if name == "paper":
        return paper
    tuned = tune(paper, task)
    if task.startswith("ant-"):
        share = tuned.gradient_steps_ratio / tuned.learners
        return replace(tuned, gradient_steps_ratio=share, exploration_episodes=1)  # of each learner
    return replace(tuned, actor_rate=3e-4)  # as `tune` says: at 10⁻³ actions saturate


class Guide(NamedTuple):
    """What the learners have in common."""

    beta: float
    best: int  # which learner
    policy: MLP  # its policy at the end of the last generation, with a leading axis of one
    returns: np.ndarray  # [N, 10] float64, of each learner's last episodes; NaN before there were so many


class Distances(NamedTuple):
    """Mean over a generation's gradient steps of how far a learner's policy is from others."""

    best: float  # from the best one
    change: float  # from what it was itself when the generation began


def footprint(spec: TaskSpec, config: Config, name: str) -> Footprint:
    """What a run will take, known before anything is allocated."""
    policy = count_parameters(spec.observation_size, *config.hidden, spec.action_size)
    others = policy + 2 * _RECENT * config.learners + 16
    episodes = config.learners * (1 + config.exploration_episodes)
    return td3_footprint(spec, config.hidden, config.replay_size, config.cells, config.learners, episodes, others)


class P3S(TD3):
    """N TD3 learners that follow the best of them at a distance."""

    config: Config

    def __init__(self, spec: TaskSpec, config: Config, seed: int, name: str = "p3s-td3") -> None:
        """Start afresh; see `OffPolicy` for the arguments."""
        if config.learners < 1:
            raise UserError(f"{name} needs at least one learner.")
        super().__init__(spec, config, seed, name, policies=config.learners, cells=config.cells)

    def _init_extra(self, learners: tuple[Learner, ...], key: jax.Array) -> Guide:
        returns = np.full((len(learners), _RECENT), np.nan)
        return Guide(self.config.start_beta, 0, learners[0].actors.online, returns)

    def _improve(
        self, learners: tuple[Learner, ...], key: jax.Array, steps: int, stop: Callable[[], bool]
    ) -> tuple[tuple[Learner, ...], tuple[Distances, ...]]:
        """Improve all learners; they do not see each other meanwhile, so each has a thread of its own."""
        guide: Guide = self._state.extra
        drawn = np.random.default_rng([self.seed, self.generation, _KEY]).choice(self.replay.playable_slots(), _STATES)
        states = self.networks.see(self.replay.rows[drawn])

        def improve_one(i: int) -> tuple[Learner, Distances]:
            before, seen = learners[i].actors.online, []

            def watch(actors: Actors) -> None:
                seen.append([policy_distance(actors.online, other, states) for other in (guide.policy, before)])

            strength = 0.0 if i == guide.best else guide.beta
            pull = Pull(guide.policy, jnp.array([strength], jnp.float32))
            learner = self._climb(
                learners[i], jax.random.fold_in(key, i), steps, stop, pull=pull, watch=watch, chunk=_WATCHED
            )
            return learner, Distances(*np.mean(seen or [[0.0, 0.0]], axis=0).tolist())

        with ThreadPoolExecutor(len(learners)) as pool:
            improved = list(pool.map(improve_one, range(len(learners))))
        return tuple(learner for learner, _ in improved), tuple(distances for _, distances in improved)

    def _remember(
        self, learners: tuple[Learner, ...], notes: tuple[Distances, ...] | None, judged: Rollouts, rollouts: Rollouts
    ) -> tuple[Guide, dict[str, Any]]:
        """Adapt β to the distances of the generation, and find out who is the best now."""
        guide: Guide = self._state.extra
        number, beta = len(learners), guide.beta
        others = [each for i, each in enumerate(notes or ()) if i != guide.best]
        best, change = np.mean(others, axis=0) if others else (np.nan, np.nan)
        if others:
            beta = adapt_beta(beta, best, change, self.config.rho, self.config.least_distance)
        # Before anything is learned, exploration episodes are random and say nothing about their learner.
        own = rollouts.returns if notes is not None else judged.returns
        returns = np.concatenate([guide.returns, own.reshape(-1, number).T], axis=1)[:, -_RECENT:]
        leader = int(np.argmax(np.nanmean(returns, axis=1)))
        told = {"beta": beta, "best_learner": leader, "distance_to_best": best, "distance_changed": change}
        return Guide(beta, leader, learners[leader].actors.online, returns), told


@jax.jit
def policy_distance(policies: MLP, others: MLP, states: jax.Array) -> jax.Array:
    """D: half the mean square of the difference between actions at `states` [m, O], of one policy each (stacked)."""
    first, second = (jnp.clip(forward(each, states).output, -1.0, 1.0) for each in (policies, others))
    return 0.5 * jnp.mean((first - second) ** 2)


def adapt_beta(beta: float, best: float, change: float, rho: float, least: float) -> float:
    """Double β if the learners are too far from the best policy, halve it if they are too near.

    Args:
        beta: As it was.
        best: Mean distance of the other learners to the best policy.
        change: Mean distance of the other learners to what they were before.
        rho: Their wanted ratio.
        least: Distance to the best policy that is wanted in any case.
    """
    best, change = np.clip([best, change], 1e-4, 1e4)
    wanted = max(rho * change, least)
    if best > 1.5 * wanted:
        beta *= 2
    elif best < wanted / 1.5:
        beta /= 2
    return float(np.clip(beta, 1e-3, 1e3))


FAMILY = Family(Config, preset, footprint, P3S, find_idle)
