"""pyproject.toml, environment.yml and requirements.lock say the same."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCK = [
    Requirement(line)
    for line in (ROOT / "requirements.lock").read_text().splitlines()
    if line.strip() and not line.lstrip().startswith("#")
]
MAIN = [Requirement(text) for text in PROJECT["dependencies"]]
EXTRAS = {name: [Requirement(text) for text in texts] for name, texts in PROJECT["optional-dependencies"].items()}
ALL = MAIN + [requirement for extra in EXTRAS.values() for requirement in extra]
SUPPORTED = ("3.11", "3.12", "3.13")


def locked(name: str, python: str, **machine: str) -> Version | None:
    """The version that the lock gives on a machine; by default Linux on x86-64."""
    place = {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix", "platform_machine": "x86_64"}
    here = {**default_environment(), **place, **machine, "python_version": python, "python_full_version": f"{python}.9"}
    found = [
        Version(str(requirement.specifier).removeprefix("=="))
        for requirement in LOCK
        if canonicalize_name(requirement.name) == canonicalize_name(name)
        and (requirement.marker is None or requirement.marker.evaluate(here))
    ]
    assert len(found) <= 1, f"{name}: the lock gives {found} on Python {python}"
    return found[0] if found else None


def test_the_lock_holds_exact_public_versions():
    for requirement in LOCK:
        assert re.fullmatch(r"==[^,*]+", str(requirement.specifier)), f"{requirement} is not one version"
        assert Version(str(requirement.specifier)[2:]).local is None, f"{requirement} is no public version"
        assert requirement.url is None, f"{requirement} names an address"
    assert "://" not in (ROOT / "requirements.lock").read_text()


@pytest.mark.parametrize("python", SUPPORTED)
@pytest.mark.parametrize("requirement", ALL, ids=str)
def test_the_lock_meets_each_requirement(requirement, python):
    version = locked(requirement.name, python)
    assert version is not None, f"{requirement.name} is not in requirements.lock; run `make lock`"
    assert requirement.specifier.contains(version), f"{requirement} asked for, {version} locked; run `make lock`"


def test_the_versions_that_the_stack_stands_on():
    for python in SUPPORTED:
        assert locked("torch", python) == Version("2.13.0")
        assert locked("triton", python) == Version("3.7.1")
        assert Version("1.9.4") <= locked("panel", python) < Version("1.10")
        assert locked("bokeh", python) < Version("3.10")
        assert locked("numpy", python) < Version("2.5")
        assert locked("tornado", python) < Version("6.7")
    assert locked("triton", "3.11", sys_platform="darwin", platform_system="Darwin") is None


def test_the_lock_speaks_for_this_environment():
    """What is installed here is what the lock names, but for a local build of torch."""
    differing = {}
    for distribution in metadata.distributions():
        name = distribution.metadata["Name"]
        version = locked(name, f"{default_environment()['python_version']}")
        if version is not None and Version(Version(distribution.version).public) != version:
            differing[name] = f"{distribution.version} installed, {version} locked"
    assert differing == {}


def test_conda_installs_the_same():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    *plain, last = environment["dependencies"]
    assert "pip" in plain
    (python,) = [entry for entry in plain if entry.startswith("python")]
    assert python == "python=3.11"
    options = [line for line in last["pip"] if line.startswith("--")]
    assert options == ["--constraint requirements.lock", "--editable ."]
    listed = [str(Requirement(line)) for line in last["pip"] if not line.startswith("--")]
    assert listed == [str(requirement) for requirement in MAIN]


def test_lists_are_sorted_and_named_once():
    for requirements in (MAIN, *EXTRAS.values()):
        names = [canonicalize_name(requirement.name) for requirement in requirements]
        assert names == sorted(set(names))


def test_the_readme_and_the_classifiers_name_the_same_pythons():
    classifiers = {text.rpartition(" :: ")[2] for text in PROJECT["classifiers"] if ":: Python ::" in text}
    assert classifiers == set(SUPPORTED)
    for python in SUPPORTED:
        assert Version(python) in Requirement(f"x{PROJECT['requires-python']}").specifier
