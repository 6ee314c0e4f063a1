"""Energies against the printed table and by hand."""

import pytest
import torch

from assay.dynamics import (
    EMAANN,
    PAPER,
    SYMMETRIC,
    Accounting,
    LayerOperations,
    LeNet,
    OperationCounts,
    operation_counts,
    theoretical_energy,
)

SYNAPSES = (
    LayerOperations("first", "analog", 1000, 100, 0.1),
    LayerOperations("norm", "normalisation", 50, 50, 1.0),
    LayerOperations("second", "spike", 2000, 300, 0.15),
    LayerOperations("lif", "neuron", 40, 6, 0.15, 80),
    LayerOperations("relu", "activation", 60, 30, 0.5),
    LayerOperations("prepare", "filter", 20, 20, 1.0, 10),
)
SPIKING = OperationCounts(SYNAPSES, spiking=True, samples=1)
RECTIFIED = OperationCounts(tuple(row for row in SYNAPSES if row.kind != "spike"), spiking=False, samples=1)


def test_dense_lenet_costs_what_is_printed():
    counts = operation_counts(
        LeNet(1, 64, 64, 5, generator=torch.Generator().manual_seed(0)), torch.rand(1, 1, 1, 64, 64)
    )
    energy = theoretical_energy(counts)
    # 53,916,672 multiply-accumulates and 4 operations for each of 166,240 normalised elements, at 4.6 pJ.
    assert energy.total_uj == pytest.approx((53_916_672 + 4 * 166_240) * 4.6e-6)
    assert round(energy.total_uj, 2) == 251.08


@pytest.mark.parametrize(
    ("counts", "accounting", "expected_pj"),
    [
        (SPIKING, PAPER, 100 * 4.6 + 300 * 0.9),
        (RECTIFIED, PAPER, 1000 * 4.6 + 4 * 50 * 4.6),
        (SPIKING, SYMMETRIC, 100 * 4.6 + 300 * 0.9 + 40 * 5.5 + 80 * 5 + 60 * 0.9 + 20 * 4.6 + 10 * 5),
        (RECTIFIED, SYMMETRIC, 100 * 4.6 + 40 * 5.5 + 80 * 5 + 60 * 0.9 + 20 * 4.6 + 10 * 5),
        (SPIKING, Accounting(mac_pj=1, ac_pj=0.1, skip_zeros="none"), 1000 + 30 + 20),
        (RECTIFIED, Accounting(mac_pj=1, ac_pj=0.1, skip_zeros="all"), 100 + 20),
    ],
)
def test_energy_by_hand(counts, accounting, expected_pj):
    energy = theoretical_energy(counts, accounting)
    assert energy.total_uj == pytest.approx(expected_pj * 1e-6)
    assert [row.layer for row in energy.layers] == [row.layer for row in counts.layers]


def test_the_paper_credits_zeros_to_spikes_only():
    x = (torch.rand(3, 8, 6, generator=torch.Generator().manual_seed(0)) < 0.1).float()
    model = EMAANN(6, 3, beta=0.0, generator=torch.Generator().manual_seed(0))
    counts = operation_counts(model, x)
    assert (
        theoretical_energy(counts, PAPER).total_uj
        > 2 * theoretical_energy(counts, Accounting(skip_zeros="all", filter_counts=False)).total_uj
    )


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"mac_pj": -1.0}, "mac_pj must"),
        ({"state_pj": float("nan")}, "state_pj must"),
        ({"skip_zeros": "some"}, "skip_zeros must"),
    ],
)
def test_bad_input_is_named(options, named):
    with pytest.raises(ValueError, match=named):
        Accounting(**options)
