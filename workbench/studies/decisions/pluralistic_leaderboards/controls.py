"""What can be moved, and what is prepared from it: users in two halves, and the leaderboard that is looked at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.data import vote_file
from assay.decisions import (
    ArenaWorld,
    Ballots,
    Battles,
    Budget,
    WeightedProfile,
    ballots_of,
    find_factions,
    hidden_coalition,
    mallows_mixture,
    merge_clones,
    random_centres,
    ranking_of,
    read_arena_world,
    read_votes,
    simulated_users,
    sixty_forty,
    twin_profiles,
    wins_of,
)
from assay.decisions import bradley_terry as strengths_of
from workbench.sources import Source
from workbench.studies.decisions.pluralistic_leaderboards.methods import METHODS, Built, build
from workbench.study import Paper, Study

SAMPLES = ("factions", "sixty-forty", "twin", "twin-fair", "arena", "arena-expert", "trust", "pandalm", "football")
LIVE = Budget()  # what a leaderboard that is drawn at once is built with
LIGHT_MODELS = 40  # up to which another pass of the rounds takes less than a tenth of a second

study = Study(
    "pluralistic-leaderboards",
    paper=Paper(
        title="Pluralistic Leaderboards",
        arxiv="2606.02547",
        authors="Haghtalab, Procaccia, Shao, Wang, Yang",
    ),
    question="Whom does a leaderboard leave out, and can one be built that leaves nobody out?",
    summary="Leaderboards no sizeable group can reject",
)

study.group("Leaderboard", equation=r"\hat{\gamma}(W_k) = k \cdot \max_{a \notin W_k} \Pr_i[a \succ_i W_k]")
study.choice("method", "bradley-terry", choices=METHODS, group="Leaderboard", doc="How the leaderboard is built.")
study.integer(
    "cut", 6, bounds="cuts", symbol="k", label="Cut", group="Leaderboard",
    doc="How many stand above the line; drag the line, or click a row to put it below.",
)  # fmt: skip

study.group("Users", equation=r"\Pr[\sigma] \propto \varphi^{\,d(\sigma, \sigma_0)}")
study.data(
    "votes", samples=SAMPLES, group="Users", suffixes=(".csv", ".tsv", ".parquet", ".soc", ".soi"),
    needs="battles, ballots or scores (csv, parquet), or PrefLib’s .soc or .soi",
    doc="Whose preferences these are. The first six samples are made up.",
)  # fmt: skip
study.number(
    "phi", 0.5, bounds=(0.0, 1.0), step=0.01, symbol="φ", label="Dispersion", group="Users",
    doc="How far simulated users stray from their faction’s order: 0 not at all, 1 anywhere.",
)  # fmt: skip
study.integer(
    "factions", 3, bounds=(1, 12), symbol="K", group="Users",
    doc="Factions of made-up users; in ballots of your own, groups that are looked for.",
)  # fmt: skip
study.list(
    "weights", (1.0,), bounds=(0.01, 100.0), length=(1, 12), label="Sizes of factions", group="Users",
    doc="In proportion, the first faction first; the last number counts for all that follow.",
)  # fmt: skip
study.integer("models", 20, bounds=(3, 200), symbol="m", group="Users", doc="Models that made-up users rank.")
study.integer(
    "users", 2000, bounds=(100, 5000), symbol="n", label="Users who judge", group="Users", rare=True,
    doc="Simulated users of each half: one builds leaderboards, the other judges them.",
)  # fmt: skip
study.choice(
    "ties", "half", choices={"half": "half a win for both", "drop": "dropped"}, group="Users", rare=True,
    doc="What a battle without a winner counts.",
)  # fmt: skip
study.flag(
    "even", False, label="Weigh pairs evenly", group="Users", rare=True,
    doc="Every pair of models counts as much as any other, however often it met.",
)  # fmt: skip
study.number(
    "clones", 1.0, bounds=(0.3, 1.0), step=0.01, label="Merge near-duplicates", group="Users", rare=True,
    doc="Models side by side on more than this share of ballots become one; at 1 none do.",
)  # fmt: skip

study.group("Algorithm", equation=r"\gamma(\varepsilon) = 16\,\frac{(1+\varepsilon)(1+8\varepsilon)}{1-8\varepsilon}")
study.number(
    "eps", 0.05, bounds=(0.005, 0.1), step=0.005, symbol="ε", label="Slack", group="Algorithm",
    doc="A user is satisfied when a set is as good as a share ¼ + ε of the lottery’s sets.",
)  # fmt: skip
study.number(
    "lam", 2.0, bounds=(1.2, 4.0), step=0.1, symbol="λ", label="Growth of committees", group="Algorithm",
    doc="Algorithm 2 puts committees of sizes 1, λ, λ², … one below the other.",
)  # fmt: skip
study.choice(
    "rest", "greedy", choices={"greedy": "who is wronged most", "again": "another pass"}, label="Seats left",
    group="Algorithm", rare=True,
    doc="Who gets the seats once hardly anybody is unsatisfied; the paper does not say.",
)  # fmt: skip
study.integer(
    "rounds", 20, bounds=(5, 200), label="Rounds of the lottery", group="Algorithm", rare=True,
    doc="Rounds of multiplicative weights in runs; leaderboards drawn at once take 20.",
)  # fmt: skip
study.integer(
    "round_users", 50, bounds=(50, 5000), label="Users a round", group="Algorithm", rare=True,
    doc="Fresh users in each of these rounds, in runs; leaderboards drawn at once take 50.",
)  # fmt: skip

study.group("Effort")
study.integer(
    "judges", 10_000, bounds=(200, 200_000), effort=True, label="Users of a run", group="Effort", rare=True,
    doc="Simulated users of each half in runs.",
)  # fmt: skip
study.integer(
    "resamples", 200, bounds=(20, 2000), effort=True, group="Effort", rare=True,
    doc="Resamples of users for each interval.",
)  # fmt: skip
study.list(
    "phis", (0.1, 0.5, 0.9), bounds=(0.0, 1.0), length=(1, 12), effort=True, symbol="φ", label="Compare at",
    group="Effort", doc="Dispersions of the made-up users on which methods are compared.",
)  # fmt: skip
study.presets(
    quick={"judges": 600, "resamples": 40, "seeds": 2},
    standard={"judges": 10_000, "resamples": 200, "seeds": 10},
    full={"judges": 100_000, "resamples": 1000, "seeds": 30, "phis": (0.1, 0.3, 0.5, 0.7, 0.9)},
)


@dataclass(frozen=True, eq=False)
class Crowd:
    """Users in two halves, and what is known of where they are from.

    Attributes:
        builders, judges: the two halves.
        kind: `made` (a law of ours), `arena` (kept aggregates), `battles` or `ballots`.
        battle_order: (m,) Bradley–Terry's order of the battles themselves; None where there are none.
        found: factions were looked for; none was given.
    """

    builders: Ballots
    judges: Ballots
    kind: str
    battle_order: np.ndarray | None = None
    found: bool = False

    @property
    def m(self) -> int:
        """Number of models."""
        return len(self.judges.models)


def faction_weights(weights: tuple[float, ...], factions: int) -> np.ndarray:
    """(K,) shares; the last weight counts for all that follow."""
    given = np.array([*weights, *[weights[-1]] * factions])[:factions]
    return given / given.sum()


def made_crowd(
    rng: np.random.Generator, users: int, models: int, factions: int, weights: tuple[float, ...], phi: float
) -> tuple[Ballots, Ballots]:
    """Builders and judges of factions around centres that are uniform over all orders."""
    centres = random_centres(factions, models, rng)
    names = tuple(f"model {i + 1:0{len(str(models))}d}" for i in range(models))
    labels = tuple(f"faction {i + 1}" for i in range(factions))
    halves = []
    for _ in range(2):
        orders, faction = mallows_mixture(centres, phi, faction_weights(weights, factions), users, rng)
        halves.append(ballots_of(names, orders, faction=faction, factions=labels, simulated=True))
    return halves[0], halves[1]


def arena_crowd(world: ArenaWorld, users: int, phi: float, rng: np.random.Generator) -> tuple[Ballots, Ballots]:
    """Builders and judges of a world in the shape of LMArena's."""
    halves = []
    note = f"Simulated users: drawn around orders made from aggregates of {world.battles:,} battles; no votes are here."
    for _ in range(2):
        orders, faction = mallows_mixture(world.centres, phi, world.weights, users, rng)
        halves.append(
            ballots_of(world.models, orders, faction=faction, factions=world.categories, simulated=True, notes=(note,))
        )
    return halves[0], halves[1]


@study.prepared
def file(votes: Source, seed: int) -> Battles | Ballots | ArenaWorld | str:
    """What the file of the votes holds; the name of a world that has none."""
    if votes.path is None:
        place = vote_file(votes.name)
        if place is None:
            return votes.name
        if place.suffix == ".json":
            return read_arena_world(place)
    else:
        place = votes.path
    return read_votes(place, np.random.default_rng([seed, 1]))


def crowd_of(
    file: Battles | Ballots | ArenaWorld | str,
    users: int,
    rng: np.random.Generator,
    *,
    phi: float,
    factions: int,
    weights: tuple[float, ...],
    models: int,
    ties: str,
    even: bool,
    clones: float,
) -> Crowd:
    """Two halves of users: drawn anew where they are simulated, split where they are real."""
    kind, order, found = "made", None, False
    if file == "factions":
        halves = made_crowd(rng, users, models, factions, weights, phi)
    elif isinstance(file, str):
        profile = sixty_forty() if file == "sixty-forty" else twin_profiles()[file == "twin-fair"]
        faction = (profile.orders[:, 0] == profile.models.index("y")).astype(int)
        drawn = [rng.choice(len(profile.counts), users, p=profile.counts / profile.counts.sum()) for _ in range(2)]
        halves = [
            ballots_of(
                profile.models, profile.orders[own], faction=faction[own], factions=("y is not on top", "y on top"),
                simulated=True,
            )
            for own in drawn
        ]  # fmt: skip
    elif isinstance(file, ArenaWorld):
        kind, halves = "arena", arena_crowd(file, users, phi, rng)
    elif isinstance(file, Battles):
        kind = "battles"
        halves = simulated_users(file, phi, 2 * users, rng, ties=ties, even=even).halves(rng)
        order = ranking_of(strengths_of(wins_of(file, ties=ties, even=even), 1e-6).theta)
    else:
        kind, whole = "ballots", file
        if len(file.factions) == 1 and factions > 1:
            group, found = find_factions(file.orders, factions, rng), True
            names = tuple(f"group {i + 1}" for i in range(int(group.max()) + 1))
            whole = ballots_of(file.models, file.orders, faction=group, factions=names, notes=file.notes)
        halves = whole.halves(rng)
    if clones < 1:
        merged = merge_clones(halves[0], clones)
        if len(merged.models) < len(halves[0].models):
            halves, order = (merged, merge_alike(halves[1], merged)), None
    return Crowd(halves[0], halves[1], kind, order, found)


def merge_alike(ballots: Ballots, merged: Ballots) -> Ballots:
    """Other users' ballots over the models of merged ones."""
    place = {name: i for i, name in enumerate(ballots.models)}
    groups = [[place[name] for name in joint.split(" + ")] for joint in merged.models]
    best = np.stack([ballots.positions[:, own].min(1) for own in groups], 1)
    orders = np.argsort(best, 1, kind="stable").astype(np.int16)
    orders[np.take_along_axis(best, orders.astype(np.intp), 1) >= len(ballots.models)] = -1
    return ballots_of(
        merged.models, orders, faction=ballots.faction, factions=ballots.factions, simulated=ballots.simulated,
        notes=merged.notes,
    )  # fmt: skip


@study.prepared
def crowd(
    file: Battles | Ballots | ArenaWorld | str, users: int, phi: float, factions: int, weights: tuple[float, ...],
    models: int, ties: str, even: bool, clones: float, seed: int,
) -> Crowd:  # fmt: skip
    """The users that are looked at."""
    return crowd_of(
        file, users, np.random.default_rng([seed, 2]), phi=phi, factions=factions, weights=weights, models=models,
        ties=ties, even=even, clones=clones,
    )  # fmt: skip


@study.prepared
def cuts(crowd: Crowd) -> tuple[int, int]:
    """Where the line can be."""
    return 1, crowd.m - 1


@study.prepared
def light(crowd: Crowd, method: str, lam: float, rest: str) -> bool:
    """The leaderboard can be built while one waits for a picture."""
    if method not in ("monotone", "checkpoints", "committee"):
        return True
    if rest == "again" and crowd.m > LIGHT_MODELS:
        return False
    return method != "checkpoints" or lam >= 1.5 or crowd.m <= 100


@study.prepared
def seats(method: str, cut: int) -> int:
    """Seats of Algorithm 1, which chooses for one cut; 0 for methods that order all models once."""
    return cut if method == "committee" else 0


@study.prepared
def board(
    crowd: Crowd, light: bool, method: str, seats: int, eps: float, lam: float, rest: str, seed: int
) -> Built | None:
    """The leaderboard that is looked at; None where it takes a run."""
    if not light:
        return None
    return build(method, crowd.builders, np.random.default_rng([seed, 3]), battle_order=crowd.battle_order, eps=eps,
                 lam=lam, seats=max(1, seats), budget=Budget(rest=rest))  # fmt: skip


@study.prepared
def usual(crowd: Crowd) -> Built:
    """Bradley–Terry's leaderboard of the same users."""
    return build("bradley-terry", crowd.builders, np.random.default_rng(0), battle_order=crowd.battle_order)


@study.prepared
def plural(crowd: Crowd, eps: float, seed: int) -> Built:
    """Algorithm 3's leaderboard of the same users."""
    return build("monotone", crowd.builders, np.random.default_rng([seed, 3]), eps=eps, budget=LIVE)


@study.prepared
def printed_factors() -> dict[float, float]:
    """From ε to the guarantee that the paper prints for it."""
    return {0.01: 18.97, 0.05: 39.2}


@study.prepared
def hidden_pairs() -> dict[int, tuple[WeightedProfile, WeightedProfile]]:
    """From k to two profiles that no comparisons of k models tell apart."""
    return {k: hidden_coalition(k) for k in (2, 3, 4)}
