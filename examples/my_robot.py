"""A robot of one's own: a MuJoCo file, in Gymnasium's environment for four-legged robots.

Its policies run forward, or wherever they like: what tells them apart is where they end.
"""

from pathlib import Path

from qdpg.tasks.gymnasium import GymnasiumTask

dog = GymnasiumTask(
    env="Ant-v5",
    kwargs={
        "xml_file": str(Path(__file__).with_name("dog.xml")),
        "healthy_z_range": (0.2, 1.0),
        "ctrl_cost_weight": 0.05,
        "contact_cost_weight": 0.0,
        "include_cfrc_ext_in_observation": False,
    },
    descriptor="position",
    descriptor_names=("x", "y"),
    low=(-5.0, -5.0),
    high=(5.0, 5.0),
    horizon=300,
    name="dog",
)
