"""Rates of the squid axon's gates as functions of the voltage, for code that Numba compiles.

Hodgkin and Huxley, J. Physiol. 117, 500 (1952), with rest at −65 mV, as the mechanism `hh` of NEURON has them:

    α_m = φ(−(V + 40)/10)        β_m = 4 exp(−(V + 65)/18)
    α_h = 0.07 exp(−(V + 65)/20) β_h = 1 / (1 + exp(−(V + 35)/10))
    α_n = 0.1 φ(−(V + 55)/10)    β_n = 0.125 exp(−(V + 65)/80)        φ(u) = u / (e^u − 1), 1/ms

Six exponentials are two here: exp(−V/20) and exp(−V/10) are the fourth and eighth power of exp(−V/80).
"""

# Numba gives the functions their types.
# ruff: noqa: ANN001, ANN202
# pyright: reportMissingParameterType=false

import math

from assay.kernels.compiled import fused
from assay.kernels.exponential import LOG2_E, exp2

__all__ = ["gates", "rates", "slopes"]

NEAR = 1e-3  # |u| below which φ and its slope are taken from their series
M, H = math.exp(-4.0), math.exp(-3.5)
N = math.exp(-5.5)
BM, AH, BN = 4 * math.exp(-65 / 18), 0.07 * math.exp(-65 / 20), 0.125 * math.exp(-65 / 80)


@fused
def _phi(u, e):
    """u / (e − 1) for e = e^u, by its series near 0."""
    near = abs(u) < NEAR
    series = 1.0 - u * (0.5 - u * (1.0 / 12.0 - u * u / 720.0))
    return series if near else u / ((e - 1.0) if not near else 1.0)


@fused
def _phi_slope(u, e):
    near = abs(u) < NEAR
    series = -0.5 + u * (1.0 / 6.0 - u * u / 180.0)
    below = (e - 1.0) if not near else 1.0
    return series if near else (below - u * e) / (below * below)


@fused
def rates(v):
    """α and β of m, h and n, in 1/ms, at a voltage in mV."""
    v = min(max(v, -200.0), 200.0)  # so that no rate overflows; far outside what a membrane reaches
    e80 = exp2(v * (-LOG2_E / 80.0))
    e40 = e80 * e80
    e20 = e40 * e40
    e10 = e20 * e20
    e18 = exp2(v * (-LOG2_E / 18.0))
    am = _phi((v + 40.0) * -0.1, e10 * M)
    an = 0.1 * _phi((v + 55.0) * -0.1, e10 * N)
    return am, BM * e18, AH * e20, 1.0 / (1.0 + e10 * H), an, BN * e80


@fused
def gates(v, m, h, n, minus_dt):
    """Gates after a step at a held voltage: y∞ + (y − y∞) exp(−dt/τ); `minus_dt` is −dt q log2 e, in ms.

    α + β and α / (α + β) are six quotients; they are made with one division, of the product of all denominators.
    """
    v = min(max(v, -200.0), 200.0)
    e80 = exp2(v * (-LOG2_E / 80.0))
    e40 = e80 * e80
    e20 = e40 * e40
    e10 = e20 * e20
    um, un = (v + 40.0) * -0.1, (v + 55.0) * -0.1
    near_m, near_n = abs(um) < NEAR, abs(un) < NEAR
    # α = top / below, the series where u is near 0
    top_m = 1.0 - um * (0.5 - um * (1.0 / 12.0 - um * um / 720.0)) if near_m else um
    top_n = 1.0 - un * (0.5 - un * (1.0 / 12.0 - un * un / 720.0)) if near_n else un
    below_m = 1.0 if near_m else e10 * M - 1.0
    below_n = 10.0 if near_n else (e10 * N - 1.0) * 10.0
    below_h = 1.0 + e10 * H
    top_h = AH * e20 * below_h
    all_m = top_m + BM * exp2(v * (-LOG2_E / 18.0)) * below_m
    all_n = top_n + BN * e80 * below_n
    all_h = top_h + 1.0
    mm, hh, nn = below_m * all_m, below_h * all_h, below_n * all_n
    mh = mm * hh
    inverse = 1.0 / (mh * nn)
    of_n = inverse * mh
    of_mh = inverse * nn
    of_m, of_h = of_mh * hh, of_mh * mm
    m1, h1, n1 = top_m * below_m * of_m, top_h * below_h * of_h, top_n * below_n * of_n
    return (
        m1 + (m - m1) * exp2(all_m * all_m * of_m * minus_dt),
        h1 + (h - h1) * exp2(all_h * all_h * of_h * minus_dt),
        n1 + (n - n1) * exp2(all_n * all_n * of_n * minus_dt),
    )


@fused
def _slope(y, alpha, beta, d_alpha, d_beta, minus_dt):
    """How a gate after a step depends on the voltage, and on itself before it."""
    total = alpha + beta
    end = alpha / total
    kept = exp2(total * minus_dt)
    d_end = (d_alpha * beta - alpha * d_beta) / (total * total)
    return d_end * (1.0 - kept) + (y - end) * kept * (minus_dt / LOG2_E) * (d_alpha + d_beta), kept


@fused
def slopes(v, m, h, n, minus_dt):
    """∂y⁺/∂V and ∂y⁺/∂y of the three gates, where y⁺ is `gates` of the same arguments."""
    am, bm, ah, bh, an, bn = rates(v)
    e10 = exp2(v * (-LOG2_E / 10.0))
    dam = -0.1 * _phi_slope((v + 40.0) * -0.1, e10 * M)
    dan = -0.01 * _phi_slope((v + 55.0) * -0.1, e10 * N)
    vm, km = _slope(m, am, bm, dam, -bm / 18.0, minus_dt)
    vh, kh = _slope(h, ah, bh, -ah / 20.0, 0.1 * bh * (1.0 - bh), minus_dt)
    vn, kn = _slope(n, an, bn, dan, -bn / 80.0, minus_dt)
    return vm, vh, vn, km, kh, kn
