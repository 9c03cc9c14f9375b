from dataclasses import replace

import numpy as np
import pytest

import rdpkit
from rdpkit.formats import columns as tables
from rdpkit.mechanisms.algorithms import find_mechanism, mechanism_names
from rdpkit.mechanisms.experiments import experiment as experiment_module
from rdpkit.mechanisms.experiments import preparation
from rdpkit.mechanisms.experiments import runner as runner_module
from rdpkit.mechanisms.experiments.experiment import load_experiment
from rdpkit.mechanisms.experiments.runner import Runner
from rdpkit.mechanisms.parts import counts
from rdpkit.mechanisms.releases.computation import Checkpoint
from tests.events import of_papers
from tests.mechanisms.conftest import NOISELESS

PUBLIC = (('noise = "seeded"', 'noise = "seeded"\ncounts = "public"'),)


@pytest.mark.thorough
def test_every_seed_is_a_row_at_once_and_a_killed_run_goes_on(digits, tmp_path, monkeypatch):
    experiment = load_experiment(digits(*NOISELESS))
    one = Runner.one
    done = []

    def killed(self, *arguments, **named):
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(arguments)
        return one(self, *arguments, **named)

    monkeypatch.setattr(Runner, "one", killed)
    with pytest.raises(KeyboardInterrupt):
        Runner().run(experiment, tmp_path / "results")
    folder = tmp_path / "results" / "small"
    assert len(runner_module.finished_runs(folder)) == 3

    monkeypatch.setattr(Runner, "one", one)
    outcome = Runner().run(experiment, tmp_path / "results")
    assert outcome.resumed == 3
    assert len(outcome.rows) == 4
    fresh = Runner().run(experiment, tmp_path / "again")
    assert [r["accuracy"] for r in outcome.rows] == [r["accuracy"] for r in fresh.rows]
    assert [path.name for path in folder.iterdir()] == ["rows.journal"]
    # A row that cannot be read is made again.
    content = (folder / "rows.journal").read_bytes()
    (folder / "rows.journal").write_bytes(content.replace(b'"accuracy":0', b'"accuracy":1', 1))
    again = Runner().run(experiment, tmp_path / "results")
    assert again.resumed == 3
    assert [r["accuracy"] for r in again.rows] == [r["accuracy"] for r in fresh.rows]


@pytest.mark.thorough
def test_a_killed_seed_of_hours_goes_on_from_its_checkpoint(long, tmp_path, monkeypatch):
    monkeypatch.setattr(Checkpoint, "is_due", lambda self: True)
    experiment = load_experiment(long)
    steps = []

    def killed(what, done, total):
        if what == "synthesis":
            steps.append(done)
            if len(steps) == 4:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Runner(report=killed).run(experiment, tmp_path / "results")
    folder = tmp_path / "results" / "long"
    assert len(list((folder / "unfinished").iterdir())) == 1
    (row,) = Runner(report=killed).run(experiment, tmp_path / "results").rows
    assert steps == [1, 2, 3, 4, 5, 6]
    assert list((folder / "unfinished").iterdir()) == []
    (fresh,) = Runner().run(experiment, tmp_path / "again").rows
    assert row["accuracy"] == fresh["accuracy"]


@pytest.mark.thorough
def test_models_that_share_a_release_of_hours_make_it_once(long, tmp_path):
    long.write_text(
        long.read_text().replace("seeds = [0]", "seeds = [0, 1]").replace('name = "mlp"', "")
        + '[vary]\n"model.name" = ["mlp", "convnet"]\n'
    )
    experiment = load_experiment(long)
    steps = []

    def report(what, done, total):
        if what == "synthesis":
            steps.append(done)

    outcome = Runner(report=report).run(experiment, tmp_path / "results")
    assert len(outcome.rows) == 4
    assert steps == [1, 2, 3, 4, 5, 6] * 2  # one for each seed
    assert list((tmp_path / "results" / "long" / "unfinished").iterdir()) == []
    first, second = experiment.cells
    assert first.release_key(0) == second.release_key(0) != first.release_key(1)
    assert first.key(0) != second.key(0)


@pytest.mark.thorough
def test_rows_say_what_was_promised_and_what_came_of_it(digits, tmp_path):
    path = digits(
        ("[5.0, 50.0]", "[50.0]"),
        ("seeds = [0, 1]", "seeds = 2\n[published]\n50 = 0.5\n"),
        ("samples_per_class = 30", "samples_per_class = 50"),
        ("epochs = 5", "epochs = 20"),
    )
    outcome = Runner().run(load_experiment(path), tmp_path / "r")
    (summary,) = runner_module.summarise(outcome.rows)
    assert summary.row["epsilon"] <= summary.row["target_epsilon"] == 50.0
    assert summary.row["adjacency"] == "replace_one"
    assert summary.row["private"] is False  # seeded noise
    assert summary.row["releases"] == 500
    assert summary.seeds == 2
    assert summary.published == 0.5
    # A tenth is chance; class means alone tell most digits apart.
    assert 0.5 < summary.mean < 1.0


def test_summaries_are_mean_and_standard_deviation():
    shared = {"experiment": "e", "cell": "c", "varied": {}}
    three = [{**shared, "seed": i, "accuracy": a} for i, a in enumerate((0.5, 0.6, 0.7))]
    (summary,) = runner_module.summarise(three)
    # Sums of three floats near 1.
    assert summary.mean == pytest.approx(0.6, rel=1e-12)
    assert summary.std == pytest.approx(0.1, rel=1e-12)
    assert runner_module.summarise(three[:1])[0].std is None


def test_tables_read_back(digits, tmp_path):
    outcome = Runner().run(load_experiment(digits(*NOISELESS)), tmp_path / "r")
    for name in ("t.csv", "t.parquet"):
        runner_module.write_table(tmp_path / name, outcome.rows)
        columns = tables.read(tmp_path / name)
        assert columns["accuracy"] == [row["accuracy"] for row in outcome.rows]
        assert columns["mechanism.order_of_mixture"] == [1, 16, 1, 16]


def test_results_of_earlier_versions_are_left_alone(digits, tmp_path):
    (tmp_path / "small" / "rows").mkdir(parents=True)
    with pytest.raises(ValueError, match="small/rows: results of an earlier version of rdpkit"):
        Runner().run(load_experiment(digits(*NOISELESS)), tmp_path)


@pytest.mark.thorough
def test_the_noise_is_what_calibrate_finds_and_the_release_says_so(digits):
    cell = load_experiment(digits(*PUBLIC)).cells[0]
    runner = Runner()
    release = runner.synthesize(cell, 0)
    data = runner.data(cell).data
    event = of_papers.dpcda(data.class_sizes, 30, 16, noise=1.0)
    found = rdpkit.calibrate(
        event,
        bound="best-rdp",
        target_epsilon=5.0,
        delta=1e-5,
        adjacency="replace_one",
        parameter="feature_noise",
    )
    assert release.manifest.parameters["feature_noise"] == found.value
    assert release.guarantee.epsilon <= 5.0
    secret = replace(cell.privacy, noise="system")
    assert runner.synthesize(replace(cell, privacy=secret), 0).manifest.private is False
    stated = replace(secret, counts=data.class_sizes)
    made = runner.synthesize(replace(cell, privacy=stated), 0).manifest
    assert made.private is True
    assert made.event == release.manifest.event


def test_noise_is_calibrated_by_noisy_counts_and_never_by_the_exact_ones(digits, monkeypatch):
    """Two data sets that get the same noisy counts get the same noise."""
    path = digits(("[5.0, 50.0]", "[5.0]"), ('name = "dpcda"', 'name = "class-wise-dpmix"'),
                  ("clip_norm = 1.0", "label_noise = 0.0"))  # fmt: skip
    (cell,) = load_experiment(path).cells
    monkeypatch.setattr(counts, "with_noise", lambda sizes, **given: (120,) * len(sizes))
    made = []
    for records in (1400, 1399):
        fewer = replace(cell, dataset={**cell.dataset, "train_records": records})
        made.append(Runner().synthesize(fewer, 0).manifest)
    assert made[0].as_dict().keys() == made[1].as_dict().keys()
    for one in made:
        assert one.guarantee.epsilon <= 5.0
        assert one.parameters["counts"]["noisy"] == [120] * 10
        assert one.parameters["counts"]["epsilon"] == pytest.approx(0.25)
        assert max(one.event.events[1].class_sizes) < 120
    assert made[0].parameters == made[1].parameters
    assert made[0].guarantee == made[1].guarantee


@pytest.mark.thorough
def test_a_planned_order_of_mixture_and_its_noise_are_those_of_the_plan(digits, tmp_path):
    planned = ("order_of_mixture = 16", 'order_of_mixture = "plan"')
    path = digits(planned, ("[5.0, 50.0]", "[5.0]"), *PUBLIC)
    experiment = load_experiment(path)
    (cell,) = experiment.cells
    runner = Runner()
    release = runner.synthesize(cell, 0)
    event = of_papers.dpcda(runner.data(cell).data.class_sizes, 30, 1, noise=1.0)
    ask = {"target_epsilon": 5.0, "delta": 1e-5, "adjacency": "replace_one"}
    plan = rdpkit.plan(event, **ask, bound="best-rdp")
    order = plan.best.order_of_mixture
    assert order > 1
    assert release.manifest.parameters["order_of_mixture"] == order
    assert release.manifest.parameters["feature_noise"] == plan.event.feature_noise
    assert release.guarantee.epsilon <= 5.0
    outcome = runner.run(replace(experiment, seeds=(0,)), tmp_path / "results")
    assert runner_module.columns(outcome.rows)["order_of_mixture"] == [order]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "mixed"), [("dpmix", "order_of_mixture"), ("ldpdc", "group_size")]
)
def test_soft_labels_and_sums_can_be_planned_too(digits, name, mixed):
    base = load_experiment(digits(*PUBLIC)).cells[0]
    cell = replace(base, mechanism=name, options={**SMALL[name], mixed: "plan"})
    release = Runner().synthesize(cell, 0)
    assert release.manifest.parameters[mixed] > 1
    assert 2.5 < release.guarantee.epsilon <= 5.0


# Options with which every mechanism runs on digits in a moment, at a calibrated epsilon.
SMALL = {
    "original": None,
    "noiseless-mixing": None,
    "distribution-matching": None,
    "dpcda": {"samples_per_class": 3, "order_of_mixture": 8, "clip_norm": 1.0},
    "class-wise-dpmix": {"samples_per_class": 3, "order_of_mixture": 8, "label_noise": 0.0},
    "dpmix": {"releases": 12, "order_of_mixture": 8},
    "ldpdc": {"samples_per_class": 3, "group_size": 10.0, "value_bound": 1.0},
    "ndpdc": {"samples_per_class": 2, "group_size": 10.0, "iterations": 2, "clip_norm": 1.0,
              "extractor_width": 4},
    "local-perturbation": {"clip_norm": 1.0},
    "random-projection": {"clip_norm": 1.0, "dimension": 5, "projection_seed": 1},
    "dp-merf": {"count_noise_std": 20.0, "features_size": 20, "iterations": 2,
                "samples_per_class": 2},
    "dp-hp": {"count_noise_std": 20.0, "iterations": 2, "samples_per_class": 2, "products": 1},
    "gaussian-synthesis": {"outputs_per_class": 2},
    "dp-sinkhorn": {"batch_size": 20.0, "iterations": 2, "clip_norm": 0.5, "generated": 10,
                    "samples_per_class": 2},
    "scattering-dpsgd": {"steps": 5, "batch_size": 64, "scales": 1, "angles": 2,
                         "group_channels": 1},
    "marginals": {"rows": 50, "bins": 2},
    "moments": {"basis": "cosines", "frequencies": 4, "outputs_per_class": 5},
}  # fmt: skip


# What these release is no records, and they say themselves what it predicts.
OWN_READER = ("scattering-dpsgd",)

# Calibrated with one number for all classes, and quickly.
QUICK = ("local-perturbation", "random-projection", "dp-merf")


@pytest.mark.filterwarnings("ignore:too few records")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in QUICK else pytest.mark.slow)
        for name in SMALL
        if SMALL[name] is not None
    ],
)
def test_every_mechanism_is_calibrated_to_a_sound_epsilon(digits, name):
    base = load_experiment(digits()).cells[0]
    cell = replace(
        base,
        mechanism=name,
        options=SMALL[name],
        privacy=replace(base.privacy, target_epsilon=20.0),
        training={"epochs": 1, "batch_size": 64},
    )
    if name in OWN_READER:
        cell = replace(cell, model="reader")
    runner = Runner()
    release = runner.synthesize(cell, 0)
    assert 5.0 < release.guarantee.epsilon <= 20.0
    assert release.guarantee.adjacency.value == "replace_one"
    measured = runner.evaluate(cell, release, 0)
    assert 0.0 <= measured["accuracy"] <= 1.0


def test_every_mechanism_of_the_table_is_tried_above():
    assert set(SMALL) | {"dpcda-algorithm-1"} == set(mechanism_names())


def test_test_records_are_prepared_as_released_ones(digits):
    cell = load_experiment(digits(("clip_norm = 1.0", "clip_norm = 0.5"))).cells[0]
    scaled = Runner().data(cell)
    records = preparation.tested_records(cell, scaled)
    norms = np.linalg.norm(records, axis=1)
    assert norms.max() <= 0.5 + 1e-6  # float32
    assert scaled.test.max() == 1.0


def test_a_reader_of_a_mechanism_predicts_and_nothing_is_trained(digits, tmp_path, monkeypatch):
    mechanism = replace(
        find_mechanism("noiseless-mixing"),
        reader=lambda release, rows: np.full(len(rows), int(release.labels[0])),
    )
    for module in (experiment_module, runner_module, preparation):
        monkeypatch.setattr(module, "find_mechanism", lambda name: mechanism)
    path = digits(*NOISELESS, ('name = "mlp"', 'name = "reader"'), ('inputs = "standardised"', ""))
    experiment = load_experiment(path)
    assert all(cell.training == {} for cell in experiment.cells)
    row = Runner().run(experiment, tmp_path / "results").rows[0]
    test_labels = Runner().data(experiment.cells[0]).data.test_labels
    assert row["accuracy"] == np.mean(test_labels == 0)
    assert "epochs" not in row
    with pytest.raises(ValueError, match=r"\[model\]: expected inputs to be 'as-released'"):
        load_experiment(digits(*NOISELESS, ('name = "mlp"', 'name = "reader"')))
