"""JupyterLab as `assay lab` starts it: the notebook opens, runs, and its figure follows a slider."""

import sys
from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from workbench.registry import registry

pytestmark = pytest.mark.browser


@pytest.fixture
def lab(tmp_path, served):
    """The address of a notebook in JupyterLab."""
    with started(tmp_path, served, "kitchen-sink") as address:
        yield address


@contextmanager
def started(folder, served, slug):
    command = [sys.executable, "-c", "from workbench.cli import main; main()", "lab", slug, "--no-browser"]
    command += ["--folder", str(folder / "notebooks")]
    variables = {"JUPYTER_TOKEN": "let-me-in", "JUPYTER_CONFIG_DIR": str(folder / "jupyter")}
    with served(command, variables) as address:
        yield f"{address}/lab/tree/{slug}.ipynb?token=let-me-in"


def opened(tab, address):
    tab.goto(address)
    tab.get_by_text("Python 3 (ipykernel) | Idle").wait_for()


def choose(tab, menu, entry):
    tab.get_by_role("menuitem", name=menu, exact=True).click()
    tab.locator(".lm-Menu-item", has_text=entry).first.click()


def run_first_cell(tab):
    tab.locator(".jp-CodeCell .cm-content").first.click()
    tab.keyboard.press("Shift+Enter")
    tab.wait_for_selector(".assay-live .js-plotly-plot .scatterlayer path.js-line")


def test_the_notebook_opens_runs_and_follows_a_slider(lab, tab):
    opened(tab, lab)
    run_first_cell(tab)
    assert not tab.get_by_text("As it was when the notebook was saved.").is_visible()
    tab.get_by_role("heading", name="The wave reaches 1.00 V").wait_for()
    before = tab.locator(".assay-live .js-plotly-plot .yaxislayer-above").text_content()
    handle = tab.locator(".noUi-handle").first
    handle.focus()
    for _ in range(30):
        tab.keyboard.press("ArrowRight")
    tab.get_by_role("heading", name="The wave reaches 2.20 V").wait_for()
    tab.wait_for_function(
        "before => document.querySelector('.assay-live .js-plotly-plot .yaxislayer-above').textContent !== before",
        arg=before,
    )
    field = tab.locator(".widget-text input").first
    field.fill("nan")
    field.press("Enter")
    refusal = tab.get_by_role("alert").filter(has_text="expected a number")
    refusal.wait_for()
    assert refusal.inner_text() == "got nan; expected a number from 0 to 4 V, finite"
    tab.get_by_role("button", name="Run", exact=True).first.click()
    tab.get_by_text("heights.csv").wait_for(timeout=30_000)
    assert tab.get_by_text("needs scale").count() == 1


def test_a_saved_notebook_shows_its_figure_with_its_kernel_and_without(lab, tab, tmp_path):
    opened(tab, lab)
    run_first_cell(tab)
    handle = tab.locator(".noUi-handle").first
    handle.focus()
    for _ in range(10):
        tab.keyboard.press("ArrowRight")
    tab.get_by_role("heading", name="The wave reaches 1.40 V").wait_for()
    notebook = tmp_path / "notebooks" / "kitchen-sink.ipynb"
    for _ in range(60):  # the copy that is saved follows when the hand rests
        tab.wait_for_timeout(500)
        tab.keyboard.press("Control+s")
        if '"The wave reaches 1.40 V"' in notebook.read_text():
            break
    tab.goto("about:blank")
    tab.goto(lab + "&reset")  # with its kernel the live figure is there again, and it alone
    tab.wait_for_selector(".assay-live .js-plotly-plot .scatterlayer path.js-line")
    expect(tab.get_by_text("As it was when the notebook was saved.")).to_be_hidden()
    choose(tab, "Kernel", "Shut Down Kernel")
    tab.wait_for_timeout(1_000)
    tab.goto("about:blank")
    tab.goto(lab + "&reset")
    saved = tab.get_by_text("As it was when the notebook was saved.")
    saved.wait_for()
    expect(tab.locator(".js-plotly-plot .gtitle")).to_contain_text("The wave reaches 1.40 V")
    expect(tab.get_by_text("Error displaying widget")).to_be_hidden()
    assert tab.locator(".assay-live").count() == 0


@pytest.mark.slow
def test_a_kernel_that_is_restarted_in_the_middle_of_a_job_starts_anew(lab, tab):
    opened(tab, lab)
    cell = tab.locator(".jp-CodeCell .cm-content").first
    cell.click()
    tab.keyboard.press("Control+a")
    tab.keyboard.type('from workbench import explore\nseen = explore("kitchen-sink", steps=2000, pause=0.05)\nseen')
    tab.keyboard.press("Shift+Enter")
    tab.get_by_role("button", name="Run", exact=True).first.click()
    tab.get_by_role("button", name="Cancel", exact=True).wait_for()
    choose(tab, "Kernel", "Restart Kernel…")
    tab.get_by_role("button", name="Confirm Kernel Restart").click()
    tab.get_by_text("Python 3 (ipykernel) | Idle").wait_for()
    cell.click()
    tab.keyboard.press("Control+a")
    tab.keyboard.type('from workbench import explore\nseen = explore("kitchen-sink", preset="quick")\nseen')
    tab.keyboard.press("Shift+Enter")
    tab.get_by_role("button", name="Run", exact=True).first.click()
    tab.get_by_text("heights.csv").wait_for()


def test_the_launcher_opens_the_dashboards(lab, tab):
    opened(tab, lab)
    choose(tab, "File", "New Launcher")
    card = tab.locator(".jp-LauncherCard", has_text="Assay dashboards")
    expect(card.locator("img")).to_be_visible()
    with tab.context.expect_page() as popped:
        card.click()
    page = popped.value
    page.get_by_role("link", name="Does a wave keep its amplitude?").first.click()
    page.wait_for_selector(".js-plotly-plot .scatterlayer path.js-line", timeout=60_000)
    page.close()


@pytest.mark.slow
@pytest.mark.parametrize("slug", list(registry().places))
def test_every_cell_of_every_notebook_runs(slug, tmp_path, served, tab):
    with started(tmp_path, served, slug) as address:
        opened(tab, address)
        choose(tab, "Run", "Run All Cells")
        last = tab.locator(".jp-Notebook .jp-CodeCell").last
        expect(last.locator(".jp-OutputArea-output")).to_contain_text(f"{slug}.html", timeout=400_000)
        assert tab.locator(".jp-Notebook [data-mime-type='application/vnd.jupyter.stderr']").count() == 0
        assert tab.locator(".jp-Notebook .js-plotly-plot").first.is_visible()
        tab.goto("about:blank")
