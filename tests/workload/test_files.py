"""File sets: written, checked, and compared with what was intended."""

from __future__ import annotations

import hashlib
import json
import zlib
from pathlib import Path
from xml.etree import ElementTree

import pytest

from waspbench.cli.app import invoke
from waspbench.errors import InputError
from waspbench.workload import MANIFEST, complete, examine, generate, verify

SMALL = {"files": 60, "sizes": {"mu": 8.0, "sigma": 1.0, "cap": "50KB"}}


@pytest.fixture
def made(tmp_path: Path) -> Path:
    generate(tmp_path / "set", "surge", SMALL, 1)
    return tmp_path / "set"


def digest(directory: Path) -> str:
    """All paths and bytes below a directory, as one number."""
    whole = hashlib.sha256()
    for path in sorted(directory.rglob("*")):
        if path.is_file():
            whole.update(path.relative_to(directory).as_posix().encode() + b"\0" + path.read_bytes())
    return whole.hexdigest()


def test_a_set_is_the_same_bytes_every_time_and_another_for_another_seed(made: Path, tmp_path: Path) -> None:
    generate(tmp_path / "again", "surge", SMALL, 1)
    generate(tmp_path / "other", "surge", SMALL, 2)
    assert digest(made) == digest(tmp_path / "again") != digest(tmp_path / "other")


def test_the_files_have_the_sizes_of_the_manifest_in_directories(made: Path) -> None:
    manifest = verify(made)
    assert len(manifest.entries) == 60
    assert manifest.bytes == sum((made / entry.path[1:]).stat().st_size for entry in manifest.entries)
    assert all(entry.path.count("/") == 2 for entry in manifest.entries)


def test_the_content_does_not_compress(made: Path) -> None:
    content = b"".join((made / entry.path[1:]).read_bytes() for entry in verify(made).entries)
    assert len(zlib.compress(content, 9)) > len(content)


@pytest.mark.parametrize(
    ("kind", "options", "files"),
    [("prowgen", {"objects": 30, "requests": 200, "cap": "20KB"}, 30), ("surge", {**SMALL, "files": 7}, 7)],
)
def test_both_generators_write_what_verifies(tmp_path: Path, kind: str, options: dict[str, object], files: int) -> None:
    generate(tmp_path, kind, options, 3)
    assert examine(verify(tmp_path)).files == files


def test_files_that_do_not_match_the_manifest_are_named(made: Path) -> None:
    entries = sorted(verify(made).entries, key=lambda entry: -entry.size)
    missing, short, changed = (made / entry.path[1:] for entry in entries[:3])
    missing.unlink()
    short.write_bytes(b"x")
    changed.write_bytes(bytes(len(changed.read_bytes())))
    (made / "more").write_bytes(b"")
    with pytest.raises(InputError) as caught:
        verify(made)
    assert sorted(str(problem) for problem in caught.value.problems) == sorted(
        [
            f"{missing}: is not there; the manifest lists it",
            f"{short}: has 1 bytes; the manifest says {entries[1].size}",
            f"{changed}: has other content than the manifest says",
            f"{made / 'more'}: is not in the manifest",
        ]
    )


def test_of_many_differences_ten_are_told(made: Path) -> None:
    for entry in verify(made).entries:
        (made / entry.path[1:]).unlink()
    with pytest.raises(InputError) as caught:
        verify(made)
    assert len(caught.value.problems) == 11
    assert str(caught.value.problems[-1]) == f"{made}: 50 more files do not match the manifest"


def changed_manifest(directory: Path, **fields: object) -> None:
    path = directory / MANIFEST
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"format": 2}, "has format 2, newer than this version of WASP reads (1)"),
        ({"seed": 2}, "does not list what its options and seed give; it was changed, or made by WASP 0.1.0"),
        ({"seed": "one"}, "is no manifest of a file set: seed: Input should be a valid integer"),
        ({"colour": 1}, "is no manifest of a file set: colour: Extra inputs are not permitted"),
    ],
)
def test_a_manifest_that_was_changed_is_refused(made: Path, fields: dict[str, object], message: str) -> None:
    changed_manifest(made, **fields)
    with pytest.raises(InputError) as caught:
        verify(made)
    assert str(caught.value) == f"{made / MANIFEST}: {message}"


def test_a_manifest_with_impossible_options_is_refused(made: Path) -> None:
    changed_manifest(made, options={"files": 0})
    with pytest.raises(InputError, match=r"holds options that are not possible: files: 0; must be from 1"):
        verify(made)


@pytest.mark.parametrize(("content", "message"), [(b"\xff", "is no JSON"), (b"[]", "is no manifest of a file set")])
def test_what_is_no_manifest_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / MANIFEST).write_bytes(content)
    with pytest.raises(InputError, match=message):
        verify(tmp_path)


def test_a_directory_without_a_manifest_is_no_set(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not there: no file set, or one whose writing was interrupted"):
        verify(tmp_path)


def test_nothing_is_written_over(made: Path) -> None:
    before = digest(made)
    with pytest.raises(InputError, match="is not empty; name a new directory"):
        generate(made, "surge", SMALL, 1)
    assert digest(made) == before


def test_a_setting_within_a_table_keeps_the_rest_of_the_preset(tmp_path: Path) -> None:
    options = complete("surge", {"preset": "surge-50MB"}, ["sizes.tail.fraction=0%", "shares.base=20%", "files=9"])
    assert options["sizes"]["mu"] == 9.357
    assert options["sizes"]["tail"] == {"fraction": "0%", "shape": 1.1, "scale": "133000B"}
    assert options["shares"] == {"base": "20%", "embedded": "38%"}
    manifest = generate(tmp_path, "surge", options, 1)
    assert len(manifest.entries) == 9
    assert manifest.parameters["sampling"] == "stratified"


def test_the_default_set_is_as_intended(tmp_path: Path) -> None:
    generate(tmp_path, "surge", {"sizes": {**SMALL["sizes"]}}, 1)  # type: ignore[dict-item]
    examination = examine(verify(tmp_path))
    assert examination.popularity.slope == pytest.approx(-1, abs=0.05)
    stack = next(compared for compared in examination.distributions if compared.name == "stack distance")
    assert stack.distance is not None
    assert stack.distance <= 0.12
    assert stack.median in (4, 5)


def test_commands_write_check_and_draw(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "set"
    sizes = 'sizes={mu=8.0, sigma=1.0, cap="50KB"}'
    assert invoke(["files", "surge", str(target), "--seed", "1", "--files", "60", "--set", sizes]) == 0
    assert "surge, seed 1: 60 files of" in capsys.readouterr().out
    assert invoke(["files", "check", str(target)]) == 0
    printed = capsys.readouterr().out
    assert "all as in the manifest" in printed
    assert all(len(line) <= 100 for line in printed.splitlines())
    figures = sorted((tmp_path / "set-figures").iterdir())
    names = {figure.stem for figure in figures}
    assert {"file-size", "request-size", "popularity", "stack-distance", "inactive-off-time"} <= names
    for figure in figures:
        assert ElementTree.parse(figure).getroot().tag.endswith("svg")


def test_figures_are_the_same_bytes_every_time(made: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        assert invoke(["files", "check", str(made), "--figures", str(tmp_path / name), "--format", "png"]) == 0
    drawn = {figure.name for figure in (tmp_path / "one").iterdir()}
    assert {"file-size.png", "request-size.png", "popularity.png", "stack-distance.png"} <= drawn
    assert digest(tmp_path / "one") == digest(tmp_path / "two")


def test_commands_print_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = str(tmp_path / "set")
    assert invoke(["files", "prowgen", target, "--objects", "40", "--requests", "300", "--json"]) == 0
    written = json.loads(capsys.readouterr().out)
    assert (written["kind"], written["files"], written["options"]["objects"]) == ("prowgen", 40, 40)
    assert invoke(["files", "check", target, "--json"]) == 0
    checked = json.loads(capsys.readouterr().out)
    assert checked["distributions"][0]["name"] == "file size"
    drawn = sorted(map(str, (tmp_path / "set-figures").iterdir()))
    assert len(drawn) > 2
    assert sorted(checked["figures"]) == drawn


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["surge", "x", "--preset", "surge97"],
            'wasp: --preset: "surge97"; unknown variant `surge97`, expected one of `surge98`, `surge-50MB`, '
            "`surge99`, `pries2012`\n",
        ),
        (
            ["surge", "x", "--requests", "5"],
            "wasp: --requests: 5; 2000 files that are asked for at least once need from 2000 to 50000000\n",
        ),
        (
            ["surge", "x", "--set", "sizes.tail.shape=0"],
            "wasp: base_sizes.tail.shape: 0; must be above 0 and at most 1000000\n",
        ),
        (
            ["prowgen", "x", "--set", "one_timers=100%"],
            "wasp: --requests: 150000; 3000 objects that are asked for once give 3000 requests\n",
        ),
        (["prowgen", "x", "--set", "colour=1"], "wasp: colour: 1; unknown field `colour`, expected one of "),
        (["check", "x"], f"wasp: x/{MANIFEST}: is not there: no file set, or one whose writing was interrupted\n"),
        (["check", "x", "--format", "gif"], 'wasp: --format: "gif": must be one of svg, png, pdf\n'),
    ],
)
def test_bad_input_is_one_line(
    here: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert invoke(["files", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(message)
    assert not (here / "x").exists()
