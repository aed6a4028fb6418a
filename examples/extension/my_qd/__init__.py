"""A task, an emitter and an algorithm of one's own, in a package of their own: docs/extending.md."""
