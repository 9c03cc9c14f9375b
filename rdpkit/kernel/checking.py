"""What a certificate says, and whether that is true.

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

from .intervals import LEFT, ONE, RefusedError, exp_of, log, of, require
from .masses import Masses, from_above, from_below
from .pairs import NOTHING, curve, largest
from .releases import KINDS, RECORDS, divergence, fields, number, read_release, rho, ways, whole

FORMAT = "rdpkit-certificate-1"
MOST_BYTES, MOST_WORK, MOST_CELLS, MOST_POINTS = 65536, 70_000_000, 5000, 20000
MISFITS = (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError)
SAYS = {
    "at most": "epsilon is at most {epsilon} at delta {delta}",
    "exceeded": "for some two, epsilon is more than {epsilon} at delta {delta}",
    "divergence at most": "the Renyi divergence of order {order} is at most {epsilon}",
    "rho at most": "Renyi divergences of all orders a are at most a {epsilon}",
    "rho exceeded": "for some two, Renyi divergences of all orders a are more than a {epsilon}",
}


def main(paths: list[str]) -> int:
    """Check files: 0 all are accepted, 1 one is not accepted, 2 one is not understood."""
    return max(map(_checked, paths), default=2)


def _checked(path: str) -> int:
    """Check one file, and print what is found."""
    status, verdict = 2, "not understood"
    try:
        with open(path, "rb") as file:
            claim, hints = read(file.read(MOST_BYTES + 1))
        print("\n".join(statement(claim)))
        status, verdict = 1, "not accepted"
        check(claim, hints)
    except (OSError, ValueError, RefusedError) as error:
        print(f"{verdict}: {error} ({path!a})")
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
        require(_depth(found) <= 100, "it is too deep")
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


def _depth(found: Any) -> int:
    inner = found.values() if isinstance(found, dict) else found if isinstance(found, list) else ()
    return 1 + max(map(_depth, inner), default=0)


def _whole(text: str) -> int:
    return int(text) if len(text) <= 12 else _refused(text)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    return found if len(found) == len(pairs) else _refused(str(pairs))


def statement(claim: Any) -> list[str]:
    """The claim in words, and what it rests on; nothing else has meaning."""
    says, relation = claim["says"], claim["relation"]
    require(says in SAYS and relation in RECORDS, "an unknown relation, or sort of claim")
    last = "order" if says == "divergence at most" else "" if "rho" in says else "delta"
    fields(claim, f"says relation release epsilon {last}")
    _ = [number(claim[name]) for name in ("epsilon", *last.split())]
    release = read_release(claim["release"])
    about = f"any two data sets that differ {RECORDS[relation]}:"
    rests = [f"rests on {one}" for one in sorted({KINDS[one][1] for one in release.kinds()})]
    return [about, "  " + SAYS[says].format(**claim), f"released: {release.words()}", *rests]


def check(claim: Any, hints: Any) -> None:
    """Return if the claim is true.

    Raises
    ------
    RefusedError
        If it is not shown to be true.
    """
    LEFT[0] = MOST_WORK
    try:
        release, relation = read_release(claim["release"]), claim["relation"]
        epsilon = number(claim["epsilon"], 10**5)
        if claim["says"] == "divergence at most":
            shown = divergence(release, relation, number(claim["order"])) <= epsilon
        elif "rho" in claim["says"]:
            below = claim["says"] == "rho exceeded"
            found = rho(release, relation, below)
            shown = found > epsilon if below else found <= epsilon
        elif claim["says"] == "exceeded":
            way = ways(release, relation, below=True)[int(number(hints["way"]))]
            shown = _delta(way, hints, True, epsilon) > number(claim["delta"], 1)
        else:
            delta = number(claim["delta"], 1)
            if "order" in hints:
                found = divergence(release, relation, number(hints["order"]))
                shown = _implied(found, number(hints["order"]), epsilon, delta)
            else:
                every = ways(release, relation, below=False)
                given = hints.get("ways", [{}] * len(every))
                fits = isinstance(given, list) and len(given) == len(every)
                require(fits, "the hints are for another number of ways")
                shown = all(_of_a_way(way, h, epsilon, delta) for way, h in zip(every, given))
    except (*MISFITS, RecursionError) as error:
        raise RefusedError(f"the hints do not fit: {type(error).__name__}") from None
    require(shown, "it is not shown by these hints")


def _implied(r: Fraction, a: Fraction, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether e^((a-1)(r-epsilon)) (1-1/a)^(a-1) / a <= delta: Balle et al. 2020, Theorem 21."""
    shrunk = of(a - 1, 400) * log(of(1 - 1 / a, 400)) - log(of(a, 400))
    return (of((a - 1) * (r - epsilon), 400) + shrunk).hi <= log(of(delta, 400)).lo


def _of_a_way(way: Any, hint: Any, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether one way in which a record may matter has at most delta at epsilon."""
    limits = [(largest(pair) or (epsilon + 1, ONE), count) for pair, count in way]
    totals = [sum((n * one[i] for one, n in limits), NOTHING) for i in (0, 1)]
    if totals[0] <= epsilon and totals[1] <= delta:
        return True
    return _delta(way, hint, False, epsilon) <= delta


def _delta(way: Any, hint: Any, below: bool, epsilon: Fraction) -> Fraction:
    """Delta of a way, from above or from below; without parts it is the curve of one release."""
    if len(way) == 1 and way[0][1] == 1 and not (isinstance(hint, dict) and "parts" in hint):
        bits = 1600 + int(2 * epsilon)
        height = curve(way[0][0], exp_of(epsilon, bits))
        return Fraction(height.lo if below else height.hi, 1 << bits)
    digits, cut = whole(hint["digits"], 300), whole(hint["cut"], 300)
    require(len(hint["parts"]) == len(way), "the hints are for another number of pairs")
    powers = []
    for (pair, count), part in zip(way, hint["parts"]):
        once = _masses(pair, part, number(hint["step"]), digits, below)
        powers.append(once.power(count, part["halvings"], 10 ** max(digits - cut, 0)))
    require(len({one.step for one in powers}) == 1, "the parts end on different grids")
    return reduce(Masses.times, powers).delta(epsilon)


def _masses(pair: Any, part: Any, step: Fraction, digits: int, below: bool) -> Masses:
    """The masses of one release, on a grid that is halved to ``step``."""
    halvings = part["halvings"]
    require(isinstance(halvings, list) and len(halvings) <= 40, "a grid is halved too often")
    finest = step / 2 ** len(halvings)
    if below:
        require(isinstance(part["cells"], list), "cells are from, to, number")
        grid = [number(one.lstrip("-")) * (-1) ** one.count("-") for one in part["cells"]]
        require(1 <= grid[2] <= MOST_CELLS, "there are no cells, or too many")
        return from_below(pair, grid, finest, digits)
    ranges = [range(first, last, whole(stride)) for first, last, stride in part["nodes"]]
    require(sum(map(len, ranges)) <= MOST_POINTS, "a grid has too many places")
    places = [k for one in ranges for k in one]
    require(sorted(set(places)) == places, "the places of a grid do not ascend")
    return from_above(pair, places, finest, digits)
