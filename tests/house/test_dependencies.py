"""Every package that the sources import is declared, and every one that is declared is needed."""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OURS = {"assay", "workbench", "apps", "notebooks"}

PEERS = {
    "arena_rank", "hqq", "mambapy", "norse", "sinq", "snntorch", "spikingjelly", "tokenizers", "torchao",
    "transformers", "weightwatcher",
}  # fmt: skip
"""Each lives in an environment of its own; only scripts under tests/, which run there, import them."""

NOT_IMPORTED = {
    "alembic": "mlflow makes its tables with it, and the store holds it to one major version",
    "anywidget": "plotly's FigureWidget asks for it when it is shown",
    "bokeh": "panel stands on it; the bound keeps its serialisation",
    "bokeh-fastapi": "panel.io.fastapi asks for it",
    "jupyter-bokeh": "shows Panel objects in JupyterLab, for those who use both",
    "jupyter-server-proxy": "finds what JupyterLab's launcher offers by our entry points",
    "jupyterlab": "started as a program",
    "pyright": "run as a program",
    "pytest-xdist": "a plugin",
    "ruff": "run as a program",
    "starlette": "fastapi and marimo stand on it; the bound keeps what the server's middleware was tried with",
    "sqlalchemy": "mlflow's store stands on it",
    "tornado": "distributed and jupyter stand on it; the bound keeps Bokeh's websockets",
    "hatchling": "builds the wheel",
}


def declared(names: list[str]) -> set[str]:
    """Distributions of the main list (`""`) and of extras, by canonical name."""
    lists = {"": PROJECT["dependencies"], **PROJECT["optional-dependencies"]}
    return {canonicalize_name(Requirement(text).name) for name in names for text in lists[name]}


def imported(folder: str) -> Iterator[tuple[Path, int, str]]:
    """File, line and top-level name of every import from outside the project and the standard library."""
    for path in sorted((ROOT / folder).rglob("*.py")):
        above = [place for place in path.parents if place.is_relative_to(ROOT / folder)]
        beside = {other.stem for place in above for other in place.glob("*.py")}
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                modules = [node.module]
            else:
                continue
            for module in modules:
                top = module.partition(".")[0]
                script = folder == "tests" and top in beside  # a script beside or above it
                if top not in sys.stdlib_module_names and top not in OURS and not script:
                    yield path.relative_to(ROOT), node.lineno, top


@cache
def brought() -> dict[str, list[str]]:
    """Which distributions bring a top-level module; reading this takes half a second."""
    return dict(packages_distributions())


def providers(module: str) -> set[str]:
    """The distributions that bring a module."""
    return {canonicalize_name(name) for name in brought().get(module, [module])}


@pytest.mark.parametrize(
    ("folder", "extras"),
    [
        ("lib", ["", "gpu"]),
        ("workbench", [""]),
        ("apps", [""]),
        ("notebooks", [""]),
        ("tests", ["", "gpu", "lab", "test"]),
    ],
)
def test_what_is_imported_is_declared(folder, extras):
    known = declared(extras)
    strangers = [
        f"{path}:{line} imports {module}, of {', '.join(sorted(providers(module)))}"
        for path, line, module in imported(folder)
        if not providers(module) & known and not (folder == "tests" and module in PEERS)
    ]
    assert strangers == [], f"not in pyproject.toml: {extras}"


def test_what_is_declared_is_needed():
    """A package that nobody imports stands in the list above with its reason."""
    used = {
        name
        for folder in (*OURS - {"assay"}, "lib", "tests")
        for _, _, top in imported(folder)
        for name in providers(top)
    }
    everything = declared(["", *PROJECT["optional-dependencies"]])
    idle = everything - used - set(NOT_IMPORTED)
    assert idle == set(), "declared but never imported"
    assert set(NOT_IMPORTED) <= everything


def test_the_gpu_extra_is_asked_for_by_kernels_alone():
    """Without the extra, everything else can be imported."""
    places = {path for path, _, top in imported("lib") if top == "triton"}
    assert [str(path) for path in sorted(places) if path.name != "gpu.py"] == []
