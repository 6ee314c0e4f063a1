"""Identity Bridge: facts A → A against the reversal curse (Ma et al., ICML 2026)."""

from workbench.studies.language.identity_bridge import claims, experiments, matrix_views, run_views
from workbench.studies.language.identity_bridge.controls import study

__all__ = ["claims", "experiments", "matrix_views", "run_views", "study"]

study.order(
    "blocks", "completion", "by_step", "spectrum", "answers", "numbers", "sentences", "compared", "phase_diagram",
    "lengths",
)  # fmt: skip


@study.picture
def sketch() -> str:
    """Four blocks; the upper right one, which no fact trains, fills."""
    cells = []
    for left, shade in ((30, 0.08), (170, 0.75)):
        for row in range(8):
            for column in range(8):
                diagonal = row % 4 == column % 4
                free = row < 4 <= column
                opacity = (shade if free else 0.75) if diagonal else 0.08
                cells.append(
                    f'<rect x="{left + 13 * column}" y="{4 + 13 * row}" width="12" height="12" rx="2" '
                    f'fill="var(--as-accent)" opacity="{opacity}"/>'
                )
    return f'<svg viewBox="0 0 300 112">{"".join(cells)}</svg>'
