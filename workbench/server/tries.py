"""How often somebody may try a password."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

__all__ = ["Tries"]


class Tries:
    """Failures by key within a span of time; whoever has too many waits.

    Args:
        limit: how many failures are let through.
        seconds: the span that they are counted in.
        clock: seconds that only grow.
    """

    KEYS = 10_000

    def __init__(self, limit: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.limit = limit
        self.seconds = seconds
        self._clock = clock
        self._failures: dict[str, deque[float]] = {}
        self._lock = threading.Lock()

    def wait(self, key: str) -> float:
        """Seconds until the next try of a key; 0 when it may try now."""
        with self._lock:
            found, now = self._failures.get(key), self._clock()
            while found and found[0] <= now - self.seconds:
                found.popleft()
            return 0.0 if not found or len(found) < self.limit else found[0] + self.seconds - now

    def failed(self, key: str) -> None:
        """Count a failure."""
        with self._lock:
            now = self._clock()
            if len(self._failures) >= self.KEYS:
                old = [k for k, times in self._failures.items() if not times or times[-1] <= now - self.seconds]
                for k in old or [next(iter(self._failures))]:
                    del self._failures[k]
            self._failures.setdefault(key, deque(maxlen=self.limit)).append(now)

    def passed(self, key: str) -> None:
        """Forget the failures of a key."""
        with self._lock:
            self._failures.pop(key, None)
