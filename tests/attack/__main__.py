"""The long campaign: `python tests/attack --seed 1`. What was done is remembered; stopped, it goes on."""

import argparse
import fcntl
import json
import resource
import signal
import sys
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from campaign import ATTACKS, Arena, one  # noqa: E402

MOST_MEMORY = 12 * 2**30  # bytes of any process


def table(records):
    """A row per kind of attack, as Markdown."""
    lines = ["| attack | done | faults |", "|---|---:|---:|"]
    for name in ATTACKS:
        own = [record for record in records if record["attack"] == name]
        lines.append(f"| {name} | {sum(r['count'] for r in own):,} | {sum(len(r['faults']) for r in own)} |")
    return "\n".join(lines)


def main():
    """Attack; 0 if nothing was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("runs/attack"), help="where victims and the record are kept")
    parser.add_argument("--only", nargs="*", choices=list(ATTACKS), help="kinds of attack; all by default")
    parser.add_argument("--share", type=float, default=1.0, help="of the long campaign")
    parser.add_argument("--part", default="1/1", help="such as 2/3: of three that run at once, each with its own --out")
    parser.add_argument("--again", action="store_true", help="repeat those that found a fault")
    chosen = parser.parse_args()
    # Whoever starts us with nohup, or in the background of a script: what is attacked must hear all signals.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))  # a stranger's run must not take the machine
    chosen.out.mkdir(parents=True, exist_ok=True)
    lock = (chosen.out / "lock").open("w")
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # two would attack each other's victims
    record = chosen.out / f"seed-{chosen.seed}.jsonl"
    records = [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []
    if chosen.again:
        records = [each for each in records if not each["faults"]]
        record.write_text("".join(json.dumps(each) + "\n" for each in records))
    done = {(each["attack"], each["number"]) for each in records}
    arena = Arena(chosen.out.absolute() / "arena")
    wanted = {name: max(1, round(chosen.share * ATTACKS[name][1])) for name in chosen.only or ATTACKS}
    part, parts = map(int, chosen.part.split("/"))
    todo = [(number / of, name, number) for name, of in wanted.items() for number in range(part - 1, of, parts)]
    for _, name, number in sorted(todo):  # of each kind its share, so that a campaign that is stopped has some of all
        if (name, number) in done:
            continue
        found = one(arena, name, chosen.seed, number)
        records.append(found)
        with record.open("a") as file:
            file.write(json.dumps(found) + "\n")
        for fault in found["faults"]:
            print(f"{name} {number}: {fault}\n", flush=True)
    print(table(records))
    counts = Counter(each["attack"] for each in records if each["faults"])
    return 1 if counts else 0


if __name__ == "__main__":
    sys.exit(main())
