"""A file is there as a whole or not at all, with the rights of any new file."""

import os
import stat
import sys

import pytest

from rdpkit.formats.files import whole_file, whole_folder, write_whole


def test_an_old_file_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    target = tmp_path / "a.svg"
    target.write_text("old")
    write_whole(target, "new")
    assert target.read_text() == "new"

    def fails(source, destination):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises(OSError, match="no space left"):
        write_whole(target, b"newer")
    assert target.read_text() == "new"
    assert os.listdir(tmp_path) == ["a.svg"]


def test_an_error_in_the_block_leaves_nothing(tmp_path):
    def half_written():
        with whole_file(tmp_path / "a.csv") as temporary:
            assert temporary.suffix == ".csv"
            temporary.write_text("half")
            raise ValueError("half")

    with pytest.raises(ValueError, match="half"):
        half_written()
    assert os.listdir(tmp_path) == []


def test_an_error_names_what_was_asked_for_and_no_temporary_file(tmp_path):
    nowhere = tmp_path / "missing" / "a.csv"
    with pytest.raises(FileNotFoundError) as caught:
        write_whole(nowhere, "text")
    assert caught.value.filename == str(nowhere)
    with pytest.raises(FileNotFoundError) as caught, whole_folder(nowhere):
        pass
    assert caught.value.filename == str(nowhere)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names are of Unix")
def test_a_pipe_or_a_device_stays_what_it_is(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(path, "through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert stat.S_ISFIFO(path.stat().st_mode)
    with pytest.raises(IsADirectoryError):
        write_whole(tmp_path, "no file")


def test_a_file_that_has_to_be_new_replaces_none(tmp_path):
    write_whole(tmp_path / "a", "first", new=True)
    with pytest.raises(FileExistsError):
        write_whole(tmp_path / "a", "second", new=True)
    assert (tmp_path / "a").read_text() == "first"
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.skipif(sys.platform == "win32", reason="no umask")
def test_files_have_the_rights_that_new_files_have(tmp_path):
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "a", "text")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640
