"""A test of code is the same whoever asks for it, and the line that repeats it repeats it."""

import json
import shlex

import numpy as np
import pytest

import rdpkit
from rdpkit.formats.tables import event_to_table
from rdpkit.verification.auditing.tested_code import requested
from rdpkit.verification.claims.reading import loads
from rdpkit.verification.evidence.requests import (
    ClaimOptions,
    VerificationRequest,
    event_option,
    request_of,
)
from tests.cli import commands
from tests.verification.claim_files import text

MODULE = """
import rdpkit

def good(dataset, rng):
    return dataset.features.sum(axis=0) + rng.normal(0.0, 5.0, dataset.dimension)

def weak(dataset, rng):
    return dataset.features.sum(axis=0) + rng.normal(0.0, 1.0, dataset.dimension)

class Described:
    event = rdpkit.Gaussian(noise_std=5.0, record_norm=1.0)
    adjacency = "add_or_remove_one"

    def __call__(self, dataset, rng):
        return weak(dataset, rng)

    def neighbours(self):
        return ([[1.0, 0.0], [0.0, 0.0]], [0, 0]), ([[0.0, 0.0]], [0])

own = Described()
"""
EVENT = rdpkit.Gaussian(noise_std=5.0, record_norm=1.0)
TYPED = json.dumps(event_to_table(EVENT))
CODE = "[claim.code]\ncallable = '{}'\n{}\n"


@pytest.fixture
def module(own_module, one_process):
    return own_module(MODULE)


@pytest.fixture
def results(monkeypatch):
    """The results of all tests of code that are run, in their order."""
    found, run = [], VerificationRequest.run

    def kept(request, **options):
        result = run(request, **options)
        found.append(result.as_dict())
        return result

    monkeypatch.setattr(VerificationRequest, "run", kept)
    return found


def invoke(*arguments):
    done = commands.run(*arguments)
    assert done.exit_code in (0, 1), done.output
    return done


def audited(path):
    """The line that repeats the test of the only claim in a file."""
    done = invoke("audit", path, "--allow-code", "--jobs", "1", "--format", "json")
    (entry,) = json.loads(done.stdout)["claims"]
    (line,) = [note for note in entry["notes"] if note.startswith("to repeat it: ")]
    return line.removeprefix("to repeat it: ")


def repeated(line, results):
    """Run a line, and check that the last two results are the same."""
    words = shlex.split(line)
    assert words[:2] == ["rdpkit", "verify"]
    invoke(*words[1:], "--jobs", "1")
    first, second = results
    assert first == second


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("weak", "dimension = 1\nsamples = 2000"),
        ("good", "dimension = 2\nsamples = 2000\nscores = ['linear']\nseed = 3"),
        ("good", "dimension = 2\nsamples = 2000\ntraining = 150"),
        (
            "weak",
            "dimension = 2\nrecords = 3\nsamples = 2000\nfalse_alarm_rate = 0.0125\n"
            "scores = ['linear']",
        ),
        ("own", "neighbours = 'own'\nsamples = 2000"),
        (
            "good",
            "dimension = 2\nneighbours = 'random'\nrecord_norm = 1.0\nsamples = 3000\n"
            "scores = ['linear']",
        ),
        (
            "good",
            "dimension = 2\nneighbours = 'random'\nrecord_norm = 0.7\nsamples = 3000\npairs = 3\n"
            "classes = 2\nrecords = 4\nscores = ['linear']",
        ),
        ("good", "samples = 2000\nscores = ['linear']\npairs = 3"),
        # How many runs a second pays for depends on the machine; the line says how many there were.
        ("good", "dimension = 1\ntime_budget = 1"),
    ],
)
def test_the_line_of_an_audit_repeats_the_test(module, tmp_path, results, name, code):
    path = tmp_path / "a.claims.toml"
    path.write_text(text(epsilon="0.80", after=CODE.format(f"{module}:{name}", code)))
    repeated(audited(path), results)


@pytest.mark.thorough
def test_a_test_that_new_processes_decided(own_module, results):
    name = own_module(
        "import numpy as np\n\nrng = np.random.default_rng(3)\n\n"
        "def release(dataset, _):\n    return dataset.features.sum() + rng.normal(0.0, 9.0)\n"
    )
    claim = ("--epsilon", "0.5", "--delta", "0", "--adjacency", "add_or_remove_one")
    options = ("--dimension", "1", "--samples", "2000", "--seed", "4", "--jobs", "1")
    done = invoke("verify", f"{name}:release", *claim, *options)
    line = next(line for line in done.stdout.splitlines() if line.startswith("replay"))
    repeated(line.removeprefix("replay").strip(), results)
    assert results[0]["runs"] > 0
    assert results[0]["mistakes"][0]["kind"] == "seed_at_import"


@pytest.mark.thorough
def test_the_line_of_an_audit_about_a_number_alone(module, tmp_path, results):
    code = "dimension = 1\nneighbours = 'random'\nrecord_norm = 3.0\nsamples = 9000"
    after = CODE.format(f"{module}:weak", code)
    content = text(
        mechanism="'unmodelled'", parameters=None, epsilon="0.1", delta="0.01", after=after
    )
    (tmp_path / "a.claims.toml").write_text(content)
    line = audited("a.claims.toml")
    assert "--epsilon 0.1 --delta 0.01 --adjacency add_or_remove_one" in line
    repeated(line, results)


@pytest.mark.thorough
@pytest.mark.parametrize("columns", ["80", "150"])
def test_the_line_is_whole_on_a_narrow_screen(module, tmp_path, results, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    after = CODE.format(f"{module}:weak", "dimension = 1\nsamples = 2000")
    (tmp_path / "a.claims.toml").write_text(text(epsilon="0.80", after=after))
    done = invoke("audit", "a.claims.toml", "--allow-code", "--jobs", "1")
    (line,) = [line for line in done.stdout.splitlines() if "to repeat it: " in line]
    repeated(line.partition("to repeat it: ")[2], results)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "options",
    [
        ["--score", "logistic", "--score", "linear"],
        ["--delta", "0.01"],
        ["--view", "rdp", "--score", "linear"],
        ["--epsilon", "0.3", "--delta", "0.001", "--adjacency", "add-or-remove-one"],
        ["--event", "event.toml", "--adjacency", "replace", "--dimension", "2"],
        ["--event", TYPED, "--adjacency", "add-remove", "--dimension", "2"],
        ["--neighbours", "worst", "--dimension", "1", "--time-budget", "1"],
        ["--neighbours", "a pair.npz", "--alpha", "0.3333333333333333"],
        ["--neighbours", "random", "--dimension", "2", "--record-norm", "1", "--pairs", "4"],
    ],
)
def test_the_line_of_verify_repeats_the_test(module, tmp_path, results, options):
    (tmp_path / "event.toml").write_text(
        'mechanism = "gaussian"\nnoise_std = 5.0\nrecord_norm = 1.0\n'
    )
    np.savez(tmp_path / "a pair.npz", features=np.ones((1, 2)), features_prime=np.zeros((0, 2)))
    given = options if "--time-budget" in options else [*options, "--samples", "3000"]
    given = given if "--score" in options else [*given, "--score", "linear"]
    done = invoke("verify", f"{module}:own", *given, "--jobs", "1", "--format", "json")
    repeated(json.loads(done.stdout)["replay"], results)


def test_the_line_says_the_whole_event():
    """The claims file may change after the audit: the line holds every digit of the event."""
    event = rdpkit.Gaussian(noise_std=1.0 / 3.0, record_norm=0.1 + 0.2)
    words = ClaimOptions(event=event, adjacency=rdpkit.Adjacency.REPLACE_ONE).words()
    assert words[0] == "--event"
    assert event_option(words[1]) == event
    assert words[2:] == ["--adjacency", "replace_one"]


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("{", "Expected --event to be a TOML file or an event in JSON: Expecting property name"),
        ("{}", "--event: expected a key 'mechanism'"),
        ('{"mechanism": "gausian"}', "--event: "),
        ('{"mechanism": "gaussian", "noise_std": -1, "record_norm": 1}', "--event: "),
        ('{"mechanism": "gaussian", "noise_std": NaN, "record_norm": 1}', "--event: "),
    ],
)
def test_mistakes_in_an_event_that_is_typed(word, message):
    done = commands.run("verify", "json:dumps", "--event", word)
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_audit_asks_for_what_its_claim_says():
    code = CODE.format("a:b", "dimension = 3\nsamples = 2000\nseed = 4")
    (claim,) = loads(text(epsilon="0.80", after=code))
    request = requested(claim)
    assert request.target == "a:b"
    assert request.claim == ClaimOptions(event=claim.event, adjacency=claim.adjacency)
    assert request.options == claim.code.options


def test_a_time_alone_asks_for_no_number_of_runs():
    given = {"name": "it", "event": EVENT, "adjacency": "add_or_remove_one"}
    assert request_of(np.sum, **given, time_budget=5.0).asked == 0
    assert request_of(np.sum, **given, time_budget=5.0, samples=300).asked == 300
    assert request_of(np.sum, **given).asked == 20_000
