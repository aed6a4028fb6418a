"""One cache of compiled programs for all tests and what they start, apart from the user's own; and who runs what.

The tests of a file run in one process: two would compile the same programs and train the same fixtures twice. So do
files that name the same `xdist_group`. (pytest-xdist 3.8 would see to groups itself, but not with pytest 9.)
"""

import os
import re
from pathlib import Path

import pytest

from qdpg.compiled import cache_compiled_programs

HERE = Path(__file__).parent
SLOW = ("runs/test_train.py", "matrix/test_compare.py")  # first, so as not to be last

os.environ["XDG_CACHE_HOME"] = str(HERE.parent / ".pytest_cache" / "compiled")
cache_compiled_programs()


def pytest_collection_modifyitems(items):
    """Put what takes long first; all others stay in order."""
    items.sort(key=lambda item: item.path.relative_to(HERE).as_posix() not in SLOW)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Hand out tests by file, or by group of files, in the order in which they were collected."""
    if config.getvalue("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class ByGroup(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file = nodeid.partition("::")[0]
            group = re.search(r'xdist_group\("(.+?)"\)', (config.rootpath / file).read_text())
            return group[1] if group else file

    config.option.loadscopereorder = False
    return ByGroup(config, log)
