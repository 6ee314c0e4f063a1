"""JupyterLab as `assay lab` starts it: the notebook opens, runs, and its figure follows a slider."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.browser
ROOT = Path(__file__).parents[2]


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest.fixture
def lab(tmp_path):
    """The address of a notebook in JupyterLab."""
    port = free_port()
    environment = os.environ | {
        "ASSAY_HOME": str(tmp_path / "home"), "ASSAY_STUDIES": str(ROOT / "tests" / "studies"),
        "JUPYTER_TOKEN": "let-me-in", "JUPYTER_CONFIG_DIR": str(tmp_path / "jupyter"), "OMP_NUM_THREADS": "1",
    }  # fmt: skip
    command = [sys.executable, "-c", "from workbench.cli import main; main()", "lab", "kitchen-sink", "--no-browser"]
    command += ["--port", str(port), "--folder", str(tmp_path / "notebooks")]
    with subprocess.Popen(command, env=environment, cwd=ROOT, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 30
        while True:
            assert process.poll() is None and time.monotonic() < deadline
            try:
                socket.create_connection(("127.0.0.1", port), 0.2).close()
                break
            except OSError:
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/lab/tree/kitchen-sink.ipynb?token=let-me-in"
        process.terminate()
        process.wait(20)


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
