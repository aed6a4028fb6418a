"""`python -m qdpg` is `qdpg`."""

from qdpg.cli.start import main

main()
