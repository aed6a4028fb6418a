"""Train a collection, choose a policy by where it should end, and let it act in Gymnasium.

python examples/train_and_use.py
"""

import gymnasium

import qdpg
from qdpg.callbacks import EarlyStopping


def main(steps=200_000, out="runs/example", place=(0.8, 0.8), **settings):
    """Train, look a policy up, play an episode with it; return where it ended."""
    patient = EarlyStopping("qd_score", patience=100_000)
    run = qdpg.train("point-maze", "map-elites", steps=steps, out=out, callbacks=[patient], **settings)
    run.show()
    policy = run.elites.near(place)[0]
    env = gymnasium.make("qdpg/PointMaze-v0")
    observation, info = env.reset(seed=policy.seed)
    is_over = False
    while not is_over:
        observation, _, terminated, truncated, info = env.step(policy.act(observation))
        is_over = terminated or truncated
    print(f"wanted {place}, stored {policy.behaviour}, ended at {info['state_descriptor']}")
    return info["state_descriptor"]


if __name__ == "__main__":
    main()
