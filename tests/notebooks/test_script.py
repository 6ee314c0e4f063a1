"""A notebook as a script: preset and controls come with the command, verdicts go to standard output."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parent / "kitchen_sink.py"


def script(home, *arguments):
    variables = {"ASSAY_HOME": str(home), "ASSAY_STUDIES": str(NOTEBOOK.parent.parent / "studies")}
    return subprocess.run(
        [sys.executable, str(NOTEBOOK), *arguments],
        env=os.environ | variables,
        cwd=home,
        capture_output=True,
        text=True,
    )


def test_it_runs_to_its_verdicts(tmp_path):
    done = script(tmp_path, "--preset", "quick", "--amplitude", "2", "--seed=3")
    assert done.returncode == 0, done.stderr
    lines = [line.split(maxsplit=2)[0] for line in done.stdout.splitlines()]
    assert lines == ["holds", "inconclusive", "not", "holds", "needs"]
    assert done.stdout.startswith("holds        1   The wave is as high as its amplitude\n")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--amplitude", "9"], "assay: amplitude: got 9; expected a number from 0 to 4 V\n"),
        (["--preset", "soon"], "assay: preset: got 'soon'; expected one of quick, standard, full\n"),
        (["--height", "1"], "assay: control: got 'height'; expected one of"),
    ],
)
def test_bad_input_is_one_sentence_and_status_2(tmp_path, arguments, sentence):
    done = script(tmp_path, *arguments)
    assert done.returncode == 2 and done.stderr.startswith(sentence) and done.stderr.count("\n") == 1
