"""A study with every kind of control, view, experiment and claim; faces and bad input are tested on it."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from workbench.study import (
    Above,
    Alias,
    Below,
    Evidence,
    Paper,
    Result,
    Run,
    Stat,
    Study,
    Within,
    exact,
    note,
    numeric,
    statistical,
    timing,
)

study = Study(
    "kitchen-sink",
    paper=Paper("Everything a study can have", "0000.00000", "A. Cook", "Test kitchen 2026"),
    question="Does a wave keep its amplitude?",
    summary="A sine wave, some noise, and one of everything",
)

study.group("Wave", equation=r"y(t) = a \sin(2\pi f t)")
study.number("amplitude", 1.0, bounds=(0.0, 4.0), symbol="a", unit="V", group="Wave", doc="Height of the wave.")
study.number(
    "frequency", 2.0, bounds=(0.1, 50.0), log=True, symbol="f", unit="Hz", group="Wave", doc="Cycles in a second."
)
study.alias(
    "frequency",
    Alias("period", lambda frequency: 1 / frequency, lambda period: 1 / period, "s", "T", "Length of a cycle."),
)
study.integer("points", 200, bounds=(10, 2000), group="Wave", doc="Samples of the wave.")
study.choice(
    "shape", "sine", choices={"sine": "Sine", "square": "Square", "saw": "Saw-tooth"}, group="Wave", doc="Form."
)
study.flag("noisy", False, group="Wave", doc="Add noise to the wave.")

study.group("Pieces")
study.integer("parts", 3, bounds=(1, 6), group="Pieces", doc="How many parts the wave is cut into.")
study.choice("part", choices="part_names", group="Pieces", doc="Which part is looked at.")
study.text("caption", "wave", pattern=r"[a-z ]{1,20}", means="1 to 20 small letters", group="Pieces", doc="Its name.")
study.list("levels", (0.25, 0.5), bounds=(-4, 4), length=(1, 5), group="Pieces", doc="Heights to mark.")
study.matrix("mixing", ((1, 0), (0, 1)), bounds=(-2, 2), rows=(2, 2), columns=(2, 2), group="Pieces", doc="2 × 2 map.")

study.data("recording", samples=("synthetic-low", "synthetic-high"), group="Input", doc="Any file.", needs="a file")
study.checkpoint(
    "weights", "sample:synthetic-low", samples=("synthetic-low",), group="Input", rare=True, doc="Weights."
)
study.integer("steps", 40, bounds=(1, 100_000), effort=True, group="Effort", doc="Steps of the slow job.")
study.number("pause", 0.01, bounds=(0, 5), unit="s", effort=True, group="Effort", doc="Length of a step.")
study.presets(quick={"steps": 5, "pause": 0.0, "seeds": 2}, full={"steps": 2000, "pause": 0.05, "seeds": 5})


@study.prepared
def part_names(parts: int) -> list[str]:
    return [f"part {i + 1}" for i in range(parts)]


@study.prepared
def wave(amplitude: float, frequency: float, points: int, shape: str, noisy: bool, seed: int) -> pd.DataFrame:
    t = np.arange(points) / points
    turns = frequency * t
    y = {"sine": np.sin(2 * np.pi * turns), "square": np.sign(np.sin(2 * np.pi * turns)), "saw": 2 * (turns % 1) - 1}[
        shape
    ]
    y = amplitude * y
    if noisy:
        y = y + np.random.default_rng(seed).normal(0, 0.1, points)
    return pd.DataFrame({"t": t, "y": y})


@study.view("The wave", equation=r"y(t) = a \sin(2\pi f t)", selects={"x": "frequency"})
def curve(wave: pd.DataFrame, amplitude: float, levels: tuple[float, ...]) -> go.Figure:
    """The wave over a second, with the marked heights."""
    figure = go.Figure(go.Scatter(x=wave.t, y=wave.y, name="wave", mode="lines"))
    for level in levels:
        figure.add_hline(y=level, line_dash="dot")
    figure.update_layout(
        title={"text": f"The wave reaches {wave.y.max():.2f} V", "subtitle": {"text": "one second"}},
        xaxis_title="Time (s)", yaxis_title="Voltage (V)",
    )  # fmt: skip
    return figure


@study.view("Uneven")
def uneven(amplitude: float) -> go.Figure:
    """Cheap at one end of the slider and dear at the other: a fast drag must end on the newest value."""
    time.sleep(0.08 if amplitude < 1 else 0.001)
    return go.Figure(
        go.Bar(x=["amplitude"], y=[amplitude]), layout={"title": {"text": f"Amplitude is {amplitude:.2f} V"}}
    )


@study.view("The samples", selects={"t": "frequency"})
def samples(wave: pd.DataFrame) -> pd.DataFrame:
    """Every sample of the wave."""
    return wave


@study.view("A huge table")
def huge(parts: int) -> pd.DataFrame:
    """Fifty thousand rows."""
    n = 50_000
    return pd.DataFrame(
        {"row": np.arange(n), "value": np.linspace(0, parts, n), "name": [f"row {i}" for i in range(n)]}
    )


@study.view("Numbers")
def numbers(wave: pd.DataFrame, recording: Any, mixing: tuple[tuple[float, ...], ...]) -> list[Stat]:
    """The wave in numbers."""
    determinant = mixing[0][0] * mixing[1][1] - mixing[0][1] * mixing[1][0]
    return [
        Stat("largest", float(wave.y.max()), "V"),
        Stat("determinant", determinant),
        Stat("recording", recording.name),
    ]


@study.view("In words")
def words(part: str, caption: str, shape: str) -> str:
    """A sentence."""
    return f"The **{caption}** is a {shape}, and you look at {part}."


@study.view("Amplitude over steps")
def progress(climb: Result | None) -> go.Figure:
    """Points as the slow job gives them."""
    figure = go.Figure(layout={"xaxis": {"title": {"text": "Step"}}, "yaxis": {"title": {"text": "Height (V)"}}})
    if climb is not None:
        rows = climb["heights"]
        figure.add_scatter(x=rows.step, y=rows.height, mode="markers", name="height")
        figure.update_layout(title_text=f"{len(rows)} steps done")
    return figure


@study.experiment(
    "Climb the wave",
    tables={
        "heights": {
            "step": exact("int"), "height": statistical("V"), "took": timing(), "remark": note("What was done.")
        }
    },
    cost={"quick": 0.1, "standard": 0.5, "full": 100},
)  # fmt: skip
def climb(run: Run, wave: pd.DataFrame, steps: int, pause: float) -> None:
    """A slow job with rows that stream, and a file."""
    rng = run.rng("climb")
    for step in run.progress(range(steps), "climbing"):
        started = time.perf_counter()
        time.sleep(pause)
        height = float(wave.y.iloc[step % len(wave)] + rng.normal(0, 0.01))
        run.row("heights", step=step, height=height, took=time.perf_counter() - started, remark=f"step {step}")
    run.file("wave.csv").write_text(wave.to_csv(index=False))


def repeat(run: Run, seed: int) -> dict[str, float]:
    """One repeat of the second stage."""
    return {"seed": seed, "mean": float(run.rng("repeat", seed).normal())}


@study.experiment(
    "Repeat the climb",
    tables={"means": {"seed": exact("int"), "mean": statistical("V")}, "summary": {"highest": numeric("V")}},
    cost={"quick": 0.1, "standard": 0.1, "full": 0.1},
)
def repeats(run: Run, climb: Result, seeds: int) -> dict[str, Any]:
    """A second stage: it takes the climb's result."""
    for outcome in run.map(repeat, list(range(seeds)), "repeats"):
        run.row("means", **outcome)
    return {
        "summary": [{"highest": float(climb["heights"].height.max())}],
        "heights": climb["heights"].height.to_numpy(),
    }


@study.experiment("Fail on purpose", tables={"nothing": {"value": exact("int")}})
def breaks(run: Run, amplitude: float) -> None:
    """A job with a fault."""
    raise RuntimeError(f"the amplitude {amplitude} V broke the glass")


@study.claim(1, "The wave is as high as its amplitude", expects=Below(1e-2, "largest deviation", unit="V", at_least=10))
def as_high(wave: pd.DataFrame, amplitude: float) -> Evidence:
    return Evidence.exact(abs(float(wave.y.abs().max()) - amplitude), n=len(wave))


@study.claim(2, "The climb stays below a volt", expects=Below(0.5, "highest point", unit="V", at_least=2), printed=0.4)
def stays_low(climb: Result) -> Evidence:
    heights = climb["heights"].height
    return Evidence(
        float(heights.max()), (float(heights.max()) - 0.01, float(heights.max()) + 0.01), "seeds", len(heights)
    )


@study.claim(3, "Repeats agree", expects=Within(-0.2, 0.2, "mean", unit="V", at_least=3))
def agree(repeats: Result) -> Evidence:
    means = repeats["means"]["mean"]
    half = float(means.std(ddof=1) / np.sqrt(len(means))) if len(means) > 1 else 1.0
    return Evidence(float(means.mean()), (float(means.mean()) - half, float(means.mean()) + half), "seeds", len(means))


@study.claim(4, "The amplitude matters", expects=Above(0.0, "amplitude", unit="V"))
def matters(amplitude: float) -> Evidence:
    return Evidence(amplitude, (amplitude - 0.1, amplitude + 0.1), "seeds", 3)


study.needs_scale(
    5, "The wave crosses an ocean", reason="Needs an ocean.", command="assay run kitchen-sink --preset full"
)


@study.picture
def sketch(wave: pd.DataFrame) -> str:
    points = " ".join(f"{300 * t:.1f},{56 - 30 * y:.1f}" for t, y in zip(wave.t[::4], wave.y[::4], strict=True))
    return f'<svg viewBox="0 0 300 112"><polyline points="{points}" fill="none" stroke="var(--as-accent)"/></svg>'
