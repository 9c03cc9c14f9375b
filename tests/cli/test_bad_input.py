"""Bad usage and bad input: status 2, nothing on standard output, and words that help."""

from __future__ import annotations

import pytest

from tests.cli.commands import ADD, GAUSSIAN, options, run


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["epsilon", *GAUSSIAN, "--delta", "-1", *ADD], "Expected delta in [0, 1), got -1.0."),
        (["epsilon", *GAUSSIAN, "--delta", "nan", *ADD], "Expected delta in [0, 1), got nan."),
        (["delta", *GAUSSIAN, "--epsilon", "-1", *ADD], "Expected epsilon to be a finite"),
        (["delta", *GAUSSIAN, "--epsilon", "inf", *ADD], "Expected epsilon to be a finite"),
        (["delta", *GAUSSIAN, "--epsilon", "nan", *ADD], "Expected epsilon to be a finite"),
        (["compare", *GAUSSIAN, "--delta", "1", *ADD], "Expected delta in [0, 1), got 1.0."),
        (["epsilon", *GAUSSIAN[:-1], "nan", "--delta", "0.1", *ADD], "Expected record_norm to be"),
        (
            ["epsilon", *GAUSSIAN, "--delta", "0.1", *ADD, "--bound", "[red]"],
            "Expected bound to be one of 'best', ",
        ),
        (["epsilon", "laplace"], "Expected EVENT to be a TOML file or one of gaussian, "),
        (["epsilon", "no.toml", "--delta", "0.1", *ADD], "No such file or directory: 'no.toml'"),
    ],
)
def test_bad_input_is_one_line_and_status_2(arguments, message):
    done = run(*arguments)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
    assert message in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["epsilon", *GAUSSIAN, "--delta", "0.1"], "Missing option '--adjacency'"),
        (["epsilon", *GAUSSIAN, *ADD], "Missing option '--delta'"),
        (["delta", *GAUSSIAN, *ADD], "Missing option '--epsilon'"),
        (["epsilon", *GAUSSIAN, "--adjacency", "bounded", "--delta", "0.1"], "'bounded' is not"),
        (["epsilon", *GAUSSIAN, "--sigma", "1"], "No such option"),
        (["epsilon", "dpmix", "--releases", "1.5"], "'1.5' is not a valid integer"),
        (["epsilon", "dpcda", "--class-sizes", "1,x"], "'1,x' is not a list of integers"),
        (["epsilon", "custom_rdp", "--orders", "2,"], "'2,' is not a list of numbers"),
        (["epsilon", *GAUSSIAN, "--delta", "0.1", *ADD, "--format", "xml"], "'xml' is not one of"),
        (["nothing"], "No such command 'nothing'"),
    ],
)
def test_bad_usage_is_status_2(arguments, message):
    done = run(*arguments)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert message in done.stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "expected a key 'mechanism', one of class_wise_dpmix, "),
        ("mechanism = 1", "expected a key 'mechanism'"),
        ("mechanism = 'laplace'", "Expected mechanism to be one of"),
        ("mechanism = 'gaussian'", "needs the parameters 'noise_std' (a number), 'record_norm'"),
        ("mechanism = 'gaussian'\nsigma = 1", "Unknown parameter 'sigma'"),
        ("mechanism = 'gaussian'\nnoise_std = 1979-05-27\nrecord_norm = 1", "got datetime.date"),
        ("mechanism = 'repeated'\ncount = 1\nevent = []", "Expected event to be a table"),
        ("mechanism", "not a TOML file"),
        ("a = 1\na = 2", "not a TOML file"),
        (b"\xff", "not a TOML file"),
    ],
)
def test_bad_files_are_one_line_that_names_the_file(tmp_path, content, message):
    path = tmp_path / "event.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    done = run("epsilon", path, "--delta", "1e-5", *ADD)
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    assert str(path) in done.stderr
    assert message in done.stderr


def test_a_directory_is_no_file(tmp_path):
    path = tmp_path / "event.toml"
    path.mkdir()
    done = run("epsilon", path, "--delta", "1e-5", *ADD)
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["delta", *GAUSSIAN, "--epsilon", "1000"],
        ["epsilon", *options("ldpdc"), "--class-sizes", "1" + "0" * 400, "--delta", "1e-5"],
        ["epsilon", *options("ldpdc"), "--samples-per-class", "1" + "0" * 400, "--delta", "1e-5"],
        ["epsilon", *options("dpmix"), "--feature-noise", "1e-200", "--delta", "1e-5"],
        ["epsilon", *GAUSSIAN, "--noise-std", "1e-308", "--delta", "1e-5"],
    ],
)
def test_extreme_parameters_are_answered_or_refused_in_one_line(arguments):
    done = run(*arguments, *ADD)
    assert done.exit_code in (0, 2)
    assert done.stderr.count("\n") == (1 if done.exit_code else 0)


def test_a_number_of_too_many_digits_names_the_file(tmp_path):
    path = tmp_path / "event.toml"
    path.write_text("mechanism = 'gaussian'\nrecord_norm = 1\nnoise_std = 1" + "0" * 5000)
    done = run("epsilon", path, "--delta", "1e-5", *ADD)
    assert done.exit_code == 2
    assert str(path) in done.stderr
