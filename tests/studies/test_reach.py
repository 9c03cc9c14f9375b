"""The untrained classifiers on scikit-learn's digits, which are embedded."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from reach import main, nearest_mean


def test_the_nearest_mean():
    features = np.array([[0.0, 0.0], [0.0, 2.0], [4.0, 0.0], [6.0, 2.0]])
    found = nearest_mean(features, np.array([0, 0, 1, 1]), np.array([[1.0, 1.0], [4.0, 3.0]]))
    assert found.tolist() == [0, 1]


@pytest.mark.thorough
def test_a_row_for_each_epsilon_with_the_epsilon_that_holds():
    """At a hundred nats little is hidden of the digits."""
    options = ["--dataset", "digits", "--seeds", "2", "--releases", "200"]
    options += ["--order-of-mixture", "4", "--epsilon", "1", "--epsilon", "100"]
    result = CliRunner().invoke(main, options)
    assert result.exit_code == 0, result.output
    rows = [json.loads(line) for line in result.output.splitlines()]
    assert [row["target_epsilon"] for row in rows] == [1.0, 100.0]
    for row in rows:
        assert 0.99 * row["target_epsilon"] <= row["epsilon"] <= row["target_epsilon"]
        assert row["nearest_mean_std"] is not None
    assert rows[1]["nearest_mean"] > max(0.8, rows[0]["nearest_mean"])


def test_bad_input_is_one_line():
    result = CliRunner().invoke(main, ["--dataset", "digits", "--order-of-mixture", "100000"])
    assert result.exit_code == 2
    assert "order_of_mixture" in result.output


@pytest.mark.thorough
def test_mixtures_of_all_classes_are_read_at_stated_noise_and_at_targets():
    options = ["--dataset", "digits", "--seeds", "2", "--releases", "3000"]
    options += ["--order-of-mixture", "8", "--mechanism", "dpmix"]
    given = CliRunner().invoke(main, [*options, "--noise", "0.01"])
    assert given.exit_code == 0, given.output
    (row,) = [json.loads(line) for line in given.output.splitlines()]
    assert row["target_epsilon"] is None
    assert row["label_noise"] == 0.01
    assert row["nearest_mean"] > 0.8
    found = CliRunner().invoke(main, [*options, "--epsilon", "20"])
    assert found.exit_code == 0, found.output
    (row,) = [json.loads(line) for line in found.output.splitlines()]
    assert 0.99 * 20 <= row["epsilon"] <= 20
    assert row["label_noise"] > 0.01
