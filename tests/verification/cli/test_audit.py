"""rdpkit audit: what is read, what is printed, and the pages."""

from __future__ import annotations

import hashlib
import json
from functools import partial

import pytest

import rdpkit
from rdpkit.verification.claims.reading import register_files, shipped_files
from tests.cli import commands
from tests.verification.claim_files import text

MISSING = text(
    id='"m"', mechanism='"unmodelled"', adjacency='"replace_one"', missing='["everything"]',
    epsilon=None, delta=None, parameters=None,
)  # fmt: skip


def claim(epsilon="0.80", *, identifier="a", note="n"):
    return text(id=f'"{identifier}"', bound='"gaussian"', epsilon=epsilon, notes=f'["{note}"]')


@pytest.fixture
def audit(tmp_path):
    """Run the command on one file with this content."""

    def run(content, *options):
        path = tmp_path / "claims.toml"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return commands.run("audit", path, *options)

    return run


def test_a_claim_that_reproduces_and_is_sound(audit):
    done = audit(claim())
    assert done.exit_code == 0
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0] == "The claim is proven."
    row = next(line for line in lines if line.startswith("a\t")).split("\t")
    assert row[1] == "0.80"
    assert row[-4:] == ["sound", "exact", "1e-05", "add-or-remove-one"]
    assert lines[-1] == "1 claim: 1 sound (1 exact)."


def test_json_has_one_entry_a_claim_in_the_order_of_the_file(audit):
    def refuse(constant):
        raise AssertionError(f"not JSON: {constant}")

    done = audit(claim() + claim("inf", identifier="b") + MISSING, "--format", "json")
    data = json.loads(done.stdout, parse_constant=refuse)
    assert data.keys() == {"made", "claims", "summary"}
    assert data["summary"]["claims"] == 3
    assert data["summary"]["sentences"] == [
        "Of 3 claims none is refuted, 1 differs from its own formula, 1 cannot be recomputed "
        "from what is given, and 2 are proven, of which 1 could be halved."
    ]
    assert [entry["id"] for entry in data["claims"]] == ["a", "b", "m"]
    assert [entry["claimed_epsilon"] for entry in data["claims"]] == [0.8, "inf", None]
    assert data["claims"][2]["reproduction"] == "underspecified"
    assert data["claims"][2]["missing"] == ["everything"]


@pytest.mark.parametrize(
    ("content", "options", "status"),
    [
        (claim(), [], 0),
        (claim("0.9"), [], 1),
        (claim("0.5"), [], 1),
        (MISSING, [], 0),
        (claim("0.9"), ["--fail-on", "nothing"], 0),
        (claim("0.9"), ["--fail-on", "differs"], 1),
        (claim("0.9"), ["--fail-on", "unproven"], 0),
        (claim(), ["--fail-on", "differs", "--fail-on", "unproven"], 0),
        (MISSING, ["--fail-on", "underspecified"], 1),
        (MISSING, ["--fail-on", "differs", "--fail-on", "unproven"], 1),
        (claim("0.9"), ["--format", "json"], 1),
        (claim(), ["--fail-on", "sound"], 2),
        ("", [], 2),
    ],
)
def test_exit_status(audit, content, options, status):
    assert audit(content, *options).exit_code == status


def test_many_claims_are_summed_up_unless_all_are_asked_for(audit):
    content = "".join(claim(identifier=f"claim-{i}", note="said") for i in range(30))
    short, whole = audit(content).stdout, audit(content, "--all").stdout
    assert "claim-7" not in short
    assert "said" not in short
    assert "said" in audit(content, "--notes").stdout
    assert sum(line.startswith("claim-") for line in whole.splitlines()) >= 30


def test_notes_are_printed_once_with_the_claims_they_are_about(audit):
    content = "".join(claim(identifier=name, note="same") for name in "abcde")
    assert "a, b, c and 2 more: same" in audit(content).stdout
    assert "same" not in audit(content, "--no-notes").stdout


@pytest.mark.parametrize("name", ["[bold red]x[/bold red]", "[/]", "[link=x]", ":smile:", "\u4e2d"])
def test_names_and_notes_are_text_and_not_markup(audit, name):
    done = audit(claim(identifier=name, note=name))
    assert done.exit_code == 0
    assert any(line.startswith(name) for line in done.stdout.splitlines())
    assert f"{name}: {name}" in done.stdout
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "expected at least one [[claim]]"),
        ("claim = 1", "expected at least one [[claim]]"),
        (claim() + claim(), "claim 'a': expected id to be unique"),
        (claim("nan"), "claim 'a': expected epsilon to be a number >= 0, got NaN"),
        (claim("-1"), "claim 'a': expected epsilon to be a number >= 0, got -1"),
        (claim("1979-05-27"), "claim 'a': expected epsilon to be a number >= 0"),
        (claim().replace('"gaussian"\nad', '"no\\nne"\nad'), "claim 'a': expected mechanism to be"),
        (claim().replace('bound = "g', 'bound = "G'), "claim 'a': Expected bound to be one of"),
        (claim().replace("5.0", "1" + "0" * 400), "claim 'a': Expected noise_std to be a finite"),
        ("claim = " + "[" * 10000, "not a TOML file"),
        (b"\xff\xfe\x00", "not a TOML file"),
        ("\ufeff" + claim() + "[", "not a TOML file"),
    ],
)
def test_bad_claims_are_one_line_and_status_2(audit, content, message):
    done = audit(content)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
    assert "claims.toml:" in done.stderr
    assert message in done.stderr


@pytest.mark.parametrize("name", ["no.toml", ".", ""])
def test_files_that_cannot_be_read(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    done = commands.run("audit", name)
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1


def test_one_bad_file_stops_the_audit_before_it_begins(tmp_path):
    good, bad = tmp_path / "good.toml", tmp_path / "bad.toml"
    good.write_text(claim())
    bad.write_text("")
    done = commands.run("audit", str(good), str(bad))
    assert done.exit_code == 2
    assert done.stdout == ""
    assert str(bad) in done.stderr


def test_ids_are_unique_over_files(tmp_path):
    for name in ("one.toml", "two.toml"):
        (tmp_path / name).write_text(claim())
    done = commands.run("audit", *map(str, sorted(tmp_path.iterdir())))
    assert done.exit_code == 2
    assert "one.toml has it too" in done.stderr


@pytest.mark.parametrize("epsilon", ["1e" + "9" * 20, "1e-99999999", "0e-500"])
def test_extreme_numbers_are_judged_or_refused_in_one_line(audit, epsilon):
    done = audit(claim(epsilon))
    assert done.exit_code in (1, 2)
    assert done.stderr.count("\n") == (1 if done.exit_code == 2 else 0)


def test_a_name_cannot_steer_the_terminal(audit):
    done = audit(claim(identifier=r"\u001b[2Jx"))
    assert "\x1b" not in done.stdout + done.stderr


def test_a_long_number_does_not_cut_the_verdict(audit):
    assert "differs" in audit(claim("1" + "0" * 300), "--no-notes").stdout


WORK = '[work]\ntitle = "A paper"\nyear = 2016\nkind = "training"\n'


def test_claims_are_chosen_by_kind_and_year_and_findings_by_verdict(audit):
    content = WORK + claim("0.80") + claim("0.10", identifier="b")
    chosen = ("--kind", "training", "--year", "2016:2020", "--format", "json")
    for verdict, names in (("sound", "a"), ("refuted", "b"), ("unproven", "")):
        done = audit(content, *chosen, "--verdict", verdict)
        assert done.exit_code == 1  # what is not shown counts all the same
        assert "".join(entry["id"] for entry in json.loads(done.stdout)["claims"]) == names
    for options in (("--kind", "local"), ("--year", "2017:")):
        done = audit(content, *options)
        assert done.exit_code == 2
        assert "no claim is of this kind and these years" in done.stderr


def test_the_register_takes_the_place_of_files(audit):
    done = commands.run("audit", "--register", "--explain", "opacus-mnist-sigma1.1")
    assert done.exit_code == 0
    assert "claimed       epsilon 2.91, delta 1e-05" in done.stdout
    done = audit(claim(), "--register")
    assert done.exit_code == 2
    assert "Expected FILES, or --papers and --register, got both." in done.stderr


def test_without_files_it_is_about_the_claims_of_this_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = commands.run("audit")
    assert done.exit_code == 2
    assert "There are no claims in this folder" in done.stderr
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.claims.toml").write_text(claim("0.1"))
    done = commands.run("audit", "--format", "json")
    found = json.loads(done.stdout)
    (entry,), made = found["claims"], found["made"]
    content = (tmp_path / "sub" / "a.claims.toml").read_bytes()
    assert made["sha256"] == {"sub/a.claims.toml": hashlib.sha256(content).hexdigest()}
    assert made["versions"]["rdpkit"] == rdpkit.__version__
    assert (done.exit_code, entry["id"], entry["file"]) == (1, "a", "sub/a.claims.toml")
    # A folder that is named is looked into as this one is.
    done = commands.run("audit", ".", "--format", "json")
    assert [one["file"] for one in json.loads(done.stdout)["claims"]] == ["sub/a.claims.toml"]
    (tmp_path / "empty").mkdir()
    done = commands.run("audit", "empty")
    assert (done.exit_code, done.stderr) == (2, "Error: There are no claims in empty.\n")


@pytest.mark.parametrize("name", ["r.html", "r.md", "r.xml", "r.sarif", "r.csv", "r.tex", "r.json"])
def test_the_end_of_a_name_says_what_is_written(audit, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    assert audit(claim("0.1", identifier="an_id"), "--no-curves", "-o", name).exit_code == 1
    begins = {
        "r.html": "<!doctype", "r.md": "## privacy", "r.xml": "<?xml", "r.sarif": "{",
        "r.csv": "claim,", "r.tex": "\\begin{tabular}", "r.json": "{",
    }[name]  # fmt: skip
    written = (tmp_path / name).read_text()
    assert written.lower().startswith(begins)
    assert "an_id" in written.replace("\\_", "_").replace("&#95;", "_")


def test_names_cannot_be_formulas_or_commands_in_tables(audit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = r"=1+1\\input{x}&%"
    assert audit(claim(identifier=name), "-o", "r.csv").exit_code == 0
    assert "\n'=1+1" in (tmp_path / "r.csv").read_text()
    assert audit(claim(identifier=name), "-o", "r.tex").exit_code == 0
    assert r"=1+1\textbackslash{}input\{x\}\&\%" in (tmp_path / "r.tex").read_text()


def test_a_page_is_written_to_one_file_alone(audit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = audit(claim(), "-o", "a.html", "--report", "b.html")
    assert done.exit_code == 2
    assert "Expected --output or --report, got both" in done.stderr


@pytest.fixture
def run():
    return partial(commands.run, "audit")


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
