"""``--claimed-epsilon``: the verdict is printed, and only a refuted claim fails."""

import json

import pytest

from tests.cli.commands import ADD, GAUSSIAN, answer, run

QUESTION = ["epsilon", *GAUSSIAN, "--delta", "1e-5", *ADD, "--claimed-epsilon"]


def test_a_sound_claim_is_status_0():
    done = run(*QUESTION, "0.73")
    assert done.exit_code == 0
    assert "claim      sound: epsilon = 0.73 at delta = 1e-05 (add-or-remove-one; " in done.stdout
    assert answer(*QUESTION, "0.73")["claim"]["soundness"] == "sound"


def test_a_refuted_claim_is_status_1_with_its_reasons(tmp_path):
    done = run(*QUESTION, "0.7")
    assert done.exit_code == 1
    assert done.stderr == ""
    assert "claim      refuted: epsilon = 0.7 " in done.stdout
    assert "because    D : 1 record" in done.stdout
    path = tmp_path / "claim.json"
    assert run(*QUESTION, "0.7", "-o", path).exit_code == 1
    found = json.loads(path.read_text())
    assert found["claim"]["claimed_epsilon"] == 0.7
    assert found["bound"] == "pld-upper"


@pytest.mark.parametrize("value", ["x", "-1", "nan"])
def test_a_claim_is_a_number(value):
    done = run(*QUESTION, value)
    assert done.exit_code == 2
    assert "Expected --claimed-epsilon to be a number >= 0" in done.stderr


def test_digits_are_kept_and_explained():
    done = run(*QUESTION, "0.720")
    assert "epsilon = 0.720 at" in done.stdout
    assert "last printed digit" not in done.stdout
    assert "last printed digit" in run(*QUESTION, "0.72").stdout
