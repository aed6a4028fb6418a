"""The matrix of runs: tasks × algorithms × seeds, many at once, taken up again after any interruption."""
