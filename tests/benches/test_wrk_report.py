"""What wrk prints, read."""

import pytest

import usage
import wrk

PRINTED = """\
Running 5s test @ http://198.18.0.1:80/1024
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     0.93ms    0.20ms   9.11ms   91.37%
    Req/Sec    67.45k     1.10k   69.02k    80.39%
  342187 requests in 5.10s, 412.83MB read
Requests/sec:  67095.51
Transfer/sec:     80.95MB
"""


def test_a_report_without_errors_is_read() -> None:
    report = wrk.parse(PRINTED)
    assert report == wrk.Report(requests=342_187, seconds=5.10, requests_per_s=67_095.51, errors=0)


def test_errors_of_every_kind_are_counted() -> None:
    text = PRINTED.replace(
        "Requests/sec:",
        "  Socket errors: connect 1, read 2, write 3, timeout 4\n  Non-2xx or 3xx responses: 5\nRequests/sec:",
    )
    assert wrk.parse(text).errors == 15


@pytest.mark.parametrize(("printed", "seconds"), [("900.00ms", 0.9), ("1.50m", 90.0), ("100.00us", 0.0001)])
def test_the_length_of_a_run_has_a_unit(printed: str, seconds: float) -> None:
    assert wrk.parse(PRINTED.replace("5.10s", printed)).seconds == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "unable to connect to 198.18.0.1:80 Connection refused\n"])
def test_what_is_no_report_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no result"):
        wrk.parse(text)


def test_busy_is_what_is_neither_idle_nor_waiting() -> None:
    before = usage.parse("cpu 0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\ncpu1 5 5 5 5 5 5 5 5 5 5\nintr 1\n")
    after = usage.parse("cpu 0 0 0 0 0 0 0 0\ncpu0 30 0 20 20 5 0 15 10 9 0\ncpu1 5 5 5 5 5 5 5 5 5 5\nintr 1\n")
    found = usage.cpu_use([0], before, after)
    assert found.busy == pytest.approx(0.75)
    assert found.steal == pytest.approx(0.1)
    assert usage.cpu_use([1], before, after) == usage.CpuTimes(0.0, 0.0)
