"""The growth of the cost, measured and drawn."""

import pytest

from qdpg.bench.scaling import draw_scaling, measure_scaling


@pytest.mark.long
def test_costs_are_measured_and_drawn(tmp_path):
    results = measure_scaling(1, agents=(4, 8), batches=(32, 256), names=("point",))
    assert set(results) == {"point, agents", "point, minibatch"}
    for costs in results.values():
        assert min(value for size, value in costs.items() if size != "exponent") > 0
    assert draw_scaling(results, tmp_path).read_bytes().startswith(b"\x89PNG")
