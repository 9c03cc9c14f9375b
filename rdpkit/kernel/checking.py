"""What a certificate is, and whether its claim is true.

Argument
--------
The ``claim`` is all that is proven. ``hints`` say how: which grid, how many digits, which cells.
Every number that is computed is a bound for all hints, so a wrong hint can only make a certificate
fail. A claim "at most" is accepted if, for every way in which one record may matter, one of these
holds: all losses together are at most epsilon and infinite ones have at most probability delta; the
pair of a single release has at most delta at e^epsilon; or its masses have (:mod:`.masses`). Or,
for all ways at once, if a Renyi divergence implies it. A claim "exceeded" is accepted if a test
between two data sets has P(A) - e^epsilon Q(A) > delta.
"""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from functools import reduce
from typing import Any, NoReturn

from .intervals import LEFT, RefusedError, log, of, require
from .masses import Masses, from_above, from_below
from .pairs import ONE, curve, exp_of, largest
from .releases import Way, divergence, fields, number, statement, ways, whole

FORMAT = "rdpkit-certificate-1"
MOST_BYTES, MOST_WORK, MOST_CELLS, MOST_POINTS = 65536, 100_000_000, 5000, 20000
MOST_EPSILON = Fraction(10**5)
MISFITS = (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError)


def main(arguments: list[str]) -> int:
    """Check one file: 0 accepted, 1 not accepted, 2 not understood."""
    status, verdict = 2, "not understood"
    try:
        with open(arguments[0], "rb") as file:
            claim, hints = read(file.read(MOST_BYTES + 1))
        print("\n".join(statement(claim)))
        status, verdict = 1, "not accepted"
        check(claim, hints)
    except (IndexError, OSError, RefusedError) as error:
        print(f"{verdict}: {error}")
        return status
    print("accepted")
    return 0


def read(content: bytes) -> tuple[Any, Any]:
    """The claim and the hints of a certificate, which has to have meaning."""
    require(len(content) <= MOST_BYTES, "it has more than 64 kB")
    numbers: dict[str, Any] = dict.fromkeys(("parse_float", "parse_constant"), _refused)
    try:
        text = content.decode("utf-8")
        found = json.loads(text, parse_int=_whole, object_pairs_hook=_once, **numbers)
        claim = fields(found, "format claim sha256 hints about")["claim"]
        statement(claim)
    except (*MISFITS, RecursionError) as error:
        raise RefusedError(f"it is no certificate: {str(error)[:80]}") from None
    require(found["format"] == FORMAT, "another format")
    require(found["sha256"] == digest(claim), "the hash is not that of the claim")
    return claim, found["hints"]


def digest(claim: Any) -> str:
    """The hash of a claim."""
    plain = json.dumps(claim, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(plain.encode("ascii")).hexdigest()


def _refused(text: str) -> NoReturn:
    raise RefusedError(f"a name that occurs twice, or no string of digits: {text[:40]!r}")


def _whole(text: str) -> int:
    return int(text) if len(text) <= 12 else _refused(text)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    return found if len(found) == len(pairs) else _refused(str(pairs))


def check(claim: Any, hints: Any) -> None:
    """Return if the claim is true.

    Raises
    ------
    RefusedError
        If it is not shown to be true.
    """
    LEFT[0] = MOST_WORK
    release, relation = claim["release"], claim["relation"]
    try:
        epsilon = number(claim["epsilon"], MOST_EPSILON)
        if claim["says"] == "divergence at most":
            shown = divergence(release, relation, number(claim["order"])) <= epsilon
        elif claim["says"] == "exceeded":
            way = ways(release, relation, below=True)[int(number(hints["way"]))]
            shown = _delta(way, hints, True, epsilon) > number(claim["delta"], ONE)
        else:
            shown = _at_most(release, relation, hints, epsilon, number(claim["delta"], ONE))
    except (*MISFITS, RecursionError) as error:
        raise RefusedError(f"the hints do not fit: {type(error).__name__}") from None
    require(shown, "it is not shown by these hints")


def _at_most(release: Any, relation: str, hints: Any, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether delta at epsilon is shown to be small enough."""
    if "order" in hints:
        # delta = e^((a-1)(r - epsilon)) (1 - 1/a)^(a-1) / a: Balle et al. 2020, Theorem 21.
        a = number(hints["order"])
        exponent = (a - 1) * (divergence(release, relation, a) - epsilon)
        shown = of(exponent, 400) + of(a - 1, 400) * log(of(1 - 1 / a, 400)) - log(of(a, 400))
        return shown.hi <= log(of(delta, 400)).lo
    every = ways(release, relation, below=False)
    given = hints.get("ways", [{}] * len(every))
    require(len(given) == len(every), "the hints are for another number of ways")
    return all(_of_a_way(way, one, epsilon, delta) for way, one in zip(every, given))


def _of_a_way(way: Way, hint: Any, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether one way in which a record may matter has at most delta at epsilon."""
    limits = [(largest(pair) or (epsilon + 1, ONE), count) for pair, count in way]
    totals = [sum((n * one[i] for one, n in limits), 0 * ONE) for i in (0, 1)]
    if totals[0] <= epsilon and totals[1] <= delta:
        return True
    return _delta(way, hint, False, epsilon) <= delta


def _delta(way: Way, hint: Any, below: bool, epsilon: Fraction) -> Fraction:
    """Delta of a way, from above or from below; of a single release it is the curve itself."""
    if len(way) == 1 and way[0][1] == 1:
        bits = 1600 + int(2 * epsilon)
        height = curve(way[0][0], exp_of(epsilon, bits))
        return Fraction(height.lo if below else height.hi, 1 << bits)
    return _masses(way, hint, below).delta(epsilon)


def _masses(way: Way, hint: Any, below: bool) -> Masses:
    """The masses of a way, with the grids of a hint: step, digits, cut, and one part a pair."""
    digits, cut, powers = whole(hint["digits"], 300), whole(hint["cut"], 300), []
    require(len(hint["parts"]) == len(way), "the hints are for another number of pairs")
    for (pair, count), part in zip(way, hint["parts"]):
        halvings = part["halvings"]
        require(len(halvings) <= 40, "a grid is halved too often")
        finest = number(hint["step"]) / 2 ** len(halvings)
        if below:
            grid = [number(one.lstrip("-")) * (-1) ** one.count("-") for one in part["cells"]]
            require(1 <= grid[2] <= MOST_CELLS, "there are no cells, or too many")
            masses = from_below(pair, grid, finest, digits)
        else:
            ranges = [range(*stretch) for stretch in part["nodes"]]
            require(sum(map(len, ranges)) <= MOST_POINTS, "a grid has too many places")
            places = [k for one in ranges for k in one]
            require(sorted(set(places)) == places, "the places of a grid do not ascend")
            masses = from_above(pair, places, finest, digits)
        powers.append(masses.power(count, halvings, 10 ** max(digits - cut, 0)))
    require(len({one.step for one in powers}) == 1, "the parts end on different grids")
    return reduce(Masses.times, powers)
