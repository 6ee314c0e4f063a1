"""The study's picture in the gallery: the neuron by depth, its longest branch standing out."""

from __future__ import annotations

from assay.dynamics.cables import Tree
from assay.kernels import node_depth
from workbench.studies.dynamics.heliox.controls import study
from workbench.studies.dynamics.heliox.tree_views import leaf_places, path_to


@study.picture
def sketch(tree: Tree) -> str:
    """Branches in grey from left to right, the depth wall's in the accent."""
    depth, across = node_depth(tree.parent), leaf_places(tree.parent)
    wide, tall = 284 / max(1, depth.max()), 100 / max(1.0, across.max())
    place = [f"{8 + wide * d:.1f},{6 + tall * a:.1f}" for d, a in zip(depth, across, strict=True)]
    lines = "".join(f"M{place[p]}L{place[i]}" for i, p in enumerate(tree.parent) if p >= 0)
    longest = " ".join(place[i] for i in path_to(tree.parent, int(depth.argmax())))
    return (
        f'<svg viewBox="0 0 300 112"><path d="{lines}" fill="none" stroke="var(--as-ink-3)" stroke-width="0.7"/>'
        f'<polyline points="{longest}" fill="none" stroke="var(--as-accent)" stroke-width="2"/></svg>'
    )
