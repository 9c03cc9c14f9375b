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

import json
import re
from fractions import Fraction
from functools import reduce
from hashlib import sha256
from itertools import accumulate, chain, islice
from typing import Any

from .intervals import LEFT, half_area, of, require
from .masses import Masses, from_above, from_below
from .releases import divergence, fields, known, listed, number, read_parts, statement, ways, whole

FORMAT = "rdpkit-certificate-3"
MOST_BYTES, MOST_DEEP, MOST_WORK, MOST_POINTS = 65536, 100, 70_000_000, 20000
# What is raised where a certificate is not understood, or does not show what it claims.
REFUSED = (ArithmeticError, LookupError, MemoryError, RecursionError, TypeError, ValueError)


def main(paths: list[str]) -> int:
    """Check files: 0 all are accepted, 1 one is not accepted, 2 one is not understood."""
    return max(map(_checked, paths), default=2)


def _checked(path: str) -> int:
    """Check one file, and print what is found, in ASCII and each reason in one line."""
    status = 2
    try:
        with open(path, "rb") as file:
            claim, hints = read(file.read(MOST_BYTES + 1))
        print("\n".join(statement(claim)))
        status = 1
        check(claim, hints)
        print("accepted")
        status = 0
    except (OSError, *REFUSED) as error:
        verdict = ("accepted", "understood")[status - 1]
        print(f"not {verdict}: {ascii(str(error))[1:-1]:.200} ({path!a})")
    return status


def read(content: bytes) -> tuple[Any, Any]:
    """The claim and the hints of a certificate, which are what is written and no more."""
    # Names that are numbers would be put into another order in a browser.
    require(not re.search(rb'"[0-9]+"\s*:', content[: MOST_BYTES + 1]), "a number as a name")
    require(len(content) <= MOST_BYTES, "it has more than 64 kB")
    text = content.decode("ascii")
    # An unknown depth would end where Python's stack does.
    marks = ((c in "[{") - (c in "]}") for c in re.sub(r'"(?:[^"\\]|\\.)*"', "", text))
    require(max(accumulate(marks, initial=0)) <= MOST_DEEP, "it is nested too deep")
    found = json.loads(text, parse_int=lambda n: int(n[:12]), parse_float=str, parse_constant=str)
    # What is read has to be all that is written: no name twice, no fraction, no long number.
    bare = re.sub(r'("(?:[^"\\]|\\.)*")|[ \t\n\r]+', r"\1", text)
    require(json.dumps(found, separators=(",", ":")) == bare, "a name twice, or unusual JSON")
    fields(found, "format claim sha256 hints about")
    require(found["format"] == FORMAT, "another format")
    require(found["sha256"] == digest(found["claim"]), "the hash is not that of the claim")
    return found["claim"], found["hints"]


def digest(claim: Any) -> str:
    """The hash of a claim."""
    return sha256(json.dumps(claim, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def check(claim: Any, hints: Any) -> None:
    """Return if the claim is true.

    Raises
    ------
    REFUSED
        If it is not shown to be true.
    """
    LEFT[0] = MOST_WORK
    half_area.cache_clear()
    statement(claim)
    release, relation = read_parts(claim["release"]), claim["relation"]
    below, epsilon = claim["says"] == "exceeded", number(claim["epsilon"], 10**5)
    if "delta" not in claim:
        exact = known(release, "attained" if below else "linear")
        require(exact or ("order" in claim and not below), "its divergences are not known exactly")
        found = divergence(release, relation, number(claim.get("order", "2")))
        found /= 1 if "order" in claim else 2
        shown = found > epsilon if below else found <= epsilon
    elif "order" in hints:
        order, delta = number(hints["order"]), number(claim["delta"], 1)
        shown = not below and _implied(divergence(release, relation, order), order, epsilon, delta)
    else:
        every = ways(release, relation, below)
        given = zip(every, listed(hints["ways"], len(every), len(every)))
        each = (_of_a_way(*one, below, epsilon, number(claim["delta"], 1)) for one in given)
        shown = any(each) if below else all(each)
    require(shown, "it is not shown by these hints")


def _implied(r: Fraction, a: Fraction, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether e^((a-1)(r-epsilon)) (1-1/a)^(a-1) / a <= delta: Balle et al. 2020, Theorem 21."""
    shrunk = of(a - 1, 400) * of(1 - 1 / a, 400).log() - of(a, 400).log()
    return (of((a - 1) * (r - epsilon), 400) + shrunk).hi <= of(delta, 400).log().lo


def _of_a_way(way: Any, hint: Any, below: bool, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether one way in which a record may matter has at most delta at epsilon, or more."""
    if below:
        return hint is not None and _delta(way, hint, below, epsilon) > delta
    limits = [(pair.limit or (epsilon + 1, 1), n) for pair, n in way]
    losses, infinite = (sum(n * one[i] for one, n in limits) for i in (0, 1))
    return (losses <= epsilon and infinite <= delta) or _delta(way, hint, below, epsilon) <= delta


def _delta(way: Any, hint: Any, below: bool, epsilon: Fraction) -> Fraction:
    """A bound on delta of a way, from above or from below."""
    digits, cut = whole(hint["digits"], 300), whole(hint["cut"], 300)
    powers = []
    for (pair, count), part in zip(way, listed(hint["parts"], len(way), len(way))):
        halvings = listed(part["halvings"], 0, 40)
        ranges = (range(first, last, whole(stride)) for first, last, stride in part["nodes"])
        places = list(islice(chain.from_iterable(ranges), MOST_POINTS))
        require(sorted(set(places)) == places, "the places of a grid do not ascend")
        grid = pair, places, number(hint["step"]) / 2 ** len(halvings), digits
        once = from_below(*grid, part["starts"]) if below else from_above(*grid)
        powers.append(once.power(count, halvings, 10 ** max(digits - cut, 0)))
    require(len({one.step for one in powers}) == 1, "the parts end on different grids")
    return reduce(Masses.times, powers).delta(epsilon)
