"""A report of each study at `quick` is made from its notebook, experiments, claims and views, and made again: the same.

This is what holds determinism: another process, run by other machinery, gives every number bit by bit.
"""

import os
from pathlib import Path

import pytest

from workbench.comparison import Word
from workbench.registry import Registry, study_folders
from workbench.report.exporting import write_report
from workbench.report.manifest import read_manifest
from workbench.report.stale import check_report
from workbench.report.study_parts import reported
from workbench.report.verify import FINE, verify_report

KITCHEN = Path(__file__).parents[2] / "studies"
REGISTRY = Registry([*study_folders(), KITCHEN])
ALWAYS = ("kitchen-sink", "lif-frequency-matching")  # each takes half a minute; the others are slow tests


@pytest.mark.parametrize(
    "slug", [slug if slug in ALWAYS else pytest.param(slug, marks=pytest.mark.slow) for slug in REGISTRY.places]
)
def test_a_report_at_quick_is_made_again_bit_by_bit(slug, tmp_path, monkeypatch):
    monkeypatch.setenv(
        "ASSAY_STUDIES", os.pathsep.join([str(KITCHEN), *os.environ.get("ASSAY_STUDIES", "").split(os.pathsep)])
    )
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))
    study = REGISTRY.get(slug)
    path = write_report(slug, tmp_path / "report.html", "html", values={}, preset="quick")
    manifest = read_manifest(path)
    names = [one.name for one in manifest.quantities]
    assert manifest.runs.keys() == set(reported(study))
    for head in (*(f"claim/{id}/verdict" for id in study.claims), *(f"view/{view}/" for view in study.views)):
        assert any(name.startswith(head) for name in names), head
    assert not check_report(manifest).stale
    found = verify_report(path)
    other = [one.label for one in found.judged if one.word is not Word.SAME and one.quantity.kind != "timing"]
    assert other == []
    assert found.status == FINE and found.alike and not found.changes
