"""What a policy gradient climbs: settings that an algorithm has once for every objective."""

from __future__ import annotations

from dataclasses import dataclass

from qdpg.ranges import AtLeastOne, CountOrNone, NotNegative, Number, Positive, Share


@dataclass(frozen=True)
class GradientObjective:
    """Settings of any objective that policies climb. The defaults are the paper's.

    Attributes:
        discount: γ of its critics (Table 3 gives one value for both; the theory has 1 for diversity).
        reward_scale: Factor on its reward in the critics' eyes; fitness is untouched.
        action_bound: How far from 0 the last layer of its policies may go where they end in no tanh; actions end at 1.
        rate_range: Powers of ten below `actor_rate` over which the learning rates of its policies are spread, one drawn
            for each, uniformly in the logarithm; 0 in the paper.
        selection_pressure: How strongly parents are drawn from the better elites (see `Elites.draw`); 1 draws from all
            alike, as the paper does.
        exploration_episodes: Episodes per generation, of copies of its policies, that only fill the replay memory: the
            archive and the visited states are those of the policies themselves.
        exploration_noise: σ of the action noise in them.
    """

    discount: Share = 0.99
    reward_scale: NotNegative = 1.0
    action_bound: Positive = 1.0
    rate_range: NotNegative = 0.0
    selection_pressure: AtLeastOne = 1.0
    exploration_episodes: CountOrNone = 0
    exploration_noise: NotNegative = 0.0

    @property
    def shapes_novelty(self) -> bool:
        """Whether novelty, where it counts, is learned from by potential-based shaping."""
        return False


@dataclass(frozen=True)
class Objective(GradientObjective):
    """Settings of an objective whose reward states or steps have: quality, or diversity as the paper has it.

    Attributes:
        reward_offset: What critics take off its reward of every step, such as a part of the survival bonus: standing
            still is then worth little, and the risk to end the episode costs little. Fitness is untouched.
        shaped: Whether its reward is learned from by potential-based shaping; see `shape_by_potential`.
    """

    reward_offset: Number = 0.0
    shaped: bool = False

    @property
    def shapes_novelty(self) -> bool:
        """See `GradientObjective`."""
        return self.shaped


@dataclass(frozen=True)
class SumObjective(Objective):
    """Settings of an objective whose reward is the environment's plus novelty, as QD-PG-SUM has it.

    `reward_scale` is a factor on the whole sum; `reward_offset` and `shaped` are of the environment's part.

    Attributes:
        novelty_weight: How much novelty counts beside the environment's reward. The paper does not say.
        novelty_shaped: Whether novelty is learned from by potential-based shaping.
    """

    novelty_weight: NotNegative = 1.0
    novelty_shaped: bool = False

    @property
    def shapes_novelty(self) -> bool:
        """See `GradientObjective`."""
        return self.novelty_shaped
