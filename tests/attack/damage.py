"""Kinds of damage to a file of a run. Each takes the file, a random generator and another run."""

import json
import os
import shutil

COPY = "copy"  # the name of runs that are damaged
NASTY = [None, True, -1, 0, 10**30, 1e400, float("nan"), "", "\x1b[31mred", "../../x", [], {}, [[[]]], "x" * 5000, 0.5]


def truncate(path, rng, other):
    size = path.stat().st_size
    os.truncate(path, rng.randrange(size) if size else 0)


def empty(path, rng, other):
    path.write_bytes(b"")


def remove(path, rng, other):
    path.unlink()


def flip_bit(path, rng, other):
    content = bytearray(path.read_bytes() or b"x")
    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    path.write_bytes(bytes(content))


def overwrite(path, rng, other):
    content = bytearray(path.read_bytes() or b"x" * 10)
    start = rng.randrange(len(content))
    some = rng.randbytes(rng.randrange(1, 64))
    content[start : start + len(some)] = some
    path.write_bytes(bytes(content))


def garbage(path, rng, other):
    path.write_bytes(rng.randbytes(rng.randrange(1, 5000)))


def append(path, rng, other):
    path.write_bytes(path.read_bytes() + rng.choice([b" ", b"\n", b"1,2,3\n", b"\x00" * 100, rng.randbytes(40)]))


def repeat_a_part(path, rng, other):
    content = path.read_bytes() or b"x"
    cut = rng.randrange(len(content))
    path.write_bytes(content[:cut] + content[cut // 2 :])


def swap_lines(path, rng, other):
    lines = path.read_bytes().splitlines(keepends=True)
    rng.shuffle(lines)
    path.write_bytes(b"".join(lines) or b"x")


def change_a_digit(path, rng, other):
    content = bytearray(path.read_bytes())
    digits = [n for n, byte in enumerate(content) if 48 <= byte < 58]
    if not digits:
        return flip_bit(path, rng, other)
    place = rng.choice(digits)
    content[place] = 48 + (content[place] - 48 + rng.randrange(1, 10)) % 10
    path.write_bytes(bytes(content))
    return None


def directory(path, rng, other):
    path.unlink()
    path.mkdir()


def pipe(path, rng, other):
    path.unlink()
    os.mkfifo(path)


def link_outside(path, rng, other):
    path.unlink()
    path.symlink_to(other.parents[1] / "outside" / "precious.txt")


def link_to_device(path, rng, other):
    path.unlink()
    path.symlink_to(rng.choice(["/dev/zero", "/dev/full", "/dev/tty", "/nowhere/at/all"]))


def dangling_link(path, rng, other):
    path.unlink()
    path.symlink_to(other.parents[1] / "outside" / "not-there.txt")


def huge(path, rng, other):
    path.write_bytes(b"")
    os.truncate(path, 2**41)


def foreign(path, rng, other):
    """The same file of another run, if it has it."""
    twin = other / path.relative_to(path_of_run(path))
    if twin.is_file() and twin.read_bytes() != path.read_bytes():
        shutil.copyfile(twin, path)
    else:
        flip_bit(path, rng, other)


def json_value(path, rng, other):
    """Another value somewhere in a JSON file."""
    data = _load(path)
    if data is None:
        return garbage(path, rng, other)
    holder = data
    while True:
        keys = list(range(len(holder))) if isinstance(holder, list) else list(holder)
        key = rng.choice(keys)
        if isinstance(holder[key], dict | list) and holder[key] and rng.random() < 0.7:
            holder = holder[key]
            continue
        holder[key] = rng.choice(NASTY)
        break
    path.write_text(json.dumps(data))
    return None


def json_key(path, rng, other):
    """A field less or more in a JSON file."""
    data = _load(path)
    if not isinstance(data, dict):
        return overwrite(path, rng, other)
    if rng.random() < 0.5:
        del data[rng.choice(list(data))]
    else:
        data[rng.choice(["extra", "sha256", "__class__", "x" * 300])] = rng.choice(NASTY)
    path.write_text(json.dumps(data))
    return None


def deep_json(path, rng, other):
    path.write_text("[" * 100_000)


def _load(path):
    try:
        return json.loads(path.read_text()) or None
    except ValueError:
        return None


def path_of_run(path):
    """The run that a file is part of; see `campaign.py`."""
    return next(parent for parent in path.parents if parent.name == COPY)


KINDS = [
    *(truncate, empty, remove, flip_bit, overwrite, garbage, append, repeat_a_part, swap_lines, change_a_digit),
    *(directory, pipe, link_outside, link_to_device, dangling_link, huge, foreign, json_value, json_key, deep_json),
]
