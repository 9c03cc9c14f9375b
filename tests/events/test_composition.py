import math

import numpy as np
import pytest

from rdpkit import DPCDA, Composed, CustomRdp, Gaussian, Parallel, Repeated
from rdpkit.events.composition import composed_of, part_by_part

ONE = Gaussian(noise_std=5.0, record_norm=1.0)
TWO = Gaussian(noise_std=7.0, record_norm=1.0)


PARTS = [(), [], None, ONE, "ab", [ONE, None], [ONE, {}], {ONE}]


@pytest.mark.parametrize(
    ("make", "wrong", "message"),
    [
        *[(make, {"events": parts}, "events")
          for make in (Composed, Parallel) for parts in PARTS],
        *[(Repeated, {"event": event, "count": 1}, "event")
          for event in (None, 1, "gaussian", {}, Gaussian, [ONE])],
        *[(Repeated, {"event": ONE, "count": count}, "count")
          for count in (0, -1, 1.0, "2", True, None)],
        *[(Parallel, {"events": (ONE,), "record_keeps_its_part": flag}, "record_keeps_its_part")
          for flag in (1, 0, "yes", None, np.bool_(True))],
    ],
)  # fmt: skip
def test_what_is_no_part_is_named(make, wrong, message):
    with pytest.raises(ValueError, match=f"Expected {message} to be "):
        make(**wrong)


def test_a_record_may_move_unless_said_otherwise():
    assert Parallel(events=(ONE, TWO)).record_keeps_its_part is False


def test_one_part_needs_no_parallel():
    assert part_by_part((ONE,)) is ONE
    assert part_by_part((ONE, TWO)) == Parallel(events=(ONE, TWO), fixed_partition=True)


@pytest.mark.parametrize(
    ("orders", "values", "message"),
    [
        ([2, 2], [1, 1], "Expected orders to be strictly increasing"),
        ([4, 2], [1, 1], "Expected orders to be strictly increasing"),
        ([1, 2], [1, 1], "Expected orders to be finite Renyi orders > 1"),
        ([2, math.inf], [1, 1], "Expected orders to be finite Renyi orders > 1"),
        ([2, 4], [1], r"Expected values to be divergences >= 0, of shape \(2,\)"),
        ([2], [1, 2], r"Expected values to be divergences >= 0, of shape \(1,\)"),
        ([2, 4], [1, -1e-300], "Expected values to be divergences >= 0"),
        ([2, 4], [1, math.nan], "Expected values to be divergences >= 0"),
    ],
)
def test_custom_curves_are_validated(orders, values, message):
    with pytest.raises(ValueError, match=message):
        CustomRdp(orders=orders, values=values, adjacency="replace_one")


@pytest.mark.parametrize("count", [1, 7, np.int64(7), 10**15])
def test_a_product_is_a_repetition(count):
    assert ONE * count == count * ONE == Repeated(event=ONE, count=int(count))
    assert (ONE * count).count == count


def test_products_of_products_multiply():
    assert ONE * 3 * 4 == 4 * (3 * ONE) == Repeated(event=ONE, count=12)


@pytest.mark.parametrize("count", [0, -1, 2.0, True, np.float64(2)])
def test_only_integers_multiply(count):
    with pytest.raises(ValueError, match="Expected count to be an integer >= 1"):
        _ = ONE * count


@pytest.mark.parametrize("other", ["2", None, [1], ONE])
def test_nothing_else_multiplies(other):
    with pytest.raises(TypeError):
        _ = ONE * other


def test_sums_are_flat_and_count_equal_events():
    assert Composed(events=(ONE, TWO)) == ONE + TWO
    assert Composed(events=(ONE * 2, TWO)) == ONE + TWO + ONE
    assert Composed(events=(ONE * 5, TWO)) == ONE + (TWO + ONE * 4)
    assert sum([ONE] * 1000) == ONE * 1000
    assert sum([ONE]) is ONE


@pytest.mark.parametrize("other", [1, 0.0, "a", None])
def test_only_events_are_added(other):
    with pytest.raises(TypeError):
        _ = ONE + other
    with pytest.raises(TypeError):
        _ = other + ONE if other != 0 else ONE + other


def test_two_partitions_are_not_taken_for_one():
    """Repeated keeps its partition; of two events in a sum each may have its own."""
    parts = Parallel(events=(ONE, TWO))
    inside = DPCDA(
        class_sizes=[60, 60], samples_per_class=2, order_of_mixture=8, clip_norm=1.0,
        feature_noise=1.0, label_noise=1.0,
    )  # fmt: skip
    for event in (parts, parts * 2, inside, Composed(events=(parts,)) * 3):
        assert event + event == Composed(events=(*_parts(event), *_parts(event)))


def _parts(event):
    return event.events if isinstance(event, Composed) else (event,)


def test_a_partition_that_may_change_may_still_do_so():
    """Also where releases are multiplied, or counted in a ledger."""
    parts = Parallel(events=(ONE, TWO))
    changing = Repeated(event=parts, count=2, same_partition=False)
    assert changing * 2 == Repeated(event=changing, count=2)
    assert composed_of({parts: 2}) == changing
