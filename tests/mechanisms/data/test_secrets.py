"""Records thrown at every reader: whatever comes out quotes none of them."""

from __future__ import annotations

import io
import json
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

from rdpkit.cli import main
from rdpkit.mechanisms.data.dataset import load_table
from rdpkit.mechanisms.data.images import load_images
from rdpkit.mechanisms.data.tables.drafting import draft_schema
from rdpkit.mechanisms.data.tables.encoding import encode
from rdpkit.mechanisms.data.tables.files import read, write
from rdpkit.mechanisms.data.tables.schema import Column, Schema

SECRET = "Zebulon"
NUMBER = "918273645"
SCHEMA = Schema(
    columns=(
        Column(name="age", kind="integer", range=(0, 120)),
        Column(name="job", kind="category", values=("clerk", "boss"), missing=True),
        Column(name="born", kind="date", range=("1900-01-01", "2020-12-31")),
        Column(name="pay", kind="number", range=(0.0, 1e5)),
    )
)
LINES = {
    "ragged": f"31,{SECRET},2000-01-01,{NUMBER},more",
    "short": f"{SECRET}{NUMBER}",
    "not a number": f"{SECRET},clerk,{NUMBER},nan",
    "huge": f"{NUMBER * 40},{SECRET},9999999-99-99,1e{NUMBER}",
    "quote": f'31,"{SECRET},{NUMBER}',
    "quotes": f'31,"{SECRET}"x{NUMBER}"",",a',
    "nul": f"31\0,{SECRET}\0,{NUMBER},\0",
    "unicode": f"٣١,\u202e{SECRET}\U0001f600,{NUMBER},½",
    "separators": f"31;{SECRET};{NUMBER}\t|",
    "date": f"31,{SECRET},31/12/{NUMBER},inf",
}


def said(error: BaseException | None) -> str:
    """An exception with everything that is chained to it."""
    words = ""
    while error is not None:
        words += repr(error)
        error = error.__cause__ or error.__context__
    return words


def quoted(text: str) -> bool:
    return SECRET in text or NUMBER in text


def attempt(function) -> str:
    try:
        function()
    except Exception as error:
        return said(error)
    return ""


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
@pytest.mark.parametrize("header", [True, False])
def test_no_line_of_a_csv_file_fails_or_is_quoted(tmp_path, line, header):
    path = tmp_path / "data.csv"
    usual = "41,boss,1990-05-06,12.5\n"
    top = "age,job,born,pay\n" if header else ""
    path.write_bytes((top + line + "\n" + usual * 20 + line).encode() + b"\xff\xfe\n")
    if header:
        codes = encode(read(path, schema=SCHEMA), SCHEMA)
        # No line takes others with it.
        assert 20 <= len(codes) <= 22
    else:
        assert not quoted(attempt(lambda: encode(read(path, schema=SCHEMA), SCHEMA)))
    assert not quoted(attempt(lambda: draft_schema(read(path))))
    for more in ([], ["--paid"], ["-o", str(tmp_path / "s.toml")]):
        found = CliRunner().invoke(main, ["synthesize", str(path), "--draft-schema", *more])
        assert not quoted(found.output + said(found.exception))


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_columns_of_other_types_are_not_quoted(tmp_path, suffix):
    for kind in (pa.string(), pa.binary(), pa.list_(pa.string())):
        value = [SECRET] if pa.types.is_list(kind) else SECRET
        table = pa.table({"age": pa.array([value] * 30, kind), "job": ["clerk"] * 30})
        write(table, tmp_path / f"t.{suffix}")
        assert not quoted(attempt(lambda: encode(read(tmp_path / f"t.{suffix}"), SCHEMA)))
        assert not quoted(attempt(partial(draft_schema, table)))
    (tmp_path / f"bad.{suffix}").write_bytes(f"PAR1{SECRET}{NUMBER}PAR1".encode())
    assert not quoted(attempt(lambda: read(tmp_path / f"bad.{suffix}")))


@pytest.mark.parametrize("line", [*LINES.values(), f"{SECRET},x", f"1,{SECRET}"])
def test_tables_of_numbers_quote_nothing(tmp_path, line):
    path = tmp_path / "data.csv"
    path.write_text(f"a,label\n1,x\n{line}\n")
    given = {"label": "label", "classes": ("x", "y"), "ranges": (0.0, 1.0)}
    assert not quoted(attempt(lambda: load_table(path, path, **given)))


def test_images_quote_nothing(tmp_path):
    image = pytest.importorskip("PIL.Image")
    folder = tmp_path / "images"
    for name in ("cat", SECRET):
        (folder / name).mkdir(parents=True)
    image.fromarray(np.zeros((4, 4), np.uint8)).save(folder / "cat" / "a.png")
    content = io.BytesIO()
    image.fromarray(np.zeros((9, 9), np.uint8)).save(content, "PNG")
    for classes in (None, ["cat"], ["cat", "dog"]):
        for data in (content.getvalue(), content.getvalue()[:40], b"", SECRET.encode()):
            (folder / "cat" / f"{SECRET}.png").write_bytes(data)
            assert not quoted(attempt(partial(load_images, folder, classes=classes)))
    (folder / "cat" / f"{SECRET}.txt").write_text(SECRET)
    assert not quoted(attempt(lambda: load_images(folder)))
    for labels in (np.array([SECRET, "cat"]), np.array([int(NUMBER), 0])):
        np.savez(tmp_path / "i.npz", x=np.zeros((2, 4, 4), np.uint8), y=labels)
        for classes in (["cat", "dog"], 2):
            found = attempt(partial(load_images, tmp_path / "i.npz", classes=classes))
            assert not quoted(found)


@pytest.mark.thorough
def test_a_private_release_shows_nothing_that_nobody_confirmed(tmp_path, monkeypatch):
    """From the table to the manifest, with a schema whose domains are paid for."""
    names = [f"{SECRET}{k}" for k in range(60)]
    table = pa.table({"name of it": names, "job": ["clerk", "boss"] * 30, "x": [int(NUMBER)] * 60})
    write(table, tmp_path / "t.csv")
    draft = draft_schema(read(tmp_path / "t.csv"), paid=True)
    schema = draft.schema.confirmed(dict.fromkeys(draft.schema.names, "a form"))
    (tmp_path / "s.toml").write_text(schema.as_toml())
    command = f"synthesize {tmp_path}/t.csv --schema {tmp_path}/s.toml --epsilon 1 --delta 1e-6"
    options = f"--adjacency replace_one -o {tmp_path}/synth.csv"
    found = CliRunner().invoke(main, f"{command} {options}".split())
    assert found.exit_code == 0, found.output
    manifest = json.loads((tmp_path / "synth.json").read_text())
    assert manifest["private"]
    made = (tmp_path / "synth.csv").read_text()
    assert not quoted(found.output + json.dumps(manifest) + made)
