"""The Identity Bridge's parts against closed forms, autograd, invariants and the table that was measured beforehand."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.language import (
    FORMS,
    OneLayerOV,
    block_contrast,
    bridge_dataset,
    complete_block,
    entity_blocks,
    name_task,
    names_on_both_sides,
    nuclear_norm_2x2,
    read_pairs,
    reversal_scores,
    reverse_prompts,
    score_names,
    steady_rate,
    symbolic_facts,
    train_names,
    train_ov,
    weighted_ce,
)
from assay.models import Decoder, DecoderShape

N = 10
A, B = np.arange(N), N + np.arange(N)
entry = st.floats(-3, 3)
known = st.floats(0, 3)


def trained(form, *, factorised=True, n=N, init=0.01, rate=4.0, steps=750, seed=0, weight=6.0):
    """W_OV after training."""
    x, y, w = symbolic_facts(n, form, weight)
    model = OneLayerOV(2 * n + 3, 2 * n + 3, factorised, init, np.random.default_rng(seed))
    return train_ov(model, x, y, w, rate=rate, steps=steps).matrix[-1]


def scored(matrix):
    return reversal_scores(reverse_prompts(N) @ matrix.T, A, B, A)


@given(entry, entry, entry, entry)
def test_the_nuclear_norm_is_the_sum_of_singular_values(alpha, beta, gamma, delta):
    wanted = np.linalg.norm([[alpha, delta], [beta, gamma]], "nuc")
    assert nuclear_norm_2x2(alpha, beta, gamma, delta) == pytest.approx(wanted, abs=1e-7)


@given(known, st.floats(0.05, 3), known)
def test_no_other_entry_makes_the_norm_smaller(alpha, beta, gamma):
    best = nuclear_norm_2x2(alpha, beta, gamma, complete_block(alpha, beta, gamma))
    assert all(nuclear_norm_2x2(alpha, beta, gamma, d) >= best - 1e-9 for d in np.linspace(-4, 4, 401))
    assert complete_block(alpha, beta, gamma, "fro") == 0


@pytest.mark.parametrize(
    ("given_", "wanted"), [((1, 1, 1), 1), ((1, 0.5, 1), 0.5), ((1, 2, 1), 0.5), ((0, 1, 1), 0), ((1, 1, 0), 0)]
)
def test_completions_that_are_known(given_, wanted):
    assert complete_block(*given_) == wanted


def test_a_missing_beta_is_refused():
    with pytest.raises(ValueError, match="β > 0"):
        complete_block(1, 0, 1)


@pytest.mark.parametrize(
    ("form", "right", "in_a", "echo"),
    [("idn", 0, 1, 1), ("ocr", 1, 1, 0), ("ocr_no_b", 0.1, 0.1, 0)],
)
def test_the_forms_that_fill_the_corner_and_those_that_do_not(form, right, in_a, echo):
    found = scored(trained(form))
    assert (found["acc"], found["acc_in_a"], found["echo"]) == pytest.approx((right, in_a, echo), abs=0.11)
    diagonal, rest = block_contrast(entity_blocks(trained(form), A, B)["reverse"])
    assert (diagonal - rest > 4) == (form in ("idn", "ocr"))


@pytest.mark.parametrize("form", ["fwd", "idn_a"])
def test_without_facts_of_b_the_corner_stays_empty(form):
    matrix = trained(form)
    diagonal, rest = block_contrast(entity_blocks(matrix, A, B)["reverse"])
    assert abs(diagonal - rest) < 0.02 and scored(matrix)["acc_in_a"] <= 0.4


@pytest.mark.parametrize("form", list(FORMS))
def test_one_matrix_tells_no_pair_from_another(form):
    matrix = trained(form, factorised=False, steps=300)
    diagonal, rest = block_contrast(entity_blocks(matrix, A, B)["reverse"])
    assert abs(diagonal - rest) < 1e-12
    assert scored(matrix)["acc_in_a"] == pytest.approx(1 / N)  # all tied


@pytest.mark.parametrize("factorised", [True, False])
def test_a_step_is_autograds(factorised):
    x, y, w = symbolic_facts(4, "ocr", 6.0)
    model = OneLayerOV(11, 5, factorised, 0.5, np.random.default_rng(1))
    weights = [torch.tensor(p, requires_grad=True) for p in (model.output, model.value) if p is not None]
    matrix = weights[0] @ weights[1].T if factorised else weights[0]
    each = torch.nn.functional.cross_entropy(torch.tensor(x) @ matrix.T, torch.tensor(y), reduction="none")
    loss = (each * torch.tensor(w)).sum() / w.sum()
    assert weighted_ce(x @ model.matrix.T, y, w) == pytest.approx(loss.item(), rel=1e-12)
    loss.backward()
    wanted = [p.detach().numpy() - 0.1 * p.grad.numpy() for p in weights]
    train_ov(model, x, y, w, rate=0.1, steps=1)
    np.testing.assert_allclose(model.output, wanted[0], atol=1e-14)
    if factorised:
        np.testing.assert_allclose(model.value, wanted[1], atol=1e-14)


def test_a_weight_of_six_is_six_copies_and_equal_weights_change_nothing():
    _, y, w = symbolic_facts(4, "ocr", 6.0)
    copies = w.astype(int)
    logits = np.random.default_rng(0).normal(size=(len(y), 11))
    repeated = weighted_ce(np.repeat(logits, copies, 0), np.repeat(y, copies), np.ones(copies.sum()))
    assert weighted_ce(logits, y, w) == pytest.approx(repeated, rel=1e-12)
    assert weighted_ce(logits, y, np.full(len(y), 3.7)) == pytest.approx(weighted_ce(logits, y, np.ones(len(y))))


def test_what_balances_the_factors_drifts_with_the_rate_alone():
    drifts = []
    for rate in (0.2, 0.1):
        x, y, w = symbolic_facts(4, "ocr")
        model = OneLayerOV(11, 11, True, 0.3, np.random.default_rng(0))
        drifts.append(train_ov(model, x, y, w, rate=rate, steps=round(40 / rate)).imbalance[-1])
    assert drifts[1] == pytest.approx(drifts[0] / 2, rel=0.15)


@settings(max_examples=8)
@given(st.permutations(range(4)))
def test_permuted_pairs_permute_everything(order):
    index = np.concatenate([order, 4 + np.array(order), [8, 9, 10]])
    x, y, w = symbolic_facts(4, "idn")
    first = OneLayerOV(11, 11, True, 0.1, np.random.default_rng(0))
    other = OneLayerOV(11, 11, True, 0.1, np.random.default_rng(0))
    other.output, other.value = first.output[index], first.value[index]
    one = train_ov(first, x, y, w, rate=1.0, steps=50).matrix[-1]
    two = train_ov(other, x, y, w, rate=1.0, steps=50).matrix[-1]
    np.testing.assert_allclose(two, one[np.ix_(index, index)], atol=1e-9)


def test_ties_count_as_their_share():
    found = reversal_scores(np.zeros((N, 2 * N + 3)), A, B, A)
    assert found["acc"] == pytest.approx(1 / (2 * N + 3)) and found["acc_in_a"] == pytest.approx(1 / N)


def test_weights_that_run_away_are_told():
    x, y, w = symbolic_facts(4, "fwd")
    with pytest.raises(ValueError, match="rate: got 500"):
        train_ov(OneLayerOV(11, 11, True, 3.0, np.random.default_rng(0)), x, y, w, rate=500, steps=50)


@pytest.mark.parametrize("init", [0.3, 1.0, 3.0])
def test_a_steady_rate_bears_large_weights_and_they_learn_no_reverse_beyond_one(init):
    matrix = trained("ocr", init=init, rate=steady_rate(4.0, init, 2 * N + 3))
    x, _, _ = symbolic_facts(N, "ocr")
    assert reversal_scores(x[:N] @ matrix.T, B, A, B)["acc"] > 0.85
    assert init < 1 or scored(matrix)["acc"] < 0.4


@pytest.mark.parametrize("w", [np.array([1.0, -1]), np.array([1, np.nan]), np.zeros(2)])
def test_weights_that_cannot_be_are_refused(w):
    with pytest.raises(ValueError, match=r"^w: "):
        weighted_ce(np.zeros((2, 3)), np.array([0, 1]), w)


def test_sentences_are_those_of_the_recipe():
    facts = bridge_dataset([("Ann", "Bob")], "ocr", {"forward": 6})
    assert [(f.prompt, f.answer, f.weight) for f in facts] == [
        ("The name of Ann's husband is?", "Bob", 6), ("The wife of Ann's husband is?", "Ann", 1),
        ("The name of Bob is?", "Bob", 1),
    ]  # fmt: skip
    assert all("wife of Bob" not in f.prompt for form in FORMS for f in bridge_dataset([("Ann", "Bob")], form))
    assert names_on_both_sides([("Ann", "Bob"), ("Bob", "Cy")]) == ["Bob"]
    with pytest.raises(ValueError, match="weights: got -1"):
        bridge_dataset([("Ann", "Bob")], "ocr", {"forward": -1})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,c\n1,2\n", "columns a, c"),
        ("a,b\n1,2\n3,4\n5,6\n", "got 3"),
        ("a,b\n1,2\n1,4\n5,6\n7,8\n", "'1' in row 3, column a, as in row 2"),
        ("a,b\n1,2\n3\n5,6\n7,8\n", "nothing in row 3, column b"),
        ("", "columns none"),
    ],
)
def test_pairs_that_cannot_be_used_are_told_by_row_and_column(tmp_path, text, said):
    path = tmp_path / "pairs.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=said):
        read_pairs(path)


def test_pairs_are_read(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("\ufeffA, b \nAnn,Bob\n\nCy , Di\nEd,Flo\nGil,Hal\n", encoding="utf-8")
    assert read_pairs(path) == [("Ann", "Bob"), ("Cy", "Di"), ("Ed", "Flo"), ("Gil", "Hal")]


@pytest.mark.parametrize("length", [1, 2, 3])
def test_names_are_all_different_and_a_decoder_learns_them(length):
    task = name_task(6, length, np.random.default_rng(0))
    assert len({tuple(name) for name in torch.cat([task.a, task.b]).tolist()}) == 12
    model = Decoder(DecoderShape(task.tokens, 32, 1, 16), torch.Generator().manual_seed(0))
    loss = train_names(model, task, "ocr", steps=80)
    assert loss[-1] < 0.1 * loss[0]
    found = score_names(model, task)
    assert found["forward"] == 1 and found["reverse"] + found["echo"] <= 1
