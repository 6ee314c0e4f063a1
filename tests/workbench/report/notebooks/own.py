import marimo

__generated_with = "0.25.2"
app = marimo.App(app_title="A study of mine")


@app.cell
def _():
    import marimo as mo
    import numpy as np
    import pandas as pd
    import plotly.graph_objects as go

    from workbench import quantity

    return go, mo, np, pd, quantity


@app.cell
def _(mo):
    mo.md(r"""
    # A study of mine

    Energy $E = mc^2$ is kept:

    $$\frac{dE}{dt} = 0$$
    """)
    return


@app.cell
def _(mo):
    gain = mo.ui.slider(1, 10, value=3, label="Gain")
    gain  # noqa: B018
    return (gain,)


@app.cell
def _(gain, go, mo, np):
    x = np.linspace(0, 1, 50)
    figure = go.Figure(go.Scatter(x=x, y=gain.value * x), layout={"title": {"text": "It is a line"}})
    mo.vstack([figure, mo.ui.tabs({"One": mo.md("first **tab**"), "Two": figure})])
    return (x,)


@app.cell
def _(mo, pd, x):
    mo.accordion({"Rows": pd.DataFrame({"x": x[:5], "name": list("abcde")})})
    return


@app.cell
def _(mo):
    mo.hstack(
        [
            mo.stat(3, label="Steps"),
            mo.callout(mo.md("Careful: $x>0$"), kind="warn"),
            mo.Html(
                '<script>alert(1)</script><img src="https://example.org/a.png" alt="pic"><b onclick="x()">bold</b>'
            ),
        ]
    )
    return


@app.cell
def _(quantity, x):
    quantity("mean", float(x.mean()), "V", rtol=1e-9)
    return


if __name__ == "__main__":
    app.run()
