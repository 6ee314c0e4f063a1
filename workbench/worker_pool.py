"""The worker processes as the runner uses them: start, hand out orders, end one, end all."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import psutil

from workbench.identity import THREAD_VARIABLES
from workbench.job import tail_of
from workbench.worker_host import TOPIC, execute

if TYPE_CHECKING:
    from distributed import Client, Future

__all__ = ["PoolError", "WorkerPool", "aside", "end_process", "unless"]

START_PATIENCE = 120.0
END_PATIENCE = 0.8
Value = TypeVar("Value")


class PoolError(RuntimeError):
    """The workers could not be started: one sentence."""


class WorkerPool:
    """The host process with its workers, and a client to it; belongs to one event loop.

    Args:
        workers: how many processes.
        folder: for what the host and the workers put aside.
        heard: is told every message of a job, in the loop's thread.
    """

    def __init__(self, workers: int, folder: Path, heard: Callable[[dict[str, Any]], None]) -> None:
        self._workers = workers
        self._folder = folder
        self._heard = heard
        self._host: subprocess.Popen[bytes] | None = None
        self._client: Client | None = None

    @property
    def alive(self) -> bool:
        """The host process runs."""
        return self._host is not None and self._host.poll() is None

    @property
    def log(self) -> str:
        """The end of what the host said."""
        return tail_of(self._folder / "host.log")

    async def start(self) -> None:
        """Start the host and connect to it.

        Raises:
            PoolError: it did not start.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / "host.log").open("ab") as log:
            self._host = subprocess.Popen(
                [sys.executable, "-P", "-m", "workbench.worker_host"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=host_environment(),
                start_new_session=True,
            )  # fmt: skip
        try:
            address, security = await asyncio.wait_for(aside(self._introduce), START_PATIENCE)
            from distributed import Client

            self._client = await Client(
                address,
                security=security,
                asynchronous=True,
                set_as_default=False,
                name="assay",
                timeout=START_PATIENCE,
            )
        except Exception as error:
            said = self.log.strip().rpartition("\n")[2] or f"{type(error).__name__}: {error}"
            self.kill()
            raise PoolError(f"No worker process could be started: {said}") from error

        async def hear(event: tuple[float, dict[str, Any]]) -> None:
            self._heard(event[1])

        self._client.subscribe_topic(TOPIC, hear)

    def _introduce(self) -> tuple[str, Any]:
        """Give the host its order; returns the scheduler's address and the credentials that only the two know."""
        from distributed.security import Security

        host = self._host
        assert host is not None and host.stdin is not None and host.stdout is not None
        security = Security.temporary()  # anyone on this machine can reach a loopback port, and a task is code
        names = [name for name in security.__slots__ if name.startswith("tls_")]
        secret = {n: v for n in names if isinstance(v := getattr(security, n), str)} | {"require_encryption": True}
        environ = dict.fromkeys(THREAD_VARIABLES, "1")
        order = {"workers": self._workers, "folder": str(self._folder), "security": secret, "environ": environ}
        host.stdin.write(json.dumps(order).encode() + b"\n")
        host.stdin.flush()
        for line in host.stdout:
            with contextlib.suppress(ValueError, TypeError, KeyError):
                return str(json.loads(line)["address"]), security
        raise PoolError(f"the host of the workers ended with {host.wait()}")

    def submit(self, name: str, order: str) -> Future[str]:
        """Hand out an order; its future gives the receipt as JSON."""
        assert self._client is not None
        return self._client.submit(execute, order, key=name, pure=False, retries=0)

    async def stop(self) -> None:
        """End the host and all workers."""
        if self._client is not None:
            with contextlib.suppress(Exception):
                closing: Any = self._client.close(timeout=0.5)
                await asyncio.wait_for(closing, 1.0)
        self.kill()

    def kill(self) -> None:
        """End the host and all workers at once; from any thread."""
        host = self._host
        if host is None:
            return
        with contextlib.suppress(OSError):
            assert host.stdin is not None
            host.stdin.close()  # the host ends its workers, then itself
        try:
            host.wait(2.0)
        except subprocess.TimeoutExpired:
            end_process(host.pid, None)
            host.wait()
        if host.stdout is not None:
            host.stdout.close()


def host_environment() -> dict[str, str]:
    """The environment of the host: modules are found where this process finds them, and nothing calls home."""
    found = [os.path.abspath(place or os.curdir) for place in sys.path]
    return {
        **os.environ,
        **dict.fromkeys(THREAD_VARIABLES, "1"),
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(place for place in found if os.path.exists(place))),
        "PYTHONUNBUFFERED": "1",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "DO_NOT_TRACK": "true",
    }


def end_process(pid: int, created: float | None) -> bool:
    """Kill a process with all that it started and see it gone, unless its number belongs to another one by now."""
    try:
        process = psutil.Process(pid)
        if created is not None and abs(process.create_time() - created) > 1:
            return False
        family = [*process.children(recursive=True), process]
    except psutil.Error:
        return False
    for member in family:
        with contextlib.suppress(psutil.Error):
            member.kill()
    psutil.wait_procs(family, timeout=END_PATIENCE)  # a process dies only when the kernel comes to it
    return True


async def aside(function: Callable[..., Value], *arguments: Any) -> Value:
    """Call a blocking function in a thread of its own, which does not hold up the end of the process."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Value] = loop.create_future()

    def settle(value: Any, error: BaseException | None) -> None:
        if not done.done():
            done.set_exception(error) if error is not None else done.set_result(value)

    def work() -> None:
        value, error = None, None
        try:
            value = function(*arguments)
        except BaseException as raised:
            error = raised
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, value, error)

    threading.Thread(target=work, name=f"assay-{getattr(function, '__name__', 'work')}", daemon=True).start()
    return await done


async def unless(awaited: Awaitable[Any], stop: asyncio.Event) -> bool:
    """Wait for something unless the event comes first, which cancels it; returns whether it came.

    Raises:
        whatever it raises.
    """
    work, asked = asyncio.ensure_future(awaited), asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({work, asked}, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            work.result()
            return True
        return False
    finally:
        work.cancel()
        asked.cancel()
