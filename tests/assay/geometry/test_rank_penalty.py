"""The derivative of the effective rank against finite differences, its closed form and autograd through svd."""

import numpy as np
import pytest
import torch

from assay.geometry import effective_rank, effective_rank_loss, matrix_effective_rank, singular_values


def drawn(rows: int, columns: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


@pytest.mark.parametrize("power", [1.0, 2.0])
@pytest.mark.parametrize(("rows", "columns"), [(30, 6), (6, 30), (7, 7), (9, 1)])
def test_value_and_gradient_are_those_through_svdvals(rows, columns, power):
    ours, theirs = (drawn(rows, columns).requires_grad_() for _ in range(2))
    value = matrix_effective_rank(ours, power=power)
    p = torch.linalg.svdvals(theirs) ** power
    p = p / p.sum()
    other = torch.exp(-(p * p.log()).sum())
    value.backward()
    other.backward()
    assert float(value.detach()) == pytest.approx(float(other.detach()), rel=1e-10)
    torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-7, atol=1e-10)


def test_gradient_is_that_of_finite_differences():
    weight = drawn(12, 4, seed=1)
    assert torch.autograd.gradcheck(matrix_effective_rank, (weight.requires_grad_(),))


def test_closed_form():
    weight = drawn(20, 5, seed=2)
    u, s, v = torch.linalg.svd(weight, full_matrices=False)
    p = s / s.sum()
    entropy = -(p * p.log()).sum()
    slopes = entropy.exp() / s.sum() * (-p.log() - entropy)
    asked = weight.clone().requires_grad_()
    matrix_effective_rank(asked).backward()
    torch.testing.assert_close(asked.grad, (u * slopes) @ v, rtol=1e-8, atol=1e-12)


def test_nothing_diverges_where_values_meet_or_vanish():
    """Equal singular values are the maximum of R: the gradient is 0. Of rank 1, it is 0 along what is there."""
    for weight in (torch.eye(8, 4), torch.outer(torch.ones(8), torch.arange(1.0, 5.0))):
        asked = weight.clone().requires_grad_()
        value = matrix_effective_rank(asked)
        value.backward()
        assert asked.grad is not None and torch.isfinite(asked.grad).all() and asked.grad.abs().max() < 1e-6
        assert float(value.detach()) == pytest.approx(float(effective_rank(singular_values(weight))), rel=1e-6)


@pytest.mark.slow
def test_training_on_it_reaches_the_target():
    weight = drawn(40, 8, seed=3, dtype=torch.float32).requires_grad_()
    optimiser = torch.optim.Adam([weight], lr=0.02)
    for _ in range(300):
        optimiser.zero_grad()
        effective_rank_loss(weight, 4.0).backward()
        optimiser.step()
    assert weight.grad is not None and weight.grad.dtype == torch.float32
    assert float(matrix_effective_rank(weight).detach()) == pytest.approx(4, abs=0.02)


def test_a_second_derivative_is_refused_instead_of_wrong():
    weight = drawn(6, 3).requires_grad_()
    (first,) = torch.autograd.grad(matrix_effective_rank(weight), weight, create_graph=True)
    with pytest.raises(RuntimeError, match="does not require grad"):
        first.sum().backward()


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: matrix_effective_rank(torch.ones(3)), r"weight: got \(3,\)"),
        (lambda: matrix_effective_rank(np.ones((3, 2))), "weight: got ndarray"),  # type: ignore[arg-type]
        (lambda: matrix_effective_rank(torch.zeros(3, 2)), "nothing but zeros"),
        (lambda: matrix_effective_rank(torch.full((3, 2), float("nan"))), "not finite"),
        (lambda: matrix_effective_rank(torch.ones(3, 2), power=0), "power: got 0"),
        (lambda: effective_rank_loss(torch.ones(3, 2), 3.0), "target: got 3.0"),
    ],
)
def test_what_is_refused(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
