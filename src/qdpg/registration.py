"""Making the built-in tasks known to Gymnasium; `import qdpg` does it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

ENVS: dict[str, dict[str, Any]] = {
    "qdpg/PointMaze-v0": {"task": "point-maze", "observation_limit": 1.0},
    "qdpg/AntMaze-v0": {"task": "ant-maze"},
    "qdpg/AntTrap-v0": {"task": "ant-trap"},
}


def register() -> None:
    """Register the tasks as environments. Calling it again does nothing."""
    from gymnasium.envs.registration import register as register_env
    from gymnasium.envs.registration import registry

    for env_id, kwargs in ENVS.items():
        if env_id not in registry:
            # No max_episode_steps: the environment cuts its episodes itself, since `horizon` is an option of the task.
            register_env(id=env_id, entry_point="qdpg.tasks.env:TaskEnv", kwargs=kwargs)


def register_with_gymnasium() -> None:
    """Register the tasks now if Gymnasium is there already, or else when somebody imports it.

    Gymnasium has no entry points for this, and importing it takes longer than many commands.
    """
    if "gymnasium" in sys.modules:
        register()
    else:
        sys.meta_path.insert(0, _WithGymnasium())


class _WithGymnasium(MetaPathFinder):
    """Finds Gymnasium where the others find it, and registers the tasks after it was imported."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find nothing but Gymnasium."""
        if fullname != "gymnasium":
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        spec = next((found for finder in others if (found := finder.find_spec(fullname, path, target))), None)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_register(module: ModuleType) -> None:
                execute(module)
                register()

            spec.loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec
