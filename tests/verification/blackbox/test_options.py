"""Options of black-box tests: the same for the command line, claims files and Python."""

import dataclasses

import pytest

from rdpkit.verification.blackbox.options import (
    OPTIONS,
    TIME_BUDGET,
    VerificationOptions,
    read_options,
)
from rdpkit.verification.claims.format import CODE_KEYS
from rdpkit.verification.cli.verify import verify
from tests.cli import commands

NAMES = [field.name for field in dataclasses.fields(VerificationOptions)]


def test_the_command_and_claims_files_have_every_option():
    assert [option.name for option in OPTIONS] == NAMES
    parameters = {parameter.name: parameter for parameter in verify.params}
    for option in OPTIONS:
        assert parameters[option.name].opts == [option.flag]
        assert parameters[option.name].help.startswith(option.meaning)
        assert CODE_KEYS[option.name].meaning.startswith(option.meaning)
    assert set(CODE_KEYS) == {"callable", *NAMES}


def test_what_is_not_given_has_its_default():
    assert read_options(dict.fromkeys(NAMES)) == VerificationOptions(time_budget=TIME_BUDGET)
    # A number of runs is a limit of its own: a replay must not depend on time.
    assert read_options({"samples": 500}) == VerificationOptions(samples=500)
    assert read_options({"samples": 500, "time_budget": 2}).time_budget == 2.0
    assert read_options({"replay": True}) == VerificationOptions(replay=True)


def test_a_seed_is_kept_or_drawn():
    assert VerificationOptions(seed=3).seeded().seed == 3
    drawn = [VerificationOptions().seeded().seed for _ in range(2)]
    assert drawn[0] != drawn[1]
    # A seed that was drawn can be given again.
    assert VerificationOptions(seed=drawn[0]).seed == drawn[0]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("neighbours", "wrost", r"got 'wrost'\. Did you mean 'worst'\?"),
        ("neighbours", 3, "FILE.npz, got 3"),
        ("dimension", 0, r"to be an integer in \[1, 10\^9\], got 0"),
        ("record_norm", -1.0, "> 0 and finite, got -1.0"),
        ("false_alarm_rate", 1.0, r"in \(0, 1\), got 1.0"),
        ("samples", 41, r"to be an integer in \[42, 10\^9\], got 41"),
        ("training", 19, r"to be an integer in \[20, 10\^9\], got 19"),
        ("time_budget", 0.0, r"in \(0, 86400\], got 0.0"),
        ("scores", "linear", "to be a list of names, got 'linear'"),
        ("scores", ["forest"], "to be one of 'linear', 'logistic', 'boosting', got 'forest'"),
        ("seed", -1, "got -1"),
    ],
)
def test_an_error_names_the_option_as_the_reader_knows_it(name, value, message):
    flag = next(option.flag for option in OPTIONS if option.name == name)
    with pytest.raises(ValueError, match=f"^Expected {name} .*{message}"):
        VerificationOptions(**{name: value})
    with pytest.raises(ValueError, match=f"^Expected {flag} .*{message}"):
        read_options({name: value}, by_flag=True)


def test_the_command_says_which_option_is_wrong():
    done = commands.run("verify", "half-sensitivity", "--pairs", "0")
    assert done.exit_code == 2
    assert "Expected --pairs to be an integer in [1, 10^9], got 0." in done.stderr
