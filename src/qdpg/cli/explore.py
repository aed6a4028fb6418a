"""`qdpg explore`: the archive in a browser."""

from __future__ import annotations

import signal
import sys
import threading
import webbrowser
from collections.abc import Sequence
from pathlib import Path

from qdpg.cli.export import elite_progress
from qdpg.compiled import cache_compiled_programs
from qdpg.errors import UserError
from qdpg.explorer.app import Explorer, load_runs
from qdpg.explorer.guard import check_host, make_token, name_for_browsers, start_server
from qdpg.explorer.page import write_page
from qdpg.ranges import Range
from qdpg.runs.ties import find_damaged_logs
from qdpg.terminal import printable


def run(
    paths: Sequence[Path], to: Path | None, host: str, port: int, open_browser: bool, quiet: bool, trust: bool = False
) -> int:
    """Serve the explorer until Ctrl-C, or write the page; 0."""
    Range(0, 65535).check(port, "--port")
    check_host(host)
    cache_compiled_programs()
    if to is not None and len(paths) > 1:
        raise UserError("a page shows one run; give only one with --to.")
    if to is not None and (to.is_dir() or not to.name):
        raise UserError(f"--to {to} is a directory; name the file, such as --to {to / 'page.html'}.")
    runs = load_runs(paths, trust)
    for problem in (problem for run in runs for problem in find_damaged_logs(run.path, run.ties)):
        print(f"qdpg: {printable(problem)} What training was like is not shown.", file=sys.stderr, flush=True)
    if to is not None:
        with elite_progress(as_json=False, quiet=quiet) as show:
            write_page(runs[0], to, show())
        if not quiet:
            print(f"{to} ({to.stat().st_size / 1e6:.1f} MB)")
        return 0
    token = make_token(host)
    explorer = Explorer(start_server(host, port, token), runs)
    address = f"http://{name_for_browsers(host)}:{explorer.server.get_port()}/"
    address += "" if token is None else f"?token={token}"
    if not quiet:
        print(f"{address}   (Ctrl-C ends it)", flush=True)
    if open_browser:
        webbrowser.open(address)
    done = threading.Event()
    previous = {each: signal.signal(each, lambda *_: done.set()) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        done.wait()
    finally:
        for each, handler in previous.items():
            signal.signal(each, handler)
        explorer.close()
    return 0
