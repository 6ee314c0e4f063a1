"""A notebook under `marimo run`: it follows a slider, runs an experiment, and asks nobody."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.browser
ROOT = Path(__file__).parents[2]


@pytest.fixture
def notebook(tmp_path):
    """The address of the kitchen-sink notebook."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    environment = os.environ | {
        "ASSAY_HOME": str(tmp_path / "home"), "ASSAY_STUDIES": str(ROOT / "tests" / "studies"), "OMP_NUM_THREADS": "1",
        "MARIMO_SKIP_UPDATE_CHECK": "1",
    }  # fmt: skip
    command = [sys.executable, "-m", "marimo", "run", "tests/notebooks/kitchen_sink.py", "--headless", "--no-token"]
    command += ["--host", "127.0.0.1", "--port", str(port)]
    with subprocess.Popen(command, env=environment, cwd=ROOT, stdout=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 30
        while True:
            assert process.poll() is None and time.monotonic() < deadline
            try:
                socket.create_connection(("127.0.0.1", port), 0.2).close()
                break
            except OSError:
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/"
        process.terminate()
        process.wait(20)


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
