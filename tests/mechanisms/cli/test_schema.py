import json

import pyarrow as pa
import pytest
from click.testing import CliRunner

from rdpkit.cli import main
from rdpkit.mechanisms.data.tables.files import write
from rdpkit.mechanisms.data.tables.schema import load_schema


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.parquet"
    write(pa.table({"age": [31, 47, None] * 5, "job": ["clerk", "boss", "clerk"] * 5}), path)
    return path


def run(*args):
    return CliRunner().invoke(main, ["synthesize", *map(str, args), "--draft-schema"])


def test_a_draft_is_written_and_says_what_was_read(data, tmp_path):
    out = tmp_path / "schema.toml"
    found = run(data, "-o", out)
    assert found.exit_code == 0, found.output
    assert "age: a range, rounded outwards; values are missing" in found.output
    assert "clerk" not in found.output
    assert "private records" in found.output
    assert load_schema(out).unconfirmed == ("age", "job")


def test_without_a_file_the_draft_is_the_output(data, tmp_path):
    found = run(data)
    (tmp_path / "s.toml").write_text(found.output)
    assert load_schema(tmp_path / "s.toml").names == ("age", "job")


def test_json_has_the_schema_and_what_was_read(data):
    found = json.loads(run(data, "--drop", "job", "--format", "json").output)
    assert found["dropped"] == ["job"]
    assert found["schema"]["column"][0]["name"] == "age"
    assert list(found["read_from_the_records"]) == ["age"]


def test_what_is_no_table_is_an_error(tmp_path):
    found = run(tmp_path / "no.csv")
    assert found.exit_code == 2
    assert "no such file" in found.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--draft-schema", "--epsilon", 1), "Expected a release for --epsilon, got a draft."),
        (("--paid",), "Expected --draft-schema for --paid."),
    ],
)
def test_options_of_a_release_and_of_a_draft_are_told_apart(data, options, message):
    done = CliRunner().invoke(main, ["synthesize", str(data), *map(str, options)])
    assert done.exit_code == 2
    assert message in done.output


def test_the_command_of_earlier_versions_says_what_does_the_same():
    done = CliRunner().invoke(main, ["schema", "data.csv"])
    assert "rdpkit schema is now 'rdpkit synthesize DATA --draft-schema'" in done.output
