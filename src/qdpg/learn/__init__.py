"""Pure building blocks of learning algorithms: networks, updates, rewards. Knows no task and no file."""
