"""The parts of a page that notebooks show as HTML: claims, notes, numbers, tables, provenance.

JupyterLab and marimo show the same markup; each has its own widgets around it. The styles stand in one element of
their own, scoped to `.assay`, so that nothing of the notebook's page changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import pandas as pd
from markdown_it import MarkdownIt

from workbench.claims import Judgement, Verdict
from workbench.job import Job, State
from workbench.study import Stat

__all__ = [
    "GLYPHS", "STYLES", "about", "boxed", "downloads", "escape", "heading", "job_ended", "job_line", "ledger", "left",
    "note", "number", "prose", "provenance", "stats", "table", "verdicts", "waiting",
]  # fmt: skip

LIGHT = """--as-ink:#13191b;--as-ink-2:#434d50;--as-ink-3:#5a6568;--as-line:#d6dcdb;--as-sunken:#e9edec;
--as-surface:#fff;--as-edge:#7f8989;--as-accent:#2a4bd0;--as-accent-ink:#2443bd;--as-holds:#0b6b58;--as-holds-soft:#dff2ec;
--as-fails:#8f1d12;--as-fails-soft:#fbe7e2;--as-open:#7a5800;--as-open-soft:#fbf0d2;--as-scale:#3f4a5a;
--as-scale-soft:#e6eaef"""
DARK = """--as-ink:#e9eded;--as-ink-2:#b4bec1;--as-ink-3:#949fa3;--as-line:#2c353a;--as-sunken:#1e2529;
--as-surface:#161b1e;--as-edge:#707c82;--as-accent:#91a7ff;--as-accent-ink:#a6b7ff;--as-holds:#6fd6bb;--as-holds-soft:#12342c;
--as-fails:#f58a6e;--as-fails-soft:#43201a;--as-open:#e3b84c;--as-open-soft:#392d0e;--as-scale:#a3afc4;
--as-scale-soft:#252c36"""
STYLES = f"""<style>
.assay {{ {LIGHT}; color:var(--as-ink); line-height:1.45; font-size:14px }}
body[data-jp-theme-light="false"] .assay, .dark .assay {{ {DARK} }}
.assay h2 {{ font-size:20px; font-weight:600; line-height:1.25; margin:0; color:var(--as-ink) }}
.assay h3 {{ font-size:16px; font-weight:600; line-height:1.3; margin:0; color:var(--as-ink) }}
.assay p {{ margin:0 }}
.assay .as-sub {{ font-size:13px; color:var(--as-ink-2) }}
.assay .as-small {{ font-size:12px; color:var(--as-ink-2) }}
.assay .as-note {{ padding:6px 12px; border-left:3px solid var(--as-edge); background:var(--as-sunken);
  font-size:13px }}
.assay .as-note--fails {{ border-color:var(--as-fails); background:var(--as-fails-soft) }}
.assay .as-note--open {{ border-color:var(--as-open); background:var(--as-open-soft) }}
.assay .as-bad {{ font-size:12px; color:var(--as-fails); white-space:normal }}
.assay .as-v {{ display:inline-flex; align-items:center; gap:5px; font-size:12px; font-weight:600; line-height:22px;
  padding:0 8px 0 6px; border-radius:3px; white-space:nowrap }}
.assay .as-v svg {{ width:14px; height:14px }}
.assay .as-v--holds {{ color:var(--as-holds); background:var(--as-holds-soft) }}
.assay .as-v--fails {{ color:var(--as-fails); background:var(--as-fails-soft) }}
.assay .as-v--inconclusive {{ color:var(--as-open); background:var(--as-open-soft) }}
.assay .as-v--needs-scale {{ color:var(--as-scale); background:var(--as-scale-soft) }}
.assay .as-v--not-judged {{ color:var(--as-ink-2); background:var(--as-sunken) }}
.assay .as-claim {{ padding:10px 0; border-top:1px solid var(--as-line); display:grid;
  grid-template-columns:minmax(0,1fr) auto; gap:4px 12px; align-items:start }}
.assay .as-claim:first-of-type {{ border-top:0 }}
.assay .as-claim b {{ color:var(--as-ink-3); font-weight:400; margin-right:5px }}
.assay .as-claim strong {{ font-weight:600; color:var(--as-ink) }}
.assay .as-claim .as-small {{ grid-column:1/-1 }}
.assay .as-prov {{ display:flex; flex-wrap:wrap; gap:3px 14px; font-size:12px; color:var(--as-ink-2) }}
.assay .as-prov b {{ font-weight:400; color:var(--as-ink-3); margin-right:5px }}
.assay .as-stats {{ display:flex; flex-wrap:wrap; gap:12px 28px }}
.assay .as-stats dt {{ font-size:12px; color:var(--as-ink-2) }}
.assay .as-stats dd {{ margin:0; font-size:18px; font-variant-numeric:tabular-nums }}
.assay .as-scroll {{ overflow:auto; max-height:420px }}
.assay table {{ border-collapse:collapse; font-size:13px; font-variant-numeric:tabular-nums; color:var(--as-ink) }}
.assay th, .assay td {{ padding:4px 10px; border-bottom:1px solid var(--as-line); text-align:right; background:none }}
.assay th {{ font-weight:400; color:var(--as-ink-2); white-space:nowrap }}
.assay td.t, .assay th.t {{ text-align:left; white-space:normal }}
.assay a {{ color:var(--as-accent-ink) }}
.assay progress {{ width:100%; height:6px; accent-color:var(--as-accent) }}
</style>"""

GLYPHS = {
    Verdict.HOLDS: '<circle cx="8" cy="8" r="7" fill="currentColor"/>'
    '<path d="M4.6 8.3 7 10.6l4.4-5" fill="none" stroke="var(--as-holds-soft)" stroke-width="2"/>',
    Verdict.FAILS: '<path d="M8 .5 15.5 8 8 15.5.5 8z" fill="currentColor"/>'
    '<path d="m5.6 5.6 4.8 4.8m0-4.8-4.8 4.8" stroke="var(--as-fails-soft)" stroke-width="1.8"/>',
    Verdict.INCONCLUSIVE: '<circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" stroke-width="2"/>'
    '<path d="M8 2a6 6 0 0 0 0 12z" fill="currentColor"/>',
    Verdict.NEEDS_SCALE: '<path d="M8 2.2 14.2 13.4H1.8z" fill="none" stroke="currentColor" stroke-width="1.8"/>',
    Verdict.NOT_JUDGED: '<g fill="currentColor"><circle cx="3" cy="8" r="1.6"/><circle cx="8" cy="8" r="1.6"/>'
    '<circle cx="13" cy="8" r="1.6"/></g>',
}
ROWS_SHOWN = 200


def number(value: Any) -> str:
    """A number as people read it: three significant figures, a true minus."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}".replace(",", "\N{NARROW NO-BREAK SPACE}").replace("-", "−")
    if isinstance(value, float):
        short = float(f"{value:.3g}")
        if 1e3 <= abs(short) < 1e6:
            return number(round(short))
        return "" if value != value else f"{value:.3g}".replace("-", "−")
    return str(value)


def boxed(inner: str) -> str:
    return f'<div class="assay">{inner}</div>'


def heading(title: str, subtitle: str = "", *, level: int = 3) -> str:
    """A finding with the line below it."""
    below = f'<p class="as-sub">{rich(subtitle)}</p>' if subtitle else ""
    return boxed(f"<h{level}>{rich(title)}</h{level}>{below}")


def rich(text: str) -> str:
    """Text with the few marks that Plotly allows in a title; everything else is text."""
    return re.sub(r"&lt;(/?)(b|i|sub|sup|br)&gt;", r"<\1\2>", escape(text, quote=False))


def note(sentence: str, kind: str = "") -> str:
    """One sentence that concerns what stands below; `kind` is `fails`, `open` or nothing."""
    extra = f" as-note--{kind}" if kind else ""
    return boxed(f'<p class="as-note{extra}" role="status">{escape(sentence)}</p>') if sentence else ""


def prose(text: str) -> str:
    """Markdown as HTML; tags in it are shown, not obeyed."""
    return boxed(MarkdownIt("commonmark", {"html": False}).render(text))


def chip(verdict: Verdict) -> str:
    glyph = f'<svg viewBox="0 0 16 16" aria-hidden="true">{GLYPHS[verdict]}</svg>'
    return f'<span class="as-v as-v--{str(verdict).replace(" ", "-")}">{glyph}{verdict}</span>'


def claim_row(judgement: Judgement) -> str:
    claim, evidence = judgement.claim, judgement.evidence
    said = []
    if evidence is not None:
        unit = f" {claim.expects.unit}" if claim.expects and claim.expects.unit else ""
        measured = f"<strong>{number(evidence.estimate)}{escape(unit)}</strong>"
        if evidence.over == "exact":
            measured += f" over {evidence.n} cases" if evidence.n > 1 else ""
        else:
            low, high = (number(end) for end in evidence.interval)
            measured += f" [{low}, {high}] over {evidence.n} {escape(evidence.over)}"
        said.append(measured)
    if claim.expects is not None:
        said.append(f"{escape(claim.expects.quantity)}: expected {escape(claim.expects.words)}".lstrip(": "))
    why = judgement.why or ("" if evidence is None else evidence.note)
    lines = [" · ".join(said)] if said else []
    lines += [escape(why)] if why else []
    lines += [escape(judgement.stale)] if judgement.stale else []
    below = "".join(f'<p class="as-small">{line}</p>' for line in lines)
    return (
        f'<div class="as-claim"><p><b>{escape(str(claim.id))}</b>{escape(claim.sentence)}</p>'
        f"{chip(judgement.verdict)}{below}</div>"
    )


def ledger(judgements: Iterable[Judgement]) -> str:
    """Claims with their verdicts, in the paper's order."""
    return boxed("".join(claim_row(judgement) for judgement in judgements))


def verdicts(outcomes: Mapping[str, Mapping[str, Any]]) -> str:
    """Verdicts of the same claims in several outcomes, side by side.

    Args:
        outcomes: from a heading to what `assay run --json` wrote.
    """
    sentences: dict[str, str] = {}
    cells: dict[tuple[str, str], str] = {}
    for name, outcome in outcomes.items():
        for claim in outcome["claims"]:
            sentences[str(claim["id"])] = claim["sentence"]
            measured = ""
            if claim["measured"] is not None:
                measured = number(float(claim["measured"])) + (f" {claim['unit']}" if claim["unit"] else "")
                if claim["over"] != "exact":
                    measured += " [{}, {}]".format(*(number(float(end)) for end in claim["interval"]))
            cells[str(claim["id"]), name] = (
                f'<span title="{escape(claim["note"])}">{chip(Verdict(claim["verdict"]))}</span>'
                f'<br><span class="as-small">{escape(measured)}</span>'
            )
    head = "".join(f'<th class="t">{escape(name)}</th>' for name in outcomes)
    body = "".join(
        f'<tr><td class="t">{escape(id)}</td><td class="t">{escape(sentence)}</td>'
        + "".join(f'<td class="t">{cells.get((id, name), "")}</td>' for name in outcomes)
        + "</tr>"
        for id, sentence in sentences.items()
    )
    return boxed(
        f'<table><thead><tr><th class="t"></th><th class="t">The paper says</th>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table>"
    )


def stats(values: Iterable[Stat]) -> str:
    """Labelled numbers."""
    cells = "".join(
        f"<div><dt>{escape(s.label)}</dt><dd>{escape(number(s.value))}"
        f"{' ' + escape(s.unit) if s.unit else ''}</dd></div>"
        for s in values
    )
    return boxed(f'<dl class="as-stats">{cells}</dl>')


def table(frame: pd.DataFrame, rows: int = ROWS_SHOWN) -> str:
    """The first rows of a data frame."""
    words = [not pd.api.types.is_numeric_dtype(frame[name]) for name in frame.columns]
    kinds = ['class="t"' if word else "" for word in words]
    head = "".join(f"<th {kind}>{escape(str(c))}</th>" for c, kind in zip(frame.columns, kinds, strict=True))
    body = "".join(
        "<tr>" + "".join(f"<td {kind}>{escape(number(v))}</td>" for v, kind in zip(row, kinds, strict=True)) + "</tr>"
        for row in frame.head(rows).astype(object).itertuples(index=False, name=None)
    )
    rest = f'<p class="as-small">{rows:,} of {len(frame):,} rows.</p>' if len(frame) > rows else ""
    return boxed(
        f'<div class="as-scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{rest}'
    )


def about(seconds: float) -> str:
    """A cost as people say it: `about 55 s`, `about 2 min`."""
    return f"about {5 * max(1, round(seconds / 5))} s" if seconds < 90 else f"about {round(seconds / 60)} min"


def left(seconds: float) -> str:
    """Time left as people say it, in steps of 5 s and then of minutes."""
    rounded = max(5, 5 * round(seconds / 5))
    return f"{rounded} s left" if rounded < 60 else f"{round(rounded / 60)} min left"


def waiting(titles: Sequence[str]) -> str:
    """The sentence on what a view waits for; empty when it waits for nothing."""
    return f"Waits for “{'” and “'.join(titles)}”." if titles else ""


def job_ended(job: Job, title: str) -> str:
    """How an ended job ended: done, cancelled, or failed with its log."""
    if job.state is State.DONE:
        return job_line("Kept from an earlier run." if job.kept else f"Done in {job.took or 0:.2g} s.", "", None)
    if job.state is State.CANCELLED:
        return note("Cancelled; what was finished is kept.")
    log = f"<details><summary>Show log</summary><pre>{escape(job.log)}</pre></details>" if job.log else ""
    return note(job.failure(title), "fails") + boxed(log)


def job_line(state: str, message: str, eta: float | None) -> str:
    """What a job does now, and how long it will go on."""
    rest = "" if eta is None else f" · {left(eta)}"
    return boxed(f'<p class="as-small">{escape(message or state)}{rest}</p>')


def provenance(facts: Mapping[str, Any]) -> str:
    """Where a result comes from, in one line that wraps; whole hashes and versions show when pointed at."""
    versions = dict(facts.get("versions") or {})
    threads = facts.get("threads")
    parts: list[tuple[str, Any, Any]] = [("run", str(facts.get("run") or "")[:8], facts.get("run"))]
    parts.append(("preset", facts.get("preset"), None))
    parts.append(("seed", facts.get("seed"), None))
    for one in facts.get("data") or ():
        parts.append(("data", f"{one['name']} {one['sha256'][:8]}", f"{one['control']}: {one['sha256']}"))
    revision = str(facts.get("revision") or "")
    changed = " changed" if revision.endswith("+") else ""
    parts.append(("code", f"{str(facts.get('code') or '')[:8]}{changed}", f"{facts.get('code')} at {revision}"))
    parts.append(("torch", versions.get("torch"), ", ".join(f"{k} {v}" for k, v in versions.items())))
    count = f", {threads} thread{'' if threads == 1 else 's'}" if threads else ""
    parts.append(("device", f"{facts['device']}{count}" if facts.get("device") else None, facts.get("cpu")))
    if facts.get("took") is not None:
        parts.append(("took", f"{number(float(facts['took']))} s", None))
    if facts.get("peak_memory"):
        parts.append(("peak", f"{facts['peak_memory'] / 1e9:.1f} GB", None))
    spans = [
        f'<span title="{escape(str(whole or shown))}"><b>{name}</b>{escape(str(shown))}</span>'
        for name, shown, whole in parts
        if shown not in (None, "")
    ]
    return boxed(f'<div class="as-prov">{"".join(spans)}</div>')


def downloads(files: Mapping[str, tuple[str, str]]) -> str:
    """Links that save text: from file name to `(mime type, base64)`."""
    links = " · ".join(
        f'<a download="{escape(name)}" href="data:{mime};base64,{content}">{escape(name)}</a>'
        for name, (mime, content) in files.items()
    )
    return boxed(f'<p class="as-small">Save {links}</p>') if files else ""
