"""A report as PDF: headless Chromium prints the HTML file, whose figures stay vectors.

The browser is driven over a socket on loopback. It is given a profile of its own and no network: the file's own policy
lets nothing out, and names resolve to nothing.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect

from workbench.batch import RunFailed
from workbench.controls import ControlError

__all__ = ["browser_program", "pdf_of"]

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
    "C:/Program Files (x86)/Microsoft/Edge/Application/msedge.exe",
)
SECONDS = 120.0
SWITCHES = (
    "--headless=new", "--remote-debugging-port=0", "--no-first-run", "--no-default-browser-check", "--disable-gpu",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
    "--host-resolver-rules=MAP * ~NOTFOUND", "--font-render-hinting=none", "--hide-scrollbars",
    "--disable-dev-shm-usage",
)  # fmt: skip
FOOTER = (
    '<div style="width:100%;font:8px sans-serif;color:#5a6568;padding:0 16mm;display:flex;'
    'justify-content:space-between">'
    '<span class="title"></span><span><span class="pageNumber"></span> / <span class="totalPages"></span></span></div>'
)
DATES = re.compile(rb"/(CreationDate|ModDate) \(D:\d{14}[^)]*\)")
MADE = b"D:20000101000000"


def browser_program() -> str:
    """Chromium or a browser made of it: `ASSAY_BROWSER`, or the first that is found.

    Raises:
        ControlError: there is none; the sentence says how to get one.
    """
    if chosen := os.environ.get("ASSAY_BROWSER"):
        if found := shutil.which(chosen):
            return found
        raise ControlError("ASSAY_BROWSER", f"got {chosen!r}, which is no program; expected the path of Chromium")
    for name in PROGRAMS:
        if found := shutil.which(name):
            return found
    for place in PLACES:
        if Path(place).is_file():
            return place
    raise ControlError(
        "format",
        "got pdf, which needs Chromium or Chrome, and none is here; install it (on Debian or Ubuntu: apt install "
        "chromium) or name one in ASSAY_BROWSER, or expected html, which any browser prints",
    )


class Tab:
    """One page of a browser, spoken to in its own protocol."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._count = 0
        self._session = ""

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Ask for something and wait for its answer."""
        self._count += 1
        message: dict[str, Any] = {"id": self._count, "method": method, "params": parameters}
        self._socket.send(json.dumps(message | ({"sessionId": self._session} if self._session else {})))
        while True:
            answer = json.loads(self._socket.recv(SECONDS))
            if answer.get("id") == self._count:
                if "error" in answer:
                    raise RunFailed(f"The PDF failed: the browser says {answer['error']['message']}.", fault=True)
                return answer["result"]

    def open(self, address: str) -> None:
        """Open a page of its own and go there."""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.ask("Page.enable")
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "light"}])
        self.ask("Page.navigate", url=address)

    def value(self, expression: str) -> Any:
        """What an expression of the page is."""
        return self.ask("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")


@contextmanager
def browser(folder: Path) -> Iterator[Tab]:
    """A browser with a profile in a folder, ended in the end."""
    command = [browser_program(), *SWITCHES, f"--user-data-dir={folder / 'profile'}", "about:blank"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.insert(1, "--no-sandbox")  # Chromium refuses to start for root otherwise; the page is our own
    log = folder / "log"
    with (
        log.open("wb") as said,
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said) as process,
    ):
        try:
            with connect(address_in(log, process), max_size=None, open_timeout=30, proxy=None) as socket:
                tab = Tab(socket)
                yield tab
                tab.ask("Browser.close")
        except (WebSocketException, OSError, TimeoutError) as error:
            raise RunFailed(f"The PDF failed: the browser stopped answering ({error}).", fault=True) from None
        finally:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()


def address_in(log: Path, process: subprocess.Popen[bytes]) -> str:
    """The address that the browser says it listens on."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if found := re.search(r"DevTools listening on (ws://\S+)", log.read_text("utf-8", errors="replace")):
            return found[1]
        if process.poll() is not None:
            break
        time.sleep(0.05)
    tail = " ".join(log.read_text("utf-8", errors="replace").split())[-300:]
    raise RunFailed(f"The PDF failed: the browser did not start ({tail}).", fault=True)


def pdf_of(page: bytes) -> bytes:
    """A report as PDF.

    Args:
        page: the report as HTML; its script sets `data-ready` on the root when all figures are drawn.

    Raises:
        ControlError: there is no browser.
        RunFailed: the browser failed, or the figures were not drawn in two minutes.
    """
    browser_program()
    with tempfile.TemporaryDirectory(prefix="assay-pdf-", ignore_cleanup_errors=sys.platform == "win32") as name:
        folder = Path(name)
        source = folder / "report.html"
        source.write_bytes(page)
        with browser(folder) as tab:
            tab.open(source.as_uri())
            deadline = time.monotonic() + SECONDS
            while tab.value("document.documentElement.dataset.ready || ''") != "1":
                if time.monotonic() > deadline:
                    raise RunFailed("The PDF failed: its figures were not drawn in two minutes.", fault=True)
                time.sleep(0.1)
            printed = tab.ask(
                "Page.printToPDF", printBackground=True, preferCSSPageSize=True, generateDocumentOutline=True,
                generateTaggedPDF=True, displayHeaderFooter=True, headerTemplate="<span></span>", footerTemplate=FOOTER,
            )  # fmt: skip
    return undated(base64.b64decode(printed["data"]))


def undated(pdf: bytes) -> bytes:
    """The file with dates of the same length that are always the same, so that two exports are equal."""

    def fixed(found: re.Match[bytes]) -> bytes:
        value = found[0]
        start = value.index(b"D:")
        return value[:start] + MADE + value[start + len(MADE) :]

    return DATES.sub(fixed, pdf)
