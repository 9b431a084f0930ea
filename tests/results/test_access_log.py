"""Keeping a server's access log: whole where there is room, and never at the cost of what matters more."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from small_disk import small_disk
from waspbench.results.access_log import keep, log_path

LINES = b"".join(b"198.18.0.%d - - a request\n" % client for client in range(200)) * 60


def written(path: Path, text: bytes = LINES) -> Path:
    path.write_bytes(text)
    return path


def kept(source: Path, point: Path) -> tuple[list[str], bytes]:
    """The notes, and what is kept."""
    with source.open("rb") as log:
        notes = keep(log, log_path(point, 3))
    assert [path.name for path in (point / "access_log").iterdir()] == ["run-3.log"]
    return notes, (point / "access_log" / "run-3.log").read_bytes()


@pytest.mark.parametrize("text", [LINES, b""])
def test_a_log_is_kept_whole(text: bytes, tmp_path: Path) -> None:
    assert kept(written(tmp_path / "log", text), tmp_path / "point") == ([], text)


def test_a_later_log_takes_the_place_of_an_earlier_one(tmp_path: Path) -> None:
    kept(written(tmp_path / "log", LINES * 2), tmp_path)
    assert kept(written(tmp_path / "log", LINES), tmp_path) == ([], LINES)


@pytest.mark.root(live=False)
def test_a_log_leaves_half_of_the_room_and_ends_with_a_line(tmp_path: Path) -> None:
    source = written(tmp_path / "log")
    with small_disk(tmp_path / "small", "200k") as disk:
        room = shutil.disk_usage(disk).free
        assert room < len(LINES)
        notes, text = kept(source, disk / "point")
        assert shutil.disk_usage(disk).free > 0.4 * room
    assert 0.4 * room < len(text) <= 0.5 * room
    assert LINES.startswith(text)
    assert text.endswith(b" a request\n")
    message = f"the first {len(text):,d} of {len(LINES):,d} bytes of the access log are kept"
    assert notes == [f"{message}: the disk has little room left"]


@pytest.mark.root(live=False)
def test_a_log_that_filled_the_servers_memory_is_said_to_lack_its_end(tmp_path: Path) -> None:
    with small_disk(tmp_path / "memory", "64k") as memory:
        with suppress(OSError), (memory / "log").open("wb", buffering=0) as log:
            while log.write(LINES):
                pass
        notes, text = kept(memory / "log", tmp_path / "point")
    assert notes == ["the access log lacks its end: the server's memory file system was full"]
    assert len(text) == 64 << 10


def test_a_log_that_cannot_be_kept_is_a_note_and_no_failure(tmp_path: Path) -> None:
    (tmp_path / "access_log").touch()
    with written(tmp_path / "log").open("rb") as log:
        assert keep(log, log_path(tmp_path, 0)) == ["the access log is not kept: File exists"]
