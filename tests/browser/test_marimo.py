"""A notebook under `marimo run`: it follows a slider, runs an experiment, and asks nobody."""

import sys

import pytest

pytestmark = pytest.mark.browser


@pytest.fixture
def notebook(served):
    """The address of the kitchen-sink notebook."""
    command = [sys.executable, "-m", "marimo", "run", "tests/notebooks/kitchen_sink.py", "--headless", "--no-token"]
    with served([*command, "--host", "127.0.0.1"], {"MARIMO_SKIP_UPDATE_CHECK": "1"}) as address:
        yield f"{address}/"


def test_the_notebook_follows_a_slider_and_runs(notebook, tab):
    tab.goto(notebook)
    tab.wait_for_selector(".js-plotly-plot .scatterlayer path.js-line", timeout=40_000)
    tab.get_by_role("heading", name="The wave reaches 1.00 V").wait_for()
    slider = tab.get_by_role("slider").nth(1)
    slider.focus()
    for _ in range(15):
        tab.keyboard.press("ArrowRight")
    tab.get_by_role("heading", name="The wave reaches 1.60 V").wait_for()
    tab.get_by_role("heading", name="Amplitude is 1.60 V").wait_for()
    tab.get_by_role("button", name="Climb the wave").click()
    tab.get_by_role("heading", name="5 steps done").wait_for(timeout=30_000)
    assert tab.locator(".as-v").all_inner_texts()[-1] == "needs scale"
