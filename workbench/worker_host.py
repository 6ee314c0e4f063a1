"""The process that holds the workers: a Dask scheduler and one nanny a worker, on loopback, encrypted.

It runs as `python -m workbench.worker_host`, apart from the faces: it reads its order from standard input, answers with
the scheduler's address, starts more workers as it is told, and ends its workers and itself as soon as standard input
ends, which is also what happens when the process that started it is killed. Being apart, workers never import a face's
main module, a face's environment stays as it is, and a Ctrl-C in a terminal does not reach them.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distributed import Worker

__all__ = ["TOPIC", "dask_setup", "die_with_parent", "execute"]

TOPIC = "assay"
SETTINGS: dict[str, Any] = {
    "distributed.worker.multiprocessing-method": "spawn",
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,  # the system ends workers first; the runner says so
    "distributed.worker.profile.enabled": False,
    "distributed.worker.http.routes": [],
    "distributed.scheduler.allowed-failures": 0,  # a job whose worker died is never run again behind anyone's back
    "distributed.scheduler.worker-ttl": None,  # a kernel that holds the interpreter for minutes is not dead
    "distributed.deploy.lost-worker-timeout": "3650 days",  # else a nanny whose worker dies twice 15 s apart is ended
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.scheduler.http.routes": [],
    "distributed.admin.low-level-log-length": 10,
    "distributed.diagnostics.nvml": False,
}


def execute(order: str) -> str:
    """Run an order in the worker that this is called in; returns the receipt as JSON."""
    from distributed import get_worker

    from workbench.execution import Order
    from workbench.execution import execute as run

    worker = get_worker()
    return json.dumps(run(Order.from_text(order), lambda message: worker.log_event(TOPIC, message), worker.address))


def dask_setup(worker: Worker) -> None:
    """Make a worker's process ready before it takes jobs: one thread, low priority, first to go when memory is out."""
    import faulthandler
    import logging

    die_with_parent()
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
        score.write("500")
    faulthandler.enable()
    logging.getLogger("distributed").setLevel(logging.ERROR)
    import torch

    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    import workbench.execution  # noqa: F401  # what every job needs is imported while nobody waits

    with contextlib.suppress(OSError, AttributeError):
        os.nice(5)  # a face must stay quick while a job runs; not before, for people wait for a worker to start


def die_with_parent(how: signal.Signals = signal.SIGKILL) -> None:
    """Ask Linux to end this process when its parent ends; the default does so while a kernel holds the interpreter."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(1, how, 0, 0, 0)  # PR_SET_PDEATHSIG


async def hold(order: dict[str, Any]) -> None:
    """Hold the workers until standard input ends."""
    from dask.config import set as configure
    from distributed import LocalCluster
    from distributed.security import Security

    wanted: asyncio.Queue[int] = asyncio.Queue()
    following = (asyncio.get_running_loop(), wanted)
    threading.Thread(target=listen, args=following, name="assay-input", daemon=True).start()
    environ = {name: str(value) for name, value in order["environ"].items()}
    configure({
        **SETTINGS,
        "temporary-directory": order["folder"],
        "distributed.nanny.pre-spawn-environ": environ,
    })  # fmt: skip
    cluster = await LocalCluster(
        n_workers=order["workers"],
        threads_per_worker=1,
        processes=True,
        memory_limit=0,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        scheduler_kwargs={"dashboard": False},
        security=Security(**order["security"]),
        preload=["workbench.worker_host"],
        silence_logs=False,
        asynchronous=True,
    )
    print(json.dumps({"address": cluster.scheduler_address}), flush=True)
    os.dup2(2, 1)  # nobody reads on; what a worker prints between two jobs goes to the log
    while True:
        cluster.scale(await wanted.get())


def listen(loop: asyncio.AbstractEventLoop, wanted: asyncio.Queue[int]) -> None:
    """Take from each line of standard input how many workers there should be; at its end, end everything."""
    import psutil

    for line in sys.stdin:
        loop.call_soon_threadsafe(wanted.put_nowait, int(line))
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            process.kill()
    os._exit(0)


def main() -> None:
    asyncio.run(hold(json.loads(sys.stdin.readline())))


if __name__ == "__main__":
    main()
