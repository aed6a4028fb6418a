"""The transition memory: a ring of packed rows, each observation stored once.

An episode of T steps takes T + 1 consecutive rows: row t holds the observation s_t, the action, the reward, whether to
bootstrap from s_{t+1}, and the novelty of s_t; the last row holds only the final observation. The successor of a row is
simply the next one, and since rows leave oldest first, a row's successor is there as long as the row is.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from qdpg.learn.transitions import CONTINUES, NOVELTY, REWARD, Transitions
from qdpg.play.rollouts import Rollouts


class Replay:
    """A ring of transitions."""

    def __init__(self, capacity: int, observation_size: int, action_size: int, descriptor_size: int) -> None:
        """Start empty.

        Args:
            capacity: Rows held at most (an episode of T steps takes T + 1).
            observation_size: O, of each observation the first so many numbers.
            action_size: A.
            descriptor_size: D.
        """
        self.capacity = capacity
        self.observation_size, self.action_size = observation_size, action_size
        self.rows = _aligned((capacity, observation_size + action_size + 3), np.float32)
        self.descriptors = _aligned((capacity, descriptor_size), np.float32)  # ψ(s_t)
        self.novelty_gradients = _aligned((capacity, descriptor_size), np.float32)  # set anew before use
        self.is_playable = np.zeros(capacity, bool)
        self.inserted = 0  # rows ever inserted; row number i lives in slot i % capacity
        self._playable = _aligned((capacity,), np.int32)
        self._count = 0
        self._chosen: np.ndarray | None = None  # made when first needed

    def __len__(self) -> int:
        """Rows held."""
        return min(self.inserted, self.capacity)

    @property
    def transitions(self) -> int:
        """Transitions held."""
        return self._count

    def insert(self, rollouts: Rollouts, first: np.ndarray | None = None, last: np.ndarray | None = None) -> None:
        """Append all episodes, in order; if given, of each only the steps from `first` [N] to before `last` [N]."""
        assert rollouts.observations is not None
        assert rollouts.actions is not None
        starts = np.zeros_like(rollouts.lengths) if first is None else first
        ends = rollouts.lengths if last is None else last
        for n, (start, end) in enumerate(zip(starts, ends, strict=True)):
            length, steps, states = end - start, slice(start, end), slice(start, end + 1)
            rows = np.zeros((length + 1, self.rows.shape[1]), np.float32)
            rows[:, : self.observation_size] = rollouts.observations[n, states, : self.observation_size]
            rows[:length, self.observation_size : REWARD] = rollouts.actions[n, steps]
            rows[:length, REWARD] = rollouts.rewards[n, steps]
            rows[:length, CONTINUES] = 1.0
            if rollouts.terminated[n] and end == rollouts.lengths[n]:
                rows[length - 1, CONTINUES] = 0.0
            self.insert_rows(rows, rollouts.descriptors[n, states], np.arange(length + 1) < length)
        self.index()

    def insert_rows(self, rows: np.ndarray, descriptors: np.ndarray, is_playable: np.ndarray) -> None:
        """Append packed rows [m, O + A + 3] as they are; call `index` when done."""
        slots = (self.inserted + np.arange(len(rows))) % self.capacity
        self.rows[slots], self.descriptors[slots], self.is_playable[slots] = rows, descriptors, is_playable
        self.inserted += len(rows)

    def index(self) -> None:
        """Find out anew which rows can be sampled."""
        slots = np.flatnonzero(self.is_playable)
        self._count = len(slots)
        self._playable[: self._count] = slots

    def since(self, inserted: int) -> dict[str, np.ndarray]:
        """The rows appended since `inserted` rows were, as far as they are still held; for `insert_rows`."""
        first = max(inserted, self.inserted - self.capacity, 0)
        slots = np.arange(first, self.inserted) % self.capacity
        return {
            "rows": self.rows[slots],
            "descriptors": self.descriptors[slots],
            "is_playable": self.is_playable[slots],
        }

    def playable_slots(self) -> np.ndarray:
        """Slots of the rows that can be sampled, [transitions] int32; a view."""
        return self._playable[: self._count]

    def ways(self) -> tuple[np.ndarray, np.ndarray]:
        """ψ of all rows, oldest first, [m, D]; and whether the next row is the next state of the same episode, [m]."""
        slots = np.arange(self.inserted - len(self), self.inserted) % self.capacity
        return self.descriptors[slots], self.is_playable[slots]

    def set_novelty(self, slots: np.ndarray | slice, novelty: np.ndarray) -> None:
        """Write the diversity rewards [m] of the rows in `slots` [m]."""
        self.rows[slots, NOVELTY] = novelty

    def set_novelty_gradients(self, slots: np.ndarray, gradients: np.ndarray) -> None:
        """Write in which direction novelty grows, [m, D], for the rows in `slots` [m]."""
        self.novelty_gradients[slots] = gradients

    def view(self, slots: np.ndarray | None = None) -> Transitions:
        """The memory as compiled updates read it, without a copy; if `slots` are given, only these are sampled.

        The arrays share memory with the replay; use them before the next insertion.
        """
        playable, number = self._playable, self._count
        if slots is not None:
            if self._chosen is None:
                self._chosen = _aligned((self.capacity,), np.int32)
            playable, number = self._chosen, len(slots)
            playable[:number] = slots
        count: Any = np.int32(number)
        return Transitions(
            _share(self.rows), _share(playable), count, _share(self.descriptors), _share(self.novelty_gradients)
        )


def replay_bytes(capacity: int, observation_size: int, action_size: int, descriptor_size: int) -> int:
    """Memory that a full `Replay` takes."""
    return capacity * (4 * (observation_size + action_size + 3) + 8 * descriptor_size + 1 + 4)


def _aligned(shape: tuple[int, ...], dtype: type) -> np.ndarray:
    """Zeros at an address that XLA accepts without copying."""
    bytes_needed = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(bytes_needed + 64, np.uint8)
    offset = -raw.ctypes.data % 64
    return raw[offset : offset + bytes_needed].view(dtype).reshape(shape)


def _share(array: np.ndarray) -> jax.Array:
    """The same memory as a JAX array. Its contents change with `array`, which is why nobody keeps a view."""
    return jax.dlpack.from_dlpack(array)
