"""A privacy claim: a number that somebody printed, with the parameters beside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal

from rdpkit import Adjacency, Event
from rdpkit.verification.blackbox.options import VerificationOptions
from rdpkit.verification.claims.unknown import Unknown
from rdpkit.verification.training.options import TrainingOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One way to complete what a paper leaves out, and the event and delta that result."""

    description: str
    event: Event
    delta: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeTest:
    """The code that a claim is about, and how to test it. Nothing is imported or run."""

    callable: str  #: ``module:callable``, called as ``callable(dataset, rng)``
    options: VerificationOptions
    """How to test it. The data sets are "worst", "random" or "own": the worst-case pair of the
    event, the clearest of random pairs, or what the code says of itself
    (:class:`rdpkit.verification.blackbox.targets.TargetDescription`).
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingTest:
    """The training that a claim is about, and how to check it. Nothing is imported or run."""

    target: str
    """``module:make_trainer``, called without arguments; it returns what
    :func:`rdpkit.verification.training.trainer.as_training` reads.
    """
    options: TrainingOptions  # How to check it


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What the claims of a file were printed in: a paper, a README, a model card, a deployment."""

    title: str  # Its title
    authors: str | None = None  # Its authors, or the organisation
    year: int | None = None
    """The year in which it appeared; of a repository, the year of what was read."""
    kind: str | None = None  # One of :data:`rdpkit.verification.claims.format.KINDS`
    url: str | None = None  # Where it is found
    read: str | None = None  # What of it was really read, and where


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One printed privacy budget."""

    id: str  #: Unique within a run
    source: str  #: Where it is printed
    mechanism: str  #: A mechanism's name, or "unmodelled"
    adjacency: Adjacency  #: The neighbouring relation
    epsilon: Decimal | None
    """The number exactly as printed, so that its precision is known; None if it is not printed. An
    epsilon, or what ``quantity`` says.
    """
    delta: float | None  #: None for a claim about one Renyi order
    order: float | None
    """The Renyi order that the claim is about, or at which it was converted if there is a delta."""
    bound: str | None
    """Id of the formula that the number comes from, where the mechanism has several."""
    conversion: str | None  #: The conversion that was used, where it differs from the formula's own
    event: Event | None  #: What was released; None if the parameters do not say
    missing: tuple[str, ...] = ()  #: What the source does not give
    scenarios: tuple[Scenario, ...] = ()  #: Completions of what is missing
    notes: tuple[str, ...] = ()  #: Remarks for the reader
    origin: str = field(default="", compare=False)  #: The file
    line: int = field(default=1, compare=False)  #: The line of the file at which the claim begins
    quantity: str = "epsilon"
    """What the number is: "epsilon", "mu", "advantage", "tpr" or "rho". With mu, ``delta`` is the
    smallest delta for which it is claimed.
    """
    fpr: float | None = None  #: The false positive rate of a true positive rate
    release: str | None = None  #: The manifest of the release that the claim is about
    code: CodeTest | None = None  #: The code that the claim is about
    training: TrainingTest | None = None  #: The training that the claim is about
    # No verdict depends on where a claim was printed, so findings are kept without it.
    work: Work | None = field(default=None, compare=False)  #: What it was printed in
    kind: str | None = field(default=None, compare=False)
    """The kind of the claim: its own, or that of its work."""
    certificate: str | None = field(default=None, compare=False)
    """The text of a certificate that the claim carries."""
    reads: str | None = field(default=None, compare=False)
    """The id of the claim whose number this one reads in another way."""
    reading: str | None = field(default=None, compare=False)
    """In what way the number is read, where there are several."""
    approximation: str | None = field(default=None, compare=False)
    """What the source itself calls the number an approximation by."""
    unread: str | None = None
    """Why its source could not be read; None for a claim that was read where it is printed."""
    unknown: Unknown | None = None  #: Which values of what is missing are looked at


@contextmanager
def named(claim: Claim) -> Iterator[None]:
    """Put the file and the id of a claim before the message of an error about it.

    Raises ValueError or ArithmeticError as it is raised inside the block, with the claim named.
    """
    try:
        yield
    except ArithmeticError as error:
        raise type(error)(f"{claim.origin}: claim {claim.id!r}: {error}") from None
    except ValueError as error:
        raise ValueError(f"{claim.origin}: claim {claim.id!r}: {error}") from None
