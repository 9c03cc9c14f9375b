"""Results on the disk while work goes on: whole lines, damage that is noticed, a lookup by key."""

import pytest

from rdpkit.formats.journal import Journal


def journal(path):
    return Journal(path, mark="test-1", kind="row")


def test_entries_come_back_in_another_process_s_journal(tmp_path):
    path = tmp_path / "rows"
    first = journal(path)
    assert len(first) == 0
    first.add("a", {"epsilon": 1.5}, name="one")
    first.add("b", [1, None], name="two")
    first.add("a", {"epsilon": 2.5}, name="one")
    first.sync()
    second = journal(path)
    assert (len(second), "a" in second, "c" in second) == (2, True, False)
    assert second.get("a") == {"epsilon": 2.5}
    assert second.get("b") == [1, None]
    assert second.damaged == ()
    second.remove()
    assert not path.exists()
    assert len(second) == 0


def test_a_line_that_was_cut_anywhere_costs_that_line_alone(tmp_path):
    path = tmp_path / "rows"
    journal(path).add("a", 1, name="one")
    whole = path.stat().st_size
    journal(path).add("b", 2, name="two")
    content = path.read_bytes()
    for end in range(whole, len(content) - 1):
        path.write_bytes(content[:end])
        found = journal(path)
        assert found.get("a") == 1
        assert "b" not in found
        found.add("b", 3, name="two")
        assert journal(path).get("b") == 3


def test_a_changed_byte_is_noticed_and_named(tmp_path):
    path = tmp_path / "rows"
    journal(path).add("a", 1, name="one")
    path.write_bytes(path.read_bytes().replace(b'"entry":1', b'"entry":0'))
    found = journal(path)
    assert "a" not in found
    assert found.damaged == (f"{path}, line 1 (row 'one') is damaged",)


def test_what_is_no_journal_is_left_alone(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("mine\n")
    with pytest.raises(ValueError, match="was left as it is"):
        journal(path)
    assert path.read_text() == "mine\n"


def test_no_number_that_json_lacks_is_written(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        journal(tmp_path / "rows").add("a", float("nan"), name="one")
    assert not (tmp_path / "rows").exists()
