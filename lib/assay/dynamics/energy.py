"""Theoretical energy of a forward pass under a declared accounting.

Source: Yu et al. (2026), arXiv 2605.09983 (E_ANN = N_MAC 4.6 pJ; E_SNN = N_MAC 4.6 pJ + N_SOP 0.9 pJ), with 45 nm
figures of Horowitz (2014), ISSCC: 32-bit float multiply 3.7 pJ, add 0.9 pJ, 64 bits from an 8 KB cache 10 pJ. No
accounting here prices the fetching of weights, which is the larger part on most machines.
"""

from dataclasses import dataclass, fields
from typing import Literal

from assay.dynamics.operations import LayerOperations, OperationCounts


@dataclass(frozen=True)
class Accounting:
    """What is counted, and at which price.

    Attributes:
        mac_pj: a multiply-accumulate, pJ. ac_pj: an addition or comparison, pJ.
        skip_zeros: which networks are spared the multiplications by zero: only ``spiking`` ones, ``all`` or ``none``.
            Spikes skip always: an addition without a spike is no operation.
        normalisation_macs: per element of batch normalisation in a network without spikes; 0 where it is folded into
            the weights.
        activation_acs: per rectified element.
        neuron_macs, neuron_acs: per neuron and step: leak and charge, compare and reset.
        state_pj: a word of state read or written, pJ.
        filter_counts: whether a fixed filter before the network is priced.

    Raises:
        ValueError: a negative or non-finite price, or an unknown ``skip_zeros``.
    """

    mac_pj: float = 4.6
    ac_pj: float = 0.9
    skip_zeros: Literal["spiking", "all", "none"] = "spiking"
    normalisation_macs: float = 0.0
    activation_acs: float = 0.0
    neuron_macs: float = 0.0
    neuron_acs: float = 0.0
    state_pj: float = 0.0
    filter_counts: bool = True

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, float | int) and not 0 <= value < float("inf"):
                raise ValueError(f"{field.name} must be finite and at least 0; got {value:g}.")
        if self.skip_zeros not in ("spiking", "all", "none"):
            raise ValueError(f"skip_zeros must be spiking, all or none; got {self.skip_zeros!r}.")


PAPER = Accounting(normalisation_macs=4.0, filter_counts=False)
"""The paper's tables: networks without spikes pay dense operations, 4 for each element of batch normalisation
included, spiking ones only non-zero positions of their weight layers, and neither pays for neurons or state."""

SYMMETRIC = Accounting(skip_zeros="all", activation_acs=1.0, neuron_macs=1.0, neuron_acs=1.0, state_pj=5.0)
"""The same rule for both: zeros cost nothing anywhere, normalisation folds into the weights, and neurons, rectifiers,
filters and state are paid for."""


@dataclass(frozen=True)
class LayerEnergy:
    """Energy of one layer for one sample, uJ: arithmetic and state."""

    layer: str
    kind: str
    compute_uj: float
    state_uj: float


@dataclass(frozen=True)
class Energy:
    """Energy of a forward pass for one sample, uJ, by layer and in total."""

    layers: tuple[LayerEnergy, ...]

    @property
    def total_uj(self) -> float:
        return sum(row.compute_uj + row.state_uj for row in self.layers)


def theoretical_energy(counts: OperationCounts, accounting: Accounting = PAPER) -> Energy:
    """Price counted operations, uJ a sample.

    Args:
        counts: of :func:`assay.dynamics.operation_counts`.
        accounting: ``PAPER``, ``SYMMETRIC`` or one of your own.
    """
    skip = accounting.skip_zeros == "all" or (accounting.skip_zeros == "spiking" and counts.spiking)
    rows = []
    for row in counts.layers:
        macs, acs = _operations(row, accounting, skip=skip, spiking=counts.spiking)
        compute = macs * accounting.mac_pj + acs * accounting.ac_pj
        counted = row.kind != "filter" or accounting.filter_counts
        state = row.state_words * accounting.state_pj if counted else 0.0
        rows.append(LayerEnergy(row.layer, row.kind, compute * 1e-6, state * 1e-6))
    return Energy(tuple(rows))


def _operations(row: LayerOperations, accounting: Accounting, *, skip: bool, spiking: bool) -> tuple[float, float]:
    """Multiply-accumulates and additions that a layer pays for."""
    if row.kind in ("analog", "recurrent"):
        return (row.active if skip else row.dense), 0.0
    if row.kind == "spike":
        return 0.0, row.active
    if row.kind == "normalisation":
        return (0.0 if spiking else accounting.normalisation_macs * row.dense), 0.0
    if row.kind == "activation":
        return 0.0, accounting.activation_acs * row.dense
    if row.kind == "neuron":
        return accounting.neuron_macs * row.dense, accounting.neuron_acs * row.dense
    return (row.dense if accounting.filter_counts else 0.0), 0.0
