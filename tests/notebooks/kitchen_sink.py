import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", html_head_file="../../notebooks/head.html")


@app.cell
def parameters():
    controls = {}
    preset = "quick"
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
    page = Page("kitchen-sink", controls=controls, preset=preset, seed=seed, tell=tell)
    return changed, page


@app.cell
def _(page):
    page.title()
    return


@app.cell
def _(page):
    dials = page.dials()
    page.shown(dials)
    return (dials,)


@app.cell
def _(page):
    climb = page.launcher("climb")
    climb  # noqa: B018
    return (climb,)


@app.cell
def _(changed, climb, dials, page):
    here = page.at(dials.value, changed(), climb)
    here.notes()
    return (here,)


@app.cell
def _(here):
    here.view("curve")
    return


@app.cell
def _(here, mo):
    mo.vstack([here.job("climb"), here.view("progress"), here.tables("climb")])
    return


@app.cell
def _(here):
    here.view("uneven")
    return


@app.cell
def _(here):
    here.view("numbers")
    return


@app.cell
def _(here):
    here.claims()
    return


if __name__ == "__main__":
    app.run()
