"""The study of latent chains of thought: views say what the library finds, claims can fail, bad input is told."""

import json
import re

import numpy as np
import pytest
import torch

from assay.language import interchange_answers, read_latent, symmetric_group
from workbench.registry import registry
from workbench.run_protocol import LocalRun
from workbench.snapshot import Snapshot, settle
from workbench.study import ControlError


@pytest.fixture(scope="module")
def study():
    return registry().get("latent-cot")


def at(study, preset="quick", results=None, **values):
    return Snapshot(study, settle(study, values, preset), results)


def stats(shown):
    return {s.label: s.value for s in shown.content}


def perform(study, name, preset="quick", results=None, **values):
    return at(study, preset, results, **values).perform(name, LocalRun(0, study.experiments[name].tables))


def test_a_triangle_turns_into_a_line(study):
    """The toggle that the study is about: total effects of a chain look non-local, direct ones are one line."""
    total, direct = (at(study, effect=e).show("influence_matrix") for e in ("total", "direct"))
    assert "it looks like long-range jumps" in total.title
    assert "each step acts on the next alone, locality 1.00" in direct.title
    z = np.array(direct.content["data"][0]["z"], dtype=float)
    far = np.triu(np.ones_like(z), 1).astype(bool)
    assert np.nanmax(z[far]) < 0.01 < 1 < np.nanmin(np.diag(z))
    assert np.nanmin(np.array(total.content["data"][0]["z"], dtype=float)) > 1
    assert "F1 1.00" in at(study, effect="direct").show("graph").title
    assert "F1 0.57" in at(study, effect="total").show("graph").title


def test_what_follows_a_changed_step_changes_and_nothing_before_it(study):
    for step in (1, 3, 4):
        acted = at(study, operation="swap", step=step, prompt=5).value("acted")
        before, after = acted.lens
        assert (before[:, :step] == after[:, :step]).all()
        assert (before[:, step:] != after[:, step:]).mean() > 0.8
    both = at(study, operation="zero", step=1, also="3-4").value("acted")
    assert both.steps == (1, 3, 4)


def test_the_swap_bench_says_what_algebra_says(study):
    snapshot = at(study, operation="swap", step=2, prompt=3, donor_rule="pick", donor=7)
    bench, acted = snapshot.value("bench"), snapshot.value("acted")
    assert acted.donors[3] == 7
    wanted = interchange_answers(bench.task, bench.words, torch.from_numpy(acted.donors), 2)[3]
    group = symmetric_group(4)
    state = bench.labels[7, 1]
    for k in range(3, 6):  # p'_3 from the donor, then this prompt's letters 4 to 6
        state = group.table[state, bench.words.letters[3, k]]
    assert int(state) == int(wanted) == int(acted.outcome.predicted[1, 3, 0])
    shown = snapshot.show("swap_bench")
    assert (
        f"the model says {group.names[int(state)]}, and exact algebra says {group.names[int(state)]}" in shown.subtitle
    )
    assert re.match(r"(9\d|100) % of answers are the exact counterfactual’s", shown.title)


def test_a_word_of_ones_own(study):
    snapshot = at(study, word="2134 1243 4321 2341 1324 3412")
    bench = snapshot.value("bench")
    group = symmetric_group(4)
    numbers = [group.names.index(w) for w in ("2134", "1243", "4321", "2341", "1324", "3412")]
    state = numbers[0]
    for g in numbers[1:]:
        state = int(group.table[state, g])
    assert bench.words.letters[0].tolist() == numbers and int(bench.laid.answer[0]) == state
    assert "2134 1243 4321 2341 1324 3412" in snapshot.show("strip").subtitle


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"word": "2134 1243"}, "got 2 permutations; expected 6"),
        ({"word": "2133 1243 4321 2341 1324 3412"}, "'2133' is no permutation of 1234"),
        ({"word": "hello"}, "permutations such as 2134 1243"),
        ({"model": "sample:latent-late", "word": " ".join(["2134"] * 8)}, "expected A or B after the permutations"),
        ({"model": "sample:latent-skip", "word": " ".join(["2134"] * 5) + " j=9"}, "expected one of j=2, j=3, j=4"),
        ({"also": "7"}, "intervention step 7 out of 1..4"),
        ({"also": "x"}, "steps such as 3,4 or 2-4"),
        ({"model": "sample:latent-codes"}, "latent-codes"),
    ],
)
def test_bad_input_gets_a_sentence(study, values, said):
    with pytest.raises(ControlError, match=re.escape(said)):
        at(study, **values).show("strip")


@pytest.mark.parametrize("operation", ["swap", "mean_step", "gaussian_h", "within_class", "project_out", "patch"])
def test_content_and_damage_are_told_apart(study, operation):
    """A latent of the same value flips nothing; noise of half its length flips little; a donor's flips nearly all."""
    flips = at(study, operation=operation).value("acted").outcome.flipped[:4].double().mean()
    if operation in ("gaussian_h", "within_class"):
        assert flips < 0.06
    elif operation in ("swap", "mean_step"):
        assert flips > 0.8
    assert at(study, operation=operation).show("strip").content["data"]


def test_models_that_use_nothing_say_so(study):
    pause = at(study, model="sample:latent-pause")
    assert "No step matters: 0 %" in pause.show("strip").title
    assert "Nothing acts on anything" in pause.show("influence_matrix").title
    assert "flips are not interpretable" in stats(pause.show("numbers"))["warning"]
    drawn = at(study, slots="random")
    assert float(drawn.value("bench").base.correct.double().mean()) < 0.3
    for view in study.views:
        at(study, model="sample:latent-codi-three").show(view)


def test_the_chain_comes_out_flat_and_claims_fail(study):
    results = {name: perform(study, name) for name in ("reach", "influences", "answers")}
    judged = {id: at(study, results=results).judge(id) for id in ("1", "3a", "4a", "4b", "4c", "6")}
    assert {id: str(j.verdict) for id, j in judged.items()} == {
        "1": "fails", "3a": "holds", "4a": "fails", "4b": "fails", "4c": "holds", "6": "fails",
    }  # fmt: skip
    steps = results["reach"]["steps"].set_index(["operation", "step"])
    assert (steps.loc["swap", "exact"] > 97).all() and (steps.loc["within_class", "flip"] < 5).all()
    assert (steps.loc["zero", "away"] > steps.loc["mean_step", "away"]).all()
    pairs = results["reach"]["jointly"]
    assert len(pairs) == 3


def test_a_model_with_unused_steps_comes_out_uneven(study):
    """The late selector reads its answer from the latents in the middle: the same test says that steps differ."""
    values = {"model": "sample:latent-late"}
    results = {"reach": perform(study, "reach", **values)}
    assert str(at(study, results=results, **values).judge("1").verdict) == "holds"


def test_recorded_trajectories_are_seen_and_not_reached_into(study, tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 30)
    scores = rng.normal(size=(30, 4, 2))
    scores[np.arange(30), 3, y] += 20
    np.savez(tmp_path / "mine.npz", h=rng.normal(size=(30, 4, 8)), logits_at=scores, y=y)
    snapshot = at(study, model=str(tmp_path / "mine.npz"))
    assert "The answer comes with latent 4" in snapshot.show("sufficiency").title
    assert "4 latents of 8 numbers" in snapshot.show("trajectories").subtitle
    for view in ("strip", "influence_matrix", "graph", "replay", "swap_bench"):
        assert snapshot.show(view).title == "Recorded trajectories cannot be reached into"
    with pytest.raises(ControlError, match="recorded trajectories cannot be reached into"):
        perform(study, "reach", model=str(tmp_path / "mine.npz"))
    np.savez(tmp_path / "bad.npz", h=np.zeros((6, 768)))
    with pytest.raises(ControlError, match=re.escape("h: expected [n,T,d], got [6, 768]")):
        at(study, model=str(tmp_path / "bad.npz")).show("strip")


def test_a_checkpoint_of_ones_own_is_measured(study, tmp_path):
    """A small GPT-2 in Coconut's layout with its questions: every experiment that can be asked of it runs."""
    from assay.models.tokens import letters

    g = torch.Generator().manual_seed(0)
    d, base = 16, 258

    def drawn(*shape):
        return 0.3 * torch.randn(*shape, generator=g)

    w = {"wte.weight": drawn(base + 3, d), "wpe.weight": drawn(80, d), "ln_f.weight": torch.ones(d),
         "ln_f.bias": drawn(d)}  # fmt: skip
    for norm in ("ln_1", "ln_2"):
        w |= {f"h.0.{norm}.weight": torch.ones(d), f"h.0.{norm}.bias": drawn(d)}
    for part, shape in {"attn.c_attn": (d, 3 * d), "attn.c_proj": (d, d), "mlp.c_fc": (d, 4 * d),
                        "mlp.c_proj": (4 * d, d)}.items():  # fmt: skip
        w |= {f"h.0.{part}.weight": drawn(*shape), f"h.0.{part}.bias": drawn(shape[1])}
    torch.save({f"base_causallm.transformer.{k}": v for k, v in w.items()}, tmp_path / "checkpoint_2")
    config = {"n_head": 2, "base_vocab_size": base, "c_thought": 1, "max_latent_stage": 3}
    (tmp_path / "config.json").write_text(json.dumps(config))
    names = [letters()[b] for b in range(256)]
    (tmp_path / "vocab.json").write_text(json.dumps({n: i for i, n in enumerate(names)}), encoding="utf-8")
    (tmp_path / "merges.txt").write_text("", encoding="utf-8")
    questions = tmp_path.parent / "q.jsonl"
    questions.write_text("\n".join(json.dumps({"question": f"{i}+1?", "answer": str(i % 9)}) for i in range(25)))
    values = {"model": str(tmp_path), "questions": str(questions)}
    assert "Run “Reach into every step”" in at(study, **values).show("strip").title
    results = {name: perform(study, name, **values) for name in ("reach", "influences", "answers")}
    assert len(results["reach"]["steps"]) == 3 * 7
    shown = at(study, results=results, **values)
    assert "% of answers flip, step by step" in shown.show("strip").title
    assert "effects" in shown.show("influence_matrix").title
    with pytest.raises(ControlError, match="questions: none are given"):
        perform(study, "reach", model=str(tmp_path))


def test_the_log_of_training_is_shown(study):
    shown = at(study).show("stages").content
    log = read_latent("chain").log
    assert list(shown["latent steps"]) == [s.steps for s in log]
    assert set(at(study, model="sample:latent-pause").show("stages").content["ended by"]) == {
        "its criterion", "its limit",
    }  # fmt: skip
