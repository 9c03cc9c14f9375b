"""Certificates: both engines agree, and no certificate of a false claim is accepted."""

import contextlib
import copy
import itertools
import json
import math
import random
import time
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest

import rdpkit
from rdpkit import kernel as checking
from rdpkit.analysis import lower_bound
from rdpkit.interop.certificates import NoCertificateError, certificate
from tests.events import unit
from tests.oracles import profile_sampling
from tests.processes import ran

KERNEL = Path(checking.__file__).parent
ADD, REPLACE = "add_or_remove_one", "replace_one"


ONCE = {"count": 1, "rate": "1"}
SHUFFLED = {"kind": "shuffled-gaussian", **ONCE, "noise": "1", "distance": "2"}
STATED = rdpkit.EpsilonDelta(epsilon=0.1, delta=1e-8, adjacency=ADD)
LAPLACE = unit.laplace(8.0)
SUBSET = unit.fixed_size(0.5, 60, 6000, record_norm=0.5)
SETTINGS = {
    "gaussian": (unit.gaussian(2.0), REPLACE, 1e-6),
    "two-gaussians": (unit.gaussian(2.0) + unit.gaussian(3.0) * 3, ADD, 1e-6),
    "poisson-once": (unit.poisson(0.8, 0.1), ADD, 1e-5),
    "laplace-50": (LAPLACE * 50, ADD, 1e-6),
    "stated-40": (STATED * 40, ADD, 1e-5),
    "response-30": (
        rdpkit.RandomizedResponse(noise_parameter=0.9, num_buckets=4) * 30,
        REPLACE,
        1e-4,
    ),
    "discrete": (rdpkit.DiscreteLaplace(noise_scale=9.0, record_norm=2) * 20, ADD, 1e-5),
    "mixed": (STATED * 3 + LAPLACE + unit.gaussian(4.0), ADD, 1e-6),
}
THOROUGH = {
    "poisson-300": (unit.poisson(0.9, 0.02) * 300, ADD, 1e-5),
    "poisson-replaced": (unit.poisson(0.9, 0.02) * 100, REPLACE, 1e-6),
    "subsets": (SUBSET * 200, REPLACE, 1e-5),
    "tiny-delta": (unit.poisson(1.5, 0.05) * 20, ADD, 1e-30),
    "sampled-laplace": (
        rdpkit.PoissonSampled(event=unit.laplace(1.0), sampling_probability=0.1) * 30,
        ADD,
        1e-5,
    ),
    "phases": (
        sum((unit.poisson(1.0 + i / 10, 0.01) * 100 for i in range(3)), unit.poisson(1.0, 0.02)),
        ADD,
        1e-5,
    ),
}


def marked(mark: str, *values: object) -> list[object]:
    return [pytest.param(value, marks=getattr(pytest.mark, mark)) for value in values]


def proven(event: rdpkit.Event, claimed: str, too_low: str, adjacency: str, **asked) -> None:
    """A certificate of the first claim is accepted, and there is none of the second."""
    certificate(event, claimed=claimed, adjacency=adjacency, **asked)
    with pytest.raises(NoCertificateError):
        certificate(event, claimed=too_low, adjacency=adjacency, **asked)


def way(*nodes: list[int], times: int = 1, **others: object) -> dict[str, object]:
    """Hints about a grid with these nodes, for each of some parts that are alike."""
    starts = {"starts": others.pop("starts")} if "starts" in others else {}
    part = {"halvings": others.pop("halvings", []), "nodes": list(nodes or ([0, 1, 1],)), **starts}
    return {"digits": 30, "cut": 30, "step": "1", "parts": [part] * times, **others}


@pytest.mark.parametrize(
    "name",
    [
        *("gaussian", "two-gaussians"),
        *marked("thorough", "poisson-once", "stated-40", "response-30", "discrete"),
        *marked("slow", "poisson-300", "poisson-replaced", "sampled-laplace"),
    ],
)
def test_both_engines_agree(name):
    """The checker certifies a little more than the best bound, and refutes what is attained."""
    event, adjacency, delta = {**SETTINGS, **THOROUGH}[name]
    above = rdpkit.epsilon(event, delta=delta, adjacency=adjacency).epsilon
    below = lower_bound(event, delta=delta, adjacency=adjacency)[0].epsilon
    common = {"adjacency": adjacency, "delta": delta}
    certificate(event, claimed=f"{1.002 * above:.6f}", **common)
    certificate(event, claimed=f"{0.99 * below:.6f}", refuted=True, **common)
    # The two engines would contradict each other if one of these were accepted.
    for claimed, refuted in ((0.999 * below, False), (1.001 * above, True)):
        with pytest.raises(NoCertificateError, match="did not accept"):
            certificate(event, claimed=f"{claimed:.9f}", refuted=refuted, **common)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["laplace-50", "mixed", "subsets", "tiny-delta", "phases"])
def test_certified_upper_bounds(name):
    event, adjacency, delta = {**SETTINGS, **THOROUGH}[name]
    above = rdpkit.epsilon(event, delta=delta, adjacency=adjacency).epsilon
    below = lower_bound(event, delta=delta, adjacency=adjacency)[0].epsilon
    proven(event, f"{1.002 * above:.6f}", f"{0.999 * below:.6f}", adjacency, delta=delta)


@pytest.mark.thorough
def test_divergences_of_synthesis_and_concentrated_releases():
    synthesis = unit.synthesis(10**5, 10**5, 6, 0.01)
    for adjacency, exact in ((ADD, 58.960864), (REPLACE, 59.616618)):
        proven(synthesis, f"{exact:.6f}", f"{exact - 2e-6:.6f}", adjacency, order=4.0)
    concentrated = rdpkit.ZeroConcentrated(rho=0.1, adjacency=ADD) + unit.gaussian(4.0)
    best = rdpkit.epsilon(concentrated, delta=1e-6, adjacency=ADD, bound="best-rdp").epsilon
    proven(concentrated, f"{1.001 * best:.6f}", f"{0.99 * best:.6f}", ADD, delta=1e-6)


def test_pure_guarantees_add_up_exactly():
    pure = rdpkit.EpsilonDelta(epsilon=0.25, delta=0.0, adjacency=ADD)
    proven(pure * 4 + LAPLACE * 8, "2", "1.999999999999999", ADD, delta=0.0)


def test_selections_and_thirds_are_exact():
    selections = unit.sparse_vector(6.0, 12.0) + unit.noisy_maximum(2.0, "exponential")
    event = selections + unit.laplace(3.0) * 2 + unit.laplace(1.0 / 3.0)
    proven(event, "5", "4.999999999999999", ADD, delta=0.0)


def test_rho_of_gaussians_is_proven_and_refuted():
    event = unit.gaussian(2.0) * 3 + unit.gaussian(1.0)
    zeroed = rdpkit.ZeroConcentrated(rho=0.1, adjacency=ADD)
    certificate(event, claimed="0.875", adjacency=ADD)
    certificate(event + zeroed, claimed="0.975", adjacency=ADD)
    certificate(event, claimed="3.4999", adjacency=REPLACE, refuted=True)
    for wrong, claimed, refuted in (
        (event, "0.874999", False),
        (event, "0.875", True),
        # What is only stated may be less private than it is.
        (event + zeroed, "0.9", True),
        (unit.poisson(1.0, 0.1), "100", False),
    ):
        with pytest.raises(NoCertificateError):
            certificate(wrong, claimed=claimed, adjacency=ADD, refuted=refuted)


@pytest.mark.parametrize("relation", [ADD, REPLACE, "zero_out"])
def test_epochs_of_shuffled_batches_as_if_batches_were_known(relation):
    event = unit.shuffled(0.7, 2, 4 if relation == ADD else 5)
    known = unit.gaussian(0.7 if relation == "zero_out" else 0.35)
    certain = rdpkit.epsilon(known * 3, delta=1e-3, adjacency=ADD).epsilon
    proven(event * 3, f"{certain + 1e-3:.4f}", f"{certain - 1e-3:.4f}", relation, delta=1e-3)


@pytest.mark.thorough
@pytest.mark.parametrize("relation", [ADD, REPLACE, "zero_out"])
def test_claims_about_shuffled_batches_are_refuted(relation):
    event = unit.shuffled(0.7, 2, 5)
    for several, claimed in ((event, "1"), (event * 3, "7" if relation == "zero_out" else "14")):
        below = lower_bound(several, delta=1e-3, adjacency=relation)[0].epsilon
        assert below > float(claimed)
        certificate(several, claimed=claimed, adjacency=relation, delta=1e-3, refuted=True)


def largest_of_batches(t: int, s: float, mean: float, x: float) -> mpmath.mpf:
    """The probability that the largest of some sums is above x, from the definition."""
    below = mpmath.ncdf(x)
    return 1 - (1 - s) * below**t - s * below ** (t - 1) * mpmath.ncdf(x - mean)


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("relation", ["add-or-remove-one", "replace-one", "zero-out"])
def test_one_event_of_shuffled_batches_attains_what_it_says(relation, backwards):
    release = [[{**SHUFFLED, "noise": "1.25", "batch": 3, "of": 11}]]
    means = [1.6, 0.8 if relation == "zero-out" else 0.0]
    p, q = (largest_of_batches(3, 9 / 11, mean, 1.5) for mean in means)
    p, q = (1 - q, 1 - p) if backwards else (p, q)
    exact = p - mpmath.exp("0.1") * q
    claim = {"says": "exceeded", "relation": relation, "release": release, "epsilon": "0.1"}
    ways = [way(starts=[-15000 if backwards else 15000]), None]
    hints = {"ways": ways[::-1] if backwards else ways}
    checking.check({**claim, "delta": f"{float(exact * (1 - 1e-9)):.15f}"}, hints)
    with pytest.raises(checking.REFUSED, match="not shown"):
        checking.check({**claim, "delta": f"{float(exact * (1 + 1e-9)):.15f}"}, hints)


@pytest.mark.parametrize("says", ["at most", "exceeded"])
def test_of_shuffled_batches_only_events_that_are_said_are_known(says):
    claim = {
        "says": says,
        "relation": "replace-one",
        "release": [[{**SHUFFLED, "batch": 2, "of": 5}]],
    }
    claim |= {"epsilon": "50" if says == "at most" else "0", "delta": "0.001"}
    for hint in ({}, way(), *(way(starts=[x]) for x in (None, "1", []))):
        with pytest.raises(checking.REFUSED):
            checking.check(claim, {"ways": [hint, hint]})


def test_shuffled_batches_of_which_one_disappears_are_refused():
    claim = {"says": "exceeded", "relation": "add-or-remove-one", "epsilon": "0", "delta": "1e-9"}
    hints = {"ways": [way(starts=[10000]), None]}
    checking.check({**claim, "release": [[{**SHUFFLED, "batch": 2, "of": 5}]]}, hints)
    even = {**claim, "release": [[{**SHUFFLED, "batch": 2, "of": 4}]]}
    with pytest.raises(checking.REFUSED, match="a batch is missing"):
        checking.check(even, hints)
    checking.check({**even, "relation": "replace-one"}, hints)


def test_parts_between_which_a_record_moves():
    parts = (unit.gaussian(2.0), unit.gaussian(3.0), unit.gaussian(3.0))
    event = rdpkit.Parallel(events=parts, fixed_partition=True)
    best = rdpkit.epsilon(event, delta=1e-6, adjacency=REPLACE).epsilon
    proven(event, f"{1.0001 * best:.6f}", f"{0.9999 * best:.6f}", REPLACE, delta=1e-6)
    laplace = rdpkit.Parallel(events=(LAPLACE, LAPLACE), fixed_partition=True)
    with pytest.raises(NoCertificateError, match="records that move"):
        certificate(laplace, claimed="1", adjacency=REPLACE, delta=0.0)


def checked(content: bytes) -> bool:
    """Whether the checker accepts, in a time and with errors of its own alone."""
    try:
        claim, hints = checking.read(content)
        checking.check(claim, hints)
    except checking.REFUSED:
        return False
    return True


def sealed(found: dict[str, object]) -> bytes:
    found["sha256"] = checking.digest(found["claim"])
    return json.dumps(found).encode()


def exact_delta(mu: float, epsilon: float) -> mpmath.mpf:
    with mpmath.workdps(60):
        return profile_sampling.delta(mpmath.mpf(epsilon), 1 / mpmath.mpf(mu))


STRANGE = [
    None, True, -1, 0, 1, 10**11, 10**40, "", "0", "1", "-1", "1e400", "1e-400", "1/0", "NaN",
    "Infinity", "0.5", "1e9", "9" * 60, [], {}, [[0, 10**11, 1]], [[0, 5, 0]], ["-1", "1", "5000"],
    [0] * 50, list(range(40)), {"kind": "gaussian"}, "\u0661", " 1", "1_0", "0x1",
]  # fmt: skip


def places(found: object, path: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
    """Paths to everything in a document."""
    inner: list[tuple[object, ...]] = [path] if path else []
    keys = (
        range(len(found)) if isinstance(found, list) else found if isinstance(found, dict) else ()
    )
    for key in keys:
        inner += places(found[key], (*path, key))  # type: ignore[index]
    return inner


def mutated(found: dict[str, object], rng: random.Random) -> dict[str, object]:
    """A document in which one thing is replaced, left out, or moved."""
    changed = copy.deepcopy(found)
    *path, last = rng.choice(places(changed))
    inside: object = changed
    for key in path:
        inside = inside[key]  # type: ignore[index]
    now = inside[last]  # type: ignore[index]
    choice = rng.random()
    if choice < 0.1:
        del inside[last]  # type: ignore[attr-defined]
    elif choice < 0.5:
        inside[last] = rng.choice(STRANGE)  # type: ignore[index]
    elif isinstance(now, str) and now:
        i = rng.randrange(len(now))
        inside[last] = now[:i] + rng.choice("0123456789./e-") + now[i + rng.randrange(2) :]  # type: ignore[index]
    elif isinstance(now, int):
        inside[last] = now + rng.choice([-1, 1, 2, -now, now])  # type: ignore[index]
    return changed


@pytest.mark.parametrize("many", [*marked("thorough", (400, 1)), *marked("slow", (10000, 2))])
def test_no_mutation_of_a_false_certificate_is_accepted(many):
    """Mutations of claims that are barely false; whatever is accepted has to be true."""
    number, seed = many
    rng = random.Random(seed)
    event, delta = unit.gaussian(1.0), 1e-5
    true = json.loads(certificate(event, claimed="4.3772", adjacency=ADD, delta=delta))
    assert exact_delta(1.0, 4.3772) <= delta < exact_delta(1.0, 4.377)
    grids = json.loads(certificate(STATED * 12, claimed="1", adjacency=ADD, delta=1e-4))
    zeroed = rdpkit.ZeroConcentrated(rho=0.1, adjacency=ADD)
    order = json.loads(certificate(zeroed, claimed="2.2", adjacency=ADD, delta=1e-4))
    true["claim"]["epsilon"] = "4.377"
    grids["claim"]["epsilon"] = "0.2"
    order["claim"]["epsilon"] = "1"
    accepted = 0
    for _ in range(number):
        original = rng.choice([true, grids, order])
        found = mutated(original, rng)
        if rng.random() < 0.3:
            found = mutated(found, rng)
        start = time.process_time()
        claim = found.get("claim")
        ok = checked(sealed(found) if claim is not None else json.dumps(found).encode())
        assert time.process_time() - start < 60
        if not ok:
            continue
        accepted += 1
        assert claim != original["claim"], "a false claim was accepted with other hints"
        assert is_true(claim), claim
    assert accepted > 0


def exactly(text: str) -> Fraction:
    """A number of a certificate: digits, perhaps an exponent, perhaps a denominator."""
    head, _, below = text.partition("/")
    return Fraction(head) / int(below or 1)


def real(exact: Fraction) -> float:
    """The nearest float; a number of a certificate may be larger than any."""
    return float(exact) if exact < 10**300 else math.inf


def bounds_divergence(claim: dict[str, object]) -> bool:
    """Whether a claim about a Renyi divergence, or rho, that was accepted is true, exactly."""
    ((one,),), below = claim["release"], claim["says"] == "exceeded"  # type: ignore[misc]
    if exactly(one["rate"]) != 1:
        return False
    if one["kind"] == "gaussian":
        rho = (exactly(one["distance"]) / exactly(one["noise"])) ** 2 / 2
    elif one["kind"] == "zero-concentrated" and not below:
        rho = exactly(one["rho"])
    else:
        return False
    rho *= one["count"]
    found = rho * exactly(claim["order"]) if "order" in claim else rho  # type: ignore[arg-type]
    claimed = exactly(claim["epsilon"])  # type: ignore[arg-type]
    return found > claimed if below else found <= claimed


def is_true(claim: dict[str, object]) -> bool:
    """Whether a claim that was accepted is true, by closed forms."""
    epsilon = real(exactly(claim["epsilon"]))  # type: ignore[arg-type]
    if "delta" not in claim:
        return bounds_divergence(claim)
    delta, exceeded = real(exactly(claim["delta"])), claim["says"] == "exceeded"  # type: ignore[arg-type]
    if delta >= 1.0:
        return not exceeded
    ((one,),) = claim["release"]  # type: ignore[misc]
    n, rate = one["count"], real(exactly(one["rate"]))
    if rate == 0.0:
        return not exceeded
    if one["kind"] == "gaussian" and rate == 1.0:
        mu = math.sqrt(n) * real(exactly(one["distance"]) / exactly(one["noise"]))
        exact = 0.0 if mu == 0.0 else exact_delta(mu, epsilon)
        return bool(exact > delta * (1 - 1e-12)) if exceeded else bool(exact <= delta * (1 + 1e-12))
    if one["kind"] == "gaussian" and n == 1:
        far = real(exactly(one["distance"]) / exactly(one["noise"]))
        exact = of_samples(rate, far, epsilon, replaced=claim["relation"] == "replace-one")
        return exact > delta * (1 - 1e-5) if exceeded else exact <= delta * (1 + 1e-5)
    if one["kind"] == "stated":
        e, d = real(exactly(one["epsilon"])), real(exactly(one["delta"]))
        exact = of_stated(n, e, d, rate, epsilon)
        return exact > delta * (1 - 1e-9) if exceeded else exact <= delta * (1 + 1e-9)
    if one["kind"] == "zero-concentrated":
        rho = n * real(exactly(one["rho"]))
        event = rdpkit.ZeroConcentrated(rho=rho, adjacency=ADD)
        found = rdpkit.epsilon(event, delta=delta, adjacency=ADD, bound="best-rdp").epsilon
        return found <= epsilon * (1 + 1e-6)
    return False


def of_samples(q: float, far: float, epsilon: float, *, replaced: bool) -> float:
    """Delta of one sampled Gaussian, by a sum over a fine grid."""
    x, step = np.linspace(-40.0, 40.0 + far, 400_001, retstep=True)
    near, moved = (
        np.exp(-((x - a) ** 2) / 2.0) for a in ((far / 2.0, far) if replaced else (0, far))
    )
    p = (1.0 - q) * near + q * moved
    other = (1.0 - q) * near + q * np.exp(-(x**2) / 2.0) if replaced else near
    sides = [np.maximum(a - math.exp(epsilon) * b, 0.0).sum() for a, b in ((p, other), (other, p))]
    return float(max(sides) * step / math.sqrt(2.0 * math.pi))


def of_stated(n: int, e: float, d: float, q: float, epsilon: float) -> float:
    """Delta of n worst (e, d)-private releases of samples, in the worse order of the data sets."""
    small = (1.0 - d) / (1.0 + math.exp(e))
    second = [d, 1.0 - d - small, small, 0.0]
    first = [q * a + (1.0 - q) * b for a, b in zip(second[::-1], second, strict=True)]
    found = 0.0
    for one, other in ((first, second), (second, first)):
        deltas = []
        for counts in itertools.product(range(n + 1), repeat=3):
            rest = n - sum(counts)
            if rest < 0:
                continue
            ways = math.factorial(n) // math.prod(map(math.factorial, (*counts, rest)))
            a, b = (
                math.prod(p**k for p, k in zip(side, (*counts, rest), strict=True))
                for side in (one, other)
            )
            deltas.append(ways * max(a - math.exp(epsilon) * b, 0.0))
        found = max(found, math.fsum(deltas))
    return found


def test_bytes_that_are_changed_are_noticed():
    content = certificate(unit.gaussian(1.0), claimed="4.378", adjacency=ADD, delta=1e-5).encode()
    claim = json.loads(content)["claim"]
    assert checked(content)
    rng = random.Random(3)
    for _ in range(300):
        changed = bytearray(content)
        changed[rng.randrange(len(changed))] = rng.randrange(256)
        if checked(bytes(changed)):
            assert json.loads(bytes(changed))["claim"] == claim


HOSTILE = {
    "deep": b"[" * 60000,
    "deep objects": b'{"a":' * 10000,
    "long": b" " * 70000,
    "not utf-8": b"\xff\xfe",
    "nan": b'{"format": NaN}',
    "twice": b'{"format": 1, "format": 2}',
    "digits": b"1" * 60000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_certificate_is_refused(name):
    start = time.process_time()
    assert not checked(HOSTILE[name])
    assert time.process_time() - start < 20


def test_the_checker_runs_from_a_copied_folder(tmp_path):
    import shutil

    shutil.copytree(KERNEL, tmp_path / "copied")
    file = tmp_path / "c.json"
    content = certificate(unit.gaussian(1.0), claimed="4.378", adjacency=ADD, delta=1e-5)
    false = json.loads(content)
    false["claim"]["epsilon"] = "4.37"
    one_file = tmp_path / "one.py"
    script = Path(__file__).parents[2] / "scripts" / "one-file-kernel"
    one_file.write_text(ran(script).stdout, encoding="utf-8")
    for program in (tmp_path / "copied", one_file):
        for written, status in (
            (content.encode(), 0),
            (sealed(dict(false)), 1),
            (json.dumps(false).encode(), 2),
        ):
            file.write_bytes(written)
            done = ran("-I", "-S", program, file, status=status)
            assert ("accepted" in done.stdout.splitlines()) is (status == 0)


def test_places_that_do_not_ascend_are_refused():
    # A place that occurs twice would count the same outcomes twice.
    claim = {
        "says": "exceeded",
        "relation": "add-or-remove-one",
        "release": [[{"kind": "stated", "count": 2, "rate": "1", "epsilon": "1", "delta": "0"}]],
        "epsilon": "1",
        "delta": "0.6",
    }
    for nodes in ([[-3, 3, 1], [0, 1, 1]], [[2, 3, 1], [0, 1, 1]], [[0, 1, 1], [0, 1, 1]], []):
        starts = [0] * sum(len(range(*one)) for one in nodes)
        hint = way(starts=starts, step="0.5")
        hint["parts"][0]["nodes"] = nodes
        for says in ("exceeded", "at most"):
            with pytest.raises(checking.REFUSED):
                checking.check({**claim, "says": says, "epsilon": "0"}, {"ways": [hint]})


FALSE = {
    # delta at epsilon is p^3 - e^epsilon (1 - p)^3 with p = 1 / (1 + e^-10), as there are no losses
    # between 10 and 30.
    "one digit": ("25", "0.9", 3, "10", [0], [[-1, 2, 1]], "20"),
    "two halvings": ("6.3", "0.7256", 3, "6.3", [0, 1], [[-10, 12, 1]], "12"),
}


@pytest.mark.parametrize("name", FALSE)
def test_a_grid_of_one_digit_proves_nothing(name):
    epsilon, delta, count, stated, halvings, nodes, step = FALSE[name]
    one = {"kind": "stated", "count": count, "rate": "1", "epsilon": stated, "delta": "0"}
    claim = {"says": "at most", "relation": "add-or-remove-one", "release": [[one]]}
    claim |= {"epsilon": epsilon, "delta": delta}
    for digits in (1, 2, 3, 4):
        hint = way(*nodes, halvings=halvings, digits=digits, cut=1, step=step)
        with pytest.raises(checking.REFUSED):
            checking.check(claim, {"ways": [hint]})


def test_what_is_nested_deeper_than_any_release_is_refused():
    found = json.loads(certificate(unit.gaussian(1.0), claimed="4.378", adjacency=ADD, delta=1e-5))
    for depth, readable in ((98, True), (99, False), (990, False), (30_000, False)):
        found["about"] = {"x": "nested"}
        nested = ("[" * depth + "]" * depth).encode()
        assert checked(sealed(found).replace(b'"nested"', nested)) is readable


def test_opposite_records_are_half_of_their_distance_away_from_nothing():
    # delta of P against Q with P = N(0 or 1/2, 1) and Q = N(0 or -1/2, 1) is .19 at epsilon 0.
    one = {"kind": "gaussian", "count": 1, "rate": "0.5", "noise": "1", "distance": "1"}
    claim = {"says": "exceeded", "relation": "replace-one", "epsilon": "0"}
    hints = {"ways": [way(starts=[5000])]}
    checking.check({**claim, "release": [[one]], "delta": "0.191"}, hints)
    with pytest.raises(checking.REFUSED, match="not shown"):
        checking.check({**claim, "release": [[one]], "delta": "0.192"}, hints)


def test_what_is_computed_of_one_data_set_agrees_on_its_size():
    one = {"kind": "fixed-size-gaussian", **ONCE, "noise": "1", "distance": "2", "sampled": 5}
    claim = {"says": "exceeded", "relation": "replace-one", "epsilon": "0", "delta": "0.1"}
    both = way(starts=[10000], times=2)
    alike = [[{**one, "of": 10}, {**one, "noise": "1.1", "of": 10}]]
    checking.check({**claim, "release": alike}, {"ways": [both, None]})
    unlike = [[{**one, "of": 10}, {**one, "noise": "1.1", "of": 11}]]
    with pytest.raises(checking.REFUSED, match="different sizes"):
        checking.check({**claim, "release": unlike}, {"ways": [both, None]})


@pytest.mark.parametrize(
    "event",
    [
        rdpkit.EpsilonDelta(epsilon=1.0, delta=0.0, adjacency=REPLACE),
        rdpkit.RandomizedResponse(noise_parameter=0.5, num_buckets=2),
    ],
)
def test_outcomes_that_never_happen_do_not_weaken_a_refutation(event):
    below = lower_bound(event * 4, delta=1e-3, adjacency=REPLACE)[0].epsilon
    claimed = f"{0.99 * below:.4f}"
    certificate(event * 4, claimed=claimed, delta=1e-3, adjacency=REPLACE, refuted=True)


def written(tmp_path: Path, found: dict[str, object]) -> Path:
    """A file with the right hash of its claim."""
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps({**found, "sha256": checking.digest(found["claim"])}))
    return path


@pytest.mark.parametrize("parts", [[{"0.5": "accepted", "1.0": "x"}], ["11"], [["1", "1", "1"]]])
def test_parts_of_a_mixture_are_pairs_of_numbers(parts, tmp_path, capsys):
    event = rdpkit.MixtureOfGaussians(noise_std=1.0, sensitivities=(1.0,), probabilities=(1.0,))
    found = json.loads(certificate(event, claimed="9", adjacency=ADD, delta=0.1))
    found["claim"]["release"][0][0]["parts"] = parts
    assert checking.main([str(written(tmp_path, found))]) == 2
    assert capsys.readouterr().out.startswith("not understood")


@pytest.mark.parametrize("text", ["\ud800", "1\naccepted\n\x1b[31m\x07"])
def test_a_refusal_is_one_line_of_ascii(text, tmp_path, capsys):
    found = json.loads(certificate(unit.gaussian(1.0), claimed="9", adjacency=ADD, delta=0.1))
    found["claim"]["release"][0][0]["noise"] = text
    assert checking.main([str(written(tmp_path, found))]) == 2
    shown = capsys.readouterr().out
    assert shown.isascii()
    assert shown[:-1].isprintable()


def test_names_that_are_numbers_are_refused():
    found = json.loads(certificate(unit.gaussian(1.0), claimed="9", adjacency=ADD, delta=0.1))
    with pytest.raises(ValueError, match="a number as a name"):
        checking.read(json.dumps({**found, "about": {"b": "x", "1": "y"}}).encode())


def test_what_grids_of_many_places_cost_is_counted():
    found = json.loads(
        certificate(unit.gaussian(1.0) + LAPLACE, claimed="9", adjacency=ADD, delta=0.1)
    )
    for hint in found["hints"]["ways"]:
        for part in hint["parts"]:
            part |= {"nodes": [[0, 1, 1], [399_000, 399_001, 1]], "halvings": []}
        hint["step"] = "0.0001"
    with contextlib.suppress(ValueError):
        checking.check(found["claim"], found["hints"])
    assert checking.MOST_WORK - checking.LEFT[0] > 1_000_000


def with_hints(release: list[object], part: dict[str, object], **way: object) -> str:
    """A certificate of a claim that its hints may or may not show, with the right hash."""
    claim: dict[str, object] = {"says": "at most", "relation": "add-or-remove-one"}
    claim |= {"release": release, "epsilon": "0.01", "delta": "1e-9"}
    each = {"digits": 300, "cut": 300, "step": "0.0001", "parts": [part], **way}
    found = {"format": checking.FORMAT, "about": {}, "claim": claim, "hints": {"ways": [each]}}
    return json.dumps({**found, "sha256": checking.digest(claim)}, separators=(",", ":"))


def costly() -> dict[str, str]:
    """Certificates of a few kB that would take minutes if what they ask for were not counted."""
    discrete = {"kind": "discrete-laplace", **ONCE, "scale": "50", "distance": "100"}
    wide = {"kind": "gaussian", **ONCE, "noise": "1", "distance": "50"}
    parts = [
        [{**wide, "noise": str(10**55 + 1009 * i + 7919 * j)} for j in range(36)] for i in range(12)
    ]
    moves = json.loads(with_hints(parts, {}))
    moves["claim"]["relation"] = "replace-one"
    every = {"nodes": [[0, 20000, 1]], "halvings": []}
    return {
        "each of many outcomes at many places": with_hints([[discrete]], every),
        "tails far out, each with its own digits": with_hints(
            [[wide]], {"nodes": [[0, 2500, 50]], "halvings": []}, step="1"
        ),
        "sums of long fractions in many ways": sealed(moves).decode(),
        "a grid without an end": with_hints([[discrete]], {**every, "nodes": [[0, 10**9, 10**5]]}),
    }


@pytest.mark.thorough
@pytest.mark.parametrize("name", costly())
def test_what_a_certificate_costs_is_counted_before_it_is_computed(name):
    content = costly()[name].encode()
    assert len(content) < checking.MOST_BYTES
    start = time.process_time()
    with pytest.raises(ValueError, match=r"more work than is|a grid too long|too many ways"):
        checking.check(*checking.read(content))
    assert time.process_time() - start < 30
