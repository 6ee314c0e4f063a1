"""What a report tells: a study with its notebook, or a notebook of the user's own, run once to its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from workbench.batch import Interrupted, RunFailed, ended
from workbench.controls import ControlError
from workbench.places import notebooks_folder
from workbench.registry import registry
from workbench.report.document import Block
from workbench.report.named import Named
from workbench.report.study_parts import own_blocks, reported
from workbench.runner import State
from workbench.session import Session

if TYPE_CHECKING:
    from nbformat import NotebookNode

    from workbench.report.marimo_cells import Cell
    from workbench.runner import Runner

__all__ = ["Narrative", "Say", "notebook_of", "tell_notebook", "tell_study"]


class Say(Protocol):
    """Told what goes on, and how far it is."""

    def __call__(self, what: str, fraction: float) -> None: ...


@dataclass
class Narrative:
    """A notebook or a study as it ran.

    Attributes:
        title: of the notebook; the study's question for a study.
        blocks: in reading order.
        cells: the cells that they come from; none for a study without a notebook.
        sessions: the studies that were opened, the one that the report is about first.
        records: from experiment to the provenance of its run, of the first session.
        quantities: what the notebook named itself.
        notebook: the file; None for a study without one.
        executed: a Jupyter notebook with its new outputs.
    """

    title: str
    blocks: Sequence[Block]
    cells: Sequence[Cell] = ()
    sessions: Sequence[Session] = ()
    records: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    quantities: Sequence[Named] = ()
    notebook: Path | None = None
    executed: NotebookNode | None = field(default=None, repr=False)


def notebook_of(slug: str) -> Path | None:
    """The notebook of a study; None where it has none."""
    try:
        folder = notebooks_folder()
    except FileNotFoundError:
        return None
    place = registry().places.get(registry().slug(slug))
    if place is None or not place.package:
        return None
    path = folder / place.family / f"{place.slug.replace('-', '_')}.py"
    return path if path.is_file() else None


def tell_study(
    slug: str, values: Mapping[str, object], preset: str, *, runner: Runner, say: Say, fresh: bool = False
) -> Narrative:
    """Run a study for a report: its experiments, then its notebook, or its views where it has none.

    Args:
        slug: the study.
        values: from control or alias to a value or its text.
        preset: `quick`, `standard` or `full`.
        runner: runs the experiments; answers with kept results of the same key where it has a store.
        say: told what goes on.
        fresh: run again even what is kept.

    Raises:
        UnknownStudy, StudyError: no such study, or it cannot be imported.
        ControlError: a value or an input that cannot be.
        RunFailed: an experiment failed.
        Interrupted: an experiment was cancelled from elsewhere.
    """
    study = registry().get(slug)
    session = Session(study, runner, values=values, preset=preset)
    records = run_reported(session, say, fresh=fresh)
    path = notebook_of(study.slug)
    if path is None:
        return Narrative(study.question, own_blocks(session), sessions=[session], records=records)
    from workbench.report.marimo_cells import Recording, run_cells

    say("The notebook", 0.9)
    recording = Recording(runner, say)
    given = {"controls": {n: v for n, v in session.query().items() if n not in ("preset", "seed")}}
    settings = given | {"preset": preset, "seed": session.settings.values["seed"]}
    _, cells = run_cells(path, recording, settings)
    blocks = [block for cell in cells for block in cell.blocks]
    others = [one for one in recording.sessions if one.study is not study]
    return Narrative(study.question, blocks, cells, [session, *others], records, recording.quantities, path)


def run_reported(session: Session, say: Say, *, fresh: bool = False) -> dict[str, Mapping[str, Any]]:
    """Run the experiments that a report shows something of, each as a job of its own, earlier stages first.

    Returns:
        from experiment to the provenance of its run.

    Raises:
        ControlError: an input that does not allow it.
        RunFailed: an experiment failed.
        Interrupted: an experiment was cancelled from elsewhere.
    """
    study = session.study
    asked = reported(study)
    records: dict[str, Mapping[str, Any]] = {}
    for count, one in enumerate(asked):
        if session.current(one) and session.held[one].job.provenance.get("experiment") == one:
            records[one] = session.held[one].job.provenance
            continue
        title = study.experiments[one].title

        def tick(job: Any, title: str = title, count: int = count) -> None:
            say(f"{title}: {job.message}" if job.message else title, 0.9 * (count + job.fraction) / len(asked))

        say(title, 0.9 * count / len(asked))
        job = ended(session, one, fresh=fresh, tick=tick)
        if job.state is State.CANCELLED:
            raise Interrupted(f"“{title}” was cancelled.")
        if job.state is not State.DONE:
            raise RunFailed(job.failure(title), fault=job.fault, log=job.log)
        records[one] = job.provenance
    return records


def tell_notebook(path: Path, given: Mapping[str, Any] | None, *, runner: Runner, say: Say) -> Narrative:
    """Run a notebook of the user's own for a report.

    Args:
        path: a marimo notebook (`.py`) or a Jupyter notebook (`.ipynb`).
        given: `controls`, `preset` and `seed` for its cell `parameters`; None leaves it as it is.
        runner: runs the experiments of studies that it opens.
        say: told what goes on.

    Raises:
        ControlError: there is no such notebook, it takes no values, or a cell failed.
    """
    if not path.is_file():
        raise ControlError("notebook", f"got {str(path)!r}, which is not there; expected a notebook, .py or .ipynb")
    say("The notebook", 0.1)
    if path.suffix == ".ipynb":
        from workbench.report.jupyter_cells import run_notebook

        if given is not None:
            raise ControlError("set", "got values for a notebook of Jupyter; expected none, for it sets its own")
        named: list[Named] = []
        title, cells, executed = run_notebook(path, named)
        blocks = [block for cell in cells for block in cell.blocks]
        return Narrative(title, blocks, cells, quantities=named, notebook=path, executed=executed)
    from workbench.report.marimo_cells import Recording, run_cells

    recording = Recording(runner, say)
    try:
        title, cells = run_cells(path, recording, given)
    except (ControlError, RunFailed, Interrupted, KeyboardInterrupt):
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise ControlError("notebook", f"got {path.name}, which failed: {type(error).__name__}: {reason}") from error
    blocks = [block for cell in cells for block in cell.blocks]
    return Narrative(
        title, blocks, cells, recording.sessions, quantities=recording.quantities, notebook=path
    )  # fmt: skip
