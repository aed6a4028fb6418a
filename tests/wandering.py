"""Random ways between walls, and the roadmap that is drawn of them."""

import numpy as np

from qdpg.learn.roadmap import draw_roadmap

WALL = 0.1  # y of a wall from x = -1 to x = 0.5, as thin as a line


def wander(number=200, steps=800, wall=True):
    """Random ways in [-1, 1]², [number, steps, 2]."""
    rng = np.random.default_rng(0)
    places, speeds, ways = rng.uniform(-1, 1, (number, 2)), np.zeros((number, 2)), []
    for _ in range(steps):
        ways.append(places)
        speeds = 0.97 * speeds + 0.004 * rng.standard_normal((number, 2))
        after = places + speeds
        stopped = (np.abs(after) > 1).any(axis=1)
        if wall:
            stopped |= ((places[:, 1] - WALL) * (after[:, 1] - WALL) < 0) & (places[:, 0] < 0.5)
        places, speeds = np.where(stopped[:, None], places, after), np.where(stopped[:, None], -0.5 * speeds, speeds)
    return np.stack(ways, axis=1)


def roadmap_of(ways):
    goes_on = np.ones(ways.shape[:2], bool)
    goes_on[:, -1] = False
    return draw_roadmap(ways.reshape(-1, ways.shape[-1]), goes_on.ravel(), np.ones(ways.shape[-1]))
