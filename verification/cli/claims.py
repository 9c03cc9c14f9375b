"""``rdpkit claims``: write a claims file, check some, or print the schema for editors."""

from __future__ import annotations

import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import click

import rdpkit
from rdpkit import Event, Repeated, event_from_parameters
from rdpkit.cli import CommandsByName
from rdpkit.cli.event_commands import MECHANISM, event_options, repeated
from rdpkit.cli.option_types import ADJACENCY, FILE, INTEGER, NUMBER, NameType, option_name
from rdpkit.cli.output import answer_options, format_option, print_answer
from rdpkit.events import MECHANISMS, parameters_of
from rdpkit.formats.files import write_whole
from rdpkit.formats.numbers import as_given
from rdpkit.formats.printed_precision import agrees
from rdpkit.formats.records import as_plain, did_you_mean
from rdpkit.formats.text import how_many, rounded_up
from rdpkit.pairs.claim_check import claimed_number
from rdpkit.verification.claims.editing import as_toml
from rdpkit.verification.claims.format import FORMAT
from rdpkit.verification.claims.reading import load_files, loads
from rdpkit.verification.claims.schema import certificate_schema, claims_schema, schema_text
from rdpkit.verification.cli.fix import fix
from rdpkit.verification.cli.init import init


@click.group(cls=CommandsByName)
def claims() -> None:
    """Write files of privacy claims, find what code claims, check and mend files."""


claims.add_command(fix)
claims.add_command(init)


@claims.command()
@click.argument("mechanism", required=False, type=MECHANISM, metavar="[MECHANISM]")
@click.option(
    "--set",
    "given",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter of the mechanism; may be repeated. Those that are needed and not given are "
    "asked for.",
)
@click.option(
    "--adjacency", type=ADJACENCY, help="The neighbouring relation; asked for if it is not given."
)
@click.option("--delta", type=NUMBER, help="In (0, 1); asked for if it is not given.")
@click.option(
    "--count",
    type=INTEGER,
    help="How many times the event is released on the same data.  [default: 1]",
)
@click.option(
    "--epsilon",
    help="What you claim, with the digits that you print; by default the best upper bound that is "
    "known, rounded up.",
)
@click.option("--id", "identifier", help="The claim's name.  [default: the file's]")
@click.option("--source", help="Where the number is printed.  [default: this repository]")
@click.option(
    "-o",
    "--output",
    type=FILE,
    help="The file.  [default: MECHANISM.claims.toml]",
)
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@format_option
def new(
    *,
    mechanism: str | None,
    given: tuple[str, ...],
    adjacency: str | None,
    delta: float | None,
    count: int | None,
    epsilon: str | None,
    identifier: str | None,
    source: str | None,
    output: Path | None,
    force: bool,
) -> None:
    """Write a commented claims file about MECHANISM; what is not given is asked for.

    rdpkit audit proves the claim in it, unless you claim less than can be proven.
    """
    mechanism = mechanism or _asked("Mechanism", MECHANISM, "MECHANISM, the name of one")
    path = output or Path(f"{mechanism}.claims.toml")
    if path.exists() and not force:
        raise ValueError(f"{path} is there already; --force writes over it.")
    adjacency = adjacency or _asked("Adjacency", ADJACENCY, "--adjacency")
    values = _values(mechanism, given, adjacency)
    if delta is None:
        delta = _asked("delta", click.FLOAT, "--delta")
    event = repeated(event_from_parameters(mechanism, values), count)
    best = rdpkit.epsilon(event, delta=delta, adjacency=adjacency)
    if epsilon is None:
        if math.isinf(best.epsilon):
            raise ValueError(
                f"No finite epsilon is known for this {mechanism} under {adjacency}: change the "
                "parameters, or say what you claim with --epsilon."
            )
        epsilon = rounded_up(best.epsilon, digits=4)
    is_best = agrees(best.epsilon, Decimal(_number(epsilon)))
    content = _TEMPLATE.format(
        format=FORMAT,
        id=as_toml(identifier or path.name.removesuffix(".toml").removesuffix(".claims")),
        source=as_toml(source or "this repository"),
        mechanism=as_toml(event.mechanism),
        adjacency=as_toml(adjacency),
        epsilon=_number(epsilon),
        delta=repr(delta),
        bound=_BEST if is_best else _NO_BOUND,
        parameters="\n".join(_parameters(event, values)),
    )
    # Nothing is written that could not be read again.
    loads(content, origin=str(path))
    write_whole(path, content.encode())
    claimed = {"file": str(path), "claimed_epsilon": as_plain(float(epsilon)), "delta": delta}
    lines = [
        f"{path}: epsilon {epsilon} at delta {as_given(delta)}, {best.adjacency.dashed}",
        f"the best upper bound is {rounded_up(best.epsilon)}, by {best.bound}",
        *([] if is_best else [_OF_NO_BOUND]),
        f"next: rdpkit audit {path}",
    ]
    table = {**claimed, "upper": best.as_dict(), "is_best": is_best}
    print_answer(table, lines)


_OF_NO_BOUND = (
    "that is not the number that you claim, so the file names no bound; name the bound and the "
    "conversion if your number comes from a formula, and the audit checks it"
)


@claims.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@answer_options("text", "json")
def check(*, files: tuple[Path, ...]) -> None:
    """Check that FILES follow the format; nothing is computed and no code is run.

    Exit status: 0 they do, 2 they do not.
    """
    found = load_files(files)
    entries = [
        {"id": claim.id, "file": claim.origin, "line": claim.line, "mechanism": claim.mechanism}
        for claim in found
    ]
    line = f"{how_many(len(found), 'claim')} in {how_many(len(files), 'file')}: fine"
    print_answer({"format": FORMAT, "claims": entries}, [line])


@claims.command()
@click.option(
    "-o",
    "--output",
    type=FILE,
    help="The file.  [default: print it]",
)
@click.option(
    "--format",
    type=NameType.of("format", ["json"]),
    default="json",
    expose_value=False,
    show_default=True,
    help="A schema is JSON.",
)
@click.option("--of-certificates", is_flag=True, help="That of certificates instead.")
def schema(*, output: Path | None, of_certificates: bool) -> None:
    """The JSON Schema of claims files, for editors that complete and check TOML."""
    text = schema_text(certificate_schema() if of_certificates else claims_schema())
    if output is None:
        click.echo(text, nl=False)
    else:
        write_whole(output, text.encode())


def _values(mechanism: str, given: tuple[str, ...], adjacency: str) -> dict[str, Any]:
    """The parameters that were given, and answers for those that are needed besides."""
    parameters = {parameter.name: parameter for parameter in parameters_of(MECHANISMS[mechanism])}
    by_option = {option.name: option.type for option in event_options(MECHANISMS[mechanism])}
    types = {name: by_option.get(option_name(name), ADJACENCY) for name in parameters}
    values: dict[str, Any] = {}
    for item in given:
        name, separator, text = item.partition("=")
        if not separator or name not in parameters:
            raise ValueError(
                f"Expected --set to be NAME=VALUE with NAME one of {', '.join(parameters)}, "
                f"got {item!r:.80}.{did_you_mean(name, parameters)}"
            )
        try:
            values[name] = types[name].convert(text, None, None)
        except click.BadParameter:
            accepted = parameters[name].describe()
            raise ValueError(f"Expected {name} to be {accepted}, got {text!r:.80}.") from None
    for name, parameter in parameters.items():
        if parameter.required and name == "adjacency":
            # An event that holds for one adjacency only gets that of the claim.
            values.setdefault(name, adjacency)
        elif parameter.required and name not in values:
            question = f"{name} ({parameter.describe()})"
            values[name] = _asked(question, types[name], f"--set {name}=VALUE")
    return {name: values[name] for name in parameters if name in values}


def _asked(question: str, kind: click.ParamType[Any], option: str) -> Any:
    """What is typed on the terminal; where nobody can answer, an error that names the option."""
    try:
        return click.prompt(question, type=kind)
    except click.Abort:
        click.echo()
        raise ValueError(f"{question} was asked for, and nobody answered: say {option}.") from None


def _parameters(event: Event, values: dict[str, Any]) -> list[str]:
    """The lines of the parameters; those that are not given are comments."""
    inner = event.event if isinstance(event, Repeated) else event
    optional = [
        f"# {p.name} = ...  # {p.describe()}"
        for p in parameters_of(type(inner))
        if p.name not in values
    ]
    given = [f"{name} = {as_toml(value)}" for name, value in values.items()]
    if isinstance(event, Repeated):
        kind = f"mechanism = {as_toml(inner.mechanism)}"
        given = [f"count = {event.count}", "", "[claim.parameters.event]", kind, *given]
    return [*given, *optional]


_BEST = """\
# The best upper bound; name a formula instead if the number comes from one.
bound = "best"
"""
_NO_BOUND = """\
# The formula that the number comes from, if it comes from one; the audit then checks it.
# bound = ...
"""

_TEMPLATE = """\
# Privacy claims of this repository: one [[claim]] a published budget.
# `rdpkit audit` recomputes them; in pytest every claim is a test.
format = {format}

[[claim]]
id = {id}
# Where the number is printed.
source = {source}
mechanism = {mechanism}
# Whether neighbours differ by one record more, or by one replaced: there is no default.
adjacency = {adjacency}
# The number with the digits that you print: 1.10 and 1.1 differ in precision.
epsilon = {epsilon}
delta = {delta}
{bound}
[claim.parameters]
{parameters}

# The code that makes the release can be tested as well, with `--allow-code`:
# [claim.code]
# callable = "package.module:function"  # called as function(dataset, rng)
# record_norm = 1.0                     # only if no record is ever longer
# time_budget = 60                      # seconds
"""


def _number(text: str) -> str:
    number = claimed_number("epsilon", text)
    return "inf" if number.is_infinite() else str(number).lower().replace("e+", "e")
