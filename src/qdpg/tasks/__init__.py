"""The problems to solve."""

from qdpg.tasks.registry import make_task
from qdpg.tasks.task import Box, Floor, GoalTask, JaxTask, MujocoTask, Physics, Task, TaskSpec

__all__ = ["Box", "Floor", "GoalTask", "JaxTask", "MujocoTask", "Physics", "Task", "TaskSpec", "make_task"]
