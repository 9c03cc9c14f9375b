"""Claims that point at a training: what is compared, what is checked, what is said."""

import html
import json
import sys

import pytest

import rdpkit
from rdpkit.verification.auditing.audit import findings_about
from rdpkit.verification.auditing.findings import Soundness
from rdpkit.verification.claims.reading import loads

pytest.importorskip("torch", reason="the trainings are torch modules")

from rdpkit.verification.auditing.tested_code import compared
from rdpkit.verification.training.trainer import PrivateTraining
from tests.cli import commands
from tests.verification.claim_files import text

SIZES = {"dataset_size": "256", "batch_size": "16"}
TRAINING = '[claim.training]\ntarget = "tests.verification.training.loops:{}"\n'


def content(target="PlainLoop"):
    return text(
        id='"ours"', mechanism='"dpsgd"', epsilon="9.0",
        parameters={"noise_multiplier": "1.0", **SIZES, "steps": "32"},
        after=TRAINING.format(target) + 'checks = ["step"]\nseed = 5\n',
    )  # fmt: skip


def audited(claims):
    (finding,) = findings_about(loads(claims), bounds="rdp", allow_code=True)
    return finding


def dpsgd(**changes):
    given = {"noise_multiplier": 1.0, "dataset_size": 256, "batch_size": 16, "steps": 32}
    return rdpkit.DPSGD(**{**given, **changes})


def said(**changes):
    """A training that says the same as the claim, but for the changes."""
    given = {
        "step": lambda _: None,
        "loader": [],
        "parameters": dict,
        "event": dpsgd(),
        "adjacency": "add_or_remove_one",
        "delta": 1e-5,
    }
    return PrivateTraining(**{**given, **changes})


def test_a_training_that_may_not_run_is_a_note():
    (finding,) = findings_about(loads(content().replace("tests.", "no_such.")), bounds="rdp")
    assert finding.soundness is Soundness.SOUND
    assert "was not run: allow it with --allow-code" in finding.notes[-1]
    assert "training" not in finding.as_dict()


@pytest.mark.thorough
def test_a_correct_training_is_not_rejected():
    """Seeded; over seeds it is rejected at most at the rate 0.001."""
    finding = audited(content())
    assert finding.soundness is Soundness.SOUND, finding.refutation
    assert [check.name for check in finding.training.checks] == ["claim", "step"]
    assert any("which proves nothing" in note for note in finding.notes)
    replay = finding.notes[-1]
    assert "rdpkit verify-training" in replay
    assert "--check step --alpha 0.001" in replay
    assert "--seed 5" in replay


@pytest.mark.thorough
def test_a_broken_training_refutes_the_claim_with_the_mistake_named():
    finding = audited(content("AddsNoNoise"))
    assert finding.soundness is Soundness.REFUTED
    assert any("no_noise" in line for line in finding.refutation)
    assert finding.refutation[-1].startswith("no_noise")
    plain = finding.as_dict()["training"]
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert [check["verdict"] for check in plain["checks"]] == ["not rejected", "rejected"]


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"adjacency": "replace_one"}, "adjacency"),
        ({"epsilon": 9.5}, "epsilon 9.0"),
        ({"delta": 1e-4}, "delta 1e-05"),
        ({"event": dpsgd(noise_multiplier=0.9)}, "noise multiplier"),
        ({"event": dpsgd(batch_size=17)}, "sampling rate"),
        ({"event": dpsgd(steps=33)}, "updates"),
        ({"event": rdpkit.Gaussian(noise_std=1.0, record_norm=1.0)}, "sampling"),
    ],
)
def test_a_claim_that_says_less_than_the_training_is_named(changes, word):
    (claim,) = loads(content())
    found = compared(claim, said(**changes))
    assert found.rejected
    assert {one.kind.value for one in found.mistakes} == {"claim_differs"}
    assert any(word in one.message for one in found.mistakes)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"epsilon": 8.0},
        {"delta": 1e-6},
        {"event": dpsgd(noise_multiplier=1.1, steps=31, batch_size=15)},
        {
            "event": rdpkit.Repeated(
                event=rdpkit.PoissonSampledGaussian(
                    noise_std=2.0, record_norm=2.0, record_diameter=4.0, sampling_probability=0.0625
                ),
                count=32,
            )
        },
    ],
)
def test_a_training_that_is_as_private_as_its_claim_is_no_mistake(changes):
    (claim,) = loads(content())
    assert not compared(claim, said(**changes)).mistakes


def test_what_cannot_be_compared_is_a_note():
    (claim,) = loads(content())
    event = rdpkit.Laplace(noise_scale=1.0, record_norm=1.0)
    found = compared(claim, said(event=event))
    assert found.notes
    assert not found.mistakes


@pytest.mark.thorough
def test_an_unmodelled_claim_is_held_against_the_event_of_the_training():
    training = TRAINING.format("PlainLoop")
    unmodelled = {"mechanism": '"unmodelled"', "parameters": None, "after": training}
    (claim,) = loads(text(**unmodelled, epsilon="9.0"))
    event = dpsgd()
    proven = rdpkit.epsilon(event, delta=1e-5, adjacency="add_or_remove_one").epsilon
    assert not compared(claim, said()).mistakes
    (small,) = loads(text(**unmodelled, epsilon=f"{proven * 0.99:.6f}"))
    (mistake,) = compared(small, said()).mistakes
    assert mistake.kind.value == "claim_too_small"


@pytest.mark.thorough
def test_the_command_names_the_mistake_in_every_output(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    path = tmp_path / "ours.claims.toml"
    path.write_text(content("DoesNotClip"))
    files = {name: tmp_path / name for name in ("junit", "sarif", "summary")}
    options = [word for name, file in files.items() for word in (f"--{name}", str(file))]
    done = commands.run("audit", path, "--allow-code", "--bounds", "rdp", *options)
    assert done.exit_code == 1, done.output
    assert "no_clipping" in done.output
    for file in files.values():
        assert "no_clipping" in html.unescape(file.read_text()).replace("\\", ""), file.name


def test_a_training_that_is_not_there_is_an_error_that_names_the_claim():
    with pytest.raises(ValueError, match=r"claim 'ours': no_such_module"):
        audited(content().replace("tests.verification", "no_such_module"))
