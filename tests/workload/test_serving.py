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
from waspbench.workload.serving import Served, by_path, check_sites, files_of, served, site_of

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
    directory = tmp_path / "set"
    assert served(experiment(kind="surge", directory=str(directory), **SMALL)) == Served(
        [], {"": (directory, "workload.directory")}
    )


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
    site = site_of(experiment(kind="replay", log=str(path)), "sim")
    assert site.log is not None
    assert (site.files, site.log.lines, site.log.requests, site.log.bad) == (100, 101, 100, 1)
    assert site.log.first_bad[0].startswith("line 101: ")
    with pytest.raises(InputError, match=r"1 of 101 lines make no sense, more than 0\.5%; the first is line 101"):
        site_of(experiment(kind="replay", log=str(path), max_bad_lines="0.5%"), "sim")


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


def groups(shared: dict[str, Any] | None = None, **own: dict[str, Any] | None) -> Experiment:
    """Groups of clients with workloads of their own, by the names of the groups."""
    made = [
        {"name": name} if workload is None else {"name": name, "workload": workload} for name, workload in own.items()
    ]
    return parse({"name": "x", "clients": made, **({} if shared is None else {"workload": shared})})


def test_the_files_of_several_workloads_stand_side_by_side(tmp_path: Path) -> None:
    replay = {"kind": "replay", "log": log(tmp_path / "access.log", ("/a.html", 30), ("/1024", 1024))}
    surge = {"kind": "surge", **SMALL}
    asked = groups(surge, homes=None, pages=surge, list={"size": "1KiB"}, log=replay)
    found = served(asked)
    paths = dict(found.files)
    assert len(paths) == len(found.files) == 20 + 20 + 2
    generated = {path: size for path, size in paths.items() if path.startswith("/pages/")}
    shared, own = (dict(files_of(asked, number)) for number in range(2))
    assert generated == own
    assert [path.removeprefix("/pages") for path in own] == list(shared)
    assert list(own.values()) != list(shared.values()), "the sets have different seeds"
    assert by_path(asked) == paths
    site = site_of(asked, "live")
    assert (site.files, site.bytes) == (len(paths), sum(paths.values()))
    told = site.groups or {}
    assert {name: (each.files, each.log is not None) for name, each in told.items()} == {
        "homes": (20, False),
        "pages": (20, False),
        "list": (1, False),
        "log": (2, True),
    }


def test_workloads_that_contradict_each_other_are_refused() -> None:
    small, large = {"files": [{"size": "1KB", "path": "/a"}]}, {"files": [{"size": "2KB", "path": "/a"}]}
    message = r"^clients\.two\.workload: /a has 2000B here and 1000B in another workload; another path, or the same"
    with pytest.raises(InputError, match=message):
        check_sites(groups(one=small, two=large), "sim")
    with pytest.raises(InputError, match=message):
        served(groups(one=small, two=large))
    below = {"files": [{"size": "2KB", "path": "/a/b"}]}
    message = r"^clients\.two\.workload: asks for /a/b, and another workload for /a, which cannot both be files; leave"
    with pytest.raises(InputError, match=message):
        served(groups(one=small, two=below))
    check_sites(groups(one=small, two=below), "live")  # a server that runs already may answer both
    inside = {"files": [{"size": "2KB", "path": "/pages/00/0000.bin"}]}
    message = r"^clients\.list\.workload: /pages/00/0000\.bin has 2000B here and "
    with pytest.raises(InputError, match=message):
        check_sites(groups(pages={"kind": "surge", **SMALL}, list=inside), "sim")


def test_groups_that_ask_for_one_target_agree_on_its_size() -> None:
    asked = groups(one=None, two={"size": "5KB"}, pages={"kind": "surge", **SMALL})
    document = asked.model_dump(exclude_unset=True, by_alias=True)
    at_url = parse(document | {"server": {"kind": "url", "url": "http://127.0.0.1:8080"}})
    check_sites(at_url, "sim")
    message = r"^clients\.two\.workload: / has 5000B here and 1KiB in another workload"
    with pytest.raises(InputError, match=message):
        check_sites(at_url, "live")


def test_a_file_of_two_logs_has_the_larger_size(tmp_path: Path) -> None:
    one = {"kind": "replay", "log": log(tmp_path / "one.log", ("/a", 40), ("/b", 50))}
    two = {"kind": "replay", "log": log(tmp_path / "two.log", ("/a", 30), ("/b", 10))}
    asked = groups(one=one, two=two)
    check_sites(asked, "live")
    assert served(asked) == Served([("/a", 40), ("/b", 50)])
    site = site_of(asked, "sim")
    assert (site.bytes, [each.bytes for each in (site.groups or {}).values()]) == (90, [90, 90])
    with pytest.raises(InputError, match=r"^clients\.list\.workload: /a has 99B here and 40B in another"):
        served(groups(one=one, two=two, list={"files": [{"size": "99B", "path": "/a"}]}))
    exact = {"files": [{"size": "40B", "path": "/a"}]}
    larger = {"kind": "replay", "log": log(tmp_path / "larger.log", ("/a", 60))}
    with pytest.raises(InputError, match=r"^clients\.larger\.workload: /a has 60B here and 40B in another"):
        check_sites(groups(one=one, list=exact, larger=larger), "sim")


def test_files_behind_targets_of_logs_are_those_on_disk(tmp_path: Path) -> None:
    one = {"kind": "replay", "log": log(tmp_path / "one.log", ("/?a", 40), ("/b?x", 50))}
    two = {"kind": "replay", "log": log(tmp_path / "two.log", ("/?b", 60))}
    assert served(groups(one=one, two=two)) == Served([("/index.html", 60), ("/b", 50)])
    exact = {"files": [{"size": "50B", "path": "/b"}]}
    assert served(groups(one=one, list=exact)) == Served([("/index.html", 40), ("/b", 50)])
    other = {"files": [{"size": "51B", "path": "/b"}]}
    message = r"^clients\.list\.workload: /b has 51B here and 50B in another workload; another path would be valid$"
    for made in (served, by_path):
        with pytest.raises(InputError, match=message):
            made(groups(one=one, list=other))


def test_directories_of_groups_are_served_beside_other_files(tmp_path: Path) -> None:
    generate(tmp_path / "set", "surge", SMALL, 7)
    surge = {"kind": "surge", "seed": 7, "directory": str(tmp_path / "set"), **SMALL}
    found = served(groups(homes=surge, list={"size": "1KiB"}))
    assert found == Served([("/1024", 1024)], {"/homes": (tmp_path / "set", "clients.homes.workload.directory")})
    with pytest.raises(
        InputError, match=r"^workload\.directory: the files of this directory are at the top of the server"
    ):
        served(groups(surge, others=None, list={"size": "1KiB"}))
    inside = {"files": [{"size": "1KiB", "path": "/homes/x"}]}
    message = (
        r"^clients\.homes\.workload\.directory: the files of this directory are /homes, where clients ask for others"
    )
    with pytest.raises(InputError, match=message):
        served(groups(homes=surge, list=inside))
    with pytest.raises(InputError, match=message):
        served(groups(homes=surge, list={"files": [{"size": "1KiB", "path": "/homes"}]}))


def test_two_logs_may_be_of_one_directory(tmp_path: Path) -> None:
    for name in ("www", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a").write_text("x")
    one = {"kind": "replay", "log": log(tmp_path / "one.log", ("/a", 30)), "directory": str(tmp_path / "www")}
    assert served(groups(one=one, two=one)) == Served([], {"": (tmp_path / "www", "clients.one.workload.directory")})
    message = (
        r"^clients\.two\.workload\.directory: .*the server has one directory at its top, and another workload gives"
    )
    with pytest.raises(InputError, match=message):
        served(groups(one=one, two=one | {"directory": str(tmp_path / "other")}))
