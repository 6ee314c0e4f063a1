"""The report of a study's page: made by a job and a process of its own, and sent when it is whole."""

from __future__ import annotations

import base64
import logging
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from workbench.batch import Interrupted, RunFailed
from workbench.controls import ControlError
from workbench.report.exporting import FORMATS, write_report
from workbench.report.narrative import run_reported
from workbench.session import Session

__all__ = ["ReportFace"]

LOG = logging.getLogger(__name__)
MIMES = {"html": "text/html", "pdf": "application/pdf", "ipynb": "application/x-ipynb+json", "md": "text/markdown"}


class ReportFace:
    """One report at a time on one page.

    Args:
        send: tells the page.
    """

    def __init__(self, send: Callable[[dict[str, Any]], None]) -> None:
        self._send = send
        self._cancelled = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, session: Session, asked: Mapping[str, Any]) -> None:
        """Begin a report of what is set in a session; experiments that have no result yet run as jobs of this server.

        Raises:
            ControlError: a format that is not known, or a report that is being made.
        """
        form = str(asked.get("form", ""))
        if form not in FORMATS:
            raise ControlError("format", f"got {form!r}; expected one of {', '.join(FORMATS)}")
        if self._thread is not None and self._thread.is_alive():
            raise ControlError("report", "one is being made; expected its end")
        values = {name: text for name, text in session.query().items() if name != "preset"}
        own = Session(
            session.study, session.runner, values=values, preset=session.preset, visitor=session.visitor,
            pool=session.pool,
        )  # fmt: skip
        self._cancelled.clear()
        self._thread = threading.Thread(target=self._make, args=(own, values, form), name="assay-report", daemon=True)
        self._thread.start()

    def cancel(self) -> None:
        """Stop the report that is being made; what its jobs have finished is kept."""
        self._cancelled.set()

    def _make(self, session: Session, values: dict[str, str], form: str) -> None:
        name = f"{session.study.slug}.{form}"

        def say(what: str, fraction: float) -> None:
            if self._cancelled.is_set():
                raise Interrupted("The report was cancelled.")
            self._tell("running", fraction=fraction, message=what)

        try:
            say("Begins", 0.0)
            session.recall()
            run_reported(session, lambda what, fraction: say(what, 0.8 * fraction))
            with tempfile.TemporaryDirectory(prefix="assay-report-") as folder:
                target = Path(folder) / name
                write_report(
                    session.study.slug, target, form, values=values, preset=session.preset,
                    on_progress=lambda what, fraction: say(what, 0.8 + 0.2 * fraction),
                )  # fmt: skip
                content = base64.b64encode(target.read_bytes()).decode()
            self._tell("done", fraction=1.0, name=name, mime=MIMES[form], content=content)
        except Interrupted:
            self._tell("cancelled")
        except (ControlError, RunFailed) as error:
            self._tell("failed", message=str(error))
        except Exception:
            LOG.exception("%s: the report has a fault", session.study.slug)
            self._tell("failed", message="The report has a fault.")
        finally:
            session.close()

    def _tell(self, state: str, **facts: Any) -> None:
        self._send({"kind": "report", "state": state, **facts})
