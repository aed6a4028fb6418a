"""`qdpg check-task`: say in words what is wrong with a task."""

from __future__ import annotations

from collections.abc import Sequence

from qdpg.cli.settings import read_task_options
from qdpg.errors import UserError
from qdpg.play.warn import warn_task
from qdpg.tasks.check import check_task
from qdpg.tasks.gymnasium import in_words
from qdpg.tasks.registry import make_task


def run(name: str, settings: Sequence[str]) -> int:
    """Check the task called `name`; print its problems and return 2, or what may be hard about it and return 0."""
    options = read_task_options(settings)
    try:
        task = make_task(name, **options)
    except UserError:
        raise
    except Exception as error:  # code of the user's, which nobody has checked yet
        raise UserError(f"{name} cannot be made: {in_words(error)}; mend that first.") from error
    problems = check_task(task)
    if problems:
        for problem in problems:
            print(problem if problem.startswith(name) else f"{name}: {problem}")
        return 2
    spec = task.spec
    bounds = ", ".join(
        f"{low:g} to {high:g}" for low, high in zip(spec.descriptor_low, spec.descriptor_high, strict=True)
    )
    print(
        f"{name}: fine ({spec.observation_size} observations, {spec.action_size} actions, "
        f"{spec.descriptor_size} descriptors from {bounds}, at most {spec.horizon} steps)"
    )
    for warning in warn_task(task):
        print(f"warning: {warning}")
    return 0
