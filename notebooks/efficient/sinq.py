import marimo

__generated_with = "0.25.2"
app = marimo.App(
    width="medium",
    app_title="Dual-scale quantisation of your own model",
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
    page = Page("sinq", controls=controls, preset=preset, seed=seed, tell=tell)
    page.title()
    return changed, page


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## The question

    Weights of few bits are codes with a scale for every group of a row. One wide column then coarsens the grid of all its
    neighbours. SINQ (Müller and others, ICML 2026) adds a second scale along columns, and finds it without any data: rows
    and columns of a tile are scaled in turns until their standard deviations agree, as Sinkhorn balances a table.

    $$\hat W = s_1 \odot (q - z) \odot s_2$$

    Choose *made-columns* as the model and move $k$ from 0. The spreads on the margins flatten, and the error that filled
    the whole tile goes into the few columns that cause it. Then switch the error to *weighted by activations*: after a few
    iterations the error of weights rises again, and that of outputs does not.
    """)
    return


@app.cell
def _(page):
    tile = page.dials("model", "layer", "tile", "requantise", "bits", "group", "levels", "iterations", "stop", "weigh")
    page.shown(tile)
    return (tile,)


@app.cell
def _(page):
    survey = page.launcher("survey")
    quality = page.launcher("quality")
    checks = page.launcher("checks")
    times = page.launcher("times")
    pack = page.launcher("pack")
    return checks, pack, quality, survey, times


@app.cell
def _(changed, checks, pack, page, quality, survey, tile, times):
    here = page.at(tile.value, changed(), survey, quality, checks, times, pack)
    here.notes()
    return (here,)


@app.cell
def _(here, mo):
    mo.vstack([here.view("before_and_after", height=520), here.view("numbers")])
    return


@app.cell
def _(here, mo):
    mo.vstack([here.view("over_iterations", height=400), here.view("by_column", height=400)])
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## What really changes

    Multiplying a row by a positive number changes no code, for the row's own scale takes it up. So the row scales of the
    iteration matter only through the column scales that are found with them: SINQ is round-to-nearest of
    $W\,\mathrm{diag}(1/\mu)$. If rounding is uniform noise, the error of an output is

    $$E\|\Delta W x\|^2 \approx \tfrac{1}{12} \sum s_1^2 \sum_j \mu_j^2\, E[x_j^2],$$

    small where columns with large inputs have small scales. The paper says that they do. Do they in this model?
    """)
    return


@app.cell
def _(here, mo, survey):
    mo.vstack(
        [
            here.view("scales_and_activations", height=380),
            survey,
            here.job("survey"),
            here.view("over_depth", height=380),
            here.view("ranking", height=420),
            here.claims("2a", "2b"),
        ]
    )
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Does lower imbalance mean lower error?

    The iteration lowers the imbalance, the largest deviation over the smallest. Whether the error follows is another
    question.
    """)
    return


@app.cell
def _(here, mo):
    mo.vstack([here.view("imbalance_and_error", height=420), here.claims("5")])
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## On text

    Perplexity on text that the model has not seen, in windows that follow each other, with intervals over blocks of text.
    For an encoder it is how often a sentence keeps its nearest neighbour. A model whose weights were 4-bit codes before
    cannot say what a second scale does to floats; the next lines say whether that is so.
    """)
    return


@app.cell
def _(here, mo, quality):
    mo.vstack(
        [
            here.view("quantised_before"),
            quality,
            here.job("quality"),
            here.view("pareto", height=440),
            here.view("gaps"),
            here.claims("1a", "1b", "1c", "1d", "1e", "4a", "4b", "6"),
        ]
    )
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## What it costs

    A column scale is one multiplication of the input before the product, or none: it can be absorbed into the norm before a
    layer, or into the rows of the matrix before it, and the float model stays the same.
    """)
    return


@app.cell
def _(checks, here, mo, times):
    mo.vstack(
        [
            checks,
            here.job("checks"),
            times,
            here.job("times"),
            here.view("costs"),
            here.claims("3a", "3b", "3c", "3d", "7"),
        ]
    )
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Your own model

    Give a folder of Hugging Face, a `.safetensors`, `.gguf` or `.npz` above. The run writes `packed.safetensors` and a
    `model.safetensors` with its configuration, which transformers loads; every tensor that was skipped, gated or refused
    stands in the table with the reason.
    """)
    return


@app.cell
def _(here, mo, pack):
    mo.vstack([pack, here.job("pack"), here.view("tensors")])
    return


if __name__ == "__main__":
    app.run()
