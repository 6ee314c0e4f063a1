"""Interventions on latent chains of thought (Li et al., ICML 2026)."""

from workbench.studies.language.latent_cot import (
    answer_views,
    bench,
    claims,
    experiments,
    pair_experiments,
    route_views,
    step_views,
)
from workbench.studies.language.latent_cot.controls import study

__all__ = [
    "answer_views", "bench", "claims", "experiments", "pair_experiments", "route_views", "step_views", "study",
]  # fmt: skip

study.order(
    "strip", "influence_matrix", "scores", "graph", "replay", "swap_bench", "sufficiency", "commitment", "trajectories",
    "numbers", "stages",
)  # fmt: skip


@study.picture
def sketch() -> str:
    """Total effects, a triangle; direct ones, a line."""
    cells = []
    for side, direct in ((20, False), (170, True)):
        for t in range(6):
            for s in range(t, 6):
                shade = 0.9 if s == t else (0.12 if direct else 0.62)
                cells.append(
                    f'<rect x="{side + 18 * s}" y="{4 + 17 * t}" width="16" height="15" rx="2" fill="var(--as-accent)" '
                    f'opacity="{shade}"/>'
                )
    return f'<svg viewBox="0 0 300 112">{"".join(cells)}</svg>'
