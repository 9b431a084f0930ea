"""Files that appear whole, and whose the directories above them are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from waspbench import InputError, run
from waspbench.results.whole_files import make_above, write_whole

SOMEBODY, THEIR_GROUP = 54321, 54322
EXPERIMENT = {"name": "x", "mode": "sim", "clients": [{}], "measure": {"runs": 1, "duration": "1s"}}
as_root = pytest.mark.root(live=False, gate=True)


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """A directory of somebody else's."""
    directory = tmp_path / "theirs"
    directory.mkdir()
    os.chown(directory, SOMEBODY, THEIR_GROUP)
    return directory


def owner(path: Path) -> tuple[int, int]:
    found = path.lstat()
    return found.st_uid, found.st_gid


@as_root
def test_what_root_makes_above_its_results_is_the_owners(theirs: Path) -> None:
    made = theirs / "new" / "results" / "first"
    run(EXPERIMENT, output=made)
    assert [owner(each) for each in (made.parents[1], made.parent)] == [(SOMEBODY, THEIR_GROUP)] * 2
    assert {owner(each) for each in (made, *made.rglob("*"))} == {(0, 0)}


@as_root
def test_what_is_there_stays_whose_it_is(theirs: Path) -> None:
    kept = theirs / "kept"
    kept.mkdir()
    make_above(kept / "new" / "results")
    assert owner(kept) == owner(kept / "new") == (0, 0)


@as_root
@pytest.mark.parametrize("swapped", ["link", "full"])
def test_another_directory_in_the_place_of_the_new_one_stays_roots(
    swapped: str, theirs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = theirs / "secret"
    secret.mkdir()
    make = Path.mkdir

    def make_and_swap(path: Path) -> None:
        make(path)
        path.rmdir()
        if swapped == "link":
            path.symlink_to(secret)
        else:
            (secret / "file").touch()
            secret.rename(path)

    monkeypatch.setattr(Path, "mkdir", make_and_swap)
    make_above(theirs / "new" / "results")
    assert (theirs / "new").stat().st_uid == 0


@as_root
def test_without_roots_privileges_nothing_changes_hands(theirs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    make_above(theirs / "new" / "results")
    assert owner(theirs / "new") == (0, 0)


def test_what_is_above_and_no_directory_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be made: Not a directory"):
        run(EXPERIMENT, output=tmp_path / "file" / "new" / "results")


def test_what_is_written_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    def fail(partial: Path) -> None:
        partial.write_text("half")
        raise RuntimeError

    write_whole(tmp_path / "file", lambda partial: partial.write_text("old"))
    with pytest.raises(RuntimeError):
        write_whole(tmp_path / "file", fail)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "old"
