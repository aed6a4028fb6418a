"""Reference scores of the locomotion tasks, and the picture of their robots in docs/tasks.md.

    python tools/locomotion.py             # plays 30 episodes of each, prints the scores, draws the picture

The scores stand in `src/qdpg/tasks/locomotion.py`, where `qdpg tasks`, figures and reports find them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from qdpg.exports.frames import stage
from qdpg.exports.looks import dress, follow, reach
from qdpg.report.figures import save_figure
from qdpg.tasks.env import TaskEnv
from qdpg.tasks.registry import make_task
from qdpg.tasks.task import MujocoTask, compile_model

PICTURE = Path(__file__).parents[1] / "docs" / "figures" / "locomotion.png"
NAMES = ("walker2d-uni", "halfcheetah-uni", "hopper-uni", "ant-uni", "humanoid-uni", "ant-omni")
EPISODES = 30
SIZE = (480, 360)


def main() -> None:
    """Measure and draw."""
    for name in NAMES:
        task = make_task(name)
        size = task.spec.action_size
        for way, act in (
            ("random", lambda rng, size=size: rng.uniform(-1.0, 1.0, size)),
            ("motionless", lambda rng, size=size: np.zeros(size)),
        ):
            scores, lengths = play(TaskEnv(task), act)
            print(
                f"{name}, {way}: {scores.mean():.1f} on average, {scores.min():.1f} to {scores.max():.1f}, "
                f"over after {lengths.mean():.0f} steps",
                flush=True,
            )
    save_figure(draw(), PICTURE)


def play(env: TaskEnv, act: Callable[[np.random.Generator], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Returns and lengths of episodes with actions that look at nothing."""
    scores, lengths = np.zeros(EPISODES), np.zeros(EPISODES)
    for seed in range(EPISODES):
        rng, is_over = np.random.default_rng([seed, 1]), False
        env.reset(seed=seed)
        while not is_over:
            _, reward, ended, cut, _ = env.step(act(rng))
            scores[seed] += reward
            lengths[seed] += 1
            is_over = ended or cut
    return scores, lengths


def draw() -> Figure:
    """The robots side by side, as they start."""
    figure = Figure(figsize=(9.6, 5.2), dpi=90, layout="compressed")
    FigureCanvasAgg(figure)
    for name, axes in zip(NAMES, figure.subplots(2, 3).ravel(), strict=True):
        task = make_task(name)
        assert isinstance(task, MujocoTask)
        axes.imshow(photograph(task))
        axes.set_title(name)
        axes.axis("off")
    return figure


def photograph(task: MujocoTask) -> np.ndarray:
    """A robot at its start."""
    model = dress(compile_model(task))
    data, camera = mujoco.MjData(model), follow(model)
    data.qpos[:], data.qvel[:] = task.start(0)
    mujoco.mj_forward(model, data)
    camera.elevation, camera.distance = -15.0, 3.2 * reach(model)
    with stage(model, SIZE) as (scene, take):
        mujoco.mjv_updateScene(model, data, mujoco.MjvOption(), None, camera, mujoco.mjtCatBit.mjCAT_ALL, scene)
        return take().copy()


if __name__ == "__main__":
    main()
