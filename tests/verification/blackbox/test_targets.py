"""What a target says of itself."""

import numpy as np
import pytest

import rdpkit
from rdpkit.verification.blackbox.neighbours import LabelledData, Neighbours
from rdpkit.verification.blackbox.options import VerificationOptions
from rdpkit.verification.blackbox.targets import target
from rdpkit.verification.blackbox.verify import verify

ADD = rdpkit.Adjacency.ADD_OR_REMOVE_ONE
EVENT = rdpkit.Gaussian(noise_std=2.0, record_norm=1.0)


class Sum:
    """A sum with noise of ``std``, that says what it claims."""

    event = EVENT
    adjacency = "add_or_remove_one"
    dimension = 2

    def __init__(self, std=2.0):
        self.std = std

    def __call__(self, dataset, rng):
        return self.many(dataset, rng, 1)[0]

    def many(self, dataset, rng, count):
        noise = rng.normal(0.0, self.std, (count, dataset.dimension))
        norms = np.linalg.norm(dataset.features, axis=1, keepdims=True)
        return (dataset.features / np.maximum(1.0, norms)).sum(axis=0) + noise


def with_neighbours(made):
    class Its(Sum):
        def neighbours(self):
            return made

    return Its()


ONE = (np.array([[0.6, 0.8], [0.0, 0.0]]), [0, 1])
OTHER = (np.array([[0.0, 0.0]]), [1])


def test_its_event_and_the_worst_pair():
    own = target(Sum()).own
    assert (own.event, own.adjacency, own.score) == (EVENT, ADD, None)
    pairs = own.neighbours()
    # The second is nearer to the origin, off any grid.
    assert [pair.first.dimension for pair in pairs] == [2, 2]
    assert [pair.size for pair in pairs] == [8, 8]
    assert np.linalg.norm(pairs[0].first.features, axis=1).max() == pytest.approx(1.0, rel=1e-15)
    assert np.linalg.norm(pairs[1].first.features, axis=1).max() < 0.95


def test_its_own_pair():
    for made in (
        (ONE, OTHER),
        Neighbours(
            first=LabelledData(features=ONE[0], labels=ONE[1]),
            second=LabelledData(features=OTHER[0], labels=OTHER[1]),
            adjacency=ADD,
        ),
    ):
        (pair,) = target(with_neighbours(made)).own.neighbours()
        assert pair.first.features.tolist() == ONE[0].tolist()
        assert pair.second.labels.tolist() == OTHER[1]
        assert pair.adjacency is ADD


@pytest.mark.thorough
def test_nothing_else_is_needed():
    assert (
        verify(Sum(), options=VerificationOptions(samples=10_000, seed=1)).verdict == "not rejected"
    )
    found = verify(Sum(0.8), options=VerificationOptions(samples=10_000, seed=1))
    assert found.rejected
    assert found.claim.event == EVENT
    assert found.pair[0].endswith("add_or_remove_one")


@pytest.mark.thorough
def test_its_own_score_is_tested_besides():
    class Its(Sum):
        def score(self, outputs):
            return outputs[:, 0]

    found = verify(Its(0.8), options=VerificationOptions(samples=10_000, seed=1))
    assert found.scores[:2] == ("the target's own", "linear")
    assert found.rejected


def test_a_method_of_a_module_target(tmp_path, monkeypatch):
    (tmp_path / "own_claims.py").write_text(
        "import rdpkit\n\n\n"
        "def release(dataset, rng):\n    return dataset.features.sum(axis=0)\n\n\n"
        "release.event = rdpkit.Gaussian(noise_std=1.0, record_norm=1.0)\n"
        "release.adjacency = 'replace_one'\n"
        "release.dimension = 3\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    own = target("own_claims:release").own
    assert own.adjacency is rdpkit.Adjacency.REPLACE_ONE
    assert own.neighbours()[0].first.dimension == 3


def test_what_says_too_little_says_nothing():
    assert target(lambda dataset, rng: np.zeros(1)).own is None

    class Half:
        event = EVENT

        def __call__(self, dataset, rng):
            return np.zeros(1)

    assert target(Half()).own is None
    half = Half()
    half.adjacency, half.event = "replace_one", "an event that is none of ours"
    assert target(half).own is None


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (None, "Its: expected its neighbours.. to return a pair of data sets"),
        ((ONE,), "to return a pair of data sets"),
        ((ONE[0], OTHER[0]), "to return a pair of data sets"),
        ((ONE, ONE), "Its: its neighbours..: Expected D and D' to be neighbours under add_or"),
        ((ONE, (np.zeros((1, 2)), [0.5])), "Its: its neighbours..: Expected labels to be integers"),
    ],
)
def test_a_pair_that_is_none(made, message):
    with pytest.raises(ValueError, match=message):
        target(with_neighbours(made)).own.neighbours()


def test_a_method_that_raises_is_named():
    class Its(Sum):
        def neighbours(self):
            raise RuntimeError("no such luck")

    with pytest.raises(ValueError, match=r"Its: its neighbours.. raised RuntimeError: no such"):
        target(Its()).own.neighbours()

    class Other(Sum):
        def score(self, outputs):
            return outputs[:, 7]

    with pytest.raises(ValueError, match=r"The score .the target's own. raised IndexError"):
        verify(Other(), options=VerificationOptions(samples=1000, seed=1))


def test_an_adjacency_that_is_none():
    its = Sum()
    its.adjacency = "sideways"
    with pytest.raises(ValueError, match=r"Sum: its adjacency: .*sideways"):
        _ = target(its).own


def test_no_dimension_for_the_worst_pair():
    its = Sum()
    its.dimension = None
    options = VerificationOptions(samples=1000, neighbours="own")
    with pytest.raises(ValueError, match="Expected a dimension"):
        verify(its, options=options)


def test_mechanisms_of_the_zoo():
    own = target("subset-once-fixed").own
    assert isinstance(own.event, rdpkit.ClassWiseDPMix)
    (pair,) = own.neighbours()
    assert pair.adjacency is own.adjacency
    assert own.score.name.startswith("log-likelihood ratio")
    assert target("noise-reused").own.score is None


@pytest.mark.parametrize(
    "name", ["clip-after-averaging-fixed", "noise-divided-by-l", "class-wise-dpmix"]
)
def test_names_may_have_underscores(name):
    assert target(name.replace("-", "_")).name == name
