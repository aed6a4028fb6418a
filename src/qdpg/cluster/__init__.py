"""Ray: connecting to it, and who may work for us. `import qdpg` does not import Ray (extra `ray`)."""
