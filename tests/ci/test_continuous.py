"""The action, the hooks and the GitLab template, as far as they run without their hosts."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest
import yaml
from click.testing import CliRunner

from rdpkit.interop.certificates import certificate
from rdpkit.verification.cli.audit import audit
from rdpkit.verification.cli.claims import claims
from tests.cli.commands import claim
from tests.events import unit
from tests.processes import ran

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"] if "name" in step}
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
GITLAB = yaml.safe_load((ROOT / "ci-templates" / "gitlab.yml").read_text())

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="the steps are for bash")

# Prints its arguments, one a line, and writes the files that it is asked for.
FAKE = """#!/usr/bin/env bash
printf '%s\\n' "$@" > "$ARGUMENTS"
while [ $# -gt 0 ]; do
    case "$1" in --junit|--sarif|--summary|--badge) echo written > "$2" ;; esac
    shift
done
exit "${FAKE_STATUS:-0}"
"""


@pytest.fixture
def repository(tmp_path):
    """An empty repository, and beside it what a runner of actions has."""
    (tmp_path / "repository").mkdir()
    (tmp_path / "bin").mkdir()
    fake = tmp_path / "bin" / "rdpkit"
    fake.write_text(FAKE)
    fake.chmod(0o755)
    return tmp_path / "repository"


def steps(repository, *, real=False, names=("Audit privacy claims", "Verdict"), **inputs):
    """Run steps as a runner would: inputs in the environment, outputs of one in the next."""
    home = repository.parent
    given = {name: str(spec.get("default", "")) for name, spec in ACTION["inputs"].items()}
    given.update({name.replace("_", "-"): value for name, value in inputs.items()})
    outputs: dict[str, str] = {}

    def filled(text):
        def value(match):
            kind, _, name = match.group(1).partition(".")
            return given[name] if kind == "inputs" else outputs[name.rpartition(".")[2]]

        return re.sub(r"\$\{\{\s*([\w.-]+)\s*\}\}", value, text)

    folder = Path(sys.executable).parent if real else home / "bin"
    environment = {
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "GITHUB_ACTION_PATH": str(ROOT),
        "GITHUB_OUTPUT": str(home / "outputs"),
        "GITHUB_STEP_SUMMARY": str(home / "step-summary.md"),
        "GITHUB_PATH": str(home / "path"),
        "RUNNER_TEMP": str(home),
        "ARGUMENTS": str(home / "arguments"),
        **{k: v for k, v in os.environ.items() if k == "FAKE_STATUS" or k.startswith("PIP_")},
    }
    done = None
    for name in names:
        step = STEPS[name]
        (home / "outputs").write_text("")
        own = {key: filled(value) for key, value in step.get("env", {}).items()}
        words = ["--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        given_to = {"cwd": repository, "env": {**environment, **own}}
        done = ran(*words, program="bash", status=None, **given_to)
        for line in (home / "outputs").read_text().splitlines():
            key, _, text = line.partition("=")
            outputs[key] = text
        if done.returncode:
            break
    return done, outputs


def arguments(repository):
    return (repository.parent / "arguments").read_text().splitlines()


@pytest.mark.thorough
def test_a_right_claim_is_green_and_a_wrong_one_red(repository):
    path = repository / "claims dir" / "mine.claims.toml"
    path.parent.mkdir()
    path.write_text(claim("0.80"))
    done, outputs = steps(repository, real=True)
    assert done.returncode == 0, done.stderr
    assert outputs == {"folder": "privacy-claims", "status": "0"}
    path.write_text(claim("0.5"))
    done, outputs = steps(repository, real=True)
    assert done.returncode == 1
    assert outputs["status"] == "1"
    folder = repository / "privacy-claims"
    assert Xml.parse(folder / "junit.xml").getroot().get("failures") == "1"
    found = json.loads((folder / "claims.sarif").read_text())["runs"][0]["results"]
    assert found[0]["locations"][0]["physicalLocation"] == {
        "artifactLocation": {
            "uri": "claims%20dir/mine.claims.toml",
            "uriBaseId": "%SRCROOT%",
        },
        "region": {"startLine": 2},
    }
    assert "refuted" in (repository.parent / "step-summary.md").read_text()
    assert json.loads((folder / "badge.json").read_text())["message"] == "1 refuted"
    assert (folder / "badge.svg").read_text().startswith("<svg")


def test_inputs_become_options(repository):
    (repository / "a b.claims.toml").write_text("")
    (repository / "release.json").write_text("")
    done, _ = steps(
        repository,
        files="**/*.claims.toml\n release.json",
        fail_on="refuted slack>1.5",
        baseline="base line.json",
        allow_code="true",
        output="some out",
    )
    assert done.returncode == 0, done.stderr
    given = arguments(repository)
    assert given[:8] == [
        "audit",
        "--fail-on",
        "refuted",
        "--fail-on",
        "slack>1.5",
        "--baseline",
        "base line.json",
        "--allow-code",
    ]
    assert given[-3:] == ["--", "a b.claims.toml", "release.json"]
    assert (repository / "some out" / "claims.sarif").exists()


def test_code_is_not_allowed_by_default(repository):
    (repository / "a.claims.toml").write_text("")
    steps(repository)
    assert "--allow-code" not in arguments(repository)


@pytest.mark.parametrize(
    "text", ["$(touch pwned)", "`touch pwned`", "; touch pwned", "a.toml --allow-code", "-h.toml"]
)
def test_inputs_are_data(repository, text):
    (repository / "a.claims.toml").write_text("")
    steps(repository, files=text, fail_on=text, baseline=text)
    assert not (repository / "pwned").exists()
    given = arguments(repository)
    assert given[given.index("--") + 1 :] == text.split()


def test_no_claims_files_are_an_error(repository):
    done, outputs = steps(repository)
    assert done.returncode == 2
    assert "No claims files" in done.stderr
    assert outputs["status"] == "2"


def test_bad_input_is_told_from_a_claim_that_fails(repository, monkeypatch):
    (repository / "a.claims.toml").write_text("")
    for status in ("0", "1", "2"):
        monkeypatch.setenv("FAKE_STATUS", status)
        done, outputs = steps(repository)
        assert done.returncode == int(status)
        assert outputs["status"] == status


def test_an_output_folder_cannot_set_outputs(repository):
    (repository / "a.claims.toml").write_text("")
    done, outputs = steps(repository, output="x\nstatus=0")
    assert done.returncode == 2
    assert outputs == {}


def test_no_input_is_part_of_a_script():
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step.get("run", "")
        assert step.get("shell", "bash") == "bash"


@pytest.mark.slow
def test_the_action_installs_itself(repository):
    """Needs a package index."""
    done, _ = steps(repository, names=["Install rdpkit"])
    assert done.returncode == 0, done.stderr
    assert (repository.parent / "path").read_text().strip().endswith("bin")
    assert "version" in done.stdout


def certificates(repository):
    """One certificate that is accepted and one that is not."""
    event = unit.gaussian(1.0)
    text = certificate(event, claimed="4.378", adjacency="add_or_remove_one", delta=1e-5)
    (repository / "true.certificate.json").write_text(text)
    (repository / "changed.certificate.json").write_text(text.replace("4.378", "4.37"))


@pytest.mark.parametrize(
    ("names", "status"),
    [
        ("true.*", 0),
        ("*.certificate.json", 2),
        ("true.certificate.json changed.certificate.json", 2),
        ("missing.json", 2),
        ("none*", 2),
    ],
)
def test_the_action_checks_certificates_before_anything_is_installed(repository, names, status):
    certificates(repository)
    done, _ = steps(repository, names=["Check certificates"], certificates=names)
    assert done.returncode == status, done.stdout + done.stderr


def test_the_hook_of_certificates_finds_them(repository):
    certificates(repository)
    (hook,) = [hook for hook in HOOKS if hook["id"] == "rdpkit-certificates"]
    assert re.search(hook["files"], "folder/true.certificate.json")
    for name, status in (("true", 0), ("changed", 2)):
        python, *words = hook["entry"].split()
        assert python == "python"
        ran(*words, repository / f"{name}.certificate.json", status=status)


@pytest.mark.parametrize(
    "hook",
    [hook for hook in HOOKS if hook["id"] != "rdpkit-certificates"],
    ids=lambda hook: hook["id"],
)
def test_hooks_run_commands_that_there_are_on_files_that_they_find(hook, repository):
    assert hook["language"] == "python"
    assert re.search(hook["files"], "folder/my.claims.toml")
    assert not re.search(hook["files"], "pyproject.toml")
    (repository / "my.claims.toml").write_text(claim("0.80"))
    program, name, *options = hook["entry"].split()
    assert program == "rdpkit"
    command = {"claims": claims, "audit": audit}[name]
    done = CliRunner().invoke(command, [*options, str(repository / "my.claims.toml")])
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    ("variables", "options"),
    [
        ({}, []),
        ({"CLAIMS_FAIL_ON": "refuted unproven"}, ["--fail-on", "refuted", "--fail-on", "unproven"]),
        ({"CLAIMS_BASELINE": "a b.json"}, ["--baseline", "a b.json"]),
        ({"CLAIMS_ALLOW_CODE": "true"}, ["--allow-code"]),
        (
            {"CLAIMS_ALLOW_CODE": "true", "CLAIMS_EVIDENCE": "a b.jsonl"},
            ["--allow-code", "--evidence", "a b.jsonl"],
        ),
    ],
)
def test_the_gitlab_job(repository, variables, options):
    job = GITLAB["privacy-claims"]
    for name in ("one.claims.toml", "two words é.claims.toml", "other.toml"):
        (repository / name).write_text("")
    environment = {
        **GITLAB["variables"],
        **variables,
        "PATH": f"{repository.parent / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "ARGUMENTS": str(repository.parent / "arguments"),
        "HOME": str(repository.parent),
    }
    for command in (["git", "init", "-q"], ["git", "add", "."]):
        subprocess.run(command, cwd=repository, check=True, env=environment)
    (script,) = job["script"]
    ran("-e", "-c", script, program="sh", cwd=repository, env=environment)
    given = arguments(repository)
    assert given[1 : 1 + len(options)] == options
    place = given.index("--")
    assert given[place + 1 :] == ["one.claims.toml", "two words é.claims.toml"]
    assert given.index("--junit") == 1 + len(options)
    assert job["artifacts"]["reports"]["junit"] == given[given.index("--junit") + 1]
