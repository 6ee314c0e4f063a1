"""The task has the answers it says, training goes on where it stopped, and what was kept is what the command makes."""

import json
from dataclasses import replace

import pytest
import torch

from assay.checkpoints import open as open_checkpoint
from assay.data import model_file
from assay.dynamics.state_space import CopyingRun, CopyingTask, Mamba, MambaShape, answer_accuracy, train_copying

SMALL = CopyingRun(
    shape=MambaShape(width=16, layers=1, states=4), task=CopyingTask(16, 2, 6), steps=6, batch=4, every=2
)


def test_answers_are_the_remembered_tokens_in_order():
    task = CopyingTask(16, 8, 48)
    tokens, answers = task.draw(20, torch.Generator().manual_seed(1))
    assert tokens.shape == (20, 56) and (tokens[:, 48:] == 1).all() and (answers >= 2).all()
    for row, said in zip(tokens[:, :48], answers, strict=True):
        assert torch.equal(row[row > 0], said)
    with pytest.raises(ValueError, match="no more to copy than places"):
        CopyingTask(16, 8, 4)


@pytest.mark.slow
def test_training_that_was_stopped_ends_as_one_that_was_not(tmp_path):
    whole, log = train_copying(SMALL)
    state = tmp_path / "state"
    train_copying(replace(SMALL, steps=4), state=state)
    again, rest = train_copying(SMALL, state=state)
    assert [line.step for line in log] == [line.step for line in rest] == [2, 4, 6]
    for a, b in zip(whole.parameters(), again.parameters(), strict=True):
        assert torch.equal(a, b)


def test_training_learns():
    model, log = train_copying(
        replace(SMALL, task=CopyingTask(8, 1, 4), steps=60, batch=32, every=20, rate=1e-2, enough=2.0)
    )
    assert log[-1].loss < 0.8 * log[0].loss and not model.training


def test_the_model_that_comes_along_does_its_task():
    folder = model_file("small-mamba")
    opened = open_checkpoint(folder)
    model = Mamba(MambaShape(), torch.Generator().manual_seed(0))
    model.load_state_dict({name: opened.tensor(name) for name in opened.names()})
    said = json.loads((folder / "provenance.json").read_text())["answers right on 1024 fresh sequences"]
    assert said > 0.95 and answer_accuracy(model, CopyingTask()) == pytest.approx(said, abs=0.02)
    assert opened.config == {**model.shape.config()}
    assert sum(path.stat().st_size for path in folder.iterdir()) < 500_000
