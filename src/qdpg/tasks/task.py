"""What a task is: a frozen dataclass whose fields are its options and whose `spec` states its contract.

A task belongs to one of three families, and each family has a player in `qdpg.play`:

* `JaxTask`: written in JAX, so that whole populations play inside one compiled scan;
* `MujocoTask`: a MuJoCo model, stepped natively on all cores;
* `GymnasiumTask` (`qdpg.tasks.gymnasium`): any Gymnasium environment with a box action.

Policies always act in [-1, 1]; scaling to the environment's own action range is the task's business.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import jax
    import mujoco

FitnessKind = Literal["return", "best-reward", "last-reward"]
BehaviourKind = Literal["final", "mean"]


@dataclass(frozen=True)
class Box:
    """An axis-aligned rectangle on the floor."""

    x: float
    y: float
    half_x: float
    half_y: float


@dataclass(frozen=True)
class Floor:
    """What a picture of the task shows, seen from above. Lengths are in the units of the first two descriptors."""

    low: tuple[float, float]
    high: tuple[float, float]
    walls: tuple[Box, ...] = ()
    start: Box | None = None
    goal: Box | None = None
    # Where the reward pulls: "goal" (towards the goal's centre), "forward" (along +x), or None.
    pull: Literal["goal", "forward"] | None = None


@dataclass(frozen=True)
class TaskSpec:
    """The contract of a task.

    Attributes:
        name: What the task is called on the command line.
        observation_size: Number of observations, O.
        action_size: Number of actions, A.
        horizon: Steps after which an episode is cut (a truncation, not an end).
        action_low: The environment's lowest action, [A]. Policies act in [-1, 1] all the same.
        action_high: The environment's highest action, [A].
        descriptor_low: Lower bounds of the state descriptor ψ(s) and of the behaviour descriptor ξ, [D].
        descriptor_high: Upper bounds, [D].
        descriptor_names: What the D descriptors are called in figures.
        behaviour: ξ as a function of the episode's ψ: that of the final state, or the mean over visited states.
        fitness: What ranks policies: the sum of rewards, or the best or the last reward of the episode.
        fitness_floor: What the QD score counts from; no higher than the worst fitness, so that no elite lowers it.
        fitness_scale: Factor from rewards to fitness (1 unless rewards are scaled for training).
        solved: Fitness above which the task counts as solved, if there is such a thing.
        evaluate_every: Environment steps between two deterministic evaluations of a training run.
        observation_scale: Typical sizes of the observations, [O], for algorithms that divide by them; best powers of
            two, which lose no bit. Observations at the end that are always zero are left out. Empty if nobody knows.
        located: For each descriptor which observation it is, and by what to multiply that and what to add; empty if
            descriptors cannot be read off observations like this. Limits of the descriptors do not count.
        quarter_turn: For bodies that look the same when turned by 90°, what observations and actions would be if the
            body did the same a quarter turn further left without facing another way: for each the one it is taken from,
            and its sign. Descriptors are then two, and turn like (x, y). Empty if there is no such symmetry.
        references: Scores to compare with, by name ("motionless", "random", "deceptive", "scripted").
        floor: The map to draw under figures, if the first two descriptors are a position.
    """

    name: str
    observation_size: int
    action_size: int
    horizon: int
    action_low: tuple[float, ...]
    action_high: tuple[float, ...]
    descriptor_low: tuple[float, ...]
    descriptor_high: tuple[float, ...]
    descriptor_names: tuple[str, ...] = ("x", "y")
    behaviour: BehaviourKind = "final"
    fitness: FitnessKind = "return"
    fitness_scale: float = 1.0
    fitness_floor: float = 0.0
    solved: float | None = None
    evaluate_every: int = 10_000
    observation_scale: tuple[float, ...] = ()
    located: tuple[tuple[int, float, float], ...] = ()
    quarter_turn: tuple[tuple[tuple[int, int], ...], ...] = ()
    references: Mapping[str, float] = field(default_factory=dict)
    floor: Floor | None = None

    @property
    def descriptor_size(self) -> int:
        """Number of descriptors, D."""
        return len(self.descriptor_low)


class Task(ABC):
    """A problem to solve. Subclasses are frozen dataclasses; their fields are the task's options."""

    @property
    @abstractmethod
    def spec(self) -> TaskSpec:
        """The task's contract."""


class GoalTask(Task):
    """A task whose goal can be moved: only rewards and the end of an episode depend on it, not what policies see.

    So the way of a policy need be played only once to be judged for any number of goals.
    """

    goal: tuple[float, float]  # a place on the floor, in the units of the first two descriptors
    clearance: ClassVar[float] = 0.0  # how near to a wall the middle of the agent can be

    @abstractmethod
    def judge(self, descriptors: Any) -> tuple[Any, Any]:
        """Judge states by their descriptors [..., D]: the reward of a step there [...], and whether it ends there."""


class JaxTask(Task):
    """A task written in JAX. Every method describes ONE episode; players batch with `jax.vmap`.

    The state is any pytree of arrays. Methods must be pure, and `terminated` means a real end, never the time limit.
    """

    @abstractmethod
    def reset(self, key: jax.Array) -> Any:
        """Draw a start state from `key`."""

    @abstractmethod
    def step(self, state: Any, action: jax.Array) -> tuple[Any, jax.Array, jax.Array]:
        """Play `action` [A] in [-1, 1]; return the next state, the reward [] and whether it ended [] (bool)."""

    @abstractmethod
    def observe(self, state: Any) -> jax.Array:
        """Return what the policy sees, [O]."""

    @abstractmethod
    def describe(self, state: Any) -> jax.Array:
        """Return the state descriptor ψ(s), [D]."""


class Physics(NamedTuple):
    """The part of a batch of MuJoCo simulations that tasks may look at. Rows are simulations."""

    qpos: np.ndarray  # [n, nq] float64
    qvel: np.ndarray  # [n, nv] float64
    contact: np.ndarray | None = None  # [n, nbody, 6] external contact forces, only if the task asked for them


class MujocoTask(Task):
    """A task on a MuJoCo model. Methods are NumPy, pure, and vectorised over simulations.

    A simulation whose state stops being finite is not an end of the episode but an error that players raise.
    """

    frame_skip: ClassVar[int] = 5

    @abstractmethod
    def build(self) -> mujoco.MjModel:
        """Assemble and compile the model."""

    @property
    def measures_contact(self) -> bool:
        """Whether the task looks at contact forces; its model must then hold a sensor that needs them."""
        return False

    @abstractmethod
    def start(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw the start state (qpos [nq], qvel [nv]) from `seed`."""

    @abstractmethod
    def observe(self, physics: Physics) -> np.ndarray:
        """Return what the policies see, [n, O]."""

    @abstractmethod
    def describe(self, physics: Physics) -> np.ndarray:
        """Return the state descriptors ψ(s), [n, D]."""

    @abstractmethod
    def reward(self, before: Physics, action: np.ndarray, after: Physics) -> np.ndarray:
        """Return the rewards of a step with `action` [n, A] in [-1, 1], [n]."""

    @abstractmethod
    def terminated(self, physics: Physics) -> np.ndarray:
        """Return which episodes have come to a real end, [n] bool."""


@functools.lru_cache(maxsize=16)
def compile_model(task: MujocoTask) -> mujoco.MjModel:
    """Return the compiled model of `task`, compiled once per task and options."""
    return task.build()
