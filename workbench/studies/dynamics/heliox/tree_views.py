"""The schedule at work: a tree by depth, its rounds on a Gantt chart, and rounds over threads."""

# pandas' own types do not tell a column from a table
# pyright: reportArgumentType=false

from __future__ import annotations

import numpy as np
import pandas as pd

from assay.dynamics.cables import REGIONS, Tree
from assay.kernels import Bound, Schedule, node_depth, optimal_rounds
from workbench.studies.dynamics.heliox.controls import study
from workbench.study import Result, Stat
from workbench.theme import Figure, axis, drawn, styled

MOST = 2500  # nodes that are drawn one by one


def leaf_places(parent: np.ndarray) -> np.ndarray:
    """(n,) places across a drawing of the tree: leaves side by side, others in the middle of their children."""
    n = len(parent)
    first, last = np.full(n, -1.0), np.full(n, -1.0)
    children: list[list[int]] = [[] for _ in range(n)]
    roots = []
    for i, p in enumerate(parent):
        (children[p] if p >= 0 else roots).append(i)
    count, stack, order = 0, roots[::-1], []
    while stack:
        i = stack.pop()
        order.append(i)
        stack += children[i][::-1]
    for i in order:
        if not children[i]:
            first[i] = last[i] = count
            count += 1
    for i in reversed(order):
        if children[i]:
            first[i], last[i] = first[children[i][0]], last[children[i][-1]]
    return (first + last) / 2


def where(tree: Tree, node: int, own: bool) -> str:
    """A node in words."""
    if own:
        return f"node {node}"
    return f"{REGIONS[int(tree.kind[node])]} compartment {node}, {tree.distance[node]:.0f} µm from the root"


def path_to(parent: np.ndarray, node: int) -> np.ndarray:
    found = [node]
    while parent[found[-1]] >= 0:
        found.append(int(parent[found[-1]]))
    return np.array(found[::-1])


@study.view(
    "The schedule", equation=r"R(k) = \max_{\gamma \ge 0} \left( \gamma + \lceil N(\gamma) / k \rceil \right)",
    tab="Schedule",
)  # fmt: skip
def gantt(schedule: Schedule, bound: Bound, tree: Tree, solved: dict[str, np.ndarray] | None) -> Figure:
    """Left the tree by depth, right lanes over rounds, both in the colour of the round; drag k and see it fold."""
    parent, n, k = schedule.parent, len(schedule.parent), schedule.threads
    depth = node_depth(parent)
    rounds, wall = len(schedule), int(depth.max()) + 1
    deepest = int(depth.argmax())
    name = where(tree, deepest, solved is not None)
    if rounds == wall:
        title = f"{k} threads reach the depth wall: {rounds} rounds, one for each node on the longest branch"
        subtitle = f"Bottleneck: the branch to {name}. More threads than this change nothing; "
    else:
        take = "1 thread takes" if k == 1 else f"{k} threads take"
        title = f"{take} {rounds} rounds for {n:,} nodes; the depth wall is {wall}"
        subtitle = f"No schedule has fewer: {bound.beyond:,} nodes lie beyond depth {bound.level}. "
    subtitle += f"{100 * schedule.waste:.0f} % of lanes stand idle."
    colours = {"colorscale": "Viridis", "cmin": 1, "cmax": rounds}
    bar = {"title": {"text": "Round"}, "thickness": 10, "len": 0.9}
    axes = {
        "xaxis": axis("Leaves", domain=[0, 0.42], showticklabels=False, showgrid=False, zeroline=False),
        "yaxis": axis("Depth (steps from the root)", range=[wall + 0.5, -1.5], zeroline=False),
        "xaxis2": axis("Round", domain=[0.5, 1], range=[0, rounds + 1], anchor="y2"),
        "yaxis2": axis("Lane", range=[k + 0.5, 0.5], anchor="x2", domain=[0, 1], side="left", showgrid=False,
                       tickvals=sorted({1, *range(4, k + 1, 4), k})),
    }  # fmt: skip
    if n > MOST:
        busy = np.diff(schedule.start)
        keep = np.unique(np.linspace(0, rounds - 1, min(rounds, 1500)).astype(int))
        trace = styled("yours", type="scatter", mode="lines", x=keep + 1, y=busy[keep], name="busy lanes",
                       line={"shape": "hv"}, hovertemplate="round %{x}: %{y} lanes<extra></extra>")  # fmt: skip
        return drawn([trace], title, subtitle + f" {n:,} nodes are too many to draw one by one.",
                     xaxis=axis("Round"), yaxis=axis("Busy lanes", range=[0, k * 1.05]))  # fmt: skip
    across = leaf_places(parent)
    below = np.flatnonzero(parent >= 0)
    up = parent[below]
    lines = np.full((len(below), 3), np.nan)
    lines[:, 0], lines[:, 1] = across[up], across[below]
    heights = np.full((len(below), 3), np.nan)
    heights[:, 0], heights[:, 1] = depth[up], depth[below]
    longest = path_to(parent, deepest)
    size = float(np.clip(900 / n, 3, 9))
    told = [where(tree, i, solved is not None) for i in range(n)]
    tall = float(np.clip(230 / k, 3, 22))
    traces = [
        styled("reference", type="scatter", mode="lines", x=lines.ravel(), y=heights.ravel(), showlegend=False,
               hoverinfo="skip", line={"width": 1}),
        styled("yours", type="scatter", mode="lines", x=across[longest], y=depth[longest], name="longest branch",
               hoverinfo="skip"),
        {"type": "scatter", "mode": "markers", "x": across, "y": depth, "customdata": told, "showlegend": False,
         "text": schedule.round + 1, "hovertemplate": "%{customdata}<br>round %{text}<extra></extra>",
         "marker": {"size": size, "color": schedule.round + 1, "line": {"width": 0}, **colours}},
        {"type": "scatter", "mode": "markers", "x": schedule.round + 1, "y": schedule.lane + 1, "xaxis": "x2",
         "yaxis": "y2", "customdata": told, "showlegend": False,
         "hovertemplate": "round %{x}, lane %{y}<br>%{customdata}<extra></extra>",
         "marker": {"symbol": "square", "size": min(tall, float(np.clip(420 / rounds, 3, 14))), "line": {"width": 0},
                    "color": schedule.round + 1, "colorbar": bar, **colours}},
        styled("yours", type="scatter", mode="markers", x=schedule.round[longest] + 1, y=schedule.lane[longest] + 1,
               xaxis="x2", yaxis="y2", showlegend=False, hoverinfo="skip",
               marker={"symbol": "square-open", "size": min(tall, float(np.clip(420 / rounds, 4, 14))) + 2,
                       "line": {"width": 1.5}}),
    ]  # fmt: skip
    return drawn(traces, title, subtitle, **axes, showlegend=False)


@study.view("Rounds over threads", selects={"x": "threads"}, tab="Rounds over k")
def rounds_over_threads(parents: np.ndarray, threads: int, schedule: Schedule) -> Figure:
    """Rounds at every number of threads between the two bounds; drag the line to set k."""
    k = np.arange(1, 33)
    n, wall = len(parents), int(node_depth(parents).max()) + 1
    optimum = np.array([optimal_rounds(parents, int(x)) for x in k])
    reached = int(k[optimum == wall][0]) if (optimum == wall).any() else 0
    traces = [
        styled("reference", type="scatter", mode="lines", x=k, y=np.ceil(n / k), name="nodes over threads, n/k"),
        styled("null", type="scatter", mode="lines", x=k, y=np.full(32, wall), name="depth wall"),
        styled("predicted", type="scatter", mode="lines+markers", x=k, y=optimum, name="optimum R(k)",
               marker={"size": 6}, hovertemplate="k = %{x}: %{y} rounds at least<extra></extra>"),
        styled("yours", type="scatter", mode="markers", x=[threads], y=[len(schedule)], name="schedule at k",
               hovertemplate="k = %{x}: %{y} rounds<extra></extra>"),
    ]  # fmt: skip
    title = (
        f"From {reached} threads on the tree’s depth of {wall} is the wall" if reached
        else f"Even 32 threads leave {optimum[-1]} rounds; the depth wall is {wall}"
    )  # fmt: skip
    low = max(1.0, 0.7 * min(wall, n / 32))
    return drawn(
        traces, title, f"{n:,} nodes. The deepest ready node first, Hu’s rule, reaches the optimum on every tree.",
        xaxis=axis("Threads k", range=[0, 33]),
        yaxis=axis("Rounds", type="log", range=[np.log10(low), np.log10(n * 1.4)]),
        shapes=[{"type": "line", "name": "yours", "x0": threads, "x1": threads, "y0": 0, "y1": 1, "yref": "paper"}],
    )  # fmt: skip


@study.view("The tree in numbers", tab="Numbers")
def numbers(tree: Tree, schedule: Schedule, bound: Bound, solved: dict[str, np.ndarray] | None) -> list[Stat]:
    """What was read and how it is scheduled."""
    if solved is not None:
        own = solved
        x = own["x"]
        return [
            Stat("nodes of your system", len(x)), Stat("rounds", len(schedule)), Stat("optimum", bound.rounds),
            Stat("largest |x|", f"{np.abs(x).max():.6g}"), Stat("first of x", f"{x[0]:.10g}"),
            Stat("residual", f"{residual(own):.1e}"),
        ]  # fmt: skip
    told = [
        Stat("compartments", len(tree.compartments)), Stat("junctions", len(tree) - len(tree.compartments)),
        Stat("neurite", f"{tree.length.sum() / 1e3:.2f}", "mm"), Stat("membrane", f"{tree.area.sum():,.0f}", "µm²"),
        Stat("rounds", len(schedule)), Stat("optimum", bound.rounds),
    ]  # fmt: skip
    return told + [Stat("note", note) for note in tree.notes]


def residual(own: dict[str, np.ndarray]) -> float:
    """Largest |M x − rhs|, over the largest right-hand side."""
    x, parent = own["x"], own["parent"]
    below = np.flatnonzero(parent >= 0)
    left = own["d"] * x
    left[below] += own["b"][below] * x[parent[below]]
    np.add.at(left, parent[below], own["a"][below] * x[below])
    return float(np.abs(left - own["rhs"]).max() / max(np.abs(own["rhs"]).max(), 1e-300))


@study.view("Schedules of neurons", tab="Neurons")
def neurons(schedules: Result | None) -> pd.DataFrame | str:
    """Each neuron at several numbers of threads, beside the optimum."""
    if schedules is None or not len(schedules.tables["trees"]):
        return "Appears when schedules are compared with the optimum: rounds of every neuron and of random trees."
    rows = schedules["trees"]
    own = rows[(rows["tree"] != "random").to_numpy()]
    wide = own.pivot_table(index=["tree", "nodes", "depth"], columns="k", values="rounds").reset_index()
    wide.columns = [c if isinstance(c, str) else f"k = {c}" for c in wide.columns]
    off = int((rows["rounds"] != rows["optimum"]).sum())
    wide.attrs["title"] = f"{len(rows) - off:,} of {len(rows):,} schedules have as few rounds as can be"
    wide.attrs["subtitle"] = "Rounds at k threads; depth is the wall. Random trees are counted in the title alone."
    return wide
