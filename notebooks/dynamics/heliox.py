import marimo

__generated_with = "0.25.2"
app = marimo.App(
    width="medium",
    app_title="Tree-structured solves for detailed neurons",
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
    page = Page("heliox", controls=controls, preset=preset, seed=seed, tell=tell)
    page.title()
    return changed, page


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## The question

    A detailed neuron is a tree of compartments. Each implicit step solves one linear system whose matrix is that tree, and
    Hines' elimination does it without fill-in: children before parents, then back. HelioX (ICML 2026) lets several threads
    share a cell, deepest ready nodes first, and goes back through time with the same solve, transposed.

    Drag $k$ from 1 to 32. The Gantt chart folds until the longest branch stands alone: from there on no thread helps.
    """)
    return


@app.cell
def _(page):
    shape = page.dials("threads", "neuron", "longest", "system")
    page.shown(shape)
    return (shape,)


@app.cell
def _(page):
    membrane = page.dials("sodium", "gna", "potassium", "gk", "gleak", "channels")
    stimulus = page.dials("current", "dt", "scheme", "window", "instant")
    gradient = page.dials("adjoint", "loss", "surrogate", "width", "rate", "target")
    circuit = page.dials("network", "driven", "drive")
    schedules = page.launcher("schedules")
    solvers = page.launcher("solvers")
    gradients = page.launcher("gradients")
    spikes = page.launcher("spikes")
    fit = page.launcher("fit")
    train = page.launcher("train")
    return circuit, fit, gradient, gradients, membrane, schedules, solvers, spikes, stimulus, train


@app.cell
def _(
    changed, circuit, fit, gradient, gradients, membrane, page, schedules, shape, solvers, spikes, stimulus, train,
):  # fmt: skip
    here = page.at(
        shape.value | membrane.value | stimulus.value | gradient.value | circuit.value, changed(), schedules, solvers,
        gradients, spikes, fit, train,
    )  # fmt: skip
    here.notes()
    return (here,)


@app.cell
def _(here, mo):
    mo.vstack([here.view("gantt", height=520), here.view("rounds_over_threads", height=380), here.view("numbers")])
    return


@app.cell
def _(here, mo, schedules):
    mo.vstack([schedules, here.job("schedules"), here.view("neurons"), here.claims("4a", "4b")])
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## The neuron at work

    Hodgkin and Huxley's channels in every compartment, a current into the soma. The steps agree with the NEURON simulator
    to a thousandth of a millivolt, spikes included, on reconstructed neurons as on made ones.
    """)
    return


@app.cell
def _(here, membrane, mo, page, stimulus):
    mo.vstack(
        [
            page.shown(membrane),
            page.shown(stimulus),
            here.view("membrane_at", height=460),
            here.view("traces", height=380),
        ]
    )
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## The way back

    The exact adjoint differentiates the steps as they are. The public code's is *frozen*: the matrix keeps capacitance, leak
    and axial conductance, and gates stand still. Without channels both are the same; with strong sodium the arrow turns.
    """)
    return


@app.cell
def _(gradient, gradients, here, mo, page):
    mo.vstack(
        [
            page.shown(gradient),
            here.view("arrow", height=440),
            here.view("agreement", height=420),
            here.view("growth", height=360),
            here.view("gradient_numbers"),
            gradients,
            here.job("gradients"),
            here.view("over_windows", height=380),
            here.claims("3d", "3e"),
        ]
    )
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## What training reaches

    Three densities start within a factor of 1.5 of the teacher's. A fit is judged at another current too, for several sets
    of densities can fit one trace.
    """)
    return


@app.cell
def _(fit, here, mo):
    mo.vstack([fit, here.job("fit"), here.view("training", height=400), here.view("fits"), here.claims("3f")])
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Speed and memory

    On a processor the gain comes from taking cells side by side: vector instructions go over cells, and a block's state
    stays in a cache. *Orders of magnitude over NEURON* needs a GPU.
    """)
    return


@app.cell
def _(here, mo, solvers):
    mo.vstack(
        [
            solvers,
            here.job("solvers"),
            here.view("throughput", height=420),
            here.view("memory", height=380),
            here.claims("1a", "1b", "1c", "3a"),
        ]
    )
    return


@app.cell
def _(here, mo, spikes):
    mo.vstack([spikes, here.job("spikes"), here.view("spike_free_steps", height=380), here.claims("2a", "2b")])
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## The worm

    The wiring of *C. elegans*, five compartments a neuron, graded synapses and gap junctions. Weights are drawn anew and
    fitted to the voltages that the counted contacts give, then judged on other patterns of currents. Signs of synapses and
    conductances of a contact are assumptions: GABA neurons inhibit, all others excite.
    """)
    return


@app.cell
def _(circuit, here, mo, page, train):
    mo.vstack(
        [
            page.shown(circuit),
            here.view("circuit_now", height=520),
            train,
            here.job("train"),
            here.view("circuit_training", height=380),
            here.view("circuit_traces", height=360),
            here.claims("3b", "3c"),
        ]
    )
    return


if __name__ == "__main__":
    app.run()
