"""One policy that a run hands to its user."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from qdpg.errors import UserError
from qdpg.learn.networks import MLP
from qdpg.play.alone import Act, Arithmetic, act_alone


@dataclass(frozen=True, eq=False, repr=False)
class Policy:
    """One policy of a collection.

    Attributes:
        weights: [fan_in, fan_out] of each layer.
        biases: [fan_out] of each layer.
        hidden: Activation of the hidden layers.
        output: Activation of the last layer.
        fitness: Its stored fitness, which is optimistic: it was stored for it.
        behaviour: [D], its stored behaviour.
        seed: The reset seed of the episode that it was stored for, or of the first of several.
        evaluated_fitness: Its mean fitness from fresh starts; not-a-number before `qdpg evaluate`.
        arithmetic: Whose rounding it acts with; see `act_alone`.
        cell: The cell of the archive that it holds.

    Examples:
        >>> import gymnasium, qdpg
        >>> policy = qdpg.load_run("runs/doc").elites.best()
        >>> env = gymnasium.make("qdpg/PointMaze-v0")
        >>> observation, info = env.reset(seed=policy.seed)
        >>> observation, reward, terminated, truncated, info = env.step(policy.act(observation))
        >>> reward <= 0.0
        True
    """

    weights: tuple[np.ndarray, ...]
    biases: tuple[np.ndarray, ...]
    hidden: str
    output: str
    fitness: float
    behaviour: np.ndarray
    seed: int
    evaluated_fitness: float = np.nan
    arithmetic: Arithmetic = "native"
    cell: int = -1

    def act(self, observation: npt.ArrayLike) -> np.ndarray:
        """Return the action [..., A] in [-1, 1] for an observation [..., O], bit for bit as a player would.

        Raises:
            UserError: Observations have another size.
        """
        seen, size = np.asarray(observation, np.float32), self.weights[0].shape[0]
        if seen.shape[-1:] != (size,):
            raise UserError(f"the policy sees observations of {size} numbers, not arrays of shape {seen.shape}.")
        actions = self._act(seen.reshape(-1, seen.shape[-1]))
        return actions.reshape(*seen.shape[:-1], -1)

    def __repr__(self) -> str:
        sizes = [self.weights[0].shape[0], *(len(bias) for bias in self.biases)]
        behaviour = ", ".join(f"{each:.4g}" for each in self.behaviour)
        return f"<Policy: layers {sizes}, cell {self.cell}, fitness {self.fitness:.6g}, behaviour ({behaviour})>"

    @functools.cached_property
    def _act(self) -> Act:
        weights, biases = (tuple(part[None] for part in parts) for parts in (self.weights, self.biases))
        return act_alone(MLP(weights, biases, self.hidden, self.output), self.arithmetic)  # type: ignore[arg-type]
