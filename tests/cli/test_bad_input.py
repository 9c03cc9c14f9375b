"""Errors of commands in one line, and help that shows the commands in groups."""

import click
import pytest
from click.testing import CliRunner

from rdpkit import cli
from rdpkit.cli.event_commands import WITH_OPTIONS
from rdpkit.cli.option_types import dashed
from rdpkit.extensions import install_line
from tests.cli.commands import ADD, GAUSSIAN, options, run
from tests.processes import ran


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["epsilon", *GAUSSIAN, "--delta", "-1", *ADD], "Expected delta in [0, 1), got -1.0."),
        (["delta", *GAUSSIAN, "--epsilon", "-1", *ADD], "Expected epsilon to be a finite"),
        (
            ["epsilon", *GAUSSIAN, "--delta", "1", *ADD, "--bound", "all"],
            "Expected delta in [0, 1), got 1.0.",
        ),
        (
            ["epsilon", *GAUSSIAN, "--delta", "0.1", *ADD, "--bound", "all", "--lower"],
            "Expected no --conversion and no --lower with --bound all.",
        ),
        (["epsilon", *GAUSSIAN[:-1], "nan", "--delta", "0.1", *ADD], "Expected record_norm to be"),
        (
            ["epsilon", *GAUSSIAN, "--delta", "0.1", *ADD, "--bound", "[red]"],
            "Expected bound to be one of 'best', ",
        ),
        (
            ["epsilon", *GAUSSIAN, "--delta", "0.1", *ADD, "--bound", "al"],
            "'pair-lower', 'all', got 'al'. Did you mean 'all'?",
        ),
        (["epsilon", "no.toml", "--delta", "0.1", *ADD], "No such file or directory: 'no.toml'"),
        (
            ["epsilon", *GAUSSIAN, "--delta", "0.1", *ADD, "-o", "a.tex", "--format", "csv"],
            "Expected --output to end in .csv with --format csv, got 'a.tex'.",
        ),
        (
            ["delta", *GAUSSIAN, "--epsilon", "1", *ADD, "-o", "a.json", "--format", "text"],
            "Expected --output to end in .txt with --format text, got 'a.json'.",
        ),
    ],
)
def test_bad_input_is_one_line_and_status_2(arguments, message):
    done = run(*arguments, status=2)
    assert done.stdout == ""
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
    assert message in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["epsilon", *GAUSSIAN, "--delta", "0.1"], "Missing option '--adjacency'"),
        (["epsilon", *GAUSSIAN, *ADD], "Missing option '--delta'"),
        (["delta", *GAUSSIAN, *ADD], "Missing option '--epsilon'"),
        (["epsilon", *GAUSSIAN, "--adjacency", "bounded", "--delta", "0.1"], "'bounded' is not"),
        (
            ["epsilon", *GAUSSIAN, "--adjacency", "replce", "--delta", "0.1"],
            "Did you mean 'replace'?",
        ),
        (["epsilon", *GAUSSIAN, "--noise-sd", "1"], "Did you mean '--noise-std'?"),
        (["epsilon", "poisson-sampled-gausian"], "Did you mean 'poisson-sampled-gaussian'?"),
        (["calibrat"], "Did you mean 'calibrate'?"),
        (["--debgu"], "Did you mean '--debug'?"),
        (["epsilon", *GAUSSIAN, "--sigma", "1"], "No such option"),
        (["epsilon", "dpmix", "--releases", "1.5"], "'1.5' is not a valid integer"),
        (["epsilon", "dpcda", "--class-sizes", "1,x"], "'1,x' is not a list of integers"),
        (["epsilon", "custom_rdp", "--orders", "2,"], "'2,' is not a list of numbers"),
        (["epsilon", *GAUSSIAN, "--delta", "0.1", *ADD, "--format", "xml"], "'xml' is not one of"),
        (["nothing"], "No such command 'nothing'"),
        (["compare", *GAUSSIAN], "rdpkit compare is now 'rdpkit epsilon EVENT --bound all'."),
        (["fix", "a.toml"], "rdpkit fix is now 'rdpkit claims fix'."),
        (["claims", "compare"], "rdpkit compare is now 'rdpkit epsilon EVENT --bound all'."),
        (["claims", "inti"], "Did you mean 'init'?\nNames that are known:\n"),
    ],
)
def test_bad_usage_is_status_2(arguments, message):
    done = run(*arguments, status=2)
    assert done.stdout == ""
    assert done.stderr.startswith("Error: ")
    assert message in done.stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "expected a key 'mechanism', one of above_threshold, "),
        ("mechanism = 1", "expected a key 'mechanism'"),
        ("mechanism = 'cauchy'", "Expected mechanism to be one of"),
        ("mechanism = 'gaussian'", "needs the parameters 'noise_std' (a number), 'record_norm'"),
        ("mechanism = 'gaussian'\nsigma = 1", "Unknown parameter 'sigma'"),
        ("mechanism = 'gaussian'\nnoise_std = 1979-05-27\nrecord_norm = 1", "got datetime.date"),
        ("mechanism = 'repeated'\ncount = 1\nevent = []", "Expected event to be a table"),
        ("mechanism", "not a TOML file"),
        ("a = 1\na = 2", "not a TOML file"),
        (b"\xff", "not a TOML file"),
    ],
)
def test_bad_files_are_one_line_that_names_the_file(tmp_path, content, message):
    path = tmp_path / "event.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    done = run("epsilon", path, "--delta", "1e-5", *ADD, status=2)
    assert done.stderr.count("\n") == 1
    assert str(path) in done.stderr
    assert message in done.stderr


def test_a_directory_is_no_file(tmp_path):
    path = tmp_path / "event.toml"
    path.mkdir()
    done = run("epsilon", path, "--delta", "1e-5", *ADD, status=2)
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["delta", *GAUSSIAN, "--epsilon", "1000"],
        ["epsilon", *options("ldpdc"), "--class-sizes", "1" + "0" * 400, "--delta", "1e-5"],
        ["epsilon", *options("ldpdc"), "--samples-per-class", "1" + "0" * 400, "--delta", "1e-5"],
        ["epsilon", *options("dpmix"), "--feature-noise", "1e-200", "--delta", "1e-5"],
        ["epsilon", *GAUSSIAN, "--noise-std", "1e-308", "--delta", "1e-5"],
    ],
)
def test_extreme_parameters_are_answered_or_refused_in_one_line(arguments):
    done = run(*arguments, *ADD)
    # A number that cannot be proven is a failure of the program, not a mistake in the input.
    assert done.exit_code in (0, 2, 70)
    assert done.stderr.count("\n") == (1 if done.exit_code else 0)
    assert ("This is not a mistake in your input" in done.stderr) == (done.exit_code == 70)


def test_a_number_of_too_many_digits_names_the_file(tmp_path):
    path = tmp_path / "event.toml"
    path.write_text("mechanism = 'gaussian'\nrecord_norm = 1\nnoise_std = 1" + "0" * 5000)
    done = run("epsilon", path, "--delta", "1e-5", *ADD, status=2)
    assert str(path) in done.stderr


def failing(monkeypatch, error):
    """What the program prints when a computation raises."""

    def fail(*_, **__):
        raise error

    monkeypatch.setattr("rdpkit.cli.event_commands.event_from_parameters", fail)
    return lambda *options: run(*options, "epsilon", *GAUSSIAN, "--delta", "1e-5", *ADD)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ArithmeticError("A bound came out NaN."), "could not prove a number: A bound came out"),
        (TypeError("no such thing"), "rdpkit failed with TypeError: no such thing"),
    ],
)
def test_a_failure_of_the_program_is_not_reported_as_a_mistake_of_the_user(
    monkeypatch, error, message
):
    done = failing(monkeypatch, error)()
    assert done.exit_code == 70
    assert done.stdout == ""
    assert done.stderr.startswith("Error: rdpkit ")
    assert message in done.stderr
    assert "This is not a mistake in your input: please report it" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("environment", [{}, {"RDPKIT_DEBUG": "1"}])
def test_debug_shows_the_traceback(monkeypatch, environment):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    done = failing(monkeypatch, ValueError("wrong"))(*([] if environment else ["--debug"]))
    assert done.exit_code == 2
    assert "Traceback (most recent call last)" in done.stderr
    assert done.stderr.endswith("Error: wrong\n")


def test_a_missing_library_is_named_with_its_extra(monkeypatch):
    missing = ModuleNotFoundError("No module named 'sklearn.svm'", name="sklearn.svm")
    done = failing(monkeypatch, missing)()
    assert done.exit_code == 2
    assert done.stderr.startswith("Error: rdpkit epsilon needs scikit-learn: pip install ")
    assert done.stderr.count("\n") == 1


@pytest.mark.thorough
def test_a_command_that_cannot_be_imported_says_what_it_needs(monkeypatch):
    def load(entry):
        raise ModuleNotFoundError("No module named 'jinja2'", name="jinja2")

    monkeypatch.setattr("importlib.metadata.EntryPoint.load", load)
    for arguments in (["audit"], ["audit", "--help"], ["audit", "x", "--option"]):
        done = run(*arguments, status=2)
        needed = install_line("verification")
        assert done.stderr == f"Error: rdpkit audit needs jinja2: {needed}\n"
    # Help imports no command, and so it lists those that cannot be imported as well.
    assert "audit " in run("--help").output


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["epsilon", *GAUSSIAN, "--sigma", "1"], "'--noise-std'"),
        (["epsilon", "poisson_sampled_gaussian", "--sample_rate", "0.1"], "'--sampling-prob"),
        (["tradeoff", *GAUSSIAN, "--steps", "1"], "'--count'"),
        (["calibrate", *GAUSSIAN, "--eps", "1"], "'--target-epsilon'"),
        (["epsilon", "dpsgd", "--sigma", "1"], "'--noise-multiplier'"),
    ],
)
def test_what_others_call_an_option_is_answered_with_our_name(arguments, hint):
    done = run(*arguments, status=2)
    assert "No such option" in done.stderr
    assert hint in done.stderr


@pytest.mark.parametrize("command", [["epsilon"], ["claims", "new"]])
def test_all_names_that_are_known_stand_on_lines_of_their_own(command):
    done = run(*command, "gausian", status=2)
    first, *rest, last = done.stderr.splitlines()
    assert first.endswith("Did you mean 'gaussian'?")
    assert max(map(len, [first, *rest])) <= 100
    assert set("".join(rest[1:]).replace(",", " ").split()) == set(map(dashed, WITH_OPTIONS))
    assert last == f"Try 'rdpkit {' '.join(command)} --help' for help."


def test_every_command_of_ours_is_in_one_group_and_no_other_is():
    ctx = click.Context(cli.main)
    listed = [name for group in cli._HELP.values() for name in group]
    assert sorted(listed) == cli.main.list_commands(ctx)
    assert len(cli._HELP) == 5
    for group in cli._HELP.values():
        assert all(text.endswith(".") and text[0].isupper() for text in group.values())


def test_commands_of_others_are_listed_behind_ours(monkeypatch):
    @click.command(help="What somebody else adds.")
    def more():
        pass

    listed = cli.main.list_commands(click.Context(cli.main))
    monkeypatch.setattr(cli.Commands, "list_commands", lambda self, ctx: [*listed, "more"])
    monkeypatch.setattr(cli.Commands, "get_command", lambda self, ctx, name: more)
    told = CliRunner().invoke(cli.main, ["--help"]).output
    assert told.index("More commands") > told.index("ledger")
    assert "What somebody else adds." in told


def test_help_imports_no_command():
    code = (
        "import sys\nfrom rdpkit.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print([n for n in sys.modules if n.startswith('rdpkit.') and n.count('.') > 1])"
    )
    assert ran("-c", code).stdout.splitlines()[-1] == "[]"
