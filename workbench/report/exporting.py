"""`export`: a study or a notebook as a report in one file."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal, get_args

from workbench.batch import Interrupted, RunFailed
from workbench.controls import ControlError
from workbench.registry import registry
from workbench.report.clean_process import in_clean_process
from workbench.study import PRESETS

__all__ = ["FORMATS", "Format", "export", "target_of", "write_report"]

Format = Literal["html", "pdf", "ipynb", "md"]
FORMATS: tuple[Format, ...] = get_args(Format)
NOTEBOOKS = (".py", ".ipynb")


def is_notebook(what: str) -> bool:
    """A path of a notebook, and no name of a study."""
    return what.endswith(NOTEBOOKS) or "/" in what or os.sep in what


def check_target(target: Path, form: str, *, force: bool) -> None:
    """Refuse a file that cannot be written before anything is run.

    Raises:
        ControlError: a folder, no such folder, one that cannot be written, or a file that is there already.
    """
    if form not in FORMATS:
        raise ControlError("format", f"got {form!r}; expected one of {', '.join(FORMATS)}")
    if target.is_dir() or not target.parent.is_dir() or not os.access(target.parent, os.W_OK):
        raise ControlError("output", f"got {str(target)!r}; expected a file in a folder that can be written")
    if target.exists() and not force:
        raise ControlError("output", f"got {str(target)!r}, which is there already; expected another name, or --force")


def format_of(target: Path) -> str:
    """The format that the ending of a file means."""
    ending = target.suffix.lower().lstrip(".")
    return {"htm": "html", "markdown": "md", "": "html"}.get(ending, ending)


def target_of(what: str, target: Path | None = None, form: str | None = None) -> tuple[Path, str]:
    """The file and the format of a report where not both are said.

    Raises:
        UnknownStudy: there is no such study to name the file after.
    """
    form = form or (format_of(target) if target is not None else "html")
    if target is None:
        target = Path(f"{Path(what).stem if is_notebook(what) else registry().slug(what)}.{form}")
    return target, form


def write_report(
    what: str,
    target: Path,
    form: str,
    *,
    values: dict[str, str],
    preset: str = "standard",
    fresh: bool = False,
    force: bool = False,
    on_progress: Callable[[str, float], None] | None = None,
) -> Path:
    """Make a report in a process of its own, and put it in its place when it is whole.

    Args:
        what: a study, or the path of a notebook.
        target: the file.
        form: `html`, `pdf`, `ipynb` or `md`.
        values: from control to text.
        preset: `quick`, `standard` or `full`.
        fresh: run again even what is kept.
        force: a file that is there is replaced.
        on_progress: called with what goes on and a fraction; an exception from it stops the report.

    Returns:
        the file.

    Raises:
        UnknownStudy: no such study.
        ControlError: a value, notebook, format or file that cannot be; nothing is written then.
        RunFailed: an experiment or the process failed; nothing is written then.
        Interrupted: it was cancelled.
    """
    target = target.expanduser().resolve()
    check_target(target, form, force=force)
    if preset not in PRESETS:
        raise ControlError("preset", f"got {preset!r}; expected one of {', '.join(PRESETS)}")
    study = "" if is_notebook(what) else registry().slug(what)
    notebook = str(Path(what).expanduser().resolve()) if not study else ""
    asked = [study or Path(what).name, *(["--preset", preset] if preset != "standard" else [])]
    asked += [part for name, text in values.items() for part in ("--set", f"{name}={text}")]
    draft = target.with_name(f".{target.name}.{os.getpid()}.part")
    order = {
        "study": study, "notebook": notebook, "values": values, "preset": preset, "fresh": fresh, "format": form,
        "name": target.stem, "draft": str(draft), "asked": asked,
    }  # fmt: skip
    try:
        last, log = in_clean_process("workbench.report.making", order, on_progress)
        if "refused" in last:
            refused = str(last["refused"])
            field, colon, sentence = refused.partition(": ")
            raise ControlError(field if colon else "", sentence if colon else refused)
        if last.get("cancelled"):
            raise Interrupted("The report was cancelled.")
        if "failed" in last:
            raise RunFailed(str(last["failed"]), fault=bool(last["fault"]), log=str(last["log"]))
        if not last.get("done") or not draft.is_file():
            raise RunFailed("The report failed: its process died.", fault=True, log=log)
        put(draft, target, force=force)
    finally:
        draft.unlink(missing_ok=True)
    return target


def put(draft: Path, target: Path, *, force: bool) -> None:
    """Give the draft its name; one that came in between stays where nothing may be replaced."""
    if force:
        draft.replace(target)
        return
    try:
        target.hardlink_to(draft)
    except FileExistsError:
        raise ControlError("output", f"got {str(target)!r}, which is there already; expected another name") from None
    except OSError:  # a file system without links
        draft.replace(target)


def export(
    what: str,
    to: str | Path | None = None,
    *,
    format: Format | None = None,
    preset: str = "standard",
    seed: int | None = None,
    fresh: bool = False,
    force: bool = False,
    **controls: object,
) -> Path:
    """Make a report of a study, or of a notebook of yours, in one file.

        export("lif-frequency-matching", "report.html", preset="quick", beta=0.7)

    Args:
        what: a study, or the path of a notebook (marimo `.py` or `.ipynb`).
        to: the file; named after the study in the current folder when left out.
        format: `html`, `pdf`, `ipynb` or `md`; by the ending of the file when left out.
        preset: `quick`, `standard` or `full`.
        seed: base of every random stream; the study's own when left out.
        fresh: run again even what is kept.
        force: a file that is there is replaced.
        **controls: values of controls or other handles of them.

    Returns:
        the file.

    Raises:
        UnknownStudy: no such study.
        ControlError: a value, notebook, format or file that cannot be; nothing is written then.
        RunFailed: an experiment or the process failed; nothing is written then.
        Interrupted: it was cancelled.
    """
    target, form = target_of(what, Path(to) if to is not None else None, format)
    texts = {name: text_of(what, name, value) for name, value in controls.items()}
    if seed is not None:
        texts["seed"] = str(seed)
    say = progress_line if sys.stderr is not None and sys.stderr.isatty() else None
    return write_report(what, target, form, values=texts, preset=preset, fresh=fresh, force=force, on_progress=say)


def text_of(what: str, name: str, value: object) -> str:
    """A value of a control as its text."""
    if isinstance(value, str) or is_notebook(what):
        return str(value)
    study = registry().get(what)
    control = study.controls.get(name)
    return control.text(control.parse(value)) if control is not None and control.source is None else str(value)


def progress_line(what: str, fraction: float) -> None:
    """One line on standard error that is written over."""
    end = "\n" if fraction >= 0.95 else ""
    sys.stderr.write(f"\r\033[K{100 * fraction:3.0f} %  {what}{end}")
    sys.stderr.flush()
