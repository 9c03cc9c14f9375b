"""What shells complete beside commands and options: events, bounds, claims and experiments."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from rdpkit.cli.option_types import completions

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def names_of(
    # The names. What it raises is no concern of somebody who is still typing.
    known: Callable[[click.Context], Iterable[str]],
    *,
    files: str = "",  # The ending of files that are accepted as well, like ".toml"
) -> Completer:
    """A completer for an option or an argument that takes one of some names."""

    def complete(
        ctx: click.Context, parameter: click.Parameter, begun: str
    ) -> list[CompletionItem]:
        try:
            found = completions(known(ctx), begun)
        except Exception:
            found = []
        return [*found, *(_files(begun, files) if files else [])]

    return complete


def _files(begun: str, ending: str) -> list[CompletionItem]:
    """Files with an ending, and folders, whose paths begin so."""
    folder = Path(begun).parent if begun and not begun.endswith("/") else Path(begun or ".")
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return []
    shown = [f"{one}/" if one.is_dir() else str(one) for one in entries]
    return completions((one for one in shown if one.endswith(("/", ending))), begun)


def bounds_of_event(ctx: click.Context) -> list[str]:
    """The ids that ``--bound`` takes for the event of a command."""
    # Imported here because a command that only prints its help needs no theorem.
    from rdpkit import analysis  # noqa: PLC0415
    from rdpkit.accountants.loss_distributions import LOWER_ID, UPPER_ID  # noqa: PLC0415
    from rdpkit.bounds import BOUNDS  # noqa: PLC0415
    from rdpkit.events import MECHANISMS, Event  # noqa: PLC0415
    from rdpkit.formats.tables import mechanism_name  # noqa: PLC0415

    kind = MECHANISMS.get(mechanism_name(ctx.info_name or ""))
    # What an event is made of is known only when its parameters are, so that all bounds may apply.
    primitive = kind is not None and kind.expand is Event.expand
    ids = [bound.id for bound in BOUNDS if not primitive or bound.event_type is kind]
    everywhere = (analysis.BEST, analysis.BEST_RDP, UPPER_ID, LOWER_ID)
    return list(dict.fromkeys([*everywhere, *ids]))


def parameters_of_event(ctx: click.Context) -> list[str]:
    """The parameters of the event of a command that calibration may choose."""
    from rdpkit.events import MECHANISMS, parameters_of  # noqa: PLC0415 - as above
    from rdpkit.formats.tables import mechanism_name  # noqa: PLC0415

    kind = MECHANISMS.get(mechanism_name(ctx.info_name or ""))
    if kind is None:
        return []
    numbers = ("number", "integer", "integers")
    return [*(one.name for one in parameters_of(kind) if one.kind in numbers), "count"]
