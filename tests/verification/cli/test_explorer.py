"""``rdpkit explorer``: a folder of pages, from files, the papers or the register."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from rdpkit.verification.claims.reading import shipped_files
from rdpkit.verification.cli.explorer import explorer
from tests.verification.claim_files import text


@pytest.fixture
def run():
    def call(*arguments):
        return CliRunner().invoke(explorer, [str(argument) for argument in arguments])

    return call


@pytest.fixture
def claims(tmp_path):
    path = tmp_path / "my.claims.toml"
    path.write_text(text(id='"mine"', epsilon="3.0"))
    return path


def test_it_writes_a_folder_and_says_what_is_in_it(run, claims, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    out = tmp_path / "out"
    done = run(claims, "-o", out, "--jobs", 1, "--cache", tmp_path / "cache")
    assert done.exit_code == 0, done.output
    assert f"{out / 'index.html'}: 1 claim, 1 work, 3 files, 0.0 MB" in done.output
    page = (out / "works" / "my.html").read_text()
    assert "2023-11-14" in page
    assert f"rdpkit audit {claims} --explain mine" in page
    before = {p.name: p.read_bytes() for p in out.rglob("*.*")}
    # The same again, byte by byte, from what was kept.
    done = run(claims, "-o", out, "--cache", tmp_path / "cache", "--format", "json")
    told = json.loads(done.output)
    assert (told["works"], told["claims"]) == (1, 1)
    assert told["index"] == str(out / "index.html")
    assert set(told["files"]) == {"index.html", "works/my.html", "explorer.json"}
    assert {p.name: p.read_bytes() for p in out.rglob("*.*")} == before


def test_what_is_not_an_explorer_is_left_alone_before_anything_is_computed(run, claims, tmp_path):
    done = run(claims, "-o", tmp_path)
    assert done.exit_code == 2
    assert done.output == (
        "Error: Expected --output to be a new folder, an empty one, or one that rdpkit explorer "
        f"made, got '{tmp_path}', which holds 'my.claims.toml'; all that is in it would be "
        "replaced.\n"
    )
    assert claims.exists()
    assert run(claims).exit_code == 2


@pytest.mark.slow
def test_the_papers_have_a_page_each(run, tmp_path):
    done = run("-o", tmp_path / "out", "--papers", "--jobs", 2)
    assert done.exit_code == 0
    made = {p.stem for p in (tmp_path / "out" / "works").iterdir()}
    assert made == {path.stem for path in shipped_files()}
    page = (tmp_path / "out" / "works" / "dp-cda.html").read_text()
    assert 'id="claim-dpcda-theorem1-l128-t10000"' in page
    assert "rdpkit audit --explain dpcda-theorem1-l128-t10000" in page
    assert "two neighbouring data sets leak at least 14.27" in page
    for path in (tmp_path / "out").rglob("*.html"):
        assert path.stat().st_size < 420_000
