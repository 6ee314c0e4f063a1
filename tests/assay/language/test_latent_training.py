"""Training: a run repeats bit for bit, goes on where it was interrupted, keeps what it made; losses fall."""

import json

import pytest
import torch

from assay.language import LatentRecipe, WordTask, kept_latents, read_latent, train_latent
from assay.language.latent_recipes import RECIPES
from assay.language.latent_training import METHODS, Run, untrained
from assay.language.latent_weights import write_latent
from assay.language.make_latent_models import collect, main

SMALL = WordTask("chain", 4, degree=3)


class Stopped(Exception):
    pass


def recipe(method="coconut", **changes):
    return LatentRecipe(**{"task": SMALL, "method": method, "width": 16, "batch": 16, "limit": 60, **changes})


@pytest.mark.parametrize("method", METHODS)
def test_every_method_lowers_its_loss(method):
    made = recipe(method, width=32, rate=5e-3, batch=64)
    run = Run(made, untrained(made), torch.Generator().manual_seed(0), None)
    steps = made.stages[0]
    for i in range(60):
        run.step(i, steps)
        if i == 9:
            first = sum(run.losses[-10:]) / 10
    assert sum(run.losses[-10:]) / 10 < first


def test_a_run_repeats_and_goes_on_where_it_was_interrupted(tmp_path):
    torch.set_num_threads(1)
    whole, log = train_latent(recipe())
    again, _ = train_latent(recipe())
    assert all(torch.equal(a, b) for a, b in zip(whole.parameters(), again.parameters(), strict=True))
    seen = [0]

    def stops(steps):
        for i in steps:
            seen[0] += 1
            if seen[0] == 95:
                raise Stopped
            yield i

    state = tmp_path / "run.state"
    with pytest.raises(Stopped):
        train_latent(recipe(), state=state, keep_every=10, progress=stops)
    with pytest.raises(ValueError, match=r"^state: run.state belongs to another run"):
        train_latent(recipe(seed=1), state=state)
    resumed, other = train_latent(recipe(), state=state)
    assert all(torch.equal(a, b) for a, b in zip(whole.parameters(), resumed.parameters(), strict=True))
    assert [s.iterations for s in log] == [s.iterations for s in other] and not state.exists()
    assert [s.steps for s in log] == [0, 1, 2] and not any(s.left for s in log)


def test_what_is_kept_is_read_again(tmp_path):
    made = recipe("codi")
    model, log = train_latent(LatentRecipe(SMALL, "codi", width=16, batch=8, limit=2))
    write_latent("mine", model.state_dict(), log, made, tmp_path)
    kept = read_latent("mine", tmp_path)
    assert kept.recipe == made and kept.log == tuple(log) and kept_latents(tmp_path) == ("mine",)
    for a, b in zip(model.parameters(), kept.model.decoder.parameters(), strict=True):
        assert torch.equal(a.half().float(), b)
    with pytest.raises(ValueError, match=r"^model: got 'other'; expected one of mine"):
        read_latent("other", tmp_path)
    told = json.loads((tmp_path / "mine.json").read_text())
    told["recipe"]["width"] = 32
    (tmp_path / "mine.json").write_text(json.dumps(told))
    with pytest.raises(ValueError, match=r"got \(\d+, 16\); expected \(\d+, 32\)"):
        read_latent("mine", tmp_path)


def test_the_command_keeps_what_is_there(tmp_path, capsys):
    torch.save({"model": untrained(RECIPES["none"]).state_dict(), "log": []}, tmp_path / "none.pt")
    assert main(["--work", str(tmp_path), "none"]) == 0  # there already
    assert main(["--work", str(tmp_path), "nothing"]) == 2
    assert "name: got 'nothing'" in capsys.readouterr().err
    assert collect(tmp_path, tmp_path / "kept") == ["none"]
    assert json.loads((tmp_path / "kept" / "provenance.json").read_text())["models"] == ["none"]


@pytest.mark.parametrize("name", kept_latents())
def test_kept_models_are_those_of_their_recipes(name):
    kept = read_latent(name)
    assert kept.recipe == RECIPES[name]
    assert [s.steps for s in kept.log] == list(kept.recipe.stages)
    for stage in kept.log:
        assert stage.left == (stage.loss < 0.02 and stage.accuracy >= 0.99)
        assert stage.left or stage.iterations == kept.recipe.limit


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"method": "magic"}, "method: got 'magic'"),
        ({"rate": 0.0}, "rate: got 0.0"),
        ({"limit": 0}, "limit: got 0"),
        ({"drop": 1.0}, "drop: got 1.0"),
        ({"width": 20}, "width: got 20; expected a multiple of 16"),
    ],
)
def test_bad_recipes_get_a_sentence(changes, said):
    with pytest.raises(ValueError, match="^" + said):
        untrained(recipe(**changes))
