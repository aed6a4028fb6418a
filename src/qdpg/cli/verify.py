"""`qdpg verify`: replay every elite and compare with what is stored."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

from qdpg.compiled import cache_compiled_programs
from qdpg.evaluation.verify import verify
from qdpg.runs.run import load_run
from qdpg.runs.software import describe_software, differences
from qdpg.terminal import make_console


def run(path: Path, as_json: bool, trust: bool = False) -> int:
    """Replay, compare, print; 0 if every elite is exactly what it is said to be and all files belong, else 1."""
    cache_compiled_programs()
    run = load_run(path, trust)
    found = verify(run)
    code = 0 if found.is_exact else 1
    if as_json:
        print(json.dumps(dataclasses.asdict(found)))
        return code
    console = make_console()
    for problem in found.problems:
        console.print(problem, soft_wrap=True)
    if found.strangers:
        console.print(f"not made by qdpg: {', '.join(found.strangers)}", soft_wrap=True)
    if not found.different:
        console.print(f"all {found.elites} elites replay exactly: fitness and behaviour equal the stored ones.")
        return code
    cells = [each["cell"] for each in found.different]
    console.print(f"{len(cells)} of {found.elites} elites do not replay exactly (cells {cells}).")
    if changed := differences(run.manifest, describe_software()):
        console.print(f"versions or machine differ: {'; '.join(changed)}")
    return code
