"""The packed product: against the reference in float64, over bits, groups, codebooks, inputs and bad input."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.back_ends import back_ends
from assay.kernels import pack_bits, packed_product
from assay.kernels._packed_product.layout import BITS
from assay.kernels._packed_product.reference import packed_product_reference


def drawn(seed, bits, height, groups, group, inputs):
    rng = torch.Generator().manual_seed(seed)
    codes = torch.randint(0, 2**bits, (height, groups * group), generator=rng)
    scale, zero = torch.rand(2, height, groups, generator=rng).unbind()
    return torch.randn(inputs, groups * group, generator=rng), pack_bits(codes, bits), scale, 2**bits * zero


@settings(max_examples=80, deadline=None)
@given(
    st.integers(0, 10**6), st.sampled_from(BITS), st.integers(1, 40), st.integers(1, 4),
    st.sampled_from([8, 16, 24, 64]),
    st.sampled_from([0, 1, 2, 4, 5, 9]), st.booleans(),
)  # fmt: skip
def test_it_is_the_product_with_unpacked_weights(seed, bits, height, groups, group, inputs, codebook):
    given_ = drawn(seed, bits, height, groups, group, inputs)
    levels = torch.randn(2**bits, generator=torch.Generator().manual_seed(seed)) if codebook else None
    found = packed_product(*given_, bits=bits, levels=levels)
    want = packed_product_reference(given_[0].double(), *given_[1:], levels, bits)
    assert found.shape == (inputs, height)
    size = max(1.0, float(want.abs().max())) if inputs else 1.0
    torch.testing.assert_close(found.double(), want, rtol=0, atol=2e-5 * size)


def test_threads_and_half_precision_scales_and_which_form_served():
    x, packed, scale, zero = drawn(1, 4, 600, 8, 64, 1)
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            with back_ends() as served:
                found.append(packed_product(x, packed, scale, zero, bits=4))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(*found) and served == {"packed_product": {"cpu"}}
    half = packed_product(x, packed, scale.half(), zero.half(), bits=4)
    torch.testing.assert_close(half, found[0], rtol=1e-2, atol=float(found[0].abs().max()) * 2e-3)
    with back_ends() as served:
        packed_product(x.double(), packed, scale, zero, bits=4)
    assert served == {"packed_product": {"reference"}}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"x": torch.zeros(16)}, r"x: got torch.float32 of shape \(16,\); expected floats \(B, D\)"),
        ({"x": torch.zeros(1, 16, dtype=torch.int64)}, "x: got torch.int64"),
        ({"packed": torch.zeros(3, 7, dtype=torch.uint8)}, r"packed: got .* expected uint8, \(H, 8\) for 16 columns"),
        ({"scale": torch.ones(3, 3)}, r"scale: got shape \(3, 3\); expected \(3, groups of 16\)"),
        ({"zero": torch.ones(2, 1)}, r"zero: got shape \(2, 1\)"),
        ({"zero": torch.ones(3, 2)}, r"zero: got shape \(3, 2\); expected \(3, 1\), as the scales"),
        ({"scale": torch.ones(3, 4), "zero": torch.ones(3, 4)}, "scale: got groups of 4; expected a multiple of 8"),
        ({"levels": torch.ones(3)}, r"levels: got shape \(3,\); expected \(16,\)"),
        ({"bits": 7}, "bits: got 7"),
    ],
)
def test_what_does_not_fit_is_refused(change, sentence):
    given_ = {"x": torch.zeros(1, 16), "packed": torch.zeros(3, 8, dtype=torch.uint8), "scale": torch.ones(3, 1),
              "zero": torch.ones(3, 1), "bits": 4} | change  # fmt: skip
    with pytest.raises(ValueError, match=sentence):
        packed_product(**given_)
