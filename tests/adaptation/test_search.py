import json
import math

import numpy as np
import pytest
from made_up import collection, grid

from qdpg import Adaptation, adapt
from qdpg.adaptation.model import Settings
from qdpg.errors import UserError

ELITES = collection(grid(12))
HERE = np.array([0.4, -0.7])


def distance(policy):
    """A smooth score with one hill."""
    return -float(np.linalg.norm(policy.behaviour - HERE))


def rows(search):
    return [trial.elite for trial in search.trials]


def test_finds_what_random_choice_misses():
    rng = np.random.default_rng(0)
    behind, behind_random = [], []
    for goal in rng.uniform(-1, 1, size=(15, 2)):
        scores = -np.linalg.norm(ELITES.behaviours - goal, axis=1) + 0.3 * np.cos(5 * ELITES.behaviours).sum(axis=1)
        by_place = {policy.tobytes(): score for policy, score in zip(ELITES.behaviours, scores, strict=True)}
        search = adapt(ELITES, lambda policy, known=by_place: known[policy.behaviour.tobytes()], trials=20)
        assert len(set(rows(search))) == 20, "no elite is tried twice"
        assert search.best.score == max(trial.score for trial in search.trials)
        behind.append(scores.max() - search.best.score)
        behind_random.append(scores.max() - np.mean([rng.choice(scores, 20, False).max() for _ in range(50)]))
    assert np.mean(behind) < 0.25 * np.mean(behind_random)
    assert np.median(behind) < 0.05


def test_the_best_elite_of_a_plain_grid_is_within_a_cell():
    search = adapt(ELITES, distance, trials=20)
    assert np.abs(search.best_policy.behaviour - HERE).max() < 2 / 12
    assert search.best.score == distance(search.best_policy)


def test_stopped_at_any_trial_and_resumed_equals_never_stopped(tmp_path):
    whole = adapt(ELITES, distance, trials=12)
    for stop in (0, 1, 7):
        path = tmp_path / f"{stop}.json"
        played = []

        def score(policy, played=played, stop=stop):
            if len(played) == stop:
                raise KeyboardInterrupt
            played.append(policy)
            return distance(policy)

        with pytest.raises(KeyboardInterrupt):
            adapt(ELITES, score, trials=12, state=path)
        assert path.exists() == (stop > 0)
        again = []
        resumed = adapt(ELITES, lambda policy, again=again: again.append(0) or distance(policy), 12, path)
        assert resumed.trials == whole.trials
        assert len(again) == 12 - stop, "what was played is not played again"
    longer = adapt(ELITES, distance, trials=15, state=path)
    assert longer.trials == adapt(ELITES, distance, trials=15).trials


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, RuntimeError("the robot fell over")])
def test_a_trial_that_fails_is_said_counts_and_is_not_repeated(bad, tmp_path):
    said, count = [], iter(range(100))

    def score(policy):
        if next(count) % 3 == 1:
            if isinstance(bad, Exception):
                raise bad
            return bad
        return distance(policy)

    search = adapt(ELITES, score, trials=10, state=tmp_path / "state.json", say=said.append)
    failed = [trial for trial in search.trials if trial.score is None]
    assert len(search.trials) == len(set(rows(search))) == 10
    assert [trial.elite for trial in failed] == [rows(search)[i] for i in (1, 4, 7)]
    assert len(said) == 3
    why = "RuntimeError: the robot fell over" if isinstance(bad, Exception) else f"its score was {bad}"
    assert said[0] == f"trial 2 of 10, with elite {failed[0].elite}, failed: {why}"
    assert search.best.score is not None
    assert Adaptation(ELITES, state=tmp_path / "state.json").trials == search.trials


def test_a_region_that_fails_is_left_alone():
    def score(policy):
        if policy.behaviour[0] > 0:
            raise RuntimeError("the floor is wet there")
        return -float(np.linalg.norm(policy.behaviour - [-0.4, 0.4]))

    search = adapt(ELITES, score, trials=20, say=lambda sentence: None)
    assert sum(trial.score is None for trial in search.trials) < 7
    assert search.best.score > -0.2


def test_it_is_said_when_no_trial_works():
    def score(policy):
        raise ValueError("unplugged")

    said = []
    with pytest.raises(
        UserError, match="none of 3 trials gave a score; the first failed because ValueError: unplugged"
    ):
        adapt(ELITES, score, trials=3, say=said.append)
    assert len(said) == 3


def test_ask_and_tell_for_a_loop_of_ones_own():
    search = Adaptation(ELITES)
    first = search.ask()
    assert first == search.ask(), "asking changes nothing"
    assert np.abs(ELITES.behaviours[first]).max() < 0.1, "begins in the middle"
    assert search.best is None
    with pytest.raises(UserError, match="none of 0 trials"):
        search.best_policy  # noqa: B018
    search.tell(first, 3)
    assert search.best.score == 3.0
    with pytest.raises(UserError, match=f"elite {first} was tried before"):
        search.tell(first, 4.0)
    with pytest.raises(UserError, match="there is no elite 144"):
        search.tell(144, 4.0)
    assert rows(search) == [first]


def test_every_elite_can_be_tried_but_none_twice():
    few = collection(grid(2))
    search = adapt(few, distance, trials=4)
    assert sorted(rows(search)) == [0, 1, 2, 3]
    with pytest.raises(UserError, match="all 4 elites were tried"):
        search.ask()


def test_equal_behaviours_and_equal_scores_do_no_harm():
    search = adapt(collection(np.zeros((8, 2))), lambda policy: 1.0, trials=8)
    assert sorted(rows(search)) == list(range(8))


def test_a_prior_of_stored_fitness_begins_with_the_best_stored():
    fitness = np.arange(144.0)
    elites = collection(grid(12), fitness)
    assert Adaptation(elites, Settings(prior="fitness")).ask() == 143
    assert Adaptation(elites).ask() != 143


@pytest.mark.parametrize(
    ("number", "trials", "sentence"),
    [(0, 1, "collection has 0 elites"), (4, 5, "4 elites, too few for 5 trials"), (4, 0, "number of trials is 0")],
)
def test_a_budget_that_does_not_fit_is_one_clear_sentence(number, trials, sentence):
    with pytest.raises(UserError, match=sentence):
        adapt(collection(grid(2)[:number]), distance, trials=trials)


def test_an_empty_collection_cannot_be_searched():
    with pytest.raises(UserError, match="collection is empty"):
        Adaptation(collection(np.zeros((0, 2))))


@pytest.fixture
def saved(tmp_path):
    """The file of a search of three trials."""
    adapt(ELITES, distance, trials=3, state=tmp_path / "state.json")
    return tmp_path / "state.json"


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: "[]",
        lambda text: "{}",
        lambda text: text.replace('"elite": ', '"elite": 1000'),
        lambda text: text.replace('"elite": ', '"elite": -'),
        lambda text: text.replace('"score": -', '"score": NaN, "x": '),
        lambda text: text.replace('"score": -', '"score": "much", "failure": '),
        lambda text: json.dumps(json.loads(text) | {"trials": json.loads(text)["trials"] * 2}),
        lambda text: json.dumps(json.loads(text) | {"elites": "many"}),
        lambda text: json.dumps(json.loads(text) | {"trials": [{"elite": 1, "score": math.nan}]}),
    ],
)
def test_a_damaged_file_is_one_clear_sentence_and_stays_as_it_is(saved, damage):
    saved.write_text(damage(saved.read_text()))
    before = saved.read_bytes()
    with pytest.raises(UserError, match=r"state\.json is damaged or no saved adaptation .*remove it to begin anew"):
        adapt(ELITES, distance, trials=4, state=saved)
    assert saved.read_bytes() == before


def test_a_file_of_another_search_is_refused(saved):
    with pytest.raises(UserError, match="begun with another collection"):
        adapt(collection(grid(12) * 0.9), distance, trials=4, state=saved)
    with pytest.raises(UserError, match="begun with other settings"):
        adapt(ELITES, distance, trials=4, state=saved, settings=Settings(kappa=2.0))


def test_a_search_that_knew_other_ways_is_refused(saved):
    with pytest.raises(UserError, match="begun with another collection"):
        adapt(ELITES, distance, trials=4, state=saved, ways=np.zeros((144, 2)))


def test_ways_tell_apart_what_ends_alike():
    """A hundred elites end in the same place; those that came by on the left score best."""
    elites, ways = collection(np.zeros((100, 2))), np.random.default_rng(0).uniform(-1, 1, (100, 2))
    found, blind = ([], [])
    for known, best in ((ways, found), (None, blind)):
        search = Adaptation(elites, ways=known)
        for _ in range(10):
            row = search.ask()
            best.append(search.tell(row, -abs(ways[row, 0] + 0.9)).score)
    assert max(found) > -0.1
    assert np.mean(found) > np.mean(blind)


def test_ways_of_another_collection_are_refused():
    with pytest.raises(UserError, match=r"ways are \(3, 2\), but must be \(144, 2\)"):
        Adaptation(ELITES, ways=np.zeros((3, 2)))


def test_a_place_that_cannot_be_written_is_one_clear_sentence(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UserError, match="is in the way of a directory"):
        adapt(ELITES, distance, trials=2, state=tmp_path / "file" / "state.json")
