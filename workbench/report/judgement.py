"""How a quantity of a report compares with the same one made again.

| what came again | word |
|---|---|
| nothing of that name | *missing* |
| another type, length or unit; a digest elsewhere; a timing; nothing that was run | *not comparable*, and why |
| an equal value, NaN equal to NaN | *same* |
| a numeric value within `atol + rtol·|value|`, a statistical one within its interval | *within tolerance* |
| any other value | *drift*, and how far in tolerances |
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from workbench.comparison import Word
from workbench.report.quantities import Quantity

__all__ = ["Judged", "counted", "judge_all", "judge_one", "worst_first"]

ORDER = [Word.DRIFT, Word.MISSING, Word.NOT_COMPARABLE, Word.WITHIN, Word.SAME]
NUMBER = re.compile(r"(?<![\w.])[-−+]?\d+(?:[.,]\d+)*(?:[eE][-−+]?\d+)?")


@dataclass(frozen=True)
class Judged:
    """A quantity of a report beside the same one made again.

    Attributes:
        quantity: as the report has it.
        word: how they compare.
        now: its value now; None where there is none.
        tolerance: largest difference that counts as none, at the entry that is told of.
        far: the difference in tolerances; infinite where there is none or no difference can be taken.
        entry: of a list, the entry that differs most.
        why: for *missing* and *not comparable*, and where a drift is none of numbers.
    """

    quantity: Quantity
    word: Word
    now: Any = None
    tolerance: float = 0.0
    far: float = 0.0
    entry: int | None = None
    why: str = ""

    @property
    def label(self) -> str:
        """Its name, with the entry that differs."""
        return self.quantity.name if self.entry is None else f"{self.quantity.name}, entry {self.entry}"

    @property
    def then(self) -> Any:
        """The report's value, at the entry that differs most."""
        return at(self.quantity.value, self.entry)

    @property
    def again(self) -> Any:
        """The value now, at the same entry."""
        return at(self.now, self.entry)


def at(value: Any, entry: int | None) -> Any:
    return value[entry] if entry is not None and isinstance(value, list) else value


def judge_all(
    then: Sequence[Quantity],
    now: Sequence[Quantity],
    *,
    alike: bool,
    same_code: bool,
    skipped: Callable[[str], str] = lambda name: "",
) -> list[Judged]:
    """Judge every quantity of a report, and name those that came again without being in it.

    Args:
        then: of the report.
        now: made again.
        alike: the numeric environment is that of the report, so that digests must be equal.
        same_code: the code is that of the report, so that it must name the same quantities.
        skipped: from a name to why it was not made again; empty where it was.

    Returns:
        in the report's order; those that the report lacks at the end.
    """
    found: dict[str, Quantity] = {one.name: one for one in now}
    judged = []
    for one in then:
        if why := skipped(one.name):
            judged.append(Judged(one, Word.NOT_COMPARABLE, why=why))
        else:
            judged.append(judge_one(one, found.get(one.name), alike=alike))
    known = {one.name for one in then}
    for one in now:
        if one.name not in known and not skipped(one.name):
            lacking = Quantity(one.name, None, one.unit, one.kind)
            word = Word.MISSING if same_code and one.kind != "timing" else Word.NOT_COMPARABLE
            why = "the report lacks it" if word is Word.MISSING else "it is new since the report"
            judged.append(Judged(lacking, word, one.value, why=why))
    return judged


def worst_first(judged: Iterable[Judged]) -> list[Judged]:
    """Drift first, the farthest at the top; then what is missing or cannot be compared, and what is well."""
    return sorted(judged, key=lambda one: (ORDER.index(one.word), -one.far))


def judge_one(then: Quantity, now: Quantity | None, *, alike: bool) -> Judged:
    """Judge one quantity; `alike` as in `judge_all`."""
    if now is None:
        return Judged(then, Word.MISSING, why="it is not made any more")
    if then.kind == "timing":
        return Judged(then, Word.NOT_COMPARABLE, now.value, why="a timing is never compared")
    if then.unit != now.unit:
        return Judged(then, Word.NOT_COMPARABLE, now.value, why=f"its unit is {now.unit or 'none'} now")
    if shape(then.value) != shape(now.value):
        why = f"it is {shape(now.value)} now, {shape(then.value)} in the report"
        return Judged(then, Word.NOT_COMPARABLE, now.value, why=why)
    if equal(then.value, now.value) and believable(then):
        return Judged(then, Word.SAME, now.value)
    if then.of_bytes:
        if alike:
            return Judged(
                then, Word.DRIFT, now.value, far=math.inf, why="other bytes, where the arithmetic is the same"
            )
        return Judged(then, Word.NOT_COMPARABLE, now.value, why="other arithmetic need not give the same bytes")
    if isinstance(then.value, list):
        return judge_list(then, now, alike=alike)
    return judge_value(then, then.value, now.value, alike=alike)


def shape(value: Any) -> str:
    """What kind of value it is, in words; whole numbers and floats are one kind."""
    if isinstance(value, list):
        return f"a list of {len(value)}"
    names = {bool: "yes or no", int: "a number", float: "a number", str: "a text", type(None): "nothing"}
    return names[type(value)]


def equal(a: Any, b: Any) -> bool:
    """The same value; NaN is equal to NaN, and True is not 1."""
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, float) and isinstance(b, float) and math.isnan(a):
        return math.isnan(b)
    return isinstance(a, bool) == isinstance(b, bool) and a == b


def believable(quantity: Quantity) -> bool:
    """A statistical value lies in its own interval; one that does not was never written so."""
    value, interval = quantity.value, quantity.interval
    number = isinstance(value, (int, float)) and math.isfinite(value)
    return interval is None or not number or interval[0] <= value <= interval[1]


def judge_list(then: Quantity, now: Quantity, *, alike: bool) -> Judged:
    """A list by its entry that differs most."""
    entries = [judge_value(then, a, b, alike=alike) for a, b in zip(then.value, now.value, strict=True)]
    worst = min(range(len(entries)), key=lambda i: (ORDER.index(entries[i].word), -entries[i].far))
    one = entries[worst]
    return Judged(then, one.word, now.value, one.tolerance, one.far, worst, one.why)


def judge_value(quantity: Quantity, then: Any, now: Any, *, alike: bool) -> Judged:
    """One value beside another, by the kind of their quantity."""
    if equal(then, now) and believable(quantity):
        return Judged(quantity, Word.SAME, now)
    if quantity.kind == "exact" or isinstance(then, bool) or isinstance(now, bool):
        return Judged(quantity, Word.DRIFT, now, far=math.inf)
    if quantity.kind == "statistical" and quantity.interval is None:
        if alike:
            return Judged(quantity, Word.DRIFT, now, far=math.inf, why="other draws, where the arithmetic is the same")
        return Judged(quantity, Word.NOT_COMPARABLE, now, why="it rests on random draws, and its spread is not known")
    if isinstance(then, str) and isinstance(now, str):
        return judge_words(quantity, then, now)
    if not (finite(then) and finite(now)):
        return Judged(quantity, Word.DRIFT, now, far=math.inf)
    if quantity.interval is not None:
        return judge_draw(quantity, then, now)
    tolerance = quantity.atol + quantity.rtol * abs(then)
    return graded(quantity, now, abs(now - then), tolerance)


def graded(quantity: Quantity, now: Any, difference: float, tolerance: float) -> Judged:
    far = difference / tolerance if tolerance > 0 else math.inf
    return Judged(quantity, Word.WITHIN if far <= 1 else Word.DRIFT, now, tolerance, far)


def judge_draw(quantity: Quantity, then: float, now: float) -> Judged:
    """A statistical value beside its interval, which must hold the report's value too."""
    assert quantity.interval is not None
    low, high = quantity.interval
    half = (high - low) / 2
    middle = (low + high) / 2
    outside = max(abs(value - middle) for value in (then, now))
    why = "" if low <= then <= high else "the report’s value lies outside its own interval"
    far = outside / half if half > 0 else (0.0 if outside == 0 else math.inf)
    within = low <= then <= high and low <= now <= high
    return Judged(quantity, Word.WITHIN if within else Word.DRIFT, now, half, far, why=why)


def finite(value: Any) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and math.isfinite(value)


def judge_words(quantity: Quantity, then: str, now: str) -> Judged:
    """A sentence: its words are equal, its numbers too up to one in the last printed digit."""
    a, b = NUMBER.findall(then), NUMBER.findall(now)
    if NUMBER.split(then) != NUMBER.split(now) or len(a) != len(b):
        return Judged(quantity, Word.DRIFT, now, far=math.inf)
    far = max((printed_gap(x, y, quantity.rtol) for x, y in zip(a, b, strict=True)), default=0.0)
    return Judged(quantity, Word.WITHIN if far <= 1 else Word.DRIFT, now, far=far)


def printed_gap(then: str, now: str, rtol: float) -> float:
    """How far two printed numbers differ, in steps of their last digit."""
    a, b = map(printed, (then, now))
    if a is None or b is None:
        return 0.0 if then == now else math.inf
    step = max(a[1], b[1]) * (1 + 1e-9) + rtol * abs(a[0])
    return abs(a[0] - b[0]) / step


def printed(text: str) -> tuple[float, float] | None:
    """A printed number and the size of its last digit; None for what is none, such as a date."""
    plain = text.replace("−", "-").replace(",", "")
    try:
        value = float(plain)
    except ValueError:
        return None
    mantissa, _, power = plain.lower().partition("e")
    places = len(mantissa.partition(".")[2])
    return value, 10.0 ** (int(power or 0) - places)


def counted(judged: Iterable[Judged]) -> dict[Word, int]:
    """How many there are of each word, worst first; timings are left out."""
    found = dict.fromkeys(ORDER, 0)
    for one in judged:
        if one.quantity.kind != "timing":
            found[one.word] += 1
    return found
