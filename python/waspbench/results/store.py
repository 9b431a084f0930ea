"""The results directory: written whole or not at all, read back by any later stage.

    DIR/manifest.json                   what was measured, on what, whether to trust it, and each run's figures
    DIR/transactions/run-0.parquet      one row a transaction; a file a run, with the run's number in column ``run``
    DIR/connections/  DIR/series/  DIR/links/  DIR/histogram/      likewise
    DIR/access_log/run-0.log            what the server logged, where it was asked to

``polars.read_parquet("DIR/transactions/")`` reads all runs of a table.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import polars as pl

from waspbench.errors import Argument, InputError, RunFailedError
from waspbench.results.access_log import log_path
from waspbench.results.manifest import Manifest, now, read_manifest
from waspbench.results.result import Result, combine
from waspbench.results.tables import TABLES as DECLARED
from waspbench.results.tables import completed
from waspbench.results.together import CODES
from waspbench.stats import Histogram, Populations

MANIFEST = "manifest.json"
ORDER = {"transactions": ["end_ns", "client", "request"]}
"""Columns that order the rows of tables that the engine hands over out of order."""

TABLES = tuple(DECLARED)
"""Their names."""

MANIFEST_ROOM = 1 << 17
"""Bytes that a manifest is sure to find: several times what most take."""

NEEDED = TABLES[-1]
"""The table without which a run's figures cannot be combined."""


class LostTablesError(RunFailedError):
    """Not all tables of a run could be written."""

    usable = True
    """Whether the run's figures can be kept without them."""


class Store:
    """A results directory in the making: what is added waits beside its place, under a hidden name, for ``finish``.

    As a context manager it removes what was not finished.
    """

    def __init__(self, path: Path) -> None:
        """Makes sure that the directory can be made when there is something to put into it.

        Raises:
            InputError: the directory exists already, or cannot be made.
        """
        check_free(path)
        self.path = path
        self._partial = path.parent / f".{path.name}.partial-{os.getpid()}"
        try:
            self._partial.mkdir(parents=True)
            self._partial.rmdir()
        except OSError as error:
            raise InputError.at(Argument("output"), f"cannot be made: {error.strerror}", str(path)) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.discard()

    def add(self, run: int, tables: Mapping[str, Any]) -> None:
        """Writes the tables (Arrow streams) of one run, those first without which its figures cannot be read again.

        Raises:
            LostTablesError: a table could not be written. Those that were stay, unless one was needed.
        """
        for name in sorted(tables, key=TABLES.index, reverse=True):
            frame = pl.DataFrame(tables[name])
            if name in ORDER:
                frame = frame.sort(ORDER[name])
            path = self._partial / name / f"run-{run}.parquet"
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                self._reserve()
                write_table(frame.insert_column(0, pl.lit(run, dtype=pl.UInt32).alias("run")), path)
            except (OSError, pl.exceptions.PolarsError) as error:
                path.unlink(missing_ok=True)
                number = re.search(r"\(os error (\d+)\)", str(error))
                said = (error.strerror if isinstance(error, OSError) else None) or str(error)
                said = os.strerror(int(number[1])) if number else said
                lost = LostTablesError(f"{self.path / name}: cannot be written: {said}")
                lost.usable = name != NEEDED
                raise lost from None

    def _reserve(self) -> None:
        """Keeps room for the manifest, so that a disk that tables fill still takes what says so."""
        with (self._partial / MANIFEST).open("ab") as file:
            if not file.tell():
                os.posix_fallocate(file.fileno(), 0, MANIFEST_ROOM)

    def tables(self) -> list[str]:
        """Names of the tables written so far."""
        return sorted(name for name in TABLES if (self._partial / name).is_dir())

    def log_path(self, run: int) -> Path:
        """Where the access log of a run is to be put."""
        return log_path(self._partial, run)

    def finish(self, manifest: Manifest) -> None:
        """Adds the manifest and puts the directory into its place.

        Raises:
            InputError: something else took the place meanwhile.
            RunFailedError: it cannot be written.
        """
        text = manifest.model_dump_json(indent=2) + "\n"
        try:
            with (self._partial / MANIFEST).open("r+b") as file:
                file.write(text.encode())
                file.truncate()
        except OSError as error:
            raise RunFailedError(f"{self.path / MANIFEST}: cannot be written: {error.strerror}") from None
        check_free(self.path)
        self._partial.rename(self.path)

    def discard(self) -> None:
        """Removes what was not finished."""
        shutil.rmtree(self._partial, ignore_errors=True)


def default_directory(name: str, root: str | Path = "results") -> Path:
    """A free directory for the results of the experiment ``name``: ``results/<UTC time>-<name>``."""
    stamp = re.sub("[-:]", "", now())  # ISO 8601's basic form
    path = Path(root) / f"{stamp}-{name}"
    again = 2
    while path.exists():
        path = Path(root) / f"{stamp}-{name}-{again}"
        again += 1
    return path


def check_free(path: Path) -> None:
    """Makes sure that nothing is at ``path``.

    Raises:
        InputError: something is.
    """
    if path.exists() or path.is_symlink():
        raise InputError.at(Argument("output"), "exists already; name a new directory", str(path))


def write_table(frame: pl.DataFrame, path: Path) -> None:
    """Writes a table so that equal frames make equal files, byte for byte."""
    frame.rechunk().write_parquet(
        path, compression="zstd", compression_level=3, statistics=True, row_group_size=1 << 18
    )


def populations_of(table: Any) -> Populations:
    """The histograms (nanoseconds) of the whole run and of each group in a table ``histogram``."""
    frame = completed(pl.DataFrame(table), "histogram")
    group = frame["group"].cast(pl.Int32).fill_null(_WHOLE).to_numpy()
    every = frame["population"].fill_null("ok").to_numpy() == "all"
    edges = [frame[column].to_numpy() for column in ("lower_ns", "upper_ns", "count")]

    def of(index: int, groups: Sequence[Populations] = ()) -> Populations:
        ok, all_ = (Histogram.of(*(edge[(group == index) & rows] for edge in edges)) for rows in (~every, every))
        return Populations(ok, all_, groups)

    return of(_WHOLE, [of(index) for index in range(int(group.max(initial=_WHOLE)) + 1)])


_WHOLE = -1
"""The index that stands for all groups together."""


def read_table(path: Path) -> pl.DataFrame:
    """The table in one file ``TABLE/run-N.parquet`` of results of any format, with all columns of the present one.

    Raises:
        InputError: it is not there, or is no table.
    """
    try:
        return completed(pl.read_parquet(path, glob=False), path.parent.name)
    except OSError as error:
        raise InputError.at(str(path), f"cannot be read: {error.strerror or 'missing'}") from None
    except pl.exceptions.PolarsError:
        raise InputError.at(str(path), "cannot be read: no valid Parquet file") from None


def load_manifest(path: str | Path) -> Manifest:
    """The manifest of the results directory at ``path``.

    Raises:
        InputError: there is none, or it is not valid or newer than this version.
    """
    file = Path(path) / MANIFEST
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise InputError.at(str(file), f"cannot be read: {said}") from None
    return read_manifest(text, str(file))


def load(path: str | Path) -> Result:
    """The result in the directory at ``path``, combined anew from its runs.

    Raises:
        InputError: there is none, or it is not valid or newer than this version.
    """
    manifest = load_manifest(path)
    populations = [
        populations_of(read_table(Path(path) / "histogram" / f"run-{run.run}.parquet")) for run in manifest.runs
    ]
    of_all = (reason for reason in manifest.invalid_reasons if reason.run is None)
    missing = next((reason for reason in of_all if reason.code not in CODES), None)
    try:
        return combine(
            manifest.runs,
            populations,
            missing=missing,
            name=manifest.name,
            mode=manifest.mode,
            seed=manifest.seed,
            interrupted=manifest.interrupted,
            server=manifest.server,
            clients=manifest.scenario["clients"],
            scenario=manifest.scenario,
            site=manifest.site,
            results=str(path),
            lengths=manifest.lengths,
        )
    except InputError as error:
        raise InputError.at(str(path), str(error)) from None
