"""Numbers that a notebook names itself, so that its report can be checked by them.

from workbench.report.named import quantity

quantity("error", 0.0123, "V", rtol=1e-6)
"""

from __future__ import annotations

import math
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from typing import Any, Literal

from workbench.faces.markup import boxed, escape, number
from workbench.study import Stat

__all__ = ["MIME", "NAMED", "Named", "quantity"]

MIME = "application/vnd.assay.quantity+json"
KINDS = ("exact", "numeric", "statistical", "timing")


@dataclass(frozen=True)
class Named:
    """A named number with how it may differ when it is made again; shows itself in marimo and in Jupyter.

    Attributes:
        name: unique in the notebook.
        value: a number, a text or a yes and no.
        unit: of the value.
        kind: `exact`, `numeric` (within `atol + rtol·|value|`), `statistical` (within `interval`) or `timing` (never
            compared).
        rtol, atol: relative and absolute tolerance.
        interval: where a statistical value may lie.
    """

    name: str
    value: bool | int | float | str
    unit: str = ""
    kind: Literal["exact", "numeric", "statistical", "timing"] = "numeric"
    rtol: float = 1e-5
    atol: float = 0.0
    interval: tuple[float, float] | None = None

    @property
    def stat(self) -> Stat:
        """The number as a report shows it."""
        return Stat(self.name, self.value, self.unit)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        unit = f" {self.unit}" if self.unit else ""
        text = f"{self.name} = {number(self.value)}{unit}"
        return {MIME: asdict(self), "text/plain": text, "text/html": boxed(f"<p>{escape(text)}</p>")}


NAMED: ContextVar[list[Named] | None] = ContextVar("named", default=None)
"""Takes what a notebook names while it runs for a report."""


def quantity(
    name: str, value: bool | int | float | str, unit: str = "", *,
    kind: Literal["exact", "numeric", "statistical", "timing"] | None = None, rtol: float = 1e-5, atol: float = 0.0,
    interval: tuple[float, float] | None = None,
) -> Named:  # fmt: skip
    """Name a number; a report keeps it, and `assay verify` compares it.

    Args:
        name, value, unit, rtol, atol, interval: see `Named`.
        kind: *statistical* when there is an interval, *numeric* for other floats, *exact* for the rest, when left out.

    Raises:
        ValueError: an empty name, a value that is no scalar, a negative tolerance, a kind that is not known, or an
            interval that its kind does not go with.
    """
    value = value.item() if hasattr(value, "item") else value  # pyright: ignore[reportAttributeAccessIssue]
    if not isinstance(value, (bool, int, float, str)):
        raise ValueError(f"value: got {type(value).__name__} for {name!r}; expected a number, a text, or yes and no.")
    if not str(name).strip():
        raise ValueError("name: got an empty one; expected a name that no other quantity of the notebook has.")
    if kind is None:
        kind = "statistical" if interval else "numeric" if isinstance(value, float) else "exact"
    if kind not in KINDS:
        raise ValueError(f"kind: got {kind!r}; expected one of {', '.join(KINDS)}.")
    if (kind == "statistical") != (interval is not None):
        raise ValueError(f"interval: got {interval!r} for a {kind} quantity; expected two ends for a statistical one.")
    if not (rtol >= 0 and atol >= 0 and math.isfinite(rtol + atol)):
        raise ValueError(f"rtol, atol: got {rtol!r}, {atol!r}; expected finite numbers of at least 0.")
    ends = None if interval is None else (float(interval[0]), float(interval[1]))
    named = Named(str(name), value, unit, kind, float(rtol), float(atol), ends)
    taken = NAMED.get()
    if taken is not None:
        taken.append(named)
    return named
