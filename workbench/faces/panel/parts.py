"""What the page is told about a study: controls, views, jobs and claims, as plain data and HTML."""

from __future__ import annotations

import functools
import math
import re
from html import escape
from pathlib import Path
from typing import Any

from math_core import LatexError, LatexToMathML

from assay.data import MODEL_LINES, samples
from workbench.claims import Evidence, Expectation, Judgement, Verdict
from workbench.controls import Choice, Control, ControlError, Data, Flag, Integer, List, Matrix, Number
from workbench.faces import markup
from workbench.faces.markup import about, left, number, prose, provenance, rich, stats, table
from workbench.kept_figures import listed
from workbench.session import Session
from workbench.snapshot import Shown
from workbench.study import Experiment, Study
from workbench.theme import THEMES, Theme, figure, template, without_template

__all__ = [
    "KEYS", "control_facts", "equation", "glyph", "job_facts", "ledger", "plain", "sign", "strip", "study_facts",
    "view_facts",
]  # fmt: skip

KEYS = {
    Verdict.HOLDS: "holds", Verdict.FAILS: "fails", Verdict.INCONCLUSIVE: "open", Verdict.NEEDS_SCALE: "scale",
    Verdict.NOT_JUDGED: "wait",
}  # fmt: skip
WORDS = {
    Verdict.HOLDS: "Holds", Verdict.FAILS: "Fails", Verdict.INCONCLUSIVE: "Inconclusive",
    Verdict.NEEDS_SCALE: "Needs scale", Verdict.NOT_JUDGED: "Not judged yet",
}  # fmt: skip
# the shapes of the notebooks, which stand on pale chips there and on the surface here
GLYPHS = {
    verdict: re.sub(r"var\(--as-\w+-soft\)", "var(--as-surface)", shape) for verdict, shape in markup.GLYPHS.items()
}


def plain(value: float) -> str:
    """A number as a field shows it: up to six figures, no trailing noughts."""
    return f"{value:.6g}".replace("e-0", "e-").replace("e+0", "e")


@functools.cache
def equation(latex: str) -> str:
    """LaTeX as MathML; the LaTeX itself where it cannot be turned."""
    if not latex:
        return ""
    try:
        return LatexToMathML().convert_with_local_state(latex, displaystyle=True)
    except LatexError:
        return f"<code>{escape(latex)}</code>"


LOW = {"ₘ": "m", "ₜ": "t", "ₕ": "h", "ᵢ": "i", "ₙ": "n", "₀": "0", "₁": "1", "₂": "2"}


def sign(symbol: str) -> str:
    """A symbol as HTML: small letters that few fonts have become an index."""
    symbol, _, index = symbol.partition("_")
    text = "".join(f"<sub>{LOW[c]}</sub>" if c in LOW else escape(c) for c in symbol)
    text += f"<sub>{escape(index)}</sub>" if index else ""
    return text.replace("</sub><sub>", "")


def marked(mathml: str, controls: dict[str, Control]) -> str:
    """The equation with every symbol that a control sets marked by the control's name."""
    signs = {c.symbol: name for name, c in controls.items() if c.symbol}

    def mark(found: re.Match[str]) -> str:
        name = signs.get(found[1])
        return found[0] if name is None else f'<mrow class="ctl" data-control="{name}">{found[0]}</mrow>'

    return re.sub(r"<mi[^>]*>([^<]+)</mi>", mark, mathml)


def study_facts(study: Study) -> dict[str, Any]:
    """What of a study never changes while it is looked at."""
    moving = study.moving
    groups = [
        {
            "name": group.name,
            "equation": marked(equation(group.equation), moving),
            "controls": [n for n, c in moving.items() if c.group == group.name and not c.rare],
        }
        for group in study.groups.values()
    ]
    return {
        "slug": study.slug,
        "family": study.family.capitalize(),
        "question": study.question,
        "paper": [study.paper.title, study.paper.authors, study.paper.venue, study.paper.arxiv, study.paper.url],
        "groups": [group for group in groups if group["controls"]],
        "rare": [n for n, c in moving.items() if c.rare],
        "views": [
            {"name": v.name, "title": v.title, "tab": v.tab, "doc": v.doc, "selects": dict(v.selects),
             "equation": marked(equation(v.equation), moving)}
            for v in study.views.values()
        ],
        "experiments": [{"name": e.name, "title": e.title, "doc": e.doc} for e in study.experiments.values()],
        "claims": len(study.claims),
        "templates": {theme: template(theme) for theme in THEMES},
    }  # fmt: skip


def control_facts(session: Session) -> dict[str, dict[str, Any]]:
    """Every control as the page draws it now: what it is, its limits and its value."""
    study, settings = session.study, session.settings
    found: dict[str, dict[str, Any]] = {}
    for name in study.moving:
        control, value = settings.controls[name], settings.values[name]
        facts: dict[str, Any] = {
            "kind": control.kind, "label": control.label, "symbol": sign(control.symbol), "unit": control.unit,
            "doc": control.doc, "text": control.text(value), "set": name in settings.user, "aliases": [],
        }  # fmt: skip
        if isinstance(control, Number):
            low, high = control.limits
            step = control.step or (1 if isinstance(control, Integer) else (high - low) / 200)
            facts |= {"value": value, "low": low, "high": high, "log": control.log, "step": step}
            facts |= {"whole": isinstance(control, Integer), "text": plain(value), "wide": wide(control)}
        elif isinstance(control, Choice):
            facts["options"] = list(control.options.items())
        elif isinstance(control, Flag):
            facts["value"] = value
        elif isinstance(control, (List, Matrix)):
            separator = "; " if isinstance(control, Matrix) else ", "
            facts["text"] = control.text(value).replace(",", ", ").replace(";", separator)
            facts |= {"low": control.bounds[0], "high": control.bounds[1]}
        elif isinstance(control, Data):
            facts |= {
                "samples": [f"sample:{s}" for s in control.samples], "suffixes": ",".join(s for s in control.suffixes),
                "optional": control.optional, "needs": control.needs,
                "about": {f"sample:{s}": text for s, text in (samples() | MODEL_LINES).items() if s in control.samples},
                "called": called(session, name),
            }  # fmt: skip
        facts["aliases"] = [alias_facts(session, alias) for alias in study.aliases.values() if alias.control == name]
        found[name] = facts
    return found


def called(session: Session, name: str) -> str:
    """The names of the files of one's own that a control holds; told at every move, so samples are not looked up."""
    value = session.settings.values[name]
    if all(one.startswith("sample:") for one in (value if isinstance(value, tuple) else (value,))):
        return ""
    try:
        found = session.snapshot.source(name)
    except ValueError:
        return ""
    own = [s.name for s in (found if isinstance(found, tuple) else (found,)) if s is not None and s.path is not None]
    return ", ".join(own)


def wide(control: Number) -> bool:
    """Too many whole numbers to drag through: a field only."""
    low, high = control.limits
    return isinstance(control, Integer) and not control.log and high - low > 20_000


def alias_facts(session: Session, alias: Any) -> dict[str, str]:
    try:
        value = float(session.value(alias.name))
        text = plain(float(f"{value:.3g}")) if math.isfinite(value) else "none"
    except (ControlError, ValueError, ZeroDivisionError, OverflowError):
        text = "none"
    return {"name": alias.name, "symbol": sign(alias.symbol), "unit": alias.unit, "doc": alias.doc, "text": text}


def view_facts(session: Session, name: str, shown: Shown, theme: Theme) -> dict[str, Any]:
    """A view as the page draws it: a figure as plain data, the rest as HTML."""
    title, subtitle = (rich(text).replace(" %", "\N{NO-BREAK SPACE}%") for text in (shown.title, shown.subtitle))
    facts: dict[str, Any] = {"title": title, "subtitle": subtitle, "content": shown.kind}
    if shown.kind == "figure":
        facts |= {"figure": listed(without_template(figure(shown.content, theme))), "theme": theme}
        facts["empty"] = not shown.content.get("data")
    elif shown.kind == "table":
        facts["html"] = table(shown.content)
    elif shown.kind == "stats":
        facts["html"] = stats(shown.content)
    else:
        facts["html"] = prose(shown.content)
    waits = [session.study.experiments[e] for e in session.waits(name)]
    facts["stale"] = session.stale(name)
    facts["waits"] = [[e.name, e.title, cost(e, session.preset)] for e in waits]
    return facts


def cost(experiment: Experiment, preset: str) -> str:
    """What a run costs, rounded as people say it."""
    seconds = experiment.cost.get(preset)
    if not seconds:
        return ""
    if seconds < 5:
        return "a few seconds"
    return about(seconds)


def job_facts(session: Session, name: str) -> dict[str, Any]:
    """An experiment's bar: how far it is or how it ended, and where its numbers come from."""
    experiment = session.study.experiments[name]
    held = session.held.get(name)
    facts: dict[str, Any] = {"state": "", "line": cost(experiment, session.preset) or experiment.doc}
    if held is None:
        return facts
    job = held.job
    facts |= {"state": str(job.state), "fraction": job.fraction, "message": job.message, "kept": job.kept}
    facts["stale"] = session.stale(name)
    if job.eta is not None:
        facts["left"] = left(job.eta)
    if job.state == "done":
        facts["line"] = "Kept from an earlier run" if job.kept else f"Done, took {number(float(job.took or 0.0))} s"
        facts["tables"] = list(job.result.tables)
        if job.result.files and "run" in job.provenance:
            facts["run"] = job.provenance["run"]
            facts["files"] = [[name, f"{size_of(path):,} B"] for name, path in sorted(job.result.files.items())]
        facts["provenance"] = provenance(job.provenance)
    elif job.state in ("failed", "lost"):
        facts |= {"error": job.error, "log": job.log}
    return facts


def size_of(path: Path) -> int:
    """Bytes of a file; 0 where it is there no more."""
    return path.stat().st_size if path.exists() else 0


def glyph(verdict: Verdict) -> str:
    """A verdict's shape."""
    return f'<svg viewBox="0 0 16 16" class="as-m-{KEYS[verdict]}" aria-hidden="true">{GLYPHS[verdict]}</svg>'


def strip(verdicts: list[Verdict]) -> str:
    """One shape a claim, in the paper's order."""
    counts = [
        f"{verdicts.count(v)} {v if v != Verdict.NOT_JUDGED else 'not judged yet'}" for v in KEYS if v in verdicts
    ]
    shapes = "".join(map(glyph, verdicts))
    return f'<span class="as-strip" role="img" aria-label="Claims: {", ".join(counts)}">{shapes}</span>'


def ledger(judgements: list[Judgement]) -> str:
    """The claims with their scales and verdicts."""
    return "".join(map(claim_row, judgements))


def claim_row(judgement: Judgement) -> str:
    claim, evidence, expects, verdict = judgement.claim, judgement.evidence, judgement.claim.expects, judgement.verdict
    chip = f'<span class="as-v as-v--{KEYS[verdict]}">{glyph(verdict)}{WORDS[verdict]}</span>'
    head = f'<p class="as-claim__s"><b>{escape(str(claim.id))}</b>{escape(claim.sentence)}</p><div>{chip}</div>'
    row = ""
    if evidence is not None and expects is not None:
        row += (
            f'<div class="as-claim__n">{scale(evidence, expects, verdict)}<p>{measured(evidence, expects)}; '
            f"expected {escape(expects.words)}</p></div>"
        )
    elif expects is not None and verdict is Verdict.NOT_JUDGED:
        row += f'<p class="as-claim__why">{escape(expects.quantity)}: expected {escape(expects.words)}</p>'
    why = judgement.why or ("" if evidence is None else evidence.note)
    if why:
        row += f'<p class="as-claim__why">{escape(why)}</p>'
    if judgement.command:
        row += f'<p class="as-claim__why"><code>{escape(judgement.command)}</code></p>'
    if judgement.stale:
        row += f'<p class="as-claim__why">{escape(judgement.stale)}</p>'
    facts = f'data-claim="{escape(str(claim.id))}" data-verdict="{verdict}"'
    if verdict is Verdict.NOT_JUDGED and not judgement.stale:  # many claims that wait make a long column
        return f'<details {facts}><summary class="as-claim">{head}</summary>{row}</details>'
    return f'<article class="as-claim" {facts}>{head}{row}</article>'


def measured(evidence: Evidence, expects: Expectation) -> str:
    unit = f"\N{NO-BREAK SPACE}{escape(expects.unit)}" if expects.unit else ""
    text = f"<strong>{number(evidence.estimate)}{unit}</strong>"
    if evidence.over == "exact":
        text += f" over {evidence.n} cases" if evidence.n > 1 else ""
    else:
        low, high = map(number, evidence.interval)
        text += f" [{low}, {high}] over {evidence.n} {escape(evidence.over)}"
    return f"{text}, {escape(expects.quantity)}" if expects.quantity else text


def scale(evidence: Evidence, expects: Expectation, verdict: Verdict) -> str:
    """A line with the expected region, the measured mark and its interval."""
    ends = [x for x in (evidence.estimate, *evidence.interval, expects.low, expects.high) if math.isfinite(x)]
    low, high = min(ends), max(ends)
    room = (high - low) * 0.3 or abs(high) * 0.3 or 1.0
    low, high = low - room, high + room

    def at(x: float) -> float:
        return 4 + 108 * min(max((x - low) / (high - low), 0.0), 1.0)

    start, end = at(max(expects.low, low)), at(min(expects.high, high))
    first, last = map(at, evidence.interval)
    mark = GLYPHS[verdict]
    return (
        '<svg viewBox="0 0 116 18" role="img" aria-label="measured against expected">'
        '<path d="M2 9h112" stroke="var(--as-zero)"/>'
        f'<rect x="{start:.1f}" y="4" width="{max(end - start, 2):.1f}" height="10" fill="var(--as-holds-soft)" '
        'stroke="var(--as-holds-mark)" stroke-opacity=".35"/>'
        f'<g class="as-m-{KEYS[verdict]}"><path d="M{first:.1f} 9H{last:.1f}" stroke="currentColor" stroke-width="2"/>'
        f'<g transform="translate({at(evidence.estimate) - 5:.1f} 4) scale(.625)">{mark}</g></g></svg>'
    )
