"""Training runs: the one loop, the run directory, checkpoints, metrics, progress."""
