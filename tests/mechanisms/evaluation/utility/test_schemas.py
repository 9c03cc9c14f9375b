"""Tables whose columns are read as a schema says: dates, ranges, categories that are not listed."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import rdpkit
from rdpkit.mechanisms import NoiseSource, Privacy, evaluate_release
from rdpkit.mechanisms.data.tables.schema import Column, Schema
from rdpkit.mechanisms.evaluation.utility.outputs import utility_markdown, utility_page
from rdpkit.mechanisms.evaluation.utility.samples import of_schema
from rdpkit.mechanisms.releases.file_release import save_file_release
from rdpkit.mechanisms.releases.release import guaranteed

SCHEMA = Schema(
    columns=(
        Column(name="born", kind="date", range=("1950-01-01", "2000-12-31")),
        Column(name="seen", kind="datetime", range=("2020-01-01", "2021-01-01")),
        Column(name="age", kind="integer", range=(0, 100), missing=True),
        Column(name="sex", kind="category", values=("f", "m"), other="x"),
        Column(name="ill", kind="boolean"),
        Column(name="code", kind="category", type="int64", values=(1, 2, 30)),
    )
)


def table(n, seed):
    rng = np.random.default_rng(seed)
    ill = rng.random(n) < 0.4
    age = rng.integers(0, 60, n) + 40 * ill
    return pa.table(
        {
            "born": [dt.date(2000, 1, 1) - dt.timedelta(days=int(365 * a / 2)) for a in age],
            "seen": [dt.datetime(2020, 1, 1) + dt.timedelta(hours=int(h)) for h in age],
            "age": pa.array(age, mask=rng.random(n) < 0.1),
            "sex": rng.choice(["f", "m", "x"], n),
            "ill": ill,
            "code": rng.choice([1, 2, 30], n),
        }
    )


def test_files_and_tables_are_read_alike(tmp_path):
    made, true = table(300, 0), table(300, 1)
    csv.write_csv(made, tmp_path / "made.csv")
    csv.write_csv(true, tmp_path / "true.csv")
    stated = tmp_path / "schema.toml"
    stated.write_text(SCHEMA.as_toml())
    asked = {"target": ["ill"], "models": ["logistic"]}
    one = evaluate_release(made, real=true, schema=SCHEMA, **asked)
    other = evaluate_release(
        tmp_path / "made.csv", real=tmp_path / "true.csv", schema=stated, **asked
    )
    assert one.targets == other.targets
    assert one.marginals == other.marginals
    assert one.targets[0].best.synthetic > one.targets[0].floor + 0.1
    assert all(column.broken == 0.0 for column in one.columns)
    shown = utility_markdown(one)
    assert "2000-01-01" in shown
    assert "2020-01-01T" in shown
    assert "against the schema" in shown
    assert "2000-01-01" in utility_page(one)


def test_what_the_schema_does_not_allow_is_counted():
    made = table(10, 0)
    wrong = {
        "born": pa.array([dt.date(1800, 1, 1)] * 5 + [dt.date(1960, 1, 1)] * 5),
        "age": pa.array([101, -1, 0, 100, None, 5, 5, 5, 5, 5]),
        "sex": pa.array(["q", "f", "m", "x", None, "f", "f", "f", "f", "f"]),
        "code": pa.array([3, 1, 2, 30, 1, 1, 1, 1, 1, 1]),
    }
    for name, values in wrong.items():
        made = made.set_column(made.column_names.index(name), name, values)
    report = evaluate_release(
        made, real=table(50, 1), schema=SCHEMA, target=["ill"], models=["logistic"]
    )
    broken = {column.name: column.broken for column in report.columns}
    assert broken == {"born": 0.5, "seen": 0.0, "age": 0.2, "sex": 0.2, "ill": 0.0, "code": 0.1}


def test_a_cell_that_cannot_be_read_is_missing_and_a_column_that_is_not_there_is_named():
    made = table(3, 0)
    texts = made.set_column(2, "age", pa.array(["7", "seven", None]))
    ages = of_schema(texts, SCHEMA, where="the release").column("age")
    np.testing.assert_array_equal(ages.values, [7.0, np.nan, np.nan])
    with pytest.raises(ValueError, match="Expected the real records to have the column 'sex'"):
        evaluate_release(made, real=made.drop_columns("sex"), schema=SCHEMA)


def test_a_table_is_read_by_its_manifest_which_must_describe_it(tmp_path):
    made = table(200, 0)
    saved = save_file_release(
        tmp_path / "synth.csv",
        write=lambda path: csv.write_csv(made, path),
        rows=200,
        file_format="csv",
        stated=guaranteed(
            event=rdpkit.Gaussian(noise_std=4.0, record_norm=1.0),
            privacy=Privacy(delta=1e-6, adjacency="replace_one", noise=NoiseSource.system()),
            parameters={},
            mechanism="marginals",
        ),
        schema=SCHEMA.as_table(),
    )
    asked = {"real": table(200, 1), "target": ["ill"], "models": ["logistic"]}
    found = [
        evaluate_release(one, **asked)
        for one in (tmp_path / "synth.csv", tmp_path / "synth.json", saved)
    ]
    assert len({report.pair_error for report in found}) == 1
    assert {report.release.name for report in found} == {"synth.csv"}
    assert found[0].columns[0].broken == 0.0
    assert found[0].release.guarantee == saved.guarantee
    # One linear model at epsilon 2.2, on 140 records.
    assert 0.0 <= found[0].targets[0].private <= 1.0
    (tmp_path / "synth.csv").write_text((tmp_path / "synth.csv").read_text() + "\n")
    with pytest.raises(ValueError, match=r"synth\.csv.*changed"):
        evaluate_release(tmp_path / "synth.csv", **asked)
    parquet.write_table(made, tmp_path / "synth.parquet")
    with pytest.raises(ValueError, match=r"is no manifest of synth.parquet: it describes synth"):
        evaluate_release(tmp_path / "synth.parquet", **asked)
    with pytest.raises(FileNotFoundError, match="to be a manifest: there is no such file"):
        evaluate_release(tmp_path / "other.json", **asked)
