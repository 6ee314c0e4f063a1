import marimo

__generated_with = "0.25.2"
app = marimo.App(
    width="medium",
    app_title="Stability certificates for selective state-space models",
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
    import marimo as mo

    from workbench.faces.marimo import Page

    return Page, mo


@app.cell
def _(Page, controls, mo, preset, seed):
    changed, tell = mo.state(0)
    page = Page("ssm-stability", controls=controls, preset=preset, seed=seed, tell=tell)
    page.title()
    return changed, page


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## The question

    A selective layer chooses its step $\Delta_t$ from its input, so its matrices switch, and matrices that are each stable
    may still grow when switched. Can the state of a trained Mamba ever blow up? Cao, Liu, Chen and Qin (ICML 2026) say no,
    and read a bound off the weights. Below is that bound for a small Mamba that was trained on selective copying, and for
    yours.

    Switch what the certificate rests on. *From weights alone* holds for every input of any length, and lies decades above
    anything that is ever reached. *Given the data* is near, and holds only inside the calibrated maxima. No dot stands above
    its bar in either.
    """)
    return


@app.cell
def _(page):
    certificate = page.dials("grade", "method", "model", "layer", "channel", "state")
    page.shown(certificate)
    return (certificate,)


@app.cell
def _(page):
    attack = page.launcher("attack")
    perturb = page.launcher("perturb")
    retrain = page.launcher("retrain")
    sample_system = page.launcher("sample_system")
    lengths = page.launcher("lengths")
    switch = page.launcher("switch")
    certify = page.launcher("certify")
    judge = page.launcher("judge")
    change = page.dials("change", "size", "length", "rates", "spread", "rate_scale", "step_scale")
    switching = page.dials("system", "time", "first", "second")
    return attack, certify, change, judge, lengths, perturb, retrain, sample_system, switch, switching


@app.cell
def _(
    attack, certificate, certify, change, changed, judge, lengths, page, perturb, retrain, sample_system, switch, switching,
):  # fmt: skip
    here = page.at(
        certificate.value | change.value | switching.value, changed(), attack, perturb, retrain, sample_system, lengths,
        switch, certify, judge,
    )  # fmt: skip
    here.notes()
    return (here,)


@app.cell
def _(here, mo):
    mo.vstack([here.view("channels", height=460), here.view("board", height=260)])
    return


@app.cell
def _(attack, here, mo):
    mo.vstack([attack, here.job("attack"), here.claims("2b", "2c", "5a", "5b"), here.view("worst_first")])
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    Claim 2c fails for good reason. The bound $|h| \le \sup|Bx|/a$ is that of an exact hold. The public code takes
    $\Delta_t B_t x_t$ for the input of a step, which is larger by $\rho(\Delta a) = \Delta a/(1 - e^{-\Delta a})$, and long
    steps break the bound without $\rho$. With it, nothing does.

    ## One system in its own time

    Why is it bounded at all? With an exact hold the scan is *one* linear system, looked at at instants
    $\tau_t = \sum_{s\le t}\Delta_s$ that the input chooses. Over tokens the response is jagged; over $\tau$ every point lies
    on one exponential, however the steps are scaled.
    """)
    return


@app.cell
def _(here, mo, sample_system):
    mo.vstack(
        [
            here.view("time_warp", height=380),
            sample_system,
            here.job("sample_system"),
            here.claims("2a"),
            here.view("decay_map", height=360),
        ]
    )
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## What a small change does

    The paper's bound on the effect of a change has two terms, and one grows linearly with length $L$. As a bound it holds. As
    a description it fails: in a layer that forgets, errors stop growing, and a bound that does not depend on $L$ (ours)
    becomes the smaller one at $L^*$. Set *Decay rates* to $10^{-6}$: there nothing decays, and the linear bound is right.
    """)
    return


@app.cell
def _(change, here, lengths, mo, page, perturb):
    mo.vstack(
        [
            page.shown(change),
            here.view("error_length", height=420),
            here.view("error_terms", height=340),
            lengths,
            here.job("lengths"),
            perturb,
            here.job("perturb"),
            here.claims("3a", "3b", "3c"),
            here.view("reach"),
        ]
    )
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Matrices that do switch

    Where matrices do not share their modes, each may decay and their switching grow. A common quadratic function
    $h^\top P h$ certifies that no switching does; a product of the matrices that grows refutes it; and where neither is found
    the question stays *open*. Enter two matrices.
    """)
    return


@app.cell
def _(certify, here, judge, mo, page, switch, switching):
    mo.vstack(
        [
            page.shown(switching),
            here.view("lab", height=460),
            here.view("matrices", height=380),
            here.view("lab_numbers"),
            judge,
            here.job("judge"),
            here.view("verdict"),
            switch,
            here.job("switch"),
            here.claims("1a", "1b", "4a", "4b"),
            certify,
            here.job("certify"),
            here.view("sizes"),
        ]
    )
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Training one here, and what is not covered

    The model that comes along was trained by `python -m assay.dynamics.state_space.make_mamba`. Others can be trained here
    from other seeds. Your own checkpoint (Mamba, Mamba-2, Falcon Mamba, Jamba; the layout of transformers or the original
    one) goes into *Checkpoint* above.
    """)
    return


@app.cell
def _(here, mo, retrain):
    mo.vstack([retrain, here.job("retrain"), here.view("numbers"), here.view("covered"), here.claims("6")])
    return


if __name__ == "__main__":
    app.run()
