"""Making the built-in tasks known to Gymnasium; `import qdpg` does it."""

from __future__ import annotations

from typing import Any

from gymnasium.envs.registration import register as register_env
from gymnasium.envs.registration import registry

ENVS: dict[str, dict[str, Any]] = {
    "qdpg/PointMaze-v0": {"task": "point-maze", "observation_limit": 1.0},
    "qdpg/AntMaze-v0": {"task": "ant-maze"},
    "qdpg/AntTrap-v0": {"task": "ant-trap"},
}


def register() -> None:
    """Register the tasks as environments. Calling it again does nothing."""
    for env_id, kwargs in ENVS.items():
        if env_id not in registry:
            # No max_episode_steps: the environment cuts its episodes itself, since `horizon` is an option of the task.
            register_env(id=env_id, entry_point="qdpg.tasks.env:TaskEnv", kwargs=kwargs)
