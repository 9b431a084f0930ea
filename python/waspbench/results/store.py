"""The results directory of an experiment, or of a point of a sweep, read back by any later stage.

    DIR/manifest.json                   what was measured, on what, whether to trust it, and each run's figures
    DIR/transactions/run-0.parquet      one row a transaction; a file a run, with the run's number in column ``run``
    DIR/connections/  DIR/series/  DIR/links/  DIR/link_series/  DIR/link_waits/  DIR/histogram/      likewise
    DIR/access_log/run-0.log            what the server logged, where it was asked to

``polars.read_parquet("DIR/transactions/")`` reads all runs of a table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, Any, cast

import polars as pl

from waspbench.errors import Argument, InputError
from waspbench.experiment.metrics import PERCENTILES, asked_percentiles
from waspbench.experiment.metrics import percentiles as names_of
from waspbench.results.manifest import Manifest, now, read_manifest
from waspbench.results.result import Result, combine
from waspbench.results.shown import owned
from waspbench.results.tables import completed
from waspbench.results.together import CODES
from waspbench.stats import Histogram, Populations, merge

MANIFEST = "manifest.json"
ORDER = {"transactions": ["end_ns", "client", "request"]}
"""Columns that order the rows of tables that the engine hands over out of order."""

NEEDED = "histogram"
"""The table without which a run's figures cannot be combined."""


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
    """Writes a table so that equal frames make equal files, byte for byte.

    Raises:
        OSError: the disk is full or cannot be written.
    """
    with path.open("wb") as file:
        told = _Told(file)
        try:
            frame.rechunk().write_parquet(
                cast(IO[bytes], told), compression="zstd", compression_level=3, statistics=True, row_group_size=1 << 18
            )
        except pl.exceptions.PolarsError:
            raise told.error or OSError(f"cannot be made of a table with {frame.height:,} rows") from None


class _Told:
    """A file for polars, which keeps for itself why one could not be written."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.error: OSError | None = None

    def write(self, data: bytes) -> int:
        """Writes all of it."""
        try:
            return self._file.write(data)
        except OSError as error:
            self.error = error
            raise

    def flush(self) -> None:
        """Nothing: closing does."""


def populations_of(table: Any) -> Populations:
    """The histograms (nanoseconds) of the whole run and of each group in a table ``histogram``, and in both those of
    each named request and of whole sessions.
    """
    frame = completed(pl.DataFrame(table), "histogram").with_columns(
        pl.col("group").cast(pl.Int32).fill_null(_WHOLE), pl.col("population").fill_null("ok")
    )
    parts = {key: _histogram(part) for key, part in frame.partition_by(*_KEY, as_dict=True).items()}
    names = frame["request_name"].drop_nulls().unique(maintain_order=True).to_list()
    nothing = merge(())

    def of(index: int, name: str | None = None, groups: Sequence[Populations] = ()) -> Populations:
        ok, every = (parts.get((index, name, kind), nothing) for kind in ("ok", "all"))
        requests = {each: of(index, each) for each in names if (index, each, "all") in parts} if name is None else {}
        return Populations(ok, every, groups, requests, sessions(index) if name is None else None)

    def sessions(index: int) -> Populations | None:
        ok, every = (parts.get((index, None, f"{kind} sessions")) for kind in ("ok", "all"))
        return None if every is None else Populations(nothing if ok is None else ok, every)

    highest = max((index for index, _, _ in parts), default=_WHOLE)
    return of(_WHOLE, groups=[of(index) for index in range(highest + 1)])


_KEY = ("group", "request_name", "population")


def _histogram(frame: pl.DataFrame) -> Histogram:
    return Histogram.of(*(frame[column].to_numpy() for column in ("lower_ns", "upper_ns", "count")))


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
    if not Path(path).is_dir():
        raise InputError.at(str(path), "there is no such directory")
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise InputError.at(str(file), f"cannot be read: {said}") from None
    return read_manifest(text, str(file))


def _manifest_of_one(path: str | Path) -> Manifest:
    """The manifest of one result.

    Raises:
        InputError: there is none, or something else.
    """
    from waspbench.results.study import held, is_study  # which reads results by this module

    if is_study(path) and not (Path(path) / MANIFEST).exists():
        raise InputError.at(str(path), held(path))
    return load_manifest(path)


def load(
    path: str | Path, *, percentiles: Sequence[str] | None = None, judged_percentiles: Iterable[str] = ()
) -> Result:
    """Reads the result of an experiment without a sweep in a directory, and computes its figures from the files of its
    runs. `load_study` and `load_capacity` read the results of sweeps and searches.

    Args:
        path: the directory.
        percentiles: names of the percentiles that tables show, such as ``p99.9``. By default they are those of the
            experiment.
        judged_percentiles: names of further percentiles, which ``ResponseTime.at`` returns, and tables do not show.

    Raises:
        InputError: the directory has no such result, or a newer version of WASP wrote it, or a file of it is not valid.
    """
    manifest = _manifest_of_one(path)
    populations = [
        populations_of(read_table(Path(path) / "histogram" / f"run-{run.run}.parquet")) for run in manifest.runs
    ]
    of_all = (reason for reason in manifest.invalid_reasons if reason.run is None)
    missing = next((reason for reason in of_all if reason.code not in CODES), None)
    if percentiles is None:
        shown = names_of(manifest.experiment.get("measure", {}).get("percentiles", PERCENTILES))
    else:
        shown = asked_percentiles(percentiles)
    try:
        made = combine(
            manifest.runs,
            populations,
            missing=missing,
            percentiles=shown,
            judged_percentiles=judged_percentiles,
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
    return owned(made)
