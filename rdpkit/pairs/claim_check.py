"""Is a claimed epsilon true? It is proven by an upper bound, or refuted by a pair of data sets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, InvalidOperation
from enum import StrEnum
from numbers import Integral
from typing import Any

from rdpkit import _validate
from rdpkit.adjacency import Adjacency, needed
from rdpkit.analysis import check_sandwich, lower_bound
from rdpkit.analysis import epsilon as epsilon_of
from rdpkit.events import Event
from rdpkit.events.losses import NoLossDistributionError
from rdpkit.formats import html
from rdpkit.formats.numbers import as_given, beside, formatted, rounded_down
from rdpkit.formats.printed_precision import agrees_rounded, rounded
from rdpkit.formats.records import as_plain
from rdpkit.guarantee import Guarantee
from rdpkit.pairs.worst_pair import pair_of

# A lower bound refutes a claim only if it is larger by this relative margin.
_MARGIN = 1e-6
# The relative width of an enclosure that comes from rounding parameters to floats: eight units in
# the last place, twice, on either side.
_ROUNDING = 1e-14


class Soundness(StrEnum):
    """Whether a claim is true."""

    SOUND = "sound"
    REFUTED = "refuted"
    UNPROVEN = "unproven"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimCheck:
    """What is true of a claimed epsilon. ``print`` shows it in one line."""

    claimed: Decimal  #: The epsilon that is claimed, with the digits that were given
    delta: float  #: The delta at which it is claimed
    adjacency: Adjacency  #: The neighbouring relation
    soundness: Soundness
    """``SOUND``: a proven upper bound is at most the claim. ``REFUTED``: a pair of neighbouring
    data sets exceeds it. ``UNPROVEN``: neither.
    """
    upper: Guarantee  #: The best proven upper bound
    lower: Guarantee | None  #: What an explicit pair of data sets attains; None if none is known
    slack: float | None  #: The claim over the upper bound; None where that is 0 or infinite
    refutation: tuple[str, ...] = ()
    """The two data sets, and what they show, if they refute the claim."""
    notes: tuple[str, ...] = ()  #: What else a reader should know

    def __str__(self) -> str:
        relation = self.adjacency.value.replace("_", "-")
        known = [f"upper {self._beside(self.upper)}"]
        if self.lower is not None:
            known.append(f"lower {self._beside(self.lower)}")
        if self.slack is not None:
            known.append(f"slack {formatted(self.slack, '.5g', up=False)}")
        return (
            f"{self.soundness.value}: epsilon = {self.claimed} at delta = {as_given(self.delta)} "
            f"({relation}; {', '.join(known)})"
        )

    def _beside(self, bound: Guarantee) -> str:
        said = float(self.claimed)
        if self.soundness is Soundness.SOUND and bound is self.upper:
            said = max(said, float(bound))  # A claim may be proven to within a rounding.
        return beside(said, float(bound), lambda digits: f"{bound:.{digits}g}", 5)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, with the keys that an audit uses."""
        return {
            "claimed_epsilon": as_plain(float(self.claimed)),
            "delta": self.delta,
            "adjacency": self.adjacency.value,
            "soundness": self.soundness.value,
            "slack": as_plain(self.slack),
            "upper": self.upper.as_dict(),
            "lower": None if self.lower is None else self.lower.as_dict(),
            "refutation": list(self.refutation),
            "notes": list(self.notes),
        }

    def _repr_html_(self) -> str:
        """What a notebook shows: the line, the claim between its bounds, and the reasons."""
        marks = [("claim", "published", float(self.claimed)), ("upper", "upper", float(self.upper))]
        if self.lower is not None:
            marks.append(("lower", "lower", float(self.lower)))
        rows = {str(i): text for i, text in enumerate((*self.refutation, *self.notes), 1)}
        line = f"<b>{html.escaped(self)}</b>"
        return html.block(line, html.bars_drawing(marks), html.table(rows))


@_validate.by_name(adjacency=needed())
def check(
    event: Event, *, epsilon: float | str | Decimal, delta: float, adjacency: Adjacency | str
) -> ClaimCheck:
    """Whether a claimed (epsilon, delta) is true of an event.

    Guarantee
    ---------
    What is sound is proven: the event is (epsilon, delta)-DP. What is refuted is false: two
    neighbouring data sets, which the result names, attain more.

    Assumes
    -------
    What the upper bound's ``assumptions`` list; for a refutation, that the mechanism accepts the
    records of the pair.

    Parameters
    ----------
    event : Event
        What was released.
    epsilon : float, str or Decimal
        The claim, at least 0. Text keeps the digits that are printed: "1.10".
    delta : float
        In [0, 1).
    adjacency : Adjacency or str
        The neighbouring relation.

    Returns
    -------
    ClaimCheck
        The verdict, with both bounds.

    Raises
    ------
    ValueError
        If an argument is outside of its range.
    ArithmeticError
        If a number cannot be computed.

    Source
    ------
    The theorems that both bounds name.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.Gaussian(noise_std=5.0, record_norm=1.0)
    >>> print(rdpkit.check(event, epsilon=1, delta=1e-5, adjacency="replace_one"))
    refuted: epsilon = 1 at delta = 1e-05 (replace-one; upper 1.555, lower 1.5549, slack 0.64309)
    >>> rdpkit.check(event, epsilon=1, delta=1e-5, adjacency="add_or_remove_one").soundness.value
    'sound'
    """
    _validate.one_of_a_kind("event", event, Event)
    claimed = claimed_number("epsilon", epsilon)
    number = float(claimed)
    relation = Adjacency.parse(adjacency)
    upper = epsilon_of(event, delta=delta, adjacency=relation)
    lower, pair = _attained(event, relation, upper.delta)
    check_sandwich([upper], [] if lower is None else [lower])
    soundness = soundness_of(number, upper=upper, lower=lower)
    refutation: tuple[str, ...] = ()
    if soundness is Soundness.REFUTED:
        refutation = (*pair, delta_at_claim(event, claimed, upper.delta, relation))
    return ClaimCheck(
        claimed=claimed,
        delta=upper.delta,
        adjacency=relation,
        soundness=soundness,
        upper=upper,
        lower=lower,
        slack=number / upper.epsilon if 0.0 < upper.epsilon < math.inf else None,
        refutation=refutation,
        notes=() if soundness is Soundness.SOUND else about_last_digit(upper.epsilon, claimed),
    )


def claimed_number(name: str, value: float | str | Decimal) -> Decimal:
    """A claimed epsilon with its digits."""
    condition = "to be a number >= 0"
    if isinstance(value, str):
        try:
            number = Decimal(value.strip())
        except InvalidOperation:
            raise _validate.fail(name, condition, value) from None
    elif isinstance(value, Decimal):
        number = value
    elif isinstance(value, Integral) and not isinstance(value, bool):
        number = Decimal(int(value))
    else:
        number = Decimal(repr(_validate.non_negative(name, value, finite=False)))
    if number.is_nan() or number.is_signed() or (number and abs(number.adjusted()) > 300):
        raise _validate.fail(name, condition, value)
    return number


def soundness_of(claimed: float, *, upper: Guarantee, lower: Guarantee | None) -> Soundness:
    """The verdict on a claimed epsilon from bounds at the same delta that are known already."""
    if is_proven(claimed, upper.epsilon, enclosure=_certified(upper)):
        return Soundness.SOUND
    if lower is not None and is_refuted(claimed, lower.epsilon):
        return Soundness.REFUTED
    return Soundness.UNPROVEN


def is_proven(
    claimed: float,  # The claim
    upper: float,  # The upper bound
    *,
    # Its certified enclosure; None if it is not certified, and then it proves nothing but 0.
    enclosure: tuple[float, float] | None,
) -> bool:
    """Whether a proven upper bound is at most a claim.

    The claim is compared as the nearest float, because the printed 0.04 and its float differ by
    8e-19. If the enclosure of the bound is so narrow that only the rounding of the parameters makes
    it an interval, a claim inside it is the theorem's own number, and is proven as well.
    """
    if math.isinf(claimed):
        return True
    if enclosure is None:
        return upper == 0.0
    low, high = enclosure
    return upper <= claimed or (low <= claimed and high <= low * (1.0 + _ROUNDING))


def is_refuted(claimed: float, attained: float) -> bool:
    """Whether what a pair of data sets attains exceeds a claim by more than rounding."""
    return attained > claimed * (1.0 + _MARGIN)


def delta_at_claim(event: Event, claimed: Decimal, delta: float, adjacency: Adjacency) -> str:
    """What the delta at a claimed epsilon, which is refuted, is at least, in words."""
    found = lower_bound(event, adjacency=adjacency, epsilon=float(claimed))[0].delta
    about = f"delta at the claimed epsilon {claimed} is"
    if found <= delta:
        # The bound on epsilon, which has roundings of its own, exceeds the claim: so delta does.
        return f"{about} above the claimed {as_given(delta)}"
    shown = beside(delta, found, lambda digits: rounded_down(found, digits), 4)
    if delta == 0.0:
        return f"{about} at least {shown}"
    times = beside(1.0, found / delta, lambda digits: rounded_down(found / delta, digits), 3)
    return f"{about} at least {shown}, {times} times the claimed {as_given(delta)}"


def about_last_digit(upper: float, claimed: Decimal) -> tuple[str, ...]:
    """A note if a claim is the upper bound with its last printed digit rounded down."""
    if not agrees_rounded(upper, claimed):
        return ()
    return (
        "the best upper bound exceeds the claim by less than its last printed digit: rounded up to "
        f"{rounded(upper, claimed, ROUND_CEILING):f}, it would be proven",
    )


def _certified(guarantee: Guarantee) -> tuple[float, float] | None:
    found = guarantee.computed
    return (found.lower, found.upper) if found is not None and found.rigorous else None


def _attained(
    event: Event, adjacency: Adjacency, delta: float
) -> tuple[Guarantee | None, tuple[str, ...]]:
    """The lower bound, and the data sets that attain it in words."""
    try:
        found, alternative = lower_bound(event, adjacency=adjacency, delta=delta)
    except NoLossDistributionError:
        return None, ()
    try:
        return found, tuple(pair_of(event, adjacency, found, alternative).describe())
    except NoLossDistributionError:
        return found, ("the pairs of the event's parts, together",)
