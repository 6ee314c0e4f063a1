"""Runs beside each other as HTML: how they differ, what else does, and their numbers over the band of tolerance."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from workbench.claims import Verdict
from workbench.comparison import Word
from workbench.faces.markup import number
from workbench.faces.panel.parts import glyph
from workbench.faces.panel.run_parts import opened, study_of, title_of
from workbench.overlay import LETTERS
from workbench.record import Record
from workbench.run_comparison import Difference, Number, headline, short

__all__ = ["badge", "comparison_html", "pair_texts"]

ROWS, ALIKE = 40, 12
"""Numbers that are shown at most, and up to how many those that are the same fill them up."""
CELLS = 12
PARTS = {"Data and code": ("data", "code"), "Environment": ("environment", "packages")}
SIGNS = {
    Word.DRIFT: Verdict.FAILS, Word.MISSING: Verdict.INCONCLUSIVE, Word.NOT_COMPARABLE: Verdict.INCONCLUSIVE,
    Word.WITHIN: Verdict.HOLDS, Word.SAME: Verdict.HOLDS,
}  # fmt: skip
MIDDLE, REACH, BAND = 46.0, 44.0, 14.0  # pixels of the bar over the band, which is 92 wide


def badge(i: int) -> str:
    """The mark of a run: its letter on its shape and colour."""
    return f'<b class="ab ab-{LETTERS[i]}">{LETTERS[i]}</b>'


def comparison_html(
    records: Sequence[Record], found: Sequence[Difference], numbers: Sequence[Number] | None, why: str
) -> str:
    """All of a comparison but its figures, which stand in `#rn-views`.

    Args:
        records: two or more.
        found: what they say differently.
        numbers: worst first; None where there are none to compare.
        why: the sentence that stands for numbers then.
    """
    opens = "".join(open_button(i, record) for i, record in enumerate(records))
    who = "".join(
        f'<span class="rn-who">{badge(i)}<code>{record.run[:8]}</code></span>' for i, record in enumerate(records)
    )
    of = " / ".join(dict.fromkeys(f"{record.study}, {title_of(record)}" for record in records))
    head = (
        f'<header class="rn-ch"><div><h2 id="rn-how">{escape(headline(records, found, numbers))}</h2>'
        f'<p>{who}<span>{escape(of)}</span></p></div><div class="rn-opens">{opens}</div></header>'
    )
    return head + cells(records, found) + '<div id="rn-views"></div>' + numbers_html(records, numbers, why)


def open_button(i: int, record: Record) -> str:
    letter, href = LETTERS[i], opened(record)
    if not href:
        return f'<button class="as-btn" disabled title="This study is not here any more">Open {letter}</button>'
    return f'<a class="as-btn" href="{escape(href)}">Open {letter}</a>'


def cells(records: Sequence[Record], found: Sequence[Difference]) -> str:
    """What was asked for otherwise first; then whether the rest is the same, with what is not below."""
    study = study_of(records[0].study)
    labels = {} if study is None else {name: control.label for name, control in study.controls.items()}
    units = {} if study is None else {name: control.unit for name, control in study.controls.items()}
    own = [one for one in found if one.part in ("asked", "controls")]
    rest = [one for one in found if one not in own]
    drawn = []
    for one in own[:CELLS]:
        unit = f"\N{NO-BREAK SPACE}{units[one.name]}" if units.get(one.name) else ""
        values = "".join(
            f"<dd>{badge(i)}{escape(shown(text))}{escape(unit) if text else ''}</dd>"
            for i, text in enumerate(one.values)
        )
        drawn.append(f'<div class="is"><dt>{escape(labels.get(one.name, one.name).capitalize())}</dt>{values}</div>')
    same = len({name for record in records for name in record.controls} - {one.name for one in own})
    more = f"; {len(own) - CELLS} more differ" if len(own) > CELLS else ""
    drawn.append(f"<div><dt>{'Other controls' if own else 'Controls'}</dt><dd>{same} the same{more}</dd></div>")
    for title, parts in PARTS.items():
        count = sum(one.part in parts for one in rest)
        known = all("environment" in record.provenance or "packages" in record.provenance for record in records)
        said = f"{count} differ{'s' if count == 1 else ''}" if count else "the same" if known else "not known"
        drawn.append(f"<div{' class=is' if count else ''}><dt>{title}</dt><dd>{said}</dd></div>")
    table = ""
    if rest:
        heads = "".join(f'<th scope="col">{badge(i)}</th>' for i in range(len(records)))
        rows = "".join(
            f'<tr><th scope="row">{escape(one.name)}</th>'
            f"{''.join(f'<td>{escape(shown(text))}</td>' for text in one.values)}</tr>"
            for one in rest
        )
        table = (
            f'<details class="as-frame rn-rest"><summary>What else differs ({len(rest)})</summary><div '
            f'class="as-scroll" tabindex="0" role="region" aria-label="What else differs"><table class="as-table">'
            f"<thead><tr><th></th>"
            f"{heads}</tr></thead><tbody>{rows}</tbody></table></div></details>"
        )
    return f'<section class="rn-diff" aria-label="How they differ"><dl>{"".join(drawn)}</dl>{table}</section>'


def shown(text: str) -> str:
    return short(text) or "–"


def numbers_html(records: Sequence[Record], numbers: Sequence[Number] | None, why: str) -> str:
    """The numbers as a table, worst first."""
    if numbers is None:
        return f'<p class="as-note">{escape(why)}</p>'
    two = len(records) == 2
    heads = "".join(f'<th scope="col" class="r">{LETTERS[i]}</th>' for i in range(len(records)))
    gap = "B − A" if two else "Furthest from A"
    told = sum(one.worst.word is not Word.SAME for one in numbers)
    count = min(max(told, ALIKE), ROWS)
    rows = "".join(number_row(one, two=two) for one in numbers[:count])
    left = len(numbers) - count
    more = f"{left} more, {'none of them worse than these' if told > count else 'all the same'}."
    rest = f'<p class="rn-left">{more}</p>' if left > 0 else ""
    counts = [f"{sum(one.worst.word is word for one in numbers)} {said}" for word, said in COUNTED.items()
              if any(one.worst.word is word for one in numbers)]  # fmt: skip
    return (
        '<section class="as-frame rn-numbers"><header class="as-frame__head"><div class="as-frame__title">'
        f"<h3>Numbers</h3><p>{', '.join(counts) or 'None'}. Worst first; the grey band is the tolerance.</p></div>"
        "</header>"
        '<div class="as-scroll" tabindex="0" role="region" aria-label="Numbers"><table class="as-table"><thead><tr>'
        f'<th scope="col">Quantity</th>{heads}<th scope="col" class="r">{gap}</th><th scope="col"><span class="as-sr">'
        f'Beside the tolerance</span></th><th scope="col">Verdict</th></tr></thead><tbody>{rows}</tbody></table></div>'
        f"{rest}</section>"
    )


COUNTED = {
    Word.DRIFT: "drift", Word.MISSING: "missing", Word.NOT_COMPARABLE: "not comparable",
    Word.WITHIN: "within tolerance", Word.SAME: "the same",
}  # fmt: skip


def number_row(one: Number, *, two: bool) -> str:
    """A quantity of all runs, with how far the furthest is from the first."""
    quantity = one.worst
    texts = pair_texts(one.values)
    unit = f" <span class=rn-x>{escape(quantity.unit)}</span>" if quantity.unit else ""
    values = "".join(f'<td class="r">{escape(text)}</td>' for text in texts)
    far = "" if quantity.difference is None else number(quantity.difference)
    pair = "" if two or not quantity.difference else f"{LETTERS[one.at]} − A "
    some = f" ({quantity.drifting} of {quantity.n} rows)" if quantity.n > 1 and quantity.drifting else ""
    word = f'<span class="rn-v">{glyph(SIGNS[quantity.word])}{escape(str(quantity.word))}{some}</span>'
    return (
        f'<tr data-word="{quantity.word}"><td>{escape(quantity.label)}{unit}</td>{values}'
        f'<td class="r">{pair}{far}</td><td>{band(quantity.difference, quantity.tolerance)}</td><td>{word}</td></tr>'
    )


def band(difference: float | None, tolerance: float) -> str:
    """The difference as a bar from the middle, over the tolerance in grey; an arrow where it goes on."""
    if difference is None:
        return ""
    size = abs(difference) * BAND / tolerance if tolerance else (REACH if difference else 0.0)
    end = MIDDLE + min(size, REACH) * (1 if difference > 0 else -1)
    grey = (
        f'<rect x="{MIDDLE - BAND:g}" y="2" width="{2 * BAND:g}" height="10" rx="1.5" fill="var(--as-ref-soft)"/>'
        if tolerance
        else ""
    )
    way = 1 if difference > 0 else -1
    tip = f'<path d="M{end:.1f} 7l{-4 * way} -4v8z" fill="var(--as-ink-2)"/>' if size > REACH and tolerance else ""
    return (
        f'<svg viewBox="0 0 92 14" width="92" height="14" aria-hidden="true">{grey}<path d="M{MIDDLE:g} 1v12" '
        f'stroke="var(--as-edge)"/><path d="M{MIDDLE:g} 7H{end:.1f}" stroke="var(--as-ink-2)" stroke-width="3"/>'
        f"{tip}</svg>"
    )


def pair_texts(values: Sequence[Any]) -> list[str]:
    """Values with three figures, and more where that is needed to tell them apart; up to seven."""
    if not all(isinstance(v, float) for v in values if v is not None):
        return ["" if v is None else short(number(v)) for v in values]
    apart = len({v for v in values if v is not None})

    def texts(figures: int) -> list[str]:
        return ["" if v is None else f"{v:.{figures}g}".replace("-", "−") for v in values]

    enough = next((n for n in range(3, 7) if len(set(texts(n)) - {""}) == apart), 7)
    return texts(enough)
