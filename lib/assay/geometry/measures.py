"""All measures of a matrix together, under every gauge, from one reading of it and a second for the partition."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from assay.geometry.isotropy import isoscore_of_variances, mean_pair_cosine
from assay.geometry.matrix_input import Array, Matrix, Progress
from assay.geometry.partition import PartitionIsotropy, partition_isotropies
from assay.geometry.power_law import DecayExponent, TailExponent, decay_exponent, tail_exponent
from assay.geometry.random_matrix import marchenko_pastur_rank
from assay.geometry.row_factor import factor_rows
from assay.geometry.spectral_ranks import (
    effective_rank,
    nuclear_rank,
    numerical_rank,
    participation_ratio,
    rank_at,
    spectral_entropy,
    stable_rank,
)

__all__ = ["MatrixMeasures", "SpectrumMeasures", "measure_matrix", "measure_spectrum"]


@dataclass(frozen=True, eq=False)
class SpectrumMeasures:
    """Measures that depend on singular values alone.

    Attributes:
        singular_values: (r,), descending.
        effective_rank: the paper's, of s. variance_effective_rank: of s^2.
        participation_ratio, stable_rank, nuclear_rank: from 1 to r.
        numerical_rank: singular values above 1e-3 s_1.
        rank_at_90, rank_at_99: how many hold this share of sum s^2.
        spectral_entropy: of s, within [0, 1].
        decay: exponent over ranks; None where there are fewer than 5 values above 0, or zeros in the window.
        tail: exponent of the density of s^2; None where there are fewer than 10 values above 0, or all are equal.
    """

    singular_values: Array
    effective_rank: float
    variance_effective_rank: float
    participation_ratio: float
    stable_rank: float
    nuclear_rank: float
    numerical_rank: int
    rank_at_90: int
    rank_at_99: int
    spectral_entropy: float
    decay: DecayExponent | None
    tail: TailExponent | None


@dataclass(frozen=True, eq=False)
class MatrixMeasures:
    """Measures of a matrix.

    Attributes:
        rows, columns: V and d. Every rank is at most min(V, d).
        zero_rows: rows without a direction: left out of the mean cosine, part of all else.
        spectra: by gauge: `raw` and `centred`; with a gain also `folded` and `centred and folded`; with a covariance of
            the states also `whitened` and `centred and whitened`, which no gauge moves.
        average_cosine: over pairs of rows; None with fewer than two rows that are not zeros.
        partition: isotropy of the partition function.
        isoscore: None with one column, or rows that are all the same.
        mean_share: of |W|_F^2, in the mean row.
        ceiling: the paper's effective rank of a random matrix of this shape.
    """

    rows: int
    columns: int
    zero_rows: int
    spectra: dict[str, SpectrumMeasures]
    average_cosine: float | None
    partition: PartitionIsotropy
    isoscore: float | None
    mean_share: float
    ceiling: float


def measure_spectrum(singular_values: ArrayLike) -> SpectrumMeasures:
    """All measures of (r,) singular values.

    Raises:
        ValueError: values that are negative or not finite, or nothing but zeros.
    """
    rank = effective_rank(singular_values)
    if rank.ndim:
        raise ValueError(f"singular_values: got a spectrum for each of {rank.shape}; expected one, (r,).")
    s = np.sort(np.asarray(singular_values, dtype=np.float64))[::-1]
    positive = int((s > 0).sum())
    return SpectrumMeasures(
        singular_values=s,
        effective_rank=float(rank),
        variance_effective_rank=float(effective_rank(s, power=2)),
        participation_ratio=float(participation_ratio(s)),
        stable_rank=float(stable_rank(s)),
        nuclear_rank=float(nuclear_rank(s)),
        numerical_rank=int(numerical_rank(s)),
        rank_at_90=int(rank_at(s, 0.9)),
        rank_at_99=int(rank_at(s, 0.99)),
        spectral_entropy=float(spectral_entropy(s)),
        decay=decay_exponent(s) if positive == len(s) >= 5 else None,
        tail=tail_exponent(s) if positive >= 10 and s[0] > s[positive - 1] else None,
    )


def measure_matrix(
    matrix: Matrix,
    *,
    gain: ArrayLike | None = None,
    hidden_cov: ArrayLike | None = None,
    progress: Progress | None = None,
) -> MatrixMeasures:
    """All measures of a (V, d) matrix.

    Args:
        matrix: (V, d) array or tensor of any stored float type.
        gain: (d,) of the last norm.
        hidden_cov: (d, d) covariance of the states that the matrix multiplies, as it is stored.
        progress: wraps the blocks of each pass; raising in it stops the work.

    Raises:
        ValueError: no matrix, values that are not finite, nothing but zeros, or a gain or covariance that does not fit.
    """
    factor = factor_rows(matrix, progress=progress)
    gauges = {"raw": {}, "folded": {"gain": gain}, "whitened": {"hidden_cov": hidden_cov}}
    spectra = {}
    for name, arguments in gauges.items():
        if all(value is not None for value in arguments.values()):
            for center in (False, True):
                values = factor.singular_values(center=center, **arguments)
                full = {False: name, True: "centred" if name == "raw" else f"centred and {name}"}[center]
                if values[0] > 0:  # rows that are all the same are nothing but zeros once centred
                    spectra[full] = measure_spectrum(values)
    varied = spectra["centred"].singular_values if "centred" in spectra and factor.columns > 1 else None
    return MatrixMeasures(
        rows=factor.rows,
        columns=factor.columns,
        zero_rows=factor.zero_rows,
        spectra=spectra,
        average_cosine=mean_pair_cosine(factor) if factor.rows - factor.zero_rows > 1 else None,
        partition=partition_isotropies(matrix, factor, progress=progress),
        isoscore=None if varied is None else isoscore_of_variances(factor.variances(varied)),
        mean_share=factor.mean_share,
        ceiling=marchenko_pastur_rank(factor.rows, factor.columns),
    )
