"""The lines of a list of runs: what is remembered, what is on its way, which of them somebody asks for and may see."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from workbench.controls import ControlError
from workbench.job import Job, State
from workbench.record import Record
from workbench.run_listing import Listed
from workbench.visitors import Visitor

__all__ = [
    "MINE", "Question", "Row", "asked", "chosen", "needed_by", "own_pins", "pin_of", "rows_of", "seen_by",
    "why_not_forget",
]  # fmt: skip

MINE = "me"
PINNED = "a pin"
LONGEST = 200
BY_URGENCY = (State.RUNNING, State.QUEUED, State.FAILED, State.LOST, State.CANCELLED, State.DONE)
SORTS = {
    "started": lambda row: row.record.started or float("inf"),
    "took": lambda row: row.record.took or 0.0,
    "study": lambda row: (row.record.study, row.record.experiment),
    "state": lambda row: BY_URGENCY.index(row.state),
}
FALLING = ("started", "took")
"""What is sorted from the largest down, unless it is asked for the other way round."""


@dataclass(frozen=True)
class Row:
    """A line of the list.

    Attributes:
        id: of the run; of its job while the store has no run of it.
        record: what is remembered of it.
        pins: what refers to it.
        job: that computes it in this process; None where none does.
    """

    id: str
    record: Record
    pins: tuple[str, ...] = ()
    job: Job | None = None

    @property
    def state(self) -> State:
        """As it is now; what a job of this process does is known before the store is told."""
        return self.record.state if self.job is None else self.job.state

    @property
    def kept(self) -> bool:
        """The store has a run of it."""
        return bool(self.record.run)


@dataclass(frozen=True)
class Question:
    """Which runs are asked for, and in which order.

    Attributes:
        find: words that a run must have: in its study, experiment, id, controls (also as `name=text`), preset or owner.
        study, state: those of one study or state; all where empty.
        who: those of one owner; `me` for one's own; all where empty.
        sort: one of `SORTS`.
        order: `up` or `down`; as is usual for what is sorted by where empty.
    """

    find: str = ""
    study: str = ""
    state: str = ""
    who: str = ""
    sort: str = "started"
    order: str = ""

    @property
    def falls(self) -> bool:
        """From the largest down."""
        return (self.order == "down") if self.order else self.sort in FALLING

    def as_query(self) -> dict[str, str]:
        """What an address says of it: what is not as usual."""
        usual = Question()
        return {f.name: v for f in fields(self) if (v := getattr(self, f.name)) != getattr(usual, f.name)}


def asked(query: Mapping[str, Any]) -> tuple[Question, list[str]]:
    """The question of an address, and a sentence for everything in it that cannot be and is passed over."""
    found, notices = Question(), []
    known = {"state": [str(state) for state in State], "sort": list(SORTS), "order": ["up", "down"]}
    for field in fields(Question):
        text = query.get(field.name)
        if text is None:
            continue
        try:
            if not isinstance(text, str) or len(text) > LONGEST:
                raise ControlError(field.name, f"got {str(text)[:40]!r}; expected at most {LONGEST} letters")
            if text and text not in known.get(field.name, [text]):
                raise ControlError(field.name, f"got {text[:40]!r}; expected one of {', '.join(known[field.name])}")
            found = replace(found, **{field.name: text})
        except ControlError as error:
            notices.append(f"The address says {error}.")
    return found, notices


def rows_of(listed: Iterable[Listed], jobs: Iterable[Job]) -> list[Row]:
    """What is remembered with the jobs of this process beside it, which may not be in the store yet."""
    found = [Row(one.record.run, one.record, one.pins) for one in listed]
    waiting = {key_of(row.record): i for i, row in reversed(list(enumerate(found))) if not row.record.state.ended}
    new: list[Row] = []
    for job in jobs:
        if job.state.ended:
            continue
        at = waiting.get((job.request.study, job.request.experiment, job.key))
        if at is None:
            new.append(Row(job.id, record_of_job(job), job=job))
        else:
            found[at] = replace(found[at], job=job)
    return [*new, *found]


def key_of(record: Record) -> tuple[str, str, str]:
    return record.study, record.experiment, record.key


def record_of_job(job: Job) -> Record:
    request = job.request
    seed = request.values.get("seed", "0")
    return Record(
        request.study, request.experiment, job.key, controls=request.values, values=request.values,
        preset=request.preset, device=request.device, seed=int(seed) if seed.isdigit() else 0, state=job.state,
        started=job.started, owner=request.owner,
    )  # fmt: skip


def seen_by(rows: Iterable[Row], who: Visitor) -> list[Row]:
    """Those that somebody may see; of a job that the store knows nothing of, only who may follow it."""
    found = []
    for row in rows:
        record, job = row.record, row.job
        follows = job is not None and who.may_follow(job.request.owner, job.holders)
        if follows or (row.kept and who.may_see(record.owner, record.controls)):
            found.append(row if follows or job is None else replace(row, job=None))
    return found


def chosen(rows: Iterable[Row], question: Question, who: Visitor) -> list[Row]:
    """Those that are asked for, in order; runs that are alike in it stay newest first."""
    words = question.find.lower().split()
    owner = who.name if question.who == MINE else question.who
    found = [
        row for row in rows
        if question.study in ("", row.record.study) and question.state in ("", row.state)
        and (not question.who or row.record.owner == owner) and all(word in text_of(row) for word in words)
    ]  # fmt: skip
    found.sort(key=SORTS["started"], reverse=True)
    if question.sort == "started":
        return found if question.falls else found[::-1]
    return sorted(found, key=SORTS[question.sort], reverse=question.falls)


def pin_of(who: Visitor) -> str:
    """What the store is told that a run is needed by, when somebody pins it in the list."""
    return f"{PINNED} by {who.name}" if who.name else PINNED


def own_pins(row: Row) -> list[str]:
    """Those pins that people set in the list, and not those of reports."""
    return [pin for pin in row.pins if pin == PINNED or pin.startswith(f"{PINNED} by ")]


def needed_by(row: Row) -> list[str]:
    """A sentence for all that keeps a run from being forgotten."""
    people = own_pins(row)
    return [pin.replace(PINNED, "Pinned") if pin in people else f"{pin} refers to it" for pin in row.pins]


def why_not_forget(row: Row, who: Visitor) -> str:
    """Why somebody cannot forget a run, in one sentence; empty where they can."""
    if why := who.why_not_change(row.record.owner):
        return why
    if not row.state.ended:
        return f"It is {row.state}; it can be forgotten once it has ended."
    if row.pins:
        rest = "; unpin it first" if len(own_pins(row)) == len(row.pins) else ""
        return f"{', '.join(needed_by(row))}{rest}."
    return ""


def text_of(row: Row) -> str:
    """What words are looked for in."""
    record = row.record
    values = " ".join(f"{name}={text} {name} {text}" for name, text in {**record.controls, **record.values}.items())
    parts = (record.study, record.experiment, row.id, record.preset, f"seed {record.seed}", record.owner, values)
    return " ".join(parts).lower()
