"""Commands to run inside of this process, about one event of every mechanism."""

import json

from click.testing import CliRunner

from rdpkit.cli import main
from rdpkit.cli.option_types import dashed, option_name
from rdpkit.events import MECHANISMS, parameters_of
from tests.events.examples import example, plain

ADD = ["--adjacency", "add_or_remove_one"]
GAUSSIAN = ["gaussian", "--noise-std", "5", "--record-norm", "1"]
# The relation is an option of every command, and flags are given where they are set.
EVENTS = {
    name: {k: v for k, v in plain(example(kind)).items() if k != "adjacency" and v is not False}
    for name, kind in MECHANISMS.items()
    if not {"event", "events"} & {parameter.kind for parameter in parameters_of(kind)}
}
# Numbers that meet the targets and budgets of the tests.
EVENTS["poisson_sampled_gaussian"]["noise_std"] = 2.0
EVENTS["epsilon_delta"]["delta"] = 0.0
EVENTS["thresholded_counts"] |= {"noise": "laplace", "threshold": 80.0}


def claim(epsilon, more=""):
    """A file with a claim, whose id is "mine", about the event of :data:`GAUSSIAN`."""
    return f"""
[[claim]]
id = "mine"
source = "a paper"
mechanism = "gaussian"
adjacency = "add_or_remove_one"
epsilon = {epsilon}
delta = 1e-5
{more}
[claim.parameters]
noise_std = 5.0
record_norm = 1.0
"""


def words(line):
    """What a shell passes on, of a line without quotes."""
    return line.split()


def under(name):
    """Add-or-remove-one as an option, or another relation if the mechanism does not know it."""
    known = [adjacency.value for adjacency in MECHANISMS[name].adjacencies]
    return ADD if ADD[1] in known else ["--adjacency", known[-1]]


def run(*arguments, answers=None, status=None):
    """What a command of the program prints; the status that it has to end with, if one is given."""
    given = [str(argument) for argument in arguments]
    done = CliRunner().invoke(main, given, input=answers, prog_name="rdpkit")
    assert done.exception is None or isinstance(done.exception, SystemExit)
    assert status in (None, done.exit_code), done.output
    return done


def printed_by(script, *arguments, status=0):
    """What the command of a script prints, which is no command of the program."""
    done = CliRunner().invoke(script, [str(argument) for argument in arguments])
    assert done.exit_code == status, done.output
    return done.output


def answer(*arguments):
    """The JSON that a command prints, read as strictly as any parser may."""

    def refuse(constant):
        raise AssertionError(f"not JSON: {constant}")

    done = run(*arguments, "--format", "json", status=0)
    assert done.stderr == ""
    return json.loads(done.stdout, parse_constant=refuse)


def options(name, without=()):
    """A mechanism and its parameters as options, some left out."""
    found = [name]
    for key, value in EVENTS[name].items():
        if key not in without:
            shown = ",".join(map(str, value)) if isinstance(value, list) else value
            found += ["--" + dashed(option_name(key)), shown]
    return found
