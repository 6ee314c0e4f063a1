"""How much of the disk runs may hold.

Nothing goes by itself: a store that holds as much as it may keeps no further run and says so.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from workbench.controls import ControlError
from workbench.sizes import size_text, size_typed
from workbench.store_tracking import StoreError

__all__ = ["Room", "quota", "size_of"]

DEFAULT = "20 GB"
MEASURED_FOR = 60.0
ON_THEIR_WAY = ("work", "live")


def quota() -> int | None:
    """Bytes that a store may hold: `ASSAY_QUOTA`, 20 GB when it is not set; None where it is 0, for no limit.

    Raises:
        ControlError: `ASSAY_QUOTA` is no size.
    """
    return size_typed("ASSAY_QUOTA", os.environ.get("ASSAY_QUOTA") or DEFAULT) or None


def size_of(place: Path) -> int:
    """Bytes of a file, or of all files below a folder; what goes meanwhile counts as nothing."""
    total, stack = 0, [str(place)]
    while stack:
        here = stack.pop()
        try:
            with os.scandir(here) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        stack.append(entry.path)
                    else:
                        total += entry.stat(follow_symlinks=False).st_size
        except NotADirectoryError:
            total += os.stat(here).st_size
        except OSError:
            continue
    return total


class Room:
    """What a store holds on this machine, jobs that are on their way aside.

    Args:
        folder: of the store.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._measured = (-MEASURED_FOR, 0)

    def held(self) -> int:
        """Bytes, measured now."""
        total = sum(size_of(place) for place in self._folder.glob("*") if place.name not in ON_THEIR_WAY)
        self._measured = (time.monotonic(), total)
        return total

    def check(self, place: str) -> None:
        """Refuse a further run when the store holds as much as it may, as measured within the last minute.

        Raises:
            StoreError: it does.
        """
        try:
            most = quota()
        except ControlError as error:
            raise StoreError(f"The store at {place} cannot be used: {error}.") from None
        if most is None:
            return
        when, total = self._measured
        if time.monotonic() - when >= MEASURED_FOR or total > most:
            total = self.held()
        if total > most:
            said = f"{size_text(total)} of the {size_text(most)} that it may (ASSAY_QUOTA)"
            raise StoreError(f"The store at {place} holds {said}; `assay gc` makes room.")
