import experiment_figures as figures
import numpy as np
import pytest

from rdpkit.mechanisms.experiments.runner import Summary
from tests.cli.commands import printed_by
from tests.mechanisms.conftest import NOISELESS, digits  # noqa: F401 - a fixture

pytest.importorskip("matplotlib", reason="pictures need matplotlib")


def summary(varied, mean, published=None):
    return Summary(row={"varied": varied}, seeds=3, mean=mean, std=0.01, published=published)


def drawn(path, summaries):
    figures.draw_accuracy(path, summaries, title="T")
    return path.read_bytes()


@pytest.mark.thorough
def test_lines_by_what_else_varies_and_the_same_bytes_every_time(tmp_path):
    summaries = [
        summary({"privacy.target_epsilon": e, "mechanism.order_of_mixture": l}, 0.5 + l / 100, 0.4)
        for e in (1.0, 10.0)
        for l in (1, 2, 4, 16)
    ]
    one, two = drawn(tmp_path / "a.svg", summaries), drawn(tmp_path / "b.svg", summaries)
    assert one == two
    assert one.startswith(b"<?xml")
    assert drawn(tmp_path / "a.png", summaries).startswith(b"\x89PNG")
    assert one != drawn(tmp_path / "c.svg", summaries[:-1])


@pytest.mark.thorough
def test_epsilon_has_an_axis_where_the_noise_is_stated(tmp_path):
    def stated(target):
        row = {"delta": 1e-5, "adjacency": "replace_one", "target_epsilon": target}
        return [
            Summary(
                row={**row, "varied": {"mechanism.feature_noise": s}, "epsilon": 9.0 / s},
                seeds=1, mean=0.5, std=None, published=None,
            )
            for s in (0.3, 0.6, 9.0)
        ]  # fmt: skip

    from matplotlib.figure import Figure

    axes = Figure().subplots()
    assert figures._draw_epsilon(axes, "mechanism.feature_noise", {"": stated(30.0)}) is None
    (line,), (label,) = figures._draw_epsilon(axes, "mechanism.feature_noise", {"": stated(None)})
    np.testing.assert_allclose(line.get_xydata(), [[0.3, 30.0], [0.6, 15.0], [9.0, 1.0]])
    assert label == "epsilon, upper bound"
    assert line.axes.get_yscale() == "log"
    line.axes.figure.draw_without_rendering()
    shown = [text.get_text() for text in line.axes.get_yticklabels() if text.get_text()]
    assert {"1", "2", "5", "10", "20"} <= set(shown)
    assert line.axes.get_ylabel() == "epsilon (delta 1e-05, replace one)"
    assert drawn(tmp_path / "a.svg", stated(None)) != drawn(tmp_path / "b.svg", stated(30.0))


@pytest.mark.thorough
@pytest.mark.parametrize("channels", [1, 3])
def test_samples_are_drawn_row_by_row(tmp_path, channels):
    rng = np.random.default_rng(0)
    rows = {
        "original": rng.random((4, channels * 12)).astype(np.float32),
        "few": rng.random((2, channels * 12)).astype(np.float32),
        "flat": np.zeros((3, channels * 12), np.float32),
    }
    figures.draw_samples(tmp_path / "g.png", rows, image_shape=(channels, 3, 4), title="T")
    assert (tmp_path / "g.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.thorough
def test_the_command_draws_what_an_experiment_measured_and_its_samples(digits, tmp_path):  # noqa: F811
    path, common = digits(*NOISELESS), ("--results", tmp_path / "r", "--device", "cpu")
    for kind in ("accuracy", "samples"):
        printed_by(figures.experiment_figures, kind, path, *common, "-o", tmp_path / f"{kind}.png")
        assert (tmp_path / f"{kind}.png").read_bytes().startswith(b"\x89PNG")
    refused = printed_by(figures.experiment_figures, "samples", path, "-o", "x.pdf", status=2)
    assert "to end in .svg or .png" in refused
    refused = printed_by(figures.experiment_figures, "accuracy", path, status=2)
    assert "Expected --output: the SVG or PNG file" in refused
