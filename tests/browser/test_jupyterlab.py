"""JupyterLab as `assay lab` starts it: the notebook opens, runs, and its figure follows a slider."""

import sys

import pytest

pytestmark = pytest.mark.browser


@pytest.fixture
def lab(tmp_path, served):
    """The address of a notebook in JupyterLab."""
    command = [sys.executable, "-c", "from workbench.cli import main; main()", "lab", "kitchen-sink", "--no-browser"]
    command += ["--folder", str(tmp_path / "notebooks")]
    variables = {"JUPYTER_TOKEN": "let-me-in", "JUPYTER_CONFIG_DIR": str(tmp_path / "jupyter")}
    with served(command, variables) as address:
        yield f"{address}/lab/tree/kitchen-sink.ipynb?token=let-me-in"


def test_the_notebook_opens_runs_and_follows_a_slider(lab, tab):
    tab.goto(lab)
    tab.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=40_000)
    tab.locator(".jp-CodeCell .cm-content").first.click()
    tab.keyboard.press("Shift+Enter")
    tab.wait_for_selector(".js-plotly-plot .scatterlayer path.js-line", timeout=40_000)
    tab.get_by_role("heading", name="The wave reaches 1.00 V").wait_for()
    before = tab.locator(".js-plotly-plot .yaxislayer-above").text_content()
    handle = tab.locator(".noUi-handle").first
    handle.focus()
    for _ in range(30):
        tab.keyboard.press("ArrowRight")
    tab.get_by_role("heading", name="The wave reaches 2.20 V").wait_for()
    tab.wait_for_function(
        "before => document.querySelector('.js-plotly-plot .yaxislayer-above').textContent !== before", arg=before
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
