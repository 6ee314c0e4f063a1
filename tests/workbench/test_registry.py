"""The registry finds studies by folder, imports on demand, and survives a broken one."""

import subprocess
import sys

import pytest

from workbench.registry import Registry, UnknownStudy, registry
from workbench.study import StudyError

GOOD = """
from workbench.study import Paper, Study
study = Study("{slug}", paper=Paper("T", "0000.00000"), question="{question}")
"""


@pytest.fixture
def folder(tmp_path):
    family = tmp_path / "studies" / "dynamics"
    family.mkdir(parents=True)
    (family / "good_one.py").write_text(GOOD.format(slug="good-one", question="q?"))
    (family / "broken.py").write_text("import a_package_that_is_not_there\n")
    (family / "misnamed.py").write_text(GOOD.format(slug="other", question="q?"))
    (family / "empty.py").write_text("")
    (family / "_private.py").write_text("raise SystemExit\n")
    whole = family / "in_a_folder"
    whole.mkdir()
    (whole / "__init__.py").write_text(GOOD.format(slug="in-a-folder", question="q?"))
    return tmp_path / "studies"


def test_names_take_hyphen_and_underscore(folder):
    found = Registry([folder])
    assert found.get("good_one") is found.get("Good-One") is found.get(" good-one ")
    assert found.get("good-one").family == "dynamics"
    assert found.get("in-a-folder").slug == "in-a-folder"


def test_an_unknown_name_gets_the_nearest(folder):
    with pytest.raises(
        UnknownStudy, match="study: got 'good-on'; expected a name from `assay list`; the nearest is good-one"
    ):
        Registry([folder]).get("good-on")


def test_a_study_that_cannot_be_imported_is_a_card_that_says_why(folder):
    cards = {card.slug: card for card in Registry([folder]).cards()}
    assert sorted(cards) == ["broken", "empty", "good-one", "in-a-folder", "misnamed"]
    assert "a_package_that_is_not_there" in cards["broken"].broken
    assert "has no `study`" in cards["empty"].broken
    assert "expected 'misnamed'" in cards["misnamed"].broken
    assert cards["good-one"].broken == "" and cards["good-one"].question == "q?"
    with pytest.raises(StudyError, match="broken could not be imported: ModuleNotFoundError"):
        Registry([folder]).get("broken")


def test_cards_are_kept_by_source_and_made_anew_when_it_changes(folder, tmp_path):
    index = tmp_path / "index.json"
    Registry([folder], index).cards()
    kept = Registry([folder], index)
    kept.get = lambda name: pytest.fail("imported")  # type: ignore[method-assign]
    for slug in ("broken", "misnamed", "empty"):
        (folder / "dynamics" / f"{slug}.py").unlink()
    assert [c.slug for c in kept.cards()] == ["good-one", "in-a-folder"]
    (folder / "dynamics" / "good_one.py").write_text(GOOD.format(slug="good-one", question="another?"))
    assert Registry([folder], index).cards()[0].question == "another?"
    index.write_text("{not json")
    assert len(Registry([folder], index).cards()) == 2


def test_a_list_of_known_studies_imports_no_torch(kitchen):
    registry().cards()
    code = "import sys; from workbench.registry import registry; registry().cards(); sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=False, timeout=60)
    assert done.returncode == 0
