"""A collection in the hands of its user."""

import numpy as np
import pytest

import qdpg


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("collection") / "run"
    return qdpg.train(
        "point-maze", "map-elites", 20_000, out=out, population=20, initial_policies=40, hidden=(8, 8), cells=(8, 6)
    )


@pytest.fixture(scope="module")
def elites(run):
    found = run.elites
    assert len(found) > 10
    return found


def test_it_is_a_sequence(elites):
    assert [each.fitness for each in elites] == elites.fitness.tolist()
    assert elites[-1].cell == elites.cells_index[-1]
    with pytest.raises(IndexError, match=r"no policy 1000"):
        elites[1000]
    some = elites[2:9:2]
    assert isinstance(some, qdpg.Collection)
    np.testing.assert_array_equal(some.cells_index, elites.cells_index[2:9:2])
    np.testing.assert_array_equal(some[1].weights[0], elites[4].weights[0])
    good = elites[elites.fitness > np.median(elites.fitness)]
    assert len(good) == len(elites) // 2
    assert good.best().cell == elites.best().cell
    np.testing.assert_array_equal(elites[[3, 1]].seeds, elites.seeds[[3, 1]])
    assert len(elites[:0]) == 0


@pytest.mark.parametrize("rows", [None, "x", 1.5, [[0, 1]], (slice(2),), [0.0, 1.0], np.zeros(3, bool), [10**6]])
def test_what_is_no_index_is_refused(rows, elites):
    with pytest.raises(IndexError):
        elites[rows]


def test_an_empty_one_is_a_collection_too(elites, tmp_path):
    for none in (elites[:0], elites[[]], elites[elites.fitness > 1e9]):
        assert (len(none), len(none.archive()), len(none.near((0.0, 0.0), k=3)), list(none)) == (0, 0, 0, [])
    none.save(tmp_path / "none")
    assert len(qdpg.Collection.load(tmp_path / "none")) == 0
    assert repr(none) == "<Collection: point-maze, policies 0>"
    with pytest.raises(qdpg.UserError, match="is empty"):
        none.best()


def test_the_archive_of_some_holds_these_whatever_their_order(elites):
    near = elites.near((0.2, -0.7), k=6)
    archive = near.archive()
    assert len(archive) == 6
    occupied, found = archive.retrieve(near.behaviours)
    assert occupied.all()
    np.testing.assert_array_equal(found["objective"], near.fitness)
    first = np.concatenate([part.ravel() for part in (*near[0].weights, *near[0].biases)])
    np.testing.assert_array_equal(found["solution"][0], first)


def test_a_policy_acts_on_what_it_was_trained_on_and_on_nothing_else(elites):
    policy = elites.best()
    assert policy.act([0.1, 0.2]).shape == (2,)
    assert policy.act(np.zeros((3, 4, 2))).shape == (3, 4, 2)
    for seen in ([1.0, 2.0, 3.0], [1.0], 3.0):
        with pytest.raises(qdpg.UserError, match="observations of 2 numbers"):
            policy.act(seen)
    assert len({policy, policy}) == 1, "equal to itself, without comparing arrays"


def test_cells_are_found_by_index_and_by_place(elites):
    for policy in elites:
        assert elites.at(policy.cell).seed == policy.seed
        assert elites.at((policy.cell // 6, policy.cell % 6)).cell == policy.cell
        low, size = np.array([-1, -1]), np.array([2 / 8, 2 / 6])
        assert tuple(((policy.behaviour - low) / size).astype(int).clip(max=(7, 5))) == (
            policy.cell // 6,
            policy.cell % 6,
        )
    empty = next(cell for cell in range(48) if cell not in elites.cells_index)
    with pytest.raises(qdpg.UserError, match=f"holds cell {empty}"):
        elites.at(empty)
    with pytest.raises(qdpg.UserError, match=r"no cell \(8, 0\)"):
        elites.at((8, 0))
    for nowhere in ((1,), 48, -1, "x", None, (1.5, 2)):
        with pytest.raises(qdpg.UserError, match="there is no cell"):
            elites.at(nowhere)


def test_behaviours_are_found_by_nearness(elites):
    place = np.array([0.3, -0.6])
    near = elites.near(place, k=4)
    distances = np.linalg.norm(elites.behaviours - place, axis=1)
    np.testing.assert_array_equal(near.seeds, elites.seeds[np.argsort(distances)[:4]])
    assert len(elites.near(place, k=1000)) == len(elites)
    assert len(elites.near(place, k=0)) == 0
    for nothing in ((1, 2, 3), 3, None, "ab", (np.nan, 0.0)):
        with pytest.raises(qdpg.UserError, match="has 2 finite numbers"):
            elites.near(nothing)
    for k in (-1, 2.5):
        with pytest.raises(qdpg.UserError, match=r"k is (-1|2\.5), but must be"):
            elites.near(place, k=k)


def test_nearness_counts_in_shares_of_the_ranges(elites):
    import dataclasses

    wide = dataclasses.replace(elites.spec, descriptor_high=(1.0, 1e6))
    stretched = qdpg.Collection(wide, elites.about, elites.arrays)
    nearest = stretched.near((0.3, 900.0))[0]
    assert nearest.seed == elites[int(np.abs(elites.behaviours[:, 0] - 0.3).argmin())].seed


def test_what_fresh_starts_say_counts_where_it_is_known(run, tmp_path):
    found = qdpg.evaluate(run, episodes=2).elites
    best = found[int(found.evaluated["mean"].argmax())]
    assert found.best().cell == best.cell
    means = np.stack([found.evaluated["mean_x"], found.evaluated["mean_y"]], axis=-1)
    nearest = found.near((0.1, 0.1))[0]
    assert nearest.cell == found.cells_index[np.linalg.norm(means - 0.1, axis=1).argmin()]
    frame = found.to_pandas()
    np.testing.assert_array_equal(frame["evaluated_mean"], found.evaluated["mean"])
    found[:5].save(tmp_path / "five")
    loaded = qdpg.Collection.load(tmp_path / "five")
    np.testing.assert_array_equal(loaded.evaluated["mean"], found.evaluated["mean"][:5])
    assert loaded[3].evaluated_fitness == found[3].evaluated_fitness


def test_saved_on_its_own_it_is_the_same(elites, tmp_path):
    elites.save(tmp_path / "all")
    loaded = qdpg.Collection.load(tmp_path / "all")
    assert loaded.spec == elites.spec
    for name, array in elites.arrays.items():
        np.testing.assert_array_equal(array, loaded.arrays[name])
    seen = np.random.default_rng(0).uniform(-1, 1, (7, 2))
    np.testing.assert_array_equal(loaded.best().act(seen), elites.best().act(seen))
    archive = loaded.archive()
    assert archive.cells == 48
    np.testing.assert_array_equal(np.sort(archive.data("index")), elites.cells_index)
    with pytest.raises(qdpg.UserError, match="not empty"):
        elites.save(tmp_path / "all")
    with pytest.raises(qdpg.UserError, match="is missing"):
        qdpg.Collection.load(tmp_path / "nowhere")


def test_the_elites_of_a_run_load_without_it(run):
    assert qdpg.Collection.load(run.path / "elites").arithmetic == "jax"


def test_it_becomes_a_data_frame(elites):
    frame = elites.to_pandas()
    assert list(frame.columns) == ["cell", "fitness", "x", "y", "seed", "length", "generation"]
    np.testing.assert_array_equal(frame["y"], elites.behaviours[:, 1])
