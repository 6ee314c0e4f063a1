"""The process that makes a report: `python -m workbench.report.making`, with its order on standard input."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from workbench.batch import Interrupted, RunFailed
from workbench.controls import ControlError
from workbench.registry import UnknownStudy
from workbench.report.clean_process import answers
from workbench.report.document import Document
from workbench.report.manifest import seal_html, seal_markdown, seal_pdf
from workbench.report.narrated import manifest_of
from workbench.report.narrative import Narrative, Say, tell_notebook, tell_study
from workbench.report.sealing import manifest_text
from workbench.report.telling import document_of
from workbench.study import StudyError

__all__ = ["make", "written"]


def told(order: Mapping[str, Any], say: Say) -> Narrative:
    """Run what the order names."""
    from workbench.runner import default_runner

    runner = default_runner()
    if order["study"]:
        values = dict(order["values"])
        return tell_study(order["study"], values, order["preset"], runner=runner, say=say, fresh=order["fresh"])
    return tell_notebook(Path(order["notebook"]), settings_of(order), runner=runner, say=say)


def settings_of(order: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a notebook of the user's own is given; None leaves it as it is."""
    if order["study"] or not (order["values"] or order["preset"] != "standard"):
        return None
    values = dict(order["values"])
    seed = values.pop("seed", 0)
    return {"controls": values, "preset": order["preset"], "seed": int(str(seed))}


def written(document: Document, narrative: Narrative, form: str, say: Say) -> bytes:
    """A document as the bytes of a file.

    Raises:
        ControlError: a formula that cannot be set, or no browser for a PDF.
    """
    say("The file", 0.95)
    if form == "md":
        from workbench.report.markdown import markdown_page

        return seal_markdown(markdown_page(document).decode() + "\n" + manifest_text(document.manifest)).encode()
    if form == "ipynb":
        from workbench.report.ipynb import notebook_file

        return notebook_file(document, narrative)
    from workbench.report.html import html_page

    page = html_page(document, form)
    if form == "html":
        return seal_html(page)
    from workbench.report.pdf import pdf_of

    return seal_pdf(pdf_of(page), document.manifest)


def make(order: Mapping[str, Any], send: Callable[[dict[str, Any]], None]) -> None:
    """Make a report and write it where the order says; every answer goes to `send`."""
    last: tuple[str, float] = ("", -1.0)

    def say(what: str, fraction: float) -> None:
        nonlocal last
        now = (what, round(fraction, 2))
        if now != last:
            last = now
            send({"say": what, "fraction": now[1]})

    narrative = told(order, say)
    manifest = manifest_of(narrative, settings_of(order))
    document = document_of(narrative, order["name"], manifest, list(order["asked"]))
    Path(order["draft"]).write_bytes(written(document, narrative, order["format"], say))
    send({"done": True})


def main() -> None:
    """Answer one order; what is wrong with it is an answer too."""
    order, send = answers()
    try:
        make(order, send)
    except (ControlError, UnknownStudy) as error:
        send({"refused": str(error), "field": getattr(error, "field", "")})
    except RunFailed as error:
        send({"failed": str(error), "fault": error.fault, "log": error.log})
    except StudyError as error:
        send({"failed": str(error), "fault": True, "log": ""})
    except (Interrupted, KeyboardInterrupt):
        send({"cancelled": True})
    except Exception as error:
        traceback.print_exc()
        send({"failed": f"{type(error).__name__}: {error}", "fault": True, "log": traceback.format_exc()})


if __name__ == "__main__":
    import torch

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    main()
