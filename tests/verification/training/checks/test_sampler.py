"""The check of the sampler: ways of drawing are recognised, and correct ones not rejected."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

from rdpkit import DPSGD, Gaussian, Repeated
from rdpkit.verification.blackbox.mistakes import MistakeKind as Kind
from rdpkit.verification.training.checks import draw_tests
from rdpkit.verification.training.checks.draw_tests import tail
from rdpkit.verification.training.checks.sampler import check_sampler
from rdpkit.verification.training.options import TrainingOptions
from rdpkit.verification.training.results import CheckResult
from rdpkit.verification.training.trainer import PrivateTraining, TrainingMaker

# The global generator, because the check seeds it.
RNG = np.random
N, B = 240, 24
Draw = Callable[[], Iterator[Any]]


def checked(draw: Draw, *, sampling: str = "poisson", seed: int = 1, **fields: Any) -> CheckResult:
    """The check of a training that draws like this, or with an object of this class."""
    told = {"max_batch_size": 30} if sampling == "truncated-poisson" else {}
    event = DPSGD(
        noise_multiplier=1.0,
        dataset_size=N,
        batch_size=B,
        epochs=3,
        sampling=sampling,  # type: ignore[arg-type]
        **told,  # type: ignore[arg-type]
    )

    def make() -> PrivateTraining:
        given: dict[str, Any] = {
            "step": lambda batch: None,
            "event": event,
            "adjacency": "add_or_remove_one",
            "delta": 1e-5,
            "parameters": dict,
            "records": np.arange(N, dtype=float)[:, None],
            "indices": draw() if isinstance(draw, type) else draw,
            "loader": [],
        }
        return PrivateTraining(**{**given, **fields})

    return check_sampler(TrainingMaker(make=make, name="test"), TrainingOptions(seed=seed))


def poisson(rate: float = B / N, most: int = N) -> Iterator[Any]:
    for _ in range(N // B):
        chosen = np.flatnonzero(RNG.rand(N) < rate)
        yield RNG.permutation(chosen)[:most]


def shuffled(size: int = B) -> Iterator[Any]:
    order = RNG.permutation(N)
    for begin in range(0, N, size):
        yield order[begin : begin + size]


def fixed(*, replace: bool = False) -> Iterator[Any]:
    for _ in range(N // B):
        yield RNG.choice(N, B, replace=replace)


def in_order() -> Iterator[Any]:
    for begin in range(0, N, B):
        yield np.arange(begin, begin + B)


def seeded_each_epoch() -> Iterator[Any]:
    rng = np.random.default_rng(5)
    for _ in range(N // B):
        yield np.flatnonzero(rng.random(N) < B / N)


def weighted() -> Iterator[Any]:
    rates = np.full(N, B / N)
    rates[:40] *= 3.0
    for _ in range(N // B):
        yield np.flatnonzero(RNG.rand(N) < rates)


def in_groups() -> Iterator[Any]:
    places = np.arange(N).reshape(8, N // 8).T.ravel()
    for _ in range(N // B):
        chosen = np.flatnonzero(RNG.rand(N // 8) < B / N)
        yield np.sort(np.concatenate([places[8 * one : 8 * one + 8] for one in chosen] or [[]]))


def allocated() -> Iterator[Any]:
    batches = RNG.randint(0, N // B, N)
    for place in range(N // B):
        yield np.flatnonzero(batches == place)


def buffered() -> Iterator[Any]:
    buffer, rest, order = list(range(40)), list(range(40, N)), []
    while buffer:
        order.append(buffer.pop(RNG.randint(len(buffer))))
        if rest:
            buffer.append(rest.pop(0))
    for begin in range(0, N, B):
        yield np.array(order[begin : begin + B])


def kinds(result: CheckResult) -> set[Kind]:
    return {mistake.kind for mistake in result.mistakes}


BROKEN: list[tuple[str, Draw, str, set[Kind]]] = [
    ("shuffled", shuffled, "poisson", {Kind.SHUFFLED}),
    ("shuffled, partial", lambda: shuffled(22), "poisson", {Kind.SHUFFLED, Kind.PARTIAL_BATCH}),
    ("fixed size", fixed, "poisson", {Kind.FIXED_SIZE}),
    (
        "with replacement",
        lambda: fixed(replace=True),
        "fixed-size",
        {Kind.RECORD_TWICE},
    ),
    ("truncated", lambda: poisson(most=27), "poisson", {Kind.TRUNCATED}),
    ("truncated below", lambda: poisson(most=40), "truncated-poisson", {Kind.OTHER_SAMPLING}),
    ("rate", lambda: poisson(2.0 * B / N), "poisson", {Kind.SAMPLING_RATE}),
    ("in order", in_order, "poisson", {Kind.NOT_POISSON, Kind.REPEATED_BATCHES}),
    ("in order, told shuffled", in_order, "shuffle", {Kind.OTHER_SAMPLING, Kind.REPEATED_BATCHES}),
    ("seeded", seeded_each_epoch, "poisson", {Kind.REPEATED_BATCHES}),
    ("weighted", weighted, "poisson", {Kind.SAMPLING_RATE, Kind.UNEQUAL_RATES}),
    ("groups", in_groups, "poisson", {Kind.NOT_POISSON}),
    ("allocated", allocated, "poisson", {Kind.NOT_POISSON}),
    ("shuffled, told allocated", shuffled, "random-allocation", {Kind.SHUFFLED}),
    ("poisson, told shuffled", poisson, "shuffle", {Kind.OTHER_SAMPLING}),
    ("poisson, told fixed", poisson, "fixed-size", {Kind.OTHER_SAMPLING}),
    ("shuffled, told fixed", shuffled, "fixed-size", {Kind.SHUFFLED}),
    ("partial, told shuffled", lambda: shuffled(22), "shuffle", {Kind.PARTIAL_BATCH}),
    ("buffer", buffered, "shuffle", {Kind.OTHER_SAMPLING}),
]
CORRECT: list[tuple[str, Draw, str]] = [
    ("poisson", poisson, "poisson"),
    ("a smaller rate", lambda: poisson(0.5 * B / N), "poisson"),
    ("shuffled", shuffled, "shuffle"),
    ("fixed", fixed, "fixed-size"),
    ("truncated", lambda: poisson(most=30), "truncated-poisson"),
    ("allocated", allocated, "random-allocation"),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "draw", "sampling", "expected"), BROKEN)
def test_mistakes_are_named(name: str, draw: Draw, sampling: str, expected: set[Kind]) -> None:
    # Each is wrong by so much that the check misses it with a probability far below 1e-6.
    result = checked(draw, sampling=sampling)
    assert kinds(result) == expected, [one.describe() for one in result.mistakes]


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "draw", "sampling"), CORRECT)
def test_correct_samplers_pass(name: str, draw: Draw, sampling: str) -> None:
    # With a fixed seed; the rate of false alarms is 0.0025 a check.
    assert not checked(draw, sampling=sampling).rejected


@pytest.mark.thorough
def test_a_shuffled_loader_is_not_poisson() -> None:
    result = checked(shuffled)
    assert kinds(result) == {Kind.SHUFFLED}
    assert "Poisson samples were accounted for" in result.mistakes[0].message
    assert result.bounds[0].epsilon > 1.0


@pytest.mark.thorough
def test_held_out_records_are_found_by_their_content() -> None:
    kept = np.array([*range(20), 1e6])[:, None]
    result = checked(poisson, held_out=kept)
    assert kinds(result) == {Kind.HELD_OUT_IN_TRAINING}
    assert "20 of 21 held-out records" in result.mistakes[0].message
    # One may have the content of another person by chance, whether or not training records do.
    few = checked(poisson, held_out=kept[-2:])
    assert not few.rejected
    assert any("1 of 2 held-out records" in note for note in few.notes)


@pytest.mark.thorough
@pytest.mark.parametrize("leak", [0, 60])
def test_records_of_few_values_are_alike_by_chance(leak: int) -> None:
    made = np.random.default_rng(0).integers(0, 2, (N + 60, 10)).astype(float)
    # Copies of training records are more than chance makes, where one in five has a namesake.
    kept = np.concatenate([made[:leak], made[N + leak :]])
    result = checked(poisson, records=made[:N], held_out=kept)
    assert kinds(result) == ({Kind.HELD_OUT_IN_TRAINING} if leak else set())
    assert any("nothing shows that they are" in note for note in result.notes) is not bool(leak)


@pytest.mark.thorough
def test_batches_without_positions_are_recognised_by_their_content() -> None:
    records = np.arange(N, dtype=float)[:, None]

    class Loader:
        def __iter__(self) -> Iterator[Any]:
            return (records[places] for places in shuffled())

    assert kinds(checked(poisson, indices=None, loader=Loader())) == {Kind.SHUFFLED}


def test_columns_whose_batches_are_changed_on_their_way_are_counted() -> None:
    class Loader:
        def __iter__(self) -> Iterator[Any]:
            return ((RNG.rand(len(places), 3), np.zeros(len(places))) for places in poisson())

    columns = (np.zeros((N, 3)), np.zeros(N))
    result = checked(poisson, indices=None, loader=Loader(), records=columns)
    assert result.verdict == "not rejected"
    assert "told 0.1" in dict(result.measured)["sampling rate"]


def few_values(draw: Draw, values: int, **fields: Any) -> CheckResult:
    """The check of batches that are known by their content, which many records have."""
    rows = np.random.default_rng(0).integers(0, values, (N, 5)).astype(float)

    class Loader:
        def __iter__(self) -> Iterator[Any]:
            return (rows[places] for places in draw())

    return checked(draw, **{"indices": None, "loader": Loader(), "records": rows, **fields})


@pytest.mark.thorough
@pytest.mark.parametrize("values", [1, 2, 5])
@pytest.mark.parametrize(("name", "draw", "sampling"), CORRECT)
def test_records_with_equal_content_may_all_be_drawn(
    name: str, draw: Draw, sampling: str, values: int
) -> None:
    result = few_values(draw, values, sampling=sampling)
    assert result.verdict == "not rejected"
    assert any("have the same content" in note for note in result.notes)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("draw", "expected"),
    [
        (shuffled, Kind.SHUFFLED),
        (fixed, Kind.FIXED_SIZE),
        (seeded_each_epoch, Kind.REPEATED_BATCHES),
        (partial(poisson, 2.0 * B / N), Kind.SAMPLING_RATE),
    ],
)
def test_mistakes_are_named_beside_records_with_equal_content(draw: Draw, expected: Kind) -> None:
    assert kinds(few_values(draw, 5)) == {expected}


@pytest.mark.thorough
def test_a_full_batch_may_have_equal_records() -> None:
    event = Repeated(event=Gaussian(noise_std=5.0, record_norm=1.0), count=20)
    result = few_values(lambda: iter([np.arange(N)]), 2, event=event, records=None)
    assert result.verdict == "not rejected"


@pytest.mark.thorough
def test_a_sampler_with_a_constant_seed_is_known() -> None:
    class Once:
        def __init__(self) -> None:
            self.rng = np.random.default_rng(7)

        def __call__(self) -> Iterator[Any]:
            return (np.flatnonzero(self.rng.random(N) < B / N) for _ in range(N // B))

    assert kinds(checked(Once)) == {Kind.REPEATED_BATCHES}


def test_a_record_is_no_pair_with_itself() -> None:
    # With one record in a batch no two are together.
    event = DPSGD(noise_multiplier=1.0, dataset_size=N, batch_size=1, epochs=3, sampling="shuffle")
    assert checked(lambda: shuffled(1), event=event).verdict == "not rejected"


@pytest.mark.statistical
@pytest.mark.slow
@pytest.mark.parametrize(("name", "draw", "sampling"), CORRECT)
def test_false_alarms_are_rare(name: str, draw: Draw, sampling: str) -> None:
    # 40 checks at 0.0025 each: four or more rejections have a probability below 1e-5.
    rejected = sum(checked(draw, sampling=sampling, seed=seed).rejected for seed in range(40))
    assert rejected < 4


def test_tail_bounds_the_binomial_tail() -> None:
    from scipy import stats

    for seen in (5, 20, 60, 100):
        assert tail(seen, 100, 0.1) * (1.0 + 1e-9) >= stats.binom.sf(seen - 1, 100, 0.1)


def test_equal_sizes_have_their_exact_probability_where_all_are_equal() -> None:
    # Two batches of two records each, of two: given a sum of 2, C(2,1)^2 / C(4,2) = 4/6; sizes
    # (0,2) and (2,0) are not equal.
    p, mode, times = draw_tests.same_size(np.array([1, 1]), 2)
    assert (p, mode, times) == (pytest.approx(4.0 / 6.0, rel=1e-12), 1, 2)


def test_more_records_than_told_at_any_dependence() -> None:
    told = DPSGD(noise_multiplier=1.0, dataset_size=60, batch_size=6, epochs=3)
    right, wrong = (checked(partial(poisson, rate), event=told) for rate in (0.1, 0.3))
    assert right.verdict == "not rejected"
    assert kinds(wrong) == {Kind.SAMPLING_RATE}
