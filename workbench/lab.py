"""`assay lab`: JupyterLab on this machine alone, with a notebook that explores a study.

Nothing leaves the machine: no news, no check for updates, no list of extensions from a registry. The server listens on
loopback and keeps Jupyter's own token.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

from workbench.controls import ControlError, Data
from workbench.places import home_folder
from workbench.registry import registry
from workbench.study import Study

__all__ = ["settings", "start", "welcome"]

FIRST = "lif-frequency-matching"
QUIET = {
    "@jupyterlab/apputils-extension:notification": {
        "fetchNews": "false", "checkForUpdates": False, "doNotDisturbMode": False,
    },
}  # fmt: skip


def welcome(folder: Path, slug: str = "") -> Path:
    """A notebook in the folder that goes through a study, or lists all; one that is there already is left as it is.

    Args:
        folder: made when it is not there.
        slug: the study; all of them when left out.

    Returns:
        the notebook.

    Raises:
        ControlError: the folder cannot be written.
    """
    path = folder / f"{slug or 'welcome'}.ipynb"
    cells = [
        {"cell_type": "markdown", "id": name, "metadata": {}, "source": text}
        if kind == "markdown" else
        {"cell_type": "code", "id": name, "metadata": {}, "source": text, "outputs": [], "execution_count": None}
        for name, kind, text in (story(registry().get(slug)) if slug else overview())
    ]  # fmt: skip
    notebook = {
        "nbformat": 4, "nbformat_minor": 5,
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
        "cells": cells,
    }  # fmt: skip
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            json.dump(notebook, file, indent=1)
    except FileExistsError:
        if not path.is_file():
            raise ControlError("folder", f"got {str(folder)!r}; expected a folder that can be written") from None
    except OSError as error:
        raise ControlError("folder", f"got {str(folder)!r}, which cannot be written: {error.strerror}") from None
    return path


def overview() -> list[tuple[str, str, str]]:
    """Cells of a notebook that lists the studies: name, kind and text of each."""
    cards = [card for card in registry().cards() if not card.broken]
    rows = "".join(f"| `{card.slug}` | {card.question} | {len(card.claims)} |\n" for card in cards)
    return [
        (
            "studies", "markdown",
            "# Which papers can be tested here?\n\n| study | question | claims |\n|---|---|---|\n" + rows + "\n"
            "`assay lab STUDY` writes a notebook that goes through one. The launcher has the dashboards, and marimo "
            "notebooks to edit. This notebook is yours to change.",
        ),
        ("card", "code", f'from workbench import load\n\nstudy = load("{FIRST}")\nstudy'),
        ("more", "markdown", "Tab completes what can be set, and `study.explore?` explains it."),
        ("explore", "code", 'study.explore(preset="quick")'),
    ]  # fmt: skip


def story(study: Study) -> list[tuple[str, str, str]]:
    """Cells of a notebook that goes through a study, from its contract: name, kind and text of each."""
    slug, paper = study.slug, study.paper
    found = [
        (
            "question", "markdown",
            f"# {study.question}\n\n{paper.authors}, *{paper.title}*, {paper.venue}. {study.summary}.\n\n"
            "This notebook is yours to change. Run the cell below (Shift + Enter), then move a control: the figures "
            "follow. Results are kept, so a run that was made before is there at once.",
        ),
        ("explore", "code", f'from workbench import explore\n\nseen = explore("{slug}", preset="quick")\nseen'),
        ("seen", "code", "seen.controls  # what is set now; seen.figure(\"name\") and seen.result are yours too"),
    ]  # fmt: skip
    experiments = [one for one in study.experiments.values() if one.tables]
    if experiments:
        first = min(experiments, key=lambda one: len(study.reached_experiments(one.name)))
        table = next(iter(first.tables))
        found += [
            (
                "run", "markdown",
                "## Run an experiment\n\nA script runs what a button does; presets are `quick`, `standard` and "
                "`full`. " + " ".join(f"`{one.name}`: {one.title}." for one in experiments),
            ),
            (
                "experiment", "code",
                f'from workbench import run\n\noutcome = run("{slug}", "{first.name}", preset="quick")\n'
                f'outcome["{table}"].head()',
            ),
        ]  # fmt: skip
    if study.claims:
        found += [
            (
                "claims", "markdown",
                "## What the paper claims\n\nEach claim says what would count before anything runs. "
                f'`run("{slug}")` runs all experiments and judges every one.',
            ),
            (
                "verdicts", "code",
                "import pandas as pd\n\n"
                'pd.DataFrame([{"claim": c.claim.id, "the paper says": c.claim.sentence, "verdict": str(c.verdict)}\n'
                "              for c in seen.session.judge()])",
            ),
        ]  # fmt: skip
    own = [c for c in study.moving.values() if isinstance(c, Data)]
    if own:
        needs = "\n".join(f"- `{c.name}`: {c.needs or c.doc}" for c in own)
        found += [
            ("own", "markdown", f"## Your own\n\nGive a path in place of a sample:\n\n{needs}"),
            ("yours", "code", f'# explore("{slug}", {own[0].name}="path/to/yours")'),
        ]
    report = f'from workbench import export\n\nexport("{slug}", "{slug}.html", preset="quick", force=True)'
    return [
        *found,
        (
            "report", "markdown",
            "## A report that proves itself\n\nOne file with narrative, figures, tables and claims; "
            f"`assay verify {slug}.html` makes its numbers again.",
        ),
        ("export", "code", report),
    ]  # fmt: skip


def settings(folder: Path, notebook: Path, port: int | None, open_browser: bool) -> dict[str, dict[str, Any]]:
    """How JupyterLab is set up, in the form of its own configuration files."""
    own = home_folder() / "jupyterlab"
    own.mkdir(parents=True, exist_ok=True)
    (own / "overrides.json").write_text(json.dumps(QUIET), encoding="utf-8")
    return {
        "ServerApp": {
            "ip": "127.0.0.1", "port": port or 8888, "port_retries": 0 if port else 50, "open_browser": open_browser,
            "root_dir": str(folder), "allow_root": True, "default_url": f"/lab/tree/{notebook.name}",
        },
        "LabApp": {
            "news_url": None, "check_for_updates_class": "jupyterlab.NeverCheckForUpdate",
            "extension_manager": "readonly", "app_settings_dir": str(own),
            "default_url": f"/lab/tree/{notebook.name}",
        },
    }  # fmt: skip


def start(
    slug: str | None = None, *, folder: Path | None = None, port: int | None = None, open_browser: bool = True
) -> None:
    """Start JupyterLab with a notebook of a study, and serve until it is stopped.

    Args:
        slug: the study; a list of all when left out.
        folder: where notebooks are kept; a folder of the user's own when left out.
        port: the port to listen on; the first free one from 8888 when left out.
        open_browser: open a browser on it.

    Raises:
        UnknownStudy: no such study.
        ControlError: a port or a folder that cannot be.
    """
    slug = registry().slug(slug) if slug else ""
    if port is not None and not 1 <= port <= 65535:
        raise ControlError("port", f"got {port}; expected a port from 1 to 65535")
    folder = (folder or home_folder() / "notebooks").expanduser().resolve()
    notebook = welcome(folder, slug)
    from jupyterlab.labapp import LabApp

    configuration = home_folder() / "jupyterlab" / "assay_lab_config.json"
    configuration.parent.mkdir(parents=True, exist_ok=True)
    configuration.write_text(json.dumps(settings(folder, notebook, port, open_browser)), encoding="utf-8")
    sys.argv = ["jupyter-lab"]  # what Jupyter shows in messages of its own
    LabApp.launch_instance(argv=[f"--config={configuration}"])
    if any(not thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread()):
        # Stopped while a kernel starts, Jupyter's server leaves a thread behind that Python would wait for, for ever.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
