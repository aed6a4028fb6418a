"""A collection: the policies a run hands to its user, as plain arrays. `collection_files.py` reads and writes it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, overload

import jax
import numpy as np
from ribs.archives import ArchiveBase

from qdpg.errors import UserError
from qdpg.learn.networks import MLP
from qdpg.memory.elites import Elites
from qdpg.play.acting import Noise
from qdpg.play.alone import Arithmetic
from qdpg.ranges import COUNT_OR_NONE
from qdpg.runs.logs import Table
from qdpg.runs.policy import Policy
from qdpg.tasks.task import TaskSpec


class Collection:
    """Policies with their fitness and behaviours, in the order of their cells.

    A sequence: `elites[3]` is a `Policy`; `elites[:10]`, `elites[[1, 4]]` and `elites[elites.fitness > 0]` are
    collections.

    Examples:
        >>> import qdpg
        >>> elites = qdpg.load_run("runs/doc").elites
        >>> best = elites.best()
        >>> best.act([0.0, -0.8]).shape
        (2,)
        >>> near = elites.near((0.5, -0.8), k=5)  # those that end nearest to this place
        >>> len(near), near[0].cell in elites.cells_index
        (5, True)
        >>> elites[elites.fitness > -200.0].save("good-ones")
        >>> loaded = qdpg.Collection.load("good-ones")
        >>> bool((loaded.fitness > -200.0).all())
        True
    """

    def __init__(
        self,
        spec: TaskSpec,
        about: dict[str, Any],
        arrays: dict[str, np.ndarray],
        evaluated: dict[str, np.ndarray] | None = None,
        arithmetic: Arithmetic = "native",
    ) -> None:
        """Hold policies.

        Args:
            spec: The task.
            about: What there is to know about all of them; see `elites.json`.
            arrays: What there is to know about each; see `elites.safetensors`.
            evaluated: What `qdpg evaluate` found about each, by column, if it has been called.
            arithmetic: Whose rounding they act with.
        """
        self.spec, self.about, self.arrays = spec, about, arrays
        self.evaluated, self.arithmetic = evaluated, arithmetic
        self.fitness, self.behaviours = arrays["fitness"], arrays["behaviour"]
        self.seeds, self.cells_index = arrays["seed"], arrays["index"]
        self.noise = Noise(arrays["noise"], about["noise_correlation"])
        self._layers = len(about["policy"]["sizes"]) - 1

    def __len__(self) -> int:
        return len(self.fitness)

    def __repr__(self) -> str:
        best = f", best {self.worth.max():.6g}" if len(self) else ""
        return f"<Collection: {self.spec.name}, policies {len(self)}{best}>"

    def __iter__(self) -> Iterator[Policy]:
        return (self[row] for row in range(len(self)))

    @overload
    def __getitem__(self, rows: int | np.integer) -> Policy: ...

    @overload
    def __getitem__(self, rows: slice | Sequence[int] | np.ndarray) -> Collection: ...

    def __getitem__(self, rows: int | np.integer | slice | Sequence[int] | np.ndarray) -> Policy | Collection:
        if not isinstance(rows, int | np.integer):
            return self._take(rows)
        rows = int(rows)
        if not -len(self) <= rows < len(self):
            raise IndexError(f"there is no policy {rows}: the collection has {len(self)}")
        shape, layers = self.about["policy"], range(self._layers)
        return Policy(
            weights=tuple(self.arrays[f"weight_{i}"][rows] for i in layers),
            biases=tuple(self.arrays[f"bias_{i}"][rows] for i in layers),
            hidden=shape["hidden"],
            output=shape["output"],
            fitness=float(self.fitness[rows]),
            behaviour=self.behaviours[rows],
            seed=int(self.seeds[rows]),
            evaluated_fitness=float("nan") if self.evaluated is None else float(self.evaluated["mean"][rows]),
            arithmetic=self.arithmetic,
            cell=int(self.cells_index[rows]),
        )

    def _take(self, rows: slice | Sequence[int] | np.ndarray) -> Collection:
        if not isinstance(rows, slice):
            rows = np.asarray(rows)
            rows = rows.astype(int) if not rows.size else rows  # an empty list has no type
            if rows.ndim != 1 or rows.dtype.kind not in "iub":
                raise IndexError("a collection is indexed by a whole number, a slice, a list of them, or a mask")
        chosen = np.arange(len(self))[rows]
        arrays = {name: array[chosen] for name, array in self.arrays.items()}
        evaluated = None if self.evaluated is None else {name: each[chosen] for name, each in self.evaluated.items()}
        return Collection(self.spec, {**self.about, "policies": len(chosen)}, arrays, evaluated, self.arithmetic)

    def at(self, cell: int | Sequence[int]) -> Policy:
        """The policy that holds a cell of the archive.

        Args:
            cell: The cell's index, or on a grid its place along each descriptor, from 0.

        Raises:
            UserError: There is no such cell, or nobody holds it.
        """
        cells = self.about["cells"]
        place, grid = ((int(cell),), int(np.prod(cells))) if isinstance(cell, int | np.integer) else (cell, cells)
        try:
            index = np.ravel_multi_index(tuple(place), grid)
        except (ValueError, TypeError):
            raise UserError(f"there is no cell {cell} in an archive of {cells} cells.") from None
        held = np.flatnonzero(self.cells_index == index)
        if not len(held):
            raise UserError(f"no policy of the collection holds cell {cell}.")
        return self[int(held[0])]

    def near(self, behaviour: Sequence[float] | np.ndarray, k: int = 1) -> Collection:
        """The `k` policies whose behaviours are nearest to `behaviour` [D], nearest first.

        Behaviours are means from fresh starts if known, else the stored ones. Distances are in shares of the
        descriptors' ranges.

        Raises:
            UserError: It is no behaviour of the task, or `k` is negative.
        """
        size = self.spec.descriptor_size
        try:
            wanted = np.asarray(behaviour, np.float64)
        except (TypeError, ValueError):
            wanted = np.empty(0)
        if wanted.shape != (size,) or not np.isfinite(wanted).all():
            raise UserError(f"a behaviour of {self.spec.name} has {size} finite numbers, not {behaviour}.")
        k = COUNT_OR_NONE.whole(k, "k")
        span = np.asarray(self.spec.descriptor_high) - self.spec.descriptor_low
        distances = np.sqrt((((self.places - wanted) / span) ** 2).sum(axis=1))
        return self[np.argsort(distances, kind="stable")[:k]]

    @property
    def worth(self) -> np.ndarray:
        """What policies are compared by, [n]: the mean fitness from fresh starts if known, else the stored fitness."""
        return self.fitness if self.evaluated is None else self.evaluated["mean"]

    @property
    def places(self) -> np.ndarray:
        """Where policies end, [n, D]: their mean behaviours from fresh starts if known, else the stored ones."""
        if self.evaluated is None:
            return self.behaviours
        return np.stack([self.evaluated[f"mean_{name}"] for name in self.spec.descriptor_names], axis=-1)

    def best(self) -> Policy:
        """The policy with the highest mean fitness from fresh starts, or stored fitness before `qdpg evaluate`."""
        if not len(self):
            raise UserError("the collection is empty; train longer.")
        return self[int(self.worth.argmax())]

    def stored_episodes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """All episodes that policies were judged by: rows [m], reset seeds [m], fitness [m], behaviours [m, D]."""
        if "episodes" not in self.arrays:
            return np.arange(len(self)), self.seeds, self.fitness, self.behaviours
        seeds = self.arrays["trial_seeds"]
        rows, trials = np.nonzero(np.arange(seeds.shape[1]) < self.arrays["episodes"][:, None])
        fitness, behaviours = self.arrays["trial_fitness"], self.arrays["trial_behaviours"]
        return rows, seeds[rows, trials], fitness[rows, trials], behaviours[rows, trials]

    def population(self) -> MLP:
        """All policies, stacked, as players take them."""
        shape, layers = self.about["policy"], range(self._layers)
        return MLP(
            tuple(self.arrays[f"weight_{i}"] for i in layers),  # type: ignore[misc]
            tuple(self.arrays[f"bias_{i}"] for i in layers),  # type: ignore[misc]
            shape["hidden"],
            shape["output"],
        )

    def archive(self, corrected: bool = False) -> ArchiveBase:
        """The collection as a pyribs archive; solutions are flat: all weights, then all biases.

        Args:
            corrected: Put each policy where its mean behaviour from fresh starts is, with its mean fitness. Of several
                in a cell the best stays. Needs `qdpg evaluate`.
        """
        cells = self.about["cells"]
        template = jax.tree.map(lambda leaf: np.zeros(leaf.shape[1:], np.float32), self.population())
        elites = Elites(
            self.spec, template, cells if isinstance(cells, int) else tuple(cells), self.about["archive_seed"]
        )
        leaves = [leaf.reshape(len(self), math.prod(leaf.shape[1:])) for leaf in jax.tree.leaves(self.population())]
        data = {
            name: self.arrays[name] for name in ("index", "seed", "noise", "length", "episode_return", "generation")
        }
        data["solution"] = np.concatenate(leaves, axis=1)
        fitness, behaviours = self.fitness, self.behaviours
        if corrected:
            if self.evaluated is None:
                raise UserError("the collection has not been evaluated; call `qdpg evaluate` first.")
            fitness, behaviours = self.worth, self.places
        elites.load(data | {"objective": fitness, "measures": behaviours})
        return elites.archive

    def to_pandas(self) -> Any:
        """A pandas DataFrame with a row per policy: cell, fitness, behaviour, and what was found from fresh starts."""
        columns = {"cell": self.cells_index, "fitness": self.fitness}
        columns |= {name: self.behaviours[:, d] for d, name in enumerate(self.spec.descriptor_names)}
        columns |= {name: self.arrays[name] for name in ("seed", "length", "generation")}
        known = {} if self.evaluated is None else self.evaluated
        return Table(
            columns | {f"evaluated_{name}": each for name, each in known.items() if name != "cell"}
        ).to_pandas()

    def save(self, directory: Path | str) -> None:
        """Write the collection on its own, so that it can be read without its run and without the task's code.

        Raises:
            UserError: There is something in the directory already.
        """
        from qdpg.runs.collection_files import save_collection

        save_collection(self, Path(directory))

    @classmethod
    def load(cls, directory: Path | str) -> Collection:
        """Read a collection that was saved.

        Raises:
            UserError: There is none, or its files are damaged.
        """
        from qdpg.runs.collection_files import read_collection

        return read_collection(Path(directory))
