"""Figures of a result, drawn when the job ends and kept beside the tables.

They could be drawn again from the tables, but only by the code, on the data and with the packages of that day: a run
that came from another machine, rests on somebody's own data, or was made by older code shows what was seen then.
"""

from __future__ import annotations

import json
import math
import time
import traceback
from pathlib import Path
from typing import Any

from workbench.controls import ControlError
from workbench.snapshot import Snapshot

__all__ = ["FIGURES", "keep_figures", "listed", "read_figures"]

FIGURES = "figures"
SECONDS = 1.0
SHARE = 0.02
LARGEST = 2 * 1024**2


def keep_figures(snapshot: Snapshot, experiment: str, folder: Path, took: float) -> list[str]:
    """Draw the views that show an experiment's result, and keep those that are figures.

    No further one is begun once a second, or a fiftieth of the run's own time, is over; one above 2 MiB is not kept.

    Args:
        snapshot: with the result.
        experiment: whose result is new.
        folder: of the run; figures go into `figures/<view>.json` below it: `title`, `subtitle`, `data`, `layout`.
        took: seconds that the experiment took.

    Returns:
        the views that are kept.
    """
    study, kept = snapshot.study, []
    started = time.perf_counter()
    for name in study.views:
        reached = study.reached_experiments(name)
        here = all(one in snapshot.results and snapshot.results[one].complete for one in reached)
        if experiment not in reached or not here:
            continue
        if time.perf_counter() - started > max(SECONDS, SHARE * took):
            break
        try:
            shown = snapshot.show(name)
        except ControlError:  # this input has no such view
            continue
        except Exception:  # a fault of a view is no fault of the run
            traceback.print_exc()
            continue
        if shown.kind != "figure":
            continue
        layout = {part: value for part, value in (shown.content.get("layout") or {}).items() if part != "template"}
        figure = {"title": shown.title, "subtitle": shown.subtitle, "data": shown.content["data"], "layout": layout}
        text = json.dumps(listed(figure), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        if len(text) <= LARGEST:
            (folder / FIGURES).mkdir(exist_ok=True)
            (folder / FIGURES / f"{name}.json").write_text(text, encoding="utf-8")
            kept.append(name)
    return kept


def read_figures(folder: Path) -> dict[str, dict[str, Any]]:
    """From view to the figure that is kept in the folder of a run; what cannot be read is left out."""
    found = {}
    for path in sorted((folder / FIGURES).glob("*.json")):
        try:
            figure = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(figure, dict) and isinstance(figure.get("data"), list) and isinstance(figure.get("layout"), dict):
            found[path.stem] = figure
    return found


def listed(value: Any) -> Any:
    """Plain data: arrays as lists, what is not finite as null."""
    if isinstance(value, dict):
        return {str(k): listed(v) for k, v in value.items()}
    if hasattr(value, "tolist"):
        return listed(value.tolist())
    if isinstance(value, (list, tuple)) or hasattr(value, "__array__"):
        return [listed(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, bool)) or value is None else str(value)
