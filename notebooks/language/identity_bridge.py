import marimo

__generated_with = "0.25.2"
app = marimo.App(
    width="medium",
    app_title="The corner that nobody trains",
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
    page = Page("identity-bridge", controls=controls, preset=preset, seed=seed, tell=tell)
    page.title()
    return changed, page


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## The question

    A model that is taught *the name of Alice's husband is Bob* cannot say who the wife of Bob is: the reversal curse. Ma and
    others (ICML 2026) add facts that say nothing new, *the wife of Alice's husband is Alice*, and find that the reverse is
    learned.

    Here is the smallest model that shows it: one layer, uniform attention, names as one-hot tokens. All it knows is one
    matrix, $f(X) = W_{OV} \sum_{t \in X} e_t$. Its upper right corner turns a name of $B$ into one of $A$, and no fact
    trains it. Move the moment from 0 to 1 and watch it fill; then switch *Factorised* off, or train forward facts only.
    """)
    return


@app.cell
def _(page):
    facts = page.dials("form", "pairs", "names", "forward_weight", "factorised", "init", "moment")
    page.shown(facts)
    return (facts,)


@app.cell
def _(page):
    toy = page.dials("alpha", "beta", "gamma", "delta")
    return (toy,)


@app.cell
def _(page):
    forms = page.launcher("forms")
    phases = page.launcher("phases")
    decoders = page.launcher("decoders")
    return decoders, forms, phases


@app.cell
def _(changed, decoders, facts, forms, page, phases, toy):
    here = page.at(facts.value | toy.value, changed(), forms, phases, decoders)
    here.notes()
    return (here,)


@app.cell
def _(here, mo):
    mo.vstack([here.view("blocks", height=520), here.view("numbers")])
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Why it fills

    By symmetry the blocks are $M \otimes I$ with $M = \begin{pmatrix} \alpha & \delta \\ \beta & \gamma \end{pmatrix}$.
    Facts fix $\alpha$, $\beta$ and $\gamma$; $\delta$ is free. Gradient descent on $W_O W_V^\top$ from small weights prefers
    a small nuclear norm, which makes $M$ of rank one where it can: $\delta^* = \min(\beta, \alpha\gamma/\beta)$. Descent on
    $W_{OV}$ itself prefers a small Frobenius norm, and leaves $\delta = 0$. Set $\alpha$ or $\gamma$ to 0: nothing is left
    to complete.
    """)
    return


@app.cell
def _(here, mo, toy):
    mo.vstack([toy, here.view("completion", height=400), here.view("spectrum", height=340)])
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## The form decides

    *The name of Alice is Alice*, the example in the abstract, fills the corner too. But it also teaches $b \to b$, which is
    louder than the corner: asked for the wife of Bob, the model says Bob. Whoever looks at answers among $A$ alone does not
    see it, so both accuracies stand here side by side.
    """)
    return


@app.cell
def _(forms, here, mo):
    mo.vstack(
        [
            here.view("by_step", height=380),
            here.view("answers"),
            forms,
            here.job("forms"),
            here.view("compared", height=400),
            here.claims("1", "1b", "2", "2a", "2b", "4", "6"),
        ]
    )
    return


@app.cell
def _(here, mo, phases):
    mo.vstack([phases, here.job("phases"), here.view("phase_diagram", height=400)])
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Beyond one layer

    Small decoders with attention, norms and feed-forward parts, from scratch, on names of one to three tokens. The paper's
    own numbers are of a pretrained model of $10^9$ weights.
    """)
    return


@app.cell
def _(decoders, here, mo):
    mo.vstack(
        [
            decoders,
            here.job("decoders"),
            here.view("lengths", height=400),
            here.claims("2c", "4b", "5", "6b", "3", "5b"),
        ]
    )
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Your own pairs

    Above, give a CSV with columns `a` and `b`, at least four pairs. Names that stand on both sides are marked: their reverse is partly
    trained, or conflicts.
    """)
    return


@app.cell
def _(here):
    here.view("sentences")
    return


if __name__ == "__main__":
    app.run()
