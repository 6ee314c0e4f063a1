"""Verifying a report: its numbers are made again in a clean process, and every named quantity is judged.

Nothing of the report is executed: its study is looked up by name in the registry, its controls pass the study's own
validation, its inputs are found by hash. The process has no way to what was kept: its home is empty.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workbench.batch import RunFailed, pick_device
from workbench.comparison import Change, Word
from workbench.controls import ControlError
from workbench.environment import THREAD_VARIABLES
from workbench.report.clean_process import in_clean_process
from workbench.report.inputs import find_inputs, values_of
from workbench.report.judgement import Judged, counted, judge_all
from workbench.report.manifest import read_manifest
from workbench.report.manifest_schema import Manifest, written_value
from workbench.report.stale import alike, changes_between, environment_of_runs, study_of
from workbench.study import PRESETS, Study

__all__ = ["FINE", "MOVED", "PARTLY", "REFUSED", "Asked", "Verification", "allowed_environment", "verify_report"]

FINE, MOVED, REFUSED, PARTLY = 0, 1, 2, 3
"""Exit statuses: verified; something drifted or is missing; it cannot be verified; verified in part."""

PASSED_ON = (
    "PATH", "HOME", "USERPROFILE", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "COMSPEC",
    "PATHEXT", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "XDG_CACHE_HOME",
    "NUMBA_CACHE_DIR", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "CUDA_VISIBLE_DEVICES", "CUDA_HOME",
    "ASSAY_DATA", "ASSAY_STUDIES",
)  # fmt: skip
"""Variables that a clean process gets; no others."""

Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class Asked:
    """What is verified of a report; all of it when nothing is said.

    Attributes:
        only: names of quantities, or beginnings of them up to a `/` or `[`, such as `claim/3a` or `sweep`.
        sample: how many quantities, drawn at random.
        preset: another preset to run at; empty for the report's own.
    """

    only: tuple[str, ...] = ()
    sample: int | None = None
    preset: str = ""


@dataclass(frozen=True)
class Verification:
    """What came out.

    Attributes:
        manifest: of the report.
        judged: every quantity, in the report's order.
        changes: what differs beside the quantities.
        alike: the numeric environment is that of the report.
        partly: why it is verified in part only; empty where it is whole.
        took: seconds.
    """

    manifest: Manifest
    judged: Sequence[Judged]
    changes: Sequence[Change]
    alike: bool
    partly: str = ""
    took: float = field(default=0.0, compare=False)

    @property
    def counts(self) -> dict[Word, int]:
        """How many quantities there are of each word; timings are left out."""
        return counted(self.judged)

    @property
    def status(self) -> int:
        """The exit status."""
        counts = self.counts
        if counts[Word.DRIFT] or counts[Word.MISSING]:
            return MOVED
        if not counts[Word.SAME] and not counts[Word.WITHIN]:
            return REFUSED
        return PARTLY if self.partly else FINE

    @property
    def words(self) -> str:
        """The outcome in words."""
        return {
            FINE: "verified", MOVED: "not the same", REFUSED: "nothing could be compared", PARTLY: "partly verified"
        }[self.status]  # fmt: skip

    def as_json(self) -> dict[str, Any]:
        """The outcome as plain data; NaN and infinities as in a manifest."""
        return {
            "outcome": self.words,
            "exit": self.status,
            "partly": self.partly,
            "seal": self.manifest.seal,
            "schema": self.manifest.schema_,
            "same_numeric_environment": self.alike,
            "counts": {str(word): n for word, n in self.counts.items()},
            "timings": sum(one.quantity.kind == "timing" for one in self.judged),
            "quantities": [quantity_json(one) for one in self.judged],
            "changes": [{"part": c.part, "name": c.name, "report": c.values[0], "now": c.values[1]}
                        for c in self.changes],
            "took": round(self.took, 3),
        }  # fmt: skip


def quantity_json(one: Judged) -> dict[str, Any]:
    """A judged quantity as plain data."""
    then, now, far = (plain(value) for value in (one.then, one.again, one.far))
    return {
        "name": one.quantity.name, "word": str(one.word), "kind": one.quantity.kind, "unit": one.quantity.unit,
        "report": then, "now": now, "entry": one.entry, "tolerance": one.tolerance, "in_tolerances": far,
        "why": one.why,
    }  # fmt: skip


def plain(value: Any) -> Any:
    """A value as JSON holds it."""
    found = written_value(value)
    if isinstance(found, list):
        return [plain(entry) for entry in found]
    return found.model_dump() if hasattr(found, "model_dump") else found


def verify_report(
    path: Path,
    asked: Asked | None = None,
    *,
    inputs: Iterable[Path] = (),
    notebook: Path | None = None,
    seconds: float | None = None,
    on_progress: Progress | None = None,
) -> Verification:
    """Make the numbers of a report again, and judge every named quantity.

    Args:
        path: the report.
        asked: what of it; all when left out.
        inputs: files and folders that the report rests on, where their hashes alone do not find them.
        notebook: of the user's own, where the report is of one.
        seconds: after which it is given up.
        on_progress: called with what goes on and a fraction.

    Raises:
        ControlError: no report, a broken seal, an input that is not here, a value that the study does not take any
            more; nothing was run then.
        UnknownStudy, StudyError: the study exists no longer, or cannot be imported.
        RunFailed: an experiment failed when it was run again, or it took too long.
    """
    started = time.monotonic()
    manifest = read_manifest(path)
    study = None if manifest.study is None else study_of(manifest)
    part = Part.of(manifest, study, asked or Asked())
    order = order_of(manifest, study, part, list(inputs), notebook)
    now = run_again(manifest, order, seconds, on_progress)
    same = alike(manifest, now)
    changes = changes_between(manifest, now)
    judged = judge_all(
        manifest.named, now.named, alike=same,
        same_code=(manifest.code.members, manifest.code.modules) == (now.code.members, now.code.modules),
        skipped=lambda name: part.why_not(name, study, manifest, now),
    )  # fmt: skip
    judged = [part.beside(one, study, manifest, now) for one in judged]
    return Verification(manifest, judged, changes, same, part.words, time.monotonic() - started)


# what is verified


@dataclass(frozen=True)
class Part:
    """The part of a report that is verified.

    Attributes:
        names: the quantities; None for all.
        preset: another one than the report's; empty for its own.
        words: why it is a part only; empty for the whole.
    """

    names: frozenset[str] | None = None
    preset: str = ""
    words: str = ""

    @classmethod
    def of(cls, manifest: Manifest, study: Study | None, asked: Asked) -> Part:
        """The part that is asked for.

        Raises:
            ControlError: a name that is no quantity of the report, a number below 1, or no such preset.
        """
        known = [one.name for one in manifest.quantities if one.kind != "timing"]
        words: list[str] = []
        names: frozenset[str] | None = None
        for name in asked.only:
            if not any(is_under(one, name) for one in known):
                heads = ", ".join(dict.fromkeys("/".join(one.split("/")[:2]) for one in known[:400]))
                raise ControlError(
                    "only", f"got {name[:80]!r}; expected a quantity of the report or how one begins: {heads}"
                )
        if asked.only:
            names = frozenset(one for one in known if any(is_under(one, name) for name in asked.only))
            words.append(f"only {', '.join(asked.only)}")
        if asked.sample is not None:
            if asked.sample < 1:
                raise ControlError("sample", f"got {asked.sample}; expected at least 1")
            pool = sorted(names if names is not None else known)
            names = frozenset(random.SystemRandom().sample(pool, min(asked.sample, len(pool))))
            words.append(f"{len(names)} of {len(pool)} quantities, drawn at random")
        if asked.preset and asked.preset not in PRESETS:
            raise ControlError("preset", f"got {asked.preset[:80]!r}; expected one of {', '.join(PRESETS)}")
        if asked.preset and (study is None or manifest.study is None):
            raise ControlError("preset", f"got {asked.preset!r} for the report of a notebook; expected none")
        other = asked.preset if manifest.study is not None and asked.preset != manifest.study.preset else ""
        if other and manifest.study is not None:
            words.append(f"at {other}, the report is at {manifest.study.preset}")
        return cls(names, other, "; ".join(words))

    def why_not(self, name: str, study: Study | None, manifest: Manifest, now: Manifest) -> str:
        """Why a quantity is not judged; empty where it is."""
        if self.names is not None and name not in self.names:
            return "it was not asked for"
        if self.preset and study is not None and moved(name, study, manifest, now) and not is_estimate(name):
            return f"it follows the preset, which is {self.preset} here"
        return ""

    def beside(self, one: Judged, study: Study | None, manifest: Manifest, now: Manifest) -> Judged:
        """A claim's estimate at another preset: the intervals of both must overlap."""
        name = one.quantity.name
        if not self.preset or study is None or not is_estimate(name) or not moved(name, study, manifest, now):
            return one
        again = next((q for q in now.named if q.name == name), None)
        if again is None or again.interval is None or one.quantity.interval is None:
            why = f"it follows the preset, which is {self.preset} here"
            return Judged(one.quantity, Word.NOT_COMPARABLE, None if again is None else again.value, why=why)
        (low, high), (lower, higher) = one.quantity.interval, again.interval
        apart = max(low - higher, lower - high, 0.0)
        half = (high - low + higher - lower) / 2
        far = 1 + apart / half if apart and half else (0.0 if not apart else float("inf"))
        word = Word.DRIFT if apart else Word.WITHIN
        return Judged(one.quantity, word, again.value, half, far, why="its interval beside that of another preset")


def is_under(name: str, head: str) -> bool:
    """A quantity is the one of this name, or lies below it."""
    return name == head or name.startswith((f"{head}/", f"{head}[")) or (head.endswith("/") and name.startswith(head))


def is_estimate(name: str) -> bool:
    return name.startswith("claim/") and name.endswith("/estimate")


def member_of(name: str, study: Study) -> str:
    """The member of a study that a quantity is of: an experiment, a view, or `claim:ID`; empty for another's."""
    head, _, rest = name.partition("/")
    if head == "claim" and rest.rpartition("/")[0] in study.claims:
        return f"claim:{rest.rpartition('/')[0]}"
    if head == "view" and rest.partition("/")[0] in study.views:
        return rest.partition("/")[0]
    return head if head in study.experiments else ""


def moved(name: str, study: Study, then: Manifest, now: Manifest) -> bool:
    """A quantity reaches a control that has another value in the second run."""
    member = member_of(name, study)
    assert then.study is not None and now.study is not None
    one, other = then.study.controls, now.study.controls
    data = {found.control for found in then.inputs}
    return bool(member) and any(
        one.get(control) != other.get(control) for control in study.reached_controls(member) if control not in data
    )


def experiments_of(part: Part, study: Study, manifest: Manifest) -> list[str]:
    """The experiments that must be run again for a part of a report."""
    if part.names is None:
        wanted = set(manifest.runs)
    else:
        members = {member_of(name, study) for name in part.names} - {""}
        wanted = {e for member in members for e in (member, *study.reached_experiments(member))}
    known = [name for name in study.experiments if name in manifest.runs]
    earlier = {e for name in known if name in wanted for e in study.reached_experiments(name)}
    return [name for name in study.experiments if (name in wanted and name in known) or name in earlier]


# running again


def order_of(
    manifest: Manifest, study: Study | None, part: Part, given: list[Path], notebook: Path | None
) -> dict[str, Any]:
    """What the clean process is asked to do.

    Raises:
        ControlError: an input or the notebook is not here.
    """
    if study is None or manifest.study is None:
        used = manifest.notebook
        if used is None:
            raise ControlError("report", "names neither a study nor a notebook; expected one of them")
        if notebook is None or not notebook.is_file():
            raise ControlError(
                "notebook",
                f"{used.name} (SHA-256 {used.sha256}) is a notebook of somebody’s own, which is run only when it is "
                "named; expected --notebook PATH",
            )
        settings = None
        if used.preset:
            settings = {"controls": dict(used.settings), "preset": used.preset, "seed": used.seed or 0}
        return {"study": None, "notebook": str(notebook.resolve()), "settings": settings, "told": True}
    inputs = find_inputs(manifest, given)
    if lacking := [one.missing for one in inputs if one.missing]:
        field, _, sentence = lacking[0].partition(": ")
        raise ControlError(field, sentence)
    told = any(
        one.name.startswith("notebook/") and (part.names is None or one.name in part.names)
        for one in manifest.quantities
    )
    return {
        "study": study.slug, "values": values_of(study, manifest, inputs, part.preset),
        "preset": part.preset or manifest.study.preset,
        "device": "cuda" if manifest.study.device == "cuda" and pick_device() == "cuda" else "cpu",
        "experiments": experiments_of(part, study, manifest), "told": told, "settings": None,
    }  # fmt: skip


def allowed_environment(manifest: Manifest, home: Path) -> dict[str, str]:
    """The variables of the clean process: an allow-list of the caller's, and those that pin arithmetic."""
    given = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    threads = str(min(environment_of_runs(manifest).threads, 256))
    return given | dict.fromkeys(THREAD_VARIABLES, threads) | {
        "ASSAY_HOME": str(home), "PYTHONHASHSEED": "0", "PYTHONIOENCODING": "utf-8", "PYTHONDONTWRITEBYTECODE": "1",
        "MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "1",
    }  # fmt: skip


def run_again(
    manifest: Manifest, order: dict[str, Any], seconds: float | None, on_progress: Progress | None
) -> Manifest:
    """Run an order in a clean process, and read the manifest of what came out.

    Raises:
        RunFailed: it was refused, failed, died, or took too long; one sentence.
    """
    with tempfile.TemporaryDirectory(
        prefix="assay-verify-home-", ignore_cleanup_errors=sys.platform == "win32"
    ) as home:
        environment = allowed_environment(manifest, Path(home))
        try:
            last, log = in_clean_process(
                "workbench.report.rerun", order, on_progress, environment=environment, seconds=seconds
            )  # fmt: skip
        except TimeoutError as error:
            raise RunFailed(f"The report could not be verified: {error}.", fault=True) from None
    if "refused" in last:
        raise RunFailed(str(last["refused"]), fault=False)
    if "manifest" not in last:
        raise RunFailed("The report could not be verified: its process died.", fault=True, log=log)
    return Manifest.model_validate(last["manifest"])


def head_of(name: str) -> str:
    """The part of a report that a quantity is of."""
    first, _, rest = name.partition("/")
    return f"{first}/{rest.partition('/')[0]}" if first in ("claim", "view", "notebook") else first
