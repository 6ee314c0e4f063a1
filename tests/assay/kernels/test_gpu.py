"""The kernels for GPUs without one: in Triton's interpreter, and compiled for two architectures."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")
KEPT = Path(__file__).parent
KERNELS = ["balance", "lif", "packed_product", "prefix_support", "selective_scan", "tree_solve"]


def in_a_process(script, **environment):
    done = subprocess.run(
        [sys.executable, str(KEPT / script)], env={**os.environ, **environment}, capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize("kernel", KERNELS)
def test_it_agrees_with_the_reference_in_tritons_interpreter(kernel):
    assert "agree" in in_a_process(f"interpret_{kernel}.py", TRITON_INTERPRET="1")


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS)
def test_it_compiles_for_two_architectures_and_spills_nothing(kernel, tmp_path):
    assert "sm_90" in in_a_process(f"compile_{kernel}.py", TRITON_CACHE_DIR=str(tmp_path))
