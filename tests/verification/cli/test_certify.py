"""``rdpkit certify``: events, claims, manifests."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from rdpkit import kernel
from rdpkit.cli import main
from tests.verification.claim_files import text


def run(*args):
    return CliRunner().invoke(main, ["certify", *map(str, args)])


def accepted(content: str) -> dict[str, object]:
    claim, hints = kernel.read(content.encode())
    kernel.check(claim, hints)
    return claim


@pytest.fixture
def claims(tmp_path):
    file = tmp_path / "privacy.claims.toml"
    file.write_text(text() + text(id='"b"', epsilon="0.5"), encoding="utf-8")
    return file


def test_one_claim_of_a_file_is_printed(claims):
    assert accepted(run(claims, "--claim", "a").stdout)["says"] == "at most"
    assert accepted(run(claims, "--claim", "b").stdout)["says"] == "exceeded"


def test_all_claims_are_written_to_a_folder(claims, tmp_path):
    found = run(claims, "--folder", tmp_path / "kept")
    assert found.exit_code == 0
    assert "2 of 2 verdicts certified" in found.stderr
    for name in ("a", "b"):
        accepted((tmp_path / "kept" / f"{name}.certificate.json").read_text("utf-8"))


def test_several_claims_need_a_folder_or_a_name(claims):
    found = run(claims)
    assert found.exit_code == 2
    assert "Expected --folder, or --claim with one of a, b." in found.stderr
    found = run(claims, "--claim", "c")
    assert found.exit_code == 2
    assert "Expected --claim to be a or b, got 'c'." in found.stderr


def test_a_claim_without_a_certificate_is_an_error(tmp_path):
    file = tmp_path / "open.claims.toml"
    file.write_text(
        text(mechanism='"report_noisy_max"', epsilon="0.9", delta="0.0", parameters={
            "noise_scale": "2.0", "sensitivity": "1.0", "noise": '"gumbel"'
        }), encoding="utf-8",
    )  # fmt: skip
    found = run(file)
    assert found.exit_code == 2
    assert "the checker does not know" in found.stderr or "no verdict" in found.stderr
    assert run(file, "--folder", tmp_path / "kept").exit_code in (0, 1)


def test_an_event_is_certified_with_and_without_a_claim(tmp_path):
    options = ["gaussian", "--noise-std", "2", "--record-norm", "1"]
    about = ["--adjacency", "add-or-remove-one", "--delta", "1e-5"]
    assert accepted(run(*options, *about).stdout)["epsilon"] == "1.996"
    event = tmp_path / "event.toml"
    event.write_text('mechanism = "gaussian"\nnoise_std = 2.0\nrecord_norm = 1.0\n')
    shown = run(event, *about, "--claimed-epsilon", "1", "--refuted").stdout
    assert json.loads(shown)["claim"]["says"] == "exceeded"
    assert run(*options, *about, "--refuted").exit_code == 2


@pytest.mark.parametrize(
    "words",
    [
        "custom-profile --epsilons 0.1 --deltas 0.0",
        "discrete-gaussian --sigma 5.0 --record-norm 1",
        "exponential --event-epsilon 0.1",
        "permute-and-flip --event-epsilon 0.1",
    ],
)
def test_the_examples_of_what_is_known_by_one_bound_are_accepted(words):
    found = run(*words.split(), "--adjacency", "replace-one", "--delta", "1e-5")
    assert found.exit_code == 0, found.stderr
    assert accepted(found.stdout)["says"] == "at most"
