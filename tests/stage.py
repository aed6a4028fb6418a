"""Made-up episodes and elites, so that tests of what is made of them need not play."""

from dataclasses import replace

import numpy as np

from qdpg.play.rollouts import make_rollouts


class EvenDraws:
    """Stands in for a random generator: its uniform numbers lie evenly in [0, 1), so that shares come out exactly."""

    def random(self, number):
        return (np.arange(number) + 0.5) / number


def made_up_rollouts(spec, number, seed=0, steps=6, **changes):
    """Episodes with everything drawn at random; `changes` say otherwise, as in `fitness=np.zeros(3)`."""
    rng, low, high = np.random.default_rng(seed), spec.descriptor_low, spec.descriptor_high
    rollouts = make_rollouts(
        spec,
        seeds=1000 * seed + np.arange(number),
        lengths=np.full(number, steps),
        terminated=np.zeros(number, bool),
        rewards=rng.normal(size=(number, steps)).astype(np.float32),
        descriptors=rng.uniform(low, high, (number, steps + 1, len(low))).astype(np.float32),
        observations=rng.normal(size=(number, steps + 1, spec.observation_size)).astype(np.float32),
        actions=rng.uniform(-1, 1, (number, steps, spec.action_size)).astype(np.float32),
    )
    return replace(rollouts, **{name: np.asarray(value) for name, value in changes.items()})
