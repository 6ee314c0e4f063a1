"""The exponential that loops can be vectorised with, against more digits."""

import numba
import numpy as np
import pytest

from assay.kernels.exponential import exp2

EDGES = {np.float32: (-126, 128), np.float64: (-1022, 1024)}


@numba.njit(fastmath={"contract"})
def exponentials(x):
    found = np.empty_like(x)
    for i in range(x.size):
        found[i] = exp2(x[i])
    return found


@pytest.mark.parametrize("real", [np.float32, np.float64])
def test_it_is_within_little_more_than_a_unit_in_the_last_place(real):
    rng = np.random.default_rng(0)
    low, high = EDGES[real]
    x = np.concatenate([rng.uniform(low, high, 200_000), rng.uniform(-2, 2, 200_000), np.arange(low, high)])
    x = x.astype(real)
    x = x[x < high]
    want = np.exp2(x.astype(np.longdouble))
    off = np.abs(exponentials(x).astype(np.longdouble) - want) / np.spacing(want.astype(real))
    assert off.max() < 1.1
    assert off.mean() < 0.3


@pytest.mark.parametrize("real", [np.float32, np.float64])
def test_whole_numbers_are_exact_and_what_is_out_of_range_is_infinite_or_zero(real):
    low, high = EDGES[real]
    whole = np.arange(low, high, dtype=real)
    np.testing.assert_array_equal(exponentials(whole), np.ldexp(real(1), np.arange(low, high)))
    edges = np.array([high, np.inf, low - 1, -1e30, -np.inf, np.nan, -0.0], real)
    np.testing.assert_array_equal(exponentials(edges), np.array([np.inf, np.inf, 0, 0, 0, np.nan, 1], real))
    small = np.linspace(low - 1, low, 100, dtype=real)
    assert np.abs(exponentials(small) - np.exp2(small.astype(np.longdouble))).max() <= np.exp2(real(low - 1))


def test_a_loop_over_it_is_made_of_vector_instructions():
    exponentials(np.zeros(3, np.float32))
    machine = next(code for types, code in exponentials.inspect_asm().items() if "float32" in str(types))
    if "ymm" not in machine and "zmm" not in machine and ".4s" not in machine:
        pytest.fail("no instruction on a vector of float32")
