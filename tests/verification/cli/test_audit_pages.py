"""``rdpkit audit --report`` and ``--explorer``: pages of an audit, and what is refused."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from rdpkit.verification.claims.reading import register_files, shipped_files
from rdpkit.verification.cli.audit import audit
from tests.verification.claim_files import text


@pytest.fixture
def run():
    def call(*arguments):
        return CliRunner().invoke(audit, [str(argument) for argument in arguments])

    return call


@pytest.fixture
def claims(tmp_path):
    path = tmp_path / "my.claims.toml"
    path.write_text(text(id='"mine"', epsilon="3.0"))
    return path


def test_it_writes_a_folder_and_says_what_is_in_it(run, claims, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    out = tmp_path / "out"
    pages = ("--explorer", out, "--report", tmp_path / "r.html", "--no-curves")
    done = run(claims, *pages, "--jobs", 1, "--cache", tmp_path / "cache")
    assert done.exit_code == 0, done.output
    assert f"{out / 'index.html'}: 1 claim, 1 work, 3 files, 0.0 MB" in done.stderr
    assert f"{tmp_path / 'r.html'}: 1 claim, 0.0 MB" in done.stderr
    page = (out / "works" / "my.html").read_text()
    assert "2023-11-14" in page
    assert f"rdpkit audit {claims} --explain mine" in page
    before = {p.name: p.read_bytes() for p in out.rglob("*.*")}
    assert set(before) == {"index.html", "my.html", "explorer.json"}
    # The same again, byte by byte, from what was kept.
    assert run(claims, *pages, "--cache", tmp_path / "cache").exit_code == 0
    assert {p.name: p.read_bytes() for p in out.rglob("*.*")} == before


def test_what_is_not_an_explorer_is_left_alone_before_anything_is_computed(run, claims, tmp_path):
    done = run(claims, "--explorer", tmp_path)
    assert done.exit_code == 2
    assert done.output == (
        "Error: Expected --explorer to be a new folder, an empty one, or one that it made before, "
        f"got '{tmp_path}', which holds 'my.claims.toml'; all that is in it would be "
        "replaced.\n"
    )
    assert claims.exists()


def test_what_is_shipped_has_a_page_each(run, tmp_path):
    done = run("--papers", "--register", "--explorer", tmp_path / "out")
    assert done.exit_code == 0
    made = {p.stem for p in (tmp_path / "out" / "works").iterdir()}
    assert made == {path.stem for path in [*shipped_files(), *register_files()]}
    page = (tmp_path / "out" / "works" / "dp-cda.html").read_text()
    assert 'id="claim-dpcda-theorem1-l128-t10000"' in page
    assert "--explain dpcda-theorem1-l128-t10000" in page
    assert "two neighbouring data sets leak at least 14.27" in page
    for path in (tmp_path / "out").rglob("*.html"):
        assert path.stat().st_size < 420_000
