"""What the paper printed: its Tables 1 and 2, and what they were measured with."""

from __future__ import annotations

from typing import NamedTuple

SEEDS = 5
STEPS = {"point-maze": 10**6, "ant-maze": 10**8, "ant-trap": 10**8}  # caption of Table 1


class Printed(NamedTuple):
    """A final performance as printed: a median and half the interquartile range."""

    median: float
    spread: float


# Table 1, by task; the evolution strategies from Table 2, which quotes them from Colas et al. (2020).
FINAL = {
    "point-maze": {
        "qd-pg": Printed(-24, 0),
        "qd-pg-sum": Printed(-24, 0),
        "d-pg": Printed(-36, 2),
        "q-pg": Printed(-128, 0),
        "sac": Printed(-126, 0),
        "td3": Printed(-129, 1),
        "rnd": Printed(-102, 4),
        "cem-rl": Printed(-312, 1),
        "p3s-td3": Printed(-144, 14),
        "agac": Printed(-32, 49),
        "diayn": Printed(-96, 14),
        "pga-me": Printed(-126, 0),
    },
    "ant-maze": {
        "qd-pg": Printed(-1, 7),
        "qd-pg-sum": Printed(-33, 4),
        "d-pg": Printed(-59, 0),
        "q-pg": Printed(-59, 0),
        "sac": Printed(-26, 0),
        "td3": Printed(-35, 1),
        "rnd": Printed(-31, 1),
        "cem-rl": Printed(-26, 0),
        "p3s-td3": Printed(-60, 0),
        "agac": Printed(-43, 3),
        "diayn": Printed(-47, 4),
        "pga-me": Printed(-18, 6),
        "me-es": Printed(-5, 0),
        "nsr-es": Printed(-26, 0),
        "nsra-es": Printed(-2, 1),
    },
    "ant-trap": {
        "qd-pg": Printed(1540, 46),
        "qd-pg-sum": Printed(1013, 0),
        "d-pg": Printed(1014, 0),
        "q-pg": Printed(1139, 38),
        "sac": Printed(1075, 7),
        "td3": Printed(1131, 4),
        "rnd": Printed(1014, 27),
        "cem-rl": Printed(977, 3),
        "p3s-td3": Printed(1173, 4),
        "agac": Printed(1113, 8),
        "diayn": Printed(949, 34),
        "pga-me": Printed(1455, 17),
    },
}
QUOTED = ("me-es", "nsr-es", "nsra-es")  # not run by the paper's authors

# Table 2: environment steps to the goal of ant-maze.
STEPS_TO_GOAL = {
    "qd-pg": 8.4e7,
    "cem-rl": float("inf"),
    "me-es": 2.4e10,
    "nsr-es": float("inf"),
    "nsra-es": 2.1e10,
}
RATIO = {"qd-pg": 1.0, "cem-rl": float("inf"), "me-es": 286.0, "nsr-es": float("inf"), "nsra-es": 249.0}
