"""Newest first: compute what was asked for last, and skip what was overtaken while something else was computed.

A slider that is dragged asks for a figure many times a second. Each answer that is computed is delivered, in order, so
that a long drag shows something on its way; the last one delivered is always the answer to the last one asked.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Latest"]

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")
NOTHING = object()


class Latest(Generic[Asked, Answer]):
    """Answers the newest question, off the caller's thread.

    There is a thread only while there is something to do, so nothing has to be ended for it to be freed. A question
    is never computed beside another one of the same `Latest`.

    Args:
        compute: from what was asked to its answer; may be slow.
        deliver: called with what was asked and its answer, on the thread that computed it.
        failed: called with what was asked and the exception when `compute` or `deliver` raised; when left out, the
            exception goes to `threading.excepthook`.
    """

    def __init__(
        self,
        compute: Callable[[Asked], Answer],
        deliver: Callable[[Asked, Answer], None],
        failed: Callable[[Asked, Exception], None] | None = None,
    ) -> None:
        self._compute = compute
        self._deliver = deliver
        self._failed = failed
        self._state = threading.Condition()
        self._waiting: object = NOTHING
        self._busy = False
        self._closed = False

    def ask(self, question: Asked) -> None:
        """Ask; a question that waits is replaced. Returns at once."""
        with self._state:
            if self._closed:
                return
            self._waiting = question
            if self._busy:
                return
            self._busy = True
        threading.Thread(target=self._work, name="assay-latest", daemon=True).start()

    @property
    def overtaken(self) -> bool:
        """A newer question waits: what is computed now will be delivered, but is old already."""
        return self._waiting is not NOTHING

    def settle(self, timeout: float | None = None) -> bool:
        """Wait until the newest question is answered; False when that took longer than `timeout` seconds."""
        until = None if timeout is None else time.monotonic() + timeout
        with self._state:
            while self._busy:
                left = None if until is None else until - time.monotonic()
                if left is not None and left <= 0:
                    return False
                self._state.wait(left)
        return True

    def close(self) -> None:
        """Drop what waits and deliver nothing any more; what is being computed goes on to its end."""
        with self._state:
            self._closed = True
            self._waiting = NOTHING

    def _work(self) -> None:
        while True:
            with self._state:
                if self._waiting is NOTHING:
                    self._busy = False
                    self._state.notify_all()
                    return
                question: Asked = self._waiting  # type: ignore[assignment]
                self._waiting = NOTHING
            try:
                answer = self._compute(question)
                if not self._closed:
                    self._deliver(question, answer)
            except Exception as error:
                self._fail(question, error)

    def _fail(self, question: Asked, error: Exception) -> None:
        if self._closed:
            return
        if self._failed is None:
            threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread())))
            return
        try:
            self._failed(question, error)
        except Exception:
            threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread())))
