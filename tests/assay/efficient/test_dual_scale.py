"""SINQ's laws: rows change no code, columns come back, imbalance falls, bounds hold, noise is uniform."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.efficient import (
    BITS,
    Recipe,
    dequantise,
    expected_output_error,
    kurtosis,
    matrix_imbalance,
    quantise_rtn,
    quantise_scaled,
    quantise_sinq,
    sinkhorn_scales,
    weight_error,
)


def drawn(seed, height, width, spread=0.5, dtype=torch.float32):
    rng = torch.Generator().manual_seed(seed)
    weight = 0.02 * torch.randn(height, width, generator=rng, dtype=dtype)
    columns = (spread * torch.randn(width, generator=rng, dtype=dtype)).exp()
    rows = (0.4 * spread * torch.randn(height, 1, generator=rng, dtype=dtype)).exp()
    return weight * columns * rows, columns, rows


sizes = st.tuples(st.integers(2, 80), st.sampled_from([16, 48, 64, 192]))
small = settings(max_examples=40, deadline=None)


@small
@given(st.integers(0, 10**6), sizes, st.sampled_from([2, 3, 4, 8]))
def test_a_row_scale_changes_no_code(seed, size, bits):
    """Powers of two, for which division is exact; a group's own scale takes any other up to rounding."""
    weight, _, _ = drawn(seed, *size)
    recipe = Recipe(bits=bits, group=16)
    row = 2.0 ** torch.randint(-1, 2, (size[0], size[1] // 16), generator=torch.Generator().manual_seed(seed))
    plain, scaled = quantise_scaled(weight, None, None, recipe), quantise_scaled(weight, None, row, recipe)
    assert torch.equal(plain.codes, scaled.codes) and torch.equal(plain.zero, scaled.zero)
    torch.testing.assert_close(dequantise(plain), dequantise(scaled))


@small
@given(st.integers(0, 10**6), sizes, st.sampled_from(BITS), st.sampled_from([0, 1]))
def test_without_an_iteration_it_is_rounding_to_the_nearest(seed, size, bits, iterations):
    weight, _, _ = drawn(seed, *size)
    recipe = Recipe(bits=bits, iterations=iterations)
    found, plain = quantise_sinq(weight, recipe), quantise_rtn(weight, recipe)
    assert torch.equal(found.codes, plain.codes) and torch.equal(found.scale, plain.scale)
    assert bool((found.column == 1).all())


@small
@given(st.integers(0, 10**6), sizes, st.sampled_from(BITS), st.sampled_from(["uniform", "symmetric"]))
def test_no_weight_moves_further_than_its_step(seed, size, bits, levels):
    """Half a step inside; the zero is rounded too, so that the ends may lose a whole one."""
    weight, _, _ = drawn(seed, *size)
    found = quantise_sinq(weight, Recipe(bits=bits, levels=levels))
    step = found.scale.repeat_interleave(found.group, 1) * found.column.repeat_interleave(
        len(weight) // len(found.column), 0
    )
    off = (weight - dequantise(found)).abs() / step
    top = 2**bits - 1
    inside = (found.codes > 0) & (found.codes < top)
    assert float(off.max()) <= 1 + 1e-3
    assert not bool(inside.any()) or float(off[inside].max()) <= 0.5 + 1e-3


@small
@given(st.integers(0, 10**6), st.integers(2, 60), st.sampled_from([16, 32]), st.integers(0, 12), st.booleans())
def test_the_best_imbalance_never_rises_with_iterations(seed, height, width, iterations, stop):
    weight, _, _ = drawn(seed, height, width, 1.0)
    recipe = Recipe(group=width, iterations=iterations, stop=stop)
    found = sinkhorn_scales(weight, recipe)
    scaled = weight / found.columns / found.rows
    least = float(found.trace.min()) if iterations else matrix_imbalance(weight)
    assert matrix_imbalance(scaled) == pytest.approx(least, rel=1e-3)
    more = sinkhorn_scales(weight, Recipe(group=width, iterations=iterations + 3, stop=stop))
    assert float(more.trace.min()) <= least * (1 + 1e-5)


def test_columns_of_a_product_come_back():
    """W = diag(r) G diag(c) with G normal: μ₁ is c up to a factor, and the imbalance is near that of G."""
    weight, columns, rows = drawn(0, 2000, 64)
    found = sinkhorn_scales(weight, Recipe(iterations=64, stop=False))
    ratio = found.columns[0] / columns
    assert float(ratio.std() / ratio.mean()) < 0.08
    plain = matrix_imbalance(weight / columns / rows)
    assert matrix_imbalance(weight) > 4 * plain
    assert matrix_imbalance(weight / found.columns / found.rows) < 1.5 * plain


def test_order_and_size_do_not_matter():
    weight, _, _ = drawn(1, 70, 64)
    found = sinkhorn_scales(weight)
    rows, columns = (torch.randperm(n, generator=torch.Generator().manual_seed(n)) for n in weight.shape)
    moved = sinkhorn_scales(weight[rows][:, columns])
    torch.testing.assert_close(moved.columns, found.columns[:, columns], rtol=1e-4, atol=0)
    torch.testing.assert_close(moved.rows, found.rows[rows], rtol=1e-4, atol=0)
    doubled = quantise_sinq(2 * weight)
    plain = quantise_sinq(weight)
    assert float((doubled.codes != plain.codes).float().mean()) < 1e-2
    torch.testing.assert_close(dequantise(doubled), 2 * dequantise(plain), rtol=1e-2, atol=1e-3)


def test_rounding_is_uniform_noise_at_four_bits():
    rng = torch.Generator().manual_seed(2)
    weight = 0.02 * torch.randn(256, 256, generator=rng) * (0.5 * torch.randn(256, generator=rng)).exp()
    strength = (0.7 * torch.randn(256, generator=rng)).exp()
    x = torch.randn(4000, 256, generator=rng) * strength
    for found in (quantise_sinq(weight), quantise_rtn(weight)):
        measured = float((x.double() @ (dequantise(found) - weight).double().T).square().sum(1).mean())
        assert expected_output_error(found, x.square().mean(0)) == pytest.approx(measured, rel=0.1)


def test_an_outlier_column_loses_its_error_to_no_one():
    """Rounding charges a group for its outlier column; SINQ leaves the other columns of the group precise."""
    rng = torch.Generator().manual_seed(3)
    weight = 0.02 * torch.randn(256, 64, generator=rng)
    weight[:, 5] *= 20
    others = torch.arange(64) != 5
    errors = [(dequantise(found) - weight)[:, others].square().sum() for found in
              (quantise_rtn(weight), quantise_sinq(weight))]  # fmt: skip
    assert float(errors[1]) < 0.1 * float(errors[0])


def test_weights_that_were_codes_before_come_back():
    """Q4_1 has a float step and least value for 32 weights: zeros that are not rounded find its grid again."""
    rng = torch.Generator().manual_seed(7)
    codes = torch.randint(0, 16, (20, 4, 32), generator=rng)
    codes[..., 0], codes[..., 1] = 0, 15
    step, least = 0.01 + 0.01 * torch.rand(2, 20, 4, 1, generator=rng)
    weight = (step * codes - 8 * least).view(20, 128)
    size = float(weight.abs().max())
    exact = dequantise(quantise_rtn(weight, Recipe(group=32, refine=True)))
    assert float((exact - weight).abs().max()) < 1e-5 * size
    rounded = dequantise(quantise_rtn(weight, Recipe(group=32)))
    assert float((rounded - weight).abs().max()) > 1e-2 * size, "a rounded zero moves the grid"
    wider = dequantise(quantise_rtn(weight, Recipe(group=128, refine=True)))
    assert float((wider - weight).abs().max()) > 1e-2 * size


def test_the_gate_and_its_number():
    weight, _, _ = drawn(4, 64, 64, 0.0)
    assert kurtosis(weight) == pytest.approx(3, abs=0.3)
    weight[3, 3] = 2.0
    assert quantise_sinq(weight, Recipe(gate=5.0)).gated and not quantise_sinq(weight).gated
    assert torch.equal(quantise_sinq(weight, Recipe(gate=5.0)).codes, quantise_rtn(weight).codes)


def test_zeros_stay_zeros_and_are_no_trouble():
    weight, _, _ = drawn(5, 40, 64)
    weight[7], weight[:, 9] = 0, 0
    for recipe in (
        Recipe(),
        Recipe(levels="symmetric"),
        Recipe(refine=True),
        Recipe(levels="normal"),
        Recipe(aux=True),
    ):
        made = dequantise(quantise_sinq(weight, recipe))
        assert bool(torch.isfinite(made).all())
        if recipe.levels == "symmetric":
            assert not bool(made[7].any()) and not bool(made[:, 9].any())
    assert weight_error(torch.zeros(2, 16), dequantise(quantise_rtn(torch.zeros(2, 16)))) == 0


@pytest.mark.parametrize(
    ("weight", "settings", "sentence"),
    [
        (torch.zeros(3), {}, r"weight: got torch.float32 of shape \(3,\); expected a matrix"),
        (torch.zeros(3, 16, dtype=torch.int8), {}, "weight: got torch.int8 of shape"),
        (torch.zeros(1, 16), {}, "weight: got 1 row; expected at least 2, for a deviation"),
        (torch.full((2, 16), float("nan")), {}, r"weight: holds nan at \[0, 0\]"),
        (torch.zeros(2, 40), {}, "width: got 40 columns; expected a multiple of 16"),
        (torch.zeros(48, 64), {"tiling": "2d"}, "height: got 48 rows; expected a multiple of 64"),
        (None, {"bits": 7}, "bits: got 7; expected one of 2, 3, 4, 5, 6, 8"),
        (None, {"group": 24}, "group: got 24; expected a power of two"),
        (None, {"clamp": (1.2, 2.0)}, "clamp: got 1.2 to 2.0"),
        (None, {"bits": 2, "levels": "normal"}, "levels: got normal at 2 bits; expected 3 or 4"),
        (None, {"levels": "symmetric", "refine": True}, "refine: got it with symmetric"),
        (None, {"iterations": -1}, "iterations: got -1"),
        (None, {"gate": 0.0}, "gate: got 0.0"),
    ],
)
def test_what_cannot_be_quantised_is_refused(weight, settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        quantise_sinq(torch.zeros(2, 16) if weight is None else weight, Recipe(**settings))


def test_a_width_is_cut_in_groups_that_fit():
    found = quantise_sinq(drawn(6, 8, 576)[0], Recipe(group=256))
    assert found.group == 64 and found.bits_a_weight == pytest.approx(4 + 32 / 64 + 16 / 8)
    aux = Recipe(aux=True).bits_a_weight(4096, 4096)
    assert aux == pytest.approx(4.25 + 1 / 64 + 16 / 4096)
