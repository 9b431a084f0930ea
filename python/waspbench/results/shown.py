"""Results that show themselves: in a line, in a notebook, as a figure when one is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from pydantic import PrivateAttr

from waspbench.results.files import Files
from waspbench.results.formats import Record

if TYPE_CHECKING:
    import polars as pl

    from waspbench.figures.options import Log
    from waspbench.figures.plots import Plot
    from waspbench.report import Report


class AtAGlance(Record):
    """Results that show themselves in a line, and in a notebook. What is needed for that is imported when it is asked
    for.
    """

    def __repr__(self) -> str:
        from waspbench.results.glance import line

        try:
            return line(self)
        except Exception:
            return super().__repr__()

    def __str__(self) -> str:
        return repr(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: the line, the table, and what speaks against the results."""
        from waspbench.results.glance import html

        return html(self)


class Shown(AtAGlance):
    """Results that also have figures."""

    def plot(
        self,
        figure: str | None = None,
        *,
        x: str | None = None,
        by: str | Sequence[str] = (),
        log: Log | None = None,
    ) -> Plot:
        """Makes a figure of these results, which a notebook shows. The arguments and errors are those of
        `waspbench.plot`.
        """
        from waspbench.figures.plots import plot

        found: Any = self  # figures name the kinds of results, which this module cannot
        return plot(found, figure, x=x, by=by, log=log)


class WithFiles(Shown):
    """Results with files: in a directory that was named for them, or in one that is removed with them."""

    _files: Files = PrivateAttr(default_factory=Files.here)

    @property
    def directory(self) -> Path | None:
        """Directory of the files of these results; None if there are none. Pickled results do not keep files in a
        temporary directory; a directory that was named stays.
        """
        named: str | None = getattr(self, "results", None)  # each kind of results declares it where its JSON has it
        return self._files.directory(named)

    def report(self) -> Report:
        """Makes the report on these results, which a notebook shows. ``save("report.html")`` writes it as a page.

        Raises:
            InputError: these results have no files, or they are a part of those in their directory.
        """
        from waspbench.report import report_of

        found: Any = self  # reports name the kinds of results, which this module cannot
        return report_of(found)

    def _with_files(self, files: Files) -> Self:
        made = self.model_copy(update={"results": type(self).model_fields["results"].default})
        made._files = files
        return made


R = TypeVar("R", bound=WithFiles)


def with_files(results: R, files: Files) -> R:
    """The same results with files that no directory was named for."""
    return results._with_files(files)


def owned(results: R) -> R:
    """The same results, which keep their files if they were read from where others keep theirs."""
    files = None if results.directory is None else Files.of_another(results.directory)
    return results if files is None else with_files(results, files)


class WithTables(WithFiles):
    """Results whose files have a table of each kind for each run, which are read as polars' frames: `waspbench`'s
    reference has their columns. The column ``group`` has the name of the group of clients; in the files it is an index.
    A study's frames begin with the number of the ``point``.

    Each method raises InputError where there are no files, or one of them cannot be read.
    """

    def transactions(self) -> pl.DataFrame:
        """A data frame with a row for each transaction of each run, including transactions before the measured
        interval. Times are in nanoseconds since the start of the run.
        """
        return self._table("transactions")

    def connections(self) -> pl.DataFrame:
        """A data frame with a row for each connection of each run: when it was open, its packets, and the packets that
        the loss models dropped.
        """
        return self._table("connections")

    def series(self) -> pl.DataFrame:
        """A data frame with a row for each second of each run: transactions, packets, and the busy share of the
        server's CPUs.
        """
        return self._table("series")

    def links(self) -> pl.DataFrame:
        """A data frame with a row for each link and direction of each run: its packets, and the bytes in its queue."""
        return self._table("links")

    def link_series(self) -> pl.DataFrame:
        """A data frame with a row for each second, observed link and direction of each run: its packets, the bytes that
        it carried, and the bytes in its queue. Links that clients share are observed, and the access links of groups
        with ``observe``.
        """
        return self._table("link_series")

    def link_waits(self) -> pl.DataFrame:
        """A data frame with a row for each bucket of the histogram of waiting times in the queue of each observed link
        and direction, for each run. Times are in nanoseconds.
        """
        return self._table("link_waits")

    def histogram(self) -> pl.DataFrame:
        """A data frame with a row for each bucket of the histogram of response times, of all clients and of each group,
        for each run. Times are in nanoseconds.
        """
        return self._table("histogram")

    def _table(self, name: str) -> pl.DataFrame:
        from waspbench.results.frames.tables import table_frame

        found: Any = self  # the module names the classes that have tables, which this one cannot
        return table_frame(found, name)
