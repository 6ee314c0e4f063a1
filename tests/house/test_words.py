"""The project speaks of itself alone, and ships nothing that calls home."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = {".py", ".md", ".toml", ".yml", ".lock", ".css", ".js", ".html", ".json", ".ipynb", ".txt", ".csv", ""}
SHIPPED = ("apps/", "lib/", "notebooks/", "workbench/")


def files() -> list[str]:
    """Every file that is committed or about to be."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    return sorted(name for name in listed.split("\0") if name and (ROOT / name).is_file())


def found(pattern: str, names: list[str], flags: int = 0) -> list[str]:
    """Lines, with their places, that a pattern matches in text files."""
    compiled = re.compile(pattern, flags)
    places = []
    for name in names:
        path = ROOT / name
        if path.suffix not in TEXT or path.stat().st_size > 2_000_000:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if match := compiled.search(line):
                places.append(f"{name}:{number} {match.group()}")
    return places


def test_no_path_of_a_machine():
    """Neither where this clone lies, nor anyone's home."""
    folders = {str(parent) for parent in ROOT.parents if len(parent.parts) > 1} | {str(ROOT)}
    here = "|".join(re.escape(folder) for folder in sorted(folders, key=len, reverse=True))
    assert found(rf"(?<![\w.~])(?:(?:{here})/\w|/(?:home|root|Users)/[\w.]+)", files()) == []


def test_no_registry_host():
    hosts = r"(?:[\w-]+\.)*(?:pypi|pythonhosted|npmjs|anaconda|debian|ubuntu)\.(?:org|com|net)\b"
    assert found(hosts, files()) == []


def test_no_word_of_how_it_was_made():
    assert found(r"(?:co-)?(?:authored|generated|written) (?:by|with) (?:an? )?(?:AI|LLM|bot)\b", files(), re.I) == []
    assert found(r"\b(?:TODO|FIXME|XX[X])\b", [n for n in files() if n != "tests/house/test_words.py"]) == []


def test_nothing_shipped_names_a_content_network():
    """Scripts, styles and fonts come with the package. A tag of type `text/plain` fetches nothing."""
    hosts = (
        r"(?:jsdelivr|unpkg|cdnjs|skypack|esm\.sh|(?:fonts|ajax)\.googleapis|gstatic|cdn\.[\w-]+|plot\.ly/plotly)[./]"
    )
    lines = found(rf"^(?!.*text/plain).*{hosts}.*$", [n for n in files() if n.startswith(SHIPPED)])
    assert lines == []


def test_no_catch_all_file():
    catch_all = {"utils", "util", "helpers", "helper", "common", "misc"}
    assert [n for n in files() if catch_all & set(Path(n).with_suffix("").parts)] == []


def test_a_file_is_one_idea():
    long = {}
    for name in files():
        if name.endswith(".py"):
            lines = len((ROOT / name).read_text(encoding="utf-8").splitlines())
            if lines > 500:
                long[name] = lines
    assert long == {}, "split them: about 400 lines is enough for one idea"


def test_tests_are_found_by_their_path():
    """With import mode `importlib`, a package in tests would be imported under another name."""
    assert [n for n in files() if n.startswith("tests/") and n.endswith("/__init__.py")] == []


@pytest.mark.parametrize("folder", ["lib", "lib/assay/data", "tests", "workbench"])
def test_git_swallows_no_folder_of_ours(folder):
    ignored = subprocess.run(["git", "check-ignore", "-q", f"{folder}/new.py"], cwd=ROOT, check=False).returncode
    assert ignored == 1
