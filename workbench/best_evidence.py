"""Which of many judgements of a claim is shown: the best evidence that there is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from workbench.claims import Verdict
from workbench.record import Record
from workbench.study import PRESETS

__all__ = ["best_evidence"]


def best_evidence(records: Iterable[Record], terms_hash: str = "") -> dict[str, dict[str, Any]]:
    """The best evidence for each claim of a study: what was measured at all, then the highest preset, then the
    fewest controls set by hand, then the newest.

    Args:
        records: of runs of the study that are done.
        terms_hash: of the study as it is now; judgements under other terms serve only where there is no other.

    Returns:
        from claim to its judgement as plain data, with `preset`, `run`, `when` and `values` of its run, and
        `other_terms`: it was judged under other expectations or presets than these.
    """
    best: dict[str, tuple[tuple[bool, bool, int, int, float], dict[str, Any]]] = {}
    for record in records:
        other = bool(terms_hash) and record.terms_hash != terms_hash
        for id, judgement in record.claims.items():
            if judgement.get("verdict") in (None, str(Verdict.NOT_JUDGED)):
                continue
            measured = judgement["verdict"] != str(Verdict.NEEDS_SCALE)
            level = PRESETS.index(record.preset)
            rank = (not other, measured, level, -len(record.values), record.started or 0.0)
            if id not in best or rank > best[id][0]:
                context = {
                    "preset": record.preset, "run": record.run, "when": record.started,
                    "values": dict(record.values), "other_terms": other,
                }  # fmt: skip
                best[id] = rank, {**judgement, **context}
    return {id: judgement for id, (_, judgement) in best.items()}
