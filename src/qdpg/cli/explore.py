"""`qdpg explore`: the archive in a browser."""

from __future__ import annotations

import signal
import threading
import webbrowser
from collections.abc import Sequence
from pathlib import Path

from qdpg.cli.export import elite_progress
from qdpg.compiled import cache_compiled_programs
from qdpg.errors import UserError
from qdpg.explorer.app import Explorer, load_runs
from qdpg.explorer.guard import make_token, start_server
from qdpg.explorer.page import write_page
from qdpg.ranges import Range


def run(
    paths: Sequence[Path], to: Path | None, host: str, port: int, open_browser: bool, quiet: bool, trust: bool = False
) -> int:
    """Serve the explorer until Ctrl-C, or write the page; 0."""
    Range(0, 65535).check(port, "--port")
    cache_compiled_programs()
    runs = load_runs(paths, trust)
    if to is not None:
        if len(runs) > 1:
            raise UserError("a page shows one run; give only one with --to.")
        with elite_progress(as_json=False, quiet=quiet) as show:
            write_page(runs[0], to, show())
        if not quiet:
            print(f"{to} ({to.stat().st_size / 1e6:.1f} MB)")
        return 0
    token = make_token(host)
    explorer = Explorer(start_server(host, port, token), runs)
    address = f"http://{host}:{explorer.server.get_port()}/" + ("" if token is None else f"?token={token}")
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
