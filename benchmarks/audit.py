"""How long an audit of many claims takes, and how much memory its parent process.

    python -m benchmarks.audit [--claims 10000] [--workers 2] [--cache FILE]

The claims are all different, of seven mechanisms in turn, under both adjacencies, with epsilons
that are right, loose and too small. Bounds are certified Renyi bounds (``bounds="rdp"``).
"""

from __future__ import annotations

import collections
import json
import resource
import time

import click

from rdpkit.verification.auditing.audit import audit
from rdpkit.verification.claims.reading import loads
from tests.verification.many_claims import many_claims

_LOOKS = 5


@click.command()
@click.option("--claims", "count", default=10_000, show_default=True)
@click.option("--workers", default=2, show_default=True)
@click.option("--cache", type=click.Path(), help="Keep findings here, as rdpkit audit does.")
def main(count: int, workers: int, cache: str | None) -> None:
    """Time an audit, from text to the last finding."""
    started = time.perf_counter()
    claims = loads(many_claims(count))
    looks, verdicts = [_look(0, started)], collections.Counter[str]()
    for number, finding in enumerate(audit(claims, workers=workers, bounds="rdp", cache=cache), 1):
        verdicts[finding.soundness.value] += 1
        if number % max(count // _LOOKS, 1) == 0:
            looks.append(_look(number, started))
    click.echo(json.dumps({"claims": count, "workers": workers, **verdicts, "looks": looks}))


def _look(number: int, started: float) -> dict[str, float]:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "audited": number,
        "seconds": round(time.perf_counter() - started, 1),
        "peak_mib": round(peak, 1),
    }


if __name__ == "__main__":
    main()
