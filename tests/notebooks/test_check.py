"""Every notebook of ours is as marimo wants it."""

import subprocess
import sys
from pathlib import Path

from workbench.places import notebooks_folder

OWN = [*sorted(notebooks_folder().rglob("*.py")), Path(__file__).parent / "kitchen_sink.py"]


def test_marimo_finds_nothing_to_say():
    done = subprocess.run(
        [sys.executable, "-m", "marimo", "check", "--strict", *map(str, OWN)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
