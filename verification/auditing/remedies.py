"""What mends a claim, as data: another sampling, more noise, or another number.

A remedy is a few changed lines of the claims file. Outputs show it in the words that
:mod:`rdpkit.verification.outputs.words` makes of it, and ``rdpkit claims fix`` writes it.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterable, Iterator
from decimal import ROUND_CEILING, Decimal
from typing import NamedTuple

from rdpkit import DPSGD, Adjacency, Event
from rdpkit.accountants.loss_distributions import UPPER_ID
from rdpkit.analysis import BEST, BEST_RDP
from rdpkit.calibration.search_variable import paths, value_at, with_value
from rdpkit.formats.numbers import meant
from rdpkit.formats.printed_precision import rounded
from rdpkit.formats.text import rounded_down, rounded_up
from rdpkit.pairs.claim_check import Soundness, is_proven
from rdpkit.verification.auditing.findings import (
    Bounds,
    Edit,
    Finding,
    Remedy,
    RemedyKind,
    Reproduction,
    Side,
    false_by_rounding,
)
from rdpkit.verification.claims.claim import Claim

MOST_CALIBRATED = 20
"""For so many claims of one audit noise is calibrated unasked; each takes as long as its audit."""

# Digits that a noise is rounded to, which is tried again with more if it is no longer enough.
_DIGITS = (4, 6, 9, 17)
_TOLERANCE = 2e-6
_MOST_NOISES = 20
# Parameters that say how private something is, of mechanisms that have no noise of their own.
_STATED = ("epsilon", "rho")
# A noise multiplier that is larger after it was multiplied by the batch was no noise on a mean.
_LARGEST_UNIT = 20.0


def remedies(
    finding: Finding,  # What the audit found
    *,
    # Whether to look for other settings and for noise, for a refuted or an unproven claim: each
    # takes about as long as the audit of the claim.
    noise: bool = True,
) -> tuple[Remedy, ...]:  # Empty where no edit is known; :func:`obstacles` says why
    """What mends a claim, or states a true one tighter; what costs least comes first.

    Guarantee
    ---------
    With the edits of a remedy the claim is proven. For all but "claim" and "tighter" that was
    audited with what is returned.

    Assumes
    -------
    What the finding's upper bound assumes, and that the code does what the edits say.
    """
    found: list[Remedy | str | None] = []
    if noise and needs_noise(finding):
        found += searched(finding)
    # A number that is false by its last digit costs nothing to mend.
    found.insert(0 if false_by_rounding(finding) else len(found), _of_number(finding))
    return tuple(one for one in found if isinstance(one, Remedy))


def obstacles(
    finding: Finding,  # What the audit found
    *,
    noise: bool = True,  # As for :func:`remedies`
) -> tuple[str, ...]:
    """Why a claim that is not proven has no remedy, or only one; in words."""
    sound = finding.soundness is Soundness.SOUND
    number = "" if sound else _of_number(finding)
    found = [number] if isinstance(number, str) and not sound else []
    if noise and needs_noise(finding):
        found += [one for one in searched(finding) if isinstance(one, str)]
    return tuple(found)


def searched(finding: Finding) -> tuple[Remedy | str | None, ...]:
    """The remedies that take a search, or why there is no noise."""
    if finding.searched is not None:
        return finding.searched
    # Where nothing bounds the claim as it stands, no noise is sought, but its unit may be wrong.
    if finding.upper is None:
        return _of_settings(finding)
    return *_of_settings(finding), *_of_count(finding), _of_noise(finding)


def needs_noise(finding: Finding) -> bool:
    """Whether noise is to be calibrated: the claim has a number and an event, and is not proven."""
    claim = finding.claim
    return (
        finding.soundness is not Soundness.SOUND
        and not _points_at_something_else(finding)
        and claim.event is not None
        and claim.epsilon is not None
        and claim.epsilon.is_finite()
    )


def calibrated_unasked(findings: Iterable[Finding]) -> frozenset[str]:
    """The ids of the claims of an audit for which outputs calibrate noise: the first few."""
    wanted = [finding.claim.id for finding in findings if needs_noise(finding)]
    return frozenset(wanted[:MOST_CALIBRATED])


def statable(finding: Finding) -> str | None:  # None where no finite upper bound is known
    """The smallest number that can be claimed, with as many digits as the claim has, or four."""
    upper, printed = finding.upper, finding.claim.epsilon
    if upper is None or printed is None or math.isinf(upper.epsilon):
        return None
    # The theorem's own number, 2 for 2.0000000000000004, is proven where only parameters round.
    near = stated(float(meant(upper.epsilon)), printed)
    beyond = float(near) >= upper.epsilon
    if beyond or is_proven(float(near), upper.epsilon, enclosure=_certified(upper)):
        return near
    return stated(upper.epsilon * (1.0 + 2e-14), printed)  # beyond what may pass for rounding


def stated(
    value: float,  # The number
    printed: Decimal,  # What is printed now
) -> str:
    """A number rounded up to the precision of a printed one, or to four digits."""
    if math.isinf(value):
        return "inf"
    if not printed.is_finite() or printed == 0:
        return rounded_up(value, digits=4)
    up = rounded(value, printed, ROUND_CEILING)
    # Rounding a small number up to a coarse unit would overstate it.
    if up > Decimal(value) * Decimal("1.05"):
        return rounded_up(value, digits=4)
    return f"{up:f}"


def _points_at_something_else(finding: Finding) -> bool:
    """Whether the release or the code refutes the claim, and not its number."""
    lower, claimed = finding.lower, finding.claim.epsilon
    beyond = lower is not None and claimed is not None and lower.epsilon > float(claimed)
    return finding.soundness is Soundness.REFUTED and not beyond


def _of_number(finding: Finding) -> Remedy | str:
    """The claim with another number; or why there is none, of a claim that is not sound."""
    claim, upper = finding.claim, finding.upper
    if _points_at_something_else(finding):
        if finding.training is not None and finding.training.rejected:
            return "correct the training that the claim points at, or the claim"
        return "correct the code or the release that the claim points at, or the claim"
    sound = finding.soundness is Soundness.SOUND
    if claim.epsilon is None or upper is None:
        named = "; ".join(claim.missing)
        return "give what is missing" + (
            f": {named}" if named else ", or a mechanism and adjacency that a theorem is about"
        )
    if claim.release is not None and claim.release == claim.origin:
        return "make the release again"
    if sound and finding.reproduction is Reproduction.DIFFERS:
        return _of_formula(finding)
    number = statable(finding)
    if number is None:
        return (
            f"no theorem bounds {claim.quantity} of this {claim.mechanism} under "
            f"{claim.adjacency.dashed}: name a mechanism and adjacency that a theorem is about"
        )
    if not is_proven(float(number), upper.epsilon, enclosure=_certified(upper)):
        return f"the bound {upper.bound} is not certified, so it proves no number"
    if not sound:
        return _number_remedy(finding, number, "claim", "raise the claim: ")
    if Decimal(number) >= claim.epsilon:
        return "the claim is as tight as is proven"
    return _number_remedy(finding, number, "tighter", "claim less: ")


def _of_formula(finding: Finding) -> Remedy | str:
    """A true claim whose formula gives another number: that number, if it is true too."""
    claim, published, upper = finding.claim, finding.published, finding.upper
    assert published is not None
    assert upper is not None
    assert claim.epsilon is not None
    usual = None if claim.bound is None else _audited(_question(claim, best=True))
    if usual is not None and usual.reproduction is Reproduction.EXACT:
        edit = Edit("bound", f'"{claim.bound}"', f'"{BEST}"')
        edits = (edit, *(one for one in _without_formula(claim) if one.key != "bound"))
        words = f"name an accountant that gives this number: {_listed(edits)}"
        return Remedy(kind="accountant", sentence=words, edits=edits)
    number = stated(published.epsilon, claim.epsilon)
    edits = _without_formula(claim)
    words = "do not name a formula that gives another number"
    if is_proven(float(number), upper.epsilon, enclosure=_certified(upper)):
        edits = (Edit(claim.quantity, _printed(claim), _as_toml(number)),)
        words = "print what the formula gives"
    return Remedy(kind="claim", sentence=f"{words}: {_listed(edits)}", edits=edits)


def _number_remedy(finding: Finding, number: str, kind: RemedyKind, words: str) -> Remedy:
    claim, upper = finding.claim, finding.upper
    assert upper is not None
    edits = [Edit(claim.quantity, _printed(claim), _as_toml(number))]
    theorem = UPPER_ID if upper.bound == UPPER_ID else BEST_RDP
    # With a lower bound every upper bound was computed, and the best one gives the number.
    if claim.bound == BEST and (upper.bound == UPPER_ID or finding.lower is not None):
        theorem = BEST
    for edit in _without_formula(claim):
        if edit.key == "bound":
            # The formula that is named now gives another number; this one gives the new one.
            edit = edit._replace(new=f'"{theorem}"')  # noqa: PLW2901
        if edit.old != edit.new:
            edits.append(edit)
    return Remedy(kind=kind, sentence=words + _listed(edits), edits=tuple(edits))


def _without_formula(claim: Claim) -> tuple[Edit, ...]:
    """What says where the number of a claim came from, removed."""
    named = (("bound", claim.bound), ("conversion", claim.conversion))
    found = [Edit(key, f'"{value}"', "") for key, value in named if value is not None]
    if claim.order is not None and claim.delta is not None:
        found.append(Edit("order", f"{claim.order:g}", ""))
    return tuple(found)


class _Setting(NamedTuple):
    """A change that leaves number and noise as they are, if it makes the claim true."""

    kind: RemedyKind
    words: str
    question: Claim
    edits: tuple[Edit, ...]


def _of_settings(finding: Finding) -> tuple[Remedy, ...]:
    """The claim as it is printed, with one other setting that makes it true; the cheapest first."""
    claim = finding.claim
    if claim.release is not None:
        return ()
    best = claim.bound == BEST and claim.conversion is None
    found = []
    for setting in _settings(_question(claim, best=best)):
        audited = _audited(setting.question)
        if audited is None or audited.soundness is not Soundness.SOUND or audited.upper is None:
            continue
        named = best and audited.reproduction is Reproduction.EXACT
        edits = (*setting.edits, *_unless(named, claim))
        proven = rounded_up(audited.upper.epsilon)
        words = f"{setting.words}, which proves {proven} at the same noise"
        found.append(
            Remedy(kind=setting.kind, sentence=f"{words}: {_listed(edits)}", edits=tuple(edits))
        )
    return tuple(found)


def _settings(claim: Claim) -> Iterator[_Setting]:
    """What could be changed, in the order of its cost."""
    event = claim.event
    if isinstance(event, DPSGD):
        yield from _settings_of_training(claim, event)
    if claim.adjacency is Adjacency.REPLACE_ONE:
        other = Adjacency.ADD_OR_REMOVE_ONE
        yield _Setting(
            "relation",
            "claim it for data sets of which one has one record more, a weaker promise",
            dataclasses.replace(claim, adjacency=other),
            (Edit("adjacency", f'"{claim.adjacency}"', f'"{other}"'),),
        )
    if isinstance(event, DPSGD) and claim.delta is not None:
        largest = float(f"1e-{len(str(event.dataset_size))}")
        if claim.delta < largest and event.examples_per_user == 1:
            yield _Setting(
                "delta",
                f"claim it at a larger delta that is still below 1/{event.dataset_size}",
                dataclasses.replace(claim, delta=largest),
                (Edit("delta", f"{claim.delta!r}", f"{largest!r}"),),
            )
    if isinstance(event, DPSGD) and event.noise_multiplier * event.logical_batch <= _LARGEST_UNIT:
        summed = event.noise_multiplier * event.logical_batch
        yield _Setting(
            "unit",
            "if this is the noise on the mean of a batch, say that on the sum",
            dataclasses.replace(claim, event=dataclasses.replace(event, noise_multiplier=summed)),
            (Edit("parameters.noise_multiplier", repr(event.noise_multiplier), repr(summed)),),
        )


def _settings_of_training(claim: Claim, event: DPSGD) -> Iterator[_Setting]:
    if event.sampling != "poisson":
        drawn = dataclasses.replace(event, sampling="poisson", max_batch_size=None)
        edits = [Edit("parameters.sampling", f'"{event.sampling}"', '"poisson"')]
        if event.max_batch_size is not None:
            edits.append(Edit("parameters.max_batch_size", str(event.max_batch_size), ""))
        yield _Setting(
            "sampling",
            "draw batches by Poisson sampling",
            dataclasses.replace(claim, event=drawn),
            tuple(edits),
        )
    if event.microbatch_size > 1:
        yield _Setting(
            "clipping",
            "clip the gradient of each example on its own",
            dataclasses.replace(claim, event=dataclasses.replace(event, microbatch_size=1)),
            (Edit("parameters.microbatch_size", str(event.microbatch_size), "1"),),
        )


@functools.lru_cache(maxsize=1024)
def _audited(claim: Claim) -> Finding | None:
    """The finding about a claim; None where a number cannot be computed."""
    # Imported here because most audits find nothing to mend.
    from rdpkit.verification.auditing.verdict import audit_one  # noqa: PLC0415

    try:
        return audit_one(claim)
    except (ValueError, ArithmeticError):
        return None


def _question(claim: Claim, *, best: bool) -> Claim:
    """What is audited instead of a claim: nothing but its number, and its formula if it is best."""
    return dataclasses.replace(
        claim,
        id="",
        source="",
        notes=(),
        bound=BEST if best else None,
        conversion=None,
        order=claim.order if claim.delta is None else None,
        code=None,
        training=None,
    )


def _of_noise(finding: Finding) -> Remedy | str:
    """The claim as it is printed, with the noise that makes it true; or why there is none."""
    claim = finding.claim
    if claim.release is not None:
        return "the noise of a release is in its manifest: make the release again with more"
    assert claim.event is not None
    assert claim.epsilon is not None
    names = noises(claim.event)
    if not names:
        return f"a {claim.mechanism} has no noise that could be raised"
    if len(names) > _MOST_NOISES:
        return f"its {len(names)} noises are too many to name: rdpkit calibrate scales them"
    best = claim.bound == BEST and claim.conversion is None
    values = _calibrated(_question(claim, best=best), names)
    if isinstance(values, str):
        return values
    edits = (*_changed(claim.event, values), *_unless(best and values.reproduced, claim))
    words = "raise the noise" if _is_noise(claim.event, names) else "lower the loss of its parts"
    return Remedy(kind="noise", sentence=f"{words}: {_listed(edits)}", edits=edits)


def _of_count(finding: Finding) -> tuple[Remedy, ...]:
    """The claim as it is printed, for a release that is made less often at the same noise."""
    claim = finding.claim
    if claim.release is not None or claim.event is None:
        return ()
    counts = tuple(
        path
        for path, one in paths(claim.event).items()
        if one.role == "count" and one.private < 0 and one.kind != "integers"
    )
    if len(counts) != 1:
        return ()
    best = claim.bound == BEST and claim.conversion is None
    values = _calibrated(_question(claim, best=best), counts)
    if isinstance(values, str) or not values.texts:
        return ()
    edits = (*_changed(claim.event, values), *_unless(best and values.reproduced, claim))
    words = "train for less" if isinstance(claim.event, DPSGD) else "release it less often"
    sentence = f"{words}, at the same noise: {_listed(edits)}"
    return (Remedy(kind="count", sentence=sentence, edits=edits),)


def _changed(event: Event, values: _Calibrated) -> tuple[Edit, ...]:
    return tuple(
        Edit(f"parameters.{path}", repr(value_at(event, path)), text) for path, text in values.texts
    )


def _unless(reproduced: bool, claim: Claim) -> tuple[Edit, ...]:
    return () if reproduced else _without_formula(claim)


def noises(
    event: Event,  # What was released
) -> tuple[str, ...]:
    """The paths of the parameters of an event that are noise.

    Returns
    -------
    tuple of str
        Of an event without noise of its own, the parameters that state how private its parts are.
    """
    numbers = {path: one for path, one in paths(event).items() if one.kind == "number"}
    found = tuple(path for path, one in numbers.items() if one.private > 0)
    return found or tuple(
        path
        for path, one in numbers.items()
        if one.private < 0 and path.rpartition(".")[2] in _STATED
    )


def _is_noise(event: Event, names: tuple[str, ...]) -> bool:
    return paths(event)[names[0]].private > 0


class _Calibrated(NamedTuple):
    """Noises as TOML with their paths, and whether the bound that is named gives the claim."""

    texts: tuple[tuple[str, str], ...]
    reproduced: bool


@functools.lru_cache(maxsize=1024)
def _calibrated(claim: Claim, names: tuple[str, ...]) -> _Calibrated | str:
    """The noises, or another parameter, as TOML that prove the claim; or why there are none."""
    # Imported here because most audits find nothing to mend.
    from rdpkit.verification.auditing.calibrations import calibrated_values  # noqa: PLC0415
    from rdpkit.verification.auditing.verdict import audit_one  # noqa: PLC0415

    event = claim.event
    assert event is not None
    try:
        found = calibrated_values(claim, names)
        changed = {path: value for path, value in found.items() if value != value_at(event, path)}
        up = _is_noise(event, names)
        for digits in _DIGITS:
            texts = {path: _short(value, digits, up=up) for path, value in changed.items()}
            trial = event
            for path, text in texts.items():
                trial = with_value(trial, path, type(changed[path])(text))
            audited = audit_one(dataclasses.replace(claim, event=trial), bounds=Bounds.NEEDED)
            if audited.soundness is Soundness.SOUND:
                exact = audited.reproduction is Reproduction.EXACT
                return _Calibrated(tuple(texts.items()), exact)
    except (ValueError, ArithmeticError) as error:
        return f"no noise is known that makes it true: {' '.join(str(error).split())}"
    return "no noise is known that makes it true: what was found could not be proven"


def _short(value: float, digits: int, *, up: bool) -> str:
    if isinstance(value, int):
        return str(value)
    # What is found misses a number of few digits, which may be the answer, by the tolerance.
    near = float(f"{value:.{digits}g}")
    value = near if abs(near - value) <= _TOLERANCE * abs(value) else value
    text = (rounded_up if up else rounded_down)(value, digits=digits)
    if "." in text and "e" not in text:
        text = text.rstrip("0")
        text += "0" if text.endswith(".") else ""
    return _as_toml(text)


def _as_toml(number: str) -> str:
    """A number as TOML; an integer stays one, which claims and parameters accept."""
    return number.lower().replace("e+", "e")


def _printed(claim: Claim) -> str:
    assert claim.epsilon is not None
    return _as_toml(str(claim.epsilon)) if claim.epsilon.is_finite() else "inf"


def _listed(edits: Iterable[Edit]) -> str:
    edits = tuple(edits)
    changed = ", ".join(edit.line for edit in edits if edit.new)
    removed = " and ".join(edit.name for edit in edits if not edit.new)
    if not removed:
        return changed
    return f"{changed}, and take out {removed}" if changed else f"take out {removed}"


def _certified(side: Side) -> tuple[float, float] | None:
    return side.computed if side.rigorous else None
