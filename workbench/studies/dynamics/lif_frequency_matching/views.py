"""What is seen: the filter over the spectrum, the sweep over β, the ladder of baselines, one neuron, and the data."""

# pandas' own types do not tell a column from a table
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false
# pyright: reportReturnType=false, reportOperatorIssue=false, reportIndexIssue=false, reportOptionalSubscript=false
# pyright: reportAssignmentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from assay.data import LabelledSequences, regularity
from assay.dynamics import (
    Accounting,
    Spectrum,
    StoredNeuron,
    frequency_matching_score,
    lif_cutoff,
    lif_response,
    neuron_spectra,
    theoretical_energy,
)
from assay.kernels import lif
from assay.statistics import cluster_mean
from workbench.studies.dynamics.lif_frequency_matching.claims import (
    counts_of,
    draws,
    lowest,
    untrained,
    weights,
    windows,
)
from workbench.studies.dynamics.lif_frequency_matching.controls import RESETS, Matching, cutoff_hz, study
from workbench.studies.dynamics.lif_frequency_matching.experiments import LADDER, SPIKING
from workbench.study import NeedsScale, Result, Stat
from workbench.theme import Figure, axis, drawn, styled


def label(text: str, x: float, y: float, **traits: Any) -> dict[str, Any]:
    """Text beside what it names."""
    return {"text": text, "x": x, "y": y, "showarrow": False, "xanchor": "left", "yanchor": "bottom", **traits}


@study.view(
    "The filter over the data’s class information",
    equation=r"\tilde H(\omega;\beta) = \frac{(1-\beta)^2}{(1-\beta)^2 + 2\beta(1-\cos\omega)}",
    selects={"x": "cutoff"},
)
def overlay(spectrum: Spectrum, matching: Matching, recording: LabelledSequences, beta: float) -> Figure:
    """What the neuron keeps of the frequencies that tell the classes apart."""
    hz, share = spectrum.frequency_hz, 100 * spectrum.di_norm
    kept = share * lif_response(spectrum.omega, beta)
    top = float(np.max(spectrum.band) * 100 if spectrum.band is not None else share.max()) * 1.08
    fine = np.linspace(0, np.pi, 121)
    fine_hz = fine * recording.fs / (2 * np.pi)
    cutoff = cutoff_hz(beta, recording.fs)
    spread = np.ptp(share) / share.mean()
    traces = [
        styled("reference_bars", type="bar", x=hz, y=share, name="information in a frequency bin",
               hovertemplate="%{x:.2f} Hz<br>%{y:.2f} % of the information<extra></extra>"),
        styled("yours_bars", type="bar", x=hz, y=kept, name="what your filter keeps",
               hovertemplate="%{x:.2f} Hz<br>%{y:.2f} % kept<extra></extra>"),
        styled("yours", type="scatter", mode="lines", x=fine_hz, y=lif_response(fine, beta), yaxis="y2",
               name=f"your filter, β = {beta:.3g}", hovertemplate="%{x:.2f} Hz<br>gain %{y:.3f}<extra></extra>"),
        styled("predicted", type="scatter", mode="lines", x=fine_hz, y=lif_response(fine, matching.threshold),
               yaxis="y2", name=f"filter at β† = {matching.threshold:.2f}",
               hovertemplate="%{x:.2f} Hz<br>gain %{y:.3f} at β†<extra></extra>"),
    ]  # fmt: skip
    if spectrum.band is not None:
        low, high = 100 * spectrum.band
        traces[0]["error_y"] = {
            "type": "data", "symmetric": False, "array": high - share, "arrayminus": share - low, "width": 0,
            "thickness": 1,
        }  # fmt: skip
    shapes, notes = [], []
    if np.isfinite(cutoff):
        shapes.append({"type": "line", "name": "cutoff", "x0": cutoff, "x1": cutoff, "y0": 0, "y1": 1, "yref": "paper"})
        right = cutoff < 0.75 * hz[-1]
        notes.append(label(f" cut-off {cutoff:.3g} Hz ", cutoff, 1, yref="paper", yanchor="top",
                           xanchor="left" if right else "right"))  # fmt: skip
    peak = f"most at {hz[np.argmax(share)]:.3g} Hz" if spread > 1.5 else "nearly flat over frequency"
    return drawn(
        traces,
        f"At β = {beta:.3g} the filter keeps {kept.sum():.0f} % of the class information",
        f"{recording.name}, {spectrum.recordings} recordings, {spectrum.samples} windows: {peak}.",
        barmode="overlay",
        bargap=0.25,
        xaxis=axis("Frequency of the signal (Hz)", range=[0, float(hz[-1]) * 1.02]),
        yaxis=axis("Class information (% of all)", range=[0, top]),
        yaxis2=axis("Filter gain (power)", overlaying="y", side="right", range=[0, 1.08], showgrid=False),
        shapes=shapes,
        annotations=notes,
    )


def accuracy_points(rows: pd.DataFrame, by: str) -> pd.DataFrame:
    """Accuracy under each value of a column, with its interval over test recordings where there are several."""
    table, size = windows(rows, by), weights(rows)
    found = []
    for value in table:
        column = table[value].dropna()
        own = size[: len(column)] if len(column) != len(size) else size
        if len(column) < 2:
            found.append({by: value, "accuracy": float(column.mean()), "low": np.nan, "high": np.nan})
            continue
        which = np.repeat(np.arange(len(column)), own)
        interval = cluster_mean(np.repeat(column.to_numpy(), own), which, rng=draws(), resamples=500)
        found.append(
            {by: value, "accuracy": float(interval.estimate), "low": float(interval.low), "high": float(interval.high)}
        )
    return pd.DataFrame(found, columns=[by, "accuracy", "low", "high"])


def whiskers(points: pd.DataFrame, centre: str = "accuracy") -> dict[str, Any]:
    return {
        "type": "data", "symmetric": False, "array": points.high - points[centre],
        "arrayminus": points[centre] - points.low, "width": 0, "thickness": 1.5,
    }  # fmt: skip


def accuracy_title(done: pd.DataFrame, wanted: int, reason: NeedsScale | None, dagger: float) -> str:
    """What the accuracies at hand say, and no more."""
    if len(done) < wanted:
        return f"{len(done)} of {wanted} β trained"
    if reason is not None:
        return "The nets have not learned enough to be compared"
    best = done.loc[done.accuracy.idxmax()]
    rest = done[done.beta != best.beta]
    if len(rest) and not best.low > rest.high.max():
        level = rest[rest.high >= best.low].beta
        also = f", not clearly above {', '.join(f'{b:g}' for b in level)}" if len(level) else ""
        return f"Accuracy is highest at β = {best.beta:g}{also}; β† is {dagger:.2f}"
    return f"Accuracy is highest at β = {best.beta:g}; the rule says to stay below {dagger:.2f}"


@study.view(
    "Accuracy over β, and the score that should predict it",
    tab="Accuracy over β",
    equation=r"\mathrm{FMS}(\beta) = \sum_k \overline{\mathrm{DI}}[k]\,\tilde H(\omega_k;\beta)",
)
def regions(matching: Matching, sweep: Result | None, betas: tuple[float, ...], beta: float, chance: float) -> Figure:
    """The matching score with its elbow β†, where the elbow lies without information, and the trained accuracies."""
    log_tau = -np.log1p(-matching.betas)
    at = lambda b: float(-np.log1p(-b))  # noqa: E731 - the axis is even in log τ
    dagger = matching.threshold
    traces = [
        styled("series_1", type="scatter", mode="lines", x=log_tau, y=matching.score, yaxis="y2", name="matching score",
               customdata=matching.betas, hovertemplate="β %{customdata:.3f}<br>score %{y:.3f}<extra></extra>"),
        styled("null", type="scatter", mode="lines", x=log_tau[[0, -1]], y=matching.score[[0, -1]], yaxis="y2",
               name="chord", hoverinfo="skip"),
    ]  # fmt: skip
    low, high = np.percentile(matching.shuffled, [2.5, 97.5])
    start, end = np.percentile(matching.resampled, [2.5, 97.5])
    shapes = [
        {"type": "rect", "name": "shuffled", "x0": at(low), "x1": at(high), "y0": 0, "y1": 1, "yref": "paper"},
        {"type": "line", "name": "flat", "x0": at(matching.flat), "x1": at(matching.flat), "y0": 0, "y1": 1,
         "yref": "paper"},
        {"type": "line", "name": "dagger", "x0": at(dagger), "x1": at(dagger), "y0": 0, "y1": 1, "yref": "paper"},
    ]  # fmt: skip
    title, subtitle = f"β† is {dagger:.2f}; labels that say nothing give {low:.2f} to {high:.2f}", ""
    rows = sweep["recordings"] if sweep is not None else pd.DataFrame()
    done = pd.DataFrame()
    if len(rows):
        done = accuracy_points(rows, "beta")
        rates = sweep["runs"].groupby("beta")[["rate_1", "rate_2"]].mean() if sweep is not None else pd.DataFrame()
        extra = np.array([rates.loc[b] if b in rates.index else (np.nan, np.nan) for b in done.beta])
        traces.append(
            styled("series_2", type="scatter", mode="lines+markers", x=-np.log1p(-done.beta), y=done.accuracy,
                   error_y=whiskers(done), name="spiking net", customdata=np.column_stack([done.beta, extra]),
                   hovertemplate="β %{customdata[0]:.3f}<br>%{y:.1f} %<br>spikes a step %{customdata[1]:.2f}, "
                                 "%{customdata[2]:.2f}<extra></extra>")
        )  # fmt: skip
        title = accuracy_title(done, len(set(betas)), untrained(lowest(sweep), chance), dagger)
        subtitle = "Test accuracy with its 95 % interval over recordings. "
    waiting = [b for b in betas if not len(done) or b not in set(done.beta)]
    if waiting:
        floor = float(done.low.min()) if len(done) else 0.0
        traces.append(
            styled("pending", type="scatter", mode="markers", x=[at(b) for b in waiting], y=[floor] * len(waiting),
                   name="to be trained", customdata=waiting,
                   hovertemplate="β %{customdata:.3f}<extra>to be trained</extra>")
        )  # fmt: skip
    ticks = [
        b for b in (0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.97, 0.99) if matching.betas[0] <= b <= matching.betas[-1]
    ]
    subtitle += f"Resampled recordings put β† at {start:.2f} to {end:.2f}, a flat spectrum at {matching.flat:.2f}."
    return drawn(
        traces,
        title,
        subtitle,
        xaxis=axis("Membrane decay β (even in log τ)", tickvals=[at(b) for b in ticks],
                   ticktext=[f"{b:g}" for b in ticks]),
        yaxis=axis("Test accuracy (%)", range=None if len(done) else [0, 100]),
        yaxis2=axis("Matching score", overlaying="y", side="right", range=[0, 1.05], showgrid=False),
        shapes=[*shapes, {"type": "line", "name": "yours", "x0": at(beta), "x1": at(beta), "y0": 0, "y1": 1,
                          "yref": "paper"}],
        annotations=[
            label(" β† ", at(dagger), 1, yref="paper", yanchor="top"),
            label(" yours ", at(beta), 0, yref="paper", xanchor="right"),
        ],
    )  # fmt: skip


@study.view("What sets β†: the data or the candidates?", tab="What sets β†")
def what_sets_it(ranges: dict[float, Matching], matching: Matching) -> Figure:
    """β† when the highest candidate is another one, on the data, with shuffled labels, and with a flat spectrum."""
    highest = np.array(list(ranges))
    x = -np.log1p(-highest)
    found = [ranges[float(h)] for h in highest]
    data = np.array([m.threshold for m in found])
    low, high = np.array([np.percentile(m.shuffled, [2.5, 97.5]) for m in found]).T
    moved, distance = float(np.ptp(data)), float(np.abs(data - np.array([np.median(m.shuffled) for m in found])).max())
    traces = [
        styled("null", type="scatter", mode="lines", x=x, y=high, line={"width": 0}, showlegend=False,
               hoverinfo="skip"),
        styled("null", type="scatter", mode="lines", x=x, y=low, fill="tonexty", line={"width": 0},
               name="shuffled labels, 95 %", customdata=highest,
               hovertemplate="highest %{customdata:.3f}<br>from %{y:.3f}<extra>shuffled labels</extra>"),
        styled("null", type="scatter", mode="lines", x=x, y=[m.flat for m in found], name="flat spectrum",
               customdata=highest, hovertemplate="highest %{customdata:.3f}<br>β† %{y:.3f}<extra>flat</extra>"),
        styled("yours", type="scatter", mode="lines+markers", x=x, y=data, name="the data", customdata=highest,
               hovertemplate="highest %{customdata:.3f}<br>β† %{y:.3f}<extra>data</extra>"),
    ]  # fmt: skip
    cause = "the data more than its candidates" if distance > moved else "its candidates more than the data"
    return drawn(
        traces,
        f"The rule follows {cause}",
        f"β† moves by {moved:.2f} with the highest candidate, and by at most {distance:.2f} between data and shuffled "
        "labels.",
        xaxis=axis("Highest candidate β (even in log τ)", tickvals=list(x), ticktext=[f"{h:g}" for h in highest]),
        yaxis=axis("β† that the rule finds"),
    )


@study.view("Accuracy by model at a matched cut-off", tab="Baselines")
def ladder(baselines: Result | None) -> Figure:
    """Every model on the same recordings and seeds, best first."""
    if baselines is None or not len(baselines.tables["recordings"]):
        return drawn([], "Accuracy by model", "Appears when the baselines are trained.",
                      xaxis=axis("Test accuracy (%)", range=[0, 100]), yaxis=axis(""))  # fmt: skip
    points = accuracy_points(baselines["recordings"], "model").sort_values("accuracy")
    mine = points.model == SPIKING
    hover = "%{y}<br>%{x:.1f} %<extra>%{customdata}</extra>"
    traces = [
        styled("reference", type="scatter", mode="markers", x=points[~mine].accuracy, y=points[~mine].model,
               error_x=whiskers(points[~mine]), name="without spikes", marker={"size": 9, "opacity": 1},
               customdata=[LADDER[m] for m in points[~mine].model], hovertemplate=hover),
        styled("yours", type="scatter", mode="markers", x=points[mine].accuracy, y=points[mine].model,
               error_x=whiskers(points[mine]), name="spiking", customdata=[LADDER[SPIKING]] * int(mine.sum()),
               hovertemplate=hover),
    ]  # fmt: skip
    best = points.iloc[-1]
    title = "The spiking net is ahead" if best.model == SPIKING else f"“{best.model}” does as well or better"
    used = baselines["cutoff"].iloc[0] if len(baselines.tables["cutoff"]) else None
    at = (
        ""
        if used is None
        else f" at β = {used.beta:g}" + (f", cut-off {used.hz:.3g} Hz" if np.isfinite(used.hz) else "")
    )
    return drawn(
        traces,
        title,
        f"Test accuracy with its 95 % interval over recordings{at}.",
        xaxis=axis("Test accuracy (%)"),
        yaxis=axis("", categoryorder="array", categoryarray=list(points.model), showgrid=False),
        showlegend=False,
        margin={"l": 170},
    )


@study.view("One neuron: current, membrane and spikes", tab="One neuron")
def neuron(beta: float, threshold: float, reset: str, recording: LabelledSequences) -> Figure:
    """A slow and a fast tone through the neuron."""
    import torch

    steps = np.arange(160)
    slow, fast = 0.02, 0.3
    current = threshold * (0.75 + 0.75 * np.sin(2 * np.pi * slow * steps) + 0.5 * np.sin(2 * np.pi * fast * steps))
    spikes, membrane = lif(torch.from_numpy(current), beta, scale_input=True, threshold=threshold, reset=RESETS[reset])
    t = steps / recording.fs
    fired = np.flatnonzero(spikes.numpy())
    traces = [
        styled("reference", type="scatter", mode="lines", x=t, y=current, name="current"),
        styled("yours", type="scatter", mode="lines", x=t, y=membrane.numpy(), name="membrane"),
        styled("series_2", type="scatter", mode="markers", x=t[fired], y=np.full(len(fired), threshold), name="spikes",
               marker={"symbol": "line-ns-open", "size": 14}),
    ]  # fmt: skip
    return drawn(
        traces,
        f"The neuron fires in {len(fired)} of {len(steps)} steps",
        f"A tone of {slow * recording.fs:.2g} Hz and one of {fast * recording.fs:.2g} Hz, {reset} reset.",
        xaxis=axis("Time (s)"),
        yaxis=axis("Current and membrane (input units)"),
        shapes=[{"type": "line", "name": "flat", "x0": 0, "x1": 1, "xref": "paper", "y0": threshold, "y1": threshold}],
    )


@study.view("What the spikes do to the filter", tab="Spikes")
def spike_spectrum(beta: float, threshold: float, reset: str, recording: LabelledSequences, seed: int) -> Figure:
    """Spectra of current, membrane and spikes of one neuron under noise."""
    rng = np.random.default_rng([seed, 5])
    found = neuron_spectra(
        threshold * (0.75 + 0.5 * rng.normal(size=16_384)), beta, threshold=threshold, reset=RESETS[reset]
    )
    keep = slice(1, None)
    hz = found.omega[keep] * recording.fs / (2 * np.pi)
    level = found.current[keep].mean()

    def decibel(power: np.ndarray) -> np.ndarray:
        return 10 * np.log10(np.maximum(power[keep], 1e-12 * level) / level)

    last = len(hz) // 4
    excess = float(decibel(found.spikes)[-last:].mean() - decibel(found.membrane)[-last:].mean())
    traces = [
        styled("predicted", type="scatter", mode="lines", x=hz, y=10 * np.log10(found.analytic[keep]), name="formula"),
        styled("yours", type="scatter", mode="lines", x=hz, y=decibel(found.membrane), name="membrane"),
        styled("series_2", type="scatter", mode="lines", x=hz, y=decibel(found.spikes), name="spikes"),
    ]
    finding = (
        "Nothing fires"
        if found.rate == 0
        else f"High up, spikes carry {abs(excess):.0f} dB {'more' if excess > 0 else 'less'} than the membrane"
    )
    return drawn(
        traces,
        finding,
        f"White noise as current, {found.rate:.2f} spikes a step, highest quarter of frequencies compared.",
        xaxis=axis("Frequency (Hz)"),
        yaxis=axis("Power over the current’s (dB)"),
    )


@study.view("Measured gain against the formula", tab="Gain")
def measured_gain(gain: Result | None, beta: float, recording: LabelledSequences) -> Figure:
    """Gain of the membrane and of the spikes on single tones, for each reset."""
    omega = np.linspace(0.02, np.pi, 120)
    hz = omega * recording.fs / (2 * np.pi)
    traces = [styled("predicted", type="scatter", mode="lines", x=hz, y=10 * np.log10(lif_response(omega, beta)),
                     name="formula")]  # fmt: skip
    title, said = "Gain of the neuron on tones", "Appears when the gain is measured; the formula is drawn in."
    if gain is not None and len(gain.tables["tones"]):
        tones = gain["tones"]
        for i, (reset, part) in enumerate(tones.groupby("reset", sort=False), start=1):
            shown = part.membrane if reset == "none" else part.spikes
            with np.errstate(divide="ignore"):
                y = 10 * np.log10(shown.where(shown > 0))
            what = "membrane, no reset" if reset == "none" else f"spikes, {reset} reset"
            traces.append(styled(f"series_{i}", type="scatter", mode="markers", x=part.hz, y=y, name=what))
        still = tones[tones.reset == "none"]
        error = float((still.membrane - still.analytic).abs().max())
        title = f"Without spikes the formula is exact to {error:.0e}".replace("-", "−")
        said = "With a reset the spikes follow another curve: they carry the current and the error they make."
    return drawn(traces, title, said, xaxis=axis("Frequency (Hz)"), yaxis=axis("Power gain (dB)"))


@study.view("Operations and energy, layer by layer", tab="Energy")
def energy(baselines: Result | None, prices: Accounting) -> pd.DataFrame | str:
    """What each layer of each model spends on a window, under the accounting that is set."""
    if baselines is None or not len(baselines.tables["operations"]):
        return "Appears when the baselines are trained: operations, firing rates and energy of every layer."
    rows = baselines["operations"]
    rows = rows[rows.seed == rows.seed.min()]
    found, spent = [], {}
    for model, part in rows.groupby("model", sort=False):
        counts = counts_of(model, part)
        priced = theoretical_energy(counts, prices)
        spent[model] = priced.total_uj
        for row, cost in zip(counts.layers, priced.layers, strict=True):
            found.append({
                "model": model, "layer": row.layer, "kind": row.kind, "dense (operations)": round(row.dense),
                "active (operations)": round(row.active), "rate": round(row.rate, 3),
                "compute (µJ)": round(cost.compute_uj, 4), "state (µJ)": round(cost.state_uj, 4),
            })  # fmt: skip
    table = pd.DataFrame(found)
    cheapest = min(spent, key=spent.__getitem__)
    table.attrs["title"] = (
        f"“{cheapest}” needs the least: {spent[cheapest]:.3g} µJ; the spiking net needs {spent[SPIKING]:.3g} µJ"
    )
    table.attrs["subtitle"] = "For one window of the test recordings."
    return table


@study.view("Steps between frames", tab="Clock")
def clock(recording: LabelledSequences) -> Figure:
    """When frames really came: a regular clock would be one bar."""
    if recording.clock is None:
        said = f"{recording.name} holds no times; its rate is {recording.fs:g} Hz."
        return drawn([], "Frames are taken as regular", said,
                      xaxis=axis("Step to the next frame (ms)"), yaxis=axis("Frames (% of all)"))  # fmt: skip
    steps = recording.clock.steps_ms()
    low, middle, high = np.percentile(steps, [5, 50, 95])
    counts, edges = np.histogram(steps, bins=80, range=(0, float(np.percentile(steps, 99.9)) * 1.05 + 1e-9))
    found = regularity(recording.clock)
    traces = [styled("reference_bars", type="bar", x=(edges[:-1] + edges[1:]) / 2, y=100 * counts / max(len(steps), 1),
                     hovertemplate="%{x:.1f} ms<br>%{y:.1f} % of frames<extra></extra>")]  # fmt: skip
    title = "Frames come at a regular rate" if found.regular else "Frames do not come at a regular rate"
    return drawn(
        traces,
        title,
        f"Steps of {low:.3g}, {middle:.3g} and {high:.3g} ms (5, 50, 95 %); {found.rate_hz:.3g} frames/s on average.",
        xaxis=axis("Step to the next frame (ms)"),
        yaxis=axis("Frames (% of all)"),
        bargap=0,
    )


@study.view("What was done about dirty data", tab="Dirty data")
def handled(recording: LabelledSequences) -> pd.DataFrame:
    """Every rule, and how much it met."""
    table = pd.DataFrame(
        [{"rule": h.rule, "what": h.what, "action": h.action, "count": h.count, "of": h.of} for h in recording.handled],
        columns=["rule", "what", "action", "count", "of"],
    )
    dropped = table[table["count"] > 0]
    table.attrs["title"] = (
        f"{len(dropped)} of {len(table)} rules met something" if len(table) else "Nothing had to be mended"
    )
    table.attrs["subtitle"] = " ".join(recording.warnings)
    return table


@study.view("In numbers")
def numbers(recording: LabelledSequences, spectrum: Spectrum, matching: Matching, beta: float) -> list[Stat]:
    """The cut-offs of a neuron and of a stack, and the data."""
    stack = float(lif_cutoff(beta, stages=2, fs=recording.fs))
    one = cutoff_hz(beta, recording.fs)
    score = float(frequency_matching_score(spectrum.di_norm, spectrum.omega, np.array([beta]))[0])
    return [
        Stat("cut-off of a neuron", f"{one:.3g}" if np.isfinite(one) else "none", "Hz" if np.isfinite(one) else ""),
        Stat("of two layers", f"{stack:.3g}" if np.isfinite(stack) else "none", "Hz" if np.isfinite(stack) else ""),
        Stat("matching score", round(score, 3)),
        Stat("β†", round(matching.threshold, 3)),
        Stat("rate", round(recording.fs, 2), "Hz"),
        Stat("windows", len(recording)),
        Stat("recordings", len(np.unique(recording.group))),
        Stat("constant windows left out", spectrum.dropped),
    ]


@study.view("Cut-offs of your net", tab="Your net")
def own_net(layers: tuple[StoredNeuron, ...], matching: Matching, recording: LabelledSequences) -> pd.DataFrame | str:
    """The decays that a net of yours holds, layer by layer, beside β†."""
    if not layers:
        return "Give a state dict (.pt) under “Your own net” to see the cut-offs of its layers beside β†."
    rows = []
    for layer in layers:
        hz = np.array([cutoff_hz(min(float(b), 0.9999), recording.fs) for b in layer.beta])
        rows.append({
            "layer": layer.layer or layer.entry, "read as": layer.convention, "neurons": len(layer.beta),
            "lowest β": round(float(layer.beta.min()), 4), "highest β": round(float(layer.beta.max()), 4),
            "median cut-off (Hz)": round(float(np.nanmedian(hz)), 3) if np.isfinite(hz).any() else float("nan"),
            "past β†": int((layer.beta >= matching.threshold).sum()),
        })  # fmt: skip
    table = pd.DataFrame(rows)
    past = int(table["past β†"].sum())
    table.attrs["title"] = f"{past} of {int(table.neurons.sum())} neurons lie past β† = {matching.threshold:.2f}"
    table.attrs["subtitle"] = f"Cut-offs at {recording.fs:g} steps a second."
    return table


@study.picture
def picture(spectrum: Spectrum, beta: float) -> str:
    """Bars of class information, what the filter keeps of them in cobalt, and the filter."""
    share = spectrum.di_norm / spectrum.di_norm.max()
    kept = share * lif_response(spectrum.omega, beta)
    width = 270 / len(share)
    bars = []
    for i, (whole, part) in enumerate(zip(share, kept, strict=True)):
        x = 15 + i * width
        bars.append(f'<rect x="{x:.1f}" y="{98 - 68 * whole:.1f}" width="{width * 0.7:.1f}" height="{68 * whole:.1f}" '
                    'fill="var(--as-ref-soft, #ccd3d3)"/>')  # fmt: skip
        bars.append(f'<rect x="{x:.1f}" y="{98 - 68 * part:.1f}" width="{width * 0.7:.1f}" height="{68 * part:.1f}" '
                    'fill="var(--as-accent, #2a4bd0)"/>')  # fmt: skip
    omega = np.linspace(0, np.pi, 60)
    curve = " ".join(
        f"{15 + 270 * w / np.pi:.1f},{98 - 84 * g:.1f}" for w, g in zip(omega, lif_response(omega, beta), strict=True)
    )
    line = f'<polyline points="{curve}" fill="none" stroke="var(--as-accent, #2a4bd0)" stroke-width="2"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 300 112">{"".join(bars)}{line}</svg>\n'
