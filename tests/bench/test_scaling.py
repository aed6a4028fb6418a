"""The growth of the cost, measured and drawn."""

from qdpg.bench.scaling import draw_scaling, measure_scaling


def test_costs_are_measured_and_drawn(tmp_path):
    results = measure_scaling(1, agents=(4, 8), batches=(8, 32))
    assert set(results) == {f"{name}, {what}" for name in ("point", "ant29") for what in ("agents", "minibatch")}
    for costs in results.values():
        assert min(value for size, value in costs.items() if size != "exponent") > 0
    assert draw_scaling(results, tmp_path).read_bytes().startswith(b"\x89PNG")
