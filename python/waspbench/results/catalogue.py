"""The catalogue: where results are, in an SQLite file of this user that many processes may write (WAL).

It is a convenience and never the truth: everything in it follows from the directories, so it may be deleted, and
directories may be moved or deleted behind its back. A broken file is put aside and begun anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from waspbench.errors import InputError
from waspbench.results.calibration import CALIBRATION, load_calibration
from waspbench.results.capacity import CAPACITY, load_capacity
from waspbench.results.formats import Record
from waspbench.results.store import MANIFEST, load_manifest
from waspbench.results.study import STUDY, StudyPlan, is_study, read_plan
from waspbench.results.twins import SIDES
from waspbench.suggestion import spelt_like

VERSION = 1

_SCHEMA = """
CREATE TABLE IF NOT EXISTS results (
    id TEXT PRIMARY KEY,
    path TEXT NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    mode TEXT NOT NULL,
    created TEXT NOT NULL,
    points INTEGER NOT NULL,
    runs INTEGER NOT NULL,
    valid INTEGER
);
"""


class Entry(Record):
    """A directory of results."""

    id: str
    """Identifier of the results, which ``wasp show`` takes; its first 4 characters or more are enough if no other
    identifier begins with them."""
    path: str
    """Directory of the results."""
    name: str
    """Name of the experiment."""
    kind: str
    """Kind of the results: bench (one point), sweep, capacity, calibration or twin."""
    mode: str
    """live or sim; live and sim of a twin."""
    created: str
    """When the experiment was prepared: UTC, ISO 8601."""
    points: int
    """Number of points."""
    runs: int
    """Number of runs that ended, those that failed included."""
    valid: bool | None
    """Whether the results are valid; None while they are not complete."""


def location() -> Path:
    """The file: ``$WASP_CATALOGUE``, or ``waspbench/catalogue.sqlite`` in ``$XDG_DATA_HOME`` (``~/.local/share``)."""
    if named := os.environ.get("WASP_CATALOGUE"):
        return Path(named)
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "waspbench" / "catalogue.sqlite"


def describe(directory: Path) -> Entry:
    """What the catalogue says of the results in ``directory``, read from there.

    Raises:
        InputError: there are none, or they are not valid or newer than this version.
    """
    path = directory.resolve()
    if not is_study(path):
        manifest = load_manifest(path)
        key = f"{manifest.created} {manifest.name} {manifest.seed} {manifest.runs[:1]}"
        return Entry(
            id=hashlib.sha256(key.encode()).hexdigest()[:32],
            path=str(path),
            name=manifest.name,
            kind="bench",
            mode=manifest.mode,
            created=manifest.created,
            points=1,
            runs=len(manifest.runs),
            valid=manifest.valid,
        )
    plan = read_plan(path)
    valid = _valid(path, plan)
    return Entry(
        id=plan.id,
        path=str(path),
        name=plan.name,
        kind="bench" if plan.kind == "sweep" and plan.points == 1 else plan.kind,
        mode=" and ".join(SIDES) if plan.kind == "twin" else plan.mode,
        created=plan.created,
        points=plan.points,
        runs=sum(1 for _ in path.rglob("runs/run-*.json")),
        valid=valid,
    )


def _valid(path: Path, plan: StudyPlan) -> bool | None:
    """Whether results are valid; None while they are not complete."""
    if plan.kind == "sweep":
        return _points_valid(path, plan.points)
    if plan.kind == "twin":
        sides = [_valid(path / side, read_plan(path / side)) if is_study(path / side) else None for side in SIDES]
        return None if None in sides else all(sides)
    file, load = (CAPACITY, load_capacity) if plan.kind == "capacity" else (CALIBRATION, load_calibration)
    if not (path / file).exists():
        return None
    found = load(path)
    return found.valid if found.complete else None


def _points_valid(path: Path, points: int) -> bool | None:
    directories = [path] if points == 1 else sorted((path / "points").glob("*"))
    manifests = [load_manifest(each) for each in directories if (each / MANIFEST).exists()]
    if len(manifests) < points or any(manifest.interrupted for manifest in manifests):
        return None
    return all(manifest.valid for manifest in manifests)


@contextmanager
def _opened() -> Iterator[sqlite3.Connection]:
    """The catalogue, made if there is none, and made anew if it is broken."""
    file = location()
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        connection = _connected(file)
    except sqlite3.DatabaseError:
        for part in ("", "-wal", "-shm"):
            with suppress(FileNotFoundError):
                file.with_name(file.name + part).rename(file.with_name(f"{file.name}{part}.broken"))
        connection = _connected(file)
    with closing(connection), connection:
        yield connection


def _connected(file: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(file, timeout=10)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        if connection.execute("PRAGMA user_version").fetchone()[0] > VERSION:
            raise InputError.at(str(file), "this catalogue is newer than this version of waspbench")
        connection.executescript(_SCHEMA)
        connection.execute(f"PRAGMA user_version = {VERSION}")
    except BaseException:
        connection.close()
        raise
    return connection


def register(directory: Path) -> Entry:
    """Puts the results in ``directory`` into the catalogue, under the path at which they are now.

    Raises:
        InputError: there are none.
        OSError, sqlite3.Error: the catalogue cannot be written.
    """
    entry = describe(directory)
    with _opened() as connection:
        # Results that were copied over others, or made anew in their place, replace them.
        connection.execute("DELETE FROM results WHERE path = ?", (entry.path,))
        columns = list(Entry.model_fields)
        marks = ", ".join("?" * len(columns))
        values = [getattr(entry, column) for column in columns]
        connection.execute(f"INSERT OR REPLACE INTO results ({', '.join(columns)}) VALUES ({marks})", values)
    return entry


def entries(root: Path | None = None) -> list[Entry]:
    """All results that are known and still there, newest first.

    What lies below ``root`` is looked for as well and registered, so that moved directories are found again; what is
    gone is forgotten.
    """
    for directory in _below(root) if root is not None else ():
        with suppress(InputError):  # not ours, or too new: not a matter of the catalogue
            register(directory)
    with _opened() as connection:
        names = list(Entry.model_fields)
        rows = connection.execute(f"SELECT {', '.join(names)} FROM results ORDER BY created DESC, path").fetchall()
        found = [Entry.model_validate(dict(zip(names, row, strict=True))) for row in rows]
        gone = [entry for entry in found if not _is_results(Path(entry.path))]
        connection.executemany("DELETE FROM results WHERE id = ?", [(entry.id,) for entry in gone])
    return [entry for entry in found if entry not in gone]


def _below(root: Path) -> list[Path]:
    """Directories of results at or just below ``root``."""
    if not root.is_dir():
        return []
    return [path for path in [root, *sorted(root.iterdir())] if path.is_dir() and _is_results(path)]


def _is_results(path: Path) -> bool:
    return (path / STUDY).is_file() or (path / MANIFEST).is_file()


def find(text: str, root: Path | None = None) -> Path:
    """The directory that ``text`` names: a path, or the beginning of an id, or the name of an experiment (its newest
    results of which a run is finished).

    Raises:
        InputError: nothing has this name, or several ids begin so.
    """
    if _is_results(Path(text)):
        return Path(text)
    known = entries(root)
    by_id = [entry for entry in known if len(text) >= 4 and entry.id.startswith(text)]
    if len(by_id) > 1:
        raise InputError.at(text, "is the beginning of several ids: " + ", ".join(entry.id for entry in by_id))
    named = by_id or [entry for entry in known if entry.name == text]
    if not named:
        near = spelt_like(text, [entry.name for entry in known])
        message = "neither a directory of results, nor an id or a name that wasp list shows"
        raise InputError.at(text, message if near is None else f"{message}; did you mean {near}?")
    return Path(next((entry for entry in named if entry.runs), named[0]).path)


def to_json(found: list[Entry]) -> str:
    """Entries as a JSON list."""
    return json.dumps([entry.model_dump() for entry in found], indent=2)
