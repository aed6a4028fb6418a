"""Real episodes: from a population of policies to rollouts."""

from qdpg.play.player import Player, make_player
from qdpg.play.rollouts import Rollouts

__all__ = ["Player", "Rollouts", "make_player"]
