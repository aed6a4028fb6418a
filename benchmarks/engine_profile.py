"""Where the engine's time goes, operation by operation, as XLA compiled it.

`python benchmarks/engine_profile.py [point | ant29 | ant113]` prints the milliseconds per vector step of each kind of
operation and, of products, the rate at which they run. Being watched costs an operation a few microseconds, so that the
sum is above the time of a step.
"""

import argparse
import math
import os
import re
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

SHAPED = re.compile(r"%([\w.\-]+) = f32\[([\d,]*)\]")
DOT = re.compile(r"= f32\[([\d,]*)\]\S* dot\(%([\w.\-]+), .*?lhs_contracting_dims=\{([\d,]*)\}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workload", nargs="?", default="ant113")
    name = parser.parse_args().workload
    with tempfile.TemporaryDirectory() as directory:
        # Both must be known before JAX starts: the program in words, and no program from an earlier day.
        os.environ["XLA_FLAGS"] = f"--xla_dump_to={directory} --xla_dump_hlo_as_text"
        spent, calls, steps = run(name, Path(directory))
        program = max(Path(directory).glob("*after_optimizations.txt"), key=lambda path: path.stat().st_size)
        count = operations(program.read_text())
    milliseconds, work = defaultdict[str, float](float), defaultdict[str, float](float)
    for op, nanoseconds in spent.items():
        kind = describe(op, count.get(op, 0))
        milliseconds[kind] += nanoseconds / 1e6 / steps
        work[kind] += count.get(op, 0) * calls[op] / steps
    whole = sum(milliseconds.values())
    for kind, time in sorted(milliseconds.items(), key=lambda item: -item[1]):
        rate = f"{work[kind] / time / 1e6:6.1f} GFlop/s" if work[kind] else ""
        print(f"{kind:40s} {time:8.3f} ms  {time / whole:6.1%}  {rate}")
    print(f"{'all':40s} {whole:8.3f} ms")


def run(name: str, directory: Path) -> tuple[Counter[str], Counter[str], int]:
    """Watch one turn; return nanoseconds and calls of each operation, and the number of steps."""
    import jax

    from qdpg.bench.engine import WORKLOADS, fill_replay, make_ours

    workload = WORKLOADS[name]
    turn = make_ours(workload, fill_replay(workload))
    turn()
    with jax.profiler.trace(directory / "trace"):
        turn()
    spent, calls = Counter[str](), Counter[str]()
    (trace,) = (directory / "trace").rglob("*.xplane.pb")
    for plane in jax.profiler.ProfileData.from_file(str(trace)).planes:
        for line in plane.lines:
            for event in line.events:
                op = dict(event.stats).get("hlo_op")
                if op and not op.startswith(("while", "call", "conditional")):  # these hold others
                    spent[op] += event.duration_ns
                    calls[op] += 1
    return spent, calls, workload.steps


def operations(program: str) -> dict[str, int]:
    """Floating-point operations of the products in each operation of a program, those that hold a product."""
    bodies = {m[1]: m[2] for m in re.finditer(r"\n%([\w.\-]+) \([^\n]*\{\n(.*?)\n\}", program, re.DOTALL)}
    shapes = {m[1]: numbers(m[2]) for m in SHAPED.finditer(program)}
    found = {}
    for line in program.splitlines():
        if not (named := re.match(r"\s*(?:ROOT )?%([\w.\-]+) = ", line)):
            continue
        called = re.search(r"calls=%([\w.\-]+)", line)
        lines = bodies.get(called[1], "").splitlines() if called else [line]
        local = shapes | {m[1]: numbers(m[2]) for each in lines for m in SHAPED.finditer(each)}
        products = [match for each in lines if (match := DOT.search(each))]
        if products:
            found[named[1]] = sum(
                2 * math.prod(numbers(out)) * math.prod(local[left][axis] for axis in numbers(axes))
                for out, left, axes in (match.groups() for match in products)
            )
    return found


def numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",") if word]


def describe(op: str, count: int) -> str:
    if count > 1e5 and op.startswith(("dot", "ynn")):
        return "weight gradients (Eigen)" if op.startswith("dot") else "other products (YNN)"
    if count:
        return "matrix times vector"
    if "gather" in op:
        return "reading minibatches"
    return "passes over activations and parameters"


if __name__ == "__main__":
    main()
