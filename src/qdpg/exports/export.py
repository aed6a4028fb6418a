"""`qdpg.export`: elites of a run as files that others can use, checked before they are written."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from qdpg.errors import UserError
from qdpg.exports.choose import cell_of, choose
from qdpg.exports.episode import Episode, play_fresh, play_stored
from qdpg.exports.policies import act_with_npz, act_with_onnx, describe_policy, to_npz, to_onnx
from qdpg.exports.video import SUFFIXES, film, film_together
from qdpg.runs.collection import Collection
from qdpg.runs.files import write_bytes
from qdpg.runs.run import Run, load_run

Kind = Literal["onnx", "npz", "video", "gif"]
TOLERANCE = 1e-5  # largest difference of an action, of a range of 2
_OBSERVATIONS = 200  # of its stored episode, evenly spaced, that an exported policy is compared on
_AT_ONCE = 32  # elites played at a time
_WAYS = {"onnx": (to_onnx, act_with_onnx), "npz": (to_npz, act_with_npz)}


@dataclass(frozen=True)
class Exported:
    """What came of an export.

    Attributes:
        files: What was written.
        largest_difference: Of any action of any file from the player's, on stored observations; None for videos.
    """

    files: tuple[Path, ...]
    largest_difference: float | None = None


def export(
    run: Run | Path | str,
    to: Kind = "onnx",
    out: Path | str | None = None,
    *,
    best: bool = False,
    cell: Sequence[int] | None = None,
    near: Sequence[float] | None = None,
    everything: bool = False,
    together: bool = False,
    fresh: int | None = None,
    seconds: float = np.inf,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> Exported:
    """Write elites of a run as files, one each. Policies are compared with the player first, on stored observations.

    Args:
        run: The run, or its directory.
        to: "onnx", "npz", "video" (mp4) or "gif".
        out: Directory for the files; by default export/ in the run.
        best: The elite that is worth most; so it is if nothing is said.
        cell: The elite in this cell, an index per dimension.
        near: The elite whose behaviour is nearest to this.
        everything: All elites.
        together: One film of all chosen elites at once, coloured by fitness, instead of one each.
        fresh: Film an episode from the fresh start with this number, instead of the stored episode.
        seconds: Film no more than this much of an episode.
        progress: Told the elites done so far, and those wanted.

    Raises:
        UserError: There is no such elite, something is not installed, or a policy differs after export. Nothing is
            written then.

    Examples:
        >>> import qdpg
        >>> [path.suffix for path in qdpg.export("runs/doc", "npz", "policies").files]
        ['.npz']
    """
    run = run if isinstance(run, Run) else load_run(run)
    if not seconds > 0:
        raise UserError(f"seconds is {seconds}, but must be positive.")
    if fresh is not None and fresh < 0:
        raise UserError(f"the number of a fresh start is {fresh}, but must not be negative.")
    if together and to in _WAYS:
        raise UserError(f"policies are written one by one; --together is for films, not for {to}.")
    need(to)
    elites = run.elites
    rows = choose(elites, best=best, cell=cell, near=near, everything=everything)
    directory = run.path / "export" if out is None else Path(out)
    contents: dict[Path, bytes] = {}
    largest, all_episodes = 0.0, []
    for first in range(0, len(rows), _AT_ONCE):
        some = rows[first : first + _AT_ONCE]
        if fresh is None or to in _WAYS:
            episodes = play_stored(run.task, elites, some, poses=to not in _WAYS)
        else:
            episodes = play_fresh(run.task, elites, some, fresh)
        for episode in [] if together else episodes:
            path = directory / f"{name_of(elites, episode.row)}.{SUFFIXES.get(to, to)}"
            if to in _WAYS:
                contents[path], difference = export_policy(run, elites, episode, to)
                largest = max(largest, difference)
            else:
                contents[path] = film(run.task, episode, to, seconds)  # type: ignore[arg-type]
            progress(len(contents), len(rows))
        if together:
            all_episodes += episodes
            progress(len(all_episodes), len(rows))
    if together:
        path = directory / f"{task_name(elites)}-together.{SUFFIXES[to]}"
        contents[path] = film_together(run.task, all_episodes, to, seconds)  # type: ignore[arg-type]
    try:
        for path, content in contents.items():
            write_bytes(path, content)
    except OSError as error:
        raise UserError(f"cannot write to {directory}: {error.strerror or error}.") from error
    return Exported(tuple(contents), largest if to in _WAYS else None)


def export_policy(run: Run, elites: Collection, episode: Episode, to: Kind) -> tuple[bytes, float]:
    """One policy as the content of a file, and the largest difference of its actions from the player's.

    Args:
        run: Where it comes from.
        elites: Its collection.
        episode: Its stored episode.
        to: "onnx" or "npz".

    Raises:
        UserError: They differ by more than `TOLERANCE`.
    """
    policy, (write, act) = elites[episode.row], _WAYS[to]
    content = write(policy, describe_policy(run, elites, episode.row))
    steps = np.unique(np.linspace(0, len(episode), _OBSERVATIONS).round().astype(int))
    seen = episode.observations[steps]
    difference = float(np.abs(act(content, seen) - policy.act(seen)).max())
    if not difference <= TOLERANCE:
        cell = ",".join(map(str, cell_of(elites, episode.row)))
        raise UserError(
            f"the policy of cell {cell} does not act alike as {to}: an action differs by {difference:.2g}, more than "
            f"{TOLERANCE:g}; nothing was written."
        )
    return content, difference


def name_of(elites: Collection, row: int) -> str:
    """What the files of an elite are called: ant-maze-cell-3-4."""
    return f"{task_name(elites)}-cell-{'-'.join(map(str, cell_of(elites, row)))}"


def task_name(elites: Collection) -> str:
    """The name of the task, as part of the name of a file."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", elites.spec.name).strip("-")


def need(to: Kind) -> None:
    """Say what has to be installed, before anything is played.

    Raises:
        UserError: Something is missing.
    """
    modules = {"onnx": ("onnx", "onnxruntime"), "video": ("imageio_ffmpeg",)}.get(to, ())
    for module in modules:
        try:
            __import__(module)
        except ImportError:
            raise UserError(f'--to {to} needs {module}; install it with `pip install "qdpg[export]"`.') from None
