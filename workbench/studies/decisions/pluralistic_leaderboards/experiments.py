"""What takes longer: every leaderboard with intervals, methods over worlds, guarantees, and the count of questions."""

# pandas' own types do not tell a column from a table
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false
# pyright: reportReturnType=false, reportOperatorIssue=false, reportIndexIssue=false

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np

from assay.data import vote_file
from assay.decisions import (
    Budget,
    Users,
    best_committee,
    bootstrap_stability,
    bradley_terry,
    checkpoint_factor,
    exact_lottery,
    lottery_value,
    mallows_mixture,
    pairwise_wins,
    positions_of,
    random_centres,
    rank_checkpoints,
    rank_monotone,
    ranking_of,
    read_arena_world,
    select_committee,
    sixty_forty,
    stability_curve,
    stability_ratio,
    stable_lottery,
    theoretical_factor,
    twin_profiles,
)
from workbench.studies.decisions.pluralistic_leaderboards.controls import (
    arena_crowd,
    crowd_of,
    made_crowd,
    study,
)
from workbench.studies.decisions.pluralistic_leaderboards.methods import METHODS, PLURAL, build
from workbench.study import Run, exact, note, numeric, statistical, timing


@study.experiment(
    "Build every leaderboard",
    tables={
        "world": {"kind": exact("str"), "simulated": exact("bool"), "models": exact("int"), "judges": exact("int")},
        "places": {"method": exact("str"), "place": exact("int"), "model": exact("str")},
        "curves": {
            "method": exact("str"),
            "k": exact("int"),
            "gamma": statistical(doc="γ̂ of the first k, on users who built nothing."),
            "low": statistical(doc="95 % over users."),
            "high": statistical(),
            "blocker": exact("str", doc="The model that most users prefer to all of them."),
        },
        "runs": {
            "method": exact("str"),
            "asked": exact("int", doc="Users who were asked; 0 where whole ballots are read."),
            "median": statistical("questions"),
            "most": exact("int", unit="questions"),
            "chosen": exact("int", doc="Places that rounds chose."),
            "took": timing(),
        },
    },
    cost={"quick": 0.2, "standard": 1, "full": 20},
)
def boards(
    run: Run, file: Any, judges: int, phi: float, factions: int, weights: tuple[float, ...], models: int, ties: str,
    even: bool, clones: float, eps: float, lam: float, rest: str, rounds: int, round_users: int, cut: int,
    resamples: int,
) -> None:  # fmt: skip
    """Each method on the users that are set, with γ̂ at every cut and its interval over users."""
    crowd = crowd_of(
        file, judges, run.rng("users"), phi=phi, factions=factions, weights=weights, models=models, ties=ties,
        even=even, clones=clones,
    )  # fmt: skip
    names = crowd.judges.models
    run.row("world", kind=crowd.kind, simulated=crowd.judges.simulated, models=crowd.m, judges=len(crowd.judges))
    budget = Budget(rounds=rounds, round_users=round_users, rest=rest)
    for method in run.progress(list(METHODS), "leaderboards"):
        started = time.perf_counter()
        found = build(method, crowd.builders, run.rng("build", method), battle_order=crowd.battle_order, eps=eps,
                      lam=lam, seats=min(cut, crowd.m), budget=budget)  # fmt: skip
        took = time.perf_counter() - started
        band = bootstrap_stability(crowd.judges.orders, found.ranking, run.rng("resamples", method), resamples)
        for place, a in enumerate(found.ranking):
            run.row("places", method=method, place=place + 1, model=names[a])
        for k in range(1, crowd.m):
            run.row("curves", method=method, k=k, gamma=band.gamma[k - 1], low=band.low[k - 1],
                    high=band.high[k - 1], blocker=names[band.blocker[k - 1]])  # fmt: skip
        asked = len(found.questions)
        run.row("runs", method=method, asked=asked, median=float(np.median(found.questions)) if asked else 0.0,
                most=int(found.questions.max()) if asked else 0, chosen=found.chosen, took=took)  # fmt: skip


WORLD = {
    "phi": exact(),
    "repeat": exact("int"),
    "method": exact("str"),
    "largest": statistical(doc="Largest γ̂ of any prefix."),
    "at": exact("int", doc="The k of it."),
    "above": exact("int", doc="Prefixes with γ̂ above 1."),
    "surely": exact("int", doc="Those whose lower bound over users is above 1."),
    "prefixes": exact("int"),
    "mean": statistical(doc="Mean γ̂."),
    "ratio": statistical(doc="Algorithm 2: largest γ̂ over λ²/(λ − 1) times that of its committees; 0 elsewhere."),
    "chosen": exact("int", doc="Places that rounds chose."),
}


@study.experiment(
    "Compare methods over worlds",
    tables={
        "worlds": WORLD,
        "curves": {
            "phi": exact(),
            "method": exact("str"),
            "k": exact("int"),
            "gamma": statistical(doc="Mean over repeats."),
            "share": statistical("%", doc="Repeats in which γ̂ is above 1."),
        },
    },
    cost={"quick": 0.3, "standard": 10, "full": 1800},
)
def compare(
    run: Run, judges: int, factions: int, weights: tuple[float, ...], models: int, eps: float, lam: float, rest: str,
    rounds: int, round_users: int, phis: tuple[float, ...], seeds: int, resamples: int,
) -> None:  # fmt: skip
    """Made-up users at several dispersions, new centres in each repeat: which prefixes of which method are unstable?"""
    items = [{"phi": phi, "repeat": i} for phi in phis for i in range(seeds)]
    world = partial(
        one_world, judges=judges, factions=factions, weights=weights, models=models, eps=eps, lam=lam,
        budget={"rounds": rounds, "round_users": round_users, "rest": rest}, resamples=resamples,
    )  # fmt: skip
    curves: dict[tuple[float, str], list[np.ndarray]] = {}
    for item, found in zip(items, run.map(world, items, "worlds"), strict=True):
        for row in found["rows"]:
            run.row("worlds", **item, **row)
        for method, curve in found["curves"].items():
            curves.setdefault((item["phi"], method), []).append(np.asarray(curve))
    for (phi, method), own in curves.items():
        for k, values in enumerate(np.array(own).T, 1):
            run.row("curves", phi=phi, method=method, k=k, gamma=float(values.mean()),
                    share=100 * float((values > 1).mean()))  # fmt: skip


def one_world(
    run: Run, item: dict[str, Any], *, judges: int, factions: int, weights: tuple[float, ...], models: int, eps: float,
    lam: float, budget: dict[str, Any], resamples: int,
) -> dict[str, Any]:  # fmt: skip
    """All methods that order every model, on one world; judged by users who built nothing."""
    rng = run.rng("world", item["repeat"])  # the same centres at every dispersion
    builders, others = made_crowd(rng, judges, models, factions, weights, item["phi"])
    rows, curves = [], {}
    for method in METHODS:
        if method == "committee":
            continue
        name = (method, item["phi"], item["repeat"])
        found = build(method, builders, run.rng("build", *name), eps=eps, lam=lam, budget=Budget(**budget))
        band = bootstrap_stability(others.orders, found.ranking, run.rng("resamples", *name), resamples)
        ratio = 0.0
        if method == "checkpoints":
            sets = [np.array(one.members) for one in found.committees if len(one.members) < models]
            largest = max(stability_ratio(others.orders, own)[0] for own in sets)
            ratio = float(band.gamma.max()) / (checkpoint_factor(lam) * largest) if largest else 0.0
        rows.append({
            "method": method, "largest": float(band.gamma.max()), "at": int(band.gamma.argmax()) + 1,
            "above": int((band.gamma > 1).sum()), "surely": int((band.low > 1).sum()), "prefixes": models - 1,
            "mean": float(band.gamma.mean()), "ratio": ratio, "chosen": found.chosen,
        })  # fmt: skip
        curves[method] = band.gamma
    return {"rows": rows, "curves": curves}


TRIED = {"models": 10, "users": 2000, "factions": 4}
SLACKS = (0.01, 0.05, 0.1)


@study.experiment(
    "Test the guarantees",
    tables={
        "committees": {
            "eps": exact(),
            "k": exact("int"),
            "repeat": exact("int"),
            "gamma": statistical(doc="γ̂ of Algorithm 1’s committee, on other users."),
            "best": statistical(doc="The least γ̂ of any committee of k."),
            "factor": exact(doc="γ(ε)."),
            "rounds": exact("int"),
            "rest": exact("int", doc="Seats that no round filled before hardly anybody was unsatisfied."),
        },
        "lotteries": {
            "k": exact("int"),
            "repeat": exact("int"),
            "exact": numeric(doc="(k + 1) × the value of the best lottery, by linear programming."),
            "found": statistical(doc="k × the value of the lottery that multiplicative weights find."),
        },
    },
    cost={"quick": 0.2, "standard": 1, "full": 3},
)
def guarantees(run: Run, phi: float, rest: str, rounds: int, round_users: int, seeds: int) -> None:
    """Committees against γ(ε) and against the best of all committees; lotteries against the best of all lotteries.

    10 models, 2,000 users of 4 factions: few enough that every committee can be tried.
    """
    budget = {"rounds": rounds, "round_users": round_users, "rest": rest}
    items = [{"repeat": i} for i in range(seeds)]
    for item, found in zip(items, run.map(partial(one_guarantee, phi=phi, budget=budget), items, "repeats"),
                           strict=True):  # fmt: skip
        for row in found["committees"]:
            run.row("committees", **item, **row)
        for row in found["lotteries"]:
            run.row("lotteries", **item, **row)


def one_guarantee(run: Run, item: dict[str, Any], *, phi: float, budget: dict[str, Any]) -> dict[str, Any]:
    """All slacks and sizes on one world."""
    rng = run.rng("world", item["repeat"])
    builders, others = made_crowd(rng, TRIED["users"], TRIED["models"], TRIED["factions"], (1.0,), phi)
    committees, lotteries = [], []
    for k in (1, 2, 3, 5):
        best = best_committee(others.orders, k)[0]
        for eps in SLACKS:
            users = Users(builders.positions, run.rng("committee", k, eps, item["repeat"]))
            found = select_committee(users, k, eps, budget=Budget(**budget))
            committees.append({
                "eps": eps, "k": k, "gamma": stability_ratio(others.orders, np.array(found.members))[0], "best": best,
                "factor": theoretical_factor(eps), "rounds": len(found.trace), "rest": found.rest,
            })  # fmt: skip
    few = builders.take(np.arange(200))
    for k in (1, 2, 3):
        draw = run.rng("lottery", k, item["repeat"])
        found = stable_lottery(
            lambda count, draw=draw: few.positions[draw.integers(200, size=count)], k, draw, rounds=budget["rounds"],
            round_users=budget["round_users"],
        )  # fmt: skip
        value = exact_lottery(few.orders, k)[1]
        lotteries.append({
            "k": k, "exact": (k + 1) * value, "found": k * float(lottery_value(few.orders, found).max()),
        })  # fmt: skip
    return {"committees": committees, "lotteries": lotteries}


SIZES = ((5, 10), (5, 20), (5, 40), (10, 20), (10, 40), (20, 40))  # seats and models
ELICITED = {"factions": 4, "users": 4000, "phi": 0.5}


@study.experiment(
    "Count the questions",
    tables={
        "users": {
            "algorithm": exact("str"),
            "k": exact("int", doc="Seats; 0 for whole leaderboards."),
            "models": exact("int"),
            "repeat": exact("int"),
            "asked": exact("int", doc="Users."),
            "median": statistical("questions"),
            "most": exact("int", unit="questions"),
        },
        "histogram": {
            "algorithm": exact("str"),
            "questions": exact("int"),
            "users": exact("int"),
        },
    },
    cost={"quick": 0.2, "standard": 1, "full": 3},
)
def budgets(run: Run, eps: float, lam: float, rest: str, rounds: int, round_users: int, seeds: int) -> None:
    """How many users are asked, and how often each: Algorithm 1 at several sizes, 2 and 3 on 20 models.

    Users of 4 factions at φ = 0.5. Comparing sets S and S' is |S| + |S'| questions.
    """
    budget = Budget(rounds=rounds, round_users=round_users, rest=rest)
    counted: dict[str, list[np.ndarray]] = {}
    for repeat in run.progress(range(seeds), "repeats"):
        for k, m in run.progress([*SIZES, (0, 20)], "sizes"):
            rng = run.rng("world", m, repeat)
            orders, _ = mallows_mixture(
                random_centres(ELICITED["factions"], m, rng), ELICITED["phi"], np.ones(ELICITED["factions"]),
                ELICITED["users"], rng,
            )  # fmt: skip
            positions = positions_of(orders)
            for method in ("committee",) if k else ("checkpoints", "monotone"):
                users = Users(positions, run.rng("users", method, k, m, repeat))
                if method == "committee":
                    select_committee(users, k, eps, budget=budget)
                elif method == "checkpoints":
                    rank_checkpoints(users, lam, eps, budget)
                else:
                    rank_monotone(users, eps, budget)
                counts = users.counts
                run.row("users", algorithm=method, k=k, models=m, repeat=repeat, asked=len(counts),
                        median=float(np.median(counts)), most=int(counts.max()))  # fmt: skip
                if m == 20 and k in (0, 5):
                    counted.setdefault(method, []).append(counts)
    for method in PLURAL:
        for questions, users in zip(*np.unique(np.concatenate(counted[method]), return_counts=True), strict=True):
            run.row("histogram", algorithm=method, questions=int(questions), users=int(users))


@study.experiment(
    "Try the profiles made by hand",
    tables={
        "profiles": {
            "profile": exact("str"),
            "gamma": numeric(doc="γ̂ of the top three by Bradley–Terry."),
            "blocker": exact("str"),
            "apart": numeric(doc="Largest difference of a pair’s share from that in the twin profile."),
        },
        "built": {
            "profile": exact("str"),
            "method": exact("str"),
            "repeat": exact("int"),
            "largest": statistical(doc="Largest γ̂ of any prefix; of Algorithm 1, of its committee of three."),
            "remark": note("The leaderboard."),
        },
    },
    cost={"quick": 0.1, "standard": 0.4, "full": 1},
)
def constructs(run: Run, eps: float, lam: float, rest: str, rounds: int, round_users: int, seeds: int) -> None:
    """60/40 and the twins: what Bradley–Terry does to the faction, and what Algorithms 1 to 3 do."""
    twins = twin_profiles()
    profiles = {"sixty-forty": sixty_forty(), "twin": twins[0], "twin-fair": twins[1]}
    shares = [pairwise_wins(one.expanded()) / one.counts.sum() for one in twins]
    budget = Budget(rounds=rounds, round_users=round_users, rest=rest)
    for name, profile in run.progress(profiles.items(), "profiles", total=3):
        orders = profile.expanded()
        ranking = bradley_terry_of(orders)
        gamma, blocker = stability_ratio(orders, ranking[:3])
        apart = float(np.abs(shares[0] - shares[1]).max()) if name.startswith("twin") else 0.0
        run.row("profiles", profile=name, gamma=gamma, blocker=profile.models[blocker], apart=apart)
        positions = positions_of(orders)
        for repeat in range(seeds):
            for method in PLURAL:
                users = Users(positions, run.rng(name, method, repeat))
                if method == "committee":
                    found = np.array(select_committee(users, 3, eps, budget=budget).members)
                    largest = stability_ratio(orders, found)[0]
                else:
                    board = (rank_monotone(users, eps, budget) if method == "monotone"
                             else rank_checkpoints(users, lam, eps, budget))  # fmt: skip
                    found = board.ranking
                    largest = float(stability_curve(orders, found)[0].max())
                run.row("built", profile=name, method=method, repeat=repeat, largest=largest,
                        remark=" > ".join(profile.models[a] for a in found))  # fmt: skip


def bradley_terry_of(orders: np.ndarray) -> np.ndarray:
    """The order of Bradley–Terry's strengths of all pairs, with a weak prior."""
    return ranking_of(bradley_terry(pairwise_wins(orders), 1e-3).theta)


@study.experiment(
    "Repeat the independent re-run",
    tables={
        "curves": {
            "phi": exact(),
            "method": exact("str"),
            "k": exact("int"),
            "gamma": statistical(doc="Mean over repeats."),
            "low": statistical(doc="Lowest bound over users of any repeat."),
            "high": statistical(),
            "kept": exact(doc="What the re-run reports."),
        },
        "worlds": {
            "phi": exact(),
            "method": exact("str"),
            "repeat": exact("int"),
            "largest": statistical(),
            "kept": exact(doc="The largest that the re-run reports."),
        },
    },
    cost={"quick": 0.2, "standard": 2, "full": 200},
)
def rerun(
    run: Run, judges: int, eps: float, lam: float, rest: str, rounds: int, round_users: int, seeds: int, resamples: int
) -> None:
    """Users in the shape of LMArena’s 12 categories, at the dispersions of an independent re-run, beside its curves."""
    world = read_arena_world(vote_file("arena"))
    budget = Budget(rounds=rounds, round_users=round_users, rest=rest)
    found: dict[tuple[float, str], list[np.ndarray]] = {}
    for repeat in run.progress(range(seeds), "repeats"):
        for phi in run.progress(sorted({phi for phi, _ in world.curves}), "dispersions"):
            builders, others = arena_crowd(world, judges, phi, run.rng("world", phi, repeat))
            for method in ("bradley-terry", "checkpoints", "monotone"):
                name = (method, phi, repeat)
                built = build(method, builders, run.rng("build", *name), eps=eps, lam=lam, budget=budget)
                band = bootstrap_stability(
                    others.orders, built.ranking, run.rng("resamples", *name), max(20, resamples // 5)
                )
                found.setdefault((phi, method), []).append(np.array([band.gamma, band.low, band.high]))
                run.row("worlds", phi=phi, method=method, repeat=repeat, largest=float(band.gamma.max()),
                        kept=float(world.curves[phi, method].max()))  # fmt: skip
    for (phi, method), bands in found.items():
        every = np.array(bands)
        gamma, low, high = every[:, 0].mean(0), every[:, 1].min(0), every[:, 2].max(0)
        for k in range(len(gamma)):
            run.row("curves", phi=phi, method=method, k=k + 1, gamma=gamma[k], low=low[k], high=high[k],
                    kept=float(world.curves[phi, method][k]))  # fmt: skip
