"""Shared by all tests: what JAX compiles is kept between processes, as runs do, since compiling is most of the time."""

from qdpg.runs.files import cache_compiled_programs

cache_compiled_programs()
