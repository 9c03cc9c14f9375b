"""The claims of a folder: which files are claims, and what a project says."""

import json
import os

import pytest

from rdpkit.mechanisms.releases.ledger import Ledger
from rdpkit.verification.claims.discovery import claims_here

PROJECT = "[tool.rdpkit]\nclaims = {}\n"


def here(folder):
    return [path.relative_to(folder).as_posix() for path in claims_here(folder).files]


def test_files_of_claims_manifests_and_ledgers_are_found(tmp_path):
    manifest = {"reproducible_noise": False, "guarantee": {"epsilon": 1.0}}
    files = {
        "a.claims.toml": "",
        "deep/er/b.claims.toml": "",
        "deep/release.json": json.dumps(manifest),
        "deep/baseline.json": json.dumps({**manifest, "guarantee": None}),
        "package.json": "{}",
        "broken.json": "{",
        "ledger.jsonl": '{"line": 1, "kind": "ledger of releases", "version": 1}\n',
        "emptied.jsonl": "",
        "other.jsonl": "{}\n",
        "claims.txt": "",
        "venv/c.claims.toml": "",
        ".hidden/d.claims.toml": "",
        "node_modules/e.claims.toml": "",
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    assert here(tmp_path) == [
        "a.claims.toml",
        "deep/er/b.claims.toml",
        "deep/release.json",
        "ledger.jsonl",
    ]
    left_out = [one.removeprefix(f"{tmp_path}/") for one in claims_here(tmp_path).left_out]
    assert left_out == [
        "broken.json: it is no JSON",
        "deep/baseline.json: this manifest guarantees nothing",
        "emptied.jsonl: it is empty",
    ]


def test_what_is_not_looked_into_is_said(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    os.mkfifo(tmp_path / "pipe.json")
    ledger = Ledger.create(tmp_path / "new.jsonl")
    ledger.open("people", adjacency="add_or_remove_one", delta=1e-6, epsilon=1.0)
    found = claims_here(tmp_path)
    assert found.files == []
    assert [one.rpartition("/")[2] for one in found.left_out] == [
        "link: links to folders are not followed",
        "new.jsonl: nothing was released from this ledger's data",
    ]


def test_a_project_says_which_files_are_its_claims(tmp_path):
    for name in ("a.toml", "b.toml", "c.claims.toml"):
        (tmp_path / name).write_text("")
    project = tmp_path / "pyproject.toml"
    project.write_text(PROJECT.format('["b.toml", "[ab].toml"]'))
    assert here(tmp_path) == ["b.toml", "a.toml"]
    project.write_text("[project]\nname = 'x'\n")
    assert here(tmp_path) == ["c.claims.toml"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (PROJECT.format('["none.toml"]'), "Expected a file for 'none.toml'"),
        (PROJECT.format('"a.toml"'), "to be a list of files or patterns"),
        (PROJECT.format("[1]"), "to be a list of files or patterns"),
        (PROJECT.format('[""]'), "to be a list of files or patterns"),
        (PROJECT.format('["/etc/passwd"]'), "to be a list of files or patterns"),
        ("[tool", "not a TOML file"),
    ],
)
def test_what_a_project_says_wrongly_is_named(tmp_path, content, words):
    (tmp_path / "pyproject.toml").write_text(content)
    with pytest.raises(ValueError, match=r"pyproject\.toml") as error:
        claims_here(tmp_path)
    assert words in str(error.value)
