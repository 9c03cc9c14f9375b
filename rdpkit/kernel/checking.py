"""What a certificate is, and whether its claim is true.

Argument
--------
The ``claim`` is all that is proven. ``hints`` say how: which grid, how many digits, which cells.
Every number that is computed is a bound for all hints, so a wrong hint can only make a certificate
fail. A claim "at most" is accepted if, for every way in which one record may matter, one of these
holds: all losses together are at most epsilon and infinite ones have at most probability delta; the
pair of a single release has at most delta at e^epsilon; or its masses have (:mod:`.masses`). Or, for
all ways at once, if a Renyi divergence implies it. A claim "exceeded" is accepted if a test between
two data sets has P(A) - e^epsilon Q(A) > delta.
"""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from functools import reduce
from typing import Any, NoReturn

from .intervals import RefusedError, Work, log, of, upper
from .masses import Masses, from_above, from_below
from .pairs import ONE, curve, exp_of, largest
from .releases import (
    ADD,
    REPLACE,
    Way,
    divergence,
    fields,
    needs_order,
    number,
    positive,
    theorems,
    ways,
    whole,
    words,
)

FORMAT = "rdpkit-certificate-1"
MOST_BYTES, MOST_WORK, MOST_POINTS = 65536, 400_000_000, 20000
RECORDS = {
    ADD: "one record that only one of them has",
    REPLACE: "one record, which is another one in the other",
}
SAYS = {
    "at most": "epsilon is at most {epsilon} at delta {delta}",
    "exceeded": "for some two, epsilon is more than {epsilon} at delta {delta}",
    "divergence at most": "the Renyi divergence of order {order} is at most {epsilon}",
}


def main(arguments: list[str]) -> int:
    """Check one file: 0 accepted, 1 not accepted, 2 not understood."""
    try:
        with open(arguments[0], "rb") as file:
            claim, hints = read(file.read(MOST_BYTES + 1))
        print("\n".join(statement(claim)))
    except (IndexError, OSError, RefusedError) as error:
        print(f"not understood: {error}; usage: python -m rdpkit.kernel certificate.json")
        return 2
    try:
        check(claim, hints)
    except RefusedError as error:
        print(f"not accepted: {error}")
        return 1
    print("accepted")
    return 0


def read(content: bytes) -> tuple[Any, Any]:
    """The claim and the hints of a certificate."""
    if len(content) > MOST_BYTES:
        raise RefusedError("it has more than 64 kB")
    try:
        found = json.loads(
            content.decode("utf-8"),
            parse_float=_refused,
            parse_int=_whole,
            parse_constant=_refused,
            object_pairs_hook=_once,
        )
    except (ValueError, RecursionError) as error:
        raise RefusedError(f"it is no JSON: {str(error)[:80]}") from None
    claim = fields(found, "format claim sha256 hints about")["claim"]
    if found["format"] != FORMAT or found["sha256"] != digest(claim):
        raise RefusedError("another format, or the hash is not that of the claim")
    return claim, found["hints"]


def digest(claim: Any) -> str:
    """The hash of a claim."""
    plain = json.dumps(claim, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(plain.encode("ascii")).hexdigest()


def _refused(text: str) -> NoReturn:
    raise RefusedError(f"a number that is no string of digits: {text[:40]!r}")


def _whole(text: str) -> int:
    return int(text) if len(text) <= 12 else _refused(text)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    return found if len(found) == len(pairs) else _refused(str(pairs))


def statement(claim: Any) -> list[str]:
    """The claim in words, and what it rests on; no other claim has meaning."""
    says = claim.get("says") if isinstance(claim, dict) else None
    last = "order" if says == "divergence at most" else "delta"
    fields(claim, f"says relation release epsilon {last}")
    number(claim["epsilon"]), number(claim[last])
    if says not in SAYS or claim["relation"] not in RECORDS:
        raise RefusedError("an unknown relation, or an unknown sort of claim")
    return [
        f"any two data sets that differ by {RECORDS[claim['relation']]}:",
        f"  {SAYS[says].format(**claim)}",
        f"released: {words(claim['release'])}",
        *(f"rests on {one}" for one in sorted(theorems(claim["release"]))),
    ]


def check(claim: Any, hints: Any) -> None:
    """Return if the claim is true.

    Raises
    ------
    RefusedError
        If it is not shown to be true.
    """
    Work.left = MOST_WORK
    try:
        _check(claim, hints)
    except (
        ArithmeticError,
        LookupError,
        MemoryError,
        RecursionError,
        TypeError,
        ValueError,
        AttributeError,
    ) as error:
        raise RefusedError(f"the hints do not fit: {type(error).__name__}") from None


def _check(claim: Any, hints: Any) -> None:
    release, relation, epsilon = claim["release"], claim["relation"], number(claim["epsilon"])
    if claim["says"] == "divergence at most":
        order = number(claim["order"])
        _require(order > 1 and divergence(release, relation, order) <= epsilon, "the divergence")
        return
    delta = number(claim["delta"], ONE)
    if claim["says"] == "exceeded":
        way = ways(release, relation, below=True)[int(number(hints["way"]))]
        _require(_masses(way, hints, below=True).delta(epsilon) > delta, "the test's delta")
    elif "order" in hints:
        # delta = e^((a-1)(r - epsilon)) (1 - 1/a)^(a-1) / a: Balle et al. 2020, Theorem 21.
        a = number(hints["order"])
        exponent = (a - 1) * (divergence(release, relation, a) - epsilon)
        shown = of(exponent, 400) + of(a - 1, 400) * log(of(1 - 1 / a, 400)) - log(of(a, 400))
        _require(shown.hi <= log(of(delta, 400)).lo, "the divergence of this order")
    else:
        every = ways(release, relation, below=False)
        given = hints.get("ways", [{}] * len(every))
        _require(len(given) == len(every), "the number of hints")
        for way, hint in zip(every, given):
            _require(_at_most(way, hint, epsilon, delta), "delta at this epsilon")


def _require(shown: bool, what: str) -> None:
    if not shown:
        raise RefusedError(f"{what} does not show it")


def _at_most(way: Way, hint: Any, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether one way in which a record may matter has at most delta at epsilon."""
    limits = [(largest(pair), count) for pair, count in way]
    if all(one for one, _ in limits):
        totals = [sum((n * one[i] for one, n in limits if one), 0 * ONE) for i in (0, 1)]
        if totals[0] <= epsilon and totals[1] <= delta:
            return True
    if len(way) == 1 and way[0][1] == 1:
        bits = 160 + 4 * len(str(delta.denominator)) + int(2 * epsilon)
        return upper(curve(way[0][0], exp_of(epsilon, bits))) <= delta
    return _masses(way, hint, below=False).delta(epsilon) <= delta


def _masses(way: Way, hint: Any, below: bool) -> Masses:
    """The masses of a way, with the grids of a hint: step, digits, cut, and a part for each pair."""
    digits, cut, powers = whole(hint["digits"], 500), whole(hint["cut"], 500), []
    _require(len(hint["parts"]) == len(way), "the number of hints")
    for (pair, count), part in zip(way, hint["parts"]):
        halvings = part["halvings"]
        finest = positive(hint["step"]) / 2 ** len(halvings)
        if below:
            grid = [number(one.lstrip("-")) * (-1) ** one.count("-") for one in part["cells"]]
            _require(1 <= grid[2] <= 5000 and len(grid) == 3, "the number of cells")
            masses = from_below(pair, grid, finest, digits)
        else:
            places = [
                k for stretch in part["nodes"] for k in range(*stretch[:2], whole(stretch[2]))
            ]
            _require(len(places) > 1 and sorted(set(places)) == places, "the order of the grid")
            masses = from_above(pair, places, finest, digits)
        powers.append(masses.power(count, halvings, 10 ** max(digits - cut, 0)))
    _require(len({one.step for one in powers}) == 1, "the steps of the parts")
    return reduce(Masses.times, powers)
