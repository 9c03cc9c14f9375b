import pytest

from benchmarks import scaling
from benchmarks.model import Curve


def test_slope_of_a_power():
    sizes = [1, 2, 4, 8, 16, 32, 64, 128]
    # A constant below 16 does not count: it is the smaller half.
    seconds = [256.0] * 4 + [float(size**2) for size in sizes[4:]]
    # Logarithms of floats, eight of them.
    assert scaling.slope(sizes, seconds) == pytest.approx(2.0, rel=1e-12)
    assert scaling.slope(sizes[:3], [3.0, 3.0, 3.0]) == pytest.approx(0.0, abs=1e-12)


def series(prepare, sizes):
    return scaling.Series(
        id="s", title="cost", size="orders", library="rdpkit", sizes=sizes, prepare=prepare
    )


def test_a_failure_ends_a_curve_and_misses_the_goal():
    def prepare(size):
        if size == 3:
            raise MemoryError("too much")
        return lambda index: None

    found = scaling.measure(
        series(prepare, [1, 2, 3, 4]), repeats=2, seconds=1e9, sizes=[1, 2, 3, 4]
    )
    assert found.sizes == [1, 2]
    assert found.failure == "at 3: MemoryError: too much"
    (outcome,) = scaling.outcomes([found])
    assert outcome.met is False


def test_a_curve_ends_with_its_time():
    found = scaling.measure(
        series(lambda size: lambda index: None, [1, 2, 3]), repeats=3, seconds=0.0, sizes=[1, 2, 3]
    )
    assert found.sizes == [1]


@pytest.mark.parametrize(("slope", "met"), [(1.05, True), (1.2, False), (None, None)])
def test_linear_is_good_enough(slope, met):
    curve = Curve(id="c", title="cost", size="orders", library="rdpkit", sizes=[1], slope=slope)
    other = Curve(id="c", title="cost", size="orders", library="dp-accounting", slope=9.0)
    (outcome,) = scaling.outcomes([curve, other])
    assert outcome.met is met
