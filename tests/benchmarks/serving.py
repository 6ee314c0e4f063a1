"""What a server bears: `serving.py` starts one, opens pages as a team does, and prints what it measured as JSON.

The load comes from this process, on the same cores as the server and its workers.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
from page_client import PageClient

STUDY = "lif-frequency-matching"
PAGE = "lif_frequency_matching"
HERO = "overlay"
SESSIONS = 50
HERTZ = 0.5
SECONDS = 40.0
CYCLES = 100
PAINTS = 7


@contextmanager
def server() -> Iterator[tuple[str, psutil.Process]]:
    """A server with an empty home, ready to answer; its address and its process."""
    with tempfile.TemporaryDirectory() as home:
        command = [sys.executable, "-c", "from workbench.server.serving import serve; serve(port=0, warm=True)"]
        environment = {**os.environ, "ASSAY_HOME": home}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            while True:
                try:
                    urllib.request.urlopen(f"{address}/readyz", timeout=10)
                    break
                except OSError:
                    time.sleep(0.2)
            try:
                yield address, psutil.Process(process.pid)
            finally:
                process.terminate()


def ask(address: str, body: dict[str, Any] | None = None) -> Any:
    """A JSON answer of the API."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, data=data, headers={"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


async def opened(address: str, views: list[str]) -> PageClient:
    """A page that shows some views, all of them drawn."""
    page = await PageClient.open(f"{address}/{PAGE}")
    await page.say({"kind": "hello", "theme": "light"})
    await page.hear("controls", 60)
    await page.say({"kind": "show", "views": views})
    waiting = set(views)
    while waiting:
        message, _ = await page.hear("view", 60)
        waiting.discard(message["name"])
    return page


async def move(page: PageClient, chance: random.Random) -> tuple[float, int]:
    """Set β to something; seconds until its figure is there, and the figure's bytes."""
    await page.forget()
    began = time.monotonic()
    await page.say({"kind": "set", "values": {"beta": round(chance.uniform(0.05, 0.95), 4)}, "at": "beta"})
    _, size = await page.hear("view", 60, name=HERO)
    return time.monotonic() - began, size


async def steadily(page: PageClient, seed: int, until: float) -> list[tuple[float, int]]:
    """Moves at the rate of a person who looks at what each one does."""
    chance = random.Random(seed)
    await asyncio.sleep(chance.uniform(0, 1 / HERTZ))
    due, found = time.monotonic(), []
    while due < until:
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        found.append(await move(page, chance))
        due += 1 / HERTZ
    return found


async def at_once(page: PageClient, seed: int, until: float) -> int:
    """Moves one after another, without a pause; how many."""
    chance, count = random.Random(seed), 0
    while time.monotonic() < until:
        await move(page, chance)
        count += 1
    return count


async def load(address: str) -> dict[str, Any]:
    """Many people at a page, while a job runs."""
    pages = [await opened(address, [HERO]) for _ in range(SESSIONS)]
    job = ask(f"{address}/api/jobs", {"study": STUDY, "experiment": "sweep", "preset": "standard"})
    while ask(f"{address}/api/jobs/{job['id']}")["state"] == "queued":
        await asyncio.sleep(0.2)
    until = time.monotonic() + SECONDS
    found = await asyncio.gather(*(steadily(page, n, until) for n, page in enumerate(pages)))
    running = ask(f"{address}/api/jobs/{job['id']}")["state"] == "running"
    times = sorted(seconds for one in found for seconds, _ in one)
    began = time.monotonic()
    counts = await asyncio.gather(*(at_once(page, n, began + SECONDS / 2) for n, page in enumerate(pages)))
    rate = sum(counts) / (time.monotonic() - began)
    for page in pages:
        await page.close()
    return {
        "moves": len(times), "median": statistics.median(times), "p95": times[int(0.95 * len(times))],
        "most": times[-1], "job runs": running, "saturated": rate,
        "update": max(size for one in found for _, size in one),
    }  # fmt: skip


async def cycles(address: str, process: psutil.Process) -> dict[str, float]:
    """Memory that pages leave behind, opened with three views and closed again and again."""
    schema = ask(f"{address}/api/studies/{STUDY}")
    views = [view if isinstance(view, str) else view["name"] for view in schema["views"]][:3]

    async def some(count: int) -> float:
        for _ in range(count):
            await (await opened(address, views)).close()
        until = time.monotonic() + 60
        while live_pages(address) and time.monotonic() < until:
            await asyncio.sleep(1)
        return process.memory_info().rss / 1e6

    before = await some(30)
    return {"grown": await some(CYCLES) - before, "live": live_pages(address)}


def live_pages(address: str) -> float:
    with urllib.request.urlopen(f"{address}/metrics", timeout=30) as answer:
        found = re.search(r"^assay_pages (\S+)", answer.read().decode(), re.MULTILINE)
    assert found
    return float(found[1])


def paints(address: str) -> list[float]:
    """Seconds from asking for a study's page until its main figure is drawn, in Chromium, the server warm."""
    from playwright.sync_api import sync_playwright

    from workbench.report.pdf import browser_program

    found = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_program(), args=["--no-sandbox"])
        tab = browser.new_context(viewport={"width": 1600, "height": 1100}).new_page()
        for _ in range(PAINTS + 1):
            began = time.monotonic()
            tab.goto(f"{address}/{PAGE}", wait_until="commit")
            tab.locator(f'[data-view="{HERO}"] .scatterlayer').first.wait_for()
            found.append(time.monotonic() - began)
            tab.goto("about:blank")
        browser.close()
    return sorted(found[1:])  # the first one fills the browser's cache


def main() -> None:
    with server() as (address, process):
        asyncio.run(move_once(address))
        found: dict[str, Any] = {"paints": paints(address)}
        found |= asyncio.run(cycles(address, process))
        found |= asyncio.run(load(address))
    print(json.dumps(found))


async def move_once(address: str) -> None:
    page = await opened(address, [HERO])
    await move(page, random.Random(0))
    await page.close()


if __name__ == "__main__":
    os.chdir(Path(__file__).parents[2])
    main()
