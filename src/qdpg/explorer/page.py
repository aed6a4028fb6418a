"""The explorer as one file: the archive, every elite's stored episode, and a player, without a server or network."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from qdpg.errors import UserError
from qdpg.explorer.app import summary
from qdpg.explorer.archive import KINDS, Frame, find_cells, lay_out
from qdpg.explorer.history import EMITTER, measures, read_history
from qdpg.exports.choose import cell_of, choose
from qdpg.exports.episode import play_stored, seconds_per_step
from qdpg.exports.looks import reach
from qdpg.report.words import plural
from qdpg.runs.collection import Collection
from qdpg.runs.files import write_bytes
from qdpg.runs.run import Run
from qdpg.tasks.floor_plan import floor_extent
from qdpg.tasks.task import MujocoTask, Task, compile_model

LARGEST = 5_000_000  # bytes of a page
_RATE = 20.0  # frames per second at most, of MuJoCo's episodes
_AT_ONCE = 32  # elites played at a time


def write_page(run: Run, path: Path, progress: Callable[[int, int], None] = lambda done, of: None) -> None:
    """Write the page of a run, at most `LARGEST` bytes: of long episodes only so many steps are kept as fit.

    Args:
        run: What to show.
        path: The file.
        progress: Told the elites done so far, and all.

    Raises:
        UserError: There are too many elites for one page, or it cannot be written.
    """
    elites, task = run.elites, run.task
    numbers: list[np.ndarray] = []
    for first in range(0, len(elites), _AT_ONCE):
        rows = np.arange(first, min(first + _AT_ONCE, len(elites)))
        for episode in play_stored(task, elites, rows):
            numbers.append(episode.descriptors.astype(float) if episode.poses is None else episode.poses)
        progress(len(numbers), len(elites))
    seconds = seconds_per_step(task)
    stride = max(1, round(1 / (seconds * _RATE)))
    while True:
        head, body = pack(task, elites, run, numbers, stride)
        content = fill(head, body)
        if len(content) <= LARGEST:
            break
        if stride > max(map(len, numbers)):
            raise UserError(
                f"{plural(len(elites), 'elite')} are too many for one page; use `qdpg explore` without --to."
            )
        stride *= 2
    try:
        write_bytes(path, content)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}.") from error


def fill(head: dict[str, Any], body: bytes) -> bytes:
    """The page with its data. They are base64, so that nothing in them can be taken for a part of the page."""
    page = (files("qdpg.explorer") / "page.html").read_text()
    text = json.dumps(head, allow_nan=False).encode()
    for mark, part in (("@HEAD@", text), ("@BODY@", body)):
        page = page.replace(mark, base64.b64encode(gzip.compress(part, 9, mtime=0)).decode())
    return page.encode()


def pack(
    task: Task, elites: Collection, run: Run, numbers: list[np.ndarray], stride: int
) -> tuple[dict[str, Any], bytes]:
    """What the page knows: a description, and every `stride`-th step of all episodes, [T + 1, n] each, as bytes."""
    kept = [np.concatenate([each[:-1:stride], each[-1:]]) for each in numbers]
    low, high = np.min([each.min(axis=0) for each in kept], axis=0), np.max([each.max(axis=0) for each in kept], axis=0)
    high = np.where(high > low, high, low + 1)
    parts = [differences(each, low, high) for each in kept]
    ends = np.cumsum([0, *(part.size for part in parts)])
    model = compile_model(task) if isinstance(task, MujocoTask) else None
    frame = lay_out(task, 1.0 if model is None else reach(model))
    known = measures(elites, read_history(run, elites))
    values = np.stack(list(known.values()), axis=1)
    cells = find_cells(elites, frame)
    order = np.argsort(cells.rows)  # every cell has an elite
    rows = []
    for row, (place, size) in enumerate(zip(cells.centres[order], cells.sizes[order], strict=True)):
        box = [*place[:2], *size[:2]]
        rows.append(
            {
                "row": row,
                "cell": ",".join(map(str, cell_of(elites, row))),
                "values": [float(each) if np.isfinite(each) else None for each in values[row]],
                "box": _short(box),
                "tile": _short([*box, place[2]]),
                "at": int(ends[row]),
                "frames": len(kept[row]),
                "steps": len(numbers[row]) - 1,
            }
        )
    words = summary(run, elites)
    head = {
        "title": words[0],
        "about": words[1],
        "names": list(elites.spec.descriptor_names),
        "lows": list(elites.spec.descriptor_low),
        "highs": list(elites.spec.descriptor_high),
        "measures": list(known),
        "kinds": list(elites.about.get("emitters", [])) if EMITTER in known else [],
        "palette": [f"rgb{colour}" for colour in KINDS],
        "best": int(choose(elites)[0]),
        "elites": rows,
        "low": low.tolist(),
        "high": high.tolist(),
        "stride": stride,
        "seconds": seconds_per_step(task) * stride,
        **_surroundings(task, frame, model),
    }
    return head, np.concatenate([part.ravel() for part in parts]).astype("<i2").tobytes()


def differences(steps: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Steps [T, n] as 16-bit shares of ranges, each the difference from the one before: they compress well."""
    shares = np.round((steps - low) / (high - low) * 65535).astype(np.int64) - 32768
    return np.diff(shares, axis=0, prepend=0).astype(np.int16)  # wraps around, and back when summed


def _surroundings(task: Task, frame: Frame, model: mujoco.MjModel | None) -> dict[str, Any]:
    """Where things are, for both drawings."""
    floor = task.spec.floor
    low, high, width = frame.low, frame.high, frame.width
    box = [*low[:2], *high[:2]]
    extent = None
    if floor is not None:
        left, right, bottom, top = floor_extent(floor)
        box, extent = [left, bottom, right, top], [left, bottom, right, top]
    walls = [] if floor is None else [[wall.x, wall.y, wall.half_x, wall.half_y] for wall in floor.walls]
    goal = None if floor is None or floor.goal is None else floor.goal
    thick = 0.004 * width
    solids = [
        {"pos": [x, y, 0.02 * width], "quat": [1, 0, 0, 0], "half": [max(w, thick), max(h, thick), 0.02 * width]}
        for x, y, w, h in walls
    ]
    free = model is not None and model.njnt > 0 and model.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE
    return {
        "box": _short(box),
        "walls": walls,
        "floor": extent,
        "goal": None if goal is None else [goal.x, goal.y, goal.half_x, goal.half_y],
        "solids": solids,
        "origin": frame.origin.tolist(),
        "scale": frame.scale.tolist(),
        "shown": min(3, task.spec.descriptor_size) if model is None else 0,
        "first": 0,
        "free": bool(free),
        "width": width,
        "centre": ((low + high) / 2).tolist(),
        "far": 1.55 * width,
        "near": 0.5 * width if model is None else 6 * reach(model),
        "model": None if model is None else describe_model(model),
    }


def describe_model(model: mujoco.MjModel) -> dict[str, Any]:
    """The bodies, joints and shapes of a MuJoCo model that move, as plain JSON."""
    bodies = []
    for n in range(model.nbody):
        joints = (
            range(model.body_jntadr[n], model.body_jntadr[n] + model.body_jntnum[n]) if model.body_jntnum[n] else []
        )
        bodies.append(
            {
                "parent": int(model.body_parentid[n]) if n else -1,
                "pos": _short(model.body_pos[n]),
                "quat": _short(model.body_quat[n]),
                "joints": [
                    {
                        "type": int(model.jnt_type[j]),
                        "at": int(model.jnt_qposadr[j]),
                        "pos": _short(model.jnt_pos[j]),
                        "axis": _short(model.jnt_axis[j]),
                        "rest": float(model.qpos0[model.jnt_qposadr[j]]),
                    }
                    for j in joints
                ],
            }
        )
    moving = np.flatnonzero(model.body_weldid[model.geom_bodyid] != 0)
    geoms = [
        {
            "body": int(model.geom_bodyid[g]),
            "type": int(model.geom_type[g]),
            "pos": _short(model.geom_pos[g]),
            "quat": _short(model.geom_quat[g]),
            "size": _short(model.geom_size[g]),
        }
        for g in moving
    ]
    return {"bodies": bodies, "geoms": geoms}


def _short(values: Any) -> list[float]:
    return [float(f"{value:.9g}") for value in values]
