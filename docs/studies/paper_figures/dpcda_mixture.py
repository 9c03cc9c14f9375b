"""DP-CDA's open question: which order of mixture has the highest signal-to-noise ratio."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from paper_figures.model import (
    MOST_CURVES,
    Curve,
    Figure,
    Number,
    Panel,
    Point,
    Track,
    checked_integers,
    checked_releases,
    computed,
)
from rdpkit import DPCDA, Adjacency, _validate
from rdpkit.accountants import loss_distributions
from rdpkit.calibration import CalibrationError, bracket, calibrate
from rdpkit.events.losses import NoLossDistributionError
from rdpkit.guarantee import Target

ADJACENCY = "replace_one"
CLASS_SIZES = (5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949)
"""The training records of each class of MNIST."""

# The relative error of the noise of the lower curve; it is about the width of a line.
_TOLERANCE = 5e-3
# The search for the lower curve begins with this part of the noise of the upper one.
_LESS = 0.9
_MOST_ORDERS = 100


def figure(
    *,
    epsilons: Sequence[float],
    orders_of_mixture: Sequence[int],
    releases: int,
    delta: float,
    clip_norm: float,
    track: Track,
) -> Figure:
    """The least noise for a budget, and the noise-to-signal ratio, against the order of mixture.

    The parameters are described in :mod:`paper_figures.catalogue`;
    ``track`` shows progress.
    """
    budgets = _budgets(epsilons)
    classes = len(CLASS_SIZES)
    total = checked_releases(releases, classes=classes)
    target = _validate.open_probability("delta", delta)
    # All events are built first, so that a wrong parameter is reported before the work begins.
    orders = checked_integers("orders_of_mixture", orders_of_mixture, most=_MOST_ORDERS)
    events = [_event(order, total // classes, clip_norm) for order in sorted(orders)]
    tasks = [
        [functools.partial(_point, event, budget, target) for event in events] for budget in budgets
    ]
    found = computed(tasks, track)
    return Figure(
        id="dpcda-order-of-mixture",
        title="DP-CDA: the noise that a budget takes, and the best order of mixture",
        source="DP-CDA (Saha, Tonoy and Imtiaz), section 5, the question it leaves open",
        parameters={
            "class sizes": "MNIST",
            "T": total,
            "delta": target,
            "c": float(clip_norm),
            "adjacency": ADJACENCY,
        },
        notes=(
            "T, delta and c are not printed in the paper and are chosen here.",
            "Published: by Theorem 1 with p = l/N and equal noise on labels. Upper: enough by the "
            "certified bound, for features scaled with public constants and samples drawn within a "
            "class. Lower: with less, a pair of neighbours exceeds the budget.",
            "The ratio is that of the noise's variance to what a mean of l of the N records of the "
            "smallest class keeps of the variance between records: sigma^2 / (c^2 (1/l - 1/N)). "
            "Its lowest point is the best order of mixture.",
            *_best(budgets, found),
        ),
        panels=(
            _panel(
                "noise",
                "noise that the budget takes",
                "noise \N{GREEK SMALL LETTER SIGMA} (standard deviation, in units of c)",
                [_scaled(points, clip_norm) for points in found],
                budgets,
            ),
            _panel(
                "noise-to-signal",
                "noise to signal, per release",
                "noise-to-signal ratio",
                [_ratios(points, clip_norm) for points in found],
                budgets,
            ),
        ),
    )


def _panel(
    name: str,
    title: str,
    y_label: str,
    points: Sequence[tuple[Point, ...]],
    budgets: Sequence[float],
) -> Panel:
    return Panel(
        name=name,
        title=title,
        x_label="order of mixture l (records)",
        y_label=y_label,
        x_logarithmic=True,
        y_logarithmic=True,
        curves=tuple(
            Curve(
                label=f"\N{GREEK SMALL LETTER EPSILON} = {budget:g}",
                parameters={"epsilon": budget},
                points=curve,
            )
            for budget, curve in zip(budgets, points, strict=True)
        ),
    )


def _budgets(epsilons: Sequence[float]) -> tuple[float, ...]:
    found = tuple(_validate.positive("epsilons", epsilon) for epsilon in epsilons)
    if not found or len(set(found)) < len(found) or len(found) > MOST_CURVES:
        raise _validate.fail("epsilons", f"to be 1 to {MOST_CURVES} different numbers", epsilons)
    return found


def _event(order: int, samples: int, clip_norm: float) -> DPCDA:
    return DPCDA(
        class_sizes=CLASS_SIZES,
        samples_per_class=samples,
        order_of_mixture=order,
        clip_norm=clip_norm,
        # The search begins with this noise, which is enough for most budgets.
        feature_noise=clip_norm / order + 0.1 * clip_norm,
        label_noise=clip_norm / order + 0.1 * clip_norm,
    )


def _point(event: DPCDA, epsilon: float, delta: float) -> Point:
    """The noise that the published, the upper and the lower bound ask for."""
    upper = _noise(replace(event, label_noise=0.0), epsilon, delta, "best-rdp", "feature_noise")
    lower = None
    if upper is not None:
        lower = _refuted(event, epsilon, delta, start=_LESS * upper)
    both = ("feature_noise", "label_noise")
    return Point(
        x=float(event.order_of_mixture),
        published=_noise(event, epsilon, delta, "dpcda-theorem1", both),
        upper=math.inf if upper is None else upper,
        lower=lower,
    )


def _noise(
    event: DPCDA, epsilon: float, delta: float, bound: str, parameter: str | tuple[str, ...]
) -> Number:
    """The noise on the features that a bound asks for; None if none is enough."""
    try:
        found = calibrate(
            event,
            target_epsilon=epsilon,
            delta=delta,
            adjacency=ADJACENCY,
            parameter=parameter,
            bound=bound,
        )
    except CalibrationError:
        return None
    assert isinstance(found.event, DPCDA)
    return found.event.feature_noise


def _refuted(event: DPCDA, epsilon: float, delta: float, *, start: float) -> Number:
    """The largest noise with which a pair of data sets was shown to exceed the budget."""
    target = Target(adjacency=Adjacency(ADJACENCY), delta=delta)

    def score(noise: float) -> float:
        attained, _ = loss_distributions.lower(replace(event, feature_noise=noise), target)
        return math.log(attained.epsilon / epsilon) if attained.epsilon > 0.0 else -math.inf

    try:
        found = bracket.numbers(
            score,
            start=start,
            lowest=1e-3 * start,
            highest=1e3 * start,
            private=1,
            tolerance=_TOLERANCE,
        )
    except NoLossDistributionError:
        return None
    return found.misses


def _scaled(points: Sequence[Point], clip_norm: float) -> tuple[Point, ...]:
    return tuple(_mapped(point, lambda noise: noise / clip_norm) for point in points)


def _ratios(points: Sequence[Point], clip_norm: float) -> tuple[Point, ...]:
    found = []
    for point in points:
        kept = 1.0 / point.x - 1.0 / min(CLASS_SIZES)
        # The mean of a whole class keeps nothing of the variance between its records.
        if kept > 0.0:
            ratio = functools.partial(_ratio, clip_norm=clip_norm, kept=kept)
            found.append(_mapped(point, ratio))
    return tuple(found)


def _ratio(noise: float, *, clip_norm: float, kept: float) -> float:
    return (noise / clip_norm) ** 2 / kept


def _mapped(point: Point, function: Callable[[float], float]) -> Point:
    def of(number: Number) -> Number:
        return number if number is None or math.isinf(number) else function(number)

    return Point(
        x=point.x, published=of(point.published), upper=of(point.upper), lower=of(point.lower)
    )


def _best(budgets: Sequence[float], found: Sequence[Sequence[Point]]) -> tuple[str, ...]:
    """A note on the order with the smallest noise-to-signal ratio, for each budget."""
    best = []
    for budget, points in zip(budgets, found, strict=True):
        ratios = [p for p in _ratios(points, 1.0) if p.upper is not None and p.upper < math.inf]
        if ratios:
            lowest = min(ratios, key=lambda point: point.upper or math.inf)
            best.append(f"l = {lowest.x:g} at epsilon {budget:g}")
    return (f"Best of the orders shown: {', '.join(best)}.",) if best else ()
