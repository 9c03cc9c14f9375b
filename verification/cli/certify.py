"""``rdpkit certify``: certificates of an event, or of the claims of a file."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from rdpkit import analysis
from rdpkit.adjacency import Adjacency
from rdpkit.cli.event_commands import (
    EventCommands,
    about_one_event,
    adjacency_option,
    claimed_epsilon_option,
    delta_option,
    event_of,
)
from rdpkit.cli.option_types import FILE, FOLDER
from rdpkit.cli.output import to_file_option
from rdpkit.cli.progress import work_shown
from rdpkit.events import Event
from rdpkit.formats.files import write_whole
from rdpkit.formats.text import how_many, printable, rounded_up
from rdpkit.pairs.claim_check import Soundness
from rdpkit.verification.auditing.findings import Finding

# A certificate without a claim states so many times the best bound, rounded up: its grid may be
# coarser than the one of the bound, and that of a million releases is.
_ROOM, _MORE_ROOM = 1.001, 1.01


def _bounds(event: Event, adjacency: str, delta: float) -> Iterator[str]:
    """The best bound, and others: the checker may know of an event no more than these say."""
    best = analysis.epsilon(event, delta=delta, adjacency=adjacency).epsilon
    if math.isinf(best):
        raise ValueError(f"No finite epsilon is known for this {event.mechanism} at this delta.")
    yield from (rounded_up(room * best) for room in (_ROOM, _MORE_ROOM))
    for given, bound in ((delta, analysis.BEST_RDP), (0.0, analysis.BEST)):
        with suppress(ValueError):
            found = analysis.epsilon(event, delta=given, adjacency=adjacency, bound=bound).epsilon
            if math.isfinite(found):
                yield rounded_up(_ROOM * found)
    # Imported here because other questions convert nothing.
    from rdpkit.conversions.curves import rdp_to_epsilon  # noqa: PLC0415

    with suppress(ValueError):
        best_rdp = analysis.epsilon(
            event, delta=delta, adjacency=adjacency, bound=analysis.BEST_RDP
        )
        if best_rdp.order is not None:
            order = best_rdp.order
            rdp, _ = analysis.upper_rdp(event, order=order, adjacency=Adjacency.parse(adjacency))
            converted = rdp_to_epsilon([order], [rdp], delta=delta, conversion="balle2020")
            yield rounded_up(_ROOM * converted[0])


def write_certificates(findings: Sequence[Finding], folder: Path) -> int:
    """Write certificates, and say to people how many there are and why others are missing.

    Returns how many verdicts have none.
    """
    # Imported here because most audits write none.
    from rdpkit.verification.auditing.certified import certify  # noqa: PLC0415

    judged = [one for one in findings if one.soundness is not Soundness.UNPROVEN]
    missing = []
    with work_shown() as work:
        for number, (finding, reason) in enumerate(certify(judged, folder), 1):
            work.show("certifying", number, len(judged), finding.claim.id)
            missing += [f"{finding.claim.id}: no certificate: {reason}"] if reason else []
    lines = [f"{len(judged) - len(missing)} of {how_many(len(judged), 'verdict')} certified"]
    click.echo("\n".join(printable(line) for line in [*missing, *lines]), err=True)
    return len(missing)


def _holds_claims(name: str) -> bool:
    """Whether a file holds claims, or what a release states, rather than one event."""
    if not name.endswith(".toml"):
        return name.endswith((".json", ".jsonl"))
    try:
        return "claim" in tomllib.loads(Path(name).read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        # What is wrong with the file is said where an event is read.
        return False


class _EventsAndClaims(EventCommands):
    """Mechanisms, files that describe events, and files of claims."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command for a mechanism or a file."""
        if cmd_name.endswith((".yaml", ".yml")):
            return _of_entry(cmd_name)
        return (
            _of_claims(cmd_name) if _holds_claims(cmd_name) else super().get_command(ctx, cmd_name)
        )


def _of_claims(name: str) -> click.Command:
    @click.command(name, help=f"Certificates of what {name} claims: of one claim, or of all.")
    @click.option("--claim", "identifier", metavar="ID", help="The claim, if there are several.")
    @click.option(
        "--folder",
        type=FOLDER,
        help="Write a certificate for each claim that is sound or refuted into this folder.",
    )
    @to_file_option
    def command(identifier: str | None, folder: Path | None) -> None:
        # Imported here so that other questions do not wait for it.
        from rdpkit.verification.auditing.audit import findings_about  # noqa: PLC0415
        from rdpkit.verification.auditing.certified import certificate_of  # noqa: PLC0415
        from rdpkit.verification.claims.reading import load_files  # noqa: PLC0415

        claims = {claim.id: claim for claim in load_files([name])}
        if identifier is None and folder is None and len(claims) > 1:
            raise ValueError(f"Expected --folder, or --claim with one of {', '.join(claims)}.")
        if identifier not in (None, *claims):
            raise ValueError(f"Expected --claim to be {' or '.join(claims)}, got {identifier!r}.")
        wanted = claims.values() if identifier is None else [claims[identifier]]
        chosen = list(findings_about(wanted))
        if folder is None:
            click.echo(certificate_of(chosen[0]), nl=False)
        elif write_certificates(chosen, folder):
            raise click.exceptions.Exit(1)

    return command


def _of_entry(name: str) -> click.Command:
    """The command for an entry of the registry of deployments, followed by what was released."""

    @about_one_event(
        "-o certified.yaml",
        name=name,
        help=f"A certificate of what {name} states, an entry of the OpenDP Deployments Registry. "
        "It does not say what was released: EVENT does, a mechanism, or a TOML file that describes "
        "one. What the entry states is not given again.",
    )
    @adjacency_option
    @delta_option(required=False)
    @claimed_epsilon_option
    @click.option(
        "-o",
        "--output",
        type=FILE,
        metavar="FILE",
        required=True,
        help="Write the entry here, with a note about its certificate, which is written "
        "beside it. It may be the entry itself.",
    )
    def command(
        source: str,
        given: dict[str, Any],
        *,
        adjacency: str,
        delta: float | None,
        claimed_epsilon: str | None,
        output: Path,
    ) -> None:
        # Imported here because other questions need no registry and no audit.
        from rdpkit.verification.auditing.audit import findings_about  # noqa: PLC0415
        from rdpkit.verification.auditing.certified import certificate_of  # noqa: PLC0415
        from rdpkit.verification.claims import deployments  # noqa: PLC0415
        from rdpkit.verification.outputs.words import statement  # noqa: PLC0415

        event = event_of(source, given, adjacency)
        if output.suffix not in (".yaml", ".yml"):
            raise ValueError(f"Expected --output to end in .yaml or .yml, got {str(output)!r}.")
        entry, relation = deployments.read_entry(Path(name)), Adjacency.parse(adjacency)
        claim = deployments.claim_of_entry(
            entry, event, relation, delta=delta, epsilon=claimed_epsilon
        )
        (finding,) = findings_about([claim])
        certificate = output.with_suffix(".certificate.json")
        content = certificate_of(finding)
        note = deployments.note_about(entry, content, certificate.name)
        noted = deployments.with_note(entry, note)
        write_whole(certificate, content)
        write_whole(output, noted)
        click.echo(printable(f"{statement(claim)}: {finding.verdict.value}"))
        click.echo(printable(f"wrote {certificate} and {output}"), err=True)
        if finding.soundness is Soundness.REFUTED:
            raise click.exceptions.Exit(1)

    return command


@about_one_event("--delta 1e-5", kind=_EventsAndClaims)
@adjacency_option
@delta_option()
@claimed_epsilon_option
@click.option(
    "--refuted",
    is_flag=True,
    help="Certify that the claim is false, by a test between two data sets.",
)
@to_file_option
def certify(
    source: str,
    given: dict[str, Any],
    *,
    adjacency: str,
    delta: float,
    claimed_epsilon: str | None,
    refuted: bool,
) -> None:
    """A certificate of an epsilon, as JSON, which 'python -m rdpkit.kernel FILE' checks.

    Without --claimed-epsilon it is about the best upper bound that the checker can follow, a
    thousandth larger, or a hundredth. Of a file of claims, a manifest or a ledger it is about what
    they claim. EVENT is a mechanism, or a TOML file that describes one.
    """
    # Imported here because other questions need no checker.
    from rdpkit.interop.certificates import NoCertificateError, certificate  # noqa: PLC0415

    event = event_of(source, given, adjacency)
    if claimed_epsilon is None and refuted:
        raise ValueError("Expected --claimed-epsilon with --refuted.")
    claims: Iterable[str] = (
        [claimed_epsilon] if claimed_epsilon else _bounds(event, adjacency, delta)
    )
    reason = None
    for claimed in claims:
        try:
            found = certificate(
                event, claimed=claimed, adjacency=adjacency, delta=delta, refuted=refuted
            )
        except NoCertificateError as error:
            reason = reason or error
        else:
            click.echo(found, nl=False)
            return
    assert reason is not None
    raise reason
