"""What one run attains, in cells: the outputs among which a selection is made.

A selection out of several runs has the losses of an explicit member: one whose runs show in which
of some cells their output is. Probabilities are balls, in order of the losses, the largest first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import pairwise

from flint import arb, ctx

from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.composition import released_counts
from rdpkit.events.losses import Attained, Losses, Step
from rdpkit.events.pairs import LaplacePair, Outcomes, StatedPair, TwoOutcomes
from rdpkit.numerics.balls import upper_tail

Cells = list[tuple[arb, arb]]
BITS = 256
# Where cells of a Gaussian end, in standard deviations around the middle; of Laplace noise, in
# halves of the distance.
_NORMAL, _LAPLACE = [k / 2 for k in range(-16, 17)], [k / 16 for k in range(-16, 17)]
# A cell that is likelier is split, and the parts of it.
_LIKELY, _SHARES = 0.2, [0.5, 0.25, 0.125, 0.0625, 0.0625]
# Probabilities of an outcome are known up to 2^-44 of them, and those below this are left out.
_KNOWN, _LEAST = 46, 1e-200


def cells_of(event: Event, adjacency: Adjacency) -> Iterator[Cells]:
    """What pairs of data sets attain of one run; nothing where the run has several parts."""
    counts = released_counts(event)
    if len(counts) == 1:
        ((leaf, count),) = counts.items()
        with ctx.workprec(BITS):
            for losses in leaf.attained(adjacency) if leaf.expand() is None else ():
                found = _cells(losses, count)
                if found:
                    yield found


def _split(cells: Cells) -> Cells:
    """Likely cells as several, the rarest last, where all of a cell has one loss."""
    parts = [_SHARES if p > _LIKELY or q > _LIKELY else [1.0] for p, q in cells]
    both = zip(cells, parts, strict=True)
    return [(share * p, share * q) for (p, q), shares in both for share in shares]


def _cells(losses: Losses, count: int) -> Cells:
    """The cells of one loss; of Gaussians as often as they are released."""
    match losses:
        case (Step(is_gaussian=True) as step,):
            moved = arb(count).sqrt() * (1 - arb(step.other)) / arb(step.noise_multiplier)
            moved = moved * (1 - arb(2) ** -48)
            return _cut(upper_tail, moved, [moved / 2 - k for k in _NORMAL])
        case (LaplacePair(distance=distance),) if count == 1:
            d = arb(distance * (1.0 - 2.0**-48))
            return _split(_cut(_laplace_above, d, [d / 2 * (1 + k) for k in _LAPLACE[::-1]]))
        case (StatedPair(epsilon=epsilon, delta=delta),) if count == 1:
            grown = arb(epsilon).exp()
            large, small = [(1 - arb(delta)) * one / (1 + grown) for one in (grown, arb(1))]
            whole = [(arb(delta), arb(0)), (large, small), (small, large), (arb(0), arb(delta))]
            return _split([one for one in whole if one[0] > 0 or one[1] > 0])
        case (TwoOutcomes(first=p, second=q),) if count == 1:
            return [(arb(p), arb(q)), (1 - arb(p), 1 - arb(q))]
        case (Outcomes(first=first, second=second),) if count == 1:
            return [(arb(p), arb(q)) for p, q in zip(first, second, strict=True)]
    return []


def mixtures(*, q: arb, first: arb, second: arb) -> Cells:
    """A Gaussian at 0 with the probability 1 - q and otherwise one at ``first``, or ``second``.

    The ratio rises along the line if the first is farther away. Cells are an eighth of a standard
    deviation wide.
    """
    last = 8 * math.ceil(float(first.mid())) + 72
    tails = [
        tuple((1 - q) * upper_tail(x) + q * upper_tail(x - mean) for mean in (first, second))
        for x in [arb(k) / 8 for k in range(last, -73, -1)]
    ]
    ends = [(arb(0), arb(0)), *tails, (arb(1), arb(1))]
    return [(u - p, v - r) for (p, r), (u, v) in pairwise(ends)]


def _laplace_above(x: arb) -> arb:
    return (-x).exp() / 2 if x > 0 else 1 - x.exp() / 2


def _cut(above: Callable[[arb], arb], moved: arb, places: list[arb]) -> Cells:
    """Cells between places, from the largest on; the first centre is at ``moved``."""
    tails = [(above(x - moved), above(x)) for x in places]
    ends = [(arb(0), arb(0)), *tails, (arb(1), arb(1))]
    return [(u - p, v - q) for (p, q), (u, v) in pairwise(ends)]


def outcomes_of(found: list[Cells]) -> Attained:
    """Pairs of a handful of outcomes, where floats say how likely each of them is."""
    kept: list[Losses] = []
    for every in found:
        cells = [one for one in every if not one[0] == one[1] == 0]
        merged = [one for one in cells if all(_is_known(mass) for mass in one)]
        if len(merged) < len(cells) or len(merged) < 2:
            continue
        ranked = sorted(merged, key=_loss, reverse=True)
        first, second = zip(*[(float(p), float(q)) for p, q in ranked], strict=True)
        kept.append((Outcomes(first=first, second=second),))
    return Attained(tuple(kept) or ((),))


def _is_known(mass: arb) -> bool:
    exactly_none = mass == 0
    return bool(exactly_none or (mass > _LEAST and mass.rel_accuracy_bits() >= _KNOWN))


def _loss(cell: tuple[arb, arb]) -> float:
    p, q = float(cell[0]), float(cell[1])
    if not p or not q:
        return math.inf if p else -math.inf
    return math.log(p) - math.log(q)
