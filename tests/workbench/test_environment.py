"""The environment of a run: what its numbers may depend on, as the machine says it."""

import json
import os
import re
import subprocess
from importlib.metadata import version

import torch

from workbench.environment import environment


def test_the_environment_names_what_numbers_may_depend_on():
    found = environment()
    assert json.loads(json.dumps(found)) == found
    assert found["torch"] == torch.__version__ and found["device"] == "cpu" and found["threads"] >= 1
    assert found["cores"] == os.cpu_count() and found["processor"]
    assert found["thread_variables"]["OMP_NUM_THREADS"] == os.environ["OMP_NUM_THREADS"]
    assert re.fullmatch(r"\S+( \S+)?", found["blas"]["numpy"]) and found["blas"]["torch"] in torch_says()
    assert found["packages"]["numpy"] == found["numpy"] and found["packages"]["mlflow-skinny"]
    assert found["version"] == version("assay-workbench")


def torch_says():
    said = torch.__config__.show()
    names = re.findall(r"BLAS_INFO=(\w+)", said)
    return {*names, *(f"{name} {number}" for name in names for number in re.findall(r"Version ([\d.]+)", said))}


def test_the_revision_is_the_commit_and_says_what_is_not_committed():
    here = os.path.dirname(__file__)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=here, capture_output=True, text=True, check=False).stdout
    said = environment()["revision"]
    if not commit:
        assert said == ""
        return
    changed = subprocess.run(
        ["git", "diff", "--quiet", "HEAD"], cwd=here, capture_output=True, check=False
    ).returncode  # fmt: skip
    assert commit.startswith(said.rstrip("+")) and said.endswith("+") == bool(changed)
