"""Reports in Debian's Chromium: what a reader sees on a screen, on a phone, in the dark, and on paper."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from reported import bench, search, sweep
from waspbench.report import report_of, to_html

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

CHROMIUM = shutil.which("chromium")
WIDTHS = (360, 1280)
PRINTED_WIDTH = 1031
"""CSS pixels between the margins of A4 in landscape."""
KINDS = ("bench", "sweep", "capacity", "comparison", "invalid")
EVIL = "<script>alert(1)</script>"
"""The name of a directory, as no other text is free and drawn."""

MISSING = ["chromium"] if CHROMIUM is None else []
MISSING += [name for name in ("playwright", "axe_playwright_python") if find_spec(name) is None]
pytestmark = [pytest.mark.full, pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A page of each kind of report."""
    place = tmp_path_factory.mktemp("pages")
    named = {
        "bench": [bench("ten-groups", place / "a")],
        "sweep": [sweep(place / "c")],
        "capacity": [search(place / "d")],
        "comparison": [bench("one-run", place / "<b>e%{y}"), bench("one-group", place / EVIL.replace("/", "_"))],
        "invalid": [bench("all-errors", place / "f")],
    }
    found = {}
    for name, directories in named.items():
        found[name] = place / f"{name}.html"
        found[name].write_text(to_html(report_of([str(each) for each in directories])), encoding="utf-8")
    return found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        made = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield made
        made.close()


class Seen:
    """A page that was opened, what it said on its console, and what it asked for."""

    def __init__(self, browser: Browser, file: Path, width: int = 1280, scheme: Any = "light", **options: Any) -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, **options)
        self.page: Page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        self.page.on("dialog", lambda dialog: self.said.append(f"dialog: {dialog.message}"))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(file.as_uri())
        self.page.wait_for_load_state("load")

    def __enter__(self) -> Seen:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()

    def colour(self, selector: str, name: str) -> str:
        """A computed colour."""
        script = "([selector, name]) => getComputedStyle(document.querySelector(selector))[name]"
        return str(self.page.evaluate(script, [selector, name]))

    def turn(self, scheme: Any) -> None:
        """Makes the reader's screen dark or light, and waits until the plots are."""
        paper = ".plot .main-svg"
        before = self.colour(paper, "backgroundColor")
        self.page.emulate_media(color_scheme=scheme)
        script = "([selector, before]) => getComputedStyle(document.querySelector(selector)).backgroundColor !== before"
        self.page.wait_for_function(script, arg=[paper, before])

    def plots(self) -> list[Locator]:
        """The plots of all figures."""
        found: list[Locator] = self.page.locator(".plot").all()
        return found


Look = Callable[..., Seen]


@pytest.fixture(scope="module")
def look(browser: Browser, pages: dict[str, Path]) -> Iterator[Look]:
    """Opens a page of a kind at a width, once for all tests that change nothing on it."""
    opened: dict[tuple[str, int], Seen] = {}

    def at(kind: str, width: int = 1280) -> Seen:
        if (kind, width) not in opened:
            opened[kind, width] = Seen(browser, pages[kind], width)
        return opened[kind, width]

    yield at
    for seen in opened.values():
        seen.context.close()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_quiet_asks_for_nothing_and_fits(look: Look, kind: str, width: int) -> None:
    seen = look(kind, width)
    assert seen.said == []
    assert [url for url in seen.asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
    assert seen.page.evaluate("document.body.scrollWidth") <= width


@pytest.mark.parametrize("kind", KINDS)
def test_every_plot_is_drawn_and_some_mark_of_it_answers_the_pointer(look: Look, kind: str) -> None:
    seen = look(kind)
    plots = seen.plots()
    assert len(plots) >= seen.page.locator("figure").count() >= 1
    for plot in plots:
        assert plot.locator("svg.main-svg").count() >= 1
        assert plot.locator(".trace, .hm").count() >= 1
        box = plot.bounding_box()
        assert box is not None
        assert box["width"] > 400
        assert box["height"] > 150
        assert answers(seen.page, plot)


def answers(page: Page, plot: Locator) -> bool:
    """Whether something that is drawn says what it is when it is pointed at."""
    plot.scroll_into_view_if_needed()
    marks = plot.locator(".points path, .hm image, .lines path")
    for index in range(min(marks.count(), 60)):
        box = marks.nth(index).bounding_box()
        if box is None:
            continue
        for part in (0.5, 0.02, 0.98):
            if told_at(page, plot, box["x"] + part * box["width"], box["y"] + part * box["height"]):
                return True
    return False


def told_at(page: Page, plot: Locator, x: float, y: float, *, patience: float = 200) -> str:
    """What is said where the pointer is; nothing if that is nothing within so many milliseconds."""
    page.mouse.move(x, y)
    with suppress(import_module("playwright.sync_api").TimeoutError):
        plot.locator(".hoverlayer .hovertext").first.wait_for(timeout=patience)
    return " ".join(plot.locator(".hoverlayer .hovertext text").all_text_contents())


def axis(plot: Locator, name: str) -> dict[str, Any]:
    """What plotly makes of an axis, and what the page says of it."""
    script = """(place, name) => ({
        range: [...place._fullLayout[name].range], mode: place._fullLayout[name].tickmode,
        whole: [...place.whole[name].range], named: !place.whole[name].type })"""
    found: dict[str, Any] = plot.evaluate(script, name)
    return found


def drag(page: Page, plot: Locator, name: str) -> None:
    """Shows the middle part of an axis, as a reader does."""
    plot.scroll_into_view_if_needed()
    box = plot.locator(".nsewdrag").first.bounding_box()
    assert box is not None
    left, top, right, bottom = (box["x"], box["y"], box["x"] + box["width"], box["y"] + box["height"])
    middle = ((left + right) / 2, (top + bottom) / 2)
    first = (0.7 * left + 0.3 * right, middle[1]) if name == "xaxis" else (middle[0], 0.3 * top + 0.7 * bottom)
    last = (0.4 * left + 0.6 * right, middle[1]) if name == "xaxis" else (middle[0], 0.6 * top + 0.4 * bottom)
    page.mouse.move(*first)
    page.mouse.down()
    page.mouse.move(*last, steps=4)
    page.mouse.up()
    wait_for(page, plot, name, whole=False)


def wait_for(page: Page, plot: Locator, name: str, *, whole: bool) -> None:
    """Waits until all of an axis is shown, or not all of it any more."""
    script = """([place, name, whole]) => {
        const shown = place._fullLayout[name].range, all = place.whole[name].range;
        return whole === (Math.abs(shown[0] - all[0]) + Math.abs(shown[1] - all[1]) < 1e-6);
    }"""
    page.wait_for_function(script, arg=[plot.element_handle(), name, whole])


@pytest.mark.parametrize("kind", KINDS)
def test_every_axis_goes_from_end_to_end_and_has_values_beside_it(look: Look, kind: str) -> None:
    for plot in look(kind).plots():
        for name in ("xaxis", "yaxis"):
            found = axis(plot, name)
            assert found["range"] == pytest.approx(found["whole"])
            texts = [text for text in plot.locator(f".{name[0]}tick text").all_text_contents() if text]
            assert len(texts) >= (1 if found["named"] else 2)


def test_the_tail_answers_between_its_steps(look: Look) -> None:
    seen = look("comparison")
    plot = seen.page.locator("figure[data-name=response-time-ccdf] .plot")
    plot.scroll_into_view_if_needed()
    line = plot.locator(".trace .lines path").last
    # The middle of the longest level part.
    place = line.evaluate(
        """path => {
            const steps = path.getAttribute("d").match(/-?[0-9.]+,-?[0-9.]+|[HV]-?[0-9.]+/g);
            let x = 0, y = 0, longest = [0, 0, 0];
            steps.forEach(step => {
                const [ahead, down] = step.startsWith("V") ? [x, +step.slice(1)]
                    : step.startsWith("H") ? [+step.slice(1), y] : step.split(",").map(Number);
                if (down === y && ahead - x > longest[0]) { longest = [ahead - x, (x + ahead) / 2, y]; }
                x = ahead; y = down;
            });
            const at = new DOMPoint(longest[1], longest[2]).matrixTransform(path.getScreenCTM());
            return [at.x, at.y];
        }"""
    )
    assert "share of transactions" in told_at(seen.page, plot, *place, patience=10_000)


def test_names_are_text_wherever_they_are_drawn(look: Look) -> None:
    seen = look("comparison")
    legends = seen.page.locator(".legend").all_inner_texts()
    assert any("<b>e%{y}" in text and "<script>alert(1)<_script>" in text for text in legends)
    plot = seen.page.locator("figure[data-name=response-time-cdf] .plot")
    assert answers(seen.page, plot)
    told = " ".join(plot.locator(".hoverlayer .hovertext").all_text_contents())
    assert any(name in told for name in ("<b>e%{y}", "<script>alert(1)<_script>"))
    assert seen.said == []


@pytest.mark.parametrize("width", WIDTHS)
def test_the_legend_switches_curves_on_and_off_and_they_stay_off(
    browser: Browser, pages: dict[str, Path], width: int
) -> None:
    with Seen(browser, pages["sweep"], width) as seen:
        figure = seen.page.locator("figure[data-name=response-time]")
        button = figure.locator(".legend button").first
        curves, plots = figure.locator(".trace"), figure.locator(".plot").count()
        before = curves.count()
        button.click()
        assert button.get_attribute("aria-pressed") == "false"
        assert curves.count() == before - plots
        seen.turn("dark")
        assert curves.count() == before - plots
        button.focus()
        seen.page.keyboard.press("Enter")
        assert button.get_attribute("aria-pressed") == "true"
        assert curves.count() == before


@pytest.mark.parametrize("name", ["xaxis", "yaxis"])
def test_a_part_of_a_logarithmic_axis_has_whole_numbers_beside_it(
    browser: Browser, pages: dict[str, Path], name: str
) -> None:
    with Seen(browser, pages["sweep"]) as seen:
        plot = seen.page.locator("figure[data-name=response-time-ccdf] .plot")
        ticks = plot.locator(f".{name[0]}tick")
        whole = ticks.all_text_contents()
        low, high = axis(plot, name)["whole"]
        drag(seen.page, plot, name)
        part = axis(plot, name)["range"]
        assert low < part[0] < part[1] < high
        told = [float(text.replace(",", "")) for text in ticks.all_text_contents() if text]
        assert len(told) >= 2
        assert all(10 ** part[0] * 0.99 <= value <= 10 ** part[1] * 1.01 for value in told)
        seen.turn("dark")
        seen.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        assert axis(plot, name)["range"] == pytest.approx(part)
        seen.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
        assert axis(plot, name)["range"] == pytest.approx(part)
        plot.hover()
        plot.locator(".modebar-btn[data-title='Reset axes']").click()
        wait_for(seen.page, plot, name, whole=True)
        assert axis(plot, name)["range"] == pytest.approx([low, high])
        assert ticks.all_text_contents() == whole
        assert seen.said == []


def test_a_double_click_shows_all_of_an_axis_and_no_more(browser: Browser, pages: dict[str, Path]) -> None:
    with Seen(browser, pages["sweep"]) as seen:
        plot = seen.page.locator("figure[data-name=throughput] .plot")
        texts = plot.locator(".xtick text, .ytick text")
        whole = texts.all_text_contents()
        for dragged in (True, False):
            if dragged:
                drag(seen.page, plot, "yaxis")
                assert texts.all_text_contents() != whole
            plot.locator(".nsewdrag").first.dblclick()
            wait_for(seen.page, plot, "yaxis", whole=True)
            assert texts.all_text_contents() == whole


def test_panels_below_each_other_show_the_same_seconds(browser: Browser, pages: dict[str, Path]) -> None:
    with Seen(browser, pages["bench"]) as seen:
        plots = seen.page.locator("figure[data-name=series] .plot").all()
        assert len(plots) >= 3
        drag(seen.page, plots[1], "xaxis")
        part = axis(plots[1], "xaxis")["range"]
        for plot in plots:
            wait_for(seen.page, plot, "xaxis", whole=False)
            assert axis(plot, "xaxis")["range"] == pytest.approx(part)
        first = seen.plots()[0]
        assert axis(first, "xaxis")["range"] == axis(first, "xaxis")["whole"]


def test_a_figure_is_saved_as_a_file(browser: Browser, pages: dict[str, Path], tmp_path: Path) -> None:
    with Seen(browser, pages["sweep"]) as seen:
        plot = seen.page.locator("figure[data-name=throughput] .plot")
        plot.hover()
        with seen.page.expect_download() as saved:
            plot.locator(".modebar-btn[data-title^='Download']").click()
        saved.value.save_as(tmp_path / "x.svg")
        assert saved.value.suggested_filename == "throughput.svg"
        assert (tmp_path / "x.svg").read_text().startswith("<svg")
        assert seen.said == []


def test_a_figure_that_cannot_be_drawn_takes_no_other_with_it(
    browser: Browser, pages: dict[str, Path], tmp_path: Path
) -> None:
    text = pages["sweep"].read_text(encoding="utf-8")
    first, second = text.index('<script type="application/json">['), text.rindex('<script type="application/json">[')
    assert first < second
    broken = tmp_path / "broken.html"
    broken.write_text(text.replace('<script type="application/json">[', '<script type="application/json">{', 1))
    with Seen(browser, broken) as seen:
        figures = seen.page.locator("figure")
        assert "This figure cannot be drawn here" in figures.first.inner_text()
        assert figures.first.locator("svg.main-svg").count() == 0
        for figure in figures.all()[1:]:
            assert figure.locator("svg.main-svg").count() >= 1
        assert seen.said == []


def test_on_a_phone_a_finger_on_a_plot_scrolls_the_page(browser: Browser, pages: dict[str, Path]) -> None:
    with Seen(browser, pages["sweep"], 360, has_touch=True, is_mobile=True) as seen:
        modes = seen.page.evaluate("[...document.querySelectorAll('.plot')].map(each => each.layout.dragmode)")
        assert set(modes) == {False}


@pytest.mark.parametrize("kind", ["sweep", "comparison", "capacity"])
def test_whether_a_line_is_valid_stays_in_sight_on_a_phone(look: Look, kind: str) -> None:
    cells = look(kind, 360).page.locator("td.kept").all()
    assert cells
    wide = 0
    for cell in cells:
        frame = cell.locator("xpath=ancestor::div[contains(@class, 'scroll')][1]")
        box, around = cell.bounding_box(), frame.bounding_box()
        assert box is not None
        assert around is not None
        assert around["x"] <= box["x"]
        assert box["x"] + box["width"] <= around["x"] + around["width"] + 1
        wide += frame.evaluate("each => each.scrollWidth > each.clientWidth")
    assert wide >= 1


@pytest.mark.parametrize("kind", KINDS)
def test_dark_and_light_follow_the_reader(browser: Browser, pages: dict[str, Path], kind: str) -> None:
    colours = {}
    for scheme in ("light", "dark"):
        with Seen(browser, pages[kind], scheme=scheme) as seen:
            colours[scheme] = [
                seen.colour("body", "backgroundColor"),
                seen.colour("body", "color"),
                seen.colour(".plot .xtick text", "fill"),
                seen.colour(".plot .main-svg", "backgroundColor"),
            ]
            assert seen.said == []
            other = "dark" if scheme == "light" else "light"
            seen.turn(other)
            colours[f"{other} later"] = [seen.colour(".plot .xtick text", "fill")]
    assert all(one != other for one, other in zip(colours["light"], colours["dark"], strict=True))
    assert colours["dark later"] == colours["dark"][2:3]
    assert colours["light later"] == colours["light"][2:3]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(browser: Browser, pages: dict[str, Path], kind: str, scheme: str) -> None:
    axe = import_module("axe_playwright_python.sync_playwright").Axe()
    with Seen(browser, pages[kind], scheme=scheme, bypass_csp=True) as seen:
        found = axe.run(seen.page).response["violations"]
        grave = [
            (each["id"], each["impact"], each["nodes"][0]["html"][:200])
            for each in found
            if each["impact"] in ("serious", "critical")
        ]
        assert grave == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_printed_in_light_within_its_width(browser: Browser, pages: dict[str, Path], kind: str) -> None:
    with Seen(browser, pages[kind], scheme="dark") as seen:
        printed = seen.page.pdf(prefer_css_page_size=True)
        assert printed.startswith(b"%PDF-")
        assert len(printed) > 20_000
        seen.page.set_viewport_size({"width": PRINTED_WIDTH, "height": 900})
        seen.page.emulate_media(media="print")
        folded = seen.page.locator("details:not([open])").count()
        assert folded >= 1
        seen.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        widths = seen.page.evaluate("[...document.querySelectorAll('.plot .main-svg')].map(each => each.clientWidth)")
        assert 300 < max(widths) <= PRINTED_WIDTH
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= PRINTED_WIDTH
        assert seen.colour("body", "backgroundColor") == "rgb(255, 255, 255)"
        assert seen.colour(".plot .main-svg", "backgroundColor") == "rgb(255, 255, 255)"
        assert seen.page.locator("details:not([open])").count() == 0
        assert all(plot.locator(".trace, .hm").count() >= 1 for plot in seen.plots())
        seen.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
        assert seen.page.locator("details:not([open])").count() == folded
        assert answers(seen.page, seen.plots()[0])
        assert seen.said == []
