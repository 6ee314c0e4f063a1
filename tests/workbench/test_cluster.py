"""Workers of a real Dask cluster: a scheduler and two workers as separate processes."""

import json
import os
import re
import subprocess
import sys
import time
from contextlib import contextmanager, nullcontext
from pathlib import Path

import psutil
import pytest

from workbench.job import State
from workbench.registry import registry
from workbench.run_protocol import Cancelled
from workbench.runner import JobFailed, Request, Runner
from workbench.store import Store
from workbench.sweep import Sweep

STUDIES = Path(__file__).parent.parent / "studies"


@contextmanager
def started(module, *options, folder, ready):
    """A process of Dask's command line; gives what its log says once it is ready."""
    log = folder / f"{module}-{time.monotonic_ns()}.log"
    environment = {**os.environ, "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "null", "OMP_NUM_THREADS": "1"}
    with log.open("wb") as out:
        command = [sys.executable, "-m", f"distributed.cli.dask_{module}", *options]
        process = subprocess.Popen(command, stdout=out, stderr=out, env=environment, cwd=folder)
    try:
        end = time.monotonic() + 90
        while not (found := re.search(ready, log.read_text())):
            assert process.poll() is None and time.monotonic() < end, log.read_text()
            time.sleep(0.1)
        yield found
    finally:
        for one in [*psutil.Process(process.pid).children(recursive=True), process]:
            one.kill()
        process.wait(10)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cluster")
        patch.setenv("ASSAY_STUDIES", str(STUDIES))
        patch.setenv("ASSAY_HOME", str(folder / "home"))
        yield folder


@pytest.fixture(scope="module")
def scheduler(place):
    options = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard")
    with started("scheduler", *options, folder=place, ready=r"Scheduler at:\s+(tcp://\S+)") as found:
        yield found[1]


@contextmanager
def workers(place, scheduler, count=1, *options):
    options = (scheduler, "--host", "127.0.0.1", "--nworkers", str(count), "--no-dashboard", *options)
    with started("worker", *options, folder=place, ready=rf"(?s)(Registered to:.*){{{count}}}"):
        yield


@pytest.fixture(scope="module")
def cluster(place, scheduler):
    with workers(place, scheduler, 2, "--nthreads", "1"):
        yield scheduler


def test_a_sweep_runs_over_both_workers(cluster):
    runner = Runner(Store(), workers=4, scheduler=cluster)
    try:
        study = registry().get("kitchen-sink")
        values = {"steps": 20, "pause": 0.05}
        sweep = Sweep(study, "climb", runner, {"amplitude": [1.0, 2.0, 3.0, 4.0]}, values=values).start()
        assert sweep.wait(120) and sweep.state is State.DONE, list(sweep.frame().error)
        hosts = {point.job.provenance["key"] for point in sweep.points}
        assert len(hosts) == 4
        began = sorted(point.job.started for point in sweep.points)
        assert began[1] - began[0] < 1.0, "two at once"
    finally:
        runner.close()


def test_a_cancel_ends_the_process_and_its_nanny_starts_another(cluster, place):
    runner = Runner(Store(), workers=2, scheduler=cluster)
    try:
        job = runner.submit(Request("kitchen-sink", "climb", {"steps": "1", "pause": "5"}))
        begun = None
        end = time.monotonic() + 30
        while begun is None and time.monotonic() < end:
            found = list((place / "home").rglob("begun.json"))
            begun = json.loads(found[0].read_text()) if found else None
            time.sleep(0.02)
        assert begun is not None
        asked = time.monotonic()
        job.cancel()
        with pytest.raises(Cancelled):
            job.wait(10)
        assert time.monotonic() - asked < 4, "through a scheduler and a nanny, on a machine that is busy"
        assert not psutil.pid_exists(begun["pid"])
        assert runner.submit(Request("kitchen-sink", "climb", {"steps": "3"}, "quick")).wait(60).complete
    finally:
        runner.close()


def test_a_worker_without_a_nanny_stops_at_its_next_step_and_says_so(place):
    options = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard")
    with (
        started("scheduler", *options, folder=place, ready=r"Scheduler at:\s+(tcp://\S+)") as found,
        workers(place, found[1], 1, "--nthreads", "1", "--no-nanny"),
    ):
        runner = Runner(Store(), workers=2, scheduler=found[1])
        try:
            job = runner.submit(Request("kitchen-sink", "climb", {"steps": "3", "pause": "2.5"}))
            end = time.monotonic() + 30
            while job.state is not State.RUNNING and time.monotonic() < end:
                time.sleep(0.02)
            time.sleep(0.3)
            said = []
            job.on_change(lambda: said.append(job.message))
            job.cancel()
            with pytest.raises(Cancelled):
                job.wait(20)
            assert any("next step" in sentence for sentence in said)
        finally:
            runner.close()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [(None, "has no workers"), (("--nthreads", "2"), "has 2 threads; start it with --nthreads 1")],
)
def test_a_cluster_that_cannot_run_our_jobs_is_refused_in_a_sentence(place, options, sentence):
    arguments = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard")
    with (
        started("scheduler", *arguments, folder=place, ready=r"Scheduler at:\s+(tcp://\S+)") as found,
        workers(place, found[1], 1, *options) if options else nullcontext(),
    ):
        runner = Runner(Store(), scheduler=found[1])
        try:
            with pytest.raises(JobFailed, match=re.escape(sentence)):
                runner.submit(Request("kitchen-sink", "climb", {"steps": "3"}, "quick", fresh=True)).wait(60)
        finally:
            runner.close()


def test_no_scheduler_there_is_a_sentence(place):
    runner = Runner(Store(), scheduler="tcp://127.0.0.1:9")
    try:
        with pytest.raises(JobFailed, match="no Dask scheduler answers at tcp"):
            runner.submit(Request("kitchen-sink", "climb", {"steps": "3"}, "quick", fresh=True)).wait(60)
    finally:
        runner.close()
