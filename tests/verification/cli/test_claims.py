"""``rdpkit claims``: new, check and schema."""

import json
from functools import partial

import pytest

from rdpkit.verification.auditing.findings import Reproduction, Soundness
from rdpkit.verification.auditing.verdict import audit_one
from rdpkit.verification.claims.reading import load_files
from rdpkit.verification.claims.schema import claims_schema
from tests.cli import commands
from tests.cli.commands import EVENTS, under

ABOUT = ["--adjacency", "add_or_remove_one", "--delta", "1e-5"]
GAUSSIAN = ["gaussian", "--set", "noise_std=5", "--set", "record_norm=1"]


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return partial(commands.run, "claims")


def test_a_new_claim_is_one_that_can_be_proven(run):
    done = run("new", *GAUSSIAN, *ABOUT)
    assert done.exit_code == 0, done.output
    assert "next: rdpkit audit gaussian.claims.toml" in done.stdout
    (claim,) = load_files(["gaussian.claims.toml"])
    assert (claim.id, str(claim.epsilon)) == ("gaussian", "0.7256")
    finding = audit_one(claim)
    assert finding.soundness is Soundness.SOUND
    assert finding.reproduction is Reproduction.EXACT


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ([], "Mechanism was asked for, and nobody answered: say MECHANISM, the name of one."),
        (GAUSSIAN, "Adjacency was asked for, and nobody answered: say --adjacency."),
        (GAUSSIAN + ABOUT[:2], "delta was asked for, and nobody answered: say --delta."),
        (GAUSSIAN[:3] + ABOUT, "nobody answered: say --set record_norm=VALUE."),
    ],
)
def test_where_nobody_answers_the_option_is_named(run, given, named):
    done = run("new", *given, answers="")
    assert done.exit_code == 2
    assert done.stderr.startswith("Error: ")
    assert done.stderr.endswith(f"{named}\n")


def test_what_is_not_given_is_asked_for(run):
    done = run("new", answers="gaussian\nadd_or_remove_one\n5\n1\n1e-5\n")
    assert done.exit_code == 0, done.output
    for question in ("Mechanism", "noise_std (a number)", "record_norm", "Adjacency", "delta"):
        assert question in done.stdout
    (claim,) = load_files(["gaussian.claims.toml"])
    assert claim.event.noise_std == 5.0


@pytest.mark.parametrize(
    ("epsilon", "reproduction", "soundness"),
    [("0.73", "exact", "sound"), ("0.5", "unnamed", "refuted"), ("1.0", "unnamed", "sound")],
)
def test_a_number_that_no_formula_gives_is_told(run, epsilon, reproduction, soundness):
    done = run("new", *GAUSSIAN, *ABOUT, "--epsilon", epsilon)
    assert done.exit_code == 0
    assert ("the file names no bound" in done.stdout) is (reproduction == "unnamed")
    (claim,) = load_files(["gaussian.claims.toml"])
    finding = audit_one(claim)
    assert (finding.reproduction.value, finding.soundness.value) == (reproduction, soundness)


@pytest.mark.parametrize("name", sorted(EVENTS))
def test_every_mechanism_that_options_describe(run, name):
    given = [
        part
        for key, value in EVENTS[name].items()
        for part in (
            "--set",
            f"{key}={','.join(map(str, value)) if isinstance(value, list) else value}",
        )
    ]
    about = [*under(name), *ABOUT[2:]]
    done = run("new", name, *given, *about, "--epsilon", "3.50", "-o", "x.toml")
    assert done.exit_code == 0, done.output
    (claim,) = load_files(["x.toml"])
    assert claim.id == "x"
    assert str(claim.epsilon) == "3.50"
    for key, value in EVENTS[name].items():
        found = getattr(claim.event, key)
        assert found == (tuple(value) if isinstance(value, list) else value)


@pytest.mark.parametrize("epsilon", ["1.10", "1", "inf", "1e2", "1E+2", "0.000000001"])
def test_the_number_keeps_its_digits(run, epsilon):
    assert run("new", *GAUSSIAN, *ABOUT, "--epsilon", epsilon).exit_code == 0
    (claim,) = load_files(["gaussian.claims.toml"])
    assert float(claim.epsilon) == float(epsilon)


@pytest.mark.parametrize("name", ['"', "\\", "a\nb", "\x7f", "é中\U0001f600", "[x]", "'''"])
def test_names_are_written_as_they_are(run, name):
    done = run("new", *GAUSSIAN, *ABOUT, "--id", name, "--source", name)
    assert done.exit_code == 0, done.output
    (claim,) = load_files(["gaussian.claims.toml"])
    assert (claim.id, claim.source) == (name, name)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no-such"], "'no-such' is not a mechanism."),
        ([*GAUSSIAN, "--set", "sigma=1"], "Expected --set to be NAME=VALUE with NAME one of"),
        ([*GAUSSIAN, "--set", "noise_std"], "Expected --set to be NAME=VALUE"),
        ([*GAUSSIAN, "--set", "noise_std=x"], "Expected noise_std to be a number, got 'x'"),
        ([*GAUSSIAN, "--set", "noise_std=-1"], "Expected noise_std to be a finite number > 0"),
        ([*GAUSSIAN, "--epsilon", "x"], "Expected epsilon to be a number >= 0, got 'x'"),
        ([*GAUSSIAN, "--epsilon", "nan"], "Expected epsilon to be a number >= 0, got 'nan'"),
        ([*GAUSSIAN, "--epsilon", "-1"], "Expected epsilon to be a number >= 0, got '-1'"),
        ([*GAUSSIAN, "--id", ""], ""),
    ],
)
def test_mistakes_are_one_line_and_leave_no_file(run, tmp_path, arguments, message):
    done = run("new", *arguments, *ABOUT)
    if message:
        assert done.exit_code == 2
        assert message in done.stderr
        assert not list(tmp_path.iterdir())
    else:
        assert done.exit_code == 0


def test_a_file_is_not_written_over(run, tmp_path):
    path = tmp_path / "gaussian.claims.toml"
    path.write_text("mine")
    done = run("new", *GAUSSIAN, *ABOUT)
    assert (done.exit_code, path.read_text()) == (2, "mine")
    assert run("new", *GAUSSIAN, *ABOUT, "--force").exit_code == 0
    assert "[[claim]]" in path.read_text()


def test_check(run, tmp_path):
    run("new", *GAUSSIAN, *ABOUT)
    done = run("check", "gaussian.claims.toml")
    assert (done.exit_code, done.stdout) == (0, "1 claim in 1 file: fine\n")
    found = json.loads(run("check", "gaussian.claims.toml", "--format", "json").stdout)
    assert found["claims"] == [
        {"id": "gaussian", "file": "gaussian.claims.toml", "line": 5, "mechanism": "gaussian"}
    ]
    (tmp_path / "bad.toml").write_text("x = 1")
    done = run("check", "bad.toml", "gaussian.claims.toml")
    assert done.exit_code == 2
    assert done.stderr.startswith("Error: bad.toml: unknown key 'x'")
    # All that is wrong is said at once, a line each.
    assert done.stderr.splitlines()[1:] == ["Error: bad.toml: expected at least one [[claim]]."]


def test_the_schema(run, tmp_path):
    assert json.loads(run("schema").stdout) == claims_schema()
    assert run("schema", "-o", "s.json").stdout == ""
    assert json.loads((tmp_path / "s.json").read_text()) == claims_schema()


def test_an_event_that_is_repeated(run):
    done = run("new", *GAUSSIAN, *ABOUT, "--count", "1e1", "--format", "json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["file"] == "gaussian.claims.toml"
    (claim,) = load_files(["gaussian.claims.toml"])
    assert (claim.mechanism, claim.event.count) == ("repeated", 10)
    assert float(claim.epsilon) == found["claimed_epsilon"] >= found["upper"]["epsilon"]
    assert audit_one(claim).soundness is Soundness.SOUND
