"""The sources pass the linter, the formatter and the type checker."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("arguments", [["ruff", "check", "."], ["ruff", "format", "--check", "."]], ids=" ".join)
def test_ruff(arguments):
    done = subprocess.run(
        [sys.executable, "-m", *arguments, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow  # a minute, and `make lint` says it sooner
def test_types():
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--pythonpath", sys.executable],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"},  # it would ask the registry for a newer version
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
