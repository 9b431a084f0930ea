"""Errors carry what they are about."""

import pickle
import re
from pathlib import Path

import pytest

import waspbench
from waspbench import _core, live, study
from waspbench.cli.app import invoke
from waspbench.cli.flags import flag_of_field
from waspbench.cli.options import ARGUMENTS, flag_of
from waspbench.errors import Argument, CannotRunError, InputError, Problem, RunFailedError, WaspError, renamed
from waspbench.experiment import Experiment, parse
from waspbench.experiment.resolve import accept
from waspbench.results.study import JOURNAL
from waspbench.results.whole_files import NotWrittenError
from waspbench.testbed import CannotDoIt, TestbedError

SERVER_IS_MISSING = CannotRunError("nginx is not installed", "server.kind")


@pytest.mark.parametrize(
    "error",
    [
        InputError([Problem("clients.rtt", "must be text", 5, True), Problem("name", "missing")]),
        SERVER_IS_MISSING,
        CannotRunError("no room"),
        RunFailedError("the disk is full", Path("out")),
        RunFailedError("nothing listens", field="server.url"),
        NotWrittenError(Path("out/a"), "no space"),
        InputError.at(Argument("output"), "exists already"),
    ],
)
def test_an_error_comes_whole_out_of_another_process(error: WaspError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


def test_a_failure_says_where_its_results_are() -> None:
    error = RunFailedError("the disk is full", Path("out"))
    assert (str(error), error.kept) == ("the disk is full; what was measured is kept in out", Path("out"))


def test_the_command_names_its_flags() -> None:
    with pytest.raises(InputError, match=r"^--low: 1: must be 2$"), renamed(flag_of):
        raise InputError.at(Argument("search.low"), "must be 2", 1)
    with pytest.raises(CannotRunError, match=r"^--emulator-cpus: no BPF$"), renamed(flag_of):
        raise CannotRunError("no BPF", Argument("emulator_cpus"))
    with pytest.raises(CannotRunError, match=r"^server\.kind: nginx"), renamed(flag_of):
        raise SERVER_IS_MISSING


@pytest.mark.parametrize("arguments", [("run", "output"), ("show", "results"), ("files", "surge", "files")])
def test_a_file_is_not_taken_for_an_argument_with_its_name(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    place = Path(arguments[-1])
    place.mkdir()
    (place / "other").touch()
    assert invoke(arguments) == 2
    assert capsys.readouterr().err.startswith(f"wasp: {place}: ")


@pytest.mark.parametrize("key", ["jobs", "settings", "thresholds", "output"])
def test_an_unknown_key_is_not_taken_for_an_argument_with_its_name(
    key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "e.toml"
    file.write_text(f'name = "x"\n{key} = 3\n[[clients]]\n')
    assert invoke(["run", str(file)]) == 2
    assert capsys.readouterr().err.startswith(f"wasp: {key}: unknown field")


def test_every_argument_that_has_a_flag_is_named_by_an_error() -> None:
    sources = "".join(path.read_text() for path in Path(waspbench.__file__).parent.rglob("*.py"))
    searched = {f"search.{name}" for name in re.findall(r'BoundsError\("(\w+)"', sources)}
    assert searched | set(re.findall(r'Argument\("([\w.]+)"\)', sources)) >= set(ARGUMENTS)


def test_a_failure_of_the_testbed_names_the_flag(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RunFailedError) as raised, renamed(flag_of_field({})), live.running():
        raise TestbedError.at("server.url", "nothing listens on 127.0.0.1:1")
    assert str(raised.value) == "URL: nothing listens on 127.0.0.1:1"
    with pytest.raises(CannotRunError) as cannot, renamed(flag_of_field({})), live.running():
        raise CannotDoIt.at("server.command", "there is no program 'x' to start")
    assert str(cannot.value) == "--command: there is no program 'x' to start"


@pytest.mark.parametrize(
    ("workload", "where", "message"),
    [
        (
            {"kind": "prowgen", "requests": 5, "objects": 9},
            "workload.requests",
            "5; 3 one-timers and 6 others, twice each, need at least 15",
        ),
        (
            {"kind": "surge", "requests": 5},
            "workload.requests",
            "5; 2000 files that are asked for at least once need from 2000 to 50000000",
        ),
    ],
)
def test_what_the_engine_refuses_of_a_workload_has_its_whole_path(
    workload: dict[str, object], where: str, message: str
) -> None:
    with pytest.raises(InputError) as raised:
        accept(_experiment(workload), "sim")
    [problem] = raised.value.problems
    assert problem.where == where
    assert problem.message == message


def _experiment(workload: dict[str, object]) -> Experiment:
    return parse({"name": "x", "clients": [{}], "workload": workload})


def test_a_quantity_that_is_none_is_told_without_its_text() -> None:
    with pytest.raises(_core.QuantityError) as raised:
        _core.parse_duration("5 parsecs")
    assert raised.value.message.startswith("unknown or missing unit; expected")
    assert str(raised.value) == f'"5 parsecs": {raised.value.message}'


def test_what_the_testbed_refuses_keeps_its_field() -> None:
    with pytest.raises(InputError) as refused, live.usage():
        raise TestbedError.at("server.command", "'' is empty: a command would be valid")
    assert refused.value.problems == (Problem("server.command", "'' is empty: a command would be valid"),)
    with pytest.raises(CannotRunError) as cannot, live.usage():
        raise CannotDoIt.at("server.kind", "nginx is not installed", "install it")
    assert (cannot.value.field, cannot.value.message) == ("server.kind", "nginx is not installed: install it")


def test_a_failure_is_told_with_the_command_that_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measure = {"warmup": "1s", "duration": "1s", "runs": 2}
    made = tmp_path / "out"
    study({"name": "x", "clients": [{}], "measure": measure}, output=made, mode="sim")
    (made / "runs" / "run-1.json").unlink()
    (made / JOURNAL).unlink()
    (made / JOURNAL).mkdir()
    assert invoke(["resume", str(made)]) == 4
    kept = (
        f"cannot be written: Is a directory; what was measured is kept in {made}; wasp resume {made} makes the rest\n"
    )
    assert capsys.readouterr().err.endswith(kept)
