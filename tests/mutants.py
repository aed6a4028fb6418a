"""Mutants: gross errors in QD-PG, each of which a named test must notice.

`python tests/mutants.py` copies src to a temporary directory, applies one patch at a time, and runs the tests named
beside it, which must fail, and by an assertion: a mutant that crashes proves nothing. Before that it runs all of them
on the code as it is, where they must pass. `--only WORD` runs only the mutants whose description has that word.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
QD_PG = "tests/algorithms/test_qd_pg.py::"
ARCHIVE = "tests/algorithms/test_archive.py::"


class Mutant(NamedTuple):
    """A textual patch."""

    error: str
    file: str  # below src/qdpg
    old: str  # must occur exactly once
    new: str
    tests: tuple[str, ...]  # each must fail


MUTANTS = [
    Mutant(
        "quality half climbs novelty",
        "algorithms/qd_pg_settings.py",
        '"quality": (1.0, 0.0)',
        '"quality": (0.0, 1.0)',
        (QD_PG + "test_each_half_climbs_its_own_reward[quality-2]",),
    ),
    Mutant(
        "diversity half climbs the environment's reward",
        "algorithms/qd_pg_settings.py",
        '"diversity": (0.0, 1.0)',
        '"diversity": (1.0, 0.0)',
        (QD_PG + "test_each_half_climbs_its_own_reward[diversity-0]",),
    ),
    Mutant(
        "novelty counts once in the sum",
        "algorithms/qd_pg_settings.py",
        '"sum": (1.0, config.sum.novelty_weight)',
        '"sum": (1.0, 1.0)',
        (QD_PG + "test_the_sum_weighs_and_shapes_novelty_by_itself[False-True]",),
    ),
    Mutant(
        "a quarter of the gradient steps",
        "algorithms/qd_pg.py",
        "return int(self._state.last_steps * self.config.gradient_steps_ratio)",
        "return int(self._state.last_steps * self.config.gradient_steps_ratio / 4)",
        (
            QD_PG + "test_gradient_steps_are_a_share_of_the_steps_played_before",
            QD_PG + "test_each_half_climbs_its_own_reward[diversity-0]",
        ),
    ),
    Mutant(
        "sizes of the halves swapped",
        "algorithms/qd_pg.py",
        "len(rewards))][::-1]",
        "len(rewards))]",
        (QD_PG + "test_halves_may_differ_by_one_and_iso_line_offspring_come_last",),
    ),
    Mutant(
        "order of the halves swapped",
        "algorithms/qd_pg.py",
        "return [*emitters, *vary(varied",
        "emitters.reverse()\n    return [*emitters, *vary(varied",
        (
            QD_PG + "test_halves_may_differ_by_one_and_iso_line_offspring_come_last",
            QD_PG + "test_each_half_climbs_its_own_reward[quality-2]",
        ),
    ),
    Mutant(
        "learners of the halves swapped",
        "algorithms/archive.py",
        "state = self._state.learners[learner]",
        "state = self._state.learners[self.learner_names[-1 - self.learner_names.index(learner)]]",
        (QD_PG + "test_critics_learn_from_all_policies_of_their_objective[quality]",),
    ),
    Mutant(
        "novelty is stale",
        "algorithms/qd_pg.py",
        "self.refresh_novelty()  # Compute fresh novelty rewards",
        "pass",
        (
            QD_PG + "test_diversity_rewards_are_fresh",
            QD_PG + "test_each_half_climbs_its_own_reward[diversity-0]",
        ),
    ),
    Mutant(
        "novelty is computed only once, for new transitions",
        "algorithms/qd_pg.py",
        "self.replay.set_novelty(slots, novelty - objective.reward_offset)",
        "held = self.replay.rows[slots, -1]\n"
        "            self.replay.set_novelty(slots, np.where(held, held, novelty - objective.reward_offset))",
        (QD_PG + "test_diversity_rewards_are_fresh",),
    ),
    Mutant(
        "visited states leave newest first",
        "memory/visited.py",
        "candidates[accepted]])[-self.capacity :])",
        "candidates[accepted]])[: self.capacity])",
        (QD_PG + "test_visited_states_leave_oldest_first",),
    ),
    Mutant(
        "targets are copied",
        "learn/td3.py",
        "lambda t, o: t + softness * (o - t), target, online",
        "lambda t, o: o, target, online",
        (
            QD_PG + "test_target_critics_follow_softly[diversity]",
            QD_PG + "test_target_critics_follow_softly[quality]",
        ),
    ),
    Mutant(
        "critics are trained by the first policy only",
        "learn/td3.py",
        "return update_critics(critics, actors.target, batch, noise, settings), batch",
        "alone = jax.tree.map(lambda leaf: leaf[:1], (actors.target, batch, noise))\n"
        "        return update_critics(critics, *alone, settings), batch",
        (
            QD_PG + "test_critics_learn_from_all_policies_of_their_objective[diversity]",
            QD_PG + "test_critics_learn_from_all_policies_of_their_objective[quality]",
        ),
    ),
    Mutant(
        "exploration episodes enter the archive",
        "algorithms/archive.py",
        "status = self.elites.add(generation.candidates.policies, candidates, self.generation, **fields)",
        "from qdpg.emitters.episodes import join_episodes\n\n"
        "            both = [each for each in generation[:2] if each is not None]\n"
        "            status = self.elites.add(join_episodes(*both).policies, rollouts, self.generation, **fields)",
        (QD_PG + "test_exploration_episodes_never_become_elites",),
    ),
    Mutant(
        "exploration episodes enter 𝔸",
        "algorithms/qd_pg.py",
        "states = candidates.descriptors[:, :-1][candidates.played()]",
        "states = rollouts.descriptors[:, :-1][rollouts.played()]",
        (QD_PG + "test_states_of_exploration_episodes_do_not_count_as_visited",),
    ),
    Mutant(
        "exploration episodes are not learned from",
        "algorithms/qd_pg.py",
        "self.replay.insert(rewards_for_critics(rollouts, self.paid), first, last)",
        "number = len(candidates.seeds)\n"
        "            self.replay.insert(rewards_for_critics(candidates, self.paid), first[:number], last[:number])",
        (QD_PG + "test_exploration_episodes_explore_with_a_noise_of_their_own",),
    ),
    Mutant(
        "a worse policy replaces an elite",
        "memory/elites.py",
        "GridArchive(dims=cells, **common)",
        "GridArchive(dims=cells, learning_rate=0.0, threshold_min=-1e30, **common)",
        (QD_PG + "test_only_a_better_policy_takes_the_place_of_an_elite",),
    ),
    Mutant(
        "parents are always the best elite",
        "memory/elites.py",
        "ranks = (len(self) * rng.random(number) ** pressure).astype(int)",
        "ranks = (0 * rng.random(number) ** pressure).astype(int)",
        (
            QD_PG + "test_parents_are_drawn_from_all_elites_alike",
            "tests/emitters/test_policy_gradient.py::test_parents_are_drawn_with_selection_pressure[1.0]",
        ),
    ),
    Mutant(
        "policies are updated at every critic step",
        "learn/td3.py",
        "critics, batch = critic_step(j * settings.delay + k, actors, critics)",
        "critics, batch = critic_step(j * settings.delay + k, actors, critics)\n"
        "            actors = actors if k else update_actors(actors, critics, batch, settings, pull)",
        (
            QD_PG + "test_each_half_climbs_its_own_reward[diversity-0]",
            QD_PG + "test_each_half_climbs_its_own_reward[quality-2]",
        ),
    ),
    Mutant(
        "no delay in the settings",
        "learn/td3.py",
        "delay: Count = 2",
        "delay: Count = 1",
        ("tests/algorithms/test_qd_pg_settings.py::test_policies_are_updated_every_second_critic_step_as_in_table_3",),
    ),
    Mutant(
        "candidates' reset seeds are all alike",
        "algorithms/archive.py",
        "candidates = make_episodes(policies, seeds, self.candidate_noise)",
        "candidates = make_episodes(policies, np.full(number, seeds[0]), self.candidate_noise)",
        (
            QD_PG + "test_every_episode_starts_from_a_seed_of_its_own",
            ARCHIVE + "test_offspring_may_be_judged_from_their_parents_start",
        ),
    ),
    Mutant(
        "what was learned is not kept in tell",
        "algorithms/archive.py",
        "self._state = State(self.generation + 1, self.steps + rollouts.steps, stored, learned)",
        "self._state = State(self.generation + 1, self.steps + rollouts.steps, stored, self._state.learners)",
        (
            QD_PG + "test_what_was_learned_is_state_after_tell_and_not_before",
            ARCHIVE + "test_emitters_that_share_a_learner_go_on_from_one_another",
        ),
    ),
]


def find_unfit():
    """Mutants whose old text does not occur exactly once, or that change nothing."""
    return [
        f"{mutant.error}: the old text occurs {count} times in src/qdpg/{mutant.file}"
        for mutant in MUTANTS
        if (count := (ROOT / "src" / "qdpg" / mutant.file).read_text().count(mutant.old)) != 1
        or mutant.old == mutant.new
    ]


def run_tests(tests, source):
    """Run tests with the package in `source`; return why each failed, by name, or None if pytest itself did."""
    environment = os.environ | {"PYTHONPATH": str(source), "COLUMNS": "500"}
    check = f"import qdpg; assert qdpg.__file__.startswith({str(source)!r}), qdpg.__file__"
    subprocess.run([sys.executable, "-c", check], env=environment, check=True)
    command = [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", "--tb=no", "-rfE", *tests]
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if result.returncode not in (0, 1):
        print(result.stdout[-3000:], result.stderr[-3000:], file=sys.stderr)
        return None
    lines = [line for line in result.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return dict(line.split(" ", 1)[1].split(" - ", 1) for line in lines)


def try_mutants(mutants):
    """Print a table; return whether every mutant was noticed by all of its tests."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "src"
        shutil.copytree(ROOT / "src", source)
        tests = sorted({test for mutant in mutants for test in mutant.tests})
        failed = run_tests(tests, source)
        print(f"{'unchanged':<52} {'passes' if failed == {} else f'FAILS: {failed}'}", flush=True)
        is_fine = failed == {}
        for mutant in mutants:
            file, began = source / "qdpg" / mutant.file, time.perf_counter()
            text = file.read_text()
            file.write_text(text.replace(mutant.old, mutant.new))
            failed = run_tests(mutant.tests, source) or {}
            file.write_text(text)
            noticed = [test for test in mutant.tests if failed.get(test, "").lower().startswith("assert")]
            is_fine &= len(noticed) == len(mutant.tests)
            result = f"{'killed' if noticed else 'SURVIVES'}, {len(noticed)} of {len(mutant.tests)} tests"
            if len(noticed) < len(mutant.tests):
                result += f" {failed}"
            print(f"{mutant.error:<52} {result:<22} {time.perf_counter() - began:5.1f} s", flush=True)
    return is_fine


def main():
    """Try all mutants, or some."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="only mutants whose description has this word")
    arguments = parser.parse_args()
    unfit = find_unfit()
    if unfit:
        sys.exit("\n".join(unfit))
    sys.exit(0 if try_mutants([each for each in MUTANTS if arguments.only in each.error]) else 1)


if __name__ == "__main__":
    main()
