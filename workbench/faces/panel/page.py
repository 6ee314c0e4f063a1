"""What all pages share: the frame of the document, its styles, and the wire between a page and its session."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any, ClassVar

import panel as pn

from workbench.theme import STATIC

__all__ = ["ICONS", "Wire", "page"]

HERE = Path(__file__).parent

ICONS = {
    name: '<svg viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.5" aria-hidden="true">'
    f"{shapes}</svg>"
    for name, shapes in {
        "search": '<circle cx="7" cy="7" r="4.5"/><path d="m10.5 10.5 4 4"/>',
        "theme": '<circle cx="8" cy="8" r="5.6"/><path d="M8 2.4v11.2a5.6 5.6 0 0 0 0-11.2z" fill="currentColor"/>',
    }.items()
}

THEME_SCRIPT = """
(function(){var r=document.documentElement,q=new URLSearchParams(location.search).get('theme');
try{q=q||localStorage.getItem('assay-theme')}catch(e){}
r.dataset.theme=q==='dark'||q==='light'?q:matchMedia('(prefers-color-scheme: dark)').matches?'dark':'light';
addEventListener('DOMContentLoaded',function(){var b=document.getElementById('as-theme');if(b)b.onclick=function(){
r.dataset.theme=r.dataset.theme==='dark'?'light':'dark';
try{localStorage.setItem('assay-theme',r.dataset.theme)}catch(e){}
dispatchEvent(new CustomEvent('as-theme'))}})})();
"""

FRAME = """
{% extends base %}
{% block title %}{{ heading }}{% endblock %}
{% block head %}
{{ super() }}
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="{{ icon }}">
<style>{{ styles }}</style>
<script>{{ theme_script }}</script>
{% endblock %}
{% block contents %}
<a class="as-skip" href="#as-main">Skip to content</a>
<header class="as-top"><a class="as-brand" href="gallery">{{ logo }}Assay</a>
<nav class="as-nav" aria-label="Pages"><a href="gallery"{{ here }}>Studies</a></nav><span class="as-fill"></span>
{{ search }}<button class="as-btn as-btn--quiet as-btn--icon" id="as-theme" aria-label="Switch light and dark"
title="Switch light and dark">{{ theme_icon }}</button></header>
<main class="st" id="as-main">{{ main }}</main>
<div class="as-wire">{% for root in roots %}{{ embed(root) }}{% endfor %}</div>
{% endblock %}
"""


@functools.cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def styles() -> str:
    """Tokens, parts and the layout of pages, as one sheet."""
    return "\n".join(text_of(p) for p in (STATIC / "tokens.css", STATIC / "components.css", HERE / "pages.css"))


class Wire(pn.custom.JSComponent):
    """Carries messages between a page in the browser and what it shows; draws nothing in its own place."""

    heard: Callable[[dict[str, Any]], None]
    _esm: ClassVar[str | os.PathLike[str]] = ""

    def _handle_msg(self, data: Any) -> None:
        if isinstance(data, dict):
            self.heard(data)

    def send(self, message: dict[str, Any]) -> None:
        """Send a message to the page; from any thread."""
        self._send_msg(json.dumps(message, allow_nan=False, separators=(",", ":")))


def page(title: str, main: str, root: Any, *, search: str = "", studies: bool = False) -> pn.Template:
    """A page in the frame that all pages share.

    Args:
        title: what the browser's tab says.
        main: HTML of the page, ours or escaped.
        root: what Panel keeps for the page: a wire, or an empty pane.
        search: HTML of a search field in the bar.
        studies: this is the list of studies.
    """
    icon = "data:image/svg+xml," + text_of(STATIC / "favicon.svg").replace("#", "%23").replace('"', "'").replace(
        "\n", " "
    )
    found = pn.Template(
        FRAME,
        nb_template="{{ embed(roots[0]) }}",
    )
    for name, value in {
        "icon": icon, "heading": escape(title),
        "styles": styles(), "theme_script": THEME_SCRIPT, "logo": LOGO,
        "main": main, "search": search,
        "theme_icon": ICONS["theme"], "here": ' aria-current="page"' if studies else "",
    }.items():  # fmt: skip
        found.add_variable(name, value)
    found.add_panel("root", root)
    return found


LOGO = (
    '<svg viewBox="0 0 64 64" aria-hidden="true"><rect width="64" height="64" rx="13" fill="var(--as-stone)"/>'
    '<path d="M13.5 52 28.4 11.5h7.2L50.5 52h-7.4L32 20.6 20.9 52z" fill="#f3f5f4"/>'
    '<path d="M6 35.200 58 37v2.600L6 42.400z" fill="#e0b23c"/></svg>'
)
