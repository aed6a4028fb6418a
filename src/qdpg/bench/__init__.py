"""Measurements of speed, against the machine and against other software."""
