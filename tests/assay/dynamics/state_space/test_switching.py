"""Common quadratic functions and products of matrices against closed forms, exact criteria and each other."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg

from assay.dynamics.state_space import (
    common_lyapunov,
    gated_delta_vertices,
    held,
    joint_spectral_radius,
    judge_switching,
    l2_gain,
    legs_matrix,
    lyapunov_exponents,
    lyapunov_matrix,
    pair_has_lyapunov,
    product_exceeds_one,
    quarter_turn_pair,
    transpose_pair,
    verify_certificate,
)
from assay.dynamics.state_space.joint_radius import spectral_norms, spectral_radii
from assay.dynamics.state_space.lyapunov import rate_of

SEEDS = st.integers(0, 2**32 - 1)


def drawn(seed, n, m, radius=None):
    A = np.random.default_rng(seed).normal(size=(m, n, n))
    return A if radius is None else A * radius / np.abs(np.linalg.eigvals(A)).max(axis=1)[:, None, None]


def test_a_shear_and_its_transpose_have_the_norm_of_one_as_joint_radius():
    """JSR({A, A'}) = |A|, with P = I: 2.1180340 for [[.5, 2], [0, .5]]."""
    A = transpose_pair()
    want = np.linalg.norm(A[0], 2)
    found = common_lyapunov(A)
    assert want == pytest.approx(2.1180340, abs=1e-7)
    assert found.rate == pytest.approx(want, rel=1e-7) and found.status == "OPEN"
    radius = joint_spectral_radius(A)
    assert radius.lower == pytest.approx(want, rel=1e-9) and radius.word in ((0, 1), (1, 0))
    assert radius.lower <= want <= radius.upper + 1e-9
    judged = judge_switching(A)
    assert judged.status == "REFUTED" and judged.exact
    assert judged.growth == pytest.approx(want**2, rel=1e-9)


def test_two_decaying_spirals_grow_when_switched_every_quarter_turn():
    judged = judge_switching(quarter_turn_pair(), kind="continuous")
    assert judged.status == "REFUTED" and sorted(judged.word) == [0, 1]
    assert judged.durations == pytest.approx([math.pi / (2 * math.sqrt(10))] * 2)
    assert judged.growth == pytest.approx(9.054, abs=1e-3)
    assert all(np.linalg.eigvals(A).real.max() == pytest.approx(-0.1) for A in quarter_turn_pair())


def test_the_solver_agrees_with_the_exact_criterion_for_two_states():
    """Shorten and Narendra: of random Hurwitz pairs."""
    rng = np.random.default_rng(7)
    agree, feasible, total = 0, 0, 0
    while total < 60:
        A, B = rng.normal(size=(2, 2, 2))
        if max(np.linalg.eigvals(M).real.max() for M in (A, B)) > -0.02:
            continue
        exact = pair_has_lyapunov(A, B)
        agree += exact == (common_lyapunov([A, B], kind="continuous", refine=False).status == "CERTIFIED")
        feasible += exact
        total += 1
    assert agree == 60 and 10 < feasible < 60


@pytest.mark.parametrize("n", [2, 5, 16])
def test_legs_is_certified_at_one_half_by_the_identity(n):
    A = legs_matrix(n)
    v = np.sqrt(2 * np.arange(n) + 1)
    assert np.abs(A + A.T + np.eye(n) + np.outer(v, v)).max() < 1e-13
    assert verify_certificate([A], np.eye(n), 0.5 - 1e-9, kind="continuous") > 0
    # -(A + A') - 2 (0.51) I = v v' - 0.02 I has a negative eigenvalue: no more than 1/2 by the identity
    assert verify_certificate([A], np.eye(n), 0.51, kind="continuous") <= 0
    for step in (0.1, 1.0, 7.0):
        assert np.linalg.norm(linalg.expm(step * A), 2) <= math.exp(-step / 2) * (1 + 1e-9)


@given(SEEDS, st.integers(2, 4))
@settings(max_examples=15, deadline=None)
def test_one_stable_matrix_is_certified_up_to_its_spectral_radius(seed, n):
    """Of a single matrix the best rate is its spectral radius, and no P shows less."""
    A = drawn(seed, n, 1, 0.9)
    found = common_lyapunov(A, refine=False)
    assert found.rate >= 0.9 * (1 - 1e-9) and found.status == ("CERTIFIED" if found.rate < 1 else "OPEN")
    P = linalg.solve_discrete_lyapunov(A[0].T, np.eye(n))
    P = (P + P.T) / 2
    assert found.rate <= rate_of(A, P, "discrete") * (1 + 1e-6)


@given(SEEDS, st.integers(2, 4))
@settings(max_examples=15, deadline=None)
def test_bounds_on_the_joint_radius_hold_each_other(seed, n):
    """ρ(product)^(1/k) <= JSR <= rate of any P, and rate / sqrt(n) <= JSR."""
    A = drawn(seed, n, 2)
    certificate = common_lyapunov(A, refine=False)
    radius = joint_spectral_radius(A, 8, P=certificate.P)
    assert radius.lower <= certificate.rate * (1 + 1e-7)
    assert certificate.rate / math.sqrt(n) <= radius.upper * (1 + 1e-3)
    product = np.linalg.multi_dot([np.eye(n), *A[list(radius.word)]])
    assert np.abs(np.linalg.eigvals(product)).max() ** (1 / len(radius.word)) == pytest.approx(radius.lower, rel=1e-6)


@given(SEEDS)
@settings(max_examples=15, deadline=None)
def test_a_certified_system_keeps_its_promise_on_its_trajectories(seed):
    """|h_t| <= sqrt(kappa) r^t |h_0| on random switchings, convex combinations among them."""
    A = drawn(seed, 3, 2, 0.5)
    found = common_lyapunov(A)
    rng = np.random.default_rng(seed)
    h = rng.normal(size=(50, 3))
    start = np.linalg.norm(h, axis=1)
    for t in range(1, 60):
        share = rng.choice([0.0, 1.0, rng.random()], size=50)[:, None, None]
        h = np.einsum("bij,bj->bi", share * A[0] + (1 - share) * A[1], h)
        assert (np.linalg.norm(h, axis=1) <= math.sqrt(found.kappa) * found.rate**t * start * (1 + 1e-9)).all()


@given(SEEDS)
@settings(max_examples=10, deadline=None)
def test_a_change_of_basis_changes_the_function_and_not_the_rate(seed):
    A = drawn(seed, 3, 2, 0.6)
    T = np.random.default_rng(seed + 1).normal(size=(3, 3)) / 4 + np.eye(3)
    inverse = np.linalg.inv(T)
    one, other = common_lyapunov(A, refine=False), common_lyapunov(T @ A @ inverse, refine=False)
    if np.linalg.cond(T) > 20:
        return  # P may then be flatter than is looked for
    assert one.rate == pytest.approx(other.rate, rel=1e-3)
    P = inverse.T @ one.P @ inverse
    assert rate_of(T @ A @ inverse, (P + P.T) / 2, "discrete") == pytest.approx(one.rate, rel=1e-5)


def test_a_margin_is_never_above_the_true_one():
    """Rational arithmetic refuses what plain floats would let pass, and float64 rounded outward refuses it too."""
    A = np.array([[0.5, 0.0], [0.0, 0.25]])
    assert verify_certificate([A], np.eye(2), 0.5) <= 0  # r² P - A'PA is singular
    assert verify_certificate([A], np.eye(2), 0.5, exact=True) <= 0
    above = np.nextafter(0.5, 1)
    assert verify_certificate([A], np.eye(2), above, exact=True) > 0  # true, by one unit in the last place
    assert verify_certificate([A], np.eye(2), above) <= 0  # which rounding hides
    assert verify_certificate([A], np.diag([1.0, -1.0]), 0.9) <= 0
    with pytest.raises(ValueError, match="symmetric"):
        verify_certificate([A], np.array([[1.0, 0.1], [0.0, 1.0]]), 0.9)


@given(SEEDS, st.integers(1, 5))
@settings(max_examples=40, deadline=None)
def test_rational_arithmetic_knows_a_growing_product(seed, n):
    A = drawn(seed, n, 2)
    product = A[1] @ A[0] @ A[0]
    radius = np.abs(np.linalg.eigvals(product)).max()
    if abs(radius - 1) > 1e-6:
        assert product_exceeds_one(list(A), (1, 0, 0)) == (radius > 1)


def test_closed_forms_of_two_states():
    A = drawn(1, 2, 500)
    assert np.allclose(spectral_radii(A), np.abs(np.linalg.eigvals(A)).max(axis=1))
    assert np.allclose(spectral_norms(A), np.linalg.norm(A, 2, axis=(1, 2)))


def test_diagonal_systems_and_delta_rules_are_certified_by_the_identity():
    rng = np.random.default_rng(2)
    rates = rng.uniform(0.1, 5, 6)
    found = common_lyapunov([-np.diag(rates)], kind="continuous")
    assert found.status == "CERTIFIED" and found.rate == pytest.approx(rates.min(), rel=1e-5)
    keys = rng.normal(size=(4, 5))
    keys /= np.linalg.norm(keys, axis=1)[:, None]
    decay = rng.uniform(0.8, 0.97, 5)
    step = gated_delta_vertices(decay, keys, 1.5)
    assert verify_certificate(list(step), np.eye(5), 0.97) > 0
    assert judge_switching(step, max_length=4).status == "CERTIFIED"


def test_no_function_is_no_proof_of_growth():
    """Stable by its joint radius, and yet without a common quadratic function: OPEN, not REFUTED."""
    a, b = np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 1.0], [0.0, -1.0]])
    A = 0.95 * np.stack([a, b])  # Ando and Shih: joint radius 1 without the factor, best quadratic rate sqrt 2
    judged = judge_switching(A, max_length=12)
    assert judged.certificate.rate == pytest.approx(0.95 * math.sqrt(2), rel=1e-4)
    assert judged.status == "OPEN" and judged.word == () and judged.radius.lower < 1


def test_a_target_is_shown_or_not():
    A = transpose_pair(0.5, 0.5)
    assert common_lyapunov(A, target=0.9).rate <= 0.9 * (1 + 1e-6)
    assert common_lyapunov(A, target=0.5).rate > 0.8


def test_the_energy_gain_is_that_of_the_transfer_function():
    """For one matrix the bounded real inequality gives the largest gain over frequencies."""
    A, B = drawn(5, 3, 1, 0.8), np.random.default_rng(5).normal(size=(1, 3, 2))
    turns = np.exp(1j * np.linspace(0, math.pi, 4001))
    gains = [np.linalg.norm(np.linalg.solve(z * np.eye(3) - A[0], B[0]), 2) for z in turns]
    found = l2_gain(A, B)
    assert found is not None and max(gains) * (1 - 1e-9) <= found[0] <= max(gains) * 1.001
    assert l2_gain(1.5 * A, B) is None


def test_exponents_of_a_constant_system_are_those_of_its_eigenvalues():
    A = np.array([[0.9, 0.3], [0.0, 0.4]])
    assert lyapunov_exponents(np.stack([A] * 400)) == pytest.approx(np.log([0.9, 0.4]), abs=5e-3)
    quarter = [linalg.expm(M * math.pi / (2 * math.sqrt(10))) for M in quarter_turn_pair()]
    assert 2 * lyapunov_exponents(np.stack(quarter * 100))[0] == pytest.approx(math.log(9.054), abs=0.02)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (np.zeros((2, 3)), "expected real numbers"),
        (np.full((1, 2, 2), np.nan), "NaN or infinity"),
        (np.zeros((1, 65, 65)), r"got 65 states; expected at most 64: the program would take about .* minutes"),
        (np.zeros((1, 2, 2), complex), "complex numbers"),
        (np.array([[["a", "b"], ["c", "d"]]]), "expected real numbers"),
    ],
)
def test_what_is_no_system_is_refused(given, sentence):
    with pytest.raises(ValueError, match=sentence):
        common_lyapunov(given)


def test_both_solvers_pass_the_check():
    A = transpose_pair(0.5, 0.5)
    rates = [common_lyapunov(A, solver=s).rate for s in ("CLARABEL", "SCS")]
    assert rates == pytest.approx([np.linalg.norm(A[0], 2)] * 2, rel=1e-3)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_a_held_flow_composes_and_decays_in_the_norm_of_its_own_lyapunov_matrix(n):
    A = np.random.default_rng(n).standard_normal((n, n))
    A -= (np.linalg.eigvals(A).real.max() + 0.1) * np.eye(n)
    np.testing.assert_allclose(held(A, 0.3) @ held(A, 0.7), held(A, 1.0), rtol=1e-9, atol=1e-12)
    P = lyapunov_matrix(A)
    np.testing.assert_allclose(A.T @ P + P @ A, -np.eye(n), atol=1e-9)
    step = held(A, 0.4)
    assert np.linalg.eigvalsh(P).min() > 0 and np.linalg.eigvalsh(P - step.T @ P @ step).min() > 0
    with pytest.raises(ValueError, match="expected a Hurwitz matrix"):
        lyapunov_matrix(-A)
