"""Sufficient statistics of amplitude spectra: all that a discriminative spectrum, its bootstrap and its null need to
know.

A *cell* is what one recording holds of one class. Counts, sums and sums of squares of the amplitudes per cell give
every class mean and variance under any re-weighting of recordings or relabelling of cells, so a resample never
touches the samples again.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Window = Literal["none", "hann"]

_BLOCK_BYTES = 32 * 2**20


@dataclass(frozen=True, eq=False)
class AmplitudeStatistics:
    """Amplitudes |A_i[k]| of N samples, S series and M frequencies, summed over the cells.

    Attributes:
        count: (cells,) samples in the cell.
        total: (cells, S, M) sum of amplitude - ``centre``; the centre keeps the variances from cancelling.
        square: (cells, S, M) sum of (amplitude - ``centre``)^2.
        centre: (S, M).
        label: (cells,) class number. recording: (cells,) recording number.
        classes: number of classes K, those without a kept sample included.
    """

    count: Array
    total: Array
    square: Array
    centre: Array
    label: NDArray[np.intp]
    recording: NDArray[np.intp]
    classes: int

    def scatter(self, weight: Array | None = None, label: NDArray[np.intp] | None = None) -> tuple[Array, Array]:
        """Between- and within-class variance of the amplitudes for each resample.

        S_B = sum_c pi_c (mu_c - mubar)^2 and S_W = sum_c pi_c Var_c with the biased variance (divided by n_c), so
        that S_B + S_W is the biased total variance.

        Args:
            weight: (B, cells) multiplicity of each cell, or none for (1, cells) of ones.
            label: (B, cells) class number of each cell, or none for the true ones.

        Returns:
            S_B and S_W, each (B, S, M); a class without weight counts nothing.
        """
        resamples = next((len(given) for given in (weight, label) if given is not None), 1)
        n, first, second = (
            self._class_sums(values, resamples, weight, label)
            for values in (
                self.count,
                self.total.reshape(len(self.count), -1),
                self.square.reshape(len(self.count), -1),
            )
        )
        share = n / n.sum(axis=1, keepdims=True)
        mean = first / np.maximum(n, 1)
        grand = np.einsum("bck,bcm->bm", share, mean)[:, None]
        between = np.einsum("bck,bcm->bm", share, (mean - grand) ** 2)
        within = np.einsum("bck,bcm->bm", share, np.maximum(second / np.maximum(n, 1) - mean**2, 0.0))
        shape = (resamples, *self.centre.shape)
        return between.reshape(shape), within.reshape(shape)

    def _class_sums(self, values: Array, resamples: int, weight: Array | None, label: NDArray[np.intp] | None) -> Array:
        """(B, K, columns): the sum of ``values`` over the cells of each class."""
        values = values.reshape(len(values), -1)
        out = np.zeros((resamples, self.classes, values.shape[1]))
        for c in range(self.classes):
            if label is None:
                cells = self.label == c
                rows = np.ones((1, cells.sum())) if weight is None else weight[:, cells]
                out[:, c] = rows @ values[cells]
            else:
                member = (label == c).astype(np.float64)
                out[:, c] = (member if weight is None else member * weight) @ values
        return out


def sum_amplitudes(
    series: NDArray[Any],
    label: NDArray[np.intp],
    recording: NDArray[np.intp],
    classes: int,
    *,
    drop_dc: bool,
    window: Window,
) -> AmplitudeStatistics:
    """Sum the one-sided DFT magnitudes |sum_t s[t] e^(-j omega_k t)| over cells, in blocks of bounded size.

    Args:
        series: (N, S, L).
        label, recording: (N,) class and recording number of each sample.
        classes: number of classes.
        drop_dc: remove each series' mean and leave out k = 0.
        window: taper before the transform; ``hann`` is the periodic one.

    Returns:
        the statistics over M = floor(L/2) frequencies, one more with the DC term.
    """
    N, S, L = series.shape
    taper = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(L) / L) if window == "hann" else None
    order = np.lexsort((label, recording))
    starts = np.flatnonzero(np.r_[True, (np.diff(recording[order]) != 0) | (np.diff(label[order]) != 0)])
    cell_of = np.repeat(np.arange(len(starts)), np.diff(np.r_[starts, N]))
    M = L // 2 + (0 if drop_dc else 1)
    total, square = np.zeros((2, len(starts), S, M))
    centre: Array | None = None
    block = max(1, _BLOCK_BYTES // (S * L * 8))
    for begin in range(0, N, block):
        rows = order[begin : begin + block]
        chunk = series[rows].astype(np.float64)
        if drop_dc:
            chunk -= chunk.mean(axis=2, keepdims=True)
        if taper is not None:
            chunk *= taper
        amplitude = np.abs(np.fft.rfft(chunk, axis=2))[:, :, L // 2 + 1 - M :]
        if centre is None:
            centre = amplitude.mean(axis=0)
        amplitude -= centre
        cells = cell_of[begin : begin + block]
        firsts = np.flatnonzero(np.r_[True, np.diff(cells) != 0])
        total[cells[firsts]] += np.add.reduceat(amplitude, firsts, axis=0)
        np.square(amplitude, out=amplitude)
        square[cells[firsts]] += np.add.reduceat(amplitude, firsts, axis=0)
    assert centre is not None
    count = np.bincount(cell_of).astype(np.float64)
    return AmplitudeStatistics(count, total, square, centre, label[order][starts], recording[order][starts], classes)
