"""Starting is quick: what is not needed is not imported. Counted in modules, so that a busy machine does not matter."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

FACES = {"panel", "panel_material_ui", "bokeh", "marimo", "ipywidgets", "anywidget", "IPython", "jupyterlab"}
SERVERS = {"fastapi", "starlette", "uvicorn", "tornado", "bokeh_fastapi", "websockets"}
STORES = {"mlflow", "sqlalchemy", "alembic", "distributed", "dask"}
NUMERIC = {"torch", "numba", "scipy", "triton", "plotly"}

PROBE = """
import contextlib, io, json, sys
arguments = sys.argv[1:]
if arguments:
    from workbench.cli import main
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
        main(arguments)
    assert said.getvalue().strip(), "it printed nothing"
else:
    import workbench
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def loaded(*arguments: str) -> set[str]:
    """Top-level modules in a fresh process after a command, or after `import workbench`."""
    done = subprocess.run([sys.executable, "-c", PROBE, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.fixture
def kitchen(monkeypatch, fresh_home):
    monkeypatch.setenv("ASSAY_STUDIES", str(ROOT / "tests" / "studies"))


def test_importing_the_workbench_imports_nothing_else():
    extra = loaded() - set(sys.stdlib_module_names) - {"workbench"}
    assert not extra & (FACES | SERVERS | STORES | NUMERIC | {"numpy", "pandas", "assay"})


def test_help_needs_no_numbers(kitchen):
    assert not loaded("--help") & (FACES | SERVERS | STORES | NUMERIC)


def test_a_second_list_imports_no_study(kitchen):
    """The first one reads every study, and keeps its card."""
    assert not loaded("list") & (FACES | SERVERS | STORES)
    assert not loaded("list") & (FACES | SERVERS | STORES | NUMERIC | {"assay_studies"})


@pytest.mark.parametrize("slug", ["kitchen-sink", "lif-frequency-matching"])
def test_showing_a_study_starts_no_face_and_no_store(kitchen, slug):
    assert not loaded("show", slug) & (FACES | SERVERS | STORES)
