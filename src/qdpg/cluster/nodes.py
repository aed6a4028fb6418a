"""Who may work for us: nodes with the same versions, since results depend on them."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import NamedTuple

from qdpg.software import find_processor, find_versions


class Node(NamedTuple):
    """Where a process of Ray runs, and what with."""

    name: str
    versions: Mapping[str, str]
    processor: Mapping[str, str]


def this_node() -> Node:
    """The machine that this process runs on."""
    return Node(socket.gethostname(), find_versions(), find_processor())


def refusal(node: Node, ours: Node) -> str | None:
    """Say in one sentence why `node` must not work for us; None if it may."""
    other = [
        f"{name} {node.versions.get(name)} instead of {version}"
        for name, version in ours.versions.items()
        if node.versions.get(name) != version
    ]
    if not other:
        return None
    return (
        f"node {node.name} has {', '.join(other)}; install the same requirements.lock on every node "
        "(docs/cluster.md), or take it out of the cluster."
    )


def remark(node: Node, ours: Node) -> str | None:
    """Say in one sentence what differs without being refused; None if nothing does."""
    if node.processor == ours.processor:
        return None
    return (
        f"node {node.name} has another processor ({node.processor['cpu']}, not {ours.processor['cpu']}): results are "
        "as good, but bit for bit the same only on like ones (docs/reproducibility.md)."
    )
