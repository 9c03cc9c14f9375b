"""Types of options, and what shells complete."""

import math
import os
import shutil
import subprocess

import click
import pytest
from click.shell_completion import ShellComplete
from hypothesis import given
from hypothesis import strategies as st

from rdpkit.adjacency import SPELLINGS
from rdpkit.cli import main
from rdpkit.cli.option_types import ADJACENCY, INTEGER, NUMBER, NameType, integer, number
from tests.cli.commands import claim
from tests.processes import ran


@given(st.integers(-(10**15), 10**15), st.integers(1, 10**15))
def test_a_fraction_is_the_nearest_float(above, below):
    assert number(f"{above}/{below}") == above / below
    assert number(f" {above} / {below} ") == above / below


@given(st.floats(allow_nan=False))
def test_floats_are_read_as_they_are(value):
    assert number(repr(value)) == value
    assert number(value) == value


@pytest.mark.parametrize(
    "word",
    [
        *("1/0", "1/0e0", "1/2/3", "/", "1/", "a/b", "inf/1", "nan/1"),
        *("1e999999999/1", "1/1e-999999999", "1e-400/1", "1/" + "9" * 200),
    ],
)
def test_other_fractions_are_refused_at_once(word):
    with pytest.raises(click.BadParameter, match="is not a valid float"):
        NUMBER.convert(word, None, None)


@given(st.integers(-(10**15), 10**15))
def test_integers_are_read_as_they_are(value):
    assert integer(str(value)) == value
    assert integer(f"{value:_}") == value


@given(st.integers(1, 99), st.integers(0, 13))
def test_an_integer_may_have_an_exponent(mantissa, exponent):
    assert integer(f"{mantissa}e{exponent}") == mantissa * 10**exponent
    assert integer(f"{mantissa}.0") == mantissa


@pytest.mark.parametrize(
    "word", ["1.5", "1e-3", "1e999999999", "nan", "inf", "", "x", "9" * 5000, "1e40"]
)
def test_other_words_are_no_integers(word):
    with pytest.raises(click.BadParameter, match="is not a valid integer, like 10000"):
        INTEGER.convert(word, None, None)


def test_numbers_that_are_no_words_stay():
    assert number(0.5) == 0.5
    assert math.isnan(number("nan"))
    assert integer(7) == 7


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_the_command_line_understands_what_the_library_does(spelling):
    assert ADJACENCY.convert(spelling, None, None) == SPELLINGS[spelling].value
    assert ADJACENCY.convert(f" {spelling.title()} ", None, None) == SPELLINGS[spelling].value


def test_bounded_is_explained():
    with pytest.raises(click.BadParameter, match="name the relation itself"):
        ADJACENCY.convert("bounded", None, None)


def test_names_are_completed_from_their_beginning():
    kind = NameType.of("colour", ["dark-red", "dark_blue", "green"])
    ctx, option = click.Context(click.Command("x")), click.Option(["--colour"])
    found = [item.value for item in kind.shell_complete(ctx, option, "dark_")]
    assert found == ["dark-red", "dark-blue"]
    assert {item.value for item in ADJACENCY.shell_complete(ctx, option, "r")} == {"replace-one"}


# By which a shell asks for completions; click names it after the program.
VARIABLE = "_RDPKIT_COMPLETE"


def completed(*words):
    """What may stand in the place of the last word."""
    shell = ShellComplete(main, {}, "rdpkit", VARIABLE)
    return [item.value for item in shell.get_completions(list(words[:-1]), words[-1])]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["ep"], ["epsilon"]),
        (["--deb"], ["--debug"]),
        (["epsilon", "poisson-sampled-g"], ["poisson-sampled-gaussian", "poisson-sampled-g"]),
        (["epsilon", "poisson_sampled_g"], ["poisson-sampled-gaussian", "poisson_sampled_g"]),
        (["epsilon", "gaussian", "--noi"], ["--noise-std"]),
        (["epsilon", "dpmix", "--f"], ["--feature-dimension", "--feature-noise", "--format"]),
        (["epsilon", "event.toml", "--co"], ["--count", "--conversion"]),
        (["epsilon", "gaussian", "--adjacency", "rep"], ["replace-one"]),
        (["epsilon", "gaussian", "--conversion", "b"], ["balle2020"]),
        (["epsilon", "gaussian", "--bound", "ga"], ["gaussian"]),
        (["epsilon", "gaussian", "--bound", "be"], ["best", "best-rdp"]),
        (["epsilon", "dpmix", "--bound", "wang2019-thm2"], ["wang2019-thm27"]),
        (["calibrate", "gaussian", "--parameter", "n"], ["noise_std"]),
        (["audit", "--papers", "--explain", "ldpdc-m"], ["ldpdc-mnist"]),
        (["audit", "--bounds", "r"], ["rdp"]),
        (["evaluate", "comparison-d"], ["comparison-digits"]),
        (["synthesize", "comparison-d"], ["comparison-digits"]),
        (["verify", "dp-s"], ["dp-sinkhorn"]),
        (["claims", "s"], ["schema"]),
        (["claims", "new", "ldp"], ["ldpdc"]),
    ],
)
def test_a_word_that_has_begun_is_completed(words, expected):
    assert completed(*words) == expected


@pytest.mark.parametrize("words", [["nothing", ""], ["epsilon", "nothing", ""]])
def test_a_mistake_before_it_is_no_error(words):
    assert isinstance(completed(*words), list)


def test_the_claims_of_the_files_that_were_named_are_offered(tmp_path):
    path = tmp_path / "one.toml"
    path.write_text(claim("1"))
    assert completed("audit", str(path), "--explain", "m") == ["mine"]
    path.write_text("no claims")
    assert completed("audit", str(path), "--explain", "m") == []


def test_files_of_experiments_are_offered(tmp_path):
    (tmp_path / "mine.toml").touch()
    (tmp_path / "mine.csv").touch()
    (tmp_path / "more").mkdir()
    begun = f"{tmp_path}/m"
    assert completed("evaluate", begun) == [f"{tmp_path}/mine.toml", f"{tmp_path}/more/"]
    assert completed("evaluate", f"{tmp_path}/none/x") == []


def answered(**environment):
    """What the program answers to a shell that asks by its environment."""
    program = "from rdpkit.cli import main; main(prog_name='rdpkit')"
    return ran("-c", program, env={**os.environ, **environment})


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_every_shell_names_the_program(shell, tmp_path):
    done = answered(**{VARIABLE: f"{shell}_source"})
    assert VARIABLE in done.stdout
    path = tmp_path / "script"
    path.write_text(done.stdout)
    installed = shutil.which(shell)
    if installed:
        subprocess.run([installed, "-n", path], check=True)


def test_a_shell_is_answered_by_the_program_itself():
    asked = {VARIABLE: "bash_complete", "COMP_WORDS": "rdpkit epsi", "COMP_CWORD": "1"}
    done = answered(**asked)
    assert done.stdout == "plain,epsilon\n"
    assert done.stderr == ""
