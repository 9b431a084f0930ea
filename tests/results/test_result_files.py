"""Where files of results are, and when they are removed."""

from __future__ import annotations

import copy
import gc
import os
import pickle
from pathlib import Path

import pytest

from waspbench.results.files import Files


def place(files: Files) -> Path:
    found = files.directory(None)
    assert found is not None
    return found


def test_a_directory_goes_with_the_last_that_has_it() -> None:
    files = Files.temporary()
    path = place(files)
    (path / "x").mkdir()
    part = files.at(path / "x")
    del files
    gc.collect()
    assert place(part) == path / "x"
    copied = copy.deepcopy(part)
    del part
    gc.collect()
    assert place(copied).exists()
    del copied
    gc.collect()
    assert not path.exists()


def test_a_directory_can_be_removed_before() -> None:
    files = Files.temporary()
    files.remove()
    assert not place(files).exists()
    files.remove()
    Files.here().remove()


def test_who_reads_files_of_others_has_them_too() -> None:
    files = Files.temporary()
    path = place(files)
    other = Files.of_another(path / "points" / "0000")
    del files
    gc.collect()
    assert other is not None
    assert place(other) == path / "points" / "0000"
    assert path.exists()
    del other
    gc.collect()
    assert not path.exists()
    assert Files.of_another(path) is None


def test_a_forked_process_removes_nothing() -> None:
    files = Files.temporary()
    child = os.fork()
    if child == 0:
        del files
        gc.collect()
        os._exit(0)
    os.waitpid(child, 0)
    assert place(files).exists()


def test_a_named_directory_is_that_of_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    files = Files.here()
    monkeypatch.chdir("/")
    assert files.directory("x") == tmp_path / "x"
    assert files.directory("/y") == Path("/y")
    assert files.directory(None) is files.directory("") is None


def test_where_a_process_is_may_be_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert Files.here().directory("x") == Path("x")


def test_where_files_are_is_no_difference() -> None:
    one, two = Files.temporary(), Files.here()
    assert one == two
    assert one != "x"
    assert len({one, two}) == 1
    assert pickle.loads(pickle.dumps(one)).directory(None) is None


def test_a_named_directory_is_the_same_after_pickling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sent = pickle.dumps(Files.here())
    monkeypatch.chdir("/")
    assert pickle.loads(sent).directory("x") == tmp_path / "x"
