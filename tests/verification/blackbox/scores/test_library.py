"""Which scores there are, what every score must be able to do, and which leaks they see.

Each leak is a pair of functions that draw outputs on D and on D'. What is measured is the total
variation distance of the best score's distributions on 10,000 fresh outputs of each side, and the
bounds are what the leak itself allows, less what is lost by learning. All draws are seeded.
"""

import pickle

import numpy as np
import pytest
from scipy.stats import norm

from rdpkit.verification.blackbox.mistakes import MistakeKind
from rdpkit.verification.blackbox.neighbours import LabelledData, Neighbours
from rdpkit.verification.blackbox.scores.library import MOST_SCORES, candidate_scores
from rdpkit.verification.blackbox.scores.named_score import NamedScore, TrainingOutputs


def noise(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


def training(p, q, **options):
    return TrainingOutputs(
        p=p,
        q=q,
        **{
            "is_number": np.ones(p.shape[1], dtype=bool),
            "shapes": ((p.shape[1],),),
            "pair": None,
            **options,
        },
    )


def scores_of(p, q, *, own=None, models=(), **options):
    return candidate_scores(
        training(p, q, **options), own=own, models=models, rng=np.random.default_rng(1)
    )


def test_there_is_always_a_linear_score():
    p, q = noise(1, 400, 3) + 0.3, noise(2, 400, 3)
    assert "linear" in [one.family for one in scores_of(p, q)]
    assert scores_of(np.zeros((50, 2)), np.zeros((50, 2)))


def test_rows_are_added_up_where_there_are_any():
    p, q = noise(1, 200, 120) + 0.05, noise(2, 200, 120)
    assert "rows" in [one.family for one in scores_of(p, q, shapes=((60, 2),))]
    assert "rows" not in [one.family for one in scores_of(p, q)]


def test_a_given_score_comes_first():
    p, q = noise(1, 400, 3) + 0.3, noise(2, 400, 3)
    own = NamedScore(name="first column", score=lambda outputs: outputs[:, 0])
    assert scores_of(p, q, own=own)[0].score is own.score


def test_scores_reach_other_processes():
    p, q = noise(1, 400, 3) + 0.3, noise(2, 400, 3)
    for one in scores_of(p, q, models=("boosting",)):
        assert pickle.loads(pickle.dumps(one)).of(p).tolist() == one.of(p).tolist()


def test_shares_sum_to_one_and_there_are_few_scores():
    # Columns of several kinds, all of which differ.
    p, q = noise(1, 600, 40) * 1.3 + 0.2, noise(2, 600, 40)
    p[:, :10], q[:, :10] = np.round(p[:, :10]), np.round(q[:, :10])
    found = scores_of(p, q, models=("logistic", "boosting"), shapes=((20, 2),))
    assert sum(one.share for one in found) == pytest.approx(1.0, rel=1e-12)
    assert 5 < len(found) <= MOST_SCORES
    assert len({one.name for one in found}) == len(found)


def test_the_same_outputs_and_generator_give_the_same_scores():
    p, q = noise(1, 400, 8) * 1.2 + 0.1, noise(2, 400, 8)
    first, again = (scores_of(p, q, models=("boosting",)) for _ in range(2))
    for one, two in zip(first, again, strict=True):
        assert one.name == two.name
        assert one.share == two.share
        assert one.of(q).tolist() == two.of(q).tolist()


def test_scores_that_order_outputs_alike_are_dropped():
    p, q = noise(1, 400, 1) + 1.0, noise(2, 400, 1)
    own = NamedScore(name="cubed and turned around", score=lambda outputs: -(outputs[:, 0] ** 3))
    assert "linear" not in [one.family for one in scores_of(p, q, own=own)]
    coarse = NamedScore(name="rounded", score=lambda outputs: np.round(outputs[:, 0]))
    assert "linear" in [one.family for one in scores_of(p, q, own=coarse)]


@pytest.mark.thorough
def test_where_nothing_is_to_be_seen_only_few_scores_are_tested():
    counts = []
    for seed in range(10):
        p, q = noise(2 * seed, 1000, 20), noise(2 * seed + 1, 1000, 20)
        counts.append(len(scores_of(p, q)))
    assert np.mean(counts) <= 4.0


def odd_outputs(kind, runs=120):
    rng = np.random.default_rng(5)
    match kind:
        case "huge":
            return rng.normal(size=(runs, 6)) * 1e299
        case "tiny":
            return rng.normal(size=(runs, 6)) * 1e-300
        case "smallest":
            return rng.integers(4, size=(runs, 6)) * 5e-324
        case "constant":
            return np.full((runs, 6), 0.1)
        case "mixed":
            return rng.normal(size=(runs, 6)) * [1e300, 1e-300, 1.0, 0.0, 1e-160, 1e160]
        case "wide":
            return rng.normal(size=(runs, 400))
        case "one column":
            return rng.normal(size=(runs, 1))
        case "heavy":
            return rng.standard_cauchy(size=(runs, 6)) ** 9
        case "zeros":
            return np.where(rng.random((runs, 6)) < 0.1, rng.normal(size=(runs, 6)), 0.0)
        case "rare":
            rows = np.zeros((runs, 6))
            rows[::40, 2] = 1e300
            return rows
        case _:
            raise ValueError(kind)


ODD = [
    *("huge", "tiny", "smallest", "constant", "mixed", "wide"),
    *("one column", "heavy", "zeros", "rare"),
]


@pytest.mark.thorough
@pytest.mark.parametrize("runs", [2, 5, 120])
@pytest.mark.parametrize("kind", ODD)
def test_scores_are_finite_for_any_outputs(kind, runs):
    rows = odd_outputs(kind, runs=max(runs, 40))
    p, q = rows[:runs], rows[::-1][:runs] * 0.5
    width = rows.shape[1]
    record = LabelledData(features=[np.linspace(-1.0, 2.0, width)])
    pair = Neighbours(
        first=record,
        second=LabelledData(features=np.zeros((0, width))),
        adjacency="add_or_remove_one",
    )
    shapes = ((width,),) if width % 3 else ((width // 3, 3),)
    for categories in (False, True):
        is_number = np.ones(width, dtype=bool)
        is_number[:: 2 if categories else width + 1] = not categories
        found = scores_of(p, q, pair=pair, shapes=shapes, is_number=is_number)
        extremes = np.full((1, width), 1e300)
        for one in found:
            for outputs in (p, q, extremes, -extremes, 0.0 * extremes, extremes * 1e-308):
                assert np.isfinite(one.of(outputs)).all(), one.name


@pytest.mark.thorough
def test_very_wide_releases():
    # A shift of a few columns and a larger variance of others, in 40,000 columns.
    p, q, p_test, q_test = (noise(seed, 100, 40_000) for seed in range(4))
    for side in (p, p_test):
        side[:, 5] += 3.0
        side[:, 7_000:7_100] *= 3.0
    scores = scores_of(p, q)
    gaps = [one.of(p_test).mean() - one.of(q_test).mean() for one in scores]
    spreads = [one.of(p_test).std() + one.of(q_test).std() for one in scores]
    assert max(np.abs(gaps) / spreads) > 1.2


def test_codes_of_categories_are_only_compared():
    # The codes are large and random; what is said of them must not depend on their values.
    rng = np.random.default_rng(1)
    codes = rng.normal(size=5) * 1e15
    p = codes[rng.choice(5, size=(500, 1), p=[0.4, 0.15, 0.15, 0.15, 0.15])]
    q = codes[rng.choice(5, size=(500, 1), p=[0.15, 0.4, 0.15, 0.15, 0.15])]
    found = scores_of(p, q, is_number=np.array([False]))
    assert {one.family for one in found} == {"atoms"}
    others = dict(zip(codes.tolist(), [3.0, -1.0, 0.0, 2.0, 7.0], strict=True))
    renamed = [np.vectorize(others.get)(side) for side in (p, q)]
    again = scores_of(*renamed, is_number=np.array([False]))
    assert again[0].of(renamed[0]).tolist() == found[0].of(p).tolist()


def test_categories_are_counted_before_a_difference_is_clear():
    rng = np.random.default_rng(1)
    p, q = (rng.integers(4, size=(170, 1)) * 1e9 for _ in range(2))
    assert [one.family for one in scores_of(p, q, is_number=np.array([False]))] == ["atoms"]


def test_without_numbers_and_atoms_there_is_still_a_score():
    found = scores_of(np.zeros((30, 1)), np.zeros((30, 1)), is_number=np.array([False]))
    assert len(found) == 1
    assert found[0].of(np.ones((4, 1))).tolist() == [0.0] * 4


def test_a_shift_of_the_mean_is_explained_by_no_other_mistake():
    # Every summary moves with it, but what is wrong is only that there is too little noise.
    for seed in range(5):
        p, q = noise(seed, 2000, 10) + 0.5, noise(seed + 100, 2000, 10)
        assert [one.name for one in scores_of(p, q) if one.explanation is not None] == []


def test_what_only_one_family_sees_is_explained():
    p, q = noise(1, 2000, 10), noise(2, 2000, 10)
    p[:, 4] = np.abs(p[:, 4]) * np.sign(p[:, 3])
    kinds = {one.explanation.kind for one in scores_of(p, q) if one.explanation is not None}
    assert kinds == {MistakeKind.COVARIANCE_OF_THE_DATA}


@pytest.mark.thorough
@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("sums", [(0.0, 1.0), (0.1, 1.1), (-1.0, 1.0), (1e4, 1e4 + 1.0)])
def test_the_rounding_of_sums_is_no_leak_of_the_last_bits(scale, sums):
    rng = np.random.default_rng(1)
    for draw in (rng.normal, rng.laplace):
        p, q = (one + scale * draw(size=(2000, 5)) for one in sums)
        for divisor in (1.0, 7.0):
            found = scores_of(p / divisor, q / divisor)
            assert "last-bits" not in {one.family for one in found}


FRESH = 10_000


def pair_of(record, *, size=20):
    """D has one record more than D'."""
    rows = np.random.default_rng(123).normal(size=(size, len(record)))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return Neighbours(
        first=LabelledData(features=np.vstack([rows, record])),
        second=LabelledData(features=rows),
        adjacency="add_or_remove_one",
    )


def dense(width):
    return np.full(width, width**-0.5)


def variation(one, two):
    """The total variation distance of half-lines, from scores on both sides."""
    values = np.unique(np.concatenate([one, two]))
    shares = [
        np.searchsorted(np.sort(side), values, side="right") / len(side) for side in (one, two)
    ]
    return float(np.abs(shares[0] - shares[1]).max())


def best(make, runs, *, pair=None, shapes=None, families=None):
    """The families of the scores, and the largest distance that one of them shows."""
    p, q = (make(np.random.default_rng(seed), runs, seed == 1) for seed in (1, 2))
    training = TrainingOutputs(p=p, q=q, shapes=shapes or ((p.shape[1],),), pair=pair)
    scores = candidate_scores(training, own=None, models=(), rng=np.random.default_rng(3))
    fresh = [make(np.random.default_rng(seed), FRESH, seed == 4) for seed in (4, 5)]
    found = {
        one.name: variation(one.of(fresh[0]), one.of(fresh[1]))
        for one in scores
        if families is None or one.family in families
    }
    return max(found.values(), default=0.0)


def exponential_mechanism(rng, runs, on):
    """Eleven answers with utilities 0 and 1, which the record swaps, and twice the exponent."""
    utilities = np.where((np.arange(11) % 2 == 1) == on, 1.0, 0.0)
    weights = np.exp(utilities)
    return rng.choice(11, size=(runs, 1), p=weights / weights.sum()).astype(float)


@pytest.mark.parametrize("runs", [400, 4000])
def test_an_exponential_mechanism_is_seen_by_its_atoms(runs):
    # The best event is the set of the answers that are more likely on D: 5 or 6 of 11.
    weights = [np.exp(np.where((np.arange(11) % 2 == 1) == on, 1.0, 0.0)) for on in (True, False)]
    chances = [one / one.sum() for one in weights]
    optimal = 0.5 * np.abs(chances[0] - chances[1]).sum()
    assert best(exponential_mechanism, runs, families=("atoms",)) > 0.95 * optimal
    # A half-line of the answers' numbers hardly shows anything.
    assert best(exponential_mechanism, runs, families=("linear",)) < 0.5 * optimal


@pytest.mark.slow
@pytest.mark.parametrize("record", [dense(100), np.eye(100)[7]], ids=["dense", "one-column"])
@pytest.mark.parametrize("known", [True, False], ids=["known-pair", "unknown-pair"])
def test_noise_that_is_a_tenth_too_small_in_many_dimensions(record, known):
    # A classical (1, 0.01) Gaussian mechanism has a noise of 3.1 for a record of norm 1.
    scale = 0.9 * 3.1

    def make(rng, runs, on):
        return rng.normal(size=(runs, 100)) * scale + (record if on else 0.0)

    optimal = 2.0 * norm.cdf(0.5 / scale) - 1.0
    found = best(make, 20_000, pair=pair_of(record) if known else None)
    assert found > 0.9 * optimal


@pytest.mark.parametrize("known", [True, False], ids=["known-pair", "unknown-pair"])
def test_noise_shaped_by_the_private_covariance(known):
    record = np.random.default_rng(9).normal(size=30)
    pair = pair_of(record)

    def make(rng, runs, on):
        rows = (pair.first if on else pair.second).features
        covariance = rows.T @ rows + np.eye(30)
        return rng.multivariate_normal(np.zeros(30), covariance, size=runs, method="cholesky")

    found = best(make, 4000, pair=pair if known else None, families=("covariance",))
    assert found > (0.4 if known else 0.35)


@pytest.mark.parametrize("chance", [1e-2, 1e-3])
def test_an_exact_record_that_is_rarely_released(chance):
    record = np.random.default_rng(9).normal(size=20)
    record /= np.linalg.norm(record)
    pair = pair_of(record)

    def make(rng, runs, on):
        rows = (pair.first if on else pair.second).features
        released = rng.normal(size=(runs, 20)) * 5.0 + rows.sum(axis=0)
        shown = rng.random(runs) < chance
        released[shown] = record if on else rows[0]
        return released

    # The shift of the mean is seen as well. What must be seen is the event of the rare record.
    p, q = (make(np.random.default_rng(seed), 2000, seed == 1) for seed in (1, 2))
    training = TrainingOutputs(p=p, q=q, shapes=((20,),), pair=pair)
    scores = candidate_scores(training, own=None, models=(), rng=np.random.default_rng(3))
    fresh = [make(np.random.default_rng(seed), FRESH, seed == 4) for seed in (4, 5)]
    shown = (fresh[0] == record).all(axis=1)
    assert shown.sum() > 0.5 * chance * FRESH
    # All exact records, and next to nothing else, are above a threshold.
    precision = []
    for one in scores:
        values = [one.of(side) for side in fresh]
        least = values[0][shown].min()
        others = (values[0][~shown] >= least).sum() + (values[1] >= least).sum()
        precision.append(shown.sum() / (shown.sum() + others))
    assert max(precision) == 1.0


def one_pair(rng, runs, on):
    rows = rng.normal(size=(runs, 200))
    if on:
        rows[:, 7] = np.abs(rows[:, 7]) * np.sign(rows[:, 3])
    return rows


def consecutive(rng, runs, on):
    rows = rng.normal(size=(runs, 200))
    for column in range(1, 200) if on else ():
        copied = rng.random(runs) < 0.15
        rows[copied, column] = np.abs(rows[copied, column]) * np.sign(rows[copied, column - 1])
    return rows


def hidden(rng, runs, on):
    rows = rng.normal(size=(runs, 200))
    if on:
        signs = np.sign(np.random.default_rng(99).normal(size=200))
        common = signs * np.sign(rng.normal(size=(runs, 1)))
        rows = np.where(rng.random(rows.shape) < 0.15, np.abs(rows) * common, rows)
    return rows


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("make", "least"),
    [(one_pair, 0.45), (consecutive, 0.6), (hidden, 0.45)],
    ids=["one-pair", "consecutive", "hidden"],
)
@pytest.mark.parametrize("runs", [4000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_a_sign_correlation_in_many_columns(make, least, runs):
    assert best(make, runs, families=("covariance",)) > least


@pytest.mark.parametrize("width", [1, 100])
def test_a_bit_written_into_the_last_one(width):
    def make(rng, runs, on):
        rows = rng.normal(size=(runs, width)) + 0.3
        words = rows.view(np.uint64)
        words[:, 0] = (words[:, 0] & ~np.uint64(1)) | np.uint64(on)
        return rows

    assert best(make, 2000, families=("last-bits",)) == 1.0


@pytest.mark.thorough
def test_poisson_and_fixed_batches():
    def make(rng, runs, on):
        """Noisy gradients of a batch in rows, and zeros where a batch is smaller than 60."""
        sizes = rng.poisson(30, size=runs) if on else np.full(runs, 30)
        rows = rng.normal(size=(runs, 60, 4))
        rows[np.arange(60) >= np.minimum(sizes, 60)[:, None]] = 0.0
        return rows.reshape(runs, -1)

    # The chance that a Poisson batch has just 30 records is 0.07.
    assert best(make, 2000, shapes=((60, 4),), families=("counts", "atoms")) > 0.5


def test_a_scale_that_depends_on_the_data():
    def make(rng, runs, on):
        return rng.standard_cauchy(size=(runs, 50)) * (1.2 if on else 1.0)

    assert best(make, 2000, families=("covariance",)) > 0.25


def test_heavy_tails_hide_a_shift_from_the_mean_alone():
    def make(rng, runs, on):
        return rng.standard_cauchy(size=(runs, 20)) + (0.3 if on else 0.0)

    assert best(make, 2000) > 0.25


def test_whole_rows_of_categories():
    def make(rng, runs, on):
        rows = rng.integers(3, size=(runs, 3)).astype(float)
        rows[:, 2] = (rows[:, 0] + rows[:, 1] + (1 if on else 0)) % 3
        return rows

    assert best(make, 1000, families=("atoms",)) == 1.0
