"""What somebody could do to a run before handing it on: files that are wrong, with digests that are right."""

import contextlib
import csv
import io
import json
import os

import numpy as np
from damage import NASTY

from qdpg.errors import UserError
from qdpg.runs.config import identity
from qdpg.runs.files import checksum, read_arrays, write_arrays
from qdpg.runs.records import sealed

TRAP = "open({mark!r}, 'w').close()\nraise SystemExit(0)\n"
MARK = "executed"
CODE = [
    *("payload:Own", "payload", "queue:x", "os:fork", "sys:exit", "gym:payload:Own-v0", "gym:payload"),
    *("../outside/precious:x", "gym:", ":", "a.b.c:d", "qdpg.cli.main:main", "payload:Own.x", "builtins:exec"),
    *("gym:Pendulum-v1", "gym:Pendulum-v1", "gym:Pendulum-v1", "gym:Ant-v5"),
]
TEXTS = ["=HYPERLINK(1)", "@SUM(1)", "+1", "<script>alert(1)</script>", "[red]x[/red]", "a/../../b", "‮x", "\x9b31m"]
NAMES = [*("=1+1", "a\nb", "\x1b[31mred", "-rf", "<b>", "x" * 200), ".tmp-x", "damaged-00000001", "99999999", "9"]
VALUES = [*NASTY, *TEXTS, 2**31 - 1, 2**63, -(2**63), 1e-300, 1e300, [0] * 1000, {"a": {"b": {"c": 1}}}]
CELLS = ["", "nan", "inf", "-inf", "1e400", "-1", "1e18", "=1+1", "x", "\x1b[31m", '"', "1,2", "0x10", "٣", "1_0"]


def set_traps(directory, *names):
    """Modules in a directory that leave a mark there if anybody imports them."""
    for name in names or ("payload", "queue", "sitecustomize", "numpy"):
        (directory / f"{name}.py").write_text(TRAP.format(mark=str(directory / MARK)))


def is_sprung(directory):
    return (directory / MARK).exists()


def json_values(run, rng, outside):
    """Other values, anywhere in a JSON file."""
    path = rng.choice(sorted(run.rglob("*.json")))
    data = json.loads(path.read_text())
    said = []
    for _ in range(rng.choice([1, 1, 2])):
        holder, names = data, []
        while isinstance(holder, dict | list) and holder:
            key = rng.choice(range(len(holder)) if isinstance(holder, list) else list(holder))
            names.append(str(key))
            if not isinstance(holder[key], dict | list) or not holder[key] or rng.random() < 0.2:
                holder[key] = rng.choice(VALUES)
                said.append(f"{path.relative_to(run)} {'.'.join(names)} = {holder[key]!r:.40}")
                break
            holder = holder[key]
    path.write_text(json.dumps(data))
    return ", ".join(said)


def json_fields(run, rng, outside):
    """A field less, or more."""
    path = rng.choice(sorted(run.rglob("*.json")))
    data = json.loads(path.read_text())
    holder = rng.choice([data, *(each for each in data.values() if isinstance(each, dict) and each)])
    key = rng.choice(list(holder))
    if rng.random() < 0.6:
        del holder[key]
    else:
        key = rng.choice(["extra", "__class__", "ties", "outline", *TEXTS])
        holder[key] = rng.choice(VALUES)
    path.write_text(json.dumps(data))
    return f"{path.relative_to(run)} field {key!r:.40}"


def code(run, rng, outside):
    """A task or algorithm that is code, of which the run says what it is."""
    path = rng.choice(sorted(run.rglob("config.json")))
    data = json.loads(path.read_text())
    what, name = rng.choice(["task", "task", "algorithm"]), rng.choice(CODE)
    data[what] = name
    if rng.random() < 0.5:
        option = rng.choice(["env", "env", "name", "horizon", "kwargs", "kwargs.xml_file", "descriptor", "__init__"])
        data["task_options"] = {option: rng.choice([*CODE, *VALUES, {"xml_file": str(outside / "precious.txt")}])}
    path.write_text(json.dumps(data))
    if rng.random() < 0.7:  # with the contract of the task that it was trained on
        manifest = path.with_name("manifest.json")
        about = json.loads((path.parent / "elites" / "elites.json").read_text())
        outline = {"spec": about["spec"], "arithmetic": rng.choice(["jax", "native", "x"])}
        manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"outline": outline}))
    return f"{what} {name!r}"


def arrays(run, rng, outside):
    """Another type, shape or value of an array."""
    path = rng.choice(sorted(run.rglob("*.safetensors")))
    held = dict(read_arrays(path))
    name = rng.choice(sorted(held))
    array, how = held[name], rng.randrange(9)
    if how == 0:
        del held[name]
    elif how == 1:
        held[name] = array.astype(rng.choice([np.float64, np.int8, np.uint64, np.bool_, np.float16, np.int64]))
    elif how == 2:
        held[name] = array.reshape(-1)[: rng.choice([0, 1])]
    elif how == 3:
        held[name] = array[None]
    elif how == 4:
        held = {each: value[:0] if value.ndim else value for each, value in held.items()}
    elif how == 5:
        held["extra"] = array
    else:
        value = rng.choice([np.nan, np.inf, -1, 2**31 - 1, -(2**31), 1e30, 0])
        held[name] = array.copy()
        with np.errstate(all="ignore"), contextlib.suppress(OverflowError, ValueError):
            held[name].reshape(-1)[: rng.choice([1, None])] = np.asarray(value).astype(array.dtype)
    with contextlib.suppress(KeyError):  # a type that the format has no name for
        write_arrays(path, held)
    return f"{path.relative_to(run)} {name} kind {how}"


def header(run, rng, outside):
    """A header of a safetensors file that is absurd."""
    path = rng.choice(sorted(run.rglob("*.safetensors")))
    entry = {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}
    odd = rng.choice(
        [
            {"a": entry | {"shape": [2**40, 2**40]}},
            {"a": entry | {"data_offsets": [0, 2**63]}},
            {"a": entry | {"data_offsets": [16, 0]}},
            {"a": entry | {"dtype": rng.choice(["BF16", "F8_E4M3", "F4", "x", ""])}},
            {"a": entry | {"shape": [-2, -2]}},
            {"a": entry, "b": entry},
            {"__metadata__": {"a": "\x1b[31m"}, "a": entry},
            {"\x1b[31m": entry},
            {f"{n}": entry | {"shape": [0], "data_offsets": [0, 0]} for n in range(2000)},
            [],
        ]
    )
    text = json.dumps(odd).encode() if rng.random() < 0.9 else b"[" * 50_000
    size = len(text) if rng.random() < 0.8 else rng.choice([0, 2**32, 2**63, 2**64 - 1])
    path.write_bytes(size.to_bytes(8, "little") + text + bytes(16))
    return f"{path.relative_to(run)} header {odd!s:.60}"


def tables(run, rng, outside):
    """Other cells, columns or rows of a table."""
    path = rng.choice(sorted(run.rglob("*.csv")))
    rows = list(csv.reader(io.StringIO(path.read_text())))
    how, column = rng.randrange(6), rng.randrange(len(rows[0]))
    if how == 0:
        rows = [row[:column] + row[column + 1 :] for row in rows]
    elif how == 1:
        rows[0][column] = rng.choice([*TEXTS, rows[0][0], "", "\x1b[31m", "steps"])
    elif how == 2:
        rows = rows[: rng.choice([0, 1, 2])]
    elif how == 3:
        rows += rows[1:] * rng.choice([1, 3])
    else:
        cell = rng.choice(CELLS)
        for row in rows[1:] if rng.random() < 0.5 else [rng.choice(rows[1:] or rows)]:
            row[column] = cell
    path.write_text("\n".join(",".join(row) for row in rows) + "\n")
    return f"{path.relative_to(run)} kind {how} column {column}"


def extra(run, rng, outside):
    """Something more, in any place: links, pipes, sockets' names, directories and files with odd names."""
    place = rng.choice([run, *(path for path in sorted(run.rglob("*")) if path.is_dir())])
    path = place / rng.choice([*NAMES, "figures", "export", "adapt", "report", "page.html", "evaluated.csv", ".lock"])
    how = rng.randrange(6)
    if os.path.lexists(path):
        return f"{path.relative_to(run)} is there"
    if how == 0:
        path.symlink_to(rng.choice([outside, outside / "precious.txt", "/dev/zero", "/nowhere", ".", ".."]))
    elif how == 1:
        os.mkfifo(path)
    elif how == 2:
        path.mkdir()
        (path / "precious.txt").symlink_to(outside / "precious.txt")
    elif how == 3:
        path.mkdir()
    elif how == 4:
        path.write_bytes(rng.choice([b"", b"x", b"\x00" * 1000]))
    else:
        os.link(outside / "precious.txt", path)
    return f"{path.relative_to(run)!r} extra kind {how}"


KINDS = [json_values, json_values, json_values, json_fields, code, arrays, arrays, header, tables, extra]


def hurt(run, rng, outside):
    """Do one or two of these things; say which."""
    said = []
    for kind in rng.sample(KINDS, rng.choice([1, 1, 2])):
        try:
            said.append(kind(run, rng, outside))
        except (ValueError, OSError, IndexError, UserError):  # the first left nothing that the second could change
            said.append(f"no {kind.__name__}")
    for config in run.rglob("config.json"):
        reseal(config.parent)
    return "; ".join(said)


def reseal(run):
    """Make all digests of a run fit what it holds now, as far as it still has places for them."""
    odd = contextlib.suppress(TypeError, KeyError, AttributeError, ValueError, OSError, IndexError, UserError)
    config = _load(run / "config.json")
    with odd:
        own = identity(config)
        _seal(run / "config.json", config)
    elites = run / "elites"
    for name in ("elites.json", "evaluated.json"):
        with odd:
            about = _load(elites / name)
            about["elites_sha256"] = checksum(elites / "elites.safetensors")
            with odd:
                about["tables"] = {each: _written(elites / each) for each in about["tables"]}
            _seal(elites / name, about)
    parts = (elites / name for name in ("elites.safetensors", "elites.json"))
    held = {path.name: checksum(path) for path in parts if path.is_file()}
    manifests = [(run / "manifest.json", "ties"), *((path, None) for path in run.glob("checkpoints/*/manifest.json"))]
    for path, part in manifests:
        with odd:
            record = _load(path)
            ties = record if part is None else record.get(part)
            if isinstance(ties, dict):
                with odd:
                    ties["config"] = own
                    ties["elites"] = {each: held[each] for each in ties["elites"]}
                    ties["logs"] = {each: _written(run / f"{each}.csv") for each in ties["logs"]}
                with odd:
                    ties["checksums"] = {each: checksum(path.with_name(each)) for each in ties["checksums"]}
                    for segment in ties["replay"]["segments"]:
                        segment["sha256"] = checksum(path.parents[1] / "replay" / segment["file"])
            _seal(path, record)


def _load(path):
    return json.loads(path.read_text())


def _seal(path, data):
    path.write_text(json.dumps(sealed(data)))


def _written(path):
    return {"length": path.stat().st_size if path.exists() else 0, "sha256": checksum(path) if path.exists() else ""}
