"""What episodes from fresh starts say about each elite: a row per elite."""

from __future__ import annotations

import numpy as np

from qdpg.runs.collection import Collection


def describe_elites(elites: Collection, fitness: np.ndarray, behaviours: np.ndarray) -> dict[str, np.ndarray]:
    """Return the columns of the table, [elites] each.

    Args:
        elites: E policies.
        fitness: [E, n] of their episodes.
        behaviours: [E, n, D].
    """
    spec, archive = elites.spec, elites.archive()
    lower, median, upper = np.quantile(fitness, (0.25, 0.5, 0.75), axis=1)
    means, spread = behaviours.mean(axis=1, dtype=np.float64), behaviours.std(axis=1, dtype=np.float64)
    ends = np.asarray(archive.index_of(behaviours.reshape(-1, spec.descriptor_size))).reshape(fitness.shape)
    columns = {
        "cell": elites.cells_index,
        "episodes": np.full(len(elites), fitness.shape[1]),
        "mean": fitness.mean(axis=1),
        "lower_quartile": lower,
        "median": median,
        "upper_quartile": upper,
        "spread": fitness.std(axis=1),
    }
    if spec.solved is not None:
        columns["share_solved"] = (fitness >= spec.solved).mean(axis=1)
    for d, name in enumerate(spec.descriptor_names):
        columns |= {f"mean_{name}": means[:, d], f"spread_{name}": spread[:, d]}
    columns["share_own_cell"] = (ends == elites.cells_index[:, None]).mean(axis=1)
    columns["stored_fitness"] = elites.fitness
    for d, name in enumerate(spec.descriptor_names):
        columns[f"stored_{name}"] = elites.behaviours[:, d].astype(np.float64)
    return columns
