"""Run a policy that `qdpg export --to onnx` wrote, with onnxruntime and Gymnasium alone: no qdpg, no JAX.

python examples/run_exported_policy.py policy.onnx Pendulum-v1
"""

import json
import sys

import gymnasium
import numpy as np
import onnxruntime


def main(path: str, env_id: str) -> None:
    """Play one episode, from the start that the policy was stored for, and print what it came to."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    about = session.get_modelmeta().custom_metadata_map
    env = gymnasium.make(env_id)
    low, high = env.action_space.low, env.action_space.high
    observation, _ = env.reset(seed=int(about["episode_seed"]))
    total, steps, done = 0.0, 0, False
    while not done and steps < int(about["horizon"]):
        seen = np.asarray(observation, np.float32).reshape(1, -1)
        action = session.run(["action"], {"observation": seen})[0][0]
        observation, reward, ended, cut, _ = env.step(low + (action.reshape(low.shape) + 1) / 2 * (high - low))
        total, steps, done = total + float(reward), steps + 1, ended or cut
    print(json.dumps({"return": total, "steps": steps, "stored_fitness": float(about["fitness"])}))


if __name__ == "__main__":
    main(*sys.argv[1:])
