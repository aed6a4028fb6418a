"""The mutants of `mutants.py` still fit the code and name tests that exist; whether they are killed, it finds out."""

import ast
from pathlib import Path

import pytest

import mutants


def test_every_patch_fits_in_exactly_one_place():
    assert not mutants.find_unfit()


@pytest.mark.parametrize("mutant", mutants.MUTANTS, ids=lambda mutant: mutant.error)
def test_a_mutant_is_code_and_its_tests_exist(mutant):
    source = (mutants.ROOT / "src" / "qdpg" / mutant.file).read_text()
    ast.parse(source.replace(mutant.old, mutant.new))
    assert mutant.tests
    for test in mutant.tests:
        file, _, name = test.partition("::")
        assert Path(file).parts[1] in ("algorithms", "emitters", "learn", "memory")
        functions = [node.name for node in ast.parse((mutants.ROOT / file).read_text()).body if hasattr(node, "name")]
        assert name.partition("[")[0] in functions
