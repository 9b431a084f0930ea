"""The commands and code that a page shows are found in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from snippets import Snippet, prose, snippets

PAGE = """# Title

```sh
wasp run a.toml   # a comment
```

Text with `wasp list`.

```
wasp is what this prints
```

- An item:

  ```sh no-run
  wasp show NAME
  ```

```python
import waspbench
```
"""


def written(tmp_path: Path, text: str) -> Path:
    page = tmp_path / "page.md"
    page.write_text(text)
    return page


def test_blocks_have_their_line_and_their_mark(tmp_path: Path) -> None:
    found = snippets(written(tmp_path, PAGE))
    assert [(each.line, each.mark) for each in found] == [(3, "sh"), (9, ""), (15, "sh no-run"), (19, "python")]
    assert [each.of_wasp for each in found] == [[["run", "a.toml"]], [], [["show", "NAME"]], []]
    assert found[3].text == "import waspbench\n"


def test_prose_is_what_is_left(tmp_path: Path) -> None:
    kept = prose(written(tmp_path, PAGE))
    assert [line for line in kept.splitlines() if line] == ["# Title", "Text with `wasp list`.", "- An item:"]
    assert kept.count("\n") == PAGE.count("\n") - 1


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("```sh norun\nwasp list\n```\n", "page.md:1: 'sh norun' marks no block"),
        ("\n```bash\nwasp list\n```\n", "page.md:2: 'bash' marks no block"),
        ("```sh \nwasp list\n```\n", "'sh ' marks no block"),
        ("```sh\nwasp list\n", "page.md:1: this block has no end"),
    ],
)
def test_a_block_that_would_be_passed_over_is_an_error(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        snippets(written(tmp_path, text))


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("sudo ./run wasp bench --rtt 1ms", [["wasp", "bench", "--rtt", "1ms"]]),
        (
            'wasp capacity --slo "p99 < 3s" | jq -c .table',
            [["wasp", "capacity", "--slo", "p99 < 3s"], ["jq", "-c", ".table"]],
        ),
        ("wasp run a.toml && wasp list > out", [["wasp", "run", "a.toml"], ["wasp", "list"]]),
        ("wasp show a > out --json", [["wasp", "show", "a", "--json"]]),
        ("source <(wasp completion bash)", [["source"], ["wasp", "completion", "bash"]]),
        ("wasp run a.toml \\\n  -o b", [["wasp", "run", "a.toml", "-o", "b"]]),
        ("wasp compare loss@clients.loss.rate=0% b", [["wasp", "compare", "loss@clients.loss.rate=0%", "b"]]),
        ("venv/bin/wasp demo", [["wasp", "demo"]]),
        ("sudo pip install x", [["pip", "install", "x"]]),
        ("./run test", [["./run", "test"]]),
        ("./run wsap", [["./run", "wsap"]]),
        ("# wasp run", []),
    ],
)
def test_commands_are_those_of_lines_of_a_shell(line: str, commands: list[list[str]]) -> None:
    assert Snippet(1, "sh", f"{line}\n").commands == commands


def test_a_workflow_has_the_lines_that_run_wasp() -> None:
    text = "- run: pip install x\n- run: sudo ./run wasp list\n- run: |\n    wasp run a.toml \\\n      --junit b.xml\n"
    assert Snippet(1, "yaml", text).of_wasp == [["list"], ["run", "a.toml", "--junit", "b.xml"]]
