"""DC-QD-PG, direction-conditioned QD-PG: critics that know what it is worth to move ψ in any direction.

The diversity gradient of QD-PG climbs a novelty that changes with every generation and points away from what was
visited, to all sides at once. But to first order, what a step gains in novelty is the gradient of novelty times the
step of ψ. So critics here learn the value of w · (ψ(s′) − ψ(s)) for every direction w, whatever has been visited. The
policy that they train goes in any direction; direction fields make many policies of it. docs/dc-qd-pg.md tells more.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np

from qdpg.algorithms.algorithm import Family, Footprint, Generation
from qdpg.algorithms.archive import never
from qdpg.algorithms.dc_qd_pg_presets import preset
from qdpg.algorithms.dc_qd_pg_settings import Config, check_directions, find_idle_directions
from qdpg.algorithms.pieces import climbing_settings, draw_seeds
from qdpg.algorithms.qd_pg import QDPG
from qdpg.algorithms.qd_pg_checks import networks_footprint
from qdpg.emitters.direction_field import DirectionField
from qdpg.emitters.direction_gradient import DirectionGradient
from qdpg.emitters.emitter import Emitter
from qdpg.emitters.episodes import make_episodes, roll_in
from qdpg.emitters.field_mutation import FieldMutation
from qdpg.emitters.fields import FIELD, DirectionFields
from qdpg.emitters.learner import Networks, Scaled
from qdpg.emitters.navigation_field import START, NavigationField
from qdpg.emitters.policy_gradient import PolicyGradient
from qdpg.emitters.screened import vary
from qdpg.learn.directions import Movement, RandomDirections, Ranges
from qdpg.learn.networks import take_policies
from qdpg.learn.roadmap import Roadmap, draw_roadmap
from qdpg.learn.transitions import Transitions
from qdpg.memory.storing import stratify
from qdpg.play.rollouts import Rollouts, find_settled
from qdpg.tasks.task import TaskSpec

WARM_UP_EPISODES = 16  # per generation: enough for many directions, few enough to learn between them
SETTLED = "settled"  # extra field of elites


def make_networks(spec: TaskSpec, config: Config) -> Networks:
    """Policies that end in a linear layer, and see scaled observations where the task declares their sizes."""
    scaled: Scaled = "learned" if config.normalised else bool(spec.observation_scale)
    return Networks(spec, config.hidden, "linear", scaled, config.navigation_fields > 0)


def make_emitters(
    networks: Networks, fields: DirectionFields, config: Config, roadmap: Callable[[], Roadmap | None]
) -> list[Emitter]:
    """Direction fields, navigation fields, direction gradient, quality gradient, iso+line variation, mutated fields."""
    varied = round(config.iso_line.share * config.population)
    emitters: list[Emitter] = []
    if config.direction_fields:
        diversity, spec = config.diversity, networks.spec
        turn = spec.quarter_turn if config.symmetry_augmentation else ()
        ranges, of_mean = directions_of(spec, config)

        def weights() -> jax.Array:
            reward, _ = networks.weights(config.quality, (config.reward_share, 0.0))
            _, movement = networks.weights(diversity, (0.0, 1.0))
            return jnp.array([reward, movement])

        def minibatches(transitions: Transitions) -> RandomDirections:
            scaling, unit = networks.scaling, config.unit_directions
            return RandomDirections(transitions, weights(), scaling, ranges, of_mean, unit, turn)

        settings = climbing_settings(config, diversity)
        number, steps, ways = config.direction_gradients, config.greedy_steps, config.navigation_fields
        emitters = [
            DirectionField("diversity", config.direction_fields, fields, settings, minibatches, diversity),
            *([NavigationField("diversity", ways, fields, roadmap)] if ways else []),
            DirectionGradient("diversity", diversity, weights, number, networks, settings, steps, ranges),
        ]
    quality = config.quality
    settings = climbing_settings(config, quality)
    size = config.population - varied - config.direction_fields - config.direction_gradients - config.navigation_fields
    steps, rewards = config.greedy_steps, (1.0, 0.0)
    climbing = PolicyGradient(
        "quality", quality, rewards, size, networks, settings, greedy_steps=steps, explore_with_first=True
    )
    emitters += [climbing, *vary(varied, config.iso_line)]
    if fields.keeps_weights:
        emitters.append(FieldMutation(config.direction_fields, fields, quality.selection_pressure))
    return emitters


def directions_of(spec: TaskSpec, config: Config) -> tuple[Ranges, bool]:
    """In what ranges descriptors are measured, and whether their mean is to move: see `RandomDirections`."""
    ranges = tuple(zip(spec.descriptor_low, spec.descriptor_high, strict=True)) if config.normalised else ()
    return ranges, config.normalised and spec.behaviour == "mean"


class DCQDPG(QDPG):
    """DC-QD-PG."""

    config: Config

    def __init__(self, spec: TaskSpec, config: Config, seed: int, name: str = "dc-qd-pg") -> None:
        """Start with empty memories and fresh critics; see `QDPG` for the arguments."""
        check_directions(spec, config, name)
        networks = make_networks(spec, config)
        keeps_weights = config.field_mutation and config.direction_fields > 0
        self.fields = DirectionFields(networks, keeps_weights, any_length=config.normalised)
        extra_fields = self.fields.extra_fields() if config.direction_fields else {}
        extra_fields |= {SETTLED: 1} if config.settled else {}
        extra_fields |= {START: spec.descriptor_size} if config.navigation_fields else {}
        emitters = make_emitters(networks, self.fields, config, self.roadmap)
        self._start(networks, config, seed, name, emitters, extra_fields)

    def first_generation(self, rng: np.random.Generator) -> Generation:
        """Random policies, whose fields lead straight on: what they are mutated from needs some direction."""
        first = super().first_generation(rng)
        if FIELD not in self.elites.extra_fields:
            return first
        fields = self.fields.constant(rng, len(first.candidates))
        return first._replace(extra_fields=dict(first.extra_fields) | {FIELD: fields})

    def ask(self, stop: Callable[[], bool] = never) -> Generation:
        """As in QD-PG, after a warm-up."""
        self.networks.look(self.replay, self.diversity_rewards())
        if self.generation and self.steps < self.config.warm_up_steps:
            return self.warm_up(stop)
        return super().ask(stop)

    def warm_up(self, stop: Callable[[], bool]) -> Generation:
        """Let the greedy actors learn, and the direction-conditioned one go straight on in random directions.

        Each episode begins in one direction and, after a random number of steps, goes on in another. Nobody is a
        candidate for the archive: elites that stand still would guide nobody anywhere.
        """
        rng, number = np.random.default_rng([self.seed, self.generation]), WARM_UP_EPISODES
        fields, learned = self.fields.constant(rng, 2 * number), dict(self._state.learners)
        training = [each for each in self.emitters if isinstance(each, DirectionField | PolicyGradient)]
        transitions = self.replay.view()
        with self.clock.time("gradients"), ThreadPoolExecutor(len(training)) as pool:
            # Side by side, each with a learner of its own.
            for emitter, result in [
                (each, pool.submit(each.train, self.context(each.learner, transitions, stop))) for each in training
            ]:
                learned[emitter.learner] = result.result()
        policies = self.fields.follow(learned["diversity"], fields)
        self.check(learned, policies)
        exploring, guides = (take_policies(policies, rows) for rows in (slice(number), slice(number, None)))
        episodes = make_episodes(exploring, draw_seeds(rng, number), self.config.diversity.exploration_noise)
        if self.config.roll_in_steps:
            lengths, own_steps = np.full(number, self.config.roll_in_steps), self.config.roll_in_steps
            episodes = roll_in(episodes, guides, lengths, own_steps, rng)
        nobody = make_episodes(take_policies(policies, slice(0)), np.zeros(0, np.int64))
        return self._generation(nobody, episodes, learned, {})

    def refresh_novelty(self) -> None:
        """Find out in which direction novelty grows at every stored state."""
        if self.visited is None or not self.config.direction_gradients:
            return
        with self.clock.time("novelty"):
            slots = self.replay.playable_slots()
            self.replay.set_novelty_gradients(slots, self.visited.novelty_gradient(self.replay.descriptors[slots]))

    def diversity_rewards(self) -> np.ndarray:
        """How far ψ moves in the replay memory along each axis."""
        slots, (ranges, of_mean) = self.replay.playable_slots(), directions_of(self.spec, self.config)
        if not self.config.normalised or not len(slots):
            return np.zeros(0)
        before, after = (self.replay.descriptors[each] for each in (slots, (slots + 1) % self.replay.capacity))
        return Movement(ranges, of_mean).gain(before, after)

    def roadmap(self) -> Roadmap | None:
        """What the replay memory knows of the ways between places."""
        places, goes_on = self.replay.ways()
        low, high = np.array(self.spec.descriptor_low), np.array(self.spec.descriptor_high)
        return (
            draw_roadmap(2.0 * (places - low) / (high - low) - 1.0, goes_on, self.fields.units) if len(places) else None
        )

    def transitions(self) -> Transitions:
        """The replay memory, stratified by the cells of the archive if that is wanted."""
        if not self.config.stratified:
            return self.replay.view()
        with self.clock.time("memory"):
            slots = self.replay.playable_slots()
            cells = self.elites.archive.index_of(self.replay.descriptors[slots])
            kept = stratify(cells, self.config.stratified, np.random.default_rng([self.seed, self.generation, 1]))
            return self.replay.view(slots[kept])

    def guide_lengths(self) -> np.ndarray:
        """Elites guide others until they have settled."""
        data = self.elites.data()
        return data[SETTLED][:, 0].astype(np.int64) if self.config.settled else data["length"]

    def settled(self, rollouts: Rollouts) -> np.ndarray | None:
        """What comes long after an episode has settled is not stored."""
        return find_settled(rollouts, self.spec, self.config.settled) if self.config.settled else None

    def new_fields(self, candidates: Rollouts) -> dict[str, np.ndarray]:
        """When each candidate settled."""
        settled = self.settled(candidates)
        starts = {START: candidates.descriptors[:, 0]} if self.config.navigation_fields else {}
        return starts if settled is None else starts | {SETTLED: settled[:, None]}


def footprint(spec: TaskSpec, config: Config, name: str) -> Footprint:
    """What a run will take, known before anything is allocated."""
    further = spec.descriptor_size if config.direction_fields else 0
    return networks_footprint(make_networks(spec, config), config, 1 + (further > 0), further)


FAMILY = Family(Config, preset, footprint, DCQDPG, find_idle_directions, presets=("tuned",))
