"""Orders that several tests draw."""

import numpy as np
from hypothesis import strategies as st


def drawn_orders(seed, n, m, partial=False):
    """(n, m) orders, uniform; some stop early where they may."""
    rng = np.random.default_rng(seed)
    orders = np.argsort(rng.random((n, m)), 1).astype(np.int16)
    if partial:
        orders[np.arange(m) >= rng.integers(1, m + 1, n)[:, None]] = -1
    return orders


PROFILES = st.builds(drawn_orders, st.integers(0, 10**6), st.integers(1, 40), st.integers(2, 9), st.booleans())
WHOLE = st.builds(drawn_orders, st.integers(0, 10**6), st.integers(1, 40), st.integers(2, 8))
