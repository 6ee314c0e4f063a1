import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", html_head_file="../../notebooks/head.html")


@app.cell
def _():
    import marimo as mo

    from workbench.faces.marimo import Page

    return Page, mo


@app.cell
def _(Page):
    here = Page("one-figure").at({})
    return (here,)


@app.cell
def _(here, mo):
    mo.vstack([here.view(name) for name in ("numbers", "days", "many", "chart", "million")])
    return


if __name__ == "__main__":
    app.run()
