"""Does everything in a run belong together?"""

from __future__ import annotations

import time
from pathlib import Path

from qdpg.errors import DamagedError, MissingError, UserError
from qdpg.runs.checkpoint import STATE, Checkpoints, read_checkpoint
from qdpg.runs.files import TEMPORARY, checksum
from qdpg.runs.records import Ties

_PATIENCE = 10  # looks at elites that another process may be replacing
_KNOWN_BEGINNINGS = ("events.",)
_KNOWN = {
    *(
        "config.json",
        "manifest.json",
        "metrics.csv",
        "episodes.csv",
        "evaluations.csv",
        "resources.json",
        ".lock",
        "tracked.json",
    ),
    *("checkpoints", "elites", "figures", "adapt", "export", "report"),
}


def check_elites(run: Path, ties: Ties | None) -> None:
    """Refuse elites that are not those of the last checkpoint, or of one that was being written when a process died.

    Raises:
        UserError: They are missing, damaged, or of another run.
    """
    if ties is None:  # no checkpoint yet, or a run of an older version
        return
    problem: UserError | None = None
    for look in range(_PATIENCE):
        if belong_together(run, ties) or (problem := _foreign(run, ties.elites)) is None:
            return
        time.sleep(0.05 if look < _PATIENCE - 1 else 0)
    assert problem is not None
    raise problem


def belong_together(run: Path, ties: Ties | None) -> bool:
    """Whether the elites are those of the last checkpoint, or of another one that is there."""
    known = [] if ties is None else [ties.elites, *_of_checkpoints(run)]
    return not known or any(_foreign(run, elites) is None for elites in known)


def _foreign(run: Path, elites: dict[str, str]) -> UserError | None:
    """What is wrong with the elites, if they are not these."""
    for name, expected in elites.items():
        path = run / "elites" / name
        try:
            if checksum(path) != expected:
                return DamagedError(f"{path} is not what the run wrote: it was changed, damaged, or is of another run.")
        except (MissingError, DamagedError) as error:
            return error
    return None


def _of_checkpoints(run: Path) -> list[dict[str, str]]:
    found = []
    for path in Checkpoints(run / "checkpoints").paths():
        try:
            found.append(read_checkpoint(path).elites)
        except (MissingError, DamagedError):
            continue
    return [elites for elites in found if elites]


def find_damaged_logs(run: Path, ties: Ties | None) -> list[str]:
    """What is wrong with the logs of a run, in words: those that are missing, damaged or of another run."""
    problems: list[str] = []
    for name, written in (ties.logs if ties is not None else {}).items():
        try:
            written.check(run / f"{name}.csv")
        except UserError as error:
            problems.append(str(error))
    return problems


def find_problems(run: Path, ties: Ties | None) -> list[str]:
    """Everything in a run that is damaged, missing or of another run, in words."""
    problems = find_damaged_logs(run, ties)
    try:
        check_elites(run, ties)
    except UserError as error:
        problems.append(str(error))
    return problems + _damaged_checkpoints(run, ties)


def find_strangers(run: Path) -> list[str]:
    """Names in the directory of a run that qdpg did not make, such as notes."""
    known = (*_KNOWN_BEGINNINGS, TEMPORARY)
    return sorted(path.name for path in run.iterdir() if path.name not in _KNOWN and not path.name.startswith(known))


def _damaged_checkpoints(run: Path, ties: Ties | None) -> list[str]:
    checkpoints, problems = Checkpoints(run / "checkpoints"), []
    for path in checkpoints.paths():
        try:
            found = read_checkpoint(path)
            if ties is not None and found.config and found.config != ties.config:
                problems.append(f"{path} is of another run: its settings are others.")
            parts = {path / STATE: found.checksums[STATE]}
            parts |= {checkpoints.journal / segment.file: segment.sha256 for segment in found.replay.segments}
            problems += [f"{part} is damaged." for part, expected in parts.items() if checksum(part) != expected]
        except UserError as error:
            problems.append(str(error))
    return problems
