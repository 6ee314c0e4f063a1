"""The way back through a cable's steps on processors: Numba, blocks of cells, one transposed solve a step.

With λ = ∂L/∂V after a step and ν = ∂L/∂y of its gates, a step V⁺ = V + ΔV/θ, M(y) ΔV = r(V, y), y⁺ = G(V⁺, y) gives

    λ ← λ + (∂G/∂V)ᵀ ν,   ν ← (∂G/∂y)ᵀ ν,   Mᵀ w = λ/θ,   λ ← λ + (∂r/∂V)ᵀ w,   ν ← ν − w ∂(I at V + ΔV)/∂y.

*Frozen*, as HelioX's public code does it, keeps M at capacitance, leak and axial conductance, and has no gates.
"""

# What Numba compiles has the types of its arguments: float64 and int64 arrays.
# ruff: noqa: ANN001, ANN202
# pyright: reportMissingParameterType=false

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.kernels._cable.cpu import block_of, constants
from assay.kernels._cable.problem import Cable, Drive, Synapses
from assay.kernels._cable.rates import slopes
from assay.kernels.compiled import compiled
from assay.kernels.exponential import LOG2_E, exp2
from assay.kernels.threads import shared_out

__all__ = ["Gradients", "backward"]


@dataclass(frozen=True, eq=False)
class Gradients:
    """Derivatives of a loss; conductances' are summed over cells.

    Attributes:
        current: (T, k, cells) per nA.
        sodium, potassium, leak: (n,) per S/cm²; the first two are (0,) where the tape kept no gates.
        conductance, gap: (s,) and (g,) per µS.
        size: (T, cells) largest |∂L/∂V| of any node before each step, per mV.
        clipped: how many steps of how many cells were clipped.
    """

    current: np.ndarray
    sodium: np.ndarray
    potassium: np.ndarray
    leak: np.ndarray
    conductance: np.ndarray
    gap: np.ndarray
    size: np.ndarray
    clipped: int


@compiled
def _gate_slopes(v, m, h, w, lam, nm, nh, nn, minus_dt):
    for c in range(v.size):
        vm, vh, vn, km, kh, kn = slopes(v[c], m[c], h[c], w[c], minus_dt)
        lam[c] += nm[c] * vm + nh[c] * vh + nn[c] * vn
        nm[c] *= km
        nh[c] *= kh
        nn[c] *= kn


@compiled
def _release_slopes(v, s, lam, ns, k, minus_dt, threshold, slope):
    for c in range(v.size):
        e = exp2(min(max((v[c] - threshold) * (LOG2_E / slope), -1000.0), 1000.0))
        rest = max(1.0 / (1.0 + e), 1e-12)
        end = 1.0 - rest
        kept = exp2(minus_dt * k / rest)
        d_kept = kept * (minus_dt / LOG2_E) * k * end / (rest * slope)
        lam[c] += ns[c] * (end * rest / slope * (1.0 - kept) + (s[c] - end) * d_kept)
        ns[c] *= kept


@compiled
def _backward(
    parent, a, b, base, capacity, gl, el, gna, gk, ena, ek, active, per_area, minus_dt, synapse_dt, again, pre, post,
    g, e, k, threshold, slope, gap_pre, gap_post, gap, nodes, record, given, tape_v, tape_y, tape_s, exact, clip, block,
    d_current, d_na, d_k, d_leak, d_g, d_gap, sizes, clipped, first, last,
):  # fmt: skip
    n, steps = parent.size, d_current.shape[0]
    for start in range(first, last, block):
        stop = min(last, start + block)
        size, own = stop - start, start // block
        lam, w, diagonal, mean = np.zeros((n, size)), np.empty((n, size)), np.empty((n, size)), np.empty((n, size))
        nu, ns = np.zeros((3, n, size)), np.zeros((pre.size, size))
        for t in range(steps - 1, -1, -1):
            for j in range(record.size):
                into = lam[record[j]]
                for c in range(size):
                    into[c] += given[t + 1, j, start + c]
            v0, v1 = tape_v[t, :, start:stop], tape_v[t + 1, :, start:stop]
            for i in range(n):
                if exact and active[i]:
                    y = tape_y[t, :, i, start:stop]
                    _gate_slopes(v1[i], y[0], y[1], y[2], lam[i], nu[0, i], nu[1, i], nu[2, i], minus_dt)
            for j in range(pre.size):
                i = pre[j]
                _release_slopes(v1[i], tape_s[t, j, start:stop], lam[i], ns[j], k[j], synapse_dt, threshold, slope)
            for i in range(n):
                for c in range(size):
                    diagonal[i, c] = base[i]
                    w[i, c] = lam[i, c] * again
                    mean[i, c] = v0[i, c] + (v1[i, c] - v0[i, c]) / again
                if exact and active[i]:
                    y = tape_y[t, :, i, start:stop]
                    for c in range(size):
                        square = y[2, c] * y[2, c]
                        diagonal[i, c] += gna[i] * y[0, c] * y[0, c] * y[0, c] * y[1, c] + gk[i] * square * square
            if exact:
                for j in range(pre.size):
                    i = post[j]
                    for c in range(size):
                        diagonal[i, c] += g[j] * per_area[i] * tape_s[t, j, start + c]
                for j in range(gap_pre.size):
                    i = gap_post[j]
                    for c in range(size):
                        diagonal[i, c] += gap[j] * per_area[i]
            for i in range(n - 1, -1, -1):
                p = parent[i]
                if p >= 0:
                    for c in range(size):
                        inverse = 1.0 / diagonal[i, c]
                        f = b[i] * inverse
                        diagonal[p, c] -= f * a[i]
                        w[p, c] -= f * w[i, c]
                        diagonal[i, c] = inverse
            for i in range(n):
                p = parent[i]
                for c in range(size):
                    w[i, c] = (w[i, c] - a[i] * w[p, c]) * diagonal[i, c] if p >= 0 else w[i, c] / diagonal[i, c]
                    lam[i, c] = lam[i, c] * (1.0 - again) + capacity[i] * w[i, c]
            for j in range(nodes.size):
                i = nodes[j]
                for c in range(size):
                    d_current[t, j, start + c] = w[i, c] * per_area[i]
            for j in range(pre.size):
                i = post[j]
                for c in range(size):
                    s = tape_s[t, j, start + c]
                    pull = w[i, c] * per_area[i] * (mean[i, c] - e[j])
                    ns[j, c] -= g[j] * pull
                    d_g[own, j] -= s * pull
                    if not exact:
                        lam[i, c] -= g[j] * per_area[i] * s * w[i, c]
            for j in range(gap_pre.size):
                i, q = gap_post[j], gap_pre[j]
                for c in range(size):
                    flow = w[i, c] * per_area[i]
                    d_gap[own, j] -= flow * (mean[i, c] - v0[q, c])
                    lam[q, c] += gap[j] * flow
                    if not exact:
                        lam[i, c] -= gap[j] * flow
            for i in range(n):
                for c in range(size):
                    d_leak[own, i] -= w[i, c] * (mean[i, c] - el[i])
                if active[i] and tape_y.size:
                    y = tape_y[t, :, i, start:stop]
                    for c in range(size):
                        m, h, cube = y[0, c], y[1, c], y[2, c] * y[2, c] * y[2, c]
                        to_na, to_k = w[i, c] * (mean[i, c] - ena), w[i, c] * (mean[i, c] - ek)
                        d_na[own, i] -= to_na * m * m * m * h
                        d_k[own, i] -= to_k * cube * y[2, c]
                        if exact:
                            nu[0, i, c] -= to_na * gna[i] * 3.0 * m * m * h
                            nu[1, i, c] -= to_na * gna[i] * m * m * m
                            nu[2, i, c] -= to_k * gk[i] * 4.0 * cube
            for c in range(size):
                largest = 0.0
                for i in range(n):
                    largest = max(largest, abs(lam[i, c]))
                sizes[t, start + c] = largest
                if largest > clip:
                    clipped[own] += 1
                    factor = clip / largest
                    for i in range(n):
                        lam[i, c] *= factor
                        for q in range(3):
                            nu[q, i, c] *= factor
                    for j in range(pre.size):
                        ns[j, c] *= factor


def backward(
    cable: Cable, synapses: Synapses, drive: Drive, tapes: tuple[np.ndarray, np.ndarray, np.ndarray],
    record: np.ndarray, given: np.ndarray, *, exact: bool, clip: float,
) -> Gradients:  # fmt: skip
    """Gradients from ∂L/∂V (T + 1, records, cells) at the nodes `record` and the tapes of a forward pass."""
    n, cells = len(cable), drive.cells
    own = constants(cable, drive)
    block = block_of(n)
    blocks = -(-cells // block)
    d_current = np.empty_like(drive.current)
    sums = [np.zeros((blocks, size)) for size in (n, n, n, len(synapses.pre), len(synapses.gap_pre))]
    sizes, clipped = np.zeros((drive.steps, cells)), np.zeros(blocks, np.int64)
    values = (
        cable.parent, cable.a, cable.b, own["base"], cable.capacitance * 1e-3 / (drive.theta * drive.dt), cable.leak,
        cable.leak_reversal, cable.sodium, cable.potassium, cable.sodium_reversal, cable.potassium_reversal,
        cable.active, cable.per_area, own["minus_dt"], own["synapse_dt"], own["again"], synapses.pre, synapses.post,
        synapses.conductance, synapses.reversal, synapses.rate, synapses.threshold, synapses.slope, synapses.gap_pre,
        synapses.gap_post, synapses.gap, drive.nodes, record, given, *tapes, exact, clip, block, d_current, *sums,
        sizes, clipped,
    )  # fmt: skip
    # whole blocks to a thread, so that sums over cells do not depend on how many there are
    shared_out(
        n * cells * drive.steps, blocks,
        lambda first, last: _backward(*values, first * block, min(cells, last * block)),  # pyright: ignore[reportCallIssue]
    )  # fmt: skip
    d_na, d_k, d_leak, d_g, d_gap = (part.sum(0) for part in sums)
    if not tapes[1].size and cable.active.any():
        d_na, d_k = d_na[:0], d_k[:0]
    return Gradients(d_current, d_na, d_k, d_leak, d_g, d_gap, sizes, int(clipped.sum()))
