"""What results depend on besides settings and seed: versions, machine, flags. See docs/reproducibility.md."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from qdpg.software import find_processor, find_versions

# What decides how compilers round, besides versions.
_FLAGS = (
    *("XLA_FLAGS", "JAX_ENABLE_X64", "JAX_DEFAULT_MATMUL_PRECISION", "JAX_PLATFORMS", "JAX_DISABLE_JIT"),
    *("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_OPT", "NUMBA_DISABLE_JIT"),
    *("NPY_DISABLE_CPU_FEATURES", "NPY_ENABLE_CPU_FEATURES", "OPENBLAS_CORETYPE", "MKL_CBWR"),
)
# What a continued run may differ in without another result: see `differences`.
_HARMLESS = ("revision", "changed", "started", "seed", "threads", "machine", "python")


def describe_software() -> dict[str, Any]:
    """Versions, machine, flags, revision, and whether the source was changed since."""
    revision = _ask_git("rev-parse", "HEAD")
    return {
        **find_versions(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        **find_processor(),
        "threads": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "flags": {name: os.environ[name] for name in _FLAGS if name in os.environ},
        "revision": revision or None,
        # An answer that does not come counts as a change.
        "changed": bool(revision) and _ask_git("status", "--porcelain", "--", ".") != "",
    }


def begun(then: Mapping[str, Any]) -> dict[str, Any]:
    """What a run remembers when this code trains it from the start, whoever made its directory."""
    return {**then, **describe_software()}


def continued(then: Mapping[str, Any]) -> dict[str, Any]:
    """What a run remembers when this code goes on with it: once code was another, the revision does not tell all."""
    now = describe_software()
    is_same = then.get("revision") == now["revision"] and not now["changed"]
    return {**then, "changed": bool(then.get("changed")) or not is_same}


def differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What results depend on and is not as it was, in words."""
    names = [name for name in now if name in then and name not in _HARMLESS]
    return [f"{name} {_plain(then[name])} then, {_plain(now[name])} now" for name in names if then[name] != now[name]]


def _plain(value: Any) -> str:
    return " ".join(f"{k}={v}" for k, v in value.items()) or "none" if isinstance(value, Mapping) else str(value)


def _ask_git(*words: str) -> str | None:
    """What git says of qdpg's own source, if it runs from a checkout: its revision, or what is not committed."""
    source = Path(__file__).parents[1]
    try:
        found = subprocess.run(
            ["git", "-C", str(source), *words], capture_output=True, text=True, timeout=5, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return found.stdout.strip() if found.returncode == 0 else None
