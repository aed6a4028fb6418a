"""`qdpg show`: what came of a run."""

from __future__ import annotations

import json
from pathlib import Path

from qdpg.runs.run import load_run
from qdpg.runs.summary import plain, print_words, put_in_words, summarise


def run(path: Path, as_json: bool) -> int:
    """Print a summary of the run in `path`.

    Args:
        path: Directory of the run.
        as_json: Print one JSON object of plain numbers instead of a table; what is unknown is null.

    Returns:
        The exit status, 0.

    Raises:
        UserError: There is no run, or it has not finished a generation.
    """
    summary = summarise(load_run(path))
    if as_json:
        print(json.dumps(plain(summary), indent=2, allow_nan=False))
    else:
        print_words(str(path), put_in_words(summary))
    return 0
