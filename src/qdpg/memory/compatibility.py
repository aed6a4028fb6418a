"""Does ψ suit ξ? Both sides of the paper's compatibility condition (equation 3), episode by episode."""

from __future__ import annotations

import numpy as np

from qdpg.memory.elites import Elites
from qdpg.memory.visited import Visited
from qdpg.play.rollouts import Rollouts


def episode_novelty(rollouts: Rollouts, visited: Visited, elites: Elites) -> dict[str, np.ndarray]:
    """Novelty of N episodes before they enter any memory, [N] each.

    Novelty at the level of states is summed along the trajectory. Novelty at the level of solutions is the distance of
    the behaviour to the nearest elite's, θ₂ of Proposition 1.
    """
    played = rollouts.played()
    along = np.zeros(played.shape)
    along[played] = visited.novelty(rollouts.descriptors[:, :-1][played])
    nearest = Visited(elites.spec.descriptor_size, len(elites), threshold=0.0, neighbours=1)
    nearest.set(elites.data()["measures"])
    return {"state_novelty": along.sum(axis=1), "solution_novelty": nearest.novelty(rollouts.behaviours)}
