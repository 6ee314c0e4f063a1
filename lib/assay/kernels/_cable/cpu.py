"""Cables over time on processors: Numba, assembly, elimination, update and gates of a step in one walk over the nodes.

A block of cells has its whole state in a cache, so memory sees what is recorded and nothing else; vector instructions
go over cells.
"""

# What Numba compiles has the types of its arguments: float64 and int64 arrays.
# ruff: noqa: ANN001, ANN202
# pyright: reportMissingParameterType=false

import numpy as np

from assay.kernels._cable.problem import Cable, Drive, Synapses
from assay.kernels._cable.rates import gates, rates
from assay.kernels.compiled import compiled
from assay.kernels.exponential import LOG2_E, exp2
from assay.kernels.threads import shared_out

__all__ = ["block_of", "forward", "steady_gates", "steady_synapses"]

CACHED = 2**15  # values of a block's state


def block_of(n: int) -> int:
    """Cells that are walked through together: as many as keep their state in a cache, a multiple of 8."""
    return int(min(64, max(8, CACHED // (6 * max(n, 1)) // 8 * 8)))


@compiled
def _gate_row(v, m, h, n, minus_dt):
    for c in range(v.size):
        m[c], h[c], n[c] = gates(v[c], m[c], h[c], n[c], minus_dt)


@compiled
def _membrane_row(v, m, h, n, base, gl, el, gna, gk, ena, ek, diagonal, right):
    for c in range(v.size):
        na = gna * m[c] * m[c] * m[c] * h[c]
        square = n[c] * n[c]
        k = gk * square * square
        diagonal[c] += base + na + k
        right[c] -= na * (v[c] - ena) + k * (v[c] - ek) + gl * (v[c] - el)


@compiled
def _passive_row(v, base, gl, el, diagonal, right):
    for c in range(v.size):
        diagonal[c] += base
        right[c] -= gl * (v[c] - el)


@compiled
def _eliminate_row(v, above_v, a, b, diagonal, right, above_diagonal, above_right):
    """Axial currents of a branch, then its row is taken off the parent's; the diagonal becomes its inverse."""
    for c in range(v.size):
        gap = above_v[c] - v[c]
        own = right[c] - b * gap
        inverse = 1.0 / diagonal[c]
        f = a * inverse
        above_diagonal[c] -= f * b
        above_right[c] += a * gap - f * own
        right[c] = own
        diagonal[c] = inverse


@compiled
def _substitute_row(v, b, diagonal, right, above_right, again):
    for c in range(v.size):
        x = (right[c] - b * above_right[c]) * diagonal[c]
        right[c] = x
        v[c] += x * again


@compiled
def _root_row(v, diagonal, right, again):
    for c in range(v.size):
        x = right[c] / diagonal[c]
        right[c] = x
        v[c] += x * again


@compiled
def _synapse_row(s, v, g, e, diagonal, right):
    for c in range(v.size):
        y = g * s[c]
        diagonal[c] += y
        right[c] -= y * (v[c] - e)


@compiled
def _gap_row(v, other, g, diagonal, right):
    for c in range(v.size):
        diagonal[c] += g
        right[c] -= g * (v[c] - other[c])


@compiled
def _release_row(s, v, k, minus_dt, threshold, slope):
    for c in range(v.size):
        # 1 − s∞ is made as such: near 1 a difference would lose all of it
        e = exp2(min(max((v[c] - threshold) * (LOG2_E / slope), -1000.0), 1000.0))
        rest = 1.0 / (1.0 + e)
        end = 1.0 - rest
        s[c] = end + (s[c] - end) * exp2(minus_dt * k / max(rest, 1e-12))


@compiled
def _forward(
    parent, a, b, base, gl, el, gna, gk, ena, ek, active, per_area, minus_dt, synapse_dt, again, pre, post, g, e, k,
    threshold, slope, gap_pre, gap_post, gap, nodes, current, v0, gate0, s0, record, out, tape_v, tape_y, tape_s, block,
    first, last,
):  # fmt: skip
    n = parent.size
    for start in range(first, last, block):
        stop = min(last, start + block)
        size = stop - start
        v, diagonal, right = np.empty((n, size)), np.empty((n, size)), np.empty((n, size))
        m, h, w = np.empty((n, size)), np.empty((n, size)), np.empty((n, size))
        s = np.empty((pre.size, size))
        for i in range(n):
            for c in range(size):
                v[i, c] = v0[i, start + c]
                m[i, c], h[i, c], w[i, c] = gate0[0, i, start + c], gate0[1, i, start + c], gate0[2, i, start + c]
        for j in range(pre.size):
            for c in range(size):
                s[j, c] = s0[j, start + c]
        for t in range(current.shape[0] + 1):
            for j in range(record.size):
                for c in range(size):
                    out[t, j, start + c] = v[record[j], c]
            if tape_v.size:
                for i in range(n):
                    for c in range(size):
                        tape_v[t, i, start + c] = v[i, c]
                for j in range(pre.size):
                    for c in range(size):
                        tape_s[t, j, start + c] = s[j, c]
            if tape_y.size:
                for i in range(n):
                    for c in range(size):
                        tape_y[t, 0, i, start + c] = m[i, c]
                        tape_y[t, 1, i, start + c] = h[i, c]
                        tape_y[t, 2, i, start + c] = w[i, c]
            if t == current.shape[0]:
                break
            for i in range(n):
                for c in range(size):
                    diagonal[i, c] = 0.0
                    right[i, c] = 0.0
            for j in range(nodes.size):
                into, put, factor = right[nodes[j]], current[t, j, start:stop], per_area[nodes[j]]
                for c in range(size):
                    into[c] += put[c] * factor
            for j in range(pre.size):
                i = post[j]
                _synapse_row(s[j], v[i], g[j] * per_area[i], e[j], diagonal[i], right[i])
            for j in range(gap_pre.size):
                i = gap_post[j]
                _gap_row(v[i], v[gap_pre[j]], gap[j] * per_area[i], diagonal[i], right[i])
            for i in range(n - 1, -1, -1):
                if active[i]:
                    _membrane_row(
                        v[i], m[i], h[i], w[i], base[i], gl[i], el[i], gna[i], gk[i], ena, ek, diagonal[i], right[i]
                    )
                else:
                    _passive_row(v[i], base[i], gl[i], el[i], diagonal[i], right[i])
                p = parent[i]
                if p >= 0:
                    _eliminate_row(v[i], v[p], a[i], b[i], diagonal[i], right[i], diagonal[p], right[p])
            for i in range(n):
                p = parent[i]
                if p >= 0:
                    _substitute_row(v[i], b[i], diagonal[i], right[i], right[p], again)
                else:
                    _root_row(v[i], diagonal[i], right[i], again)
                if active[i]:
                    _gate_row(v[i], m[i], h[i], w[i], minus_dt)
            for j in range(pre.size):
                _release_row(s[j], v[pre[j]], k[j], synapse_dt, threshold, slope)


@compiled
def _steady(v, out):
    for i in range(v.shape[0]):
        for c in range(v.shape[1]):
            am, bm, ah, bh, an, bn = rates(v[i, c])
            out[0, i, c] = am / (am + bm)
            out[1, i, c] = ah / (ah + bh)
            out[2, i, c] = an / (an + bn)


def steady_gates(v: np.ndarray) -> np.ndarray:
    """(3, n, cells) m, h and n at rest at voltages (n, cells), mV."""
    out = np.empty((3, *v.shape))
    _steady(np.ascontiguousarray(v, float), out)
    return out


def steady_synapses(v: np.ndarray, synapses: Synapses) -> np.ndarray:
    """(s, cells) s∞ at voltages (n, cells), mV."""
    return 1 / (1 + np.exp((synapses.threshold - v[synapses.pre]) / synapses.slope))


def constants(cable: Cable, drive: Drive) -> dict[str, float | np.ndarray]:
    """What a step is made with: diagonal without channels, and times in units of the binary exponential."""
    return {
        "base": cable.capacitance * 1e-3 / (drive.theta * drive.dt) + cable.leak + cable.axial,
        "minus_dt": -drive.dt * cable.quicker * LOG2_E,
        "synapse_dt": -drive.dt * LOG2_E,
        "again": 1 / drive.theta,
    }


def forward(
    cable: Cable, synapses: Synapses, drive: Drive, v0: np.ndarray, gate0: np.ndarray, s0: np.ndarray,
    record: np.ndarray, *, tape: bool, gate_tape: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Voltages (T + 1, records, cells), and where they are asked for tapes of all voltages (T + 1, n, cells), gates
    (T + 1, 3, n, cells) and synapses (T + 1, s, cells); else (0, ...).
    """
    n, cells, rows = len(cable), drive.cells, drive.steps + 1
    out = np.empty((rows, len(record), cells))
    tape_v = np.empty((rows if tape else 0, n, cells))
    tape_y = np.empty((rows if gate_tape else 0, 3, n, cells))
    tape_s = np.empty((rows if tape else 0, len(synapses.pre), cells))
    own = constants(cable, drive)
    given = (
        cable.parent, cable.a, cable.b, own["base"], cable.leak, cable.leak_reversal, cable.sodium, cable.potassium,
        cable.sodium_reversal, cable.potassium_reversal, cable.active, cable.per_area, own["minus_dt"],
        own["synapse_dt"], own["again"], synapses.pre, synapses.post, synapses.conductance, synapses.reversal,
        synapses.rate, synapses.threshold, synapses.slope, synapses.gap_pre, synapses.gap_post, synapses.gap,
        drive.nodes, drive.current, v0, gate0, s0, record, out, tape_v, tape_y, tape_s, block_of(n),
    )  # fmt: skip
    shared_out(n * cells * rows, cells, lambda first, last: _forward(*given, first, last), 8)
    return out, tape_v, tape_y, tape_s
