"""Products and solutions are the same bits on any number of threads."""

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from textwrap import dedent

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from qdpg.learn.navigation import plan_field
from qdpg.native import one_thread
from qdpg.tasks.locating import find_located
from wandering import roadmap_of, wander


def on_threads(number, compute):
    """What comes of it where linear algebra may take so many threads."""
    with threadpool_limits(number, "blas"):
        return compute()


def same(compute):
    """Whether one and several threads give the same bits."""
    return all(np.array_equal(a, b) for a, b in zip(on_threads(1, compute), on_threads(4, compute), strict=True))


def test_planned_fields_do_not_depend_on_threads():
    roadmap = roadmap_of(wander())
    assert same(lambda: plan_field(roadmap, np.array([0.5, 0.5]), 0, np.zeros((1, 2)), np.ones(2), 3))


def test_where_descriptors_stand_does_not_depend_on_threads():
    seen = np.random.default_rng(1).standard_normal((5_000, 300))
    assert same(lambda: find_located(seen, 0.3 * seen[:, [73, 74]] + 0.1))


def counts():
    """The numbers of threads that libraries would take."""
    return {each["num_threads"] for each in threadpool_info()}


def test_within_it_there_is_one_thread():
    with threadpool_limits(4, "blas"):
        with one_thread():
            assert counts() == {1}
        assert 4 in counts()


def test_who_leaves_first_does_not_restore_it_for_others():
    before, entered, leave = counts(), threading.Event(), threading.Event()

    def stay():
        with one_thread():
            entered.set()
            assert leave.wait(60)
            return counts()

    def come_later():
        assert entered.wait(60)
        with one_thread():
            first_is_gone = leave.is_set()
            return counts() if first_is_gone else None

    with ThreadPoolExecutor(2) as pool:
        results = [pool.submit(stay), pool.submit(come_later)]
        assert entered.wait(60)
        time.sleep(0.2)  # the second is at the door
        leave.set()
        assert [each.result() for each in results] == [{1}, {1}]
    assert counts() == before


def test_it_knows_libraries_that_nobody_has_loaded_yet():
    script = """
        from qdpg.native import one_thread
        with one_thread():
            pass
        import scipy.linalg
        from threadpoolctl import threadpool_info, threadpool_limits
        with threadpool_limits(4, "blas"), one_thread():
            print(sorted({each["num_threads"] for each in threadpool_info()}))
    """
    printed = subprocess.run([sys.executable, "-c", dedent(script)], capture_output=True, text=True, check=True)
    assert printed.stdout.strip() == "[1]"
