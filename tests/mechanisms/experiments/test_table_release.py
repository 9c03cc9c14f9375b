import json
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
import torch

from rdpkit.mechanisms import Ledger, NoiseSource, check_arrays, load_manifest, synthesize_table
from rdpkit.mechanisms.data.tables.files import read, write
from rdpkit.mechanisms.data.tables.schema import Column, Schema
from rdpkit.mechanisms.experiments.table_release import of_each_person
from rdpkit.mechanisms.parts.marginals import table_model
from rdpkit.mechanisms.parts.marginals.mixture import MixtureFit
from tests.cli import commands

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


def test_ranges_that_nobody_cut_pay_for_their_parts():
    """One round more, of the same cost in all; with stated bins or shares there is none."""
    skewed = private().set_column(
        3, "paid", pa.array(np.random.default_rng(1).lognormal(0.0, 1.0, 300))
    )
    open_range = Column(name="paid", kind="number", type="double", range=(0.0, 1e6))
    schema = Schema(columns=(*SCHEMA.columns[:3], open_range))
    events = []
    for given_schema, options in ((SCHEMA, {}), (schema, {}), (schema, {"one_way": 0.95})):
        made = synthesize_table(
            skewed, schema=given_schema, **QUESTION, options=options, before=events.append
        )
        assert 0.9999 < made.guarantee.epsilon <= 1.0
        assert made.private
        assert made.schema == given_schema
    assert [len(event.events) for event in events] == [3, 4, 3]


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
    found = commands.run("synthesize", *args)
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
    out = files / "age.csv"
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


def of_visits(count):
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "who": [f"p{k // 4}" if k % 50 else None for k in range(count)],
            "age": rng.integers(20, 80, count),
            "job": rng.choice(["a", "b"], count),
        }
    )


@pytest.mark.parametrize("adjacency", ["replace_one", "add_or_remove_one"])
def test_a_person_with_several_records_is_bounded_and_pays_for_all(adjacency):
    table, question = of_visits(400), {**QUESTION, "adjacency": adjacency}
    schema = SCHEMA.select(["age", "job"])
    charged = []
    made = synthesize_table(
        table, schema=schema, person=("who", 2), before=charged.append, **question
    )
    assert made.private
    assert 0.99 < made.guarantee.epsilon <= 1.0
    assert charged == [made.stated["event"]]
    assert made.stated["parameters"]["most_per_person"] == charged[0].size == 2
    kept = of_each_person(table, "who", 2, NoiseSource.system())
    assert max(Counter(kept["who"].to_pylist()).values()) == 2
    assert kept["who"].null_count == 0
    with pytest.raises(ValueError, match="person to be a column"):
        synthesize_table(table, schema=schema, person=("nobody", 2), **question)


def test_a_ledger_of_persons_takes_releases_of_persons_alone(tmp_path):
    write(of_visits(200), tmp_path / "t.csv")
    (tmp_path / "s.toml").write_text(SCHEMA.select(["age", "job"]).as_toml())
    ledger = Ledger.create(tmp_path / "l.jsonl")
    ledger.open("visits", adjacency="replace_one", delta=1e-6, epsilon=3.0, of_persons=True)
    command = (
        f"{tmp_path}/t.csv --schema {tmp_path}/s.toml --epsilon 1 --delta 1e-6 --adjacency "
        f"replace_one --ledger {tmp_path}/l.jsonl --dataset visits -o {tmp_path}/synth.csv"
    )
    found = commands.run("synthesize", *command.split())
    assert "its guarantee is about a single record" in f"{found.output} {found.exception}"
    assert not (tmp_path / "synth.csv").exists()
    found = commands.run("synthesize", *command.split(), "--person", "who")
    assert "--person and --most-per-person together" in f"{found.output} {found.exception}"
    options = ["--person", "who", "--most-per-person", "4"]
    found = commands.run("synthesize", *command.split(), *options)
    assert found.exit_code == 0, found.output
    (one,) = Ledger(ledger.path).account("visits").releases
    assert one.sha256 is not None
    assert one.event.size == 4


def test_domains_that_are_paid_for_are_charged(tmp_path):
    columns = [
        {"name": "age", "kind": "integer", "paid": True},
        {"name": "job", "kind": "category", "paid": True, "missing": True},
    ]
    seen = []
    made = synthesize_table(
        of_visits(400), schema={"column": columns}, before=seen.append, **QUESTION
    )
    assert seen == [made.stated["event"]]
    assert 0.99 < made.guarantee.epsilon <= 1.0
    assert made.stated["parameters"]["public"] == {
        "column age": "stated",
        "column job": "stated",
        "parts of age": "paid",
        "parts of job": "paid",
        "options": "stated",
    }
    ledger = Ledger.create(tmp_path / "l.jsonl")
    ledger.open("visits", adjacency="replace_one", delta=1e-5, epsilon=3.0, delta_for_events=2e-6)
    plan = {"dataset": "visits", "adjacency": "replace_one", "delta": 1e-6}
    number = ledger.charge(event=seen[0], path=tmp_path / "synth.csv", **plan)
    made.save(tmp_path / "synth.csv", dataset="visits")
    assert ledger.complete(number, tmp_path / "synth.json").sha256 is not None
    assert load_manifest(tmp_path / "synth.json").private
