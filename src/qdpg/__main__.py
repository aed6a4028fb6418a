"""`python -m qdpg` is `qdpg`."""

import sys

if not sys.flags.safe_path:
    del sys.path[0]  # the current directory, where anything may lie; what a person names there is found all the same

from qdpg.cli.start import main

main()
