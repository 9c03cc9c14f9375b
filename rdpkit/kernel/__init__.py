"""A checker of privacy claims: integers and the standard library only, to be read in an hour.

``python -m rdpkit.kernel certificate.json`` prints what the certificate states, the theorems on
paper that it rests on, and whether it is accepted. Nothing here imports the rest of rdpkit, and
nothing of the rest imports this. The argument is on the page docs/theory/kernel.md.

Argument
--------
The ``claim`` is all that is proven. ``hints`` say how: which grid, how many digits, which order.
Every number that is computed is a bound for all hints, so a wrong hint can only make a certificate
fail. A claim "at most" is accepted if, for every way in which one record may matter, one of these
holds: all losses together are at most epsilon and infinite ones have at most probability delta; the
pair of a single release has at most delta at e^epsilon; or its masses have (:mod:`.masses`). Or,
for all ways at once, if a Renyi divergence implies it. A claim "exceeded" is accepted if in one way
a test between two data sets has P(A) - e^epsilon Q(A) > delta.
"""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from functools import reduce
from typing import Any, NoReturn

from .intervals import LEFT, ONE, RefusedError, exp_of, log, of, require
from .masses import Masses, from_above, from_below
from .pairs import NOTHING, curve
from .releases import divergence, listed, measure_of, number, read_release, statement, ways, whole

FORMAT = "rdpkit-certificate-2"
MOST_BYTES, MOST_WORK, MOST_POINTS = 65536, 70_000_000, 20000
MISFITS = (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError)


def main(paths: list[str]) -> int:
    """Check files: 0 all are accepted, 1 one is not accepted, 2 one is not understood."""
    return max(map(_checked, paths), default=2)


def _checked(path: str) -> int:
    """Check one file, and print what is found."""
    status = 2
    try:
        with open(path, "rb") as file:
            claim, hints = read(file.read(MOST_BYTES + 1))
        print("\n".join(statement(claim)))
        status = 1
        check(claim, hints)
    except (OSError, ValueError, RefusedError) as error:
        print(f"not {'understood' if status == 2 else 'accepted'}: {error} ({path!a})")
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
        require({*found} == {"format", "claim", "sha256", "hints", "about"}, "not its fields")
        claim = found["claim"]
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


def check(claim: Any, hints: Any) -> None:
    """Return if the claim is true.

    Raises
    ------
    RefusedError
        If it is not shown to be true.
    """
    LEFT[0] = MOST_WORK
    try:
        shown = _shown(claim, hints)
    except (*MISFITS, RecursionError) as error:
        raise RefusedError(f"the hints do not fit: {type(error).__name__}") from None
    require(shown, "it is not shown by these hints")


def _shown(claim: Any, hints: Any) -> bool:
    release, relation, measure = (
        read_release(claim["release"]),
        claim["relation"],
        measure_of(claim),
    )
    below, epsilon = claim["says"] == "exceeded", number(claim["epsilon"], 10**5)
    if measure == "delta":
        delta = number(claim["delta"], 1)
        if "order" in hints and not below:
            order = number(hints["order"])
            return _implied(divergence(release, relation, order), order, epsilon, delta)
        every = ways(release, relation, below)
        given = listed(hints.get("ways", [{}] * len(every)), len(every), len(every))
        if below:
            tried = ((way, hint) for way, hint in zip(every, given) if hint is not None)
            return any(_delta(*one, True, epsilon) > delta for one in tried)
        return all(_of_a_way(*one, epsilon, delta) for one in zip(every, given))
    linear = release.all_are("attained" if below else "linear")
    require(linear or not (below or not measure), "its Renyi divergences are not known exactly")
    found = divergence(release, relation, number(claim["order"]) if measure else 2 * ONE)
    found = found if measure else found / 2
    return bool(found > epsilon if below else found <= epsilon)


def _implied(r: Fraction, a: Fraction, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether e^((a-1)(r-epsilon)) (1-1/a)^(a-1) / a <= delta: Balle et al. 2020, Theorem 21."""
    shrunk = of(a - 1, 400) * log(of(1 - 1 / a, 400)) - log(of(a, 400))
    return (of((a - 1) * (r - epsilon), 400) + shrunk).hi <= log(of(delta, 400)).lo


def _of_a_way(way: Any, hint: Any, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether one way in which a record may matter has at most delta at epsilon."""
    limits = [(pair.limit or (epsilon + 1, ONE), n) for pair, n in way]
    totals = [sum((n * one[i] for one, n in limits), NOTHING) for i in (0, 1)]
    bounded = totals[0] <= epsilon and totals[1] <= delta
    return bounded or _delta(way, hint, False, epsilon) <= delta


def _delta(way: Any, hint: Any, below: bool, epsilon: Fraction) -> Fraction:
    """Delta of a way, from above or from below; without parts it is the curve of one release."""
    require(isinstance(hint, dict), "there are no hints for a way")
    if "parts" not in hint:
        ((pair, count),) = way
        require(count == 1, "there are several releases, and no grid")
        height = curve(pair, exp_of(epsilon, 1600 + int(2 * epsilon)))
        return Fraction(height.lo if below else height.hi, 1 << height.bits)
    digits, cut = whole(hint["digits"], 300), whole(hint["cut"], 300)
    powers = []
    for (pair, count), part in zip(way, listed(hint["parts"], len(way), len(way))):
        halvings = listed(part["halvings"], 0, 40)
        ranges = [range(first, last, whole(stride)) for first, last, stride in part["nodes"]]
        require(sum(map(len, ranges)) <= MOST_POINTS, "a grid has too many places")
        places = [k for one in ranges for k in one]
        require(sorted(set(places)) == places, "the places of a grid do not ascend")
        step = number(hint["step"]) / 2 ** len(halvings)
        if below:
            starts = listed(part.get("starts", [None] * len(places)), len(places), len(places))
            once = from_below(pair, places, step, digits, starts)
        else:
            once = from_above(pair, places, step, digits)
        powers.append(once.power(count, halvings, 10 ** max(digits - cut, 0)))
    require(len({one.step for one in powers}) == 1, "the parts end on different grids")
    return reduce(Masses.times, powers).delta(epsilon)
