"""The worker processes as the runner uses them: start, hand out orders, end one, end all."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import psutil

from workbench.environment import THREAD_VARIABLES
from workbench.job import tail_of
from workbench.worker_host import TOPIC, execute

if TYPE_CHECKING:
    from distributed import Client, Future

__all__ = ["Pool", "PoolError", "WorkerPool", "aside", "end_process", "listen", "unless"]

START_PATIENCE = 120.0
END_PATIENCE = 0.8
Value = TypeVar("Value")


class PoolError(RuntimeError):
    """The workers could not be started: one sentence."""


class Pool(Protocol):
    """Where jobs run: processes of our own, or a cluster's.

    Attributes:
        can_end: a job that does not listen can be ended with its process.
    """

    can_end: bool

    @property
    def alive(self) -> bool:
        """It takes jobs."""
        ...

    async def start(self) -> None:
        """Make it ready; raises PoolError when that cannot be."""
        ...

    def submit(self, name: str, order: str) -> Future[str]:
        """Hand out an order; its future gives the receipt as JSON."""
        ...

    def grow(self, workers: int) -> None:
        """Have at least so many workers, where it is ours to start them."""
        ...

    async def end(self, begun: dict[str, Any]) -> bool:
        """Kill the process that a job said it runs in, and see it gone."""
        ...

    async def memory(self, begun: dict[str, Any]) -> int:
        """Bytes that the process of a job holds, with those that it started."""
        ...

    async def death(self, begun: dict[str, Any] | None, error: Exception) -> str:
        """One sentence on how the process of a job ended."""
        ...

    async def stop(self) -> None:
        """Take no more jobs."""
        ...

    def kill(self) -> None:
        """End it at once; from any thread."""
        ...


class WorkerPool:
    """The host process with its workers, and a client to it; belongs to one event loop.

    Args:
        workers: how many processes to start with.
        folder: for what the host and the workers put aside.
        heard: is told every message of a job, in the loop's thread.
    """

    def __init__(self, workers: int, folder: Path, heard: Callable[[dict[str, Any]], None]) -> None:
        self._workers = workers
        self._folder = folder
        self._heard = heard
        self._host: subprocess.Popen[bytes] | None = None
        self._client: Client | None = None
        self.can_end = True

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
        listen(self._client, TOPIC, self._heard)

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

    def grow(self, workers: int) -> None:
        """Have at least so many processes."""
        if workers > self._workers and self._host is not None and self._host.stdin is not None:
            self._workers = workers
            with contextlib.suppress(OSError):  # the host has ended, which the next job finds
                self._host.stdin.write(b"%d\n" % workers)
                self._host.stdin.flush()

    async def end(self, begun: dict[str, Any]) -> bool:
        """Kill the process that runs a job; its nanny starts another."""
        return await aside(end_process, begun["pid"], begun["created"])

    async def memory(self, begun: dict[str, Any]) -> int:
        """Bytes that a worker holds, with the processes that it started."""
        return await aside(held_by, begun["pid"])

    async def death(self, begun: dict[str, Any] | None, error: Exception) -> str:
        """One sentence on how a worker ended, from what its nanny saw."""
        if begun is None:
            return f"{type(error).__name__}: {error}"[:500]
        for _ in range(80):
            if found := re.search(
                rf"Worker process {begun['pid']} (exited with status|was killed by signal) (\d+)", self.log
            ):
                break
            await asyncio.sleep(0.05)
        else:
            return "The worker process ended."
        number = int(found[2])
        if "status" in found[1]:
            return f"The worker process ended with status {number}."
        if number == signal.SIGKILL:
            return "The worker process was killed; perhaps the machine ran out of memory."
        return f"The worker process crashed ({signal.strsignal(number)}, signal {number})."

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


def listen(client: Client, topic: str, heard: Callable[[dict[str, Any]], None]) -> None:
    """Have what workers say on a topic told."""

    async def hear(event: tuple[float, dict[str, Any]]) -> None:
        heard(event[1])

    client.subscribe_topic(topic, hear)


def held_by(pid: int) -> int:
    """Bytes that a process and those it started hold; 0 when it is gone."""
    total = 0
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        for member in (process, *process.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                total += member.memory_info().rss
    return total


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
