"""The page of runs on real runs of the kitchen-sink study: list, filter, compare, open, pin, forget."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser
ROOT = Path(__file__).parents[2]
WIDTHS = (1600, 1100, 900, 400)
RUNS = [
    ("climb", {"amplitude": "1.0"}),
    ("climb", {"amplitude": "2.0"}),
    ("climb", {"amplitude": "2.0", "shape": "square"}),
    ("breaks", {}),
]
MAKE = f"""
from workbench.runner import Request, Runner
from workbench.store import Store
if __name__ == "__main__":
    runner = Runner(Store())
    for experiment, values in {RUNS!r}:
        job = runner.submit(Request("kitchen-sink", experiment, values, "quick"))
        try:
            job.wait(100)
        except RuntimeError:
            pass
    runner.close()
    for record in reversed(runner.store.runs()):
        print(record.run)
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A home with four runs, and their ids, the first one first."""
    folder = tmp_path_factory.mktemp("runs")
    environment = os.environ | {
        "ASSAY_HOME": str(folder / "home"), "ASSAY_STUDIES": str(ROOT / "tests" / "studies"), "ASSAY_WORKERS": "1"
    }  # fmt: skip
    script = folder / "make.py"
    script.write_text(MAKE)
    said = subprocess.run(
        [sys.executable, str(script)],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return folder / "home", said.stdout.split()


@pytest.fixture(scope="module")
def runs(home):
    return home[1]


@pytest.fixture(scope="module")
def server(home, serve_home):
    """The address of a server with that home."""
    with serve_home(home[0]) as address:
        yield address


def rows(tab):
    return tab.locator("#rn-rows tr[data-run]")


def row(tab, run):
    return tab.locator(f'#rn-rows tr[data-run="{run}"]')


def opened(tab, server, query=""):
    tab.goto(f"{server}/runs{query}")
    expect(rows(tab).first).to_be_visible()


def test_the_list_says_what_ran_and_how_it_ended(tab, server, runs):
    tab.goto(f"{server}/gallery")
    tab.get_by_role("navigation", name="Pages").get_by_role("link", name="Runs").click()
    expect(rows(tab)).to_have_count(4)
    expect(tab.get_by_role("link", name="Runs")).to_have_attribute("aria-current", "page")
    assert [e.get_attribute("data-run") for e in rows(tab).all()] == runs[::-1], "newest first"
    broken = row(tab, runs[3])
    expect(broken).to_contain_text("Fail on purpose")
    expect(broken).to_contain_text("failed")
    expect(broken).to_contain_text("the amplitude 1.0 V broke the glass")
    square = row(tab, runs[2])
    expect(square).to_contain_text("amplitude 2.0, shape square")
    expect(square).to_contain_text("quick")
    expect(square.get_by_role("img", name=re.compile("Claims: "))).to_be_visible()
    expect(square.locator("time")).to_have_text(re.compile(r"now|min ago"))
    expect(tab.locator("#rn-count")).to_have_text("4 runs")


def test_filters_and_order_live_in_the_address(tab, server, runs):
    opened(tab, server)
    tab.keyboard.press("/")
    expect(tab.locator("#rn-find")).to_be_focused()
    tab.keyboard.type("shape square")
    expect(rows(tab)).to_have_count(1)
    expect(tab).to_have_url(re.compile(r"\?find=shape\+square$"))
    expect(tab.locator("#rn-count")).to_have_text("1 of 1 that fit, 4 in all")
    tab.locator("#rn-find").fill("")
    expect(rows(tab)).to_have_count(4)
    tab.get_by_label("State").select_option("failed")
    expect(rows(tab)).to_have_count(1)
    tab.reload()
    expect(rows(tab)).to_have_count(1)
    expect(tab.get_by_label("State")).to_have_value("failed")
    tab.locator("#rn-find").fill("nothing like it")
    expect(tab.get_by_text("No run fits.")).to_be_visible()
    tab.get_by_role("button", name="Clear filters").click()
    expect(rows(tab)).to_have_count(4)
    assert tab.url == f"{server}/runs"
    tab.get_by_role("button", name="Started").click()
    expect(rows(tab).first).to_have_attribute("data-run", runs[0])
    expect(tab.locator("th[data-col~=started]")).to_have_attribute("aria-sort", "ascending")
    expect(tab).to_have_url(re.compile("order=up"))


def test_what_is_wrong_in_an_address_is_said(tab, server):
    opened(tab, server, "?state=odd&runs=zzz")
    expect(tab.locator("#rn-notices")).to_contain_text("state: got 'odd'")
    expect(tab.locator("#rn-notices")).to_contain_text("runs: got 'zzz'")


def test_two_runs_are_compared_and_a_third_joins(tab, server, runs):
    opened(tab, server)
    expect(tab.get_by_text("Tick two or more runs to compare them.")).to_be_visible()
    row(tab, runs[0]).get_by_role("checkbox").check()
    expect(tab.get_by_text("Tick another run to compare it with A.")).to_be_visible()
    row(tab, runs[1]).get_by_role("checkbox").check()
    expect(tab.locator("#rn-how")).to_have_text("A and B differ in amplitude")
    expect(tab).to_have_url(re.compile(rf"runs={runs[0][:8]},{runs[1][:8]}$"))
    expect(tab.locator(".rn-diff .is").first).to_contain_text("Amplitude")
    expect(tab.locator(".rn-diff .is dd")).to_have_text(["A1.0\N{NO-BREAK SPACE}V", "B2.0\N{NO-BREAK SPACE}V"])
    words = tab.locator(".rn-numbers tbody tr").evaluate_all("rows => rows.map((r) => r.dataset.word)")
    assert "drift" in words and words == sorted(words, key=["drift", "missing", "within tolerance", "same"].index)
    expect(tab.locator('[data-view="progress"] .js-plotly-plot')).to_be_visible()
    look = "e => e.data.map((t) => [t.meta.run, t.marker.color, t.marker.symbol])"
    drawn = tab.locator('[data-view="progress"] .js-plotly-plot')
    assert drawn.evaluate("e => e.calcdata.map((points) => points.length)") == [5, 5]
    assert drawn.evaluate(look) == [["A", "#2a4bd0", "circle"], ["B", "#e87011", "square"]]
    row(tab, runs[2]).get_by_role("checkbox").check()
    expect(tab.locator("#rn-how")).to_have_text("A, B and C differ in amplitude and shape")
    assert [one[2] for one in drawn.evaluate(look)] == ["circle", "square", "triangle-up"]
    tab.get_by_role("button", name="Switch light and dark").click()
    tab.wait_for_function(
        "document.querySelector('[data-view=progress] .js-plotly-plot')?.data?.[0].marker.color === '#91a7ff'"
    )
    tab.get_by_role("button", name="Switch light and dark").click()
    tab.reload()
    expect(tab.locator("#rn-how")).to_have_text("A, B and C differ in amplitude and shape")
    expect(row(tab, runs[1]).locator(".ab")).to_have_text("B")
    row(tab, runs[0]).get_by_role("checkbox").uncheck()
    expect(tab.locator("#rn-how")).to_have_text("A and B differ in shape")
    expect(row(tab, runs[1]).locator(".ab")).to_have_text("A")


def test_a_run_without_a_result_is_compared_in_what_was_asked(tab, server, runs):
    opened(tab, server, f"?runs={runs[0][:8]},{runs[3][:8]}")
    expect(tab.locator("#rn-how")).to_have_text("A and B are of different experiments")
    expect(tab.locator("#rn-found")).to_contain_text("Numbers are compared between runs of one experiment.")
    expect(tab.locator("#rn-found")).to_contain_text("B kept no figure of it.")


def test_a_run_opens_as_the_page_of_its_study_with_its_result(tab, server, runs):
    opened(tab, server)
    row(tab, runs[2]).get_by_role("link", name="kitchen-sink").click()
    expect(tab.locator('[data-job="climb"]')).to_have_attribute("data-state", "done")
    expect(tab.locator("#as-c-amplitude")).to_have_value("2")
    expect(tab.locator("input[name=as-preset][value=quick]")).to_be_checked()
    expect(tab.locator('[data-job="climb"]')).to_contain_text("Kept from an earlier run")


def test_a_run_is_pinned_and_forgotten_after_a_second_look(tab, server, runs):
    opened(tab, server)
    tab.on("dialog", lambda dialog: pytest.fail("a dialog of the browser"))
    name = runs[3][:8]
    row(tab, runs[3]).get_by_role("button", name=f"Pin run {name}").click()
    expect(row(tab, runs[3])).to_contain_text("Pinned")
    forget = row(tab, runs[3]).get_by_role("button", name=f"Forget run {name}")
    expect(forget).to_be_disabled()
    expect(forget).to_have_attribute("title", "Pinned; unpin it first.")
    row(tab, runs[3]).get_by_role("button", name=f"Unpin run {name}").click()
    expect(forget).to_be_enabled()
    forget.click()
    sure = tab.get_by_role("group", name=f"Forget run {name}?")
    expect(sure.get_by_role("button", name="Keep")).to_be_focused()
    tab.keyboard.press("Escape")
    expect(sure).to_have_count(0)
    expect(forget).to_be_focused()
    tab.keyboard.press("Enter")
    sure.get_by_role("button", name="Forget").click()
    expect(row(tab, runs[3])).to_have_count(0)
    expect(tab.locator("#rn-count")).to_have_text(re.compile("runs$"))


def test_a_job_that_runs_shows_how_far_it_is(tab, server, runs):
    tab.goto(f"{server}/study?study=kitchen-sink&steps=5000&pause=0.02")
    tab.get_by_role("button", name="Run Climb the wave").click()
    expect(tab.locator('[data-job="climb"]')).to_have_attribute("data-state", "running")
    other = tab.context.new_page()
    other.goto(f"{server}/runs")
    expect(other.locator('#rn-rows tr[data-state="running"] [role=progressbar]')).to_be_visible()
    expect(other.locator('#rn-rows tr[data-state="running"]')).to_contain_text("%")
    tab.get_by_role("button", name="Cancel Climb the wave").click()
    expect(other.locator('#rn-rows tr[data-state="cancelled"]')).to_have_count(1)
    expect(other.locator("#rn-rows [role=progressbar]")).to_have_count(0)


SEEN = """() => {
  const shown = (e) => e.getClientRects().length && getComputedStyle(e).visibility !== "hidden";
  const named = (e) => (e.ariaLabel || e.labels?.[0]?.textContent || e.textContent || e.placeholder || "").trim();
  const all = [...document.querySelectorAll("button, a, input, select")];
  return [document.documentElement.scrollWidth <= innerWidth,
    all.filter((e) => shown(e) && !named(e)).map((e) => e.outerHTML)];
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_width_scrolls_sideways_and_everything_has_a_name(tab, server, runs, theme):
    for width in WIDTHS:
        tab.set_viewport_size({"width": width, "height": 900})
        tab.goto(f"{server}/runs?runs={runs[0][:8]},{runs[1][:8]},{runs[2][:8]}&theme={theme}")
        expect(tab.locator('[data-view="progress"] .js-plotly-plot')).to_be_visible()
        assert tab.evaluate(SEEN) == [True, []], (width, theme)
        expect(tab.get_by_role("navigation", name="Pages").get_by_role("link", name="Studies")).to_be_visible()
        above = tab.evaluate("document.querySelector('#rn-cmp').nextElementSibling?.matches('.rn-list') ?? false")
        assert above == (width <= 1440), "in one column the comparison comes first"


def test_nothing_but_the_keyboard_is_needed(tab, server, runs):
    tab.goto(f"{server}/runs")
    expect(row(tab, runs[0])).to_be_visible()
    row(tab, runs[0]).get_by_role("checkbox").focus()
    tab.keyboard.press("Space")
    tab.keyboard.press("Tab")
    expect(row(tab, runs[0]).get_by_role("link")).to_be_focused()
    tab.keyboard.press("Tab")
    expect(row(tab, runs[0]).get_by_role("button", name=re.compile("^Pin run"))).to_be_focused()
    row(tab, runs[1]).get_by_role("checkbox").focus()
    tab.keyboard.press("Space")
    expect(tab.locator("#rn-how")).to_have_text("A and B differ in amplitude")
    expect(row(tab, runs[1]).get_by_role("checkbox")).to_be_focused()
