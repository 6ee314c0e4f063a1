import marimo

__generated_with = "0.25.2"
app = marimo.App(
    width="medium",
    app_title="Effective rank of your own checkpoint",
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
    page = Page("effective-rank", controls=controls, preset=preset, seed=seed, tell=tell)
    page.title()
    return changed, page


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## The question

    A language model turns its last hidden state $h$ into logits $W h$. Several papers read the quality of a model off the
    singular values of $W$: a model that uses few directions is said to be starved. Kulkarni and others (ICML 2026) trained
    108 models and say that the relation is there, and that training choices make it: hold batch, weight decay and learning
    rate fixed and it is gone.

    Below are a model that comes along, 134 small models trained for this bench over the same choices, and a place for a
    checkpoint of yours.
    """)
    return


@app.cell
def _(page):
    model = page.dials("model", "other")
    page.shown(model)
    return (model,)


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## A rank that is not the model's

    For any invertible $M$ the logits are $W h = (W M^{-1})(M h)$: the same function, written down in another way. Move the
    gauge. $R(W)$ runs from all directions to almost one, while logits, loss and text stay. Then measure it whitened by the
    states: it stops moving, for that is the rank of the logits' distribution, which the function does have.
    """)
    return


@app.cell
def _(page):
    gauge = page.dials("move", "gauge", "power")
    page.shown(gauge)
    return (gauge,)


@app.cell
def _(page):
    interventions = page.launcher("interventions")
    penalised = page.launcher("penalised")
    analyse = page.launcher("analyse")
    validate = page.launcher("validate")
    retrain = page.launcher("retrain")
    whole_model = page.launcher("whole_model")
    own_statistics = page.launcher("own_statistics")
    own = page.dials("own_runs", "own_metric", "own_outcome", "own_held", "own_group")
    hand = page.dials("kept", "gamma", "spike")
    suite = page.dials("metric", "outcome", "colour", "held")
    return analyse, hand, interventions, own, own_statistics, penalised, retrain, suite, validate, whole_model


@app.cell
def _(
    analyse,
    changed,
    gauge,
    hand,
    interventions,
    model,
    own,
    own_statistics,
    page,
    penalised,
    retrain,
    suite,
    validate,
    whole_model,
):
    here = page.at(
        model.value | gauge.value | hand.value | suite.value | own.value, changed(),
        interventions, penalised, analyse, validate, retrain, whole_model, own_statistics,
    )  # fmt: skip
    here.notes()
    return (here,)


@app.cell
def _(here, mo):
    mo.vstack([here.view("gauge_spectrum", height=420), here.view("unmoved"), here.view("text")])
    return


@app.cell
def _(here, mo):
    mo.vstack([here.view("numbers"), here.view("gauge_table")])
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## What each metric measures

    Cut the small singular values, flatten them all, or raise the largest: every metric answers at once.
    """)
    return


@app.cell
def _(hand, here, mo, page):
    mo.vstack([page.shown(hand), here.view("hand_spectrum", height=320), here.view("hand_metrics"), here.view("sees")])
    return


@app.cell
def _(here, interventions, mo, penalised):
    mo.vstack(
        [
            interventions,
            here.job("interventions"),
            penalised,
            here.job("penalised"),
            here.view("intervened"),
            here.claims("G"),
        ]
    )
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## The suite

    Six sizes in 18 configurations each, an orthogonal array: every level of batch, weight decay, learning rate and last
    rate meets every level of the others equally often. All runs see the same number of tokens.
    """)
    return


@app.cell
def _(here, mo, page, suite):
    mo.vstack([page.shown(suite), here.view("cloud", height=440), here.view("factors", height=440)])
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## With training choices held fixed

    Ranks of metric and loss, less what size and training choices explain of them. The test permutes whole configurations;
    incremental R² is measured on configurations that no fit has seen. Whether these statistics can tell at all is tried on
    tables whose causes are known.
    """)
    return


@app.cell
def _(analyse, here, mo, validate):
    mo.vstack(
        [
            here.view("residuals"),
            analyse,
            here.job("analyse"),
            here.view("statistics"),
            here.claims("1a", "1b", "4a", "4b", "5a", "5b", "6a", "6b"),
            validate,
            here.job("validate"),
            here.view("validation"),
            here.claims("S"),
        ]
    )
    return


@app.cell
def _(here, mo):
    mo.vstack([here.view("agreement", height=520), here.claims("3a", "3b", "3c", "3d", "3e", "7a", "7b")])
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Late in training

    Does a low rank make the loss rise late? Long runs of the smallest model, with blocks in sequence and in parallel, see
    their text many times. They are toys: what they can show is that a low rank is not enough.
    """)
    return


@app.cell
def _(here, mo, retrain):
    mo.vstack(
        [here.view("training", height=440), here.claims("2a", "2b"), retrain, here.job("retrain"), here.view("checked")]
    )
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Your own checkpoint

    Give a folder of Hugging Face, a `.safetensors`, `.gguf`, `.pt` or `.npz` file above. Every matrix of it:
    """)
    return


@app.cell
def _(here, mo, whole_model):
    mo.vstack([whole_model, here.job("whole_model"), here.view("layers"), here.claims()])
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Runs of your own

    A table with a row for each model that you trained: name its columns, and the same statistics are made of it.
    """)
    return


@app.cell
def _(here, mo, own, own_statistics, page):
    mo.vstack([page.shown(own), own_statistics, here.job("own_statistics"), here.view("own_residuals")])
    return


if __name__ == "__main__":
    app.run()
