"""The page and Markdown: whatever stands in results is text, and the page asks nothing of a network."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from html_pages import Page
from waspbench.errors import CannotRunError
from waspbench.report import Report, report_of, to_html, to_markdown
from waspbench.report.content import Code, Section, code, items, table
from waspbench.report.markdown import escaped
from waspbench.tabular import Column, Listing

STORED = Path(__file__).parents[1] / "results" / "stored"

EVIL = '</script><script>alert("x")</script><img src=http://evil.example/x onerror=alert(1)> & "q" <b>'

FREE = ("cpu", "distribution", "governor", "message", "name", "version")


def with_evil(value: Any) -> Any:
    """A document in which every text that is free says `EVIL`."""
    if isinstance(value, dict):
        return {key: EVIL if key in FREE else with_evil(inner) for key, inner in value.items()}
    return [with_evil(each) for each in value] if isinstance(value, list) else value


@pytest.fixture
def evil(tmp_path: Path) -> Report:
    """The report on a result in which names, paths, reasons and the server's files hold HTML."""
    directory = Path(shutil.copytree(STORED / "1-last" / "bench", tmp_path / "<script>alert(1)<"))
    file = directory / "manifest.json"
    manifest = with_evil(json.loads(file.read_text()))
    manifest["server"] |= {"argv": [EVIL, "a b"], "files": {EVIL: EVIL}, "environment": {EVIL: EVIL}}
    manifest["testbed"] = {"labels": [EVIL], "sysctl": {EVIL: EVIL}, "device": {"name": EVIL}}
    manifest["runs"][0]["invalid"] = [{"code": EVIL, "message": EVIL}]
    manifest["runs"][0]["notes"] = [EVIL]
    manifest["experiment"]["clients"][0]["name"] = "far"
    file.write_text(json.dumps(manifest))
    return report_of([str(directory)])


def test_html_in_results_is_text(evil: Report) -> None:
    page = Page(to_html(evil))
    assert page.problems == []
    assert page.requests == []
    assert not {"img", "b", "iframe", "object", "embed", "link"} & set(page.tags)
    assert not any("alert(" in script for script in page.scripts[-2:])
    assert page.tags.count("script") == page.tags.count("figure") + 3
    for script in page.scripts[:-2]:  # the figures, and the colours
        json.loads(script)
        assert not set("<>&") & set(script)
    assert page.text.count(" ".join(EVIL.split())) >= 10
    assert "<script>alert(1)<" in page.text


def test_markdown_has_no_html_but_in_fences(evil: Report) -> None:
    outside = re.sub(r"^(`{3,}).*?^\1$", "", to_markdown(evil), flags=re.DOTALL | re.MULTILINE)
    assert EVIL[:9].replace("<", "\\<") in outside
    assert not re.search(r"(?<!\\)<(?=[A-Za-z/!?])", outside)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("p99 < 800ms", "p99 < 800ms"),
        ("<b>", "\\<b>"),
        ("a_b _c_ *d* [e](f)", "a_b \\_c\\_ \\*d\\* \\[e](f)"),
        ("# no heading", "\\# no heading"),
        ("1. no list", "1\\. no list"),
        ("two\nlines", "two lines"),
        ("a|b", "a\\|b"),
    ],
)
def test_texts_have_no_meaning_in_markdown(text: str, said: str) -> None:
    assert escaped(text) == said


def test_a_fence_is_longer_than_any_in_its_text() -> None:
    made = report_of([str(STORED / "1-last" / "bench")])
    block = Code(title="", text="a\n```\n# no heading\n````\n", language="sh")
    text = to_markdown(made.model_copy(update={"sections": [Section(name="x", title="X", blocks=[block])]}))
    assert "`````sh\na\n```\n# no heading\n````\n`````" in text


def policy_of(html: str) -> list[str]:
    [policy] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', html)
    return str(policy).split("; ")


def test_the_policy_forbids_every_request_and_every_script_but_those_of_the_figures(evil: Report) -> None:
    html = to_html(evil)
    own = [
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
        for script in Page(html).scripts[-2:]
    ]
    first, scripts, images, *rest = policy_of(html)
    assert first == "default-src 'none'"
    assert scripts == f"script-src {' '.join(own)}"
    assert images == "img-src data: blob:"
    assert rest == ["style-src 'unsafe-inline'", "base-uri 'none'", "form-action 'none'"]
    without = evil.model_copy(update={"sections": [each for each in evil.sections if each.name != "figures"]})
    bare = to_html(without)
    assert policy_of(bare) == [first, *rest]
    assert "script" not in Page(bare).tags
    assert len(bare) < 100_000


def test_a_long_table_a_long_list_and_a_long_text_are_cut_and_say_so() -> None:
    rows = table("t", Listing({"a": Column("a")}, [{"a": index} for index in range(1234)]))
    assert (len(rows.rows), rows.left_out) == (1000, 234)
    told = items("l", [str(index) for index in range(60)]).items
    assert (len(told), told[-1]) == (51, "and 10 more")
    assert code("x", "y" * 100_007).text.endswith("\n... and 7 more characters\n")
    made = report_of([str(STORED / "1-last" / "bench")])
    cut = made.model_copy(update={"sections": [Section(name="x", title="X", blocks=[rows])]})
    said = "234 more lines are not shown; the CSV of this report (--format csv) has all."
    assert said in Page(to_html(cut)).text
    assert said in to_markdown(cut)


def test_a_missing_library_is_named_with_what_installs_it(evil: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(CannotRunError, match=r"is not installed.*: pip install 'waspbench\[report\]'"):
        to_html(evil)
    assert to_markdown(evil)
