"""One file per algorithm: its Config, its State, and an ask/tell pair around the one training loop."""
