"""What loss and distance cost, from Python: a simulated sweep, its data frames, a comparison, a figure and a report.

Run it with ``python examples/notebook.py``, or cell by cell in an editor that knows ``# %%``. It needs neither root nor
a server, and takes less than a minute. It writes loss-and-distance.svg and loss-and-distance.html into the current
directory. The figure needs matplotlib, the report jinja2 and plotly: ``pip install 'waspbench[plots,report]'``.
"""

# %% An experiment: 16 clients ask for 20 KB again and again, near and far, with and without loss.
import polars as pl

import waspbench

pl.Config.set_tbl_width_chars(120)

EXPERIMENT = {
    "name": "loss-and-distance",
    "clients": [{"count": 16, "loss": "0%"}],
    "workload": {"size": "20KB"},
    "measure": {"warmup": "10s", "duration": "120s", "runs": 5},
    "sweep": {"clients.rtt": ["20ms", "100ms"], "clients.loss.rate": ["0%", "3%"]},
}

# %% Two lines from the experiment to a data frame with a row for each point.
# Without output="results/x", the files are removed with `study`. waspbench.load_study("results/x") reads them again.
study = waspbench.study(EXPERIMENT, mode="sim")
frame = study.to_frame()
print(study)
print(frame.select("clients.rtt_ms", "clients.loss.rate", "throughput", "throughput_low", "throughput_high", "p99_ms"))

# %% Points that are not valid, and why: do not use their figures. Longer runs often help.
for row in frame.filter(~pl.col("valid")).iter_rows(named=True):
    print(f"{row['clients.rtt']}, {row['clients.loss.rate']} loss: not valid ({row['reasons']})")

# %% What loss costs at each distance.
valid = frame.filter("valid")
for row in valid.pivot("clients.loss.rate", index="clients.rtt_ms", values="throughput").iter_rows(named=True):
    if row.get("0%") and row.get("3%"):
        left = 100 * row["3%"] / row["0%"]
        print(f"At {row['clients.rtt_ms']:.0f} ms, 3 % loss leaves {left:.0f} % of the throughput.")

# %% How many responses are very slow: every transaction has a row, with times in nanoseconds.
far = study.at({"clients.rtt": "100ms", "clients.loss.rate": "3%"})
ended = far.transactions().filter("measured", outcome="ok")
slow = ended.select(((pl.col("end_ns") - pl.col("start_ns")) / 1e9 > 1).mean()).item()
print(f"{100 * slow:.1f} % of {ended.height:,d} responses took more than a second.")

# %% Whether the difference is more than chance.
without, lossy = (f"{study.directory}@clients.loss.rate={rate}" for rate in ("0%", "3%"))
compared = waspbench.compare_results(without, lossy)
print(compared.to_frame().select("clients.rtt", "ratio", "ratio_low", "ratio_high", "p_holm", "verdict"))

# %% A figure for a paper, and a page for the team.
study.plot("throughput-vs-rtt", by="clients.loss.rate").save("loss-and-distance.svg", width=3.3)
study.report().save("loss-and-distance.html")
