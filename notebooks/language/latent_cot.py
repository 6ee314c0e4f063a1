import marimo

__generated_with = "0.25.2"
app = marimo.App(
    width="medium",
    app_title="Reaching into a latent chain of thought",
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
    page = Page("latent-cot", controls=controls, preset=preset, seed=seed, tell=tell)
    page.title()
    return changed, page


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## The question

    A model that thinks in latents feeds a hidden state back as its next input, several times, before it answers. Li and
    others (ICML 2026) reach into these steps, $\mathrm{do}(h_t \leftarrow h')$, and find that steps do different work, that
    information jumps over steps, and that answers stay open for long. Whether such findings say something of the model, or
    of the way one looks, can be told where the truth is known.

    Here it is. The models that come along multiply permutations of four things, $p_k = g_1 \circ \dots \circ g_k$. Each
    latent stands for one partial product, and a latent that is swapped must give one exact answer:

    $$y_{\mathrm{cf}} = p'_{t+1} \circ g_{t+2} \circ \dots \circ g_K .$$

    Click a step below: what follows it changes, and the answer with it. Type a word of your own, such as
    `2134 1243 4321 2341 1324 3412`.
    """)
    return


@app.cell
def _(page):
    model = page.dials("model", "word", "prompt", "operation", "step", "also", "donor_rule", "donor")
    page.shown(model)
    return (model,)


@app.cell
def _(page):
    reading = page.dials("effect", "read", "target", "alpha")
    return (reading,)


@app.cell
def _(page):
    reach = page.launcher("reach")
    influences = page.launcher("influences")
    answers = page.launcher("answers")
    compare = page.launcher("compare")
    commit = page.launcher("commit")
    retrain = page.launcher("retrain")
    return answers, commit, compare, influences, reach, retrain


@app.cell
def _(answers, changed, commit, compare, influences, model, page, reach, reading, retrain):
    here = page.at(model.value | reading.value, changed(), reach, influences, answers, compare, commit, retrain)
    here.notes()
    return (here,)


@app.cell
def _(here, mo):
    mo.vstack([here.view("strip", height=460), here.view("numbers")])
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Does a latent carry what it should?

    Zero is far from anything that a final norm puts out, so that a flip mixes *information removed* with *input broken*. A
    donor's latent is a latent. Where it carries a value, the answer is the one that algebra gives.
    """)
    return


@app.cell
def _(compare, here, mo, reach):
    mo.vstack(
        [
            here.view("swap_bench", height=380),
            reach,
            here.job("reach"),
            here.claims("1", "6"),
            compare,
            here.job("compare"),
            here.claims("B1", "B2", "B3"),
            here.view("stages"),
        ]
    )
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## A triangle that is a line

    Influence $W_{t,s}$ is the divergence of what step $s$ says with and without an intervention on step $t$. When all steps
    in between are computed anew, it is a *total* effect: in a perfect chain it is large for every $s > t$, and looks like
    long-range jumps. Hold the steps in between at their values, and the *direct* effect remains. Switch the effect above
    from total to direct and watch the triangle.
    """)
    return


@app.cell
def _(here, mo, reading):
    mo.vstack([reading, here.view("influence_matrix", height=420), here.view("graph", height=320)])
    return


@app.cell
def _(here, influences, mo):
    mo.vstack([influences, here.job("influences"), here.view("replay", height=360), here.claims("4a", "4b", "4c")])
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## When the answer is there

    The solve rate $S(k)$ counts a lucky early guess for ever, so it grows even for someone who guesses anew at each $k$.
    """)
    return


@app.cell
def _(answers, here, mo):
    mo.vstack([here.view("sufficiency", height=400), answers, here.job("answers"), here.claims("3a", "3b", "2")])
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Two answers

    Two words in one prompt, and a selector that says whose product is asked for. Where it comes last, both must be held;
    where it comes first, one will do. The superposition score is $\min(p_Y, p_N)$, and a read-out that sees nothing gets
    0.5, so random directions and shuffled labels stand beside the probe.
    """)
    return


@app.cell
def _(commit, here, mo):
    mo.vstack(
        [
            commit,
            here.job("commit"),
            here.view("commitment", height=440),
            here.claims("5", "5b"),
            here.view("trajectories", height=420),
        ]
    )
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Your own model

    Above, give a folder with a Coconut or CODI checkpoint of GPT-2 and its tokenizer, and questions as JSON lines; or an
    `.npz` with `h` (n, T, d), `logits_at` (n, T, K) and `y` (n). In Python, `assay.language.PlainModel` takes any object with
    `embed`, `step` and `latent_map`. Or train the chain here, from other seeds.
    """)
    return


@app.cell
def _(here, mo, retrain):
    mo.vstack([retrain, here.job("retrain")])
    return


if __name__ == "__main__":
    app.run()
