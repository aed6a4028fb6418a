"""Where work is done: in this process, or on Ray."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from qdpg.errors import UserError


@dataclass(frozen=True)
class RayEngine:
    """Work is done by processes of Ray.

    Attributes:
        address: HOST:PORT of a cluster that this machine belongs to, or "auto". None starts Ray on this machine alone,
            for as long as it is needed.
        workers: Processes that play episodes, a core each; as many as the cluster has cores if None.
    """

    address: str | None = None
    workers: int | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be meant."""
        if self.workers is not None and self.workers < 1:
            raise UserError(f"the number of workers is {self.workers}, but must be at least 1.")
        if self.address is not None and self.address.startswith("ray://"):
            raise UserError(
                f"--address {self.address} is Ray's client; run qdpg on a node of the cluster, with --address auto."
            )
        if self.address not in (None, "auto") and not re.fullmatch(r".+:\d{1,5}", self.address):
            raise UserError(f"--address is {self.address!r}, but must be HOST:PORT or auto.")


Engine = Literal["local", "ray"] | RayEngine


def find_engine(engine: Engine, address: str | None = None) -> RayEngine | None:
    """Return what `engine` and `address` ask for; None for this process.

    Raises:
        UserError: They make no sense.
    """
    if isinstance(engine, RayEngine):
        return engine
    if engine == "ray":
        return RayEngine(address)
    if engine != "local":
        raise UserError(f"there is no engine {engine!r}; there are: local, ray.")
    if address is not None:
        raise UserError(f"--address {address} needs --engine ray.")
    return None
