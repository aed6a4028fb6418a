"""Adversarially Guided Actor-Critic (Flet-Berliac et al., ICLR 2021): PPO with an adversary that predicts the policy.

A generation: the policy plays one episode without noise, by which it is judged, and some with its own noise, which it
learns from. Actions that the adversary did not expect count as better than they were, and the adversary learns to
expect them. With `bonus=0` this is PPO.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, NamedTuple

import jax
import numpy as np

from qdpg.algorithms.algorithm import Clock, Counted, Family, Footprint, Generation
from qdpg.algorithms.pieces import check_finite, draw_seeds, generation_key, pack_state, unpack_state
from qdpg.emitters.episodes import make_episodes
from qdpg.errors import UserError
from qdpg.learn.adversary import Adversary, imitate, init_adversary, surprise
from qdpg.learn.networks import MLP, count_parameters, init_mlp, repeat_policies
from qdpg.learn.normaliser import ObservationStats, fold, no_stats
from qdpg.learn.ppo import Learner, PPOSettings, draw_order, improve, init_learner, make_experience, standardise
from qdpg.memory.elites import Elites
from qdpg.play.acting import Noise, draw_noise
from qdpg.play.rollouts import Rollouts
from qdpg.ranges import Count, NotNegative, Positive, Widths
from qdpg.tasks.task import TaskSpec


@dataclass(frozen=True)
class Config(PPOSettings):
    """Settings of AGAC. Defaults, and those of PPO, are the point-maze configuration of the authors' PyTorch port
    (yfletberliac/adversarially-guided-actor-critic, `agac_torch/configs/point_maze.yaml`) unless said otherwise.

    Attributes:
        hidden: Hidden layers of policy and critic.
        adversary_hidden: Hidden layers of the adversary.
        adversary_input: What it sees: the policy's observation (as there), or the state descriptor only.
        episodes: With noise, per generation (5 of 200 steps are its 1,000 steps per update).
        start_deviation: Of the policy's actions, and of the adversary's (e^-0.5 in its code).
        action_scale: Factor from the policy's actions to those that are clipped to [-1, 1]: 10 if it acts in units of
            which 0.1 is the largest action, as there.
        bonus: c at the start, the weight of the adversary's surprise in advantages and values.
        bonus_steps: Environment steps in which c falls to zero, linearly.
        adversary_rate: Its learning rate; 0.3 times the policy's. (The port passes the policy's own, by mistake.)
        adversary_weight: Factor on its loss.
        normalise: Whether all networks see normalised observations.
        reward_scale: Factor on the environment's reward (fitness is untouched).
    """  # noqa: D205

    hidden: Widths = (64, 64)
    adversary_hidden: Widths = (64, 64)
    adversary_input: Literal["observation", "descriptor"] = "observation"
    episodes: Count = 5
    start_deviation: Positive = 0.6065306597126334  # e^-0.5
    action_scale: Positive = 10.0
    bonus: NotNegative = 4e-4
    bonus_steps: Count = 2_000_000
    adversary_rate: NotNegative = 9e-5
    adversary_weight: NotNegative = 4e-5
    normalise: bool = False
    reward_scale: NotNegative = 1.0


def preset(name: str, task: str, algorithm: str = "agac") -> Config:
    """The settings of preset `name` for `task`.

    "paper" is the port's for point-maze. For other tasks nothing is published: actions have the task's own scale,
    observations are normalised, and there are two episodes per update. "tuned" takes larger updates of fewer epochs,
    for two cores, and gives the adversary a say: the published weights are small beside rewards of the order of one.
    """
    paper = Config()
    if task != "point-maze":
        paper = replace(paper, action_scale=1.0, normalise=True, episodes=2)
    if name == "paper":
        return paper
    tuned = replace(paper, epochs=10, episodes=10, bonus=0.1, adversary_weight=1.0)
    return tuned if task == "point-maze" else replace(tuned, episodes=4, reward_scale=0.1, actor_rate=1e-3)


class State(NamedTuple):
    """All that is remembered besides the best policy."""

    generation: int
    steps: int
    learner: Learner
    adversary: Adversary
    observed: ObservationStats


def footprint(spec: TaskSpec, config: Config, name: str) -> Footprint:
    """What a run will take, known before anything is allocated."""
    seen = spec.observation_size if config.adversary_input == "observation" else spec.descriptor_size
    policy = count_parameters(spec.observation_size, *config.hidden, spec.action_size)
    critic = count_parameters(spec.observation_size, *config.hidden, 1)
    adversary = count_parameters(seen, *config.adversary_hidden, spec.action_size)
    # Each network and two moments of Adam; the elite is a policy, too.
    own = 3 * (policy + critic + adversary + 2 * spec.action_size) + policy + 4 * spec.observation_size
    state = 4 * (own + spec.descriptor_size) + 1024
    # A transition is held by the player, as it was and as experience, and what networks compute of it on the way.
    numbers = 6 * spec.observation_size + 10 * spec.action_size + 2 * max(*config.hidden, seen, 1) + 32
    rows = (1 + config.episodes) * (spec.horizon + 1)
    return Footprint(memory=3 * state + 4 * rows * numbers, checkpoint=state, replay=0)


class AGAC(Counted):
    """PPO, and the adversary beside it."""

    def __init__(self, spec: TaskSpec, config: Config, seed: int, name: str = "agac") -> None:
        """Start with fresh networks.

        Args:
            spec: The task.
            config: Settings.
            seed: What all random draws come from.
            name: What it is called.
        """
        if min(config.episodes, config.epochs, config.batch_size, config.bonus_steps) < 1:
            raise UserError(f"{name} needs episodes, epochs, batch_size and bonus_steps of at least 1.")
        if min(config.start_deviation, config.action_scale, config.gradient_clip) <= 0:
            raise UserError(f"{name} needs a start_deviation, an action_scale and a gradient_clip above 0.")
        self.spec, self.config, self.seed, self.name = spec, config, seed, name
        self.replay, self.clock = None, Clock()
        # What is compiled depends on these settings, and not on the rest.
        self._ppo = PPOSettings(**{field.name: getattr(config, field.name) for field in fields(PPOSettings)})
        sizes = (spec.observation_size, *config.hidden, spec.action_size)
        self.elites = Elites(spec, init_mlp(jax.random.key(0), sizes, output="linear"), (1,) * spec.descriptor_size)
        seen = spec.observation_size if config.adversary_input == "observation" else spec.descriptor_size
        rival = (seen, *config.adversary_hidden, spec.action_size)
        start = generation_key(seed, -1)
        self._state = State(
            0,
            0,
            init_learner(jax.random.fold_in(start, 0), sizes, config.start_deviation, config),
            init_adversary(jax.random.fold_in(start, 1), rival, config.start_deviation, **self._adversary_steps),
            no_stats(spec.observation_size),
        )

    def ask(self, stop: Callable[[], bool] = lambda: False) -> Generation:
        """Propose the policy, once to be judged without noise, and with its noise to learn from."""
        config, policy = self.config, self._state.learner.policy
        rng = np.random.default_rng([self.seed, self.generation])
        plain = self._plain(policy.mean)
        check_finite(self.generation, plain, {"value": self._state.learner.critic})
        sigma = np.tile(np.float32(config.action_scale) * np.exp(np.asarray(policy.log_std)), (config.episodes, 1))
        seeds = draw_seeds(rng, 1 + config.episodes)
        judged = make_episodes(plain, seeds[:1], np.zeros_like(sigma[:1]))
        return Generation(judged, make_episodes(repeat_policies(plain, config.episodes), seeds[1:], sigma))

    def tell(self, generation: Generation, rollouts: Rollouts) -> dict[str, Any]:
        """Keep the policy if it is the best so far; learn from the episodes with noise."""
        state, config = self._state, self.config
        judged, explored = generation.split(rollouts)
        self.elites.add(generation.candidates.policies, judged, self.generation)
        with self.clock.time("gradients"):
            learner, adversary, told = self._learn(explored)
        assert explored.observations is not None
        seen = explored.observations[:, :-1][explored.played()]
        self._state = State(
            state.generation + 1,
            state.steps + rollouts.steps,
            learner,
            adversary,
            state.observed.add(seen) if config.normalise else state.observed,
        )
        return {"judged_fitness": judged.fitness[0], "exploration_median": np.median(explored.fitness), **told}

    def state(self) -> dict[str, np.ndarray]:
        """Everything."""
        return pack_state(self._state, self.elites)

    def load(self, state: dict[str, np.ndarray]) -> None:
        """Take up a state that `state()` returned."""
        self._state = unpack_state(state, self._state, self.elites)

    def _learn(self, explored: Rollouts) -> tuple[Learner, Adversary, dict[str, Any]]:
        """PPO's update with the adversary's surprise, then the adversary's own."""
        config, (_, steps, learner, adversary, observed) = self.config, self._state
        missing = ((0, 0), (0, self.spec.horizon - explored.rewards.shape[1]))  # compiled programs want one shape
        mean, std = observed.moments()
        observations = np.pad((explored.observations - mean) / std, (*missing, (0, 0)))
        # Actions are known exactly, clipped or not: each is its mean and a draw of the episode's seed.
        draws = draw_noise(explored.seeds, Noise(1.0), self.spec.horizon, self.spec.action_size)
        rewards = np.pad(np.float32(config.reward_scale) * explored.rewards, missing)
        experience = make_experience(
            learner, observations, draws, rewards, explored.lengths, explored.terminated, settings=self._ppo
        )
        log_std = learner.policy.log_std
        inputs = self._adversary_inputs(explored, observations)
        surprised = surprise(adversary, experience, log_std, inputs)

        rows = np.flatnonzero(np.pad(explored.played(), missing))
        weight = np.float32(config.bonus * max(0.0, 1.0 - steps / config.bonus_steps))
        advantages = np.asarray(experience.advantages) + weight * np.asarray(surprised.excess)
        goals = np.asarray(experience.goals) + weight * np.asarray(surprised.divergence)
        lesson = experience._replace(advantages=standardise(advantages, rows), goals=goals)

        rng = np.random.default_rng([self.seed, self.generation, 1])
        order, count = draw_order(rng, rows, rewards.size, config)
        improved = improve(learner, lesson, order, count, settings=self._ppo)
        adversary = imitate(
            adversary,
            experience.means,
            log_std,
            inputs,
            order,
            count,
            weight=config.adversary_weight,
            **self._adversary_steps,
        )
        told = {
            "bonus": float(weight),
            "divergence": float(np.asarray(surprised.divergence)[rows].mean()),
            "deviation": float(np.exp(log_std).mean()) * config.action_scale,
            "value_error": float(np.sqrt(np.square(np.asarray(experience.advantages)[rows]).mean())),
        }
        return improved, adversary, told

    @property
    def _adversary_steps(self) -> dict[str, float]:
        """How the adversary takes its steps."""
        return {"rate": self.config.adversary_rate, "gradient_clip": self.config.gradient_clip}

    def _adversary_inputs(self, explored: Rollouts, observations: np.ndarray) -> np.ndarray:
        """What the adversary sees, [M, I]; descriptors are brought to [-1, 1]."""
        if self.config.adversary_input == "observation":
            return observations[:, :-1].reshape(-1, observations.shape[2])
        low, high = (np.array(bound, np.float32) for bound in (self.spec.descriptor_low, self.spec.descriptor_high))
        scaled = (explored.descriptors[:, :-1] - (low + high) / 2) / ((high - low) / 2)
        missing = self.spec.horizon - scaled.shape[1]
        return np.pad(scaled, ((0, 0), (0, missing), (0, 0))).reshape(-1, scaled.shape[2])

    def _plain(self, mean: MLP) -> MLP:
        """The mean as a policy on plain observations that acts in [-1, 1], with a leading axis of one."""
        policy = fold(jax.tree.map(lambda leaf: np.asarray(leaf)[None], mean), self._state.observed)
        scale = np.float32(self.config.action_scale)
        return MLP(
            (*policy.weights[:-1], scale * policy.weights[-1]),
            (*policy.biases[:-1], scale * policy.biases[-1]),
            policy.hidden,
            policy.output,
        )


FAMILY = Family(Config, preset, footprint, AGAC)
