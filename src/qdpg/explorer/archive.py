"""The archive as things to look at: where each cell is, how large, and what colour. Pure; knows no browser."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib import colormaps
from ribs.archives import ArchiveBase, CVTArchive

from qdpg.learn.networks import MLP
from qdpg.memory.elites import Elites
from qdpg.runs.collection import Collection
from qdpg.tasks.task import MujocoTask, Task

_Y = np.array([0.0, 1.0, 0.0])
EMPTY = (205, 207, 214)
KINDS = (  # tell emitters apart
    *((140, 140, 150), (0, 114, 178), (230, 159, 0), (0, 158, 115), (204, 121, 167), (86, 180, 233)),
    *((213, 94, 0), (240, 228, 66), (60, 60, 60)),
)
_FLAT = 0.004  # height of a cell that lies on the floor, as a share of the archive's width


@dataclass(frozen=True)
class Cells:
    """Cells that something was found in, as boxes.

    Attributes:
        index: [n] int, which cells, ascending.
        rows: [n] int, the elite in each; -1 if there is none any more.
        centres: [n, 3] in the scene.
        sizes: [n, 3].
    """

    index: np.ndarray
    rows: np.ndarray
    centres: np.ndarray
    sizes: np.ndarray


@dataclass(frozen=True)
class Frame:
    """Where descriptors are in the scene: `origin` + `scale` · descriptor, [3] each; absent axes are zero."""

    origin: np.ndarray
    scale: np.ndarray
    low: np.ndarray  # [3], of the archive in the scene
    high: np.ndarray  # [3]

    def place(self, descriptors: np.ndarray) -> np.ndarray:
        """Turn descriptors [n, D] into points of the scene, [n, 3]; of more than three, the first three count."""
        points = np.zeros((len(descriptors), 3))
        shown = min(3, descriptors.shape[1])
        points[:, :shown] = descriptors[:, :shown]
        return self.origin + self.scale * points

    @property
    def width(self) -> float:
        """The longest side of the archive."""
        return float((self.high - self.low).max())


def lay_out(task: Task, body: float = 1.0) -> Frame:
    """Where to put the archive of a task: on its floor as it is, or else as a cube beside what moves.

    Args:
        task: What the elites were trained on.
        body: How far the agent reaches; the archive of a task without a floor is some of these wide.
    """
    spec = task.spec
    low, high = _three(spec.descriptor_low), _three(spec.descriptor_high)
    if spec.floor is not None:
        scale = np.ones(3)
        origin = np.zeros(3)
    else:
        span = np.where(high > low, high - low, 1.0)
        scale = 4 * body / span
        beside = np.array([0.0, 4 * body, 0.0]) if isinstance(task, MujocoTask) else np.zeros(3)
        origin = beside - scale * (low + high) / 2 * [1, 1, 0] - scale * low * [0, 0, 1]
    low, high = origin + scale * low, origin + scale * high
    if spec.descriptor_size == 1:
        half = (high[0] - low[0]) / 20
        low, high = low - half * _Y, high + half * _Y
    return Frame(origin, scale, low, high)


def _three(values: tuple[float, ...]) -> np.ndarray:
    return np.array([*values[:3], 0.0, 0.0, 0.0][:3] if len(values) < 3 else values[:3], float)


def find_cells(elites: Collection, frame: Frame, others: np.ndarray | None = None) -> Cells:
    """The cells of all elites, and `others` [m] that were filled during training."""
    index = np.union1d(elites.cells_index, [] if others is None else others).astype(int)
    rows = np.full(len(index), -1)
    rows[np.searchsorted(index, elites.cells_index)] = np.arange(len(elites))
    centres, sizes = _boxes(elites, index)
    sizes = sizes * frame.scale
    if elites.spec.descriptor_size == 1:
        sizes[:, 1] = frame.high[1] - frame.low[1]
    places = frame.place(centres)
    if elites.spec.descriptor_size < 3:
        sizes[:, 2] = _FLAT * frame.width
        places[:, 2] += frame.low[2] - sizes[:, 2] / 2  # agents walk on top of it
    else:
        sizes *= 0.6  # gaps, to look inside
    return Cells(index, rows, places, 0.94 * sizes)


def _boxes(elites: Collection, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Centres [n, D] and sides [n, 3] of cells, in the units of the descriptors."""
    spec, cells = elites.spec, elites.about["cells"]
    low, high = np.array(spec.descriptor_low), np.array(spec.descriptor_high)
    shown = min(3, spec.descriptor_size)
    sides = np.zeros((len(index), 3))
    if isinstance(cells, int):
        archive = _empty_archive(elites)
        assert isinstance(archive, CVTArchive)
        sides[:, :shown] = ((high - low) / cells ** (1 / spec.descriptor_size))[:shown]
        return archive.centroids[index], sides
    step = (high - low) / np.array(cells)
    sides[:, :shown] = step[:shown]
    return low + step * (np.stack(np.unravel_index(index, cells), axis=-1) + 0.5), sides


def kind_colours(values: np.ndarray) -> np.ndarray:
    """Colours [n, 3] uint8 of kinds [n], numbered from 0; grey where the kind is not known."""
    known = np.isfinite(values)
    kinds = np.where(known, values, 0).astype(int) % len(KINDS)
    return np.where(known[:, None], np.array(KINDS)[kinds], EMPTY).astype(np.uint8)


def colours(values: np.ndarray, low: float | None = None, high: float | None = None) -> np.ndarray:
    """Colours [n, 3] uint8 of values [n], from dark (low) to bright (high); grey where there is none."""
    known = np.isfinite(values)
    if not known.any():
        return np.tile(np.array(EMPTY, np.uint8), (len(values), 1))
    low = float(values[known].min()) if low is None else low
    high = float(values[known].max()) if high is None else high
    shares = np.clip((np.where(known, values, low) - low) / ((high - low) or 1.0), 0, 1)
    return np.where(known[:, None], np.round(255 * colormaps["viridis"](shares)[:, :3]), EMPTY).astype(np.uint8)


def cell_index(elites: Collection, behaviours: np.ndarray) -> np.ndarray:
    """The cells of behaviours [n, D], [n] int, as the archive itself counts them."""
    return np.asarray(_empty_archive(elites).index_of(behaviours.astype(np.float32)))


def _empty_archive(elites: Collection) -> ArchiveBase:
    """An archive with the same cells, without the policies, which may be large."""
    cells = elites.about["cells"]
    template = MLP((np.zeros((1, 1), np.float32),), (np.zeros(1, np.float32),))  # type: ignore[arg-type]
    return Elites(
        elites.spec, template, cells if isinstance(cells, int) else tuple(cells), elites.about["archive_seed"]
    ).archive
