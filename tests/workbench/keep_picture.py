"""Draw a study's gallery picture and keep it beside the study: `python tests/workbench/keep_picture.py SLUG`."""

import sys
from pathlib import Path

from workbench.registry import registry
from workbench.snapshot import Snapshot, settle


def keep(slug: str) -> Path:
    """Write the picture of a study at its default controls."""
    study = registry().get(slug)
    if study.pictured is None:
        raise SystemExit(f"{slug}: the study draws no picture.")
    path = registry().places[slug].path.with_suffix(".svg")
    path.write_text(Snapshot(study, settle(study)).call(study.pictured))
    return path


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(keep(name))
