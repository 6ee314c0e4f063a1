"""2 to the power of x, made of operations that LLVM turns into vector instructions; for code that Numba compiles.

A call of the C library's exponential keeps a loop scalar, and an exponential is most of what a scan computes.
"""

# Numba gives the functions their types.
# ruff: noqa: ANN001, ANN201, ANN202
# pyright: reportMissingParameterType=false

import numpy as np
from numba import types
from numba.extending import overload

__all__ = ["LOG2_E", "exp2"]

LOG2_E = 1.4426950408889634  # e^x = 2^(x log2 e)

# 2^r = 1 + r (c1 + r (c2 + …)) for |r| <= 1/2, the polynomials of least relative error: 2.6e-9 and 1.8e-17
SINGLE = tuple(
    np.float32(c)
    for c in (
        0.69314721496844114067, 0.24022652782812798512, 0.055503105502108342472, 0.0096176929694965408512,
        0.0013406644194478424331, 0.00015594678929936093079,
    )
)  # fmt: skip
DOUBLE = (
    0.69314718055994569676, 0.24022650695910098007, 0.055504108664790394075, 0.0096181291076070020522,
    0.0013333558153440045163, 0.00015403530441572681522, 1.5252727385144704099e-5, 1.3215442674993324784e-6,
    1.0180647669060273733e-7, 7.0725704801966817265e-9, 4.0780719413147489271e-10,
)  # fmt: skip


def exp2(x):
    """2^x of a float32 or float64, within 1.1 units in the last place of the result.

    From 2^128 (2^1024) on it is infinite, as it should be. Results below the smallest normal number, 2^-126 (2^-1022),
    are off by up to half of that, and 0 from its half on. NaN stays NaN.
    """
    raise NotImplementedError("compiled code only")


def _single(x):
    c1, c2, c3, c4, c5, c6 = SINGLE
    x = min(max(x, np.float32(-127)), np.float32(128))
    shifted = x + np.float32(1.5 * 2**23)  # the nearest whole number stands in its last bits
    r = x - (shifted - np.float32(1.5 * 2**23))
    p = np.float32(1) + r * (c1 + r * (c2 + r * (c3 + r * (c4 + r * (c5 + r * c6)))))
    exponent = np.int32(np.float32(shifted).view(np.int32) << np.int32(23))
    return np.int32(np.float32(p).view(np.int32) + exponent).view(np.float32)


def _double(x):
    c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11 = DOUBLE
    x = min(max(x, -1023.0), 1024.0)
    shifted = x + 1.5 * 2**52
    r = x - (shifted - 1.5 * 2**52)
    high = c6 + r * (c7 + r * (c8 + r * (c9 + r * (c10 + r * c11))))
    p = 1.0 + r * (c1 + r * (c2 + r * (c3 + r * (c4 + r * (c5 + r * high)))))
    exponent = np.int64(np.float64(shifted).view(np.int64) << np.int64(52))
    return np.int64(np.float64(p).view(np.int64) + exponent).view(np.float64)


@overload(exp2, jit_options={"error_model": "numpy", "fastmath": {"contract"}, "forceinline": True})
def _(x):
    return {types.float32: _single, types.float64: _double}.get(x)
