"""Training: it learns, it repeats bit for bit, it goes on where it stopped, and its rates are those that were set."""

import numpy as np
import pytest
import torch

from assay.models import (
    Budget,
    Decoder,
    DecoderShape,
    final_states,
    loss_by_window,
    train_language_model,
    windows,
)
from assay.models.language_training import drawn_order

SHAPE = DecoderShape(tokens=20, width=16, layers=1, context=8)
TEXT = windows(np.tile(np.arange(20), 36), 8)
BUDGET = Budget(steps=30, batch=4, rate=1e-2, final_share=0.1, weight_decay=0.1)


def trained(text=TEXT, budget=BUDGET, **more):
    model = Decoder(SHAPE, torch.Generator().manual_seed(0))
    log = train_language_model(model, text, budget, generator=torch.Generator().manual_seed(1), **more)
    return model, log


def same(one: Decoder, other: Decoder) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


def test_it_learns_what_follows_what():
    model, log = trained(budget=Budget(steps=200, batch=8, rate=1e-2))
    assert log.loss[0] == pytest.approx(np.log(20), abs=0.1)
    assert loss_by_window(model, TEXT).mean() < 0.2


def test_it_repeats_bit_for_bit_and_leaves_global_streams():
    state = torch.get_rng_state()
    (one, first), (other, second) = trained(), trained()
    assert same(one, other)
    np.testing.assert_array_equal(first.loss, second.loss)
    assert torch.equal(torch.get_rng_state(), state)


def measured(model: Decoder) -> dict[str, float]:
    return {"norm": float(model.unembedding.weight.detach().norm()), "loss": float(loss_by_window(model, TEXT).mean())}


@pytest.mark.parametrize("stop", [3, 12, 29])
def test_a_stopped_run_goes_on_to_the_same_end(tmp_path, stop):
    class Stopped(Exception):
        pass

    def until(steps):
        for step in steps:
            if step == stop:
                raise Stopped
            yield step

    place = tmp_path / "run.state"
    given = {"measure": measured, "entries": 5, "state": place, "keep_every": 4}
    with pytest.raises(Stopped):
        trained(progress=until, **given)
    assert place.exists() is (stop >= 4)
    began = []
    model, log = trained(progress=lambda steps: began.append(steps[0]) or steps, **given)
    whole, reference = trained(measure=measured, entries=5)
    assert began == [stop // 4 * 4] and not place.exists() and same(model, whole)
    np.testing.assert_array_equal(log.loss, reference.loss)
    np.testing.assert_array_equal(log.seen, reference.seen)
    assert log.step.tolist() == [0, 6, 12, 18, 24, 30] and list(log.names) == ["norm", "loss"]
    assert not list(tmp_path.iterdir())


def test_a_state_of_another_run_is_refused(tmp_path):
    place = tmp_path / "run.state"

    def until(steps):
        for step in steps:
            if step == 5:
                raise KeyboardInterrupt
            yield step

    with pytest.raises(KeyboardInterrupt):
        trained(state=place, keep_every=2, progress=until)
    with pytest.raises(ValueError, match="belongs to another run"):
        trained(budget=Budget(steps=30, batch=4, rate=1e-3), state=place)


def test_rates_warm_up_and_fall_to_their_share():
    budget = Budget(steps=1000, batch=1, rate=0.5, final_share=0.2)
    rates = [budget.rate_at(step) for step in range(1000)]
    assert rates[0] == pytest.approx(0.5 / 20) and max(rates) == rates[19] == 0.5
    assert rates[-1] == pytest.approx(0.1)
    np.testing.assert_allclose(np.diff(rates[20:]), np.diff(rates[20:])[0], rtol=1e-6)


def test_windows_come_once_an_epoch():
    order = drawn_order(7, 20, torch.Generator().manual_seed(0))
    assert sorted(order[:7].tolist()) == sorted(order[7:14].tolist()) == list(range(7))
    assert len(order) == 20 and len(set(order[14:].tolist())) == 6


def test_windows_share_their_ends():
    text = windows(np.arange(23), 5)
    assert text.shape == (4, 6)
    assert torch.equal(text[1:, 0], text[:-1, -1])


def test_decay_shrinks_matrices_and_no_gain():
    strong, _ = trained(budget=Budget(steps=30, batch=4, rate=1e-2, weight_decay=20.0))
    weak, _ = trained(budget=Budget(steps=30, batch=4, rate=1e-2, weight_decay=0.0))
    assert strong.unembedding.weight.norm() < 0.6 * weak.unembedding.weight.norm()
    assert float((strong.final_norm.weight - 1).abs().max().detach()) < 0.3


def test_a_penalty_acts_and_a_loss_is_that_of_torch():
    plain, _ = trained()
    held, _ = trained(penalty=lambda model: 10 * model.unembedding.weight.square().sum())
    assert held.unembedding.weight.norm() < 0.5 * plain.unembedding.weight.norm()
    logits = plain(TEXT[:, :-1])
    expected = torch.nn.functional.cross_entropy(logits.flatten(0, 1), TEXT[:, 1:].flatten())
    assert loss_by_window(plain, TEXT).mean() == pytest.approx(float(expected.detach()), rel=1e-5)


def test_states_are_what_the_unembedding_multiplies():
    model, _ = trained()
    hidden = final_states(model, TEXT[:3], from_position=2)
    logits = model(TEXT[:3, :-1])[:, 2:].flatten(0, 1)
    torch.testing.assert_close(hidden @ model.unembedding.weight.T, logits)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: Budget(steps=0, batch=1, rate=1), "steps: got 0"),
        (lambda: Budget(steps=1, batch=1, rate=0), "rate: got 0"),
        (lambda: Budget(steps=1, batch=1, rate=1, final_share=2), "final_share: got 2"),
        (lambda: Budget(steps=1, batch=1, rate=1, weight_decay=-1), "weight_decay: got -1"),
        (lambda: windows(np.arange(5), 5), "tokens: got 5; expected at least 6"),
        (lambda: trained(text=TEXT[:, :1]), r"text: got windows"),
        (lambda: trained(entries=31), "entries: got 31"),
        (lambda: trained(budget=Budget(steps=30, batch=4, rate=1e30)), "no longer finite"),
        (lambda: final_states(Decoder(SHAPE, torch.Generator()), TEXT, from_position=8), "from_position: got 8"),
    ],
)
def test_what_is_refused(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
