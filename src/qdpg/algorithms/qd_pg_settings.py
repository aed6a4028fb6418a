"""Settings of QD-PG, and the presets for the paper's tasks; `qd_pg.py` has the algorithm."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from qdpg.memory.visited import NoveltyKind


@dataclass(frozen=True)
class Config:
    """Settings of QD-PG. The defaults are those of Table 3 that hold for all tasks; presets give the rest.

    Attributes:
        population: N, policies per generation (appendix C.1: 4 for point-maze, 10 for the ants).
        hidden: Hidden layers of policies and critics (Table 3).
        replay_size: Rows of the replay memory (Table 3).
        gradient_steps_ratio: Gradient steps per transition that the generation before left in the replay memory: one
            for each of its environment steps, as in Table 3, unless there is a `window`.
        window: How many successive steps of each episode that policies are judged by enter the replay memory: the last
            ones if it really ended, otherwise any; and of scouts only what they did themselves after they were led.
            What an elite does where nobody has tried anything else says little about what would be better. 0 lets all
            of them enter, as the paper does.
        batch_size: Minibatch of each policy (Table 3).
        discount: γ of the quality critic (Table 3).
        diversity_discount: γ of the diversity critic; the theory has 1, Table 3 gives one value for both.
        softness: τ (Table 3).
        delay: Critic steps per actor step (Table 3).
        target_noise: σ of target smoothing (not given; TD3's default).
        target_noise_clip: Where it is cut (not given; TD3's default).
        optimiser: "sgd" as printed in Table 3, or "adam", as TD3 has it.
        loss: Whether losses are sums over the minibatch, as the equations are printed, or means, as TD3 has them.
        actor_rate: Learning rate of policies (Table 3 gives one for all).
        rate_decades: Powers of ten below `actor_rate` over which the rates of policies improved for quality are spread,
            one drawn for each, uniformly in the logarithm; 0 in the paper.
        diversity_decades: The same of policies improved for diversity.
        critic_rate: Learning rate of critics.
        critic_hidden: Activation in critics; "normed" is a ReLU divided by its layer's root mean square.
        scaled: Whether critics and policies being improved see observations divided by the task's typical sizes, where
            it gives them, and without those that are always zero. Policies that are played or stored have the division
            in their first layer.
        output: What policies end in: a tanh, as in TD3, or "linear", clipped to the actions' range; they then climb by
            inverting gradients.
        diversity_reach: How far from 0 the last layer of linear policies improved for diversity goes; actions end at 1.
        quality_reach: The same of the others; more lets them turn more sharply, but not as easily otherwise.
        exploration_noise: σ of the action noise in the episodes that policies are judged by (not given).
        scouts: Further episodes per generation, of copies of the policies improved for the first objective (diversity,
            where there is one), which only add to the replay memory: 𝔸 is what the policies themselves have visited.
        scout_noise: σ of the action noise in them.
        quality_scouts: The same, of copies of the policies improved for the second objective, if there is one.
        quality_noise: σ of the action noise in these.
        guided: Whether scouts are copies of the first policy improved for their objective (with `greedy_actor` the
            greedy one) which an elite, any one of the grid, leads through a part of its own episode before they act
            themselves: critics learn what becomes of their policy wherever the collection has been.
        guided_steps: How many steps guided scouts act themselves before they are cut off; 0 lets them play to the end.
        arrived: How near to its end, as a share of the descriptors' range, an episode has arrived if it stays there.
            Guides then lead only before they have arrived, and what scouts do more than a `window` after they have does
            not enter the replay memory, once `practice` is over. 0 makes no such difference.
        noise_correlation: Of the action noise between successive steps; 0 is white noise.
        cells: Cells per dimension of the grid (Table 3), or one number for a centroidal Voronoi tessellation.
        visited_size: Capacity of 𝔸 (Table 3).
        visited_threshold: What a state's mean distance to its neighbours must exceed to enter 𝔸 (Table 3).
        neighbours: K (Table 3).
        balance: How many times its due any cell of the grid may have of the transitions that are learned from, the rest
            being left out at random, afresh in every generation; 0 learns from all alike, as the paper does.
        novelty: Mean distance (appendix), sum of distances (main text), or mean of squares (QDax).
        reward_scale: Factor on the environment's reward in the critics' eyes (fitness is untouched).
        deducted: What critics take off the environment's reward of every step, such as a part of the pay for being
            alive: standing still is then worth little, and the risk to end costs little. Fitness is untouched.
        novelty_scale: Factor on the diversity reward, likewise.
        novelty_deducted: Whether novelty counts from the least that any state in the replay memory has, so that the
            risk to end costs no more than what was gained.
        diversity_quality: Share of the environment's reward that counts in the diversity gradient too.
        diversity_shaped: Whether the diversity reward of a step is what it gained in novelty, which ranks policies as
            before but is far easier to learn; see `gain`.
        quality_shaped: The same with the environment's reward, for tasks that pay for being somewhere, not for moving.
        steered: How many of the policies for diversity, whose share grows with them if need be, are the greedy one for
            diversity, each with a steering of its own (see `learn.steering`), bred from an elite's. If there are any,
            critics for diversity know directions: they are taught what it is worth to move ψ in any direction, whatever
            has been visited, and the other policies for diversity climb in the direction in which novelty grows
            fastest, state by state. To first order that is `diversity_shaped`, and nothing has to be learned anew when
            𝔸 changes. 0 in the paper.
        pointing: Whether directions only point: to go there is then worth the same however long they are, and policies
            do not stand still where a steering is weak. Otherwise the longer one is worth more, which matters where
            the environment's reward counts too (`diversity_quality`).
        symmetric: Whether critics that know directions see quarters of each minibatch as if all had happened one, two
            and three quarter turns further left, for bodies of which the task says that this makes no difference
            (`TaskSpec.quarter_turn`): what was learned in one direction is known in all four.
        steering_sigma: How much a steering differs from its parent's.
        steering_greed: How strongly elites whose steerings are changed are drawn from those that end where few others
            do (see `Elites.draw`); 1 draws from all alike.
        steering_fresh: Share of steerings that are drawn afresh.
        heirs: Whether some of the steered are an elite's own policy, told something else, not today's greedy one,
            with whose gait the elite's steering may lead elsewhere. Their share, but for one, is that of filled cells;
            half of these elites are drawn with `quality_greed`, half with `steering_greed`.
        steering_decades: Powers of ten below `steering_sigma` over which the changes of heirs are spread.
        practice: Environment steps, from the start, in which the greedy policies only practise: all episodes
            are those of scouts, who go straight on, and after at most `guided_steps` in another direction for so many
            more. Elites that stand still lead nobody anywhere.
        practice_scouts: How many of them a generation has then.
        genetic_share: Share of offspring made by iso+line variation instead of gradients (the paper's future work), of
            elites drawn with `quality_greed`.
        iso_sigma: Gaussian part of iso+line variation (PGA-ME's value).
        line_sigma: Directional part (PGA-ME's value).
        quality_greed: How strongly policies to be improved for quality are drawn from the better elites (see
            `Elites.sample`); 1 draws from all alike, as the paper does.
        greedy_actor: Whether the critics of each objective are trained by a greedy policy of their own, which lives on
            from generation to generation and is played as one of the population, as in PGA-ME and QDax; the other
            offspring then climb frozen critics.
        greedy_steps: Climbing steps of each offspring with a greedy actor (QDax: 100).
        initial_policies: Random policies to start from; 0 means one population.
        parents_start: Whether policies improved for quality, and bred ones, are judged by an episode with the reset
            that their parent was stored for, so that a lucky start does not make an elite unbeatable.
        starts: Episodes that each policy is judged by; the worst of them counts and is the one that is stored.
    """

    population: int = 4
    hidden: tuple[int, ...] = (64, 32)
    replay_size: int = 1_000_000
    gradient_steps_ratio: float = 4.0
    window: int = 0
    batch_size: int = 256
    discount: float = 0.99
    diversity_discount: float = 0.99
    softness: float = 0.005
    delay: int = 2
    target_noise: float = 0.2
    target_noise_clip: float = 0.5
    optimiser: Literal["adam", "sgd"] = "adam"
    loss: Literal["mean", "sum"] = "mean"
    actor_rate: float = 3e-4
    rate_decades: float = 0.0
    diversity_decades: float = 0.0
    critic_rate: float = 3e-4
    critic_hidden: Literal["relu", "normed"] = "relu"
    scaled: bool = False
    output: Literal["tanh", "linear"] = "tanh"
    diversity_reach: float = 1.0
    quality_reach: float = 1.0
    exploration_noise: float = 0.0
    scouts: int = 0
    scout_noise: float = 0.0
    quality_scouts: int = 0
    quality_noise: float = 0.0
    guided: bool = False
    guided_steps: int = 0
    arrived: float = 0.0
    noise_correlation: float = 0.0
    cells: tuple[int, ...] | int = (5, 5)
    visited_size: int = 10_000
    visited_threshold: float = 1e-4
    neighbours: int = 10
    balance: float = 0.0
    novelty: NoveltyKind = "mean"
    reward_scale: float = 1.0
    deducted: float = 0.0
    novelty_scale: float = 1.0
    novelty_deducted: bool = False
    diversity_quality: float = 0.0
    diversity_shaped: bool = False
    quality_shaped: bool = False
    steered: int = 0
    pointing: bool = False
    symmetric: bool = False
    steering_sigma: float = 0.3
    steering_greed: float = 1.0
    steering_fresh: float = 0.2
    heirs: bool = False
    steering_decades: float = 1.5
    practice: int = 0
    practice_scouts: int = 16
    genetic_share: float = 0.0
    iso_sigma: float = 0.005
    line_sigma: float = 0.05
    quality_greed: float = 1.0
    greedy_actor: bool = False
    greedy_steps: int = 100
    initial_policies: int = 0
    parents_start: bool = False
    starts: int = 1


def preset(name: str, task: str, algorithm: str = "qd-pg") -> Config:
    """The settings of preset `name` for `task`, the same for all variants; an unknown task gets the paper's for ants.

    "paper" is Table 3 as printed. "tuned" departs from it: always by Adam, and for an unknown task by nothing else.

    For point-maze: smaller minibatches and fewer gradient steps; rewards scaled so that values are of the order of one,
    which small Adam steps can reach; targets that follow faster; 𝔸 thinned out more, so that agents that stand at a
    wall do not fill it; scouts that explore with noise correlated in time; policies whose last layer is linear, which
    never get stuck at the end of an action's range; for quality better parents and steps of many sizes, since large
    ones lead back into the deceptive optimum; and small random changes of good policies, for the last few points.

    For the ants (docs/research/ants.md tells what was tried): a greedy actor for diversity that goes wherever it is
    told, practised before anything else, and steered ways of it; critics with normed layers, and observations of one
    size; policies whose last layer is linear and which act gently; steps of many sizes for copies of elites; scouts
    that elites lead to where the greedy actors would not come by themselves, windows of episodes instead of whole ones,
    and learning balanced over the grid; on ant-trap a longer horizon, and critics that hardly see the pay for being
    alive, for which ants stand still; 𝔸 thinned out and many neighbours, so that novelty points the way from afar;
    noise correlated in time; a finer grid, which a gait can cross in steps.
    """
    paper = Config(optimiser="sgd", actor_rate=6e-3, critic_rate=6e-3)
    if task != "point-maze":
        paper = replace(
            paper,
            population=10,
            hidden=(256, 256),
            replay_size=500_000,
            gradient_steps_ratio=0.1,
            actor_rate=3e-4,
            critic_rate=3e-4,
            cells=(7, 7),
            visited_threshold=0.1,
        )
    if name == "paper":
        return paper
    with_adam = replace(paper, optimiser="adam")
    if task in ("ant-trap", "ant-maze"):
        return _tuned_for_ants(with_adam, task)
    if task != "point-maze":
        return with_adam
    return replace(
        with_adam,
        actor_rate=1e-3,
        critic_rate=1e-3,
        batch_size=100,
        gradient_steps_ratio=1.5,
        softness=0.01,
        reward_scale=0.05,
        visited_threshold=0.01,
        output="linear",
        quality_reach=3.0,
        quality_greed=5.0,
        rate_decades=2.0,
        population=8,
        genetic_share=0.5,
        iso_sigma=0.01,
        line_sigma=0.0,
        parents_start=True,
        scouts=1,
        scout_noise=0.8,
        quality_scouts=1,
        quality_noise=0.6,
        noise_correlation=0.9,
        initial_policies=20,
        replay_size=250_000,
    )


def _tuned_for_ants(base: Config, task: str) -> Config:
    """What `tuned` changes for ant-trap or ant-maze; see `preset`."""
    ants = replace(
        base,
        hidden=(128, 128),
        batch_size=128,
        actor_rate=1e-3,
        critic_rate=1e-3,
        critic_hidden="normed",
        scaled=True,
        output="linear",
        diversity_reach=0.5,
        quality_reach=0.5,
        population=12,
        genetic_share=1 / 6,
        gradient_steps_ratio=0.7,
        window=200,
        steered=5,
        steering_greed=2.0,
        practice=150_000,
        greedy_actor=True,
        greedy_steps=150,
        rate_decades=2.0,
        diversity_decades=2.0,
        quality_greed=3.0,
        scouts=10,
        scout_noise=0.3,
        quality_scouts=5,
        quality_noise=0.2,
        guided=True,
        guided_steps=200,
        balance=2.0,
        noise_correlation=0.9,
        discount=0.997,
        reward_scale=0.05,
        deducted=0.75,
        novelty_scale=2.0,
        diversity_quality=1.0,
        visited_threshold=1.0,
        neighbours=30,
        cells=(15, 8),
        initial_policies=4,
    )
    if task == "ant-trap":
        return ants
    return replace(  # a heavy ant, which needs all its strength, in a large place
        ants,
        genetic_share=1 / 12,
        gradient_steps_ratio=1.5,
        window=50,
        steered=8,
        heirs=True,
        pointing=True,
        symmetric=True,
        balance=0.0,
        diversity_reach=1.0,
        quality_reach=1.0,
        scouts=12,
        quality_scouts=2,
        guided_steps=250,
        arrived=0.01,
        practice=200_000,
        scout_noise=0.7,
        quality_noise=0.6,
        novelty_scale=8.0,
        diversity_quality=0.0,
        quality_shaped=True,
        discount=0.99,
        reward_scale=5.0,
        deducted=0.0,
        visited_threshold=4.0,
        cells=(14, 14),
        initial_policies=2,
    )
