"""The selective scan on GPUs: Triton, each program walks through a segment of time with a block of channels.

States stay in registers, all those of a channel in one thread (or one thread of each of a few warps). The segments of
a sequence run at once: a first walk finds what each adds to the state by itself, the states between segments are made
of those, and a second walk starts from them. The way back does the same with gradients; within its segment a program
keeps a state every few steps, and walks the chunks between them from the last to the first.
"""

# Triton gives kernels their types, and their launchers take anything.
# ruff: noqa: ANN001, ANN202
# pyright: reportMissingParameterType=false, reportGeneralTypeIssues=false, reportCallIssue=false, reportArgumentType=false

import math

import torch
import triton
import triton.language as tl
from torch import Tensor

__all__ = [
    "backward",
    "backward_kernel",
    "carry_back_kernel",
    "carry_kernel",
    "forward",
    "join_kernel",
    "scan_kernel",
    "tiling",
]

BLOCK = 32  # channels of a program: one for each thread of a warp


@triton.jit
def _place(steps, channels, every, SIZE: tl.constexpr):
    """Channels of a program, whether they exist, its segment's first step and the step after its last, its batch."""
    blocks = tl.cdiv(channels, SIZE)
    d = tl.program_id(0) % blocks * SIZE + tl.arange(0, SIZE)
    first = tl.program_id(1) * every
    return d, d < channels, first, tl.minimum(first + every, steps), (tl.program_id(0) // blocks).to(tl.int64)


@triton.jit
def _table(n, d, states, channels, inside):
    """Offsets within a table (states, channels), and which of them exist."""
    return n[:, None] * channels + d[None, :], (n[:, None] < states) & inside[None, :]


@triton.jit
def _gated(z):
    """The gate's silu, and its derivative."""
    share = 1 / (1 + tl.exp(-z))
    return z * share, share * (1 + z * (1 - share))


@triton.jit
def carry_kernel(
    u, delta, rates, B, kept, times, steps, channels, states, every, SIZE: tl.constexpr, STATES: tl.constexpr
):
    """What a segment adds to the state by itself, and how much time passes in it."""
    d, inside, first, last, b = _place(steps, channels, every, SIZE)
    n = tl.arange(0, STATES)
    at, there = _table(n, d, states, channels, inside)
    rate = tl.load(rates + at, mask=there, other=0.0)
    h = 0 * rate
    time = tl.sum(h, 0)
    for t in range(first, last):
        row = (b * steps + t) * channels + d
        pace = tl.load(delta + row, mask=inside, other=0.0)
        x = tl.load(u + row, mask=inside, other=0.0)
        into = tl.load(B + (b * steps + t) * states + n, mask=n < states, other=0.0)
        h = tl.exp(pace[None, :] * rate) * h + into[:, None] * (pace * x)[None, :]
        time += pace
    segment = b * tl.num_programs(1) + tl.program_id(1)
    tl.store(kept + segment * states * channels + at, h, mask=there)
    tl.store(times + segment * channels + d, time, mask=inside)


@triton.jit
def join_kernel(
    rates, kept, times, end, out, channels, states, segments, BACK: tl.constexpr, SIZE: tl.constexpr,
    STATES: tl.constexpr,
):  # fmt: skip
    """From what segments add by themselves to what each starts with; going back, from the last segment."""
    d, inside, _first, _last, b = _place(1, channels, 1, SIZE)
    n = tl.arange(0, STATES)
    at, there = _table(n, d, states, channels, inside)
    across = d[None, :] * states + n[:, None]  # within (channels, states)
    rate = tl.load(rates + at, mask=there, other=0.0)
    h = tl.load(end + b * channels * states + across, mask=there, other=0.0)
    for i in range(segments):
        segment = b * segments + (segments - 1 - i if BACK else i)
        place = kept + segment * states * channels + at
        own = tl.load(place, mask=there, other=0.0)
        time = tl.load(times + segment * channels + d, mask=inside, other=0.0)
        tl.store(place, h, mask=there)
        h = tl.exp(time[None, :] * rate) * h + own
    tl.store(out + b * channels * states + across, h, mask=there)


@triton.jit
def scan_kernel(
    u, delta, rates, B, C, D, z, kept, y, state, peak, norm, steps, channels, states, every,
    GATED: tl.constexpr, NORMS: tl.constexpr, LARGEST: tl.constexpr, SIZE: tl.constexpr, STATES: tl.constexpr,
):  # fmt: skip
    d, inside, first, last, b = _place(steps, channels, every, SIZE)
    n = tl.arange(0, STATES)
    at, there = _table(n, d, states, channels, inside)
    rate = tl.load(rates + at, mask=there, other=0.0)
    skip = tl.load(D + d, mask=inside, other=0.0)
    segment = b * tl.num_programs(1) + tl.program_id(1)
    h = tl.load(kept + segment * states * channels + at, mask=there, other=0.0)
    top = 0 * rate
    for t in range(first, last):
        row = (b * steps + t) * channels + d
        column = (b * steps + t) * states + n
        pace = tl.load(delta + row, mask=inside, other=0.0)
        x = tl.load(u + row, mask=inside, other=0.0)
        into = tl.load(B + column, mask=n < states, other=0.0)
        out_of = tl.load(C + column, mask=n < states, other=0.0)
        h = tl.exp(pace[None, :] * rate) * h + into[:, None] * (pace * x)[None, :]
        out = tl.sum(out_of[:, None] * h, 0) + skip * x
        if GATED:
            gate, _slope = _gated(tl.load(z + row, mask=inside, other=0.0))
            out *= gate
        tl.store(y + row, out, mask=inside)
        if NORMS:
            size = tl.abs(h)
            top = tl.where((size > top) | (size != size), size, top)
            if LARGEST:
                total = tl.sum(size, 0)  # NaN where a size is; a maximum passes it over
                whole = tl.where(total == total, tl.max(size, 0), total)
            else:
                whole = tl.sqrt(tl.sum(h * h, 0))
            tl.store(norm + row, whole, mask=inside)
    if last == steps:
        tl.store(state + b * channels * states + d[None, :] * states + n[:, None], h, mask=there)
    if NORMS:
        tl.store(peak + segment * states * channels + at, top, mask=there)


@triton.jit
def carry_back_kernel(
    delta, rates, C, z, d_y, carries, times, steps, channels, states, every,
    GATED: tl.constexpr, SIZE: tl.constexpr, STATES: tl.constexpr,
):  # fmt: skip
    """The gradient that a segment's outputs give to the state that it starts with, and how much time passes in it."""
    d, inside, first, last, b = _place(steps, channels, every, SIZE)
    n = tl.arange(0, STATES)
    at, there = _table(n, d, states, channels, inside)
    rate = tl.load(rates + at, mask=there, other=0.0)
    carry = 0 * rate
    time = tl.sum(carry, 0)
    for i in range(last - first):
        t = last - 1 - i
        row = (b * steps + t) * channels + d
        pace = tl.load(delta + row, mask=inside, other=0.0)
        given = tl.load(d_y + row, mask=inside, other=0.0)
        out_of = tl.load(C + (b * steps + t) * states + n, mask=n < states, other=0.0)
        if GATED:
            gate, _slope = _gated(tl.load(z + row, mask=inside, other=0.0))
            given *= gate
        carry = tl.exp(pace[None, :] * rate) * (carry + out_of[:, None] * given[None, :])
        time += pace
    segment = b * tl.num_programs(1) + tl.program_id(1)
    tl.store(carries + segment * states * channels + at, carry, mask=there)
    tl.store(times + segment * channels + d, time, mask=inside)


@triton.jit
def backward_kernel(
    u, delta, rates, B, C, D, z, kept, carries, d_y, d_u, d_delta, d_A, d_B, d_C, d_D, d_z, chunk_starts, chunk_states,
    steps, channels, states, every, chunk,
    GATED: tl.constexpr, SIZE: tl.constexpr, STATES: tl.constexpr,
):  # fmt: skip
    d, inside, first, last, b = _place(steps, channels, every, SIZE)
    n = tl.arange(0, STATES)
    at, there = _table(n, d, states, channels, inside)
    rate = tl.load(rates + at, mask=there, other=0.0)
    skip = tl.load(D + d, mask=inside, other=0.0)
    segment = b * tl.num_programs(1) + tl.program_id(1)
    size = tl.cast(states * channels, tl.int64)
    h = tl.load(kept + segment * size + at, mask=there, other=0.0)
    chunks = (last - first + chunk - 1) // chunk
    starts = chunk_starts + segment * ((every + chunk - 1) // chunk) * size
    within = chunk_states + segment * chunk * size
    for c in range(chunks):
        tl.store(starts + c * size + at, h, mask=there)
        for t in range(first + c * chunk, tl.minimum(first + c * chunk + chunk, last)):
            row = (b * steps + t) * channels + d
            pace = tl.load(delta + row, mask=inside, other=0.0)
            x = tl.load(u + row, mask=inside, other=0.0)
            into = tl.load(B + (b * steps + t) * states + n, mask=n < states, other=0.0)
            h = tl.exp(pace[None, :] * rate) * h + into[:, None] * (pace * x)[None, :]
    carry = tl.load(carries + segment * size + at, mask=there, other=0.0)
    to_rate = 0 * rate
    passed = 0 * skip
    columns = tl.program_id(0).to(tl.int64) * steps  # of sums over a program's channels
    for back in range(chunks):
        c = chunks - 1 - back
        begin = first + c * chunk
        end = tl.minimum(begin + chunk, last)
        h = tl.load(starts + c * size + at, mask=there, other=0.0)
        for t in range(begin, end):
            tl.store(within + (t - begin) * size + at, h, mask=there)
            row = (b * steps + t) * channels + d
            pace = tl.load(delta + row, mask=inside, other=0.0)
            x = tl.load(u + row, mask=inside, other=0.0)
            into = tl.load(B + (b * steps + t) * states + n, mask=n < states, other=0.0)
            h = tl.exp(pace[None, :] * rate) * h + into[:, None] * (pace * x)[None, :]
        for i in range(end - begin):
            t = end - 1 - i
            row = (b * steps + t) * channels + d
            column = (b * steps + t) * states + n
            pace = tl.load(delta + row, mask=inside, other=0.0)
            x = tl.load(u + row, mask=inside, other=0.0)
            given = tl.load(d_y + row, mask=inside, other=0.0)
            into = tl.load(B + column, mask=n < states, other=0.0)
            out_of = tl.load(C + column, mask=n < states, other=0.0)
            decay = tl.exp(pace[None, :] * rate)
            decayed = decay * tl.load(within + (t - begin) * size + at, mask=there, other=0.0)
            h = decayed + into[:, None] * (pace * x)[None, :]
            if GATED:
                gate, slope = _gated(tl.load(z + row, mask=inside, other=0.0))
                straight = tl.sum(out_of[:, None] * h, 0) + skip * x
                tl.store(d_z + row, given * straight * slope, mask=inside)
                given *= gate
            passed += given * x
            tl.store(d_C + (columns + t) * states + n, tl.sum(h * given[None, :], 1), mask=n < states)
            carry += out_of[:, None] * given[None, :]
            tl.store(d_B + (columns + t) * states + n, tl.sum(carry * (pace * x)[None, :], 1), mask=n < states)
            to_drive = tl.sum(carry * into[:, None], 0)
            to_exponent = carry * decayed
            to_rate += to_exponent * pace[None, :]
            tl.store(d_delta + row, tl.sum(to_exponent * rate, 0) + x * to_drive, mask=inside)
            tl.store(d_u + row, given * skip + pace * to_drive, mask=inside)
            carry *= decay
    tl.store(d_A + segment * size + at, to_rate, mask=there)
    tl.store(d_D + segment * channels + d, passed, mask=inside)


def tiling(states: int, back: bool) -> tuple[int, dict[str, int]]:
    """States rounded up to a power of two, and how kernels are compiled: by how many warps share the states, of which
    a thread holds 16, or 8 on the way back where they are shared; and with how many registers to a thread.

    Without a number of registers, the assembler spills a few to fit another program on a multiprocessor.
    """
    padded = 1 << (states - 1).bit_length()
    warps = min(32, max(1, padded // 16) if not back or padded <= 16 else padded // 8)
    return padded, {"num_warps": warps, "maxnreg": min(255, 2048 // warps)}


def forward(
    u: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor, z: Tensor | None, initial: Tensor,
    y: Tensor, state: Tensor, *, every: int, kept: Tensor | None = None, peak: Tensor | None = None,
    norm: Tensor | None = None, largest: bool = False,
) -> None:  # fmt: skip
    """Fill y, the last state and what else is given, from contiguous tensors; as `cpu.forward`, `every` also being
    the steps that a program walks through.
    """
    batch, steps, channels = u.shape
    states = A.shape[1]
    segments = -(-steps // every)
    rates = A.t().contiguous()
    kept = u.new_empty((batch, segments, states, channels)) if kept is None else kept
    padded, options = tiling(states, back=False)
    grid = (-(-channels // BLOCK) * batch, segments)
    shape = {"SIZE": BLOCK, "STATES": padded, **options}
    if segments > 1:
        times = u.new_empty((batch, segments, channels))
        carry_kernel[grid](u, delta, rates, B, kept, times, steps, channels, states, every, **shape)
        join_kernel[grid[:1]](rates, kept, times, initial, state, channels, states, segments, BACK=False, **shape)
    else:
        kept.copy_(initial.transpose(1, 2)[:, None])
    peaks = kept if peak is None else torch.empty_like(kept)
    scan_kernel[grid](
        u, delta, rates, B, C, D, u if z is None else z, kept, y, state, peaks, y if norm is None else norm, steps,
        channels, states, every, GATED=z is not None, NORMS=norm is not None, LARGEST=largest, **shape,
    )  # fmt: skip
    if peak is not None:
        peak.copy_(peaks.amax(1).transpose(1, 2))


def backward(
    u: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor, z: Tensor | None, kept: Tensor, every: int,
    d_y: Tensor, d_state: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor | None, Tensor]:  # fmt: skip
    """Gradients of u, delta, A, B, C, D, z and the first state, all tensors contiguous."""
    batch, steps, channels = u.shape
    states, segments = A.shape[1], kept.shape[1]
    rates = A.t().contiguous()
    padded, options = tiling(states, back=True)
    grid = (-(-channels // BLOCK) * batch, segments)
    shape = {"SIZE": BLOCK, "STATES": padded, **options}
    gated, gate = z is not None, u if z is None else z
    carries, times = torch.empty_like(kept), u.new_empty((batch, segments, channels))
    d_initial = torch.empty_like(d_state)
    carry_back_kernel[grid](
        delta, rates, C, gate, d_y, carries, times, steps, channels, states, every, GATED=gated, **shape
    )
    join_kernel[grid[:1]](rates, carries, times, d_state, d_initial, channels, states, segments, BACK=True, **shape)
    d_u, d_delta = torch.empty_like(u), torch.empty_like(u)
    d_z = None if z is None else torch.empty_like(z)
    d_A, d_D = torch.empty_like(kept), torch.empty_like(times)
    d_B, d_C = (u.new_empty((batch, grid[0] // batch, steps, states)) for _ in range(2))
    every = min(every, steps)
    chunk = math.isqrt(every - 1) + 1  # keeps about as many states between chunks as within one
    backward_kernel[grid](
        u, delta, rates, B, C, D, gate, kept, carries, d_y, d_u, d_delta, d_A, d_B, d_C, d_D,
        u if d_z is None else d_z, kept.new_empty((batch, segments, -(-every // chunk), states, channels)),
        kept.new_empty((batch, segments, chunk, states, channels)), steps, channels, states, every, chunk, GATED=gated,
        **shape,
    )  # fmt: skip
    return d_u, d_delta, d_A.sum((0, 1)).t().contiguous(), d_B.sum(1), d_C.sum(1), d_D.sum((0, 1)), d_z, d_initial
