"""The decoder against plain attention and norms, what it may see, and its names in a checkpoint."""

import numpy as np
import pytest
import torch

from assay import checkpoints
from assay.models import Decoder, DecoderShape
from assay.models.decoder import EPSILON, HEAD, rotated


def decoder(**change) -> Decoder:
    shape = DecoderShape(**{"tokens": 60, "width": 32, "layers": 2, "context": 16, "spread": 0.3} | change)
    return Decoder(shape, torch.Generator().manual_seed(0))


TOKENS = torch.randint(60, (3, 16), generator=torch.Generator().manual_seed(1))


def plain(model: Decoder, tokens: torch.Tensor) -> torch.Tensor:
    """Logits in float64, position by position and head by head; rotations as complex numbers."""
    weights = {name: value.detach().double() for name, value in model.named_parameters()}
    x = weights["embedding.weight"][tokens]
    steps, d = x.shape[1:]
    angle = torch.arange(steps)[:, None] * 10_000.0 ** (-torch.arange(0, HEAD, 2) / HEAD)
    turn = torch.polar(torch.ones_like(angle), angle).to(torch.complex128)

    def norm(x: torch.Tensor, gain: torch.Tensor) -> torch.Tensor:
        return x / (x.square().mean(-1, keepdim=True) + EPSILON).sqrt() * gain

    def turned(x: torch.Tensor) -> torch.Tensor:
        pair = torch.complex(x[..., : HEAD // 2], x[..., HEAD // 2 :]) * turn
        return torch.cat([pair.real, pair.imag], dim=-1)

    for i in range(model.shape.layers):
        own = {k.removeprefix(f"blocks.{i}."): v for k, v in weights.items() if k.startswith(f"blocks.{i}.")}
        read = norm(x, own["input_norm.weight"])
        q, k, v = (read @ own["mixed.weight"].T).chunk(3, dim=-1)
        out = torch.empty_like(x)
        for h in range(d // HEAD):
            at = slice(h * HEAD, (h + 1) * HEAD)
            score = turned(q[..., at]) @ turned(k[..., at]).transpose(1, 2) / HEAD**0.5
            score = score.masked_fill(torch.ones(steps, steps).triu(1).bool(), -torch.inf)
            out[..., at] = score.softmax(-1) @ v[..., at]
        attended = out @ own["attended.weight"].T
        if not model.shape.parallel:
            read = norm(x + attended, own["inner_norm.weight"])
        up, gate = (read @ own["gated.weight"].T).chunk(2, dim=-1)
        x = x + attended + (gate * gate.sigmoid() * up) @ own["down.weight"].T
    return norm(x, weights["final_norm.weight"]) @ model.unembedding.weight.detach().double().T


@pytest.mark.parametrize("change", [{}, {"parallel": True}, {"tied": True}, {"width": 48, "layers": 1}], ids=str)
def test_logits_are_those_written_out(change):
    model = decoder(**change)
    ours = model(TOKENS).detach().double()
    torch.testing.assert_close(ours, plain(model, TOKENS), rtol=1e-4, atol=1e-4)


def test_the_future_is_not_seen_and_the_past_is():
    model = decoder()
    changed = TOKENS.clone()
    changed[:, 9] = (changed[:, 9] + 1) % 60
    before, after = model(TOKENS), model(changed)
    torch.testing.assert_close(after[:, :9], before[:, :9], rtol=0, atol=0)
    assert (after[:, 9:] != before[:, 9:]).any(dim=-1).all()


def test_rotation_keeps_lengths_and_knows_distances_alone():
    model = decoder(context=40)
    q, k = torch.randn(2, HEAD, generator=torch.Generator().manual_seed(2))
    many_q, many_k = (
        rotated(q.expand(40, -1), model.cosine, model.sine),
        rotated(k.expand(40, -1), model.cosine, model.sine),
    )
    torch.testing.assert_close(many_q.norm(dim=1), q.norm().expand(40), rtol=1e-5, atol=0)
    score = many_q @ many_k.T
    for distance in (0, 3, 20):
        along = score.diagonal(-distance)
        torch.testing.assert_close(along, along[0].expand_as(along), rtol=1e-4, atol=1e-4)


def test_first_weights_come_from_the_generator_alone():
    torch.manual_seed(5)
    state = torch.get_rng_state()
    one, other = decoder(), decoder()
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))
    assert float(one.unembedding.weight.detach().std()) == pytest.approx(0.3, rel=0.05)
    assert (one.final_norm.weight == 1).all()


@pytest.mark.parametrize("change", [{}, {"parallel": True}, {"layers": 3, "width": 48}], ids=str)
def test_parameters_are_counted(change):
    model = decoder(**change)
    inner = sum(p.numel() for p in model.parameters()) - 2 * 60 * model.shape.width
    assert model.shape.non_embedding == inner
    assert DecoderShape(**model.shape.as_dict()) == model.shape


@pytest.mark.parametrize("tied", [False, True])
def test_a_checkpoint_of_it_is_understood(tied, tmp_path):
    model = decoder(tied=tied)
    place = tmp_path / "model.npz"
    np.savez(place, **{name: value.numpy() for name, value in model.named_weights().items()})
    found = checkpoints.find_unembedding(place)
    assert torch.equal(found.weight, model.unembedding.weight.detach()) and found.gain is not None
    assert len(checkpoints.open(place).layers()) == 2
    assert ("lm_head.weight" in model.named_weights()) is not tied


@pytest.mark.parametrize(
    ("change", "sentence"),
    [({"width": 24}, "width: got 24"), ({"layers": 0}, "layers: got 0"), ({"spread": 0.0}, "spread: got 0")],
)
def test_what_is_refused(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        decoder(**change)
    with pytest.raises(ValueError, match="tokens: got 17 in a row"):
        decoder().states(torch.zeros(1, 17, dtype=torch.long))
