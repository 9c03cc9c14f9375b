"""The pairs of data sets that a target is tested on, for ``rdpkit verify`` and for audits alike."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
import traceback
from typing import Any

import numpy as np

from rdpkit.verification.blackbox.candidate_pairs import StatedData, pairs_to_test
from rdpkit.verification.blackbox.neighbours import LabelledData, Neighbours
from rdpkit.verification.blackbox.options import OPTIONS, VerificationOptions
from rdpkit.verification.blackbox.targets import TargetDescription, TargetReference
from rdpkit.verification.blackbox.tested_claim import ClaimUnderTest


def pairs_of_target(
    subject: TargetReference,
    *,
    claim: ClaimUnderTest,
    options: VerificationOptions,
    delta: float | None = None,
) -> list[Neighbours]:
    """The pairs of data sets that a target is tested on, the most important first.

    They are the target's own if it has any for the claim's adjacency and no option asks for others.
    A target may state what it is given by attributes ``dimension``, ``records``, ``record_norm``
    and ``classes``, which options of the same names overrule.
    """
    own = subject.own
    has_own = own is not None and own.adjacency is claim.adjacency
    if options.neighbours != "own":
        # Without data sets of its own, a target with an event gets those of any other target.
        has_own = has_own and _brings_data(subject)
    return pairs_to_test(
        options,
        adjacency=claim.adjacency,
        event=claim.event,
        delta=delta,
        own=own.neighbours if own is not None and has_own else None,
        stated=_stated_by(subject, own),
        run_once=lambda data: _takes(subject, data),
    )


def _brings_data(subject: TargetReference) -> bool:
    """Whether the target has data sets of its own, under whatever adjacency."""
    if subject.entry is not None:
        return True
    return callable(getattr(subject.mechanism(), "neighbours", None))


def _stated_by(subject: TargetReference, own: TargetDescription | None) -> StatedData:
    """What the attributes of a target, and its own data sets, say of its data."""
    found: dict[str, Any] = {}
    if own is not None and _brings_data(subject):
        found["dimension"] = own.neighbours()[0].first.dimension
    if subject.entry is not None:
        return StatedData(**found)
    mechanism = subject.mechanism()
    names = {field.name for field in dataclasses.fields(StatedData)}
    for option in OPTIONS:
        value = getattr(mechanism, option.name, None) if option.name in names else None
        if value is not None and not callable(value):
            found[option.name] = option.checked(value, f"{subject.name}: its {option.name}")
    return StatedData(**found)


def _takes(subject: TargetReference, data: LabelledData) -> None:
    """Run the mechanism, and raise if it takes such data neither with nor without a record.

    An error with one of the two alone tells them apart, and is for the test to find.
    """
    try:
        _run_once(subject, data)
    except ValueError:
        if len(data) < 2:
            raise
        less = LabelledData(features=data.features[:-1], labels=data.labels[:-1])
        try:
            _run_once(subject, less)
        except ValueError:
            pass
        else:
            return
        raise


def _run_once(subject: TargetReference, data: LabelledData) -> None:
    """Run the mechanism once, and raise if it does not take such data."""
    mechanism: Any = subject.mechanism()
    rng = np.random.default_rng(0)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            if hasattr(mechanism, "many"):
                mechanism.many(data, rng, 1)
            else:
                mechanism(data, rng)
    except (Exception, SystemExit) as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        raise ValueError(
            f"{subject.name} raised {type(error).__name__}: {error} (at {frame.filename}:"
            f"{frame.lineno})"
        ) from error
