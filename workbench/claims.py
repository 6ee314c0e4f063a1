"""Claims: what a paper says, what was measured, and the verdict that follows from the two alone.

An expectation is written before anything is run. A claim's function returns evidence: an estimate, its interval and
what the interval is over. The verdict is made here and nowhere else.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

__all__ = ["Above", "Below", "Claim", "Evidence", "Expectation", "Judgement", "NeedsScale", "Verdict", "Within"]

OVER = ("seeds", "recordings", "users", "prompts", "exact")


class Verdict(StrEnum):
    """The five words for what is known of a claim."""

    HOLDS = "holds"
    FAILS = "fails"
    INCONCLUSIVE = "inconclusive"
    NEEDS_SCALE = "needs scale"
    NOT_JUDGED = "not judged"

    @property
    def sign(self) -> str:
        """Where there is only text."""
        return {"holds": "✓", "fails": "✕", "inconclusive": "◐", "needs scale": "△", "not judged": "…"}[self.value]


@dataclass(frozen=True)
class Evidence:
    """What was measured for a claim.

    Attributes:
        estimate: the measured value, in the expectation's unit.
        interval: `(low, high)` around it; the estimate itself twice when `over` is `exact`.
        over: what the interval is over: `seeds`, `recordings`, `users`, `prompts`, another plural noun, or `exact`.
        n: how many of them; how many cases were computed when `exact`.
        note: one sentence that a reader needs beside the number.

    Raises:
        ValueError: a number that is not finite, an interval that does not hold its estimate, or `n` below 1.
    """

    estimate: float
    interval: tuple[float, float]
    over: str
    n: int = 1
    note: str = ""

    def __post_init__(self) -> None:
        low, high = float(self.interval[0]), float(self.interval[1])
        estimate = float(self.estimate)
        if math.isnan(estimate) or math.isnan(low) or math.isnan(high):
            raise ValueError(f"evidence: estimate {estimate} in [{low}, {high}] holds NaN.")
        if not low <= estimate <= high:
            raise ValueError(f"evidence: the interval [{low}, {high}] does not hold its estimate {estimate}.")
        if self.over == "exact" and low != high:
            raise ValueError(f"evidence: an exact value has no interval; got [{low}, {high}].")
        if self.n < 1:
            raise ValueError(f"evidence: n must be at least 1; got {self.n}.")
        object.__setattr__(self, "estimate", estimate)
        object.__setattr__(self, "interval", (low, high))
        object.__setattr__(self, "n", int(self.n))

    @classmethod
    def exact(cls, value: float, note: str = "", *, n: int = 1) -> Evidence:
        """Evidence without uncertainty: a number computed over `n` cases."""
        return cls(float(value), (float(value), float(value)), "exact", n, note)


@dataclass(frozen=True)
class NeedsScale:
    """A claim that cannot be decided here: why, and the command that would decide it."""

    reason: str
    command: str = ""


@dataclass(frozen=True)
class Expectation:
    """Where the measured value must lie for the claim to hold: above `low`, below `high`, or, where there are two
    bounds, from one to the other with both included.

    Attributes:
        low, high: the region's bounds; infinite where it is open.
        quantity: what is measured, in words.
        unit: its unit.
        at_least: fewest units (seeds, recordings, computed cases) that a verdict needs.
    """

    low: float = -math.inf
    high: float = math.inf
    quantity: str = ""
    unit: str = ""
    at_least: int = 1

    @property
    def words(self) -> str:
        """The region in words: `below 1e-6`, `0.2 to 0.4 Hz`."""
        unit = f" {self.unit}" if self.unit else ""
        low, high = f"{self.low:.6g}".replace("-", "−"), f"{self.high:.6g}".replace("-", "−")
        if math.isinf(self.low):
            return f"below {high}{unit}"
        if math.isinf(self.high):
            return f"above {low}{unit}"
        return f"{low} to {high}{unit}"

    def verdict(self, evidence: Evidence) -> Verdict:
        """Inside *holds*, outside *fails*, across a bound or too few units *inconclusive*."""
        low, high = evidence.interval
        if evidence.n < self.at_least:
            return Verdict.INCONCLUSIVE
        closed = math.isfinite(self.low) and math.isfinite(self.high)
        above = low >= self.low if closed or math.isinf(self.low) else low > self.low
        below = high <= self.high if closed or math.isinf(self.high) else high < self.high
        if above and below:
            return Verdict.HOLDS
        if (high < self.low or low > self.high) if closed else (high <= self.low or low >= self.high):
            return Verdict.FAILS
        return Verdict.INCONCLUSIVE

    def terms(self) -> dict[str, Any]:
        """The expectation as plain data, for its hash."""
        return {
            "low": repr(float(self.low)), "high": repr(float(self.high)), "quantity": self.quantity,
            "unit": self.unit, "at_least": self.at_least,
        }  # fmt: skip


def Above(low: float, quantity: str = "", *, unit: str = "", at_least: int = 1) -> Expectation:
    """The measured value lies above `low`: no effect at all is not an effect above 0."""
    return Expectation(low=float(low), quantity=quantity, unit=unit, at_least=at_least)


def Below(high: float, quantity: str = "", *, unit: str = "", at_least: int = 1) -> Expectation:
    """The measured value lies below `high`."""
    return Expectation(high=float(high), quantity=quantity, unit=unit, at_least=at_least)


def Within(low: float, high: float, quantity: str = "", *, unit: str = "", at_least: int = 1) -> Expectation:
    """The measured value lies between `low` and `high`, both included."""
    if not low < high:
        raise ValueError(f"expectation: the bounds {low}, {high} are not ascending.")
    return Expectation(float(low), float(high), quantity, unit, at_least)


@dataclass(frozen=True)
class Claim:
    """One claim of a paper.

    Attributes:
        id: its number, as the study counts.
        sentence: the claim, as the paper means it.
        function: from what it names to evidence; None for a claim that needs another scale.
        expects: where the evidence must lie.
        scale: why the claim cannot be decided here.
        needs: names that the function asks for.
        printed: the value that the paper prints, if it prints one, in the expectation's unit.
    """

    id: str
    sentence: str
    function: Callable[..., Evidence | NeedsScale] | None = None
    expects: Expectation | None = None
    scale: NeedsScale | None = None
    needs: tuple[str, ...] = ()
    printed: float | None = None


@dataclass(frozen=True)
class Judgement:
    """A claim with what is known of it now.

    Attributes:
        claim: the claim.
        verdict: the word.
        evidence: what was measured; None when not judged or when it needs scale.
        why: a sentence for *needs scale*, *not judged*, and an *inconclusive* from too few units.
        command: what would decide it, where that is known.
        stale: a sentence when the evidence was made with other controls than those set now, or by older code.
    """

    claim: Claim
    verdict: Verdict
    evidence: Evidence | None = None
    why: str = ""
    command: str = ""
    stale: str = field(default="", compare=False)

    def as_json(self) -> dict[str, Any]:
        """The judgement as plain data."""
        evidence, expects = self.evidence, self.claim.expects
        return {
            "id": self.claim.id,
            "sentence": self.claim.sentence,
            "verdict": str(self.verdict),
            "measured": None if evidence is None else evidence.estimate,
            "interval": None if evidence is None else list(evidence.interval),
            "over": None if evidence is None else evidence.over,
            "n": None if evidence is None else evidence.n,
            "expected": None if expects is None else expects.words,
            "quantity": "" if expects is None else expects.quantity,
            "unit": "" if expects is None else expects.unit,
            "note": self.why or ("" if evidence is None else evidence.note),
            "command": self.command,
        }


def judge(claim: Claim, outcome: Evidence | NeedsScale, *, stale: str = "") -> Judgement:
    """The verdict on a claim's outcome."""
    if isinstance(outcome, NeedsScale):
        return Judgement(claim, Verdict.NEEDS_SCALE, why=outcome.reason, command=outcome.command)
    if claim.expects is None:
        raise ValueError(f"claim {claim.id}: it was measured but has no expectation.")
    verdict = claim.expects.verdict(outcome)
    why = ""
    if outcome.n < claim.expects.at_least:
        units = "cases" if outcome.over == "exact" else outcome.over
        why = f"{outcome.n} of at least {claim.expects.at_least} {units} that a verdict needs."
    return Judgement(claim, verdict, outcome, why, stale=stale)
