"""``rdpkit claims fix``: the file says what is true afterwards, and nothing else has changed."""

import json
from pathlib import Path

import pytest

from rdpkit.verification.auditing.audit import audit_files
from tests.cli import commands
from tests.verification.claim_files import text

FALSE = text(epsilon="0.5") + "# the end\n"
TRUE = text(id='"loose"', epsilon="3.0")
MISSING = text(id='"m"', missing='["delta"]', delta=None, parameters=None)


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def go(*arguments, content=FALSE, answers=None, name="a.claims.toml"):
        Path(name).write_text(content)
        return commands.run("claims", "fix", name, *arguments, answers=answers)

    return go


def test_the_claim_is_raised_after_a_yes(run):
    done = run(answers="y\n")
    assert done.exit_code == 0, done.output
    assert "-epsilon = 0.5\n+epsilon = 0.7256\n" in done.stdout
    assert "a: raise the claim: epsilon = 0.7256" in done.stdout
    assert "wrote a.claims.toml" in done.stdout
    assert "a: sound, " in done.stdout
    assert Path("a.claims.toml").read_text() == FALSE.replace("0.5", "0.7256")


def test_noise_is_raised_instead_and_the_code_is_not_forgotten(run):
    done = run("--by", "noise", "--yes")
    assert done.exit_code == 0, done.output
    assert "-noise_std = 5.0\n+noise_std = 7.032\n" in done.stdout
    assert "The code has to do so as well" in done.stdout
    (found,) = audit_files("a.claims.toml")
    assert found.soundness.value == "sound"
    assert str(found.claim.epsilon) == "0.5"


@pytest.mark.parametrize(("options", "answers"), [(["--dry-run"], None), ([], "n\n")])
def test_nothing_is_written_without_a_yes(run, options, answers):
    done = run(*options, answers=answers)
    assert done.exit_code == 1
    assert "+epsilon = 0.7256" in done.stdout
    assert "Nothing was written." in done.stdout
    assert Path("a.claims.toml").read_text() == FALSE


def test_nobody_there_to_answer_is_an_error(run):
    done = run()
    assert done.exit_code == 2
    assert "--yes" in done.stderr
    assert Path("a.claims.toml").read_text() == FALSE


def test_true_claims_are_left_alone_unless_they_are_to_be_tightened(run):
    assert "Nothing to write." in run("--yes", content=TRUE).stdout
    done = run("--yes", "--tighten", content=TRUE)
    assert done.exit_code == 0
    assert "-epsilon = 3.0\n+epsilon = 0.7256\n" in done.stdout


def test_claims_can_be_chosen_and_what_cannot_be_mended_is_named(run):
    both = FALSE + text(id='"b"', epsilon="0.4") + MISSING
    done = run("--yes", "--id", "b", content=both)
    assert Path("a.claims.toml").read_text() == both.replace("0.4", "0.7256")
    assert done.exit_code == 0
    done = run("--yes", content=both)
    assert "m: incomplete, and not mended: give what is missing: delta" in done.stdout
    assert "Did you mean 'loose'" in run("--id", "lose", content=TRUE).stderr


def test_programs_get_json(run):
    done = run("--yes", "--format", "json", content=FALSE + MISSING)
    found = json.loads(done.stdout)
    assert found["written"] is True
    assert found["files"][0]["file"] == "a.claims.toml"
    first, second = found["claims"]
    assert first["before"]["soundness"] == "refuted"
    assert first["remedy"]["edits"] == [{"key": "epsilon", "old": "0.5", "new": "0.7256"}]
    assert first["after"]["soundness"] == "sound"
    assert (second["remedy"], second["after"]) == (None, None)
    assert second["reason"] == "give what is missing: delta"
    assert run("--format", "json").exit_code == 2
    assert run("--yes", "--dry-run").exit_code == 2


def test_a_manifest_is_never_changed(run, tmp_path):
    done = run("--yes", name="x.json", content="{}")
    assert done.exit_code == 2


def test_a_link_stays_a_link_and_the_mode_stays(run, tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "real.toml").write_text(FALSE)
    (folder / "real.toml").chmod(0o640)
    Path("a.claims.toml").symlink_to(folder / "real.toml")
    assert run("--yes").exit_code == 0
    assert Path("a.claims.toml").is_symlink()
    assert (folder / "real.toml").stat().st_mode & 0o777 == 0o640
    assert "0.7256" in (folder / "real.toml").read_text()


@pytest.mark.thorough
@pytest.mark.parametrize(
    "parameters",
    [
        "count = 10\n[claim.parameters.event]\nmechanism = 'gaussian'\nnoise_std = 5.0 # here\n"
        "record_norm = 1\n",
        "events = [\n  {mechanism = 'gaussian', noise_std = 5.0, record_norm = 1}, # one\n"
        "  {mechanism = 'laplace', noise_scale = 9, record_norm = 1},\n]\n",
    ],
)
def test_noise_inside_of_other_events_is_found_in_the_file(run, parameters):
    mechanism = '"repeated"' if parameters.startswith("count") else '"composed"'
    content = text(mechanism=mechanism, epsilon="0.3", parameters=None)
    content += f"[claim.parameters]\n{parameters}"
    done = run("--yes", "--by", "noise", content=content)
    assert done.exit_code == 0, done.output
    after = Path("a.claims.toml").read_text()
    assert len(after.split("\n")) == len(content.split("\n"))
    (found,) = audit_files("a.claims.toml")
    assert (found.soundness.value, str(found.claim.epsilon)) == ("sound", "0.3")
    assert found.slack < 1.01
