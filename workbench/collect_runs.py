"""What goes from a store when it must become smaller.

First what belongs to no run; then runs that did not end well, those that a newer one of the same content key replaces,
and the oldest of the rest; last those that the gallery shows. What runs, and what something refers to, stays.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from workbench.best_evidence import best_evidence
from workbench.disk_quota import size_of
from workbench.job import State
from workbench.record import Record
from workbench.store import NeededRun, Store, UnknownRun

__all__ = ["Collected", "collect"]

LEFT_ALONE = 3600.0
"""Seconds for which what belongs to no run is left alone: it may be on its way in."""


@dataclass
class Collected:
    """What went, or would go.

    Attributes:
        before, after: bytes that the store holds on this machine.
        runs: those that go.
        leftovers: folders and files that belonged to no run.
        needed: bytes of runs that something refers to.
    """

    before: int
    after: int
    runs: list[Record] = field(default_factory=list)
    leftovers: list[Path] = field(default_factory=list)
    needed: int = 0


def collect(store: Store, most: int | None, *, try_only: bool = False) -> Collected:
    """Make room in a store.

    Args:
        store: the user's own forgets runs; of one on a server, only the copies on this machine go.
        most: bytes that it may hold; None to remove only what belongs to no run.
        try_only: say what would go, and leave it.

    Raises:
        StoreError: the store cannot be read or written to.
    """
    if not try_only:
        store.sweep()
    before = store.room.held()
    holdings = store.holdings()
    sizes = {record.run: size_of(place) for record, place, _ in holdings}
    pinned = {record.run for record, _, pins in holdings if pins}
    found = Collected(before, before, needed=sum(sizes[run] for run in pinned))
    for place in leftovers(store.folder, set(sizes)):
        found.leftovers.append(place)
        found.after -= size_of(place)
        if not try_only:
            remove(place)
    for record in by_worth([record for record, _, _ in holdings]):
        if most is None or found.after <= most:
            break
        if record.run in pinned or not record.state.ended or not sizes[record.run]:
            continue
        if not try_only and not drop(store, record):
            continue
        found.runs.append(record)
        found.after -= sizes[record.run]
    return found


def drop(store: Store, record: Record) -> bool:
    """Have a run go; False when something refers to it since, or it is gone already."""
    if store.tracking.remote:
        store.forget_copy(record)
        return True
    try:
        store.forget(record.run)
    except (NeededRun, UnknownRun):
        return False
    return True


def by_worth(records: list[Record]) -> list[Record]:
    """Runs, given newest first; those first that are missed least."""
    newest: set[str] = set()
    replaced: set[str] = set()
    done: dict[str, list[Record]] = {}
    for record in records:
        if record.state is State.DONE:
            if record.key in newest:
                replaced.add(record.run)
            newest.add(record.key)
            done.setdefault(record.study, []).append(record)
    shown = {one["run"] for of_study in done.values() for one in best_evidence(of_study).values()}

    def worth(record: Record) -> tuple[int, float]:
        kind = 0 if record.state is not State.DONE else 1 if record.run in replaced else 3 if record.run in shown else 2
        return kind, record.started or 0.0

    return sorted(records, key=worth)


def leftovers(folder: Path, runs: set[str]) -> Iterator[Path]:
    """What lies in a store's folder and belongs to no run: what was set aside, and what was never finished."""
    yield from folder.glob("index/*/*.damaged")
    strays = [place for place in folder.glob("artifacts/*") if place.name not in runs]
    parts = [p for form in ("*.part", "index/*/*.part", "artifacts/*/*.part") for p in folder.glob(form)]
    for place in (*strays, *(part for part in parts if part.parent not in strays)):
        try:
            if time.time() - place.stat().st_mtime > LEFT_ALONE:
                yield place
        except OSError:
            continue


def remove(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place, ignore_errors=True)
    else:
        place.unlink(missing_ok=True)
