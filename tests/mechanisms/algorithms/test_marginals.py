import numpy as np
import pytest

import rdpkit
from rdpkit.mechanisms.algorithms import marginals
from rdpkit.mechanisms.parts.marginals import table_model
from rdpkit.mechanisms.parts.marginals.mixture import MixtureFit
from rdpkit.mechanisms.parts.marginals.rounds import RoundShares
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.records import public_scaling
from tests.mechanisms.flat import synthesize

DOMAIN = (6, 4, 2, 30)
QUICK = MixtureFit(components=40, steps=150)


def _table(count=4000, seed=0):
    """The second column follows the first, the third is a coin, the last has many rare codes."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 6, count)
    second = np.where(rng.random(count) < 0.8, first % 4, rng.integers(0, 4, count))
    last = np.minimum(rng.geometric(0.4, count) - 1, 29)
    return np.column_stack([first, second, rng.integers(0, 2, count), last])


def _distance(one, other, pair):
    i, j = pair
    tables = [
        np.bincount(rows[:, i] * DOMAIN[j] + rows[:, j], minlength=DOMAIN[i] * DOMAIN[j])
        for rows in (one, other)
    ]
    return 0.5 * np.abs(tables[0] / len(one) - tables[1] / len(other)).sum()


@pytest.mark.thorough
def test_little_noise_gives_the_marginals_of_the_table():
    private = _table()
    options = marginals.MarginalsOptions(noise_std=0.5, fit=QUICK)
    made, records = marginals.codes_like(
        private, DOMAIN, options=options, noise=NoiseSource.seeded(0)
    )
    assert records == pytest.approx(4000, abs=10)
    assert len(made) == round(records)
    for pair in [(0, 1), (0, 2), (1, 3)]:
        assert _distance(private, made, pair) < 0.03
    # Without the dependence it would be far more.
    shuffled = np.random.default_rng(1).permuted(private, axis=0)
    assert _distance(private, shuffled, (0, 1)) > 0.4


@pytest.mark.thorough
def test_much_noise_gives_rows_of_the_domain():
    options = marginals.MarginalsOptions(
        noise_std=1e6, rows=50, fit=MixtureFit(components=3, steps=2)
    )
    for private in (_table(30), np.empty((0, 4), dtype=int)):
        made, _ = marginals.codes_like(private, DOMAIN, options=options, noise=NoiseSource.system())
        assert made.shape == (50, 4)
        assert (made >= 0).all()
        assert (made < DOMAIN).all()


@pytest.mark.thorough
def test_what_follows_the_measurements_sees_no_record(monkeypatch):
    """With the same measurements, two tables that have nothing in common give the same rows."""
    kept = []
    measure = table_model.measure

    def once(*args, **given):
        if not kept:
            kept.append(measure(*args, **given))
        return kept[0]

    monkeypatch.setattr(marginals, "measure", once)
    options = marginals.MarginalsOptions(
        noise_std=5.0, rows=40, fit=MixtureFit(components=3, steps=2)
    )
    source = NoiseSource.seeded(3)
    marginals.codes_like(_table(100), DOMAIN, options=options, noise=source)
    made = [
        marginals.codes_like(private, DOMAIN, options=options, noise=NoiseSource.seeded(4))[0]
        for private in (_table(100), np.zeros((70, 4), dtype=int))
    ]
    np.testing.assert_array_equal(*made)


class _Replayed:
    """A source of noise that remembers exact numbers, and makes all outputs those of one run."""

    def __init__(self, outputs=()):
        self.outputs, self.exact = list(outputs), []
        self._source = NoiseSource.seeded(0)

    def add_normal(self, values, *, std):
        number = len(self.exact)
        self.exact.append((values.copy(), std))
        if number == len(self.outputs):
            self._source.add_normal(values, std=std)
            self.outputs.append(values.copy())
        values[...] = self.outputs[number]


def _with_skewed(table, codes, seed=0):
    """One more column, of many ordered codes of which most are small, and of one for missing."""
    rng = np.random.default_rng(seed)
    drawn = np.minimum(rng.lognormal(3.0, 1.0, len(table)), codes - 2).astype(int)
    return np.column_stack([table, np.where(rng.random(len(table)) < 0.1, codes - 1, drawn)])


@pytest.mark.parametrize("parts", [0.0, 0.1])
@pytest.mark.parametrize("count", [0, 20, 200, 5000])
def test_all_that_is_measured_moves_no_further_than_the_event_says(count, parts):
    """Of few records, whose second round counts columns again, and of many."""
    domain = (*DOMAIN, 900)
    private = _with_skewed(_table(count + 1), 900)
    shares = RoundShares(parts=parts)
    options = marginals.MarginalsOptions(noise_std=4.0, shares=shares)
    question = {"noise_std": options.noise_std, "shares": shares, "ordered": (0, 0, 0, 30, 899)}
    other = private.copy()
    other[-1] = (np.array(domain) - 1) * (private[-1] == 0)
    first = _Replayed()
    table_model.measure(private, domain, noise=first, **question)
    for neighbour, most in ((private[:-1], 1.0), (other, 2.0 + 2.0 * options.shares.scores)):
        second = _Replayed(first.outputs)
        table_model.measure(neighbour, domain, noise=second, **question)
        assert [std for _, std in first.exact] == [std for _, std in second.exact]
        moved = sum(
            np.square((one - two) / std).sum()
            for (one, std), (two, _) in zip(first.exact, second.exact, strict=True)
        )
        assert 0.8 / 4.0**2 < moved <= most / 4.0**2 * (1.0 + 1e-9)


@pytest.mark.thorough
def test_ordered_codes_are_near_where_most_are_small():
    """Of 10,000 codes most records have one of the first hundred, and some have the last one."""
    private = _with_skewed(_table(20_000), 10_000)
    options = marginals.MarginalsOptions(noise_std=4.0, shares=RoundShares(parts=0.1), fit=QUICK)
    made, _ = marginals.codes_like(
        private, (*DOMAIN, 10_000), options=options, noise=NoiseSource.seeded(1),
        ordered=(0, 0, 0, 0, 9_999),
    )  # fmt: skip
    for below in (10, 20, 40, 80, 9_999):
        shares = [float((rows[:, 4] < below).mean()) for rows in (private, made)]
        assert shares[1] == pytest.approx(shares[0], abs=0.03)


@pytest.mark.thorough
def test_small_tables_are_as_near_as_independent_columns():
    """Pairs that drown in noise cost nothing: neither a round nor a sample of rows."""
    private, made = _table(150, seed=2), []
    for shares in (RoundShares(), RoundShares(one_way=0.998, scores=0.001)):
        options = marginals.MarginalsOptions(noise_std=40.0, rows=150, shares=shares)
        errors = []
        for seed in range(30):
            found, _ = marginals.codes_like(
                private, DOMAIN, options=options, noise=NoiseSource.seeded(seed)
            )
            errors.append([_distance(private, found, (i, j)) for i, j in ((0, 1), (0, 3), (1, 3))])
        made.append(np.mean(errors))
    assert made[0] <= made[1]


@pytest.mark.parametrize("adjacency", ["replace_one", "add_or_remove_one"])
def test_calibration_meets_the_target_and_the_manifest_states_it(adjacency):
    spec = marginals.SPEC
    question = {"target_epsilon": 1.0, "delta": 1e-6, "adjacency": adjacency}
    values = spec.calibrate(
        spec.check({}, calibrated=True), class_sizes=(), dimension=0, **question
    )
    event = spec.event(spec.build(values), (), 0)
    found = rdpkit.epsilon(event, delta=1e-6, adjacency=adjacency)
    assert 0.9999 < found.epsilon <= 1.0
    features = np.random.default_rng(0).random((40, 3))
    made = synthesize(
        marginals, features, np.arange(40) % 2, classes=2, noise_std=values["noise_std"],
        delta=1e-6, adjacency=adjacency, noise=NoiseSource.system(), components=3, steps=2, rows=20,
        bins=4, scaling=public_scaling(),
    )  # fmt: skip
    assert made.manifest.epsilon == found.epsilon
    assert made.manifest.private
    assert made.features.shape == (20, 3)
    assert set(np.unique(made.features)) <= {0.125, 0.375, 0.625, 0.875}


def test_too_many_columns_are_refused():
    with pytest.raises(ValueError, match="at most 400 columns"):
        marginals.codes_like(
            np.zeros((2, 401), dtype=int),
            (2,) * 401,
            options=marginals.MarginalsOptions(noise_std=1.0),
            noise=NoiseSource.system(),
        )
