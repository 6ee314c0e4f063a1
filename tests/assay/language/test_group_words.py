"""The group and the task: laws of groups, permutation matrices, exact counterfactuals."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.language import WordTask, symmetric_group
from assay.language.word_task import letter_hash


@pytest.mark.parametrize(("degree", "order"), [(2, 2), (3, 6), (4, 24), (5, 120)])
def test_a_table_is_a_group(degree, order):
    group = symmetric_group(degree)
    every = torch.arange(order)
    assert group.order == order and group.names[0] == "".join(str(i + 1) for i in range(degree))
    assert torch.equal(group.compose(every, group.inverse[every]), torch.zeros(order, dtype=torch.long))
    assert torch.equal(group.compose(torch.zeros_like(every), every), every)
    a, b, c = (torch.randint(order, (500,), generator=torch.Generator().manual_seed(i)) for i in range(3))
    assert torch.equal(group.compose(group.compose(a, b), c), group.compose(a, group.compose(b, c)))
    for row in group.table:
        assert len(set(row.tolist())) == order
    if degree > 2:
        assert not torch.equal(group.table, group.table.T)


def test_products_are_those_of_permutation_matrices():
    group = symmetric_group(4)
    # Column i of a permutation's matrix is the unit vector of where i goes, so matrices multiply as maps compose.
    matrices = np.stack([np.eye(4)[:, [int(c) - 1 for c in name]] for name in group.names])
    words = torch.randint(24, (50, 6), generator=torch.Generator().manual_seed(0))
    products = group.partial_products(words)
    for word, product in zip(words, products, strict=True):
        whole = np.eye(4)
        for g, p in zip(word, product, strict=True):
            whole = whole @ matrices[int(g)]
            assert np.array_equal(whole, matrices[int(p)])


TASKS = [WordTask("chain", 6), WordTask("chain", 5, slots=2), WordTask("skip", 5), WordTask("late", 4),
         WordTask("early", 5)]  # fmt: skip


@pytest.mark.parametrize("task", TASKS, ids=lambda t: f"{t.kind}-{t.slots}")
def test_replaying_a_step_with_its_own_value_changes_nothing(task):
    words = task.draw(40, torch.Generator().manual_seed(1), held_out=True)
    steps, answer = task.chain_of_thought(words)
    assert steps.shape == (40, task.step_count) and task.latents == task.step_count * task.slots
    for step in range(1, task.step_count + 1):
        again, same = task.replay(words, step, steps[:, step - 1])
        assert torch.equal(again, steps) and torch.equal(same, answer)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(0, 23))
def test_a_chain_goes_on_from_the_value_that_is_put_in(seed, step, value):
    """p' ∘ g_{t+2} ∘ … ∘ g_K, computed apart."""
    task, group = WordTask("chain", 6), symmetric_group(4)
    words = task.draw(5, torch.Generator().manual_seed(seed), held_out=False)
    steps, answer = task.replay(words, step, torch.full((5,), value))
    state = torch.full((5,), value)
    for k in range(step + 1, 6):
        assert torch.equal(steps[:, k - 2], state)
        state = group.table[state, words.letters[:, k]]
    assert torch.equal(answer, state)


def test_variants_mean_what_they_say():
    group = symmetric_group(4)
    skip, late, early = WordTask("skip", 5), WordTask("late", 4), WordTask("early", 5)
    words = skip.draw(60, torch.Generator().manual_seed(2), held_out=False)
    products = group.partial_products(words.letters)
    named = products[torch.arange(60), words.choice - 1]
    assert torch.equal(skip.lay(words).answer, group.compose(named, products[:, -1]))
    for task in (late, early):
        words = task.draw(60, torch.Generator().manual_seed(3), held_out=False)
        both = [group.partial_products(row) for row in words.letters.view(60, 2, -1).unbind(1)]
        ends = torch.stack([p[:, -1] for p in both], dim=1)
        laid = task.lay(words)
        assert torch.equal(laid.answer, ends[torch.arange(60), words.choice])
        assert laid.tail.shape[1] == (1 if task is late else 0)
        if task is late:  # steps of the two words in turn
            assert torch.equal(laid.steps[:, 0::2], both[0][:, 1:]) and torch.equal(laid.steps[:, 1::2], both[1][:, 1:])
        else:
            own = torch.stack(both)[words.choice, torch.arange(60)]
            assert torch.equal(laid.steps, own[:, 1:-1])


def test_held_out_words_are_never_trained_on_and_are_a_tenth():
    task = WordTask("chain", 6)
    kept, held = (task.draw(4000, torch.Generator().manual_seed(4), held_out=side) for side in (False, True))
    assert not {tuple(w) for w in kept.letters.tolist()} & {tuple(w) for w in held.letters.tolist()}
    assert (letter_hash(kept.letters) % 10 != 0).all() and (letter_hash(held.letters) % 10 == 0).all()
    drawn = torch.randint(24, (20_000, 6), generator=torch.Generator().manual_seed(5))
    assert (letter_hash(drawn) % 10 == 0).double().mean() == pytest.approx(0.1, abs=0.01)
    share = torch.bincount(held.letters.flatten(), minlength=24) / held.letters.numel()
    assert (share - 1 / 24).abs().max() < 0.006  # held-out words are like the others


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: WordTask("ring", 6), "kind: got 'ring'; expected one of chain, skip, late, early."),
        (lambda: WordTask("chain", 2), "length: got 2; expected a whole number from 3 to 8."),
        (lambda: WordTask("chain", 6, slots=0), "slots: got 0"),
        (lambda: symmetric_group(7), "degree: got 7; expected a whole number from 2 to 5."),
        (lambda: WordTask("chain", 6).step_of(5), "intervention step 5 out of 1..4."),
        (lambda: WordTask("chain", 6).replay(WordTask("chain", 6).draw(1, torch.Generator(), held_out=False), 9,
                                             torch.zeros(1, dtype=torch.long)), "step: got 9"),
    ],
)  # fmt: skip
def test_bad_input_gets_a_sentence(made, said):
    with pytest.raises(ValueError, match="^" + said.replace("'", ".").split(";")[0].replace("(", ".")):
        made()
