import pytest

from qdpg.emitters.objective import GradientObjective, Objective
from qdpg.errors import UserError
from qdpg.options import replace_options


def test_defaults_are_the_papers():
    """One discount for both (Table 3), rewards and actions as they are, all parents alike, nothing explored."""
    assert Objective() == Objective(
        discount=0.99,
        reward_scale=1.0,
        action_bound=1.0,
        rate_range=0.0,
        selection_pressure=1.0,
        exploration_episodes=0,
        exploration_noise=0.0,
        reward_offset=0.0,
        shaped=False,
    )


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("discount", 99.0),
        ("discount", -0.1),
        ("reward_scale", -1.0),
        ("action_bound", 0.0),
        ("rate_range", -1.0),
        ("selection_pressure", 0.5),
        ("exploration_episodes", -1),
        ("exploration_noise", -0.1),
    ],
)
def test_what_lies_outside_its_range_is_refused(setting, value):
    with pytest.raises(UserError, match=f"option '{setting}' of an objective must be .* not {value}"):
        replace_options(GradientObjective(), {setting: value}, "an objective")
