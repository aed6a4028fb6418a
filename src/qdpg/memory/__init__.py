"""What an algorithm remembers: transitions, visited states, elites."""

from qdpg.memory.elites import Elites
from qdpg.memory.replay import Replay
from qdpg.memory.visited import Visited

__all__ = ["Elites", "Replay", "Visited"]
