"""What is said of the kernels on cards: nothing without a record, nothing of another source, else the record."""

import json
import runpy
import shutil
import sys
from pathlib import Path

import pytest
import torch

from assay.kernels import gpu_record, gpu_status

SCRIPT = Path(__file__).parent / "record_gpu.py"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for kernel in gpu_record.KERNELS:
        (tmp_path / f"_{kernel}").mkdir()
        shutil.copy(str(gpu_record.FOLDER.joinpath(f"_{kernel}", "gpu.py")), tmp_path / f"_{kernel}")
    monkeypatch.setattr(gpu_record, "FOLDER", tmp_path)
    return tmp_path


def keep(folder, **changes):
    run = {"card": "a card", "date": "2026-12-01", "outcome": "all agree", "source": gpu_record.source_hash("lif")}
    (folder / "gpu_runs.json").write_text(json.dumps({"lif": run | changes}))


def test_without_a_record_it_says_that_there_was_no_card(folder):
    assert gpu_status() == dict.fromkeys(gpu_record.KERNELS, gpu_record.NOT_YET)


def test_a_record_of_this_source_names_card_day_and_outcome(folder):
    keep(folder)
    assert gpu_status()["lif"] == "run on a card on 2026-12-01: all agree."


def test_a_record_of_another_source_counts_no_more(folder):
    keep(folder)
    with (folder / "_lif" / "gpu.py").open("a") as source:
        source.write("# changed\n")
    assert gpu_status()["lif"].startswith("not yet run on a GPU at this source")


def test_line_ends_do_not_make_another_source(folder):
    before = gpu_record.source_hash("lif")
    source = folder / "_lif" / "gpu.py"
    source.write_bytes(source.read_bytes().replace(b"\n", b"\r\n"))
    assert gpu_record.source_hash("lif") == before


def test_the_command_compares_all_that_it_says():
    """On the processor, so that the command is not run for the first time on a card."""
    command = runpy.run_path(str(SCRIPT))
    assert command["compare_lif"]("cpu", [(1, 3), (9, 7)]).startswith("72 cases agree")
    assert command["compare_prefix_support"]("cpu", [(1, 1), (40, 7)]).startswith("8 cases agree")
    assert command["compare_tree_solve"]("cpu", [(1, 1), (40, 7)]).startswith("6 cases agree")
    assert command["compare_selective_scan"]("cpu", [(1, 1, 1, 1), (2, 40, 9, 3)]).startswith("4 cases agree")


def test_the_command_wants_a_card(monkeypatch, capsys):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(sys, "argv", [str(SCRIPT)])
    with pytest.raises(SystemExit, match="2"):
        runpy.run_path(str(SCRIPT), run_name="__main__")
    assert capsys.readouterr().err.startswith("device: got no CUDA card")
