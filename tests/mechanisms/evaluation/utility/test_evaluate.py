"""From files to a report: what is trained, what is refused, and what the formats say."""

import datetime as dt
import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import rdpkit
from rdpkit.mechanisms import NoiseSource, Privacy, evaluate_release
from rdpkit.mechanisms.algorithms import dpcda
from rdpkit.mechanisms.data import load_dataset
from rdpkit.mechanisms.data.tables.schema import Column, Schema
from rdpkit.mechanisms.evaluation.utility.outputs import utility_markdown, utility_page
from rdpkit.mechanisms.evaluation.utility.private import noisy_steps, private_linear
from rdpkit.mechanisms.evaluation.utility.samples import of_schema
from rdpkit.mechanisms.evaluation.utility.trained import CONVNET, NAMES, predicted
from rdpkit.mechanisms.parts.records import public_scaling
from rdpkit.mechanisms.releases.files import save_file_release
from rdpkit.mechanisms.releases.release import guaranteed
from tests.mechanisms.evaluation.utility.small_tables import people

NASTY = "<script>alert(1)</script> [x](http://a.b) | `q` www.c.d"


@pytest.fixture(scope="module")
def release():
    """Mixtures of scikit-learn's digits, with a manifest."""
    data = load_dataset("digits")
    return dpcda.synthesize(
        data.train_features.reshape(-1, 8, 8),
        data.train_labels,
        classes=10,
        options=dpcda.DPCDAOptions(
            samples_per_class=20,
            order_of_mixture=8,
            clip_norm=1.0,
            feature_noise=0.02,
            label_noise=0.0,
        ),
        scaling=public_scaling(factor=1 / 16),
        privacy=Privacy(
            delta=1e-5, adjacency="replace_one", noise=NoiseSource.seeded(0), counts=[100] * 10
        ),
    )


@pytest.mark.thorough
def test_a_release_that_learned_nothing_is_told_from_a_good_one():
    good = evaluate_release(people(900, 0), real=people(900, 1), models=["logistic", "boosting"])
    bad = evaluate_release(
        people(900, 0, wrong=0.5), real=people(900, 1), target=["income"], models=["boosting"]
    )
    assert [one.target for one in good.targets] == ["school", "income"]
    income = good.targets[1]
    # One in ten answers is wrong by construction, and the sample has 270 test records.
    assert income.best.synthetic > 0.8
    assert income.ceiling > 0.8
    assert income.floor < 0.75
    assert bad.targets[0].best.synthetic < 0.7
    assert bad.pair_error > good.pair_error > 0.0
    # What is as good as real records is near the distance of two halves of them.
    assert good.pair_error < 1.5 * good.pair_floor
    assert good.cost.kind == "unaccounted"


def test_numbers_are_predicted_with_r2_and_the_same_seed_gives_the_same_report():
    asked = {"real": people(300, 1), "target": ["age"], "models": ["logistic", "nearest"]}
    one, other = (evaluate_release(people(300, 0), seed=3, **asked) for _ in range(2))
    assert one.as_dict() == other.as_dict()
    assert one.targets[0].measure == "R2"
    assert abs(one.targets[0].floor) < 0.1
    assert one.targets[0].best.synthetic > 0.2
    other = evaluate_release(people(300, 0), seed=4, **asked)
    assert one.as_dict() != other.as_dict()


@pytest.mark.parametrize(
    ("source", "asked", "message"),
    [
        (None, {"real": ["age"]}, "the real records to have the column 'school', as the"),
        (None, {"target": ["incom"]}, r"the column to be one of .*, got 'incom'"),
        (None, {"real": "digits"}, "to be a table as the release is, got arrays"),
        (None, {"real": "mnits"}, r"to be a file or a data set, one of \.csv"),
        (None, {"real": 7}, "to be a file, a frame or an arrow table"),
        (None, {"real": "x.npz"}, "has no array 'features'"),
        ("x.parquet", {}, r"x.parquet: this is no table"),
        ("y.npz", {"real": "digits"}, r"real records to have 5 numbers and a label.*got 64"),
    ],
)
def test_errors_say_what_is_missing(tmp_path, monkeypatch, source, asked, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.parquet").write_bytes(b"nothing")
    np.savez(tmp_path / "y.npz", features=np.ones((9, 5)), labels=np.arange(9))
    np.savez(tmp_path / "x.npz", other=np.ones(3))
    made = people(30, 0)
    asked = {"real": made, **asked}
    if isinstance(asked["real"], list):
        asked["real"] = made.select(asked["real"])
    with pytest.raises(ValueError, match=message):
        evaluate_release(source or made, **asked)


@pytest.mark.thorough
def test_a_release_of_images_is_compared_with_its_data_set(release, tmp_path):
    release.save(tmp_path / "digits.npz")
    report = evaluate_release(
        tmp_path / "digits.json", real="digits", models=["logistic", "qda"], public=True
    )
    (scores,) = report.targets
    assert scores.target == "label"
    # Averages of eight digits of a class, with little noise.
    assert scores.best.synthetic > 0.7
    assert scores.ceiling > 0.9
    assert 0.05 < scores.floor < 0.15
    assert 0.05 < scores.private <= 1.0
    assert report.release.mechanism == "dpcda"
    assert report.release.private is False
    assert report.pictures.synthetic.shape == (3, 10, 8, 8, 3)
    assert "data:image/png" in utility_page(report)
    assert "pictures" not in json.dumps(report.as_dict(), allow_nan=False)
    assert "costs nothing" in utility_markdown(report)


def test_the_private_ceiling_keeps_the_epsilon_of_the_release():
    target = rdpkit.epsilon(
        rdpkit.Gaussian(noise_std=4.0, record_norm=1.0), delta=1e-5, adjacency="add_or_remove_one"
    )
    std, event = noisy_steps(target)
    spent = rdpkit.epsilon(event, delta=target.delta, adjacency=target.adjacency)
    assert spent.epsilon == pytest.approx(target.epsilon, rel=1e-4)
    assert std > 4.0
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3000, 4))
    answers = np.where(rows[:, 0] > 0, "yes", "no").astype(object)
    said = private_linear(
        rows, answers, rows, classes=("no", "yes"), target=target, noise=NoiseSource.seeded(0)
    )
    assert np.mean(said == answers) > 0.9


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.thorough] * (n == CONVNET)) for n in NAMES]
)
def test_every_model_learns(name):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 300)
    rows = rng.normal(size=(300, 64)) + 1.5 * labels[:, None]
    answers = np.array(["a", "b"], dtype=object)[labels]
    said = predicted(name, rows, answers, rows, seed=0, image=(1, 8, 8))
    assert np.mean(said == answers) > 0.9
    one = predicted(name, rows, np.full(300, "a", dtype=object), rows, seed=0)
    assert set(one) == {"a"}


def test_names_are_text_in_every_format():
    def table(seed):
        found = people(60, seed)
        names = [NASTY if name == "school" else name for name in found.column_names]
        texts = pa.array([NASTY if v == "much" else v for v in found["school"].to_pylist()])
        return found.set_column(1, "school", texts).rename_columns(names)

    report = evaluate_release(table(0), real=table(1), target=[NASTY], models=["logistic"])
    page, text = utility_page(report), utility_markdown(report)
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "<script" not in text
    assert "`q`" not in text.replace(r"\`", "")
    assert "[x](" not in text
    assert "http:" not in text
    assert "www.c" not in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert all(line.replace(r"\|", "").count("|") in (3, 4, 5, 6) for line in rows)


@pytest.mark.thorough
def test_folders_of_images_are_real_records(release, tmp_path):
    from PIL import Image

    data = load_dataset("digits")
    for part, count in (("train", 120), ("test", 60)):
        features, labels = data.train_features[:count], data.train_labels[:count]
        for i, (row, label) in enumerate(zip(features, labels)):
            folder = tmp_path / "digits" / part / str(label)
            folder.mkdir(parents=True, exist_ok=True)
            pixels = (row.astype(np.float64) * 255 / 16).round().astype(np.uint8).reshape(8, 8)
            Image.fromarray(pixels).save(folder / f"{i}.png")
    report = evaluate_release(release, real=tmp_path / "digits", models=["logistic"])
    assert (report.real, report.test, report.real_records) == ("digits", "digits (test)", 120)
    assert report.targets[0].test_records == 60
    assert report.targets[0].best.synthetic > 0.7


@pytest.mark.parametrize(
    "columns",
    [
        {"a": ["x", "y"] * 10},
        {"a": [1.5] * 20, "b": ["x"] * 20},
        {"a": pa.nulls(20), "b": ["x", "y"] * 10},
        {"a": [float("inf"), -1e308, 1e308, 0.5] * 5, "b": ["x", "y"] * 10},
        {"a": np.arange(20) * 10**17, "b": ["x", "y"] * 10},
    ],
)
def test_odd_columns_are_reported_all_the_same(columns):
    made = pa.table(columns)
    report = evaluate_release(made, real=made, holdout=made, models=["logistic", "nearest"])
    assert report.single_error == 0.0
    assert len(report.targets) == (1 if len(columns) > 1 else 0)
    json.dumps(report.as_dict(), allow_nan=False)
    assert utility_markdown(report)
    assert utility_page(report)


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
