"""What was released: its pairs, its Renyi divergences, and the theorems for them.

Argument
--------
A release is a list of disjoint parts of the data, perhaps one, and of each part a list of what is
computed of it: an object with a ``kind``, so many times (``count``), each time of a sample that a
record joins with a probability (``rate``, perhaps 1). Of each kind in ``KINDS`` a theorem on paper
says that a pair of distributions dominates it: every hockey-stick divergence between neighbours is
at most the pair's. Compositions of dominating pairs dominate, adaptive ones too. A record matters
in one part, or moves from one to another one. In both orders of the two data sets, each of these is
a way in which a record may matter. All ways together count.
"""

import re
from fractions import Fraction
from itertools import chain, permutations, product
from typing import Any

from .intervals import of, require, spend
from .pairs import Pair, geometric, laplace, mixture, response, shift, stated

ADD, REPLACE, ZERO, STAYS = "add-or-remove-one", "replace-one", "zero-out", "replace-one-in-a-part"
RECORDS = {
    ADD: "by one record, which only one has",
    REPLACE: "in one record, which is another one",
    ZERO: "in one record, which adds nothing to sums in one of them",
    STAYS: "in one record, which is another one in the same part of the data",
}
MOVES = "a record leaves a part, in which it is half of the distance away from nothing"
SAYS = {"at most": "is at most", "exceeded": "for some two is more than"}
ABOUT = {"delta": "epsilon at delta {delta}", "order": "the Renyi divergence of order {order}"}
RHO = "rho, by which all orders times it bound Renyi divergences,"
NUMBER = re.compile(r"[0-9]{1,60}(/0*[1-9][0-9]{0,29}|(\.[0-9]{1,80})?(e[+-]?[0-9]{1,3})?)")
MOST_COUNT, MOST_WAYS, HUGE = 10**9, 64, 10**400
# Fields; the theorem; first letters of relations, and what else is known of a kind: samples; moves
# of records between parts; Renyi divergences, which are multiples of orders, or even attained. Last
# what computes its pair.
KINDS: dict[str, Any] = {
    "gaussian": ("noise distance", "Balle, Wang 2018, Theorem 8", "a r z q moves linear attained"),
    "fixed-size-gaussian": ("noise distance sampled of", "Balle et al. 2018, Thm. 11", "a r moves"),
    "shuffled-gaussian": ("noise distance batch of", "rdpkit, docs/theory/batches.md", "a r z"),
    "mixture": ("noise parts", "its pair is a part of the statement", "a", mixture),
    "laplace": ("scale distance", "Dwork, McSherry, Nissim, Smith 2006", "a r q", laplace),
    "discrete-laplace": ("scale distance", "Ghosh et al. 2012", "a r q", geometric),
    "response": ("buckets probability", "randomised response: Warner 1965", "r", response),
    "stated": ("epsilon delta", "Kairouz, Oh, Viswanath 2015", "a r q", stated),
    "zero-concentrated": ("rho", "Bun, Steinke 2016, the definition", "a r z linear"),
    "gaussian-synthesis": ("n d eigenvalue", "rdpkit, docs/theory/synthesis-direct.md", "a r"),
}
SAMPLES = "samples: Zhu et al., Theorem 11; if replaced: rdpkit, docs/theory/poisson-replace-one.md"
COMPOSED = "compositions: Zhu, Dong, Wang 2022, Theorem 10"
PARTS = "disjoint parts of the data: rdpkit, docs/theory/composition.md"
WHOLE = {"count", "batch", "sampled", "of", "n", "d", "buckets"}
MOST = {"rate": 1, "probability": 1, "eigenvalue": 1, "delta": 1, "epsilon": 10**5}
Release = list[list[dict[str, Any]]]
Way = tuple[tuple[Pair, int], ...]


def number(text: str, most: int = HUGE) -> Fraction:
    """A number of at least 0, given as a string of digits, or as a fraction of two whole ones."""
    require(bool(NUMBER.fullmatch(text)), f"no digits: {text:.40}")
    found = Fraction(text)
    require(not found or Fraction(1, HUGE) <= found <= most, f"too small or large: {text:.40}")
    return found


def whole(given: Any, most: int = MOST_COUNT) -> int:
    """A whole number of at least 1."""
    require(type(given) is int and 1 <= given <= most, f"not from 1 to {most}: {given!r:.40}")
    return int(given)


def listed(given: Any, least: int, most: int) -> list[Any]:
    """A list that is neither too short nor too long."""
    require(isinstance(given, list) and least <= len(given) <= most, f"no list of {least}, {most}")
    return list(given)


def fields(given: Any, names: str) -> None:
    """An object has fields of these names, and no others."""
    require(isinstance(given, dict) and {*given} == {*names.split()}, f"its fields: not {names}")


def read_parts(given: Any) -> Release:
    """A release whose fields have meaning, and no other fields."""
    parts = [listed(part, 1, MOST_WAYS) for part in listed(given, 1, MOST_WAYS)]
    for one in chain(*parts):
        fields(one, f"kind count rate {KINDS[one['kind']][0]}")
    return [[{name: _read(name, one[name]) for name in one} for one in part] for part in parts]


def _read(name: str, value: Any) -> Any:
    if name == "parts":
        return [tuple(map(number, listed(one, 2, 2))) for one in listed(value, 1, 50)]
    if name in WHOLE:
        return whole(value)
    return value if name == "kind" else number(value, MOST.get(name, HUGE))


def known(release: Release, word: str) -> bool:
    """Whether something is known of all kinds in a release."""
    return all(word in KINDS[one["kind"]][2].split() for one in chain(*release))


def statement(claim: Any) -> list[str]:
    """The claim in words, and what it rests on; nothing else has meaning."""
    relation, release = claim["relation"], read_parts(claim["release"])
    measure = next((one for one in ABOUT if one in claim), "")
    fields(claim, f"says relation release epsilon {measure}")
    require(known(release, relation[0]), "a release is not known under this relation")
    _ = [number(claim[name]) for name in ("epsilon", *measure.split())]
    rests = {KINDS[one["kind"]][1] for one in chain(*release)} | {COMPOSED, PARTS, SAMPLES}
    words = (str(part).replace("'kind': ", "").replace("'", "") for part in claim["release"])
    return [
        f"any two data sets that differ {RECORDS[relation]}:",
        f"  {ABOUT.get(measure, RHO).format(**claim)} {SAYS[claim['says']]} {claim['epsilon']}",
        *(f"released{f' of part {i}' if i else ''}: {one}" for i, one in enumerate(words)),
        *(f"rests on {one}" for one in sorted(rests)),
    ]


def _pair(given: dict[str, Any], relation: str, below: bool) -> Any:
    """The pair of one release: with the record against without it."""
    kind, rate = given["kind"], given["rate"]
    sampled = known([[given]], "q") and (relation == ADD or kind == "gaussian")
    require(rate == 1 or sampled, "samples of this are not known")
    if kind == "shuffled-gaussian":
        return _of_shuffled(given, relation)
    if kind == "fixed-size-gaussian":
        q = Fraction(whole(given["sampled"], given["of"] - (relation != REPLACE)), given["of"])
        side = 0 if relation == REPLACE and not below else 1
        return shift((given["distance"] / given["noise"]) ** 2)._replace(rate=q, side=side)
    if kind == "gaussian":
        square = (given["distance"] / given["noise"]) ** 2 / (4 if relation == MOVES else 1)
        if rate == 1 or relation != REPLACE:
            return shift(square)._replace(rate=rate, side=int(rate < 1))
        # The worst two records are opposite ones, each half of the distance away from nothing.
        rest = square / 4, 1 - rate
        return Pair("normal", ((rest, (square, rate)), (rest, (Fraction(0), rate))))
    simple = {name: given[name] for name in KINDS[kind][0].split()}
    return KINDS[kind][3](**simple)._replace(rate=rate, side=int(rate < 1 or kind == "mixture"))


def _of_shuffled(given: dict[str, Any], relation: str) -> Pair:
    """The sums of shuffled batches where all other records are on the other side of the origin."""
    far, count = given["distance"] / given["noise"], whole(given["of"] // given["batch"])
    # If it adds nothing in one data set, it is on one side in the other one, half as far away.
    other, share = far / 2 * (relation == ZERO), Fraction(count * given["batch"], given["of"])
    require(relation != ADD or share < 1, "without a record a batch is missing")
    return Pair("batches", ((count, share, -other), (count, share, -far)), side=-1)


def ways(release: Release, relation: str, below: bool) -> list[Way]:
    """All that one record may amount to, as pairs and counts, in both orders of the data sets."""
    sizes = [{one["of"] for one in part if "of" in one} for part in release]
    require(not below or all(len(one) <= 1 for one in sizes), "data sets of different sizes")
    found = _parts(release, REPLACE if relation == STAYS else relation, below)
    if relation == REPLACE and len(release) > 1:
        require(not below and known(release, "moves"), "records that move are not known of this")
        found += [a + _reversed(b) for a, b in permutations(_parts(release, MOVES, below), 2)]
    every = list(dict.fromkeys(_merged(way) for way in (*found, *map(_reversed, found))))
    require(len(every) <= MOST_WAYS, "a record may matter in too many ways")
    return every


def _parts(release: Release, relation: str, below: bool) -> list[Way]:
    return [tuple((_pair(one, relation, below), one["count"]) for one in part) for part in release]


def _reversed(way: Way) -> Way:
    return tuple((pair._replace(side=-pair.side), n) for pair, n in way)


def _merged(way: Way) -> Way:
    """Equal pairs counted together, and all Gaussians as one: squared distances add up."""
    spend(40 * len(way) ** 2)
    counts = {pair: sum(n for one, n in way if one == pair) for pair, _ in way}
    alone = [p for p in counts if p.kind == "normal" and p.rate == 1 and len(p.given[0]) == 1]
    if alone:
        counts[shift(sum(counts.pop(one) * one.given[0][0][0] for one in alone))] = 1
    return tuple((pair, whole(n)) for pair, n in counts.items())


def divergence(release: Release, relation: str, a: Fraction) -> Fraction:
    """An upper bound on the Renyi divergence of order a > 1, in either direction."""
    (part,) = release
    require(1 < a <= 10**6 and all(one["rate"] == 1 for one in part), "a sample, or unusual order")
    return sum((one["count"] * _divergence(one, relation, a) for one in part), Fraction(0))


def _divergence(given: dict[str, Any], relation: str, a: Fraction) -> Any:
    if known([[given]], "linear"):
        rho = given["rho"] if "rho" in given else (given["distance"] / given["noise"]) ** 2 / 2
        return a * rho
    require(given["kind"] == "gaussian-synthesis", "no Renyi divergence is known of it")
    # The two theorems of docs/theory/synthesis-direct.md, about one record of the synthesis: one
    # normal law against another one, along axes. By x the variance is larger on the axis along
    # which the square of the means' distance is ``far``, and by y on each of the d - 1 others.
    n, d, sigma, b = given["n"], given["d"], given["eigenvalue"], a - 1
    x = 4 * d / sigma * (n - 1) / n**2
    cases = [(x, Fraction(0), x / (n - 1))]
    if relation == ADD:
        root = Fraction(of(1 - sigma, 400).root().hi, 1 << 400)
        sizes = product((n, n + 1), (Fraction(0), d * (1 + root) ** 2 / sigma))
        cases = [(((m - 1) * t / m - 1) / m, Fraction(-1, m), t / m**2) for m, t in sizes]
        cases += [(-x / (1 + x), -y / (1 + y), far / (1 + x)) for x, y, far in cases]
    require(relation == ADD or (x < 1 and (a >= 2 or 3 * x**2 <= 1)), "too few records")

    def part(x: Fraction) -> Fraction:
        both = of(1 - b * x, 400).log() + of(b, 400) * of(1 + x, 400).log()
        return -Fraction(both.lo, 1 << 400) / (2 * b)

    return max((d - 1) * part(y) + part(x) + a / 2 * far / (1 - b * x) for x, y, far in cases)
