"""`assay new`: files that fail until they are filled, and are a study when they are."""

import shutil
import subprocess
import sys

import pytest

from workbench.controls import ControlError
from workbench.new_study import new_study
from workbench.places import PACKAGE

TRY = """
import sys
from pathlib import Path
import assay
root = Path(sys.argv[1])
assay.__path__.append(str(root / "lib" / "assay"))
from workbench.registry import Registry
from workbench.run_protocol import LocalRun
from workbench.snapshot import Snapshot, settle
study = Registry([root / "workbench" / "studies"]).get("my-paper")
snapshot = Snapshot(study, settle(study, preset="quick"))
shown = snapshot.show("picture")
result = snapshot.perform("measure", LocalRun(0, study.experiments["measure"].tables))
print(snapshot.with_results({"measure": result}).judge("1").verdict)
print(shown.title)
"""


@pytest.fixture
def clone(tmp_path):
    for name in ("lib/assay", "workbench/studies", "notebooks", "tests"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path


def test_the_files_fail_until_the_method_is_written_and_are_a_study_then(clone):
    files = new_study("my-paper", "toys", clone)
    assert [str(file.relative_to(clone)) for file in files] == [
        "lib/assay/toys/my_paper.py", "workbench/studies/toys/my_paper.py", "notebooks/toys/my_paper.py",
        "tests/assay/toys/test_my_paper.py", "tests/notebooks/test_my_paper.py",
        "tests/workbench/studies/toys/my_paper_claims.py", "lib/assay/toys/__init__.py",
        "workbench/studies/toys/__init__.py",
    ]  # fmt: skip
    shutil.copy(PACKAGE.parent / "pyproject.toml", clone)
    for command in (["ruff", "check"], ["ruff", "format", "--check"], ["marimo", "check"]):
        where = str(clone / "notebooks" / "toys" / "my_paper.py") if command[0] == "marimo" else str(clone)
        done = subprocess.run([sys.executable, "-m", *command, where], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    empty = subprocess.run([sys.executable, "-c", TRY, str(clone)], capture_output=True, text=True)
    assert empty.returncode == 1 and "my_paper: write the method of the paper here." in empty.stderr
    method = files[0].read_text()
    raises = 'raise NotImplementedError("my_paper: write the method of the paper here.")'
    assert raises in method
    files[0].write_text(method.replace(raises, "return strength * signal"))
    filled = subprocess.run([sys.executable, "-c", TRY, str(clone)], capture_output=True, text=True)
    assert filled.returncode == 0, filled.stderr
    verdict, title = filled.stdout.splitlines()
    assert verdict == "holds" and title.endswith("at strength 0.50 it reaches 0.50")


@pytest.mark.parametrize(
    ("slug", "family", "sentence"),
    [
        ("My Paper", "toys", "study: got 'My Paper'; expected small letters, digits and hyphens"),
        ("my-paper", "../toys", "family: got '../toys'; expected small letters, digits and _"),
        ("ssm-stability", "toys", "study: got 'ssm-stability', which is there already"),
    ],
)
def test_bad_names_are_one_sentence_and_write_nothing(clone, slug, family, sentence):
    before = sorted(clone.rglob("*"))
    with pytest.raises(ControlError, match=sentence):
        new_study(slug, family, clone)
    assert sorted(clone.rglob("*")) == before


def test_what_is_there_is_never_written_over(clone, tmp_path):
    new_study("my-paper", "toys", clone)
    with pytest.raises(ControlError, match=r"my-paper', but lib/assay/toys/my_paper\.py is there already"):
        new_study("my-paper", "toys", clone)
    with pytest.raises(ControlError, match="expected a clone of the project"):
        new_study("my-paper", "toys", tmp_path / "elsewhere")
