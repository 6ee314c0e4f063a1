"""Health, readiness and metrics."""

import asyncio
import threading

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from workbench.server.health import Readiness
from workbench.store import Store


@pytest.fixture(scope="module")
def address(start):
    with start() as found:
        yield found


def measured(address):
    """Samples of `/metrics`, by name and labels."""
    text = httpx.get(f"{address}/metrics").text
    return {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_a_process_that_lives_says_so_and_one_that_is_ready_too(address):
    assert httpx.get(f"{address}/healthz").text == "alive\n"
    assert httpx.get(f"{address}/readyz").json() == {"ready": True, "waiting": []}


def test_it_is_not_ready_before_studies_are_imported_and_the_store_is_open(kitchen, tmp_path, monkeypatch):
    opened = threading.Event()
    monkeypatch.setattr(Store, "open", lambda self: opened.wait(10))
    readiness = Readiness(Store(tmp_path / "store"))
    assert readiness.waiting == ["studies", "store"]
    readiness.prepare()
    assert readiness.studies.wait(30)
    assert readiness.waiting == ["store"]
    opened.set()
    assert readiness.store.wait(10)
    assert readiness.waiting == []


def test_a_store_that_cannot_be_opened_keeps_it_from_being_ready(kitchen, tmp_path):
    taken = tmp_path / "store"
    taken.write_text("a file where the folder should be")
    readiness = Readiness(Store(taken))
    readiness.prepare()
    assert readiness.studies.wait(30)
    assert not readiness.store.wait(2)
    assert readiness.waiting == ["store"]


def test_requests_pages_and_sockets_are_counted(address, pages, run):
    before = measured(address)
    httpx.get(f"{address}/api/studies/kitchen-sink")
    httpx.get(f"{address}/api/studies/no-such")
    httpx.get(f"{address}/no/such/page/{'x' * 20}")

    async def look():
        page = await pages.open(f"{address}/study?study=kitchen-sink")
        await page.say({"kind": "hello", "theme": "light"})
        await page.hear("study")
        open_now = await asyncio.to_thread(measured, address)
        await page.close()
        return open_now

    during = run(look())
    requests = "assay_http_requests_total"
    for status in ("200", "404"):
        key = (requests, *sorted(["GET", "/api/studies/{slug}", status]))
        assert during[key] == before.get(key, 0) + 1
    assert (requests, "404", "GET", "other") in during, "an address that nobody made is no label"
    assert during[("assay_sockets",)] == 1 and during[("assay_pages",)] >= 1
    assert during[("process_resident_memory_bytes",)] > 1e7
    assert during[("assay_jobs", "running")] == 0
