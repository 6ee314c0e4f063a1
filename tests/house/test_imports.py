"""Who may import whom, read from the sources without running them."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

SCREENS = {"panel", "panel_material_ui", "bokeh", "marimo", "ipywidgets", "anywidget", "IPython", "plotly"}
SERVERS = {"fastapi", "starlette", "uvicorn", "tornado", "bokeh_fastapi", "websockets", "httpx", "requests"}
STORES = {"mlflow", "sqlalchemy", "dask", "distributed"}
COMMANDS = {"typer", "click", "rich"}

STUDY_MAY = {"assay", "workbench.sources", "workbench.study", "workbench.theme", "numpy", "pandas", "torch", "plotly"}

OWNERS = {
    "panel": ("workbench/faces/", "workbench/server", "apps/"),
    "bokeh": ("workbench/faces/", "workbench/server", "apps/"),
    "marimo": ("workbench/faces/", "workbench/server", "workbench/report", "notebooks/"),
    "ipywidgets": ("workbench/faces/",),
    "mlflow": ("workbench/store",),
    "sqlalchemy": ("workbench/store",),
    "dask": ("workbench/runner", "workbench/worker_"),
    "distributed": ("workbench/runner", "workbench/worker_"),
    "fastapi": ("workbench/server",),
    "uvicorn": ("workbench/server", "workbench/cli"),
    "typer": ("workbench/cli",),
}
"""Each toolkit is met in one place."""


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Line and full name of everything that a file imports, wherever in it; relative names are resolved."""
    package = path.relative_to(ROOT).with_suffix("").parts
    package = package[1:] if package[0] == "lib" else package
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                yield node.lineno, f"{module}.{alias.name}"


def name_of(folder: Path) -> str:
    """What a package is imported as."""
    return ".".join(folder.relative_to(ROOT).parts).removeprefix("lib.")


def is_in(name: str, modules: set[str]) -> bool:
    return any(name == module or name.startswith(module + ".") for module in modules)


def sources(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def said(path: Path, line: int, name: str) -> str:
    return f"{path.relative_to(ROOT)}:{line} imports {name}"


def test_the_library_knows_nothing_of_the_workbench():
    never = {"workbench", "apps", "notebooks", "tests"} | SCREENS | SERVERS | STORES | COMMANDS
    files = sources("lib/assay")
    assert files
    assert [said(p, line, name) for p in files for line, name in imports(p) if is_in(name, never)] == []


@pytest.mark.parametrize("folder", ["workbench/studies", "tests/studies"])
def test_a_study_knows_the_library_the_contract_and_the_theme(folder):
    files = sources(folder)
    assert files
    strangers = []
    for path in files:
        own = ".".join(path.relative_to(ROOT).parts[:4]).removesuffix(".py")  # the folder of a study in several files
        for line, name in imports(path):
            standard = name.partition(".")[0] in sys.stdlib_module_names
            if not standard and not is_in(name, STUDY_MAY | {own}):
                strangers.append(said(path, line, name))
    assert strangers == []


def test_the_machinery_knows_studies_only_through_the_contract():
    files = [p for p in sources("workbench") if "studies" not in p.relative_to(ROOT).parts] + sources("apps")
    never = {"workbench.studies", "apps", "notebooks", "tests"}
    assert [said(p, line, name) for p in files for line, name in imports(p) if is_in(name, never)] == []


@pytest.mark.parametrize("toolkit", OWNERS)
def test_a_toolkit_is_met_in_one_place(toolkit):
    files = sources("workbench") + sources("apps") + sources("notebooks")
    strangers = [
        said(path, line, name)
        for path in files
        if not path.relative_to(ROOT).as_posix().startswith(OWNERS[toolkit])
        for line, name in imports(path)
        if is_in(name, {toolkit})
    ]
    assert strangers == []


FACES = ("panel", "marimo", "jupyter")


def test_no_face_imports_another():
    """What two faces need stands in a module of its own, which names neither."""
    strangers = []
    for path in sources("workbench/faces"):
        own = path.relative_to(ROOT / "workbench" / "faces").parts[0]
        others = {f"workbench.faces.{face}" for face in FACES if not own.startswith(face)}
        others |= {face for face in FACES if not own.startswith(face)}
        for line, name in imports(path):
            if name.partition(".")[0] in others or any(name.startswith(other) for other in others if "." in other):
                strangers.append(said(path, line, name))
    assert strangers == []


@pytest.mark.parametrize("package", ["lib/assay", "workbench"])
def test_no_name_is_both_a_module_and_something_else(package):
    clashes = []
    for init in (ROOT / package).rglob("__init__.py"):
        modules = {p.stem for p in init.parent.glob("*.py")} | {
            p.parent.name for p in init.parent.glob("*/__init__.py")
        }
        for node in ast.walk(ast.parse(init.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                relative = node.level == 1 and node.module is None
                whole = relative or (node.level == 0 and node.module == name_of(init.parent))  # the module itself
                names = set() if whole else {alias.asname or alias.name for alias in node.names}
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                names = {node.name}
            else:
                continue
            clashes += [f"{init.parent.relative_to(ROOT)}: {name}" for name in names & modules]
    assert clashes == []


def test_relative_imports_are_resolved(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    path = tmp_path / "workbench" / "faces" / "panel.py"
    path.parent.mkdir(parents=True)
    path.write_text("from ..studies import x\nfrom . import y\n\ndef f():\n    import mlflow.store\n")
    assert list(imports(path)) == [(1, "workbench.studies.x"), (2, "workbench.faces.y"), (5, "mlflow.store")]
