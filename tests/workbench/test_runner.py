"""Jobs: progress and rows on the way, results that are kept, cancel at any time, and ends that are not a result."""

import os
import re
import subprocess
import sys
import threading
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import psutil
import pytest

from workbench.controls import ControlError
from workbench.limits import Limits
from workbench.registry import registry
from workbench.report import narrative
from workbench.run_protocol import Cancelled, LocalRun
from workbench.runner import JobFailed, Request, Runner, State, default_runner
from workbench.session import Session
from workbench.snapshot import Snapshot, settle
from workbench.store import Store

TROUBLES = '''
"""A study whose experiments end in every way but well."""
import os, signal, sys
from pathlib import Path
import numpy as np
from workbench.study import Paper, Run, Study, exact

study = Study("trouble-maker", paper=Paper("T", "0", "A", "V"), question="What can go wrong?", summary="All")
study.choice("end", "exit", choices={"exit": "exit", "segfault": "segfault", "kill": "kill"}, doc="How it ends.")
study.integer("count", 4, bounds=(1, 9), doc="How many.")


@study.experiment("Die", tables={"none": {"n": exact("int")}})
def die(run: Run, end: str) -> None:
    print("last words", flush=True)
    if end == "exit":
        os._exit(3)
    os.kill(os.getpid(), signal.SIGSEGV if end == "segfault" else signal.SIGKILL)


@study.experiment("Refuse", tables={"none": {"n": exact("int")}})
def refuse(run: Run, count: int) -> None:
    raise ValueError(f"count: got {count}; expected an even number of pairs.")


@study.experiment("Talk", tables={"none": {"n": exact("int")}})
def talk(run: Run, count: int) -> None:
    print("first word")
    print("filler " * 20_000)
    os.system("echo from a child")
    print("last word", file=sys.stderr)


def one(run: Run, item: int) -> dict[str, int]:
    print(f"item {item} runs", flush=True)
    if item == 2 and not (Path(os.environ["ASSAY_HOME"]) / "go").exists():
        np.linalg.svd(np.random.default_rng(0).normal(size=(4000, 4000)))
    return {"n": item}


@study.experiment("Item by item", tables={"items": {"n": exact("int")}})
def items(run: Run, count: int) -> None:
    print("process", os.getpid())
    for outcome in run.map(one, list(range(count)), "items"):
        run.row("items", **outcome)
'''


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runner")
    trouble = folder / "studies" / "troubles" / "trouble_maker.py"
    trouble.parent.mkdir(parents=True)
    trouble.write_text(TROUBLES)
    with pytest.MonkeyPatch.context() as patch:
        places = [Path(__file__).parent.parent / "studies", folder / "studies"]
        patch.setenv("ASSAY_STUDIES", os.pathsep.join(map(str, places)))
        patch.setenv("ASSAY_HOME", str(folder / "home"))
        yield folder / "home"


@pytest.fixture(scope="module")
def runner(home):
    """One warm worker for all tests here."""
    runner = Runner(Store(), warm=True)
    yield runner
    runner.close()


def submit(runner, experiment, study="kitchen-sink", *, preset="quick", fresh=False, **values):
    request = Request(study, experiment, {n: str(v) for n, v in values.items()}, preset, "cpu", fresh)
    return runner.submit(request)


def until(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.01)


def in_process(experiment, tmp_path, **values):
    """The same experiment without any machinery."""
    study = registry().get("kitchen-sink")
    snapshot = Snapshot(study, settle(study, {n: str(v) for n, v in values.items()}, "quick"))
    seed, tables = snapshot.settings.values["seed"], study.experiments[experiment].tables
    return snapshot.perform(experiment, LocalRun(seed, tables, directory=tmp_path))


def test_progress_and_rows_come_while_it_runs_and_the_digest_is_that_of_a_plain_run(runner, tmp_path):
    submit(runner, "climb").wait(60)  # the worker is there
    job = submit(runner, "climb", steps=60, pause=0.03)
    seen, live = [], job.result
    job.on_change(lambda: seen.append((job.fraction, job.message, len(live.tables["heights"]), job.state)))
    until(lambda: job.state is State.RUNNING)
    began = time.monotonic()
    until(lambda: job.fraction > 0 and len(live.tables["heights"]) > 0)
    assert time.monotonic() - began < 0.5
    result = job.wait(60)
    until(lambda: seen and seen[-1][3] is State.DONE)
    assert result is live and result.complete and job.fraction == 1.0 and not job.kept
    assert any(fraction < 1 and rows and "climbing" in message for fraction, message, rows, _ in seen)
    assert [rows for _, _, rows, _ in seen] == sorted(rows for _, _, rows, _ in seen)
    assert len({rows for _, _, rows, _ in seen}) > 5, "rows came one by one"
    assert list(result["heights"].step) == list(range(60))
    assert result.digest == in_process("climb", tmp_path, steps=60, pause=0.03).digest
    assert result.files["wave.csv"].is_file() and result.files["wave.csv"].is_relative_to(runner.store.folder)


def test_listeners_are_called_at_most_twenty_times_a_second(runner):
    job = submit(runner, "climb", steps=300, pause=0.004)
    calls = []
    job.on_change(lambda: calls.append(time.monotonic()))
    job.wait(60)
    time.sleep(0.2)
    assert all(later - earlier > 0.045 for earlier, later in pairwise(calls))


def test_an_equal_request_joins_and_another_does_not(runner):
    job = submit(runner, "climb", steps=30, pause=0.02)
    assert submit(runner, "climb", steps="30", pause="0.020") is job
    other = submit(runner, "climb", steps=31, pause=0.02)
    assert other is not job and other.key != job.key
    job.wait(60), other.wait(60)
    assert runner.jobs()[:2] == [other, job] and runner.job(job.id) is job


def test_what_is_kept_answers_at_once_and_fresh_runs_again(runner):
    first = submit(runner, "climb", amplitude=2)
    first.wait(60)
    again = submit(runner, "climb", amplitude=2.0)
    assert again.state is State.DONE and again.kept and again is not first
    assert again.result.digest == first.result.digest and again.provenance["run"] == first.provenance["run"]
    assert again.result.files["wave.csv"].read_text().startswith("t,y")
    fresh = submit(runner, "climb", amplitude=2, fresh=True)
    fresh.wait(60)
    assert not fresh.kept and fresh.provenance["run"] != first.provenance["run"]
    assert fresh.result.digest == first.result.digest


def test_stages_run_in_one_job_and_a_kept_one_is_used(runner):
    job = submit(runner, "repeats", amplitude=3)
    job.wait(60)
    assert job.stages["climb"].complete and len(job.stages["climb"]["heights"]) == 5
    assert submit(runner, "climb", amplitude=3).kept, "the first stage was kept on its own"
    fresh = submit(runner, "repeats", amplitude=3, fresh=True)
    fresh.wait(60)
    assert fresh.stages["climb"].files == submit(runner, "climb", amplitude=3).result.files, "it did not run again"
    assert fresh.result.digest == job.result.digest
    kept = submit(runner, "repeats", amplitude=3)
    assert kept.kept and kept.stages["climb"].complete


def test_provenance_says_all_that_the_numbers_depend_on(runner):
    job = submit(runner, "climb", amplitude=2)
    job.wait(60)
    facts = job.provenance
    assert {"run", "seed", "data", "code", "revision", "versions", "device", "threads", "started", "took"} <= set(facts)
    assert facts["threads"] == 1 and set(facts["thread_variables"].values()) == {"1"}
    assert {"python", "numpy", "torch"} <= set(facts["versions"]) and facts["peak_memory"] > 1e6
    assert facts["key"] == job.key


def test_a_cooperative_cancel_keeps_the_worker_and_a_queued_job_never_begins(runner):
    running = submit(runner, "climb", steps=2000, pause=0.01)
    queued = submit(runner, "climb", steps=2001, pause=0.01)
    until(lambda: running.fraction > 0)
    asked = time.monotonic()
    queued.cancel()
    with pytest.raises(Cancelled):
        queued.wait(1)
    assert queued.started is None
    running.cancel()
    with pytest.raises(Cancelled):
        running.wait(5)
    assert time.monotonic() - asked < 0.9, "nothing had to be killed"
    assert not running.result.complete and len(running.result["heights"]) > 0
    running.cancel()  # nothing happens


def test_a_cancel_in_a_long_kernel_takes_two_seconds_and_finished_items_never_run_again(runner, home):
    job = submit(runner, "items", "trouble-maker")
    until(lambda: "item 2 runs" in job.log)
    worker = psutil.Process(int(job.log.split()[1]))
    time.sleep(0.3)
    asked = time.monotonic()
    job.cancel()
    with pytest.raises(Cancelled):
        job.wait(10)
    assert time.monotonic() - asked < 2.0 and job.state is State.CANCELLED
    assert not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE
    assert list(job.result["items"].n) == [0, 1] and not job.result.complete
    until(lambda: runner.store.runs("trouble-maker")[0].state is State.CANCELLED)
    (home / "go").touch()
    again = submit(runner, "items", "trouble-maker")
    assert list(again.wait(60)["items"].n) == [0, 1, 2, 3]
    assert [line for line in again.log.splitlines() if "item" in line] == ["item 2 runs", "item 3 runs"]
    assert not (runner.store.items / job.key).exists(), "they are not kept beside the result"


@pytest.mark.parametrize(
    ("end", "sentence"),
    [("segfault", "crashed .*signal 11"), ("exit", "ended with status 3")],
)
def test_a_worker_that_dies_ends_its_job_with_a_sentence(runner, end, sentence):
    job = submit(runner, "die", "trouble-maker", end=end)
    with pytest.raises(JobFailed, match=sentence) as failure:
        job.wait(60)
    assert job.state is State.FAILED and job.fault and failure.value.fault
    assert job.error.startswith("The worker process ") and job.error.endswith(".")
    assert "last words" in job.log


def test_a_fault_has_a_traceback_and_bad_input_has_its_sentence(runner):
    job = submit(runner, "breaks")
    with pytest.raises(JobFailed, match=r"RuntimeError: the amplitude 1\.0 V broke the glass"):
        job.wait(60)
    assert job.fault and "Traceback" in job.log and "kitchen_sink.py" in job.log
    job = submit(runner, "refuse", "trouble-maker", count=3)
    with pytest.raises(JobFailed) as failure:
        job.wait(60)
    assert not job.fault and not failure.value.fault
    assert job.error == "count: got 3; expected an even number of pairs."
    until(lambda: runner.store.runs("trouble-maker")[0].state is State.FAILED)
    assert runner.store.runs("trouble-maker")[0].error == job.error


def test_the_end_of_what_a_worker_prints_is_shown(runner):
    job = submit(runner, "talk", "trouble-maker")
    job.wait(60)
    assert len(job.log) <= 64 * 1024 and "first word" not in job.log
    assert "from a child" in job.log and "last word" in job.log
    assert submit(runner, "talk", "trouble-maker").log == job.log, "it is kept"


@pytest.mark.parametrize(
    ("study", "experiment", "values", "sentence"),
    [
        ("kitchen-sink", "dance", {}, "experiment: got 'dance'; expected one of climb, repeats, breaks"),
        ("kitchen-sink", "climb", {"amplitude": "9"}, "amplitude: got 9"),
        ("kitchen-sink", "climb", {"recording": "/nowhere"}, None),
    ],
)
def test_what_cannot_be_is_refused_before_a_job_begins(runner, study, experiment, values, sentence):
    before = len(runner.jobs())
    with pytest.raises(ControlError, match=sentence):
        submit(runner, experiment, study, **values)
    with pytest.raises(ControlError, match="device: got 'tpu'; expected one of cpu, cuda"):
        runner.submit(Request("kitchen-sink", "climb", device="tpu"))
    assert len(runner.jobs()) == before


def test_only_loopback_is_listened_on(runner):
    submit(runner, "climb").wait(60)
    family = psutil.Process().children(recursive=True)
    listening = [c.laddr.ip for p in family for c in p.net_connections("inet") if c.status == psutil.CONN_LISTEN]
    assert listening and set(listening) == {"127.0.0.1"}


def test_a_job_waits_with_a_limit_and_tells_late_listeners(runner):
    job = submit(runner, "climb", steps=41, pause=0.02)
    with pytest.raises(TimeoutError):
        job.wait(0.05)
    job.wait(60)
    told = threading.Event()
    stop = job.on_change(told.set)
    assert told.wait(1)
    stop()


def test_without_a_store_stages_are_used_but_nothing_is_kept(home, tmp_path):
    runner = Runner(None)
    try:
        first = submit(runner, "climb", amplitude=0.5)
        first.wait(60)
        second = submit(runner, "repeats", amplitude=0.5)
        second.wait(60)
        assert second.stages["climb"].files == first.result.files
        assert not submit(runner, "climb", amplitude=0.5).kept
    finally:
        began = time.monotonic()
        runner.close()
    assert time.monotonic() - began < 5
    assert all(job.state.ended for job in runner.jobs())
    with pytest.raises(RuntimeError, match="closed"):
        submit(runner, "climb")
    assert first.result.files["wave.csv"].is_file(), "what a script holds stays until it ends"


def test_the_default_runner_follows_the_user_s_folder(home, monkeypatch, tmp_path):
    here = default_runner()
    assert here is default_runner() and here.store.folder == home / "store"
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path))
    there = default_runner()
    assert there is not here and there.store.folder == tmp_path / "store"
    there.close()


def test_a_result_that_cannot_be_kept_is_still_shown(runner, monkeypatch, tmp_path):
    place = tmp_path / "a file"
    place.write_text("")
    monkeypatch.setattr(runner, "store", Store(place / "store"))
    job = submit(runner, "climb", amplitude=0.75)
    assert len(job.wait(60)["heights"]) == 5
    assert job.notice.startswith("This run could not be kept: The store at ") and "\n" not in job.notice
    assert job.result.files["wave.csv"].is_file()


def test_a_page_that_opens_takes_up_what_is_kept_for_its_controls(runner):
    submit(runner, "climb", amplitude=1.75).wait(60)
    other = Session(registry().get("kitchen-sink"), runner, preset="quick")
    assert "climb" not in other.recall() or other.held["climb"].job.kept
    same = Session(registry().get("kitchen-sink"), runner, values={"amplitude": 1.75}, preset="quick")
    assert same.recall() == ["climb"]
    assert same.held["climb"].job.kept and same.held["climb"].result.complete
    assert same.show("progress").title.endswith("steps done")


def test_a_shared_job_stops_when_the_last_one_lets_go(runner):
    study = registry().get("kitchen-sink")
    ann, bob = (Session(study, runner, values={"steps": 400, "pause": 0.03}) for _ in range(2))
    told = []
    bob.on_change(lambda change: told.extend(change.notices))
    job = ann.run("climb")
    assert bob.run("climb") is job
    assert any("joined" in sentence for sentence in told)
    until(lambda: job.state is State.RUNNING)
    assert not bob.cancel("climb")
    assert not bob.cancel("climb"), "letting go twice is letting go once"
    assert any("somebody else" in sentence for sentence in told)
    time.sleep(0.3)
    assert not job.state.ended
    assert ann.cancel("climb")
    with pytest.raises(Cancelled):
        job.wait(10)
    # a page that is closed holds nothing
    job = ann.run("climb", fresh=True)
    assert bob.run("climb", fresh=True) is job
    ann.close()
    assert bob.cancel("climb")
    with pytest.raises(Cancelled):
        job.wait(10)


@pytest.mark.parametrize(
    ("limits", "sentence"),
    [(Limits(seconds=0.6), "It took more than 0.6 seconds"), (Limits(memory=2**20), "its limit is 0.00098 GiB")],
)
def test_a_job_beyond_its_limits_is_ended_with_a_sentence_and_the_next_one_runs(runner, limits, sentence):
    job = runner.submit(Request("kitchen-sink", "climb", {"steps": "900", "pause": "0.02"}, limits=limits))
    with pytest.raises(JobFailed, match=re.escape(sentence)):
        job.wait(30)
    assert job.state is State.FAILED and job.fault
    submit(runner, "climb", steps=3).wait(60)


def test_what_runs_in_another_process_is_waited_for_and_its_result_taken(runner, home):
    code = """
import sys
from workbench.runner import Request, Runner
from workbench.store import Store
runner = Runner(Store())
job = runner.submit(Request("kitchen-sink", "climb", {"steps": "60", "pause": "0.07", "amplitude": "1.5"}))
print(job.wait(90).digest, flush=True)
runner.close()
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as other:
        study = registry().get("kitchen-sink")
        values = {"steps": "60", "pause": "0.07", "amplitude": "1.5"}
        key = Snapshot(study, settle(study, values, "standard")).key("climb")
        until(lambda: runner.store.elsewhere("kitchen-sink", "climb", key) is not None)
        job = runner.submit(Request("kitchen-sink", "climb", values))
        until(lambda: "Running elsewhere since" in job.message or job.state.ended)
        assert job.state is State.QUEUED
        dropped = runner.submit(Request("kitchen-sink", "climb", {**values, "seed": "0"}))
        assert dropped is job, "the seed is what it is anyway"
        result = job.wait(90)
        assert job.kept and result.digest == other.stdout.read().strip()


def test_waiting_for_another_process_can_be_cancelled_or_passed_over(runner, monkeypatch):
    values = {"steps": "4", "amplitude": "1.25"}
    record = replace(runner.store.runs(limit=1)[0], started=time.time() - 60)
    monkeypatch.setattr(Store, "elsewhere", lambda *_: record)
    waiting = runner.submit(Request("kitchen-sink", "climb", values, "quick"))
    until(lambda: "Running elsewhere" in waiting.message)
    waiting.cancel()
    with pytest.raises(Cancelled):
        waiting.wait(5)
    assert runner.submit(Request("kitchen-sink", "climb", values, "quick", fresh=True)).wait(60).complete


@pytest.mark.slow
def test_workers_that_die_at_any_distance_in_time_are_replaced(runner):
    """Fifteen seconds after a worker died the cluster looks again, and must not end the nanny of one that just died."""
    until(lambda: submit(runner, "climb", steps=3, fresh=True).wait(90).complete, 100)
    with pytest.raises(JobFailed):
        submit(runner, "die", "trouble-maker", end="kill").wait(60)
    died = time.monotonic()
    submit(runner, "climb", steps=3, fresh=True).wait(60)
    while time.monotonic() < died + 14.9:
        time.sleep(0.01)
    for _ in range(2):
        with pytest.raises(JobFailed):
            submit(runner, "die", "trouble-maker", end="exit", fresh=True).wait(60)
    assert submit(runner, "climb", steps=3, fresh=True).wait(60).complete


def test_a_result_of_older_code_is_shown_as_such_and_never_as_today_s(runner, monkeypatch):
    submit(runner, "climb", amplitude=1.25).wait(60)
    now = Session(registry().get("kitchen-sink"), runner, values={"amplitude": 1.25}, preset="quick")
    now.recall()
    assert not now.held["climb"].job.older and not now.stale("climb") and now.current("climb")

    was = Snapshot.key
    monkeypatch.setattr(Snapshot, "key", lambda self, member: was(self, member)[::-1])  # as after an edit
    later = Session(registry().get("kitchen-sink"), runner, values={"amplitude": 1.25}, preset="quick")
    assert later.recall() == ["climb"]
    held = later.held["climb"]
    assert held.job.older and held.result.digest == now.held["climb"].result.digest
    assert held.key == now.held["climb"].key != later.snapshot.key("climb")
    assert "older code" in later.stale("climb") and "older code" in later.stale("progress")
    assert not later.current("climb")
    again = []
    monkeypatch.setattr(narrative, "ended", lambda session, one, **_: again.append(one) or now.held["climb"].job)
    narrative.run_reported(later, lambda what, fraction: None)
    assert "climb" in again, "a report would show it as today's"
    judged = [j for j in later.judge() if j.evidence is not None and "climb" in j.claim.needs]
    assert judged and all("older code" in j.stale for j in judged)
    other = Session(registry().get("kitchen-sink"), runner, values={"amplitude": 1.26}, preset="quick")
    assert other.recall() == []  # under other controls nothing stands in


def test_a_result_whose_tables_are_others_by_now_is_not_shown(runner, monkeypatch):
    submit(runner, "climb", amplitude=1.375).wait(60)
    monkeypatch.setattr("workbench.results.Result.fits", lambda self, declared: False)
    assert Session(registry().get("kitchen-sink"), runner, values={"amplitude": 1.375}, preset="quick").recall() == []
