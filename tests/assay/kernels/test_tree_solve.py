"""Tree solves against dense and sparse solvers, and schedules against Hu's optimum."""

import numpy as np
import pytest
import scipy.sparse
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.back_ends import back_ends
from assay.kernels import dhs_schedule, node_depth, optimal_rounds, round_bound, tree_solve, tree_solve_rounds
from assay.kernels._tree_solve.reference import rounds_reference, tree_solve_reference


def drawn_parent(rng, n, roots=1):
    """Random trees of all kinds: bushy ones, long ones, and whatever lies between."""
    reach = rng.choice([1, 2, 5, n])
    return np.array([-1 if i < roots else rng.integers(max(0, i - reach), i) for i in range(n)], np.int64)


def system(seed, n, cells, roots=1, dtype=torch.float64):
    rng = np.random.default_rng(seed)
    parent = drawn_parent(rng, n, roots)
    a, b = -rng.random((2, n, cells)) - 0.1
    d = 0.5 + rng.random((n, cells))
    for i in range(n):
        if parent[i] >= 0:
            d[i] -= b[i]
            d[parent[i]] -= a[i]
    rhs = rng.normal(size=(n, cells))
    return parent, *(torch.from_numpy(v).to(dtype) for v in (a, b, d, rhs))


def dense(parent, a, b, d):
    m = torch.diag_embed(d.T)
    for i, p in enumerate(parent):
        if p >= 0:
            m[:, p, i], m[:, i, p] = a[i], b[i]
    return m


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(1, 40), st.integers(1, 4), st.booleans())
def test_it_is_the_dense_solution(seed, n, cells, roots, transposed):
    parent, a, b, d, rhs = system(seed, n, cells, min(roots, n))
    matrix = dense(parent, a, b, d)
    want = torch.linalg.solve(matrix.mT if transposed else matrix, rhs.T).T
    up = torch.from_numpy(parent)
    found = tree_solve(a, b, d, rhs, up, transposed=transposed)
    torch.testing.assert_close(found, want, rtol=1e-12, atol=1e-12)
    if not transposed:
        torch.testing.assert_close(tree_solve_reference(a, b, d, rhs, up), found, rtol=1e-13, atol=1e-13)
    for threads in (1, 3, 32):
        schedule = dhs_schedule(parent, threads)
        rounds = tree_solve_rounds(a, b, d, rhs, schedule, transposed=transposed)
        torch.testing.assert_close(rounds, want, rtol=1e-12, atol=1e-12)
        if not transposed:
            torch.testing.assert_close(rounds_reference(a, b, d, rhs, up, schedule), want, rtol=1e-12, atol=1e-12)


def test_a_large_tree_is_what_scipy_solves():
    parent, a, b, d, rhs = system(7, 5000, 1)
    below = np.flatnonzero(parent >= 0)
    n = len(parent)
    rows = np.concatenate([np.arange(n), parent[below], below])
    columns = np.concatenate([np.arange(n), below, parent[below]])
    values = np.concatenate([d[:, 0], a[below, 0], b[below, 0]])
    matrix = scipy.sparse.csc_array((values, (rows, columns)), shape=(n, n))
    want = scipy.sparse.linalg.spsolve(matrix, rhs[:, 0].numpy())
    found = tree_solve(a[:, 0], b[:, 0], d[:, 0], rhs[:, 0], torch.from_numpy(parent))
    np.testing.assert_allclose(found.numpy(), want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shared", [(False, False, False), (True, True, False), (True, True, True)])
@pytest.mark.parametrize("transposed", [False, True])
def test_gradients_are_those_of_the_reference(shared, transposed):
    parent, *values = system(3, 17, 5, 2)
    values = [v[:, 0].clone() if own else v for v, own in zip(values, (*shared, False), strict=True)]
    up = torch.from_numpy(parent)
    weight = torch.randn(17, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found = []
    for ours in (True, False):
        leaves = [v.clone().requires_grad_() for v in values]
        if ours:
            x = tree_solve(*leaves, up, transposed=transposed)
        else:
            a, b, d, rhs = (v if v.dim() == 2 else v[:, None].expand(17, 5) for v in leaves)
            x = tree_solve_reference(b if transposed else a, a if transposed else b, d, rhs, up)
        found.append(torch.autograd.grad((x * weight).sum(), leaves))
    for mine, other in zip(*found, strict=True):
        below = torch.from_numpy(parent >= 0)
        torch.testing.assert_close(mine[below], other[below], rtol=1e-11, atol=1e-12)


def test_it_is_differentiable_to_gradcheck_and_compiles():
    parent, *values = system(5, 6, 2)
    up = torch.from_numpy(parent)
    leaves = [v.requires_grad_() for v in values]
    assert torch.autograd.gradcheck(lambda *v: tree_solve(*v, up), leaves)
    compiled = torch.compile(lambda *v: tree_solve(*v, up) * 2, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(*leaves), 2 * tree_solve(*leaves, up))


def test_threads_change_no_bit_and_float32_has_its_own_accuracy():
    parent, a, b, d, rhs = system(11, 40, 4001)
    up = torch.from_numpy(parent)
    before = torch.get_num_threads()
    try:
        found = []
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            found.append(tree_solve(a, b, d, rhs, up))
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(found[0], one) for one in found[1:])
    single = tree_solve(*(v.float() for v in (a, b, d, rhs)), up)
    torch.testing.assert_close(single.double(), found[0], rtol=2e-5, atol=2e-5)


def test_it_says_which_form_served_and_takes_any_shape_of_cells():
    parent, a, b, d, rhs = system(2, 9, 12)
    up = torch.from_numpy(parent)
    with back_ends() as served:
        whole = tree_solve(a, b, d, rhs, up)
    assert served == {"tree_solve": {"cpu"}}
    shaped = tree_solve(*(v.reshape(9, 3, 4) for v in (a, b, d, rhs)), up)
    assert torch.equal(shaped, whole.reshape(9, 3, 4))
    with back_ends() as served:
        half = tree_solve(*(v.bfloat16() for v in (a, b, d, rhs)), up)
    assert served == {"tree_solve": {"reference"}} and half.dtype == torch.bfloat16


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 80), st.integers(1, 33), st.integers(1, 3))
def test_rounds_are_as_few_as_can_be(seed, n, threads, roots):
    parent = drawn_parent(np.random.default_rng(seed), n, min(roots, n))
    schedule = dhs_schedule(parent, threads)
    assert len(schedule) == optimal_rounds(parent, threads)
    sizes = np.diff(schedule.start)
    assert sizes.sum() == n and sizes.max() <= threads and sizes.min() >= 1
    assert sorted(schedule.order.tolist()) == list(range(n))
    for i, p in enumerate(parent):
        if p >= 0:
            assert schedule.round[i] < schedule.round[p], "a child is done in an earlier round"
    assert (schedule.order[schedule.start[schedule.round] + schedule.lane] == np.arange(n)).all()
    assert schedule.waste == pytest.approx(1 - n / (len(schedule) * threads))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(1, 4))
def test_no_schedule_at_all_has_fewer_rounds(seed, n, threads):
    """By trying every schedule of small trees."""
    parent = drawn_parent(np.random.default_rng(seed), n)
    children = [{i for i in range(n) if parent[i] == p} for p in range(n)]
    frontier, rounds = {frozenset()}, 0
    while not any(len(done) == n for done in frontier):
        following = set()
        for done in frontier:
            ready = [i for i in range(n) if i not in done and children[i] <= done]
            for mask in range(1, 2 ** len(ready)):
                chosen = [r for j, r in enumerate(ready) if mask >> j & 1]
                if len(chosen) == min(threads, len(ready)):
                    following.add(done | set(chosen))
        frontier, rounds = following, rounds + 1
    assert rounds == optimal_rounds(parent, threads)


def test_the_closed_form_at_its_ends():
    rng = np.random.default_rng(0)
    parent = drawn_parent(rng, 300)
    depth = node_depth(parent).max() + 1
    assert optimal_rounds(parent, 1) == 300 and optimal_rounds(parent, 300) == depth
    chain = np.arange(-1, 49)
    assert [optimal_rounds(chain, k) for k in (1, 2, 32)] == [50, 50, 50]
    bound = round_bound(chain, 4)
    assert (bound.rounds, bound.level, bound.beyond) == (50, 50, 0), "the depth alone forces it"
    star = np.array([-1, *[0] * 31])
    assert optimal_rounds(star, 8) == 5 and round_bound(star, 8).level == 1


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"a": torch.zeros(3, dtype=torch.int64)}, "a: got torch.int64; expected a floating-point tensor"),
        ({"d": [1.0]}, "d: got list; expected a floating-point tensor"),
        ({"b": torch.zeros(3, dtype=torch.float32)}, "b: got torch.float32 on cpu; expected torch.float64"),
        ({"d": torch.ones(2, dtype=torch.float64)}, r"d: got shape \(2,\); expected \(3,\) or \(3, 2\)"),
        ({"rhs": torch.ones(4, 2, dtype=torch.float64)}, r"rhs: got shape \(4, 2\); expected \(3, ...\)"),
        ({"parent": torch.tensor([-1, 2, 0])}, "parent: node 1 has parent 2; expected −1 for a root, or a node before"),
        ({"parent": torch.tensor([-1.0, 0, 0])}, "parent: got float32"),
        ({"parent": [-1, 0, 0]}, "parent: got list; expected a tensor of whole numbers"),
        ({"d": torch.zeros(3, dtype=torch.float64)}, "d: elimination met a pivot of 0"),
    ],
)
def test_what_is_no_tree_is_refused(change, sentence):
    given = {
        "a": -torch.ones(3, dtype=torch.float64), "b": -torch.ones(3, dtype=torch.float64),
        "d": 4 * torch.ones(3, dtype=torch.float64), "rhs": torch.ones(3, 2, dtype=torch.float64),
        "parent": torch.tensor([-1, 0, 0]),
    }  # fmt: skip
    with pytest.raises(ValueError, match=sentence):
        tree_solve(**given | change)


def test_a_schedule_needs_a_thread():
    with pytest.raises(ValueError, match="threads: got 0; expected at least 1"):
        dhs_schedule(np.array([-1]), 0)
    with pytest.raises(ValueError, match="threads: got 0"):
        round_bound(np.array([-1]), 0)
