"""Fixtures of the workbench's tests."""

from pathlib import Path

import pytest


@pytest.fixture
def kitchen(monkeypatch, tmp_path):
    """The kitchen-sink study is registered, and this test has an empty home of its own."""
    monkeypatch.setenv("ASSAY_STUDIES", str(Path(__file__).parent.parent / "studies"))
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))
