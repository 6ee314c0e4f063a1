"""Keep a study's expectations and presets before anything is judged: `python tests/workbench/keep_terms.py SLUG`.

When they change later, the earlier hash stays in the file, and the CHANGELOG must name its first twelve digits.
"""

import json
import sys
from pathlib import Path

from workbench.registry import Registry, study_folders

HERE = Path(__file__).parent


def keep(slug: str) -> Path:
    """Write the terms of a study beside its tests."""
    study = Registry([*study_folders(), HERE.parent / "studies"]).get(slug)
    path = HERE / "studies" / study.family / f"{study.slug.replace('-', '_')}_terms.json"
    kept = json.loads(path.read_text()) if path.exists() else {"hash": study.terms_hash, "earlier": []}
    earlier = [*kept["earlier"], *([kept["hash"]] if kept["hash"] != study.terms_hash else [])]
    path.parent.mkdir(parents=True, exist_ok=True)
    terms = {"hash": study.terms_hash, "earlier": earlier, "terms": study.terms}
    path.write_text(json.dumps(terms, indent=1, ensure_ascii=False) + "\n")
    return path


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(keep(name))
