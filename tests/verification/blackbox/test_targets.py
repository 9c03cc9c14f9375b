"""What a target says of itself, and the pairs that it is tested on, for commands and for audits."""

import numpy as np
import pytest

import rdpkit
from rdpkit.adjacency import Adjacency
from rdpkit.verification.auditing.tested_code import run_code
from rdpkit.verification.blackbox.neighbours import LabelledData, Neighbours
from rdpkit.verification.blackbox.options import MOST_PAIRS, VerificationOptions
from rdpkit.verification.blackbox.pairs_of_target import (
    DIMENSIONS,
    pairs_of_target,
    usable_dimension,
)
from rdpkit.verification.blackbox.targets import dp_claim, event_claim, target
from rdpkit.verification.blackbox.verify import verify
from rdpkit.verification.claims.reading import loads
from rdpkit.verification.cli.verify import verify as verify_command
from tests.events import of_papers

ADD, REPLACE = Adjacency.ADD_OR_REMOVE_ONE, Adjacency.REPLACE_ONE
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


GAUSSIAN = rdpkit.Gaussian(noise_std=2.0, record_norm=0.5)


class Mechanism:
    """Takes data of the right number of features, or of any."""

    def __init__(self, takes=None, **attributes):
        self.takes = takes
        self.__dict__.update(attributes)

    def __call__(self, dataset, rng):
        if self.takes is not None and dataset.dimension != self.takes:
            raise RuntimeError("wrong number of columns")
        return dataset.features.sum(axis=0)


def pairs(mechanism, claim, **options):
    return pairs_of_target(
        target(mechanism), claim=claim, options=VerificationOptions(seed=5, **options)
    )


def longest(found):
    return max(
        float(np.linalg.norm(side.features, axis=1).max(initial=0.0))
        for pair in found
        for side in (pair.first, pair.second)
    )


DP = dp_claim(epsilon=1.0, delta=1e-5, adjacency=REPLACE)
CLAIM = event_claim(GAUSSIAN, adjacency=ADD)


def test_nothing_has_to_be_said():
    found = pairs(Mechanism(), DP)
    assert len(found) == MOST_PAIRS
    assert {pair.first.dimension for pair in found} == {5}
    assert longest(found) == pytest.approx(1000.0)
    assert all("5 features, because the code runs on them" in p.description[-1] for p in found)


@pytest.mark.parametrize("takes", [1, 2, 7, 784])
def test_a_number_of_features_that_the_code_runs_on(takes):
    if takes not in DIMENSIONS:
        with pytest.raises(ValueError, match=r"Expected a dimension .*wrong number of columns"):
            pairs(Mechanism(takes), DP)
        takes_it = pairs(Mechanism(takes), DP, dimension=takes)
    else:
        takes_it = pairs(Mechanism(takes), DP)
    assert {pair.first.dimension for pair in takes_it} == {takes}


def test_more_than_one_feature_is_preferred():
    assert usable_dimension(lambda data: None) == 5

    def one_or_sixteen(data):
        if data.dimension not in (1, 16):
            sys_exit = SystemExit(2)
            raise sys_exit

    assert usable_dimension(one_or_sixteen) == 16


def test_the_worst_case_pair_comes_first():
    found = pairs(Mechanism(), CLAIM)
    assert len(found) == MOST_PAIRS
    worst = pairs(Mechanism(), CLAIM, neighbours="worst")
    assert len(worst) == 2
    for one, two in zip(worst, found, strict=False):
        assert np.array_equal(one.first.features, two.first.features)
    assert "all records multiplied by" in " ".join(found[1].description)
    # Lengths are multiples of the event's norm.
    assert longest(found) == pytest.approx(500.0)


@pytest.mark.parametrize("count", [1, 2, 3, 10])
def test_fewer_pairs_are_the_first_ones(count):
    few, many = pairs(Mechanism(), CLAIM, pairs=count), pairs(Mechanism(), CLAIM, pairs=30)
    assert (len(few), len(many)) == (count, 30)
    assert [p.describe() for p in few] == [p.describe() for p in many[:count]]


@pytest.mark.parametrize("claim", [DP, CLAIM])
@pytest.mark.parametrize("norm", [0.2, 0.5, 3.0])
@pytest.mark.parametrize("by", ["option", "attribute"])
def test_a_stated_norm_is_never_exceeded(claim, norm, by):
    if by == "option":
        found = pairs(Mechanism(), claim, record_norm=norm)
    else:
        found = pairs(Mechanism(record_norm=norm), claim)
    assert longest(found) <= norm
    assert longest(found) == pytest.approx(norm)
    assert not any(pair.beyond_norm for pair in found)


def test_what_a_target_states_and_what_options_overrule():
    mechanism = Mechanism(dimension=3, records=4, classes=1, record_norm=2.0)
    found = pairs(mechanism, DP)
    assert {(p.first.dimension, p.size, p.first.labels.max()) for p in found} == {(3, 4, 0)}
    assert longest(found) <= 2.0
    found = pairs(mechanism, DP, dimension=2, records=6, classes=3, record_norm=0.1)
    assert {(p.first.dimension, p.size) for p in found} == {(2, 6)}
    assert {int(p.first.labels.max()) for p in found} == {0, 1, 2}
    assert longest(found) <= 0.1
    with pytest.raises(ValueError, match=r"Mechanism: its records to be an integer .*got 2\.5"):
        pairs(Mechanism(records=2.5), DP)


def test_data_sets_of_its_own():
    one = ([[1.0], [0.0]], [0, 0]), ([[0.0]], [0])
    own = Mechanism(event=GAUSSIAN, adjacency="add_or_remove_one", neighbours=lambda: one)
    assert [p.description for p in pairs(own, CLAIM)] == [("the target's own pair",)]
    assert len(pairs(own, CLAIM, neighbours="adversarial")) == MOST_PAIRS
    # The number of features is that of its own data sets.
    assert {p.first.dimension for p in pairs(own, DP)} == {1}
    described = Mechanism(event=GAUSSIAN, adjacency="add_or_remove_one")
    assert len(pairs(described, CLAIM)) == MOST_PAIRS
    assert len(pairs("half-sensitivity", event_claim(GAUSSIAN, adjacency=REPLACE))) == 1


@pytest.mark.thorough
def test_an_event_that_states_sizes():
    event = of_papers.dpcda((4, 3), 2, 2, noise=1.0)
    found = pairs(Mechanism(), event_claim(event, adjacency=REPLACE))
    assert len(found) == MOST_PAIRS
    sizes = {tuple(np.bincount(p.first.labels)) for p in found}
    assert sizes == {tuple(np.bincount(found[0].first.labels))}
    with pytest.raises(ValueError, match="to be 7, as the event says, got 3"):
        pairs(Mechanism(), event_claim(event, adjacency=REPLACE), records=3)
    event = rdpkit.FixedSizeSampledGaussian(
        noise_std=1.0, record_norm=1.0, sample_size=2, population_size=6, release="mean"
    )
    assert {p.size for p in pairs(Mechanism(), event_claim(event, adjacency=REPLACE))} == {6}


@pytest.mark.thorough
def test_an_event_with_bounds_of_its_own_is_tested_on_its_own_pair():
    event = of_papers.dpmix(6, 2, 2, noise=1.0, shape=(2, 2))
    assert len(pairs(Mechanism(), event_claim(event, adjacency=REPLACE))) == 2


def test_the_command_and_an_audit_choose_the_same_pairs(tmp_path, monkeypatch, own_module):
    """Both hand their pairs to ``verify``, which is replaced here."""
    seen = []

    class EnoughError(ValueError):
        pass

    def instead(*_, neighbours, **__):
        seen.append(neighbours)
        raise EnoughError("enough")

    monkeypatch.setattr("rdpkit.verification.evidence.requests.verify", instead)
    name = own_module("def release(dataset, rng):\n    return 1.0\n")
    (tmp_path / "event.toml").write_text(
        'mechanism = "gaussian"\nnoise_std = 2.0\nrecord_norm = 0.5\n'
    )
    (claim,) = loads(
        "[[claim]]\nid = 'a'\nsource = 'x'\nmechanism = 'gaussian'\nepsilon = 1\ndelta = 1e-5\n"
        "adjacency = 'replace_one'\nparameters = {noise_std = 2.0, record_norm = 0.5}\n"
        f"[claim.code]\ncallable = '{name}:release'\nseed = 7\nclasses = 3\n"
    )
    with pytest.raises(EnoughError):
        run_code(claim)
    words = [f"{name}:release", "--event", "event.toml", "--adjacency", "replace_one"]
    words += ["--seed", "7", "--classes", "3"]
    with pytest.raises(EnoughError):
        verify_command.main(words)
    one, two = seen
    assert len(one) == len(two) == MOST_PAIRS
    assert [p.describe() for p in one] == [p.describe() for p in two]
    for a, b in zip(one, two, strict=True):
        assert np.array_equal(a.first.features, b.first.features)
        assert np.array_equal(a.second.features, b.second.features)
