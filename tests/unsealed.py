"""Runs without digests, as older versions wrote them, so that tests can change them by hand."""

import json

from qdpg.runs.files import checksum


def unseal(run):
    """Take the digests out of the run in this directory."""
    for name, changes in (("config.json", {"format": 2}), ("manifest.json", {})):
        data = json.loads((run / name).read_text())
        for sealed in ("sha256", "ties"):
            data.pop(sealed, None)
        (run / name).write_text(json.dumps(data | changes))


def unseal_elites(run):
    """The same, for elites that have been changed: the run takes them for its own."""
    unseal(run)
    elites = run / "elites"
    about = json.loads((elites / "elites.json").read_text())
    about |= {"format": 1, "elites_sha256": checksum(elites / "elites.safetensors")}
    del about["sha256"]
    (elites / "elites.json").write_text(json.dumps(about))
