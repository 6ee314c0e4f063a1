"""The gallery: every study as a card that says its question, its cost and what is known of its claims."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Mapping
from html import escape
from typing import Any
from urllib.parse import quote

import panel as pn

from workbench.claims import Verdict
from workbench.faces.markup import about
from workbench.faces.panel.page import HERE, ICONS, page
from workbench.faces.panel.parts import glyph, strip
from workbench.places import apps_folder
from workbench.registry import Card, registry

__all__ = ["flagships", "gallery_page"]

SCRIPTS = re.compile(r"<\s*script|\bon\w+\s*=|javascript:", re.IGNORECASE)
MINUTE = 60.0


@functools.cache
def flagships() -> dict[str, str]:
    """From study to the page of its own that it has, `apps/<family>/<study>.py`."""
    return {path.stem.replace("_", "-"): path.stem for path in sorted(apps_folder().glob("*/*.py"))}


def kept_verdicts(cards: list[Card]) -> dict[str, Mapping[str, Mapping[str, Any]]]:
    """The best evidence of earlier runs, by study and claim; empty where nothing was run."""
    from workbench.runner import default_runner

    store = default_runner().store
    if store is None:
        return {}
    return {card.slug: store.verdicts(card.slug, card.terms) for card in cards if not card.broken}


def picture(slug: str) -> str:
    """The kept picture of a study; a plain line where there is none."""
    place = registry().places[slug].path
    kept = place.with_suffix(".svg")
    text = kept.read_text(encoding="utf-8") if kept.is_file() else ""
    if text and not SCRIPTS.search(text):
        return re.sub(r"^\s*<\?xml[^>]*>", "", text)
    return '<svg viewBox="0 0 300 112"><path d="M60 56h180" stroke="var(--as-line)" stroke-width="2"/></svg>'


def card_html(card: Card, verdicts: Mapping[str, Mapping[str, Any]]) -> tuple[str, set[str]]:
    """A card, and the words that the filters know it by."""
    family = escape(card.family.capitalize())
    if card.broken:
        body = (
            f'<article class="as-card as-card--broken" data-words="{escape(card.slug.lower())}" '
            f'data-tags="family:{escape(card.family)}" data-cost="0" data-name="{escape(card.slug)}" data-run="0">'
            f'<div class="as-card__pic">{glyph(Verdict.FAILS)}</div><div class="as-card__body">'
            f'<p class="as-card__family">{family}</p><h2 class="as-card__q">{escape(card.slug)}</h2>'
            f'<p class="as-card__paper">{escape(card.broken)}</p></div>'
            '<footer class="as-card__foot"><span>Not imported</span></footer></article>'
        )
        return body, {f"family:{card.family}"}
    known = {id: Verdict(verdicts[id]["verdict"]) for id in card.claims if id in verdicts}
    found = [known.get(id, Verdict.NEEDS_SCALE if id in card.scale else Verdict.NOT_JUDGED) for id in card.claims]
    tags = {f"family:{card.family}", *(f"verdict:{v}" for v in found if v is not Verdict.NOT_JUDGED)}
    tags |= set() if known else {"verdict:not run"}
    tags |= {"runs:minute"} if card.cost <= MINUTE else set()
    tags |= {"runs:own"} if card.own_input else set()
    app = flagships().get(card.slug)
    href = app or f"study?study={quote(card.slug)}"
    words = " ".join((card.question, card.paper, card.summary, card.family, card.arxiv, *card.symbols)).lower()
    cost = about(card.cost)
    right = strip(found) if known else "Not run yet"
    body = (
        f'<article class="as-card" data-words="{escape(words)}" data-tags="{escape("|".join(sorted(tags)))}" '
        f'data-cost="{card.cost:g}" data-name="{escape(card.question)}" data-run="{int(bool(known))}">'
        f'<div class="as-card__pic" aria-hidden="true">{picture(card.slug)}</div><div class="as-card__body">'
        f'<p class="as-card__family">{family}</p>'
        f'<h2 class="as-card__q"><a href="{escape(href)}">{escape(card.question)}</a></h2>'
        f'<p class="as-card__paper">{escape(card.summary or card.paper)}</p></div>'
        f'<footer class="as-card__foot"><span>{cost if card.cost else "runs at once"}</span>{right}</footer></article>'
    )
    return body, tags


def boxes(title: str, options: list[tuple[str, str, int]]) -> str:
    """A heading with a box to tick for every option: tag, HTML of its label, how many studies have it."""
    rows = "".join(
        f'<label class="as-check"><input type="checkbox" value="{escape(tag)}">{label}<b>{count}</b></label>'
        for tag, label, count in options
        if count
    )
    return f"<fieldset><legend>{title}</legend>{rows}</fieldset>" if rows else ""


def gallery_page() -> pn.Template:
    """The page of all studies."""
    cards = registry().cards()
    verdicts = kept_verdicts(cards)
    drawn = [card_html(card, verdicts.get(card.slug, {})) for card in cards]
    count = Counter(tag for _, tags in drawn for tag in tags)
    families = sorted({card.family for card in cards})
    judged = [Verdict.HOLDS, Verdict.FAILS, Verdict.INCONCLUSIVE, Verdict.NEEDS_SCALE]
    side = boxes("Family", [(f"family:{f}", escape(f.capitalize()), count[f"family:{f}"]) for f in families])
    side += boxes(
        "Has a claim that",
        [
            *((f"verdict:{v}", f"{glyph(v)}{str(v).capitalize()}", count[f"verdict:{v}"]) for v in judged),
            ("verdict:not run", "Not run yet", count["verdict:not run"]),
        ],
    )
    side += boxes(
        "Runs",
        [
            ("runs:minute", "In up to a minute", count["runs:minute"]),
            ("runs:own", "On your own data", count["runs:own"]),
        ],
    )
    script = (HERE / "gallery.js").read_text(encoding="utf-8")
    main = (
        '<header class="ga-head"><h1>Studies</h1><p>Each study takes one paper, its method and its claims, and lets '
        f'you try them on your own model and data.</p></header><div class="ga-grid"><aside class="ga-side" '
        f'aria-label="Filters">{side}</aside><section><div class="ga-bar"><span id="ga-count" role="status"></span>'
        '<label>Sort by <select class="as-field" id="ga-sort"><option value="run">Last run</option>'
        '<option value="name">Name</option><option value="cost">Cost</option></select></label></div>'
        f'<div class="as-cards">{"".join(body for body, _ in drawn)}</div>'
        '<p class="ga-none" hidden>No study fits. <button class="as-btn" id="ga-clear">Clear filters</button></p>'
        f"</section></div><script>{script}</script>"
    )
    search = (
        f'<label class="as-search as-top__search">{ICONS["search"]}<span class="as-sr">Find a study</span>'
        '<input class="as-field" id="ga-find" type="search" placeholder="Find a study"><kbd>/</kbd></label>'
    )
    empty = pn.pane.HTML("", width=0, height=0, margin=0)
    return page("Assay – studies", main, empty, here="gallery", search=search)
