"""What a DP-SGD run is worth, on one screen: every number that people ask for, each with its kind.

The numbers come from :func:`rdpkit.epsilon`, :func:`rdpkit.delta` and
:func:`rdpkit.lower_bound`. Nothing is computed here.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from rdpkit import _validate, analysis
from rdpkit.accountants.loss_distributions import remembered
from rdpkit.adjacency import Adjacency, needed
from rdpkit.events import DPSGD, Event, PoissonSampledGaussian, Repeated
from rdpkit.events.losses import NoLossDistributionError
from rdpkit.events.training.dpsgd import SAMPLINGS, Sampling
from rdpkit.formats.numbers import as_given
from rdpkit.formats.records import as_plain
from rdpkit.formats.text import how_many, rounded_up
from rdpkit.guarantee import Enclosure, Guarantee
from rdpkit.pairs.claim_check import soundness_of
from rdpkit.tradeoffs import GaussianDP, tradeoff
from rdpkit.tradeoffs.gaussian import gdp_of_curve

_LARGEST_USUAL_DELTA = 5  # The exponent of 1e-5
_FPR = 0.01  # Of the true positive rate in the report
# Truncated Poisson batches of a comparison hold so many deviations more than the mean.
_DEVIATIONS = 6.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingReport:
    """What one DP-SGD run is worth."""

    event: DPSGD  #: The settings
    upper: Guarantee  #: The certified upper bound on epsilon
    lower: Guarantee | None
    """What two neighbouring data sets attain; None where no such pair is known."""
    advantage: Enclosure
    """The largest difference of true and false positive rates of any membership inference attack:
    proven from above, and attained from below.
    """
    tpr: Enclosure
    """The largest true positive rate of any attack with a false positive rate of 1 %; the same."""
    gdp: GaussianDP  #: mu of Gaussian differential privacy, with its regret
    lines: Mapping[str, str]
    """Code for other libraries that trains with these settings, by the library's name."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        names = [field.name for field in dataclasses.fields(self.event)]
        given = {name: getattr(self.event, name) for name in names}
        return {
            "settings": as_plain({name: v for name, v in given.items() if v is not None}),
            "updates": self.event.updates,
            "sampling_probability": self.event.sampling_probability,
            "upper": self.upper.as_dict(),
            "lower": None if self.lower is None else self.lower.as_dict(),
            "advantage": {"upper": self.advantage.upper, "lower": self.advantage.lower},
            "tpr_at_fpr_0.01": {"upper": self.tpr.upper, "lower": self.tpr.lower},
            "gdp": {
                "mu": as_plain(self.gdp.mu),
                "lower": self.gdp.lower,
                "regret": self.gdp.regret.upper,
                "smallest_delta": self.gdp.smallest_delta,
            },
            "lines": dict(self.lines),
        }


def usual_delta(
    dataset_size: int,  # Number of records; at least 1
) -> float:
    """The largest power of ten that is below 1 / dataset_size, and at most 1e-5."""
    size = _validate.integer("dataset_size", dataset_size)
    # 10^-k < 1/n means 10^k > n, and n has len(str(n)) digits.
    return float(f"1e-{max(len(str(size)), _LARGEST_USUAL_DELTA)}")


@_validate.by_name(adjacency=needed())
def training_report(event: DPSGD, *, delta: float, adjacency: Adjacency | str) -> TrainingReport:
    """Every number about a DP-SGD run that people ask for.

    Guarantee
    ---------
    The training is (epsilon, delta)-DP with the epsilon of ``upper``, and no smaller one than that
    of ``lower`` holds. No attack has more than the advantage.

    Assumes
    -------
    What ``upper.assumptions`` list.

    Parameters
    ----------
    event : DPSGD
        The settings of the run.
    delta : float
        In (0, 1).
    adjacency : Adjacency or str
        The neighbouring relation.

    Raises
    ------
    ValueError
        If an argument is outside of its range.
    ArithmeticError
        If a number cannot be computed.

    Source
    ------
    The theorems that the guarantees name.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.DPSGD(noise_multiplier=1.1, dataset_size=60000, batch_size=256, epochs=60)
    >>> report = rdpkit.training_report(event, delta=1e-5, adjacency="add_or_remove_one")
    >>> f"{report.lower.epsilon:.3f} {report.upper.epsilon:.3f}"
    '2.382 2.382'
    """
    _validate.one_of_a_kind("event", event, DPSGD)
    number = _validate.open_probability("delta", delta)
    relation = Adjacency(adjacency)
    upper, lower = _both(event, number, relation)
    curve = tradeoff(event, adjacency=relation)
    return TrainingReport(
        event=event,
        upper=upper,
        lower=lower,
        advantage=curve.advantage,
        tpr=curve.tpr(_FPR),
        gdp=gdp_of_curve(event, curve),
        lines=_lines(event, number, relation),
    )


@remembered()
def _both(event: Event, delta: float, adjacency: Adjacency) -> tuple[Guarantee, Guarantee | None]:
    """The upper bound, and the lower one if a pair is known."""
    upper = analysis.epsilon(event, delta=delta, adjacency=adjacency)
    try:
        lower = analysis.lower_bound(event, delta=delta, adjacency=adjacency)[0]
    except NoLossDistributionError:
        return upper, None
    analysis.check_sandwich([upper], [lower])
    return upper, lower


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingBounds:
    """What the same settings are worth with batches that are made in one way."""

    event: DPSGD  #: The settings
    upper: Guarantee  #: The certified upper bound on epsilon
    lower: Guarantee | None  #: What two neighbouring data sets attain
    poisson: str
    """On a claim of an epsilon, or of that of Poisson samples: "sound", "refuted", "unproven"."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "sampling": self.event.sampling,
            "max_batch_size": self.event.max_batch_size,
            "upper": self.upper.as_dict(),
            "lower": None if self.lower is None else self.lower.as_dict(),
            "claim_for_poisson": self.poisson,
        }


@_validate.by_name(adjacency=needed())
def compare_sampling(
    event: DPSGD, *, delta: float, adjacency: Adjacency | str, claimed: float | None = None
) -> tuple[SamplingBounds, ...]:
    """The same settings with batches made in every way, and what a claim for Poisson is worth.

    Guarantee
    ---------
    Every entry has a proven upper bound, and a lower one that two neighbours attain.

    Assumes
    -------
    What each guarantee's ``assumptions`` list.

    Parameters
    ----------
    event : DPSGD
        The settings; its own way of making batches does not matter. Truncated batches without a
        largest size have room for six deviations more than the mean.
    delta : float
        In (0, 1).
    adjacency : Adjacency or str
        The neighbouring relation. Under zero-out, in which a gradient becomes 0 and nothing else
        moves, all ways have the same sensitivity.
    claimed : float, optional
        The epsilon that ``poisson`` judges. By default that of Poisson samples as it is printed.

    Source
    ------
    The theorems that the guarantees name.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.DPSGD(noise_multiplier=1.1, dataset_size=600, batch_size=100, epochs=1)
    >>> for row in rdpkit.compare_sampling(event, delta=1e-5, adjacency="zero_out"):
    ...     print(f"{row.event.sampling:18} {row.lower.epsilon:.2f} {row.poisson}")
    poisson            3.02 sound
    fixed-size         6.18 refuted
    shuffle            3.89 refuted
    truncated-poisson  3.02 sound
    random-allocation  2.23 sound
    """
    _validate.one_of_a_kind("event", event, DPSGD)
    number = _validate.open_probability("delta", delta)
    relation = Adjacency(adjacency)
    batch = event.logical_batch
    largest = event.max_batch_size or min(
        event.dataset_size, math.ceil(batch + _DEVIATIONS * math.sqrt(batch))
    )
    found: list[SamplingBounds] = []
    claim = claimed
    for sampling in SAMPLINGS:
        cut = largest if sampling == "truncated-poisson" else None
        one = dataclasses.replace(event, sampling=cast(Sampling, sampling), max_batch_size=cut)
        upper, lower = _both(one, number, relation)
        if claim is None:  # The first are Poisson samples; their epsilon as it would be printed.
            claim = float(rounded_up(upper.epsilon))
        verdict = soundness_of(claim, upper=upper, lower=lower).value
        found.append(SamplingBounds(event=one, upper=upper, lower=lower, poisson=verdict))
    return tuple(found)


def _lines(event: DPSGD, delta: float, adjacency: Adjacency) -> dict[str, str]:
    """Code for other libraries; only where they make batches in this way."""
    if event.microbatch_size > 1 or event.examples_per_user > 1:
        return {}
    return {**_opacus(event, delta, adjacency), **_jax_privacy(event)}


def _opacus(event: DPSGD, delta: float, adjacency: Adjacency) -> dict[str, str]:
    if event.sampling not in ("poisson", "shuffle"):
        return {}
    poisson = event.sampling == "poisson"
    lines = [
        f"loader = DataLoader(data, batch_size={event.logical_batch}"
        f"{'' if poisson else ', shuffle=True, drop_last=True'})",
        "model, optimizer, loader = PrivacyEngine().make_private(module=model, "
        f"optimizer=optimizer, data_loader=loader, noise_multiplier={event.noise_multiplier!r}, "
        f"max_grad_norm=1.0{'' if poisson else ', poisson_sampling=False'})",
    ]
    if poisson and event.epochs is not None:
        # Opacus samples with probability 1 / len(loader), and a step of the loader is an update.
        batches = math.ceil(event.dataset_size / event.logical_batch)
        steps = batches * event.passes
        exactly = Repeated(
            event=PoissonSampledGaussian(
                noise_std=event.noise_multiplier,
                record_norm=1.0,
                sampling_probability=1.0 / batches,
            ),
            count=steps,
        )
        found = analysis.epsilon(exactly, delta=delta, adjacency=adjacency)
        lines.append(
            f"# {how_many(event.passes, 'epoch')} of this loader: "
            f"{how_many(steps, 'step')} at probability 1/{batches}: "
            f"epsilon <= {rounded_up(found.epsilon)} at delta = {as_given(delta)}, "
            f"{adjacency.dashed}"
        )
    return {"opacus": "\n".join(lines)}


def _jax_privacy(event: DPSGD) -> dict[str, str]:
    if event.sampling == "poisson":
        expected = f"{event.updates} * {event.logical_batch} / {event.dataset_size}"
        return {
            "jax-privacy": "plan = jax_privacy.execution_plan.BandMFConfig.default(num_bands=1, "
            f"iterations={event.updates}, expected_participations={expected}, "
            f"noise_multiplier={event.noise_multiplier!r}).make()"
        }
    if event.sampling == "fixed-size":
        return {
            "jax-privacy": "event = jax_privacy.accounting.fixed_dpsgd_event("
            f"{event.noise_multiplier!r}, {event.updates}, dataset_size={event.dataset_size}, "
            f"batch_size={event.logical_batch})  # noise per clipping norm"
        }
    return {}
