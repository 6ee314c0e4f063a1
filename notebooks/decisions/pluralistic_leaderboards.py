import marimo

__generated_with = "0.25.2"
app = marimo.App(
    width="medium",
    app_title="Leaderboards no sizeable group can reject",
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
    page = Page("pluralistic-leaderboards", controls=controls, preset=preset, seed=seed, tell=tell)
    page.title()
    return changed, page


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## The question

    A leaderboard of models is made from the votes of many people. Bradley–Terry gives each model one strength, as if all
    people wanted the same. When they do not, a large group may find nothing it likes among the first $k$, and nobody would
    notice. Haghtalab and others (ICML 2026) ask of every $k$: is there a model that more than $1/k$ of the users prefer to
    *everything* above the line?

    Put the line where you like. The figure names the model that most users would swap the whole top for, and how many they
    are. Then build the leaderboard in another way from the same users, and see rows jump.
    """)
    return


@app.cell
def _(page):
    board = page.dials("method", "cut", "votes", "phi", "factions", "weights", "models")
    page.shown(board)
    return (board,)


@app.cell
def _(page):
    boards = page.launcher("boards")
    compare = page.launcher("compare")
    guarantees = page.launcher("guarantees")
    budgets = page.launcher("budgets")
    constructs = page.launcher("constructs")
    rerun = page.launcher("rerun")
    algorithm = page.dials("eps", "lam", "rest")
    return algorithm, boards, budgets, compare, constructs, guarantees, rerun


@app.cell
def _(algorithm, board, boards, budgets, changed, compare, constructs, guarantees, page, rerun):
    here = page.at(
        board.value | algorithm.value, changed(), boards, compare, guarantees, budgets, constructs, rerun,
    )  # fmt: skip
    here.notes()
    return (here,)


@app.cell
def _(here, mo):
    mo.vstack([here.view("leaderboard", height=520), here.view("wronged"), here.view("faction_table")])
    return


@app.cell
def _(here, mo):
    mo.vstack([here.view("jumps", height=460), here.view("every_cut", height=400)])
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Who the users are

    Nobody knows the whole order of a user of an arena: she compared one pair, or three. What stands for her then is a
    *simulated* user, drawn around the order of her category. Whether the users at hand are real is said below.
    """)
    return


@app.cell
def _(here, mo):
    mo.vstack([here.view("source"), here.view("user_map", height=440), here.view("strengths", height=440)])
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## It can happen, and pairs cannot show it

    Two profiles have the same share of users on every pair of models, so every ranking from pairs is the same. In one of
    them 40 % get nothing among the top three; in the other nobody is left out.
    """)
    return


@app.cell
def _(constructs, here, mo):
    mo.vstack([constructs, here.job("constructs"), here.claims("1a", "1b", "2")])
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## How the paper builds leaderboards

    A *stable lottery* is a random committee that no model is preferred to by more than about $1/k$ of the users; one always
    exists. Algorithm 1 makes one for those who are still unsatisfied, adds its best set, and goes on. A user is satisfied
    when the set is as good for her as a share $\tfrac14 + \varepsilon$ of the lottery, which is soon the case: two or three
    rounds satisfy nearly everybody, and the paper leaves open who gets the seats that are left. That choice matters more
    than one would think: set *Seats left* to another pass, and compare.
    """)
    return


@app.cell
def _(algorithm, guarantees, here, mo, page):
    mo.vstack(
        [
            page.shown(algorithm),
            guarantees,
            here.job("guarantees"),
            here.view("guarantee", height=420),
            here.claims("3a", "3b", "3c", "3d"),
        ]
    )
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Does it help?

    Made-up users at several dispersions $\varphi$, with new centres in each repeat; every leaderboard is judged by users who
    built nothing. A prefix counts as unstable only when the lower bound of $\hat\gamma$ over users is above 1.
    """)
    return


@app.cell
def _(compare, here, mo):
    mo.vstack(
        [
            compare,
            here.job("compare"),
            here.view("over_worlds", height=420),
            here.claims("4", "5a", "5c", "5d"),
        ]
    )
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Either outcome

    The paper reports that Bradley–Terry is unstable at $k = 4$ and 5 on users simulated around LMArena's votes. An
    independent re-run finds no unstable prefix, and an unstable one of Algorithm 2 at $\varphi = 0.9$. The votes are not
    here. A world in the shape of the re-run's categories gives its curves again.
    """)
    return


@app.cell
def _(here, mo, rerun):
    mo.vstack([rerun, here.job("rerun"), here.view("either_outcome", height=420), here.claims("R")])
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## What is asked of a user

    Comparing sets $S$ and $S'$ takes $|S| + |S'|$ questions. Is that less than sorting all models, after which every
    question is answered?
    """)
    return


@app.cell
def _(budgets, here, mo):
    mo.vstack([budgets, here.job("budgets"), here.view("questions", height=380), here.claims("6a", "6b")])
    return


@app.cell
def _(here, mo):
    mo.vstack([here.view("coalitions"), here.claims("7a", "7b")])
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Votes of your own

    Give battles (`model_a`, `model_b`, `winner`, and `user`, `category`, `weight` where there are such), ballots (`rank1`,
    `rank2`, …, or PrefLib's `.soc` and `.soi`), or a table of scores above. Every method is built on half of the users and
    judged by the others.
    """)
    return


@app.cell
def _(boards, here, mo):
    mo.vstack(
        [boards, here.job("boards"), here.view("all_boards"), here.view("all_cuts", height=420), here.claims("5b")]
    )
    return


if __name__ == "__main__":
    app.run()
