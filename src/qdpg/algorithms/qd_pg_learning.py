"""How QD-PG learns: for each objective critics that all share, a greedy actor perhaps, and copies that climb them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from qdpg.algorithms.pieces import climb, generation_key, join_policies, td3_settings
from qdpg.algorithms.qd_pg_settings import Config
from qdpg.algorithms.qd_pg_steering import Steerer
from qdpg.learn.networks import MLP, add_inputs, init_population, scale_inputs
from qdpg.learn.td3 import Actors, Critics, TD3Settings, init_actors, init_critics
from qdpg.memory.replay import ReplayView
from qdpg.tasks.task import TaskSpec


class Learner(NamedTuple):
    """What belongs to one objective: the critics the population shares and, if there is one, their greedy actor."""

    critics: Critics
    greedy: Actors | None


class Improver:
    """Improves policies for each objective. Networks that learn see scaled observations, those that play do not."""

    def __init__(
        self, spec: TaskSpec, config: Config, objectives: dict[str, tuple[float, float]], steerer: Steerer
    ) -> None:
        """Remember what there is to improve.

        Args:
            spec: The task.
            config: Settings.
            objectives: Weights of the environment's reward and of the novelty, by objective.
            steerer: What steers the greedy policy for diversity, if the settings say that it is steered.
        """
        self.spec, self.config, self.objectives, self.steerer = spec, config, objectives, steerer
        self.scale = steerer.scale
        self.sizes = (len(self.scale), *config.hidden, spec.action_size)  # of policies that learn

    def init_learners(self, seed: int) -> dict[str, Learner]:
        """Fresh critics and greedy actors, by objective."""
        learners = {}
        for index, objective in enumerate(self.objectives):
            key = jax.random.fold_in(generation_key(seed, -1), index)
            settings = self.settings(objective)
            told = self.spec.descriptor_size if self.knows_directions(objective) else 0
            seen, *others = self.sizes
            sizes = (seen + told + self.spec.action_size, *self.config.hidden, 1)
            greedy = None
            if self.config.greedy_actor:
                first = init_population(
                    jax.random.fold_in(key, 1), 1, (seen + told, *others), output=self.config.output
                )
                greedy = init_actors(first, settings)
            learners[objective] = Learner(init_critics(key, sizes, settings), greedy)
        return learners

    def knows_directions(self, objective: str) -> bool:
        """Whether the greedy policy for `objective` is told where to go."""
        return self.config.steered > 0 and objective == "diversity"

    def copy(self, objective: str, policies: MLP, rates: np.ndarray | None) -> Actors:
        """Make copies of policies that play, ready to be improved for `objective` at these rates, [N]."""
        return init_actors(scale_inputs(policies, self.scale), self.settings(objective), rates)

    def for_play(self, policies: MLP) -> MLP:
        """Policies for observations as they are, of policies for scaled ones."""
        return add_inputs(scale_inputs(policies, 1.0 / self.scale), self.spec.observation_size)

    def steer(self, learner: Learner, steerings: np.ndarray) -> MLP:
        """The greedy policy for diversity with each of the steerings, for play."""
        assert learner.greedy is not None
        return self.for_play(self.steerer.steer(learner.greedy.online, steerings))

    def told(self, learner: Learner, number: int) -> np.ndarray:
        """How directions enter the greedy policy for diversity, `number` times, [number, D·W]."""
        assert learner.greedy is not None
        return self.steerer.told(learner.greedy.online, number)

    def improve(
        self,
        learners: dict[str, Learner],
        selected: dict[str, Actors],
        view: ReplayView,
        key: jax.Array,
        steps: int,
        stop: Callable[[], bool],
        steerings: np.ndarray,
    ) -> tuple[list[MLP], dict[str, Learner]]:
        """Let critics and greedy actors learn, and improve those `selected` for each objective.

        Args:
            learners: What has been learned so far, by objective.
            selected: Copies to be improved, by objective.
            view: The transitions to learn from.
            key: What minibatches and noise come from.
            steps: Gradient steps of the critics, and of whatever policies train them.
            stop: Asked now and then.
            steerings: What the greedy policy for diversity is told, [k, S], if it is told anything.

        Returns:
            For each objective its policies, for play, greedy ones first; and what has been learned.

        Raises:
            Stopped: `stop()` became true.
        """
        # Objectives do not see each other while they learn, so each has a thread of its own.
        with ThreadPoolExecutor(len(selected)) as pool:
            improving = {
                objective: pool.submit(
                    self._improve,
                    learners[objective],
                    actors,
                    objective,
                    view,
                    jax.random.fold_in(key, i),
                    steps,
                    stop,
                    steerings,
                )
                for i, (objective, actors) in enumerate(selected.items())
            }
        improved = {objective: improvement.result() for objective, improvement in improving.items()}
        return [policies for policies, _ in improved.values()], {name: each for name, (_, each) in improved.items()}

    def settings(self, objective: str, learns: bool = True) -> TD3Settings:
        """What improves `objective`, whether its critics learn or stand still."""
        config = self.config
        if objective == "diversity":
            changes: dict[str, Any] = {"discount": config.diversity_discount, "reach": config.diversity_reach}
        else:
            changes = {"reach": config.quality_reach}
        if self.knows_directions(objective):
            drawn = "pointing" if config.pointing else "drawn"
            changes["directions"] = drawn if learns else "novel"
            changes["quarter_turn"] = self.spec.quarter_turn if config.symmetric else ()
        else:
            changes["shaped"] = config.diversity_shaped and objective != "quality"
        return td3_settings(config, scale=tuple(self.scale) if config.scaled else (), **changes)

    def _improve(
        self,
        learner: Learner,
        actors: Actors,
        objective: str,
        view: ReplayView,
        key: jax.Array,
        steps: int,
        stop: Callable[[], bool],
        steerings: np.ndarray,
    ) -> tuple[MLP, Learner]:
        """Improve for one objective; see `improve`."""
        critics, greedy = learner
        if greedy is None:
            actors, critics = self._climb(objective, actors, critics, view, key, steps, stop)
            return self.for_play(actors.online), Learner(critics, None)
        greedy, critics = self._climb(objective, greedy, critics, view, key, steps, stop)
        learner = Learner(critics, greedy)
        directed = self.knows_directions(objective)
        best = self.steer(learner, steerings) if directed else self.for_play(greedy.online)
        if not len(actors.rates):  # the greedy actor is this objective's whole share
            return best, learner
        key, steps = jax.random.fold_in(key, 1), self.config.greedy_steps
        actors, _ = self._climb(objective, actors, critics, view, key, steps, stop, train_critics=False)
        return join_policies(best, self.for_play(actors.online)), learner

    def _climb(
        self,
        objective: str,
        actors: Actors,
        critics: Critics,
        view: ReplayView,
        key: jax.Array,
        steps: int,
        stop: Callable[[], bool],
        train_critics: bool = True,
    ) -> tuple[Actors, Critics]:
        """Take `steps` gradient steps up `objective`, looking up now and then whether to stop."""
        quality, diversity = self.objectives[objective]
        if objective == "diversity":
            quality = self.config.diversity_quality
        weights = jnp.array([quality * self.config.reward_scale, diversity * self.config.novelty_scale])
        settings = self.settings(objective, learns=train_critics)
        return climb(actors, critics, view, weights, key, steps, stop, settings=settings, train_critics=train_critics)
