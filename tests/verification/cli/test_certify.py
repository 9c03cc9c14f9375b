"""Certificates of an event, of claims, and of entries of the registry of deployments."""

from __future__ import annotations

import difflib
import hashlib
import json
import sys
from functools import partial

import pytest
import yaml

from rdpkit import kernel
from rdpkit.verification.claims.deployments import read_entry, with_note
from tests.cli import commands
from tests.verification.claim_files import text

run = partial(commands.run, "certify")


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
    assert "No finite epsilon is known" in run(*options, *about, "--delta", "0").stderr
    assert "no digits: nan" in run(*options, *about, "--claimed-epsilon", "nan").stderr


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


# In the form of the registry's entries at commit 3e9c812.
ENTRY = """\
# For reviewers: numbers are from the paper.
url_slug: counts-example-2024
status: Pending
tier: 2
deployment:
  basic:
    name: Counts
    data_curators:
      - Example
    intended_use: 'Statistics: of visits' # TODO
    data_product_type: Summary statistics
    data_product_region: Global
    description: Counts of visits, a day.
    publication_date: '2024-01-01'
  dp_variant:
    variant_name: Approximate DP
    data_domain: '' # TODO
  privacy_loss:
    privacy_unit: Person-level
    privacy_parameters:
      epsilon: 2.0
      delta: 1.0e-05
    # privacy_parameters_details: ''

  administrative:
    sources: |
      - Paper: https://example.org
{notes}    registry_authors:
      - Somebody
"""
PLAIN = ENTRY.format(notes="")
RELATION = ["--adjacency", "add-or-remove-one"]
GAUSSIAN = ["gaussian", "--noise-std", "2", "--record-norm", "1", *RELATION]
LAPLACE = ["laplace", "--noise-scale", "1", "--record-norm", "1", *RELATION]
NOTES = {
    "absent": "",
    "block": "    notes: |\n      - First\n        - second\n\n    # A comment\n\n",
    "stripped": "    notes: |- # why\n       x\n",
    "kept": "    notes: |+\n      x\n\n\n",
    "empty block": "    notes: |\n",
}
OTHER_NOTES = [" ''", " One line", " >\n      a", " |4\n           a\n         b", ""]


@pytest.fixture
def entry(tmp_path):
    def write(text=PLAIN, **kwargs):
        path = tmp_path / "entry.yaml"
        path.write_text(text, encoding="utf-8", **kwargs)
        return path

    return write


def changed(*pairs):
    text = PLAIN
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


def parameters(text):
    return changed(("      epsilon: 2.0\n      delta: 1.0e-05\n", text))


def test_an_entry_is_written_back_with_a_certificate(entry, tmp_path):
    out = tmp_path / "certified.yaml"
    found = run(entry(), *GAUSSIAN, "-o", out)
    assert found.exit_code == 0, found.output
    assert found.stdout == "epsilon 2.0 at delta 1e-05 (add-or-remove-one): sound\n"
    content = (tmp_path / "certified.certificate.json").read_bytes()
    claim, hints = kernel.read(content)
    kernel.check(claim, hints)
    assert (claim["says"], claim["epsilon"], claim["delta"]) == ("at most", "2.0", "1e-05")
    diff = list(difflib.ndiff(PLAIN.splitlines(), out.read_text().splitlines()))
    assert not [line for line in diff if line[0] in "-?"]
    notes = yaml.safe_load(out.read_text())["deployment"]["administrative"]["notes"]
    assert [line[2:].strip() for line in diff if line[0] == "+"][1:] == [
        line.strip() for line in notes.splitlines()
    ]
    assert "epsilon at delta 1e-05 is at most 2.0" in notes
    assert hashlib.sha256(content).hexdigest() in notes
    assert "Not stated in numbers by this entry" in notes
    assert "given for the certificate: the neighbouring relation, what was released." in notes


def test_a_second_time_changes_nothing(entry):
    path = entry()
    run(path, *GAUSSIAN, "-o", path)
    once = path.read_text()
    assert run(path, *GAUSSIAN, "-o", path).exit_code == 0
    assert path.read_text() == once


def test_what_is_false_is_certified_to_be_false(entry, tmp_path):
    text = changed(("epsilon: 2.0", "epsilon: 1.0"))
    found = run(entry(text), *GAUSSIAN, "-o", tmp_path / "out.yml")
    assert found.exit_code == 1
    assert "refuted" in found.stdout
    kernel.check(*kernel.read((tmp_path / "out.certificate.json").read_bytes()))
    noted = (tmp_path / "out.yml").read_text()
    assert "epsilon at delta 1e-05 for some two is more than 1.0" in noted


def test_rho_and_pure_privacy(entry, tmp_path):
    out = tmp_path / "out.yaml"
    found = run(entry(parameters("      rho: 0.125\n")), *GAUSSIAN, "-o", out)
    assert found.stdout == "rho 0.125 (add-or-remove-one): sound\n"
    assert "rho" in out.read_text()
    assert run(entry(), *GAUSSIAN, "--delta", "1e-6", "-o", out).exit_code == 2
    found = run(
        entry(parameters("      epsilon: 1.0\n").replace("Approximate DP", "Pure DP")),
        *LAPLACE, "-o", out,
    )  # fmt: skip
    assert found.exit_code == 0, found.output
    assert "epsilon at delta 0.0 is at most 1.0" in out.read_text()


@pytest.mark.parametrize(
    ("stated", "options", "wanted"),
    [
        ("      epsilon: 2.0\n", [], "delta is not stated in"),
        ("      delta: 1.0e-05\n", [], "epsilon is not stated in"),
        ("", [], "epsilon is not stated in"),
        ("      rho: 1\n", ["--delta", "1e-5"], "Expected no --delta"),
        ("      epsilon: 2.0\n      delta: 1.0e-5\n", ["--delta", "1e-6"], "states, 0.000010"),
        ("      epsilon: 2.0\n      delta: 1.0e-5\n", ["--claimed-epsilon", "3"], "states, 2.0"),
    ],
)
def test_what_is_not_stated_has_to_be_given_and_nothing_else(
    entry, tmp_path, stated, options, wanted
):
    found = run(entry(parameters(stated)), *GAUSSIAN, *options, "-o", tmp_path / "out.yaml")
    assert found.exit_code == 2
    assert wanted in found.stderr
    assert not list(tmp_path.glob("out*"))


def test_a_note_says_what_was_given(entry, tmp_path):
    options = ["--claimed-epsilon", "2", "--delta", "1e-5", "-o", tmp_path / "out.yaml"]
    found = run(entry(parameters("")), *GAUSSIAN, *options)
    assert found.exit_code == 0, found.output
    assert "what was released, epsilon, delta. Not shown" in (tmp_path / "out.yaml").read_text()


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("kind", NOTES)
def test_notes_that_are_there_stay(entry, kind, newline):
    text = ENTRY.format(notes=NOTES[kind])
    read = read_entry(entry(text, newline=newline))
    found = with_note(read, "- one\n  - two")
    assert found.count("\r\n") == (found.count("\n") if newline == "\r\n" else 0)
    before, after = yaml.safe_load(text), yaml.safe_load(found)
    former = before["deployment"]["administrative"].pop("notes", None) or ""
    notes = after["deployment"]["administrative"].pop("notes")
    assert before == after
    assert notes.strip() == f"{former.strip()}\n\n- one\n  - two".strip()
    assert text.count("#") == found.count("#")


def test_notes_at_the_end_of_a_file_without_a_line_end(entry):
    text = PLAIN.replace("    sources: |\n      - Paper: https://example.org\n", "")
    found = with_note(read_entry(entry(text + "    notes: |\n      last")), "- one")
    notes = yaml.safe_load(found)["deployment"]["administrative"]["notes"]
    assert notes == "last\n\n- one"


@pytest.mark.parametrize("notes", OTHER_NOTES)
def test_notes_that_are_no_plain_block_are_an_error(entry, notes):
    read = read_entry(entry(ENTRY.format(notes=f"    notes:{notes}\n")))
    with pytest.raises(ValueError, match="block of text that begins"):
        with_note(read, "- one")


BOMB = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (BOMB + PLAIN, "no aliases"),
        ("a: &a {b: *a}\n" + PLAIN, "no aliases"),
        ("x: " + "[" * 40_000, "at most 20 levels"),
        ("x: " + "{a: " * 10_000, "at most 20 levels"),
        ("# " + "x" * 100_000 + "\n" + PLAIN, "at most 100000 bytes"),
        (PLAIN + "tier: 3\n", "each to be there once"),
        (changed(("      epsilon: 2.0", "      epsilon: 2.0\n      epsilon: 3.0")), "there once"),
        (changed(("tier: 2", "[1, 2]: 2")), "expected keys to be texts"),
        (PLAIN + "---\n" + PLAIN, "not a YAML file"),
        (PLAIN + "\t- x: [\n", "not a YAML file"),
        ("- 1\n", "expected keys with values"),
        ("", "expected keys with values"),
        ("text\n", "expected keys with values"),
        ('x: "\\U99999999"\n' + PLAIN, "not a YAML file"),
        ("x: \x00\n" + PLAIN, "not a YAML file"),
        *(
            (changed(("epsilon: 2.0", f"epsilon: {value}")), "to be a number >= 0")
            for value in ("-1", ".inf", ".nan", "true", "1_0", "010", "0x1", "1:30", "1e999",
                          "'two'", "2" * 40, "''", "1.0e+100", "!!python/name:os.system ''")
        ),
        (changed(("epsilon: 2.0", "epsilon: [2.0]")), "to be a text, got ['2.0']"),
        (changed(("delta: 1.0e-05", "delta: 'n^{-2}'")), "to be a number >= 0"),
        (changed(("delta: 1.0e-05", "delta: 1.5")), "and < 1"),
        (changed(("tier: 2", "deployments: 2"), ("deployment:\n", "deployment: 3\nx:\n")), "keys"),
        (changed(("  administrative:", "  other:")), "expected deployment.administrative"),
        (PLAIN.split("  administrative")[0] + "  administrative: {a: b}\n", "a line for each key"),
        (ENTRY.format(notes="    notes: [a]\n"), "to be a text"),
        (ENTRY.format(notes="    notes: ''\n"), "a block of text"),
        (PLAIN.replace("    sources:", "    ? a\n    : b\n    sources:"), "a line for each key"),
    ],
)  # fmt: skip
def test_hostile_entries_are_one_error(entry, tmp_path, text, wanted):
    found = run(entry(text), *GAUSSIAN, "-o", tmp_path / "out.yaml")
    assert found.exit_code == 2, found.output
    assert found.stderr.startswith("Error: ")
    assert wanted in found.stderr
    assert not list(tmp_path.glob("out*"))


def test_files_that_are_no_text_or_not_there(entry, tmp_path):
    path = tmp_path / "entry.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    assert "can't decode" in run(path, *GAUSSIAN, "-o", tmp_path / "out.yaml").stderr
    assert "No such file" in run("no.yaml", *GAUSSIAN, "-o", tmp_path / "out.yaml").stderr
    found = run(entry(), *GAUSSIAN, "-o", tmp_path / "out.json")
    assert "Expected --output to end in .yaml or .yml" in found.stderr
    assert "Missing option" in run(entry(), *GAUSSIAN).stderr


def test_without_pyyaml_the_error_says_what_to_install(entry, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    found = run(entry(), *GAUSSIAN, "-o", tmp_path / "out.yaml")
    assert found.exit_code == 2
    assert "rdpkit certify needs pyyaml" in found.stderr
