import marimo

__generated_with = "0.25.2"
app = marimo.App(
    width="medium",
    app_title="Match a spiking neuron’s bandwidth to the data",
    html_head_file="../head.html",
)


@app.cell
def parameters():
    controls = {}
    preset = "standard"
    seed = 0
    return controls, preset, seed


@app.cell
def _():
    from pathlib import Path

    import marimo as mo

    from workbench.faces.marimo import Page

    return Page, Path, mo


@app.cell
def _(Page, controls, mo, preset, seed):
    changed, tell = mo.state(0)
    page = Page("lif-frequency-matching", controls=controls, preset=preset, seed=seed, tell=tell)
    page.title()
    return changed, page


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## The question

    A leaky integrate-and-fire neuron forgets: at every step it keeps a share $\beta$ of its membrane. Yu and others
    (ICML 2026) read this as a low-pass filter with one dial. They claim that the right $\beta$ can be read off the data's
    spectrum before anything is trained: keep the frequencies that tell the classes apart, and no more.

    If so, a number computed in a second replaces a sweep of training runs. What follows asks whether it does, on radar
    recordings of people who box, jump and walk, and on whatever you put in their place.
    """)
    return


@app.cell
def _(page):
    data = page.dials("source", "pairs", "signal", "noisy")
    page.shown(data)
    return (data,)


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## The filter

    Below its threshold the neuron obeys $u_{t+1} = \beta u_t + (1-\beta) I_t$, so its power gain is

    $$\tilde H(\omega;\beta) = \frac{(1-\beta)^2}{(1-\beta)^2 + 2\beta(1-\cos\omega)}.$$

    It is 1 at rest, and falls by half at a cut-off that moves down as $\beta$ grows. Move $\beta$: the filter slides over
    what the frequencies of the data are worth.
    """)
    return


@app.cell
def _(page):
    neuron = page.dials("beta", "threshold", "reset")
    page.shown(neuron)
    return (neuron,)


@app.cell
def _(page):
    sweep = page.launcher("sweep")
    baselines = page.launcher("baselines")
    lengths = page.launcher("lengths")
    gain = page.launcher("gain")
    rule = page.dials("lowest", "highest")
    prices = page.dials("accounting")
    return baselines, gain, lengths, prices, rule, sweep


@app.cell
def _(baselines, changed, data, gain, lengths, neuron, page, prices, rule, sweep):
    here = page.at(data.value | neuron.value | rule.value | prices.value, changed(), sweep, baselines, lengths, gain)
    here.notes()
    return (here,)


@app.cell
def _(here, mo):
    mo.vstack([here.readouts("beta"), here.view("overlay", height=440), here.view("numbers")])
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    Once it spikes, the neuron is no longer linear. One neuron on a slow and a fast tone, and what its spikes do to the
    spectrum:
    """)
    return


@app.cell
def _(here):
    here.view("neuron")
    return


@app.cell
def _(here):
    here.view("spike_spectrum")
    return


@app.cell
def _(gain, here, mo):
    mo.vstack([gain, here.job("gain"), here.view("measured_gain"), here.claims("1a", "1b")])
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## The spectrum

    The discriminative spectrum is the variance of magnitude spectra between classes over that within them, bin by bin. The
    paper says that it sits at low to middle frequencies. Labels shuffled by recording say what a spectrum without
    information looks like. Frames of the radar do not come evenly, which the spectrum takes for granted:
    """)
    return


@app.cell
def _(here, mo):
    mo.vstack([here.view("clock", height=320), here.view("handled"), here.claims("2")])
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## The prediction

    The matching score is the share of class information that the filter lets through. It falls with $\beta$; the elbow of
    that fall is $\beta^\dagger$, past which the neuron is said to remember too long. But a score that falls smoothly has an
    elbow whatever the data are. So the rule is asked the same question about a flat spectrum and about shuffled labels, and
    with other highest candidates.
    """)
    return


@app.cell
def _(page, rule):
    page.shown(rule)
    return


@app.cell
def _(here, mo):
    mo.vstack([here.view("what_sets_it"), here.claims("3a")])
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## The sweep

    The prediction is drawn before anything is trained. Then a spiking net is trained at every $\beta$, on recordings that
    no test window comes from; points appear as they are done, with intervals over test recordings.
    """)
    return


@app.cell
def _(here, mo, sweep):
    mo.vstack(
        [
            sweep,
            here.job("sweep"),
            here.view("regions", height=440),
            here.claims("3b", "3c", "3d"),
            here.tables("sweep"),
        ]
    )
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Is it the spikes?

    If a low-pass is what helps, a low-pass in front of an ordinary net should help as much. Every model below sees the
    same frames; several are very simple. The energy table counts multiplications by zero under the accounting of your
    choice.
    """)
    return


@app.cell
def _(baselines, here, mo, page, prices):
    mo.vstack(
        [
            baselines,
            here.job("baselines"),
            here.view("ladder"),
            page.shown(prices),
            here.view("energy"),
            here.claims("4a", "4b", "5a", "5b", "6a", "6b"),
        ]
    )
    return


@app.cell
def _(here, lengths, mo):
    mo.vstack([lengths, here.job("lengths"), here.claims("6c", "6d", "7"), here.tables("lengths")])
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## The claims

    Every claim at the *standard* preset and seed 0, on the radar recordings and on synthetic signals whose classes differ
    at low frequencies only; `assay run lif-frequency-matching --set source=sample:radhar` makes the first column again.
    The nets are small and trained briefly: a verdict is about these nets, not about the paper's.
    """)
    return


@app.cell
def _(Path, page):
    verdicts = Path(__file__).parent / "verdicts"
    page.kept(
        RadHAR=verdicts / "lif_frequency_matching-radhar.json",
        Synthetic=verdicts / "lif_frequency_matching-synthetic_low.json",
    )
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    The same claims under what is set above, with what has been run here:
    """)
    return


@app.cell
def _(here):
    here.claims()
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Your own data

    Give a file under *Recordings* at the top: labelled sequences as `.npz` (`X`, `y`, `fs`, and `group` where windows
    share a recording), `.csv` or `.parquet`, or RadHAR's logs. Everything above follows. A spiking net of your own, as a
    state dict of snnTorch, norse or Soul, shows the cut-offs that it has learned:
    """)
    return


@app.cell
def _(page):
    own = page.dials("net", "fs")
    page.shown(own)
    return (own,)


@app.cell
def _(here, own, page):
    with_net = page.at(own.value, here)
    with_net.view("own_net")
    return


if __name__ == "__main__":
    app.run()
