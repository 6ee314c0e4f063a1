"""The pool: prepared values of this process, computed once and kept within a byte budget."""

from __future__ import annotations

import dataclasses
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

__all__ = ["POOL", "Pool", "size_of"]

DEFAULT_BUDGET = 2 * 1024**3


def size_of(value: Any, seen: set[int] | None = None) -> int:
    """Bytes that a value holds: arrays and tensors by their buffers, containers and objects by what is in them."""
    seen = set() if seen is None else seen
    if id(value) in seen:
        return 0
    seen.add(id(value))
    if isinstance(value, (str, bytes, int, float, complex, bool, type(None))):
        return sys.getsizeof(value)
    storage = getattr(value, "untyped_storage", None)
    if callable(storage):  # a tensor: views share one storage
        kept: Any = storage()
        if kept.data_ptr() in seen:
            return 0
        seen.add(kept.data_ptr())
        return int(kept.nbytes())
    if type(value).__module__.partition(".")[0] == "pandas" and hasattr(value, "memory_usage"):
        usage = value.memory_usage(deep=True)
        return int(usage.sum() if hasattr(usage, "sum") else usage)
    if hasattr(value, "nbytes"):
        return int(value.nbytes)
    total = sys.getsizeof(value, 64)
    if isinstance(value, Mapping):
        return total + sum(size_of(k, seen) + size_of(v, seen) for k, v in value.items())
    if isinstance(value, (list, tuple, set, frozenset)):
        return total + sum(size_of(v, seen) for v in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return total + sum(size_of(getattr(value, f.name), seen) for f in dataclasses.fields(value))
    return total + (size_of(vars(value), seen) if hasattr(value, "__dict__") and not isinstance(value, type) else 0)


class Pool:
    """Values by content key; the least recently used leave first when the budget is exceeded.

    Args:
        budget: bytes that may be kept. A single value above it is handed out but not kept.
    """

    def __init__(self, budget: int = DEFAULT_BUDGET) -> None:
        self.budget = budget
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[Any, int]] = OrderedDict()
        self._pending: dict[str, Future[Any]] = {}

    @property
    def used(self) -> int:
        """Bytes kept now."""
        with self._lock:
            return sum(size for _, size in self._kept.values())

    def get(self, key: str, compute: Callable[[], Any]) -> Any:
        """The value under a key; computed by the first who asks while the others wait. A failure reaches all of them
        and is not kept."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][0]
            waiting = self._pending.get(key)
            mine: Future[Any] = Future()
            if waiting is None:
                self._pending[key] = mine
        if waiting is not None:
            return waiting.result()
        try:
            value = compute()
            size = size_of(value)
        except BaseException as error:
            with self._lock:
                del self._pending[key]
            mine.set_exception(error)
            raise
        with self._lock:
            del self._pending[key]
            if size <= self.budget:
                self._kept[key] = (value, size)
                while sum(s for _, s in self._kept.values()) > self.budget:
                    self._kept.popitem(last=False)
        mine.set_result(value)
        return value

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._kept.clear()


POOL = Pool()
