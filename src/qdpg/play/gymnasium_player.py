"""Playing any Gymnasium environment, in this process."""

from __future__ import annotations

import numpy as np

from qdpg.errors import DivergedError
from qdpg.learn.networks import MLP
from qdpg.play.acting import NO_NOISE, Actor, Noise, RollIn, draw_noise
from qdpg.play.gymnasium_envs import Seen, make_environments
from qdpg.play.rollouts import Rollouts, make_rollouts
from qdpg.tasks.gymnasium import GymnasiumTask


class GymnasiumPlayer:
    """Plays a `GymnasiumTask`, all episodes side by side."""

    def __init__(self, task: GymnasiumTask) -> None:
        self.task = task
        self._spec = task.spec
        self._environments = make_environments(task)
        self._action_space = task.action_space

    def play(
        self,
        population: MLP,
        seeds: np.ndarray,
        *,
        noise: Noise = NO_NOISE,
        record: bool = True,
        roll_in: RollIn | None = None,
    ) -> Rollouts:
        """Play one episode per policy; see `Player.play`.

        Raises:
            UserError: The environment raised an error.
            DivergedError: An observation, reward or descriptor is not finite.
        """
        spec, seeds = self._spec, np.asarray(seeds)
        number, horizon = len(seeds), spec.horizon
        actor = Actor(population)
        draws = draw_noise(seeds, noise, horizon, spec.action_size, roll_in)

        lengths = np.full(number, horizon, np.int32)
        terminated = np.zeros(number, bool)
        rewards = np.zeros((number, horizon), np.float32)
        descriptors = np.zeros((number, horizon + 1, spec.descriptor_size), np.float32)
        observations = np.zeros((number, horizon + 1, spec.observation_size), np.float32) if record else None
        actions = np.zeros((number, horizon, spec.action_size), np.float32) if record else None

        alive = np.arange(number)
        seen = self._environments.reset(seeds)
        descriptors[:, 0] = [s.descriptor for s in seen]
        current = self._stack(seen, seeds)  # [live episodes, O]
        if observations is not None:
            observations[:, 0] = current
        for t in range(horizon):
            acting = alive if roll_in is None else roll_in.acting(alive, t)
            action = actor.act(current, acting, None if draws is None else draws[alive, t])
            scaled = self.task.scale(action, self._action_space)
            seen = self._environments.step(alive, scaled)
            current = self._stack(seen, seeds[alive])
            rewards[alive, t] = [s.reward for s in seen]
            descriptors[alive, t + 1] = [s.descriptor for s in seen]
            if observations is not None and actions is not None:
                observations[alive, t + 1] = current
                actions[alive, t] = action
            terminated[alive] = [s.terminated for s in seen]
            ended = np.array([s.terminated or s.truncated for s in seen])
            if roll_in is not None:
                ended |= roll_in.is_over(alive, t)
            if ended.any():
                lengths[alive[ended]] = t + 1
                descriptors[alive[ended], t + 2 :] = descriptors[alive[ended], t + 1, None]
                alive, current = alive[~ended], current[~ended]
                if not alive.size:
                    break
        return make_rollouts(
            spec,
            seeds=seeds,
            noise=noise.sigma,
            lengths=lengths,
            terminated=terminated,
            rewards=rewards,
            descriptors=descriptors,
            observations=observations,
            actions=actions,
        )

    def _stack(self, seen: list[Seen], seeds: np.ndarray) -> np.ndarray:
        """Return the observations, [n, O], which policies are about to see and which must therefore be finite."""
        stacked = np.stack([s.observation for s in seen])
        finite = np.isfinite(stacked).all(axis=1)
        if not finite.all():
            seed = seeds[~finite][0]
            raise DivergedError(f"an observation of {self._spec.name} is not finite (episode with reset seed {seed})")
        return stacked
