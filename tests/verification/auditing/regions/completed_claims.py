"""Claims about which something is missing, and the same claims with it filled in."""

import dataclasses
from decimal import Decimal

from rdpkit.verification.auditing.regions.boundary import within
from rdpkit.verification.auditing.regions.monotone import variable_of
from rdpkit.verification.auditing.verdict import audit_one
from rdpkit.verification.claims.reading import loads
from tests.verification.claim_files import text

GAUSSIAN = "noise_std = 1.0\nrecord_norm = 1.0\n"
COUNTED = "event = {mechanism = 'gaussian', noise_std = 9.0, record_norm = 1.0}\n"


def incomplete(
    unknown, *, mechanism="gaussian", parameters="record_norm = 1.0\n", epsilon="1.0", delta="1e-5",
    adjacency="add_or_remove_one", values="",
):  # fmt: skip
    """One claim with something missing; arguments are raw TOML, and None leaves a key out."""
    listed = f"[claim.unknown.values]\n{values}" if values else ""
    keys = {"mechanism": f'"{mechanism}"', "adjacency": f'"{adjacency}"', "parameters": None}
    after = f"[claim.parameters]\n{parameters}[claim.unknown]\n{unknown}\n{listed}"
    (claim,) = loads(text(**keys, epsilon=epsilon, delta=delta, missing='["x"]', after=after))
    return claim


def completed(claim, case, value):
    """The claim with what was missing: the case, and a value of what is searched."""
    unknown = claim.unknown
    whole = dataclasses.replace(claim, missing=(), unknown=None, scenarios=(), event=case.event)
    if unknown.search == ("epsilon",):
        return dataclasses.replace(whole, epsilon=Decimal(repr(value)), delta=case.delta)
    if unknown.search == ("delta",):
        return dataclasses.replace(whole, delta=value)
    variable = within(variable_of(case.event, unknown.search)[0], unknown.low, unknown.high)
    return dataclasses.replace(whole, event=variable.at(value), delta=case.delta)


def audited(claim, case, value):
    """What the audit says of the completed claim."""
    return audit_one(completed(claim, case, value)).soundness.value
