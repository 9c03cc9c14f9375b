"""Mechanisms as tests of pytest: one error rate, seeds, evidence, JUnit, SARIF and xdist."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest
from pydantic_sarif.model import StaticAnalysisResultsFormatSarifVersion210JsonSchema as Sarif
from scipy.stats import binom

import rdpkit
import rdpkit.verification.pytest_plugin.records
import rdpkit.verification.pytest_plugin.suite
from rdpkit.verification import verifies
from rdpkit.verification.blackbox.scores.library import has_classifiers
from rdpkit.verification.pytest_plugin.records import SuiteRecord, noticed
from rdpkit.verification.pytest_plugin.suite import InconclusiveWarning, Repeat
from tests.verification.test_pytest_plugin import PLUGIN

# All that the plugin imports is imported above, because pytester forgets what is imported inside of
# it, and numpy may not be imported twice.
has_classifiers()
pytest_plugins = ["pytester"]

BEGIN = """
import numpy as np
import pytest
import rdpkit
from rdpkit.verification import verifies

CLAIM = rdpkit.Gaussian(noise_std=2.0, record_norm=1.0)
QUICK = dict(neighbours="worst", dimension=1, samples=3000, scores=["linear"])
claimed = lambda **more: verifies(CLAIM, adjacency="add_or_remove_one", **{**QUICK, **more})

def clipped(dataset):
    norms = np.linalg.norm(dataset.features, axis=1, keepdims=True)
    return dataset.features / np.maximum(norms, 1.0)

def release(dataset, rng, std=2.0):
    return clipped(dataset).sum(axis=0) + rng.normal(0.0, std, dataset.dimension)
"""
GOOD = """
@claimed()
def test_good(dataset, rng):
    return release(dataset, rng)
"""
WEAK = """
@claimed()
def test_weak(dataset, rng):
    return release(dataset, rng, 0.4)
"""
SEED = ("--verify-seed", "7")


@pytest.fixture
def run(pytester, monkeypatch):
    # In CI pytest shows every message once more, whole, in its summary.
    monkeypatch.delenv("CI", raising=False)

    def go(*options, content, xdist=False):
        pytester.makepyfile(test_mine=BEGIN + content)
        if xdist:
            return pytester.runpytest_subprocess(*PLUGIN, "-n", "2", *options)
        return pytester.runpytest_inprocess(*PLUGIN, "-p", "no:xdist", *options)

    return go


def repeated(result):
    """The options of the command that a failure prints, without the name of the test."""
    (line,) = [line for line in result.outlines if line.strip().startswith("repeat ")]
    return re.search(r"--verify-repeat (\S+)", line)[1]


def p_value(result):
    (line,) = [line for line in result.outlines if line.strip().startswith("p-value")]
    return line.split(" in ")[0]


def test_three_lines_make_a_test(run):
    outputs = ("--junitxml=found.xml", "--verify-sarif", "folder/found.sarif")
    result = run(*SEED, *outputs, content=GOOD + WEAK)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "too_little_noise: the privacy claim of test_mine.py::test_weak is rejected",
            "  mistake    The noise has standard deviation 0.*the claim says noise_std = 2.*",
            "  what to do Add noise of noise_std 2, or claim what is added.*",
            "  claimed    Gaussian(noise_std=2.0, record_norm=1.0) under add_or_remove_one",
            "  p-value    *(false-alarm rate 0.05 for all 2 tests of this*",
            "  seed       *",
            "  repeat     pytest test_mine.py::test_weak --verify-repeat seed=*,rate=0.025",
            "*= privacy of mechanisms =*",
            "test_mine.py::test_weak  rejected *  too_little_noise",
            "test_mine.py::test_good  not rejected * 3,000 * noise_std below *, not 2",
            "2 mechanisms tested, 1 rejected; false-alarm rate 0.05 for all 2 tests together",
            "a mechanism that passes is not proven; --verify-seed 7 repeats this run",
        ]
    )
    # No traceback through this library.
    result.stdout.no_fnmatch_line("*pytest_plugin*")
    _has_the_numbers(Xml.parse("found.xml"))
    _has_the_line_of_the_code(json.loads(Path("folder/found.sarif").read_text()))


def _has_the_numbers(junit):
    cases = {one.get("name"): one for one in junit.iter("testcase")}
    found = {
        name: {one.get("name"): one.get("value") for one in case.iter("property")}
        for name, case in cases.items()
    }
    assert found["test_good"]["verdict"] == "not rejected"
    assert found["test_weak"]["verdict"] == "rejected"
    assert float(found["test_weak"]["p_value"]) <= 0.025
    assert found["test_weak"]["seed"].isdigit()
    assert float(found["test_weak"]["epsilon_lower"]) >= 0.0
    assert "too_little_noise" in cases["test_weak"].find("failure").get("message")


def _has_the_line_of_the_code(log):
    Sarif.model_validate(log)
    (result,) = log["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert result["ruleId"] == "code-rejected"
    assert place["artifactLocation"]["uri"] == "test_mine.py"
    lines = Path("test_mine.py").read_text().splitlines()
    assert lines[place["region"]["startLine"] - 1].startswith("@claimed")
    assert "too_little_noise: " in result["message"]["text"]


@pytest.mark.thorough
def test_a_rejection_is_repeated_by_its_words_and_a_run_by_its_seed(run):
    first = run(*SEED, content=GOOD + WEAK)
    again = run("-k", "weak", "--verify-repeat", repeated(first), content=GOOD + WEAK)
    assert p_value(again) == p_value(first)
    assert repeated(again) == repeated(first)
    again.stdout.fnmatch_lines(
        ["1 mechanism tested, 1 rejected; a test of an earlier run, repeated"]
    )
    assert repeated(run(*SEED, content=GOOD + WEAK)) == repeated(first)
    assert repeated(run("--verify-seed", "8", content=GOOD + WEAK)) != repeated(first)


def test_words_that_repeat_nothing_are_bad_usage(run):
    result = run("--verify-repeat", "seed=1", "-k", "weak", content=WEAK)
    assert "Expected --verify-repeat to be seed=" in result.stdout.str()
    result = run("--verify-repeat", "seed=1", content=GOOD + WEAK)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "Expected one test of a mechanism with --verify-repeat, got 2" in result.stderr.str()


def test_repeats_are_written_and_read():
    words = "seed=1,runs=2,training=3,pairs=4,processes=0,rate=0.0125,call=2"
    assert Repeat.read(words).words() == words


RATES = """
seen = []

@pytest.fixture(autouse=True)
def told(request, capsys):
    yield
    for name, value in request.node.user_properties:
        if name.startswith("false_alarm_rate"):
            with capsys.disabled():
                print(f"\\n{name} {value}")

def test_fixture(verifies):
    for _ in range(3):
        verifies(release, CLAIM, adjacency="add_or_remove_one", **QUICK)
"""


@pytest.mark.thorough
def test_the_error_rate_is_split_over_the_tests_that_run(run, pytester):
    content = GOOD + RATES + GOOD.replace("test_good", "test_other")
    rate = "false_alarm_rate"
    found = run("--verify-alpha", "0.03", content=content).outlines
    every = sorted(line for line in found if line.startswith(rate))
    # Three tests, one of which calls the fixture three times.
    parts = [0.01, 0.01, 0.01 / 2, 0.01 / 6, 0.01 / 12]
    assert sorted(float(line.split()[1]) for line in every) == pytest.approx(sorted(parts), 1e-5)
    assert {line.split()[0] for line in every} == {rate, f"{rate}[2]", f"{rate}[3]"}
    # Deselected tests need no part.
    found = run("--verify-alpha", "0.03", "-k", "good", content=content).outlines
    assert [line for line in found if line.startswith(rate)] == [f"{rate} 0.03"]
    pytester.makeini("[pytest]\nverify_alpha = 0.01\n")
    found = run("-k", "good", "--verify-sarif", "none.sarif", content=content).outlines
    assert [line for line in found if line.startswith(rate)] == [f"{rate} 0.01"]
    # Where all pass, the log is empty and valid.
    assert json.loads(Path("none.sarif").read_text())["runs"][0]["results"] == []


def test_an_error_rate_is_a_probability(run):
    result = run("--verify-alpha", "1", content=GOOD)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "Expected --verify-alpha to be in (0, 1)" in result.stderr.str()


WAYS = """
@pytest.fixture
def scale():
    return 1.0

@pytest.mark.parametrize("std", [0.4, 2.0])
@claimed()
def test_given(dataset, rng, std, scale):
    return release(dataset, rng, scale * std)

class TestMethods:
    std = 0.4

    @claimed()
    def test_method(self, dataset, rng):
        return release(dataset, rng, self.std)

def test_fixture(verifies):
    result = verifies(release, CLAIM, adjacency="add_or_remove_one", **QUICK)
    assert result.verdict == "not rejected"
    verifies(
        lambda data, rng: len(data) + rng.laplace(0, 0.2),
        adjacency="add_or_remove_one", epsilon=1.0, delta=0.0, dimension=1, pairs=2,
    )

def test_decorated(verifies):
    verifies(test_given, CLAIM, adjacency="add_or_remove_one")
"""


@pytest.mark.thorough
def test_fixtures_parameters_and_methods(run):
    result = run(*SEED, content=WAYS + GOOD)
    result.assert_outcomes(failed=4, passed=2)
    found = "\n".join(line for line in result.outlines if "is rejected" in line)
    for name in ("test_given[0.4]", "TestMethods::test_method", "test_fixture (2)"):
        assert name in found
    result.stdout.fnmatch_lines(
        ["could not be tested: TypeError: *test_given() missing*", "  test * *::test_decorated"]
    )


def test_an_error_of_several_lines_begins_with_its_first(run):
    content = "\n@claimed()\ndef test_it(dataset, rng):\n    assert len(dataset) < 0, 'too many'\n"
    result = run(content=content)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["could not be tested: AssertionError: too many"])


def test_a_mechanism_that_raises_is_shown_where_it_does(run):
    content = "\n@claimed()\ndef test_it(dataset, rng):\n    return inner()\n\ndef inner():\n"
    result = run(content=content + "    return 1 / 0\n")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["could not be tested: ZeroDivisionError: *", "  test  *::test_it", "*in inner", "*1 / 0"]
    )
    result.stdout.fnmatch_lines(["0 mechanisms tested, 0 rejected, 1 could not be tested; *"])
    result.stdout.no_fnmatch_line("*During handling*")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            "3, CLAIM, adjacency='replace_one'",
            "Expected mechanism to be a name or a callable, got 3.",
        ),
        (
            "release, adjacency='replace_one'",
            "Expected an event, or epsilon and delta, as the claim.",
        ),
        ("release, CLAIM, adjacency='near'", "Expected adjacency"),
        ("release, CLAIM, adjacency='replace_one', sample=3", "*Did you mean 'samples'"),
    ],
)
def test_a_wrong_argument_is_shown_at_the_line_that_has_it(run, arguments, message):
    result = run(content=f"\ndef test_it(verifies):\n    verifies({arguments})\n")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f">       verifies({arguments})".replace("[", "[[]")])
    result.stdout.fnmatch_lines([f"E * ValueError: {message}*"])
    result.stdout.no_fnmatch_line("*suite.py*")


@pytest.mark.thorough
def test_a_file_of_evidence_keeps_its_rate(run):
    options = ("--verify-evidence", "e.jsonl", "--verify-alpha")
    run(*options, "0.05", content=GOOD).assert_outcomes(passed=1)
    result = run(*options, "0.1", content=GOOD)
    result.stdout.fnmatch_lines(["could not be tested: Expected --verify-alpha to be 0.05, with *"])


@pytest.mark.thorough
def test_such_tests_are_marked_as_statistical(run):
    content = GOOD + "\ndef test_other():\n    pass\n"
    run("-m", "not statistical", content=content).assert_outcomes(passed=1, deselected=1)
    run("--strict-markers", "-m", "statistical", content=content).assert_outcomes(
        passed=1, deselected=1
    )


def test_options_that_a_test_cannot_have_are_errors(run):
    result = run(content="@claimed(false_alarm_rate=0.1)\ndef test_it(dataset, rng): pass\n")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*Expected no false_alarm_rate for one test*"])


@pytest.mark.thorough
def test_evidence_adds_up_and_begins_again_when_the_code_changes(run, pytester):
    options = ("--verify-evidence", "evidence.jsonl", "--verify-alpha", "0.04")
    for _ in range(2):
        run(*options, content=GOOD).assert_outcomes(passed=1)
    run(*options, content=GOOD + "\n# other code\n").assert_outcomes(passed=1)
    lines = [json.loads(line) for line in Path("evidence.jsonl").read_text().splitlines()]
    assert lines[0]["false_alarm_rate"] == 0.04
    tests = [line for line in lines if line["line"] == "test"]
    assert [line["claim"]["target"] for line in tests] == ["test_mine.py::test_good"] * 3
    assert tests[0]["code"] == tests[1]["code"] != tests[2]["code"]
    assert len({line["seed"] for line in tests}) == 3
    result = run(*options, "--verify-skip-unchanged", "-rs", content=GOOD + "\n# other code\n")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*SKIPPED*the code has not changed since it was tested*"])
    result = run("--verify-skip-unchanged", content=GOOD)
    assert "Expected --verify-evidence FILE with --verify-skip-unchanged" in result.stdout.str()


@pytest.mark.thorough
def test_tests_that_reject_nothing_alone_reject_together(run):
    """Each test stops at 3,000 runs; after some of them the claim falls, and stays fallen."""
    content = GOOD.replace("release(dataset, rng)", "release(dataset, rng, 1.25)")
    for number in range(12):
        result = run("--verify-evidence", "e.jsonl", "--verify-seed", str(number), content=content)
        if result.parseoutcomes().get("failed"):
            break
    assert 1 <= number < 11
    result.stdout.fnmatch_lines(["  on record  *nats in * tests of this code; rejecting takes *"])
    # The claim is tested again, so that the failure says what is wrong; and it stays rejected.
    result = run("--verify-evidence", "e.jsonl", *SEED, content=content)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*1 rejected; evidence in *e.jsonl; its error rate holds*"])


@pytest.mark.thorough
def test_workers_share_the_rate_the_seed_the_evidence_and_the_outputs(run):
    content = "".join(GOOD.replace("test_good", f"test_{n}") for n in range(3)) + WEAK
    options = (*SEED, "--verify-sarif", "x.sarif", "--junitxml=x.xml")
    spread = run(*options, content=content, xdist=True)
    spread.assert_outcomes(passed=3, failed=1)
    alone = run(*SEED, content=content)
    assert repeated(spread) == repeated(alone)
    assert "rate=0.0125" in repeated(spread)
    spread.stdout.fnmatch_lines(
        ["4 mechanisms tested, 1 rejected; false-alarm rate 0.05 for all 4*"]
    )
    assert len(json.loads(Path("x.sarif").read_text())["runs"][0]["results"]) == 1
    assert len(list(Xml.parse("x.xml").iter("property"))) == 4 * 7
    # Without a seed, the workers agree on one.
    found = run("--verify-evidence", "e.jsonl", content=GOOD + WEAK, xdist=True)
    found.stdout.fnmatch_lines(["*--verify-seed * repeats this run"])
    lines = [json.loads(line) for line in Path("e.jsonl").read_text().splitlines()]
    assert sum(line["line"] == "test" for line in lines) == 2
    # Where every worker runs every test, there are twice as many.
    each = run("--dist=each", *SEED, content=WEAK, xdist=True)
    each.assert_outcomes(failed=2)
    assert each.stdout.str().count(",rate=0.025\n") == 2


@pytest.mark.thorough
def test_records_are_sent_as_json(run, monkeypatch):
    told = []
    monkeypatch.setattr(
        "rdpkit.verification.pytest_plugin.records.write_summary",
        lambda terminal, found: told.extend(found),
    )
    run(*SEED, content=WEAK)
    (line,) = told
    record = SuiteRecord.from_json(line)
    assert record.as_json() == line
    assert record.view.rule == "code-rejected"


EVENT = rdpkit.Gaussian(noise_std=2.0, record_norm=1.0)


@pytest.mark.thorough
def test_what_would_be_noticed_is_said_in_the_units_of_the_claim():
    def release(dataset, rng):
        return len(dataset) + rng.normal(0.0, 20.0)

    claim = {"adjacency": "add_or_remove_one"}
    quick = {"seed": 1, "samples": 3000, "neighbours": "random", "dimension": 1, "pairs": 1}
    found = [
        noticed(verifies(event, **claim, **more)(release).verify(**quick))
        for event, more in ((EVENT, {}), (None, {"epsilon": 1.0, "delta": 0.01}))
    ]
    assert re.fullmatch(r"noise_std below [01]\.\d+, not 2", found[0])
    assert re.fullmatch(r"delta 0\.\d+ at epsilon 1, not 0\.01", found[1])


@pytest.mark.statistical
@pytest.mark.slow
def test_a_true_mechanism_passes():
    """Seeds 0 to 99 at the rate 0.05 each; a correct library fails this once in 1,000 times."""

    @verifies(EVENT, adjacency="add_or_remove_one", record_norm=1.0, samples=3000, pairs=3)
    def release(dataset, rng):
        return dataset.features.sum(axis=0) + rng.normal(0.0, 2.0, dataset.dimension)

    rejected = sum(release.verify(seed=seed).rejected for seed in range(100))
    assert binom.sf(rejected - 1, 100, 0.05) > 1e-3


FEW = """
from rdpkit.verification import verifies

@verifies(adjacency="add_or_remove_one", epsilon=0.05, delta=0.0, dimension=1,
          samples=200, training=20, pairs=1)
def test_few(dataset, rng):
    return float(dataset.features[:, 0].clip(0.0, 1.0).sum() + rng.laplace(0.0, 20.0))
"""


@pytest.mark.thorough
def test_a_test_that_could_notice_nothing_is_inconclusive(pytester):
    pytester.makepyfile(test_few=FEW)
    # What other libraries warn of when they are first imported is not counted.
    ours = f"default::{InconclusiveWarning.__module__}.{InconclusiveWarning.__qualname__}"
    found = pytester.runpytest_inprocess(
        "-p", "no:xdist", "-W", "ignore", "-W", ours, "--junit-xml", "out.xml"
    )
    found.assert_outcomes(passed=1, warnings=1)
    found.stdout.fnmatch_lines(["*InconclusiveWarning*too few to notice ten times*", "*1 inconcl*"])
    assert 'name="inconclusive"' in pytester.path.joinpath("out.xml").read_text(encoding="utf-8")
    strict = pytester.runpytest_inprocess("-p", "no:xdist", "--verify-strict")
    strict.assert_outcomes(failed=1)
    strict.stdout.fnmatch_lines(["*inconclusive: test_few.py::test_few could not be tested well*"])
