"""What a server must have for a workload."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from waspbench.cli.app import invoke
from waspbench.errors import InputError
from waspbench.experiment import Experiment, apply, parse
from waspbench.workload import generate
from waspbench.workload.serving import Served, served, site_of

SMALL = {"files": 20, "requests": 200, "base_sizes": {"mu": 5.0, "sigma": 1.0, "cap": "9000B"}}
COMBINED = '192.0.2.1 - - [10/Oct/2000:13:55:{:02} -0700] "GET {} HTTP/1.0" 200 {} "-" "-"\n'


def experiment(**workload: Any) -> Experiment:
    return parse({"name": "x", "clients": [{}], "workload": workload})


def log(path: Path, *targets: tuple[str, int]) -> str:
    lines = [COMBINED.format(second, target, size) for second, (target, size) in enumerate(targets)]
    path.write_text("".join(lines))
    return str(path)


def test_one_file_has_its_number_of_bytes_for_a_name() -> None:
    assert served(experiment(size="20KB")) == Served([("/20000", 20_000)])
    assert served(experiment()) == Served([("/1024", 1024)])


def test_a_list_has_its_files() -> None:
    files = [{"size": "1KiB", "weight": 3}, {"size": "64KiB", "path": "/large.html"}]
    assert served(experiment(files=files)) == Served([("/1024", 1024), ("/large.html", 65_536)])


def test_a_generated_set_is_that_of_the_files_command(tmp_path: Path) -> None:
    manifest = generate(tmp_path / "set", "surge", SMALL, 1)
    assert served(experiment(kind="surge", **SMALL)).files == [(entry.path, entry.size) for entry in manifest.entries]
    other = served(experiment(kind="surge", seed=2, **SMALL))
    assert other.files != served(experiment(kind="surge", **SMALL)).files
    assert served(experiment(kind="surge", directory=str(tmp_path / "set"), **SMALL)) == Served([], tmp_path / "set")


@pytest.mark.parametrize(
    ("workload", "complaint"),
    [
        ({"kind": "surge", "seed": 2, **SMALL}, "holds the set with seed 1; give workload.seed = 1"),
        ({"kind": "surge", **SMALL, "files": 21}, "holds another set than the workload means, with files = 20"),
        ({"kind": "prowgen"}, "holds a set of kind surge, and the workload is prowgen"),
    ],
)
def test_another_set_is_refused(tmp_path: Path, workload: dict[str, Any], complaint: str) -> None:
    generate(tmp_path / "set", "surge", SMALL, 1)
    with pytest.raises(InputError, match=r"^workload\.directory: ") as raised:
        served(experiment(directory=str(tmp_path / "set"), **workload))
    assert complaint in str(raised.value)


def test_files_that_do_not_match_their_manifest_are_refused(tmp_path: Path) -> None:
    manifest = generate(tmp_path / "set", "surge", SMALL, 1)
    first = tmp_path / "set" / manifest.entries[0].path.lstrip("/")
    first.write_bytes(b"x" * manifest.entries[0].size)
    with pytest.raises(InputError, match="has other content than the manifest says"):
        served(experiment(kind="surge", directory=str(tmp_path / "set"), **SMALL))


def test_a_log_tells_the_files_behind_its_targets(tmp_path: Path) -> None:
    name = log(tmp_path / "a.log", ("/", 10), ("/a.html?x=1", 20), ("/a.html?x=2", 30), ("/with%20blank", 40))
    replay = experiment(kind="replay", log=name)
    assert served(replay) == Served([("/index.html", 10), ("/a.html", 30), ("/with blank", 40)])


def test_a_target_that_is_file_and_directory_is_refused(tmp_path: Path) -> None:
    name = log(tmp_path / "a.log", ("/a", 10), ("/a/b", 20))
    with pytest.raises(InputError, match=r"^workload\.log: asks for /a and for /a/b, which cannot both be files"):
        served(experiment(kind="replay", log=name))


def test_what_the_directory_lacks_is_named(tmp_path: Path) -> None:
    name = log(tmp_path / "a.log", ("/a.html", 10), *((f"/missing-{n}.html", 20) for n in range(12)))
    (tmp_path / "www").mkdir()
    (tmp_path / "www" / "a.html").write_text("ten bytes.")
    with pytest.raises(InputError) as raised:
        served(experiment(kind="replay", log=name, directory=str(tmp_path / "www")))
    lines = [str(problem) for problem in raised.value.problems]
    assert lines[0] == f"workload.directory: {tmp_path / 'www'} has no /missing-0.html, which the log asks for"
    assert lines[-1].endswith("lacks 2 more files of 13 that the log asks for")
    assert len(lines) == 11


def test_a_directory_that_the_server_may_not_read_is_refused(tmp_path: Path) -> None:
    name = log(tmp_path / "a.log", ("/a.html", 10))
    with pytest.raises(InputError, match=r"^workload\.directory: .*: cannot be read: No such file or directory$"):
        served(experiment(kind="replay", log=name, directory=str(tmp_path / "www")))
    with pytest.raises(InputError, match=r"^workload\.directory: .*: is no directory$"):
        served(experiment(kind="replay", log=name, directory=name))


def test_garbage_in_a_log_is_counted_with_line_numbers_up_to_a_threshold(tmp_path: Path) -> None:
    text = "".join(COMBINED.format(n % 60, f"/{n}", 10) for n in range(100)) + "garbage\n"
    path = tmp_path / "a.log.gz"
    path.write_bytes(gzip.compress(text.encode()))
    site = site_of(experiment(kind="replay", log=str(path)))
    assert site.log is not None
    assert (site.files, site.log.lines, site.log.requests, site.log.bad) == (100, 101, 100, 1)
    assert site.log.first_bad[0].startswith("line 101: ")
    with pytest.raises(InputError, match=r"1 of 101 lines make no sense, more than 0\.5%; the first is line 101"):
        site_of(experiment(kind="replay", log=str(path), max_bad_lines="0.5%"))


def test_a_log_that_is_not_there_is_told(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match=r"^workload\.log: nowhere\.log: cannot be read: "):
        served(experiment(kind="replay", log="nowhere.log"))
    text = 'name = "x"\nworkload = { kind = "replay", log = "nowhere.log" }\n[[clients]]\n'
    (here / "replay.toml").write_text(text)
    for arguments in ("bench --workload replay --log nowhere.log", "run replay.toml"):
        assert invoke([*arguments.split(), "--mode", "sim"]) == 2
        assert "log: nowhere.log: cannot be read: " in capsys.readouterr().err
    assert [path.name for path in here.iterdir()] == ["replay.toml"]


def test_a_field_of_a_presets_table_can_be_set() -> None:
    document = apply({"workload": {"kind": "surge", "preset": "surge99"}}, ["workload.inactive_off.shape=1.2"])
    assert document["workload"]["inactive_off"] == {"model": "pareto", "shape": 1.2, "scale": "1s"}
    set_tail = apply({"workload": {"kind": "surge"}}, ["workload.sizes.tail.fraction=5%"])["workload"]["sizes"]
    assert (set_tail["tail"]["fraction"], set_tail["mu"]) == ("5%", 9.357)
    again = apply({"workload": {"kind": "surge"}}, ["workload.sizes.mu=9"])["workload"]["sizes"]
    assert again["tail"]["fraction"] == "7%", "a preset must not be changed by its users"
