"""`python -m qdpg` is `qdpg`."""

from qdpg.cli.main import main

main()
