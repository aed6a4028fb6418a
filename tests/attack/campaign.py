"""The attacks. Each is a function of a seed and a number, so that any of them can be repeated alone."""

import time
from collections.abc import Callable

from arena import Arena
from on_files import mutate, stranger
from on_processes import full_disk, kill, memory_limit, read_only, signals, two_writers
from on_words import command_line, settings
from victims import run, run_warm

Attack = Callable[[Arena, int, int], tuple[int, list[str]]]
# name -> the attack, and how many of a long campaign
ATTACKS: dict[str, tuple[Attack, int]] = {
    "kills": (kill, 20),  # ten each
    "full disks": (full_disk, 30),
    "signals": (signals, 40),
    "memory limits": (memory_limit, 30),
    "read-only directories": (read_only, 20),
    "two writers": (two_writers, 20),
    "settings": (settings, 300),
    "strangers' runs": (stranger, 600),
    "file mutations": (mutate, 1000),
    "command lines": (command_line, 1000),
}


WARM = (settings, stranger, mutate, command_line)  # which need no process of their own


def one(arena, name, seed, number):
    """One attack, as a record that JSON can hold: also how often it was done, refused, and so on, by exit code."""
    began, attack, codes = time.monotonic(), ATTACKS[name][0], []

    def noting(way):
        def called(*words, **how):
            done = way(*words, **how)
            codes.append(done.code)
            return done

        return called

    arena.run = noting(run_warm if attack in WARM else run)
    count, faults = attack(arena, seed, number)
    if faults and attack in WARM:  # what counts is what happens in a process of its own
        arena.run = noting(run)
        count, faults = attack(arena, seed, number)
    found = {"attack": name, "seed": seed, "number": number, "count": count, "faults": faults, "codes": codes}
    return found | {"seconds": round(time.monotonic() - began, 1)}


__all__ = ["ATTACKS", "Arena", "one"]
