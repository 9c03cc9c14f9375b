import json
import warnings

import numpy as np
import pyarrow as pa
import pytest
import torch
from click.testing import CliRunner

from rdpkit.mechanisms import Ledger, NoiseSource, check_arrays, load_manifest, synthesize_table
from rdpkit.mechanisms.cli.synthesize import synthesize
from rdpkit.mechanisms.data.tables.reading import read
from rdpkit.mechanisms.data.tables.schema import Column, Schema
from rdpkit.mechanisms.data.tables.writing import write
from rdpkit.mechanisms.parts.marginals import table_model
from rdpkit.mechanisms.parts.marginals.mixture import MixtureFit

SCHEMA = Schema(
    columns=(
        Column(name="age", kind="integer", type="int64", range=(17, 90), bins=8),
        Column(name="job", kind="category", type="string", values=("a", "b"), missing=True),
        Column(name="born", kind="date", range=("1930-01-01", "2010-12-31"), bins=4),
        Column(name="paid", kind="number", type="double", range=(0.0, 10.0), bins=4),
    )
)
QUESTION = {"epsilon": 1.0, "delta": 1e-6, "adjacency": "replace_one"}


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    fit_mixture, few = table_model.fit_mixture, MixtureFit(components=4, steps=3)
    monkeypatch.setattr(
        table_model,
        "fit_mixture",
        lambda singles, pairs, fit, **given: fit_mixture(singles, pairs, few, **given),
    )
    yield
    torch.set_num_threads(before)


def private(rows=300):
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "age": rng.integers(0, 120, rows),
            "job": pa.array([None, "b", "z"] * (rows // 3), type=pa.string()),
            "born": pa.array(rng.integers(0, 9000, rows), type=pa.int32()).cast(pa.date32()),
            "paid": rng.normal(5.0, 9.0, rows),
            "name": ["somebody"] * rows,
        }
    )


def test_a_table_comes_back_with_its_columns_types_and_ranges(tmp_path):
    made = synthesize_table(private(), schema=SCHEMA, **QUESTION, rows=70)
    assert made.table.column_names == ["age", "job", "born", "paid"]
    assert [str(kind) for kind in made.table.schema.types] == [
        "int64", "string", "date32[day]", "double",
    ]  # fmt: skip
    ages, paid = np.asarray(made.table["age"]), np.asarray(made.table["paid"])
    assert 17 <= ages.min() <= ages.max() <= 90
    assert 0.0 <= paid.min() <= paid.max() <= 10.0
    assert set(made.table["job"].to_pylist()) <= {"a", "b", None}
    assert 0.9999 < made.guarantee.epsilon <= 1.0
    assert made.private

    saved = made.save(tmp_path / "synth.parquet", dataset="people")
    assert read(tmp_path / "synth.parquet").equals(made.table)
    manifest = load_manifest(tmp_path / "synth.json")
    assert manifest == saved.manifest
    assert manifest.private
    assert manifest.dataset == "people"
    assert Schema.from_table(manifest.schema) == SCHEMA
    assert check_arrays(tmp_path / "synth.json") == ()
    # The manifest shows no exact number of the private records.
    assert manifest.parameters["rows"] == 70


def test_the_number_of_records_is_noisy():
    found = [
        synthesize_table(private(), schema=SCHEMA, **QUESTION).table.num_rows for _ in range(3)
    ]
    # The estimate has a standard deviation of 20 or more; three equal ones are no chance.
    assert len(set(found)) > 1


def test_what_is_released_is_charged_before_noise_is_drawn():
    events = []
    noise = NoiseSource.seeded(1)

    def charge(event):
        assert noise.position == 0
        events.append(event)
        raise RuntimeError("over budget")

    with pytest.raises(RuntimeError, match="over budget"):
        synthesize_table(private(), schema=SCHEMA, **QUESTION, noise=noise, before=charge)
    assert len(events) == 1


def test_a_draft_is_refused_unless_it_is_accepted_and_then_nothing_is_private():
    columns = [{**column, "public": False} for column in SCHEMA.as_table()["column"]]
    drafted = {"column": columns}
    with pytest.raises(ValueError, match="draft that was read from private records: age"):
        synthesize_table(private(), schema=drafted, **QUESTION)
    made = synthesize_table(private(), schema=drafted, **QUESTION, accept_drafted_schema=True)
    assert not made.private
    assert any("read from the private records" in check.sentence for check in made.checks)


def test_seeded_noise_is_not_private():
    made = synthesize_table(private(), schema=SCHEMA, **QUESTION, noise=NoiseSource.seeded(1))
    assert not made.private


def test_neighbours_differ_by_noise_alone():
    """The same noise, and one record more that is as wild as it may be: nothing is refused."""
    table = private(30)
    wild = pa.table(
        {"age": [10**15], "job": ["?"], "born": [None], "paid": [float("nan")], "name": [None]},
        schema=table.schema,
    )
    for one in (table, pa.concat_tables([table, wild]), table.slice(0, 0)):
        made = synthesize_table(one, schema=SCHEMA, **QUESTION, rows=9)
        assert made.table.num_rows == 9


@pytest.fixture
def files(tmp_path):
    write(private(), tmp_path / "data.csv")
    (tmp_path / "schema.toml").write_text(SCHEMA.as_toml())
    return tmp_path


def run(*args, status=0):
    with warnings.catch_warnings():
        found = CliRunner().invoke(synthesize, [str(arg) for arg in args])
    assert found.exit_code == status, found.output
    return found.output


def question(folder):
    return (
        folder / "data.csv", "--schema", folder / "schema.toml", "--epsilon", "1", "--delta",
        "1e-6", "--adjacency", "replace_one",
    )  # fmt: skip


def test_the_command_writes_a_table_and_its_manifest(files):
    out = files / "synth.csv"
    text = run(*question(files), "-o", out, "--drop", "born")
    assert "of 3 columns in" in text
    assert "PRIVATE, if what it depends on is true" in text
    assert read(out).column_names == ["age", "job", "paid"]
    assert load_manifest(files / "synth.json").guarantee.epsilon <= 1.0
    shown = json.loads(
        run(*question(files), "-o", out, "--columns", "age", "--rows", "5", "--format", "json")
    )
    assert (shown["rows"], shown["columns"], shown["private"]) == (5, ["age"], True)


def test_a_ledger_pays_before_and_refuses_beyond_its_budget(files):
    ledger = Ledger.create(files / "ledger.json")
    ledger.open("people", adjacency="replace_one", epsilon=1.5, delta=1e-5)
    paid = (*question(files), "--ledger", ledger.path, "--dataset", "people")
    run(*paid, "-o", files / "one.csv")
    again = Ledger(ledger.path)
    assert again.problems("people") == ()
    (release,) = again.account("people").releases
    assert release.epsilon <= 1.0
    run(*paid, "-o", files / "two.csv", status=1)
    assert not (files / "two.csv").exists()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("data.csv", "-o", "s.csv"), "--schema, --epsilon, --delta, --adjacency"),
        (("QUESTION",), "Expected --output"),
        (("QUESTION", "-o", "s.npz"), "path"),
        (("QUESTION", "-o", "data.csv"), "another file"),
        (("QUESTION", "-o", "s.csv", "--seed", "1"), "never seeded"),
        (("QUESTION", "-o", "s.csv", "--mechanism", "dpcda"), "marginals"),
        (("QUESTION", "-o", "s.csv", "--columns", "agee"), "age"),
        (("digits-dpcda", "-o", "s.npz", "--epsilon", "1"), "Expected a table"),
    ],
)
def test_what_does_not_fit_is_said(files, monkeypatch, given, message):
    monkeypatch.chdir(files)
    args = [part for one in given for part in (question(files) if one == "QUESTION" else (one,))]
    assert message in run(*args, status=2)
    assert not (files / "s.csv").exists()


def test_edges_that_are_paid_for_are_noisy_and_in_the_account():
    """A long tail in a wide range: parts are narrow where values are, and the event says so."""
    column = Column(name="paid", kind="number", range=(0.0, 1e6), edges="paid for")
    values = np.exp(np.random.default_rng(0).normal(size=3000))
    given = {**QUESTION, "epsilon": 5.0, "noise": NoiseSource.seeded(1)}
    made = synthesize_table(pa.table({"paid": values}), schema=Schema(columns=(column,)), **given)
    assert made.guarantee.epsilon <= 5.0
    event = made.stated["event"]
    assert len(event.events) == 4
    assert event.events[0].noise_std == pytest.approx(event.events[1].noise_std * 2.0)
    (found,) = made.schema.columns
    assert isinstance(found.edges, tuple)
    assert 16 <= found.parts <= 64
    assert np.median(made.table["paid"].to_numpy()) == pytest.approx(1.0, abs=0.3)
    again = Schema.from_table(made.schema.as_table())
    assert again == made.schema
    few = synthesize_table(
        pa.table({"paid": values[:20]}), schema=Schema(columns=(column,)), **given
    )
    assert few.schema.columns[0].edges is None


def test_edges_are_paid_for_of_numbers_alone():
    with pytest.raises(ValueError, match="list of values"):
        Column(name="born", kind="date", range=("1930-01-01", "2010-12-31"), edges="paid for")
    with pytest.raises(ValueError, match="paid for"):
        Column(name="paid", kind="number", range=(0.0, 1.0), edges="free")
