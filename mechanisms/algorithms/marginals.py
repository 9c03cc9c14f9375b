"""Tables from noisy marginals: rounds of Gaussian noise, a fitted model, and its rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit import Adjacency, Composed, _validate
from rdpkit.mechanisms.algorithms.specification import Mechanism
from rdpkit.mechanisms.parts.counts import Sizes
from rdpkit.mechanisms.parts.marginals.mixture import MixtureFit
from rdpkit.mechanisms.parts.marginals.rounds import (
    Codes,
    Floats,
    RoundShares,
    checked_codes,
    measure_chosen,
    measure_one_way,
    measure_scores,
    rounds_event,
)
from rdpkit.mechanisms.parts.marginals.table_model import measure, synthetic_codes
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.privacy import Privacy
from rdpkit.mechanisms.parts.records import Batch, Records, Scaling
from rdpkit.mechanisms.parts.verify_target import (
    DataPair,
    LabelledRecords,
    VerifyTarget,
)
from rdpkit.mechanisms.releases.computation import ON_PROCESSOR, Computation, Progress
from rdpkit.mechanisms.releases.release import Release
from rdpkit.mechanisms.releases.streaming import as_parameters, release_batches

_LARGEST_COLUMNS = 400  # All pairs of them are scored
_USUAL_SHARES = RoundShares()
_USUAL_FIT = MixtureFit()


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginalsOptions:
    """Options of marginals."""

    noise_std: float
    """The noise of the whole release: as much is learnt of a record as from one vector of norm 1
    with noise of this standard deviation.
    """
    rows: int | None = None
    """Number of synthetic records. By default it is the noisy number of private records."""
    bins: int = 8
    """Number of equal parts of [0, 1] in which a feature of an array is counted. Columns of a table
    have their schema instead.
    """
    shares: RoundShares = _USUAL_SHARES  #: How the privacy is shared between the rounds
    fit: MixtureFit = _USUAL_FIT  #: How the model is fitted to what was measured

    def __post_init__(self) -> None:
        _validate.positive("noise_std", self.noise_std)
        _validate.integer("bins", self.bins, minimum=1, maximum=10**4)
        if self.rows is not None:
            _validate.integer("rows", self.rows, minimum=1)


def marginals_event(
    options: MarginalsOptions, class_sizes: Sizes = (), dimension: int = 0
) -> Composed:
    """The rounds; see :func:`rdpkit.mechanisms.parts.marginals.rounds.rounds_event`."""
    return rounds_event(options.noise_std, options.shares)


def codes_like(
    # Private records. Codes outside of their domain are clipped. Shape (n, columns).
    codes: NDArray[Any],
    domain: tuple[int, ...],  # Number of codes of each column, a public fact
    *,
    options: MarginalsOptions,  # Noise, rows and fit
    # Where the noise comes from. Everything that is random after the measurements comes from it,
    # too, though it need not be secret.
    noise: NoiseSource,
    # For each column how many of its codes, from 0, are ordered and may be counted in groups, which
    # is public: none by default. Within a group rows are spread evenly over codes.
    ordered: Sequence[int] = (),
    progress: Progress | None = None,  # Called with steps of the fit done and all of them
) -> tuple[Codes, float]:
    """Synthetic codes from private ones, and the noisy number of private records.

    Guarantee
    ---------
    That of :func:`marginals_event`. It holds for all tables of codes; nothing is refused because of
    what a record is.
    """
    checked, sizes = checked_codes(codes, domain)
    if len(sizes) > _LARGEST_COLUMNS:
        raise _validate.fail("domain", f"to have at most {_LARGEST_COLUMNS} columns", len(sizes))
    found = measure(
        checked,
        sizes,
        noise_std=options.noise_std,
        shares=options.shares,
        noise=noise,
        ordered=ordered,
    )
    rng = np.random.default_rng(noise.words(4).tolist())
    made = synthetic_codes(found, rows=options.rows, fit=options.fit, rng=rng, progress=progress)
    return made, found.records


def synthesize(
    features: NDArray[Any],
    labels: NDArray[Any],
    *,
    classes: int,
    options: MarginalsOptions,
    scaling: Scaling,
    privacy: Privacy,
    computation: Computation = ON_PROCESSOR,
) -> Release:  # Features are the middles of their bins
    """Release records whose noisy marginals of one and two columns are those of the private ones.

    Each feature is cut to [0, 1] and counted in equal bins; the label is one more column. A table
    of columns of other kinds is released by :func:`rdpkit.mechanisms.synthesize_table`.

    Arguments: see :class:`rdpkit.mechanisms.algorithms.specification.Mechanism`. There are at most
    399 features, which are scaled before they are cut to [0, 1].

    Guarantee
    ---------
    That of :func:`marginals_event` (and of the scaling's event, composed with it) at the delta of
    ``privacy``: an upper bound, in the manifest. The number of records is not assumed to be public
    under any relation.

    Source
    ------
    The select-measure-generate scheme of McKenna, Miklau and Sheldon 2021 (arXiv 2108.04978), with
    other rounds and another model; the sensitivities are derived in docs/theory/marginals.md.
    """
    records = Records(
        features=features, labels=labels, classes=classes, scaling=scaling, box=(0.0, 1.0)
    )
    domain = (*(options.bins,) * records.dimension, classes)
    codes = np.column_stack([_binned(records.rows(slice(None)), options.bins), records.labels])
    made, _ = codes_like(
        codes, domain, options=options, noise=privacy.noise, progress=computation.progress
    )
    middles = (made[:, :-1] + 0.5) / options.bins
    parameters = as_parameters(options)
    del parameters["noise_std"]  # the event states the noise of each round
    return release_batches(
        iter([(middles, made[:, -1])]),
        records=records,
        shape=(len(made), *records.shape),
        event=marginals_event(options),
        privacy=privacy,
        mechanism=SPEC.name,
        parameters=parameters,
        computation=computation,
    )


def _binned(rows: Floats, bins: int) -> Codes:
    return np.minimum((rows * bins).astype(np.int64), bins - 1)


SMALL = MarginalsOptions(noise_std=1.5, shares=RoundShares(one_way=0.2, scores=0.2, parts=0.2))
"""The options with which ``rdpkit verify`` tests the rounds."""

_SMALL_DOMAIN = (2, 2)


def batches(codes: Codes, *, options: MarginalsOptions, noise: NoiseSource) -> Iterator[Batch]:
    """All rounds on a tiny table, as one row: all that a release is computed from.

    Every pair is measured, so that the row has the same length whatever the data are.
    """
    first, again, second, third = options.shares.stds(options.noise_std)
    singles = measure_one_way(codes, _SMALL_DOMAIN, std=first, noise=noise)
    singles += measure_one_way(codes, _SMALL_DOMAIN, std=again, noise=noise)
    pair = (0, 1)
    expected = {pair: np.full(_SMALL_DOMAIN, 1.0)}
    scores, _ = measure_scores(codes, _SMALL_DOMAIN, expected, std=second, noise=noise)
    pairs = measure_chosen(codes, _SMALL_DOMAIN, {pair: 0.8, (0,): 0.6}, std=third, noise=noise)
    parts: list[Floats] = [one.counts for one in singles]
    parts += [np.array([scores[pair]]), *(one.counts.ravel() for one in pairs.values())]
    yield np.concatenate(parts)[None, :], np.zeros(1, dtype=np.int64)


def _one_moves() -> DataPair:
    """Three records with codes of two columns; the last one moves to the opposite corner."""
    first = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    second = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    labels = np.zeros(3, dtype=np.int64)
    return (first, labels), (second, labels)


def _as_codes(dataset: LabelledRecords) -> Codes:
    return _binned(np.clip(dataset.features, 0.0, 1.0), 2)


verify_target = VerifyTarget(
    event=marginals_event(SMALL),
    adjacency=Adjacency.REPLACE_ONE,
    prepare=_as_codes,
    run=lambda codes, noise: list(batches(codes, options=SMALL, noise=noise)),
    pair=_one_moves,
)

SPEC = Mechanism(
    name="marginals",
    synthesize=synthesize,
    options=MarginalsOptions,
    event=marginals_event,
    calibrated=("noise_std",),
    ratio=lambda options: {"noise_std": 1.0},
    verify=verify_target,
)
