"""What the training loop expects of every algorithm."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import numpy as np

from qdpg.emitters.episodes import Episodes, join_episodes
from qdpg.learn.networks import join_policies
from qdpg.memory.elites import Elites
from qdpg.memory.replay import Replay
from qdpg.play.acting import Noise, RollIn
from qdpg.play.player import Player
from qdpg.play.rollouts import Rollouts
from qdpg.tasks.task import TaskSpec

KINDS = ("gradients", "physics", "novelty", "memory")  # of work, as `Clock` tells them apart


class Tried(NamedTuple):
    """What an algorithm played by itself on the way to its proposal; it counts like everything else."""

    episodes: int = 0
    steps: int = 0


NOTHING = Tried()


class Generation(NamedTuple):
    """What `ask` proposes: episodes to play, and what to remember if they are."""

    candidates: Episodes  # episodes that policies are judged by
    exploration: Episodes | None = None  # episodes that only fill the replay memory, never the archive
    noise_correlation: float = 0.0  # of the action noise between successive steps; 0 is white noise
    learned: Any = None  # becomes part of the algorithm's state in `tell`, and not before
    extra_fields: Mapping[str, np.ndarray] = {}
    entries: np.ndarray | None = None  # [candidates] of a `ReevaluatedElites` that they are; see `Offspring`
    emitters: np.ndarray | None = None  # [candidates] who made each: 0 chance, i + 1 the algorithm's emitter i
    record: bool = True  # whether observations and actions are wanted
    tried: Tried = NOTHING

    def play(self, player: Player) -> Rollouts:
        """Play its episodes, candidates first."""
        episodes = self.candidates if self.exploration is None else join_episodes(self.candidates, self.exploration)
        population, roll_in = episodes.policies, None
        if episodes.guides is not None:
            number = len(episodes)
            population = join_policies(population, episodes.guides)
            guided = episodes.roll_in_steps > 0
            guides = np.arange(number)
            guides[guided] = number + np.arange(guided.sum())
            roll_in = RollIn(guides, episodes.roll_in_steps, episodes.limits)
        noise = Noise(episodes.sigma, self.noise_correlation)
        return player.play(population, episodes.seeds, noise=noise, record=self.record, roll_in=roll_in)

    def makers(self) -> np.ndarray:
        """Who made the policy of each of its episodes, as `emitters` says, or 0; -1 for exploration episodes."""
        known = np.zeros(len(self.candidates), int) if self.emitters is None else self.emitters
        return np.concatenate([known, np.full(0 if self.exploration is None else len(self.exploration), -1)])

    def split(self, rollouts: Rollouts) -> tuple[Rollouts, Rollouts]:
        """What the candidates did, and what the exploration episodes were."""
        number = len(self.candidates)
        return rollouts.take(slice(number)), rollouts.take(slice(number, None))


class Algorithm(Protocol):
    """An `ask`/`tell` pair and its explicit memory.

    `ask` must leave the memory as it found it, but for things computed afresh every time: a run that is killed between
    `ask` and `tell` takes the same generation again. All random draws come from the seed and `generation`.
    """

    @property
    def name(self) -> str:
        """What it is called on the command line."""
        ...

    @property
    def config(self) -> Any:
        """Its settings, a frozen dataclass."""
        ...

    @property
    def generation(self) -> int:
        """Generations told so far."""
        ...

    @property
    def steps(self) -> int:
        """Environment steps told so far."""
        ...

    @property
    def elites(self) -> Elites:
        """The policies that it hands to its user."""
        ...

    @property
    def replay(self) -> Replay | None:
        """Its transition memory, if it has one."""
        ...

    @property
    def clock(self) -> Clock:
        """Where its time went."""
        ...

    def ask(self, stop: Callable[[], bool] = ...) -> Generation:
        """Propose policies to play; raise `Stopped` soon after `stop()` becomes true."""
        ...

    def tell(self, generation: Generation, rollouts: Rollouts) -> dict[str, Any]:
        """Learn what playing the proposal gave; return numbers worth recording.

        Under "episodes" there may be a dictionary of further numbers for each episode, [N] by name.
        """
        ...

    def state(self) -> dict[str, np.ndarray]:
        """Everything to remember except the replay memory, by name."""
        ...

    def load(self, state: dict[str, np.ndarray]) -> None:
        """Take up a state that `state()` returned."""
        ...


class Counted:
    """What the counters of an algorithm say, which are part of its `_state`."""

    _state: Any

    @property
    def generation(self) -> int:
        """Generations told so far."""
        return int(self._state.generation)

    @property
    def steps(self) -> int:
        """Environment steps told so far."""
        return int(self._state.steps)


@runtime_checkable
class TriesOut(Protocol):
    """An algorithm that plays policies inside `ask`, only to learn what to propose: an evolution strategy.

    Whoever trains it gives it a player first. What it plays is not recorded; `Generation.tried` says how much it was.
    """

    player: Player | None


PRESETS = ("tuned", "paper")


class Footprint(NamedTuple):
    """Bytes that an algorithm will take at most."""

    memory: int  # all it holds in memory, libraries aside
    checkpoint: int  # one checkpoint without the replay memory
    replay: int  # the replay memory's journal


class Family(NamedTuple):
    """Algorithms that share their code and the type of their settings. `name` is always the algorithm's."""

    config: type  # a frozen dataclass
    preset: Callable[[str, str, str], Any]  # (preset, task, name) → settings
    footprint: Callable[[TaskSpec, Any, str], Footprint]  # (spec, settings, name)
    make: Callable[[TaskSpec, Any, int, str], Algorithm]  # (spec, settings, seed, name)
    find_idle: Callable[[Any], dict[str, str]] = lambda config: {}  # settings that do nothing beside others, and why
    presets: tuple[str, ...] = PRESETS


class Clock:
    """Adds up seconds by kind of work."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)

    @contextmanager
    def time(self, kind: str) -> Iterator[None]:
        """Count the time spent inside."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[kind] += time.perf_counter() - began


def with_prefix(prefix: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Put `prefix` before every name."""
    return {prefix + name: array for name, array in arrays.items()}


def without_prefix(prefix: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays whose name begins with `prefix`, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def tree_to_arrays(tree: Any) -> dict[str, np.ndarray]:
    """Name every array of a pytree by its path."""
    leaves = jax.tree_util.tree_flatten_with_path(tree)[0]
    return {jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in leaves}


def arrays_to_tree(arrays: dict[str, np.ndarray], like: Any) -> Any:
    """The inverse of `tree_to_arrays`, for a tree shaped like `like`; plain numbers become plain numbers again."""

    def restore(array: np.ndarray, leaf: Any) -> Any:
        array = array.reshape(np.shape(leaf))  # files hold no arrays without axes
        return array.item() if isinstance(leaf, int | float) else array

    paths, structure = jax.tree_util.tree_flatten_with_path(like)
    leaves = [restore(arrays[jax.tree_util.keystr(path)], leaf) for path, leaf in paths]
    return jax.tree_util.tree_unflatten(structure, leaves)
