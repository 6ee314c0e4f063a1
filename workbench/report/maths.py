"""Formulas of a report: TeX to MathML, all or nothing.

A formula that cannot be turned stops the export; a report with a formula that reads otherwise than it was written
would be worse than none.
"""

from __future__ import annotations

import functools
import re

from math_core import LatexError, LatexToMathML

from workbench.controls import ControlError

__all__ = ["mathml"]

MACROS = {
    "substack": r"\begin{matrix}#1\end{matrix}", "widetilde": r"\tilde{#1}", "R": r"\mathbb{R}", "E": r"\mathbb{E}",
    "N": r"\mathbb{N}",
}  # fmt: skip
COLOURS = re.compile(r"\x1b\[[\d;]*m")
SPLIT = re.compile(r"\\(begin|end)\{split\}")


@functools.cache
def converter() -> LatexToMathML:
    return LatexToMathML(macros=MACROS, annotation=True)


@functools.lru_cache(maxsize=4096)
def mathml(tex: str, *, display: bool = False) -> str:
    """A formula as MathML that keeps its TeX as an annotation.

    Args:
        tex: without delimiters.
        display: on a line of its own.

    Raises:
        ControlError: the formula cannot be turned; the sentence shows it.
    """
    source = SPLIT.sub(r"\\\1{aligned}", tex.strip())
    try:
        return converter().convert_with_local_state(source, displaystyle=display)
    except LatexError as error:
        shown = tex.strip() if len(tex) <= 120 else f"{tex.strip()[:117]}…"
        reason = COLOURS.sub("", str(error)).strip().partition("\n")[0].removeprefix("Error: ").rstrip(".")
        raise ControlError(
            "equation", f"got '{shown}', which cannot be set as MathML ({reason}); expected TeX mathematics"
        ) from None
