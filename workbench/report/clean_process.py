"""A process of its own for a report: fresh, on one thread, and away from the caller's modules.

What a notebook imports, prints, registers or breaks stays there. The process gets one JSON object on standard input and
answers with one JSON object a line, progress (`say`, `fraction`) or a part of its answer; all else that it prints is
kept aside as its log.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from typing import Any

from workbench.environment import THREAD_VARIABLES

__all__ = ["answers", "clean_environment", "in_clean_process"]

LOG_SHOWN = 4000
GRACE = 10.0  # seconds that the process has to end when it is interrupted


def clean_environment() -> dict[str, str]:
    """The variables of this process with one thread for all numeric libraries and a fixed seed for hashes."""
    return os.environ | dict.fromkeys(THREAD_VARIABLES, "1") | {"PYTHONHASHSEED": "0", "PYTHONIOENCODING": "utf-8"}


def in_clean_process(
    module: str, order: Mapping[str, Any], on_progress: Callable[[str, float], None] | None = None, *,
    environment: Mapping[str, str] | None = None, seconds: float | None = None,
) -> tuple[dict[str, Any], str]:  # fmt: skip
    """Run a module in a process of its own until it ends.

    Args:
        module: run with `-m`, without the user's site folder and the current folder.
        order: given to it on standard input.
        on_progress: called with what goes on and a fraction, on this thread; an exception from it ends the process and
            comes out here.
        environment: its variables; those of `clean_environment` when left out.
        seconds: after which it is ended; None lets it take its time.

    Returns:
        what it answered, progress aside, and the end of what it printed beside that.

    Raises:
        TimeoutError: it took longer.
    """
    command = [sys.executable, "-s", "-P", "-m", module]
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, encoding="utf-8",
            env=clean_environment() if environment is None else environment, start_new_session=True,
        )  # fmt: skip
        late = threading.Event()
        watch = threading.Timer(seconds or 0.0, lambda: (late.set(), end(process)))
        watch.daemon = True
        if seconds is not None:
            watch.start()
        assert process.stdin is not None and process.stdout is not None
        answer: dict[str, Any] = {}
        try:
            with process.stdin as told:
                told.write(json.dumps(order))
            for line in process.stdout:
                said = json.loads(line) if line.startswith("{") else {}
                if "say" not in said:
                    answer |= said
                elif on_progress is not None:
                    on_progress(said["say"], said["fraction"])
            process.wait()
        finally:
            watch.cancel()
            process.stdout.close()
            end(process)
        if late.is_set():
            raise TimeoutError(f"its process took more than {seconds:g} seconds")
        log.seek(0)
        return answer, log.read()[-LOG_SHOWN:]


def end(process: subprocess.Popen[str]) -> None:
    """Have a process end: asked first, so that it can let go of its jobs."""
    for ask in (lambda: process.send_signal(signal.SIGINT), process.kill):
        if process.poll() is not None:
            return
        ask()
        try:
            process.wait(GRACE)
        except subprocess.TimeoutExpired:
            continue


def answers() -> tuple[dict[str, Any], Callable[[dict[str, Any]], None]]:
    """In the process itself: the order, and what sends an answer; standard output goes to the log from now on."""
    order = json.loads(sys.stdin.read())
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.stdout = sys.stderr

    def send(message: dict[str, Any]) -> None:
        answer.write(json.dumps(message, ensure_ascii=False) + "\n")
        answer.flush()

    return order, send
