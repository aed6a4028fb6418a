"""Fair timing on a noisy machine: contestants take turns, and the best turn counts."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any


def time_alternating(contestants: Mapping[str, Callable[[], Any]], turns: int = 5) -> dict[str, float]:
    """Run all contestants once to warm up, then `turns` times in alternation; return the best seconds of each."""
    for run in contestants.values():
        run()
    best = dict.fromkeys(contestants, float("inf"))
    for _ in range(turns):
        for name, run in contestants.items():
            began = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - began)
    return best
