"""Train collections of diverse, high-performing neural policies."""

from qdpg.version import __version__

__all__ = ["__version__"]
