"""Claims as tests: what is collected, what a failure says, markers, xdist, and what it costs."""

from importlib.metadata import entry_points
from pathlib import Path

import pytest

import rdpkit.verification.auditing.audit
import rdpkit.verification.auditing.tested_code
import rdpkit.verification.outputs.words  # noqa: F401
from tests.processes import loaded
from tests.verification.claim_files import text

# All that the plugin imports is imported above, because pytester forgets what is imported inside of
# it, and neither numpy nor a module that a test patches may be imported twice.
pytest_plugins = ["pytester"]

# Installed, the plugin is found by itself; and a plugin cannot be registered twice.
_FOUND = any(e.value == "rdpkit.verification.pytest_plugin" for e in entry_points(group="pytest11"))
PLUGIN = [] if _FOUND else ["-p", "rdpkit.verification.pytest_plugin"]

GOOD = text(id='"good"', epsilon="0.80")
WRONG = GOOD.replace('"good"', '"wrong"').replace("0.80", '0.5\nbound = "gaussian"')
CODE = """
[claim.code]
callable = "mechanism_of_mine:release"
dimension = 1
time_budget = 10
samples = 4000
seed = 1
"""
MECHANISM = """
import pathlib
pathlib.Path("ran").touch()
def release(dataset, rng):
    return dataset.features.clip(-1, 1).sum(axis=0) + rng.normal(0.0, {std}, dataset.dimension)
"""


@pytest.fixture
def run(pytester):
    def go(*options, content=GOOD, subprocess=False):
        pytester.makefile(".claims.toml", mine=content)
        call = pytester.runpytest_subprocess if subprocess else pytester.runpytest_inprocess
        return call(*PLUGIN, *([] if subprocess else ["-p", "no:xdist"]), *options)

    return go


def test_each_claim_is_a_test(run):
    result = run("-v", content=GOOD + GOOD.replace('"good"', '"other"'))
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["mine.claims.toml::good PASSED*", "*::other PASSED*"])


def test_a_failure_says_what_is_claimed_what_is_true_and_what_to_change(run):
    result = run(content=GOOD + WRONG)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*claim wrong*",
            "epsilon 0.5 at delta 1e-05 (add-or-remove-one) is refuted: *",
            "  claimed    epsilon 0.5 at delta 1e-05*",
            "  upper      0.7255* by pld-upper",
            "  lower      0.7255* by pair-lower",
            "  refuted by D : 1 record*",
            "  change     raise the noise: noise_std = 7.032, and take out bound",
            '  change     or raise the claim: epsilon = 0.7256, bound = "pld-upper"',
        ]
    )
    # No traceback through the plugin.
    result.stdout.no_fnmatch_line("*pytest_plugin.py*")
    assert result.ret == 1


def test_one_claim_can_be_named(run):
    run("mine.claims.toml::good", content=GOOD + WRONG).assert_outcomes(passed=1)
    run("-k", "wrong", content=GOOD + WRONG).assert_outcomes(failed=1, deselected=1)


@pytest.mark.parametrize(
    ("words", "outcome"),
    [
        (["underspecified"], "passed"),
        (["underspecified", "refuted"], "failed"),
    ],
)
def test_what_makes_a_claim_fail(run, words, outcome):
    options = [part for word in words for part in ("--claims-fail-on", word)]
    run(*options, content=WRONG).assert_outcomes(**{outcome: 1})


def test_what_makes_a_claim_fail_may_be_in_the_settings(run, pytester):
    pytester.makeini("[pytest]\nclaims_fail_on = slack>1.05\n")
    run().assert_outcomes(failed=1)
    run("--claims-fail-on", "refuted").assert_outcomes(passed=1)


def test_a_wrong_rule_is_bad_usage(run):
    result = run("--claims-fail-on", "sound")
    assert result.ret in (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.USAGE_ERROR)
    assert "Expected fail-on to be refuted, unproven" in "\n".join(
        result.stdout.lines + result.stderr.lines
    )


def test_a_mistake_in_a_file_is_one_line_with_the_file(run):
    result = run(content=GOOD.replace("0.80", "-1"))
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["*mine.claims.toml:*: claim 'good': expected epsilon to be a number >= 0, got -1."]
    )
    result.stdout.no_fnmatch_line("*claims.py*")


def test_claims_have_a_marker(run, pytester):
    pytester.makepyfile("def test_other(): pass")
    run("-m", "claim").assert_outcomes(passed=1, deselected=1)
    run("-m", "not claim").assert_outcomes(passed=1, deselected=1)
    run("--strict-markers").assert_outcomes(passed=2)
    run("--no-claims").assert_outcomes(passed=1)


def test_other_files_are_left_alone(pytester):
    pytester.makefile(".toml", claims=GOOD, other="[x]")
    result = pytester.runpytest_inprocess(*PLUGIN, "-p", "no:xdist")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_code_does_not_run_unless_it_is_allowed(run, pytester):
    pytester.makepyfile(mechanism_of_mine=MECHANISM.format(std=5.0))
    result = run("-rs", content=GOOD + CODE)
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["*'mechanism_of_mine:release' runs only with --allow-code*"])
    assert not (pytester.path / "ran").exists()
    run("-m", "not statistical", content=GOOD + CODE).assert_outcomes(passed=1, deselected=1)


@pytest.mark.thorough
@pytest.mark.parametrize(("std", "outcome"), [(5.0, "passed"), (1.0, "failed")])
def test_code_is_held_against_its_claim(run, pytester, monkeypatch, std, outcome):
    """Seeded; the honest mechanism is rejected at the rate 0.001 over seeds."""
    monkeypatch.setattr("rdpkit.verification.blackbox.verify.fresh_evidence", lambda *_, **__: None)
    name = f"mechanism_{outcome}"
    pytester.makepyfile(**{name: MECHANISM.format(std=std)})
    content = GOOD + CODE.replace("mechanism_of_mine", name)
    result = run("--allow-code", "-m", "statistical", content=content)
    result.assert_outcomes(**{outcome: 1, "deselected": 1})
    assert (pytester.path / "ran").exists()
    if outcome == "failed":
        result.stdout.fnmatch_lines(
            ["*is not what the code keeps:", f"*code {name}:release: rejected*seed 1*"]
        )


def test_code_of_which_nothing_could_be_noticed_is_inconclusive(run, pytester):
    pytester.makepyfile(mechanism_of_few=MECHANISM.format(std=5.0))
    few = CODE.replace("mechanism_of_mine", "mechanism_of_few").replace("4000", "60")
    content = GOOD + few + "training = 25\npairs = 1\nfresh_processes = 0\n"
    options = ("--allow-code", "-m", "statistical", "-W", "ignore")
    ours = "default::rdpkit.verification.pytest_plugin.suite.InconclusiveWarning"
    result = run(*options, "-W", ours, content=content)
    result.assert_outcomes(passed=1, deselected=1, warnings=1)
    result.stdout.fnmatch_lines(["*inconclusive: good[[]code]: 60 runs are too few*"])
    run(*options, "--verify-strict", content=content).assert_outcomes(failed=1, deselected=1)


TRAINING = """
[claim.training]
target = "{}:make_trainer"
checks = ["step"]
seed = 1
"""


def test_a_training_does_not_run_unless_it_is_allowed(run):
    content = GOOD + TRAINING.format("no_such_module")
    result = run("-rs", content=content)
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["*'no_such_module:make_trainer' runs only with --allow-code*"])
    result = run("--allow-code", "-m", "statistical", content=content)
    result.assert_outcomes(failed=1, deselected=1)
    result.stdout.fnmatch_lines(["*claim 'good': no_such_module:make_trainer: the module*"])


@pytest.mark.thorough
def test_a_broken_training_fails_with_the_mistake_named(run, pytester, monkeypatch):
    pytest.importorskip("torch")
    # Torch registers operators once in a process, and pytester would forget that it did.
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    pytester.makepyfile(
        training_of_mine="from tests.verification.training.loops import AddsNoNoise as make_trainer"
    )
    content = GOOD + TRAINING.format("training_of_mine")
    result = run("--allow-code", "-m", "statistical", content=content, subprocess=True)
    result.assert_outcomes(failed=1, deselected=1)
    result.stdout.fnmatch_lines(["*is not what the training keeps:", "*step: no_noise: *"])


def test_code_that_is_not_there_is_a_failure(run):
    content = GOOD + CODE.replace("mechanism_of_mine", "no_such_module")
    result = run("--allow-code", "-m", "statistical", content=content)
    result.assert_outcomes(failed=1, deselected=1)
    result.stdout.fnmatch_lines(["*the module 'no_such_module' could not be imported*"])


def test_hostile_names_do_not_steer_the_terminal(run):
    content = WRONG.replace('"wrong"', '"\\u001b[2J\\u0007"')
    result = run("-v", content=content)
    result.assert_outcomes(failed=1)
    assert "\x1b[2J" not in result.stdout.str()
    assert "\x07" not in result.stdout.str()


def test_junit_of_pytest_has_the_verdicts(run, pytester):
    run("--junit-xml=out.xml", content=GOOD)
    assert '<property name="soundness" value="sound"' in (pytester.path / "out.xml").read_text()


@pytest.mark.slow
def test_side_by_side_with_xdist(run):
    pytest.importorskip("xdist")
    content = "".join((GOOD if n % 2 else WRONG).replace('id = "', f'id = "{n}-') for n in range(2))
    result = run("-n", "2", content=content, subprocess=True)
    result.assert_outcomes(passed=1, failed=1)


def test_starting_without_claims_imports_nothing_of_this_project():
    found = loaded("import pytest, rdpkit.verification.pytest_plugin")
    assert not found & {"numpy", "scipy", "rdpkit.analysis", "click", "rich"}


@pytest.mark.thorough
@pytest.mark.parametrize("way", ["option", "setting"])
def test_evidence_adds_up_over_runs(run, pytester, monkeypatch, way):
    monkeypatch.setattr("rdpkit.verification.blackbox.verify.fresh_evidence", lambda *_, **__: None)
    name = f"mechanism_{way}"
    pytester.makepyfile(**{name: MECHANISM.format(std=5.0)})
    content = GOOD + CODE.replace("mechanism_of_mine", name).replace("seed = 1\n", "")
    given = ["--claims-evidence", "kept/evidence.jsonl"] if way == "option" else []
    if way == "setting":
        pytester.makeini("[pytest]\nclaims_evidence = kept/evidence.jsonl\n")
    for number in (1, 2):
        result = run("--allow-code", "-m", "statistical", *given, content=content)
        result.assert_outcomes(passed=1, deselected=1)
        lines = (pytester.path / "kept" / "evidence.jsonl").read_text().splitlines()
        assert sum('"line": "test"' in line for line in lines) == number
