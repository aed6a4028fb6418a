"""A connection to Ray for as long as it is needed.

A Ray of our own listens to this machine only, opens no dashboard, reports to nobody, has a token of its own, and leaves
nothing behind: by itself Ray 2.60 would listen to the network, and write into the home directory.
"""

from __future__ import annotations

import logging
import os
import secrets
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from qdpg.cluster.engine import RayEngine
from qdpg.cluster.scratch import Scratch
from qdpg.errors import UserError

_STORE = 256 * 2**20  # bytes of shared memory of a Ray of our own, at least
_STORE_SHARE = 0.1  # of the free memory, otherwise


@contextmanager
def connected(engine: RayEngine) -> Iterator[ModuleType]:
    """Connect to Ray, or use the connection that is there already; yield the module.

    Raises:
        UserError: Ray is not installed, or does not answer.
    """
    for name, value in _environment(engine).items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError:
        raise UserError("--engine ray needs Ray; install it with: pip install 'qdpg[ray]'") from None
    if ray.is_initialized():  # by whoever calls us
        yield ray
        return
    scratch = Scratch("qdpg-ray-") if engine.address is None else None
    where = {"address": engine.address} if scratch is None else _own(scratch.path)
    try:
        try:
            with warnings.catch_warnings():
                # JAX fears for a copy of this process, but what Ray starts becomes another program at once.
                warnings.filterwarnings("ignore", message=r"os\.fork")
                ray.init(**where, log_to_driver=False, logging_level=logging.ERROR)
        except Exception as error:  # of any kind: one that gives up waiting is a plain `Exception`
            raise UserError(f"Ray does not answer at {engine.address or 'this machine'}: {first_line(error)}") from error
        yield ray
    finally:
        ray.shutdown()
        if scratch is not None:
            scratch.remove()


def _environment(engine: RayEngine) -> Mapping[str, str]:
    """What Ray reads when it is imported or started; what the user has set stays."""
    quiet = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
    if engine.address is not None:
        return quiet
    own = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}  # despite its name: listen to 127.0.0.1 only, on every system
    if not {"RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"} & set(os.environ):
        own |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    return quiet | own


def _own(scratch: Path) -> dict[str, Any]:
    """Arguments for a Ray of our own."""
    import psutil

    return {
        "address": "local",
        "num_cpus": len(os.sched_getaffinity(0)),
        "include_dashboard": False,
        "object_store_memory": max(_STORE, int(_STORE_SHARE * psutil.virtual_memory().available)),
        "_temp_dir": str(scratch),
        "_system_config": {"worker_niceness": 0},  # our processes do the work, and are not there beside it
    }


def first_line(error: Exception) -> str:
    """The first line of an error."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
