"""Workers of a running Dask cluster, in the place of processes of our own.

They must have one thread each, hold the same code, and see the folder that jobs are written to; all of this is asked
before the first job, and what is not so is said in one sentence.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import platform
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.environment import THREAD_VARIABLES
from workbench.worker_host import TOPIC, execute
from workbench.worker_pool import PoolError, aside, end_process, listen

if TYPE_CHECKING:
    from distributed import Client, Future, Nanny, Worker

__all__ = ["ClusterPool"]

PATIENCE = 10.0


class ClusterPool:
    """A client of a scheduler that runs elsewhere; does what a `WorkerPool` does.

    Args:
        address: of the scheduler, such as `tcp://10.0.0.5:8786`.
        folder: for what is put aside; it and the jobs' folders beside it lie on a disk that the workers share.
        heard: is told every message of a job, in the loop's thread.
    """

    def __init__(self, address: str, folder: Path, heard: Callable[[dict[str, Any]], None]) -> None:
        self._address = address
        self._folder = folder
        self._heard = heard
        self._client: Client | None = None
        self.can_end = True

    @property
    def alive(self) -> bool:
        """The scheduler answers."""
        return self._client is not None and self._client.status == "running"

    async def start(self) -> None:
        """Connect, and ask every worker what it is.

        Raises:
            PoolError: no scheduler or worker, or one that cannot run our jobs.
        """
        from distributed import Client

        self._folder.mkdir(parents=True, exist_ok=True)
        try:
            self._client = await Client(
                self._address, asynchronous=True, set_as_default=False, name="assay", timeout=PATIENCE
            )
        except (OSError, ValueError, TimeoutError) as error:
            raise PoolError(f"scheduler: no Dask scheduler answers at {self._address}") from error
        probe = self._folder / f"probe-{uuid.uuid4().hex}"
        await aside(probe.touch)
        try:
            told = await self._client.run(introduce, str(probe), on_error="return")
        finally:
            await aside(probe.unlink)
        try:
            self._check(told)
        except PoolError:
            await self.stop()
            raise
        self.can_end = all(facts["nanny"] for facts in told.values())
        listen(self._client, TOPIC, self._heard)

    def _check(self, told: dict[str, Any]) -> None:
        if not told:
            raise PoolError(f"scheduler: the one at {self._address} has no workers; start one with `dask worker`")
        here = code_digest()
        for worker, facts in sorted(told.items()):
            sentence = objection(facts, here, self._folder)
            if sentence:
                raise PoolError(f"scheduler: the worker at {worker} {sentence}")

    def submit(self, name: str, order: str) -> Future[str]:
        """Hand out an order; its future gives the receipt as JSON."""
        assert self._client is not None
        return self._client.submit(execute, order, key=name, pure=False, retries=0)

    def grow(self, workers: int) -> None:
        """Its workers are not ours to start."""

    async def end(self, begun: dict[str, Any]) -> bool:
        """Kill the process of a worker; its nanny starts another."""
        assert self._client is not None
        if not self.can_end:
            return False
        pid, created = begun["pid"], begun["created"]
        told = await self._client.run(
            end_process, pid, created, workers=[begun["worker"]], nanny=True, on_error="return"
        )  # fmt: skip
        return any(answer is True for answer in told.values())

    async def memory(self, begun: dict[str, Any]) -> int:
        """Bytes that a worker holds, as the scheduler last heard."""
        assert self._client is not None
        found = self._client.scheduler_info(n_workers=-1)["workers"].get(begun["worker"], {})
        return int(found.get("metrics", {}).get("memory", 0))

    async def death(self, begun: dict[str, Any] | None, error: Exception) -> str:
        """One sentence on how a worker ended."""
        if begun is None:
            return f"{type(error).__name__}: {error}"[:500]
        return f"The worker process {begun['pid']} at {begun['worker']} ended; its own log says why."

    async def stop(self) -> None:
        """Leave the cluster; its workers go on."""
        if self._client is not None:
            closing: Any = self._client.close(timeout=0.5)
            try:
                await asyncio.wait_for(closing, 1.0)
            except (TimeoutError, OSError):
                return

    def kill(self) -> None:
        """There is no process of ours to end."""


def code_digest() -> dict[str, str]:
    """What must be the same here and on a worker: our code, Python, and what computes numbers."""
    import numpy
    import torch

    digest = hashlib.sha256()
    for package in ("assay", "workbench"):
        found = importlib.util.find_spec(package)
        assert found is not None and found.origin is not None
        folder = Path(found.origin).parent
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return {
        "code": digest.hexdigest(), "python": platform.python_version(), "numpy": numpy.__version__,
        "torch": torch.__version__.partition("+")[0],
    }  # fmt: skip


def objection(facts: Any, here: dict[str, str], folder: Path) -> str:
    """Why a worker cannot run our jobs, as the end of a sentence; empty when it can."""
    if isinstance(facts, ModuleNotFoundError) or (isinstance(facts, dict) and facts["code"] != here["code"]):
        return "holds other code than this process; install the same"
    if isinstance(facts, BaseException):
        return f"does not answer: {facts}"
    for what in ("python", "torch", "numpy"):
        if facts[what] != here[what]:
            return f"has {what} {facts[what]}; here it is {here[what]}"
    if facts["threads"] != 1:
        return f"has {facts['threads']} threads; start it with --nthreads 1"
    return "" if facts["sees"] else f"does not see {folder}; share that disk with it"


def introduce(probe: str, dask_worker: Worker | Nanny) -> dict[str, Any]:
    """What a worker is; runs there, and makes its process ready for jobs."""
    import os

    import torch

    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    torch.set_num_threads(1)
    worker: Any = dask_worker
    return {
        **code_digest(), "threads": worker.state.nthreads, "nanny": worker.nanny is not None,
        "sees": Path(probe).exists(), "host": platform.node(), "executable": sys.executable,
    }  # fmt: skip
