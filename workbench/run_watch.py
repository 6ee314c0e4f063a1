"""What runs there are now, told to all pages that list them by one thread, which looks only while somebody listens."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from workbench.run_listing import Listed, RunListing
from workbench.run_rows import Row, rows_of
from workbench.store import StoreError

if TYPE_CHECKING:
    from workbench.runner import Runner

__all__ = ["RunWatch", "run_watch"]

TICK = 0.5
LOOK_AGAIN = 5.0  # seconds after which it is seen whether the process of a run is still there


class RunWatch:
    """The runs of a runner's store and the jobs of the runner.

    Args:
        runner: whose they are; one without a store has jobs only.
    """

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self._listing = RunListing(runner.store) if runner.store is not None else None
        self._lock = threading.Lock()
        self._listed: list[Listed] = []
        self._version: Any = None
        self._read = -LOOK_AGAIN
        self._listeners: list[Callable[[], None]] = []
        self._thread: threading.Thread | None = None

    def rows(self) -> list[Row]:
        """Every run, newest first, and what is on its way; from any thread.

        Raises:
            StoreError: the store cannot be read.
        """
        with self._lock:
            if self._listing is not None and self._stale(self._listing):
                version = self._listing.version
                self._listed = self._listing.read()
                self._version, self._read = version, time.monotonic()
            return rows_of(self._listed, self.runner.jobs())

    def _stale(self, listing: RunListing) -> bool:
        if listing.version != self._version:
            return True
        moving = any(not one.record.state.ended for one in self._listed)
        return moving and time.monotonic() - self._read >= LOOK_AGAIN

    def listen(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back when something changed, and once at first, at most twice a second, from another thread.

        Returns:
            what ends that.
        """
        with self._lock:
            self._listeners.append(callback)
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="assay-runs", daemon=True)
                self._thread.start()

        def stop() -> None:
            with self._lock, suppress(ValueError):
                self._listeners.remove(callback)

        return stop

    def _watch(self) -> None:
        seen: Any = None
        while True:
            with self._lock:
                if not self._listeners:
                    self._thread = None
                    return
                listeners = list(self._listeners)
            try:
                now = [(r.id, r.state, r.pins, r.job and (r.job.fraction, r.job.message)) for r in self.rows()]
            except StoreError as error:
                now = str(error)
            if now != seen:
                for tell in listeners:
                    try:
                        tell()
                    except Exception:
                        logging.getLogger(__name__).exception("a list of runs could not be told")
            seen = now
            time.sleep(TICK)


_here: list[RunWatch] = []
_making = threading.Lock()


def run_watch() -> RunWatch:
    """The watch over the runner of this process."""
    from workbench.runner import default_runner

    with _making:
        runner = default_runner()
        if not _here or _here[0].runner is not runner:
            _here[:] = [RunWatch(runner)]
        return _here[0]
