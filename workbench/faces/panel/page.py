"""What all pages share: the frame of the document, its bar, its styles, and the wire between a page and its session."""

from __future__ import annotations

import functools
import json
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from html import escape
from pathlib import Path
from typing import Any, ClassVar

import panel as pn
from panel.models.esm import DataEvent, ESMEvent

from workbench.theme import STATIC, Theme
from workbench.visitors import Visitor, visitor

__all__ = ["ICONS", "LOGO", "PageFace", "Wire", "drawn_icons", "page", "plain_page", "theme_in"]

HERE = Path(__file__).parent


def drawn_icons(**shapes: str) -> dict[str, str]:
    """Icons from their shapes, drawn in lines on 16 by 16."""
    start = '<svg viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.5" aria-hidden="true">'
    return {name: f"{start}{shape}</svg>" for name, shape in shapes.items()}


ICONS = drawn_icons(
    search='<circle cx="7" cy="7" r="4.5"/><path d="m10.5 10.5 4 4"/>',
    theme='<circle cx="8" cy="8" r="5.6"/><path d="M8 2.4v11.2a5.6 5.6 0 0 0 0-11.2z" fill="currentColor"/>',
)

THEME_SCRIPT = """
(function(){var r=document.documentElement,q=new URLSearchParams(location.search).get('theme');
try{q=q||localStorage.getItem('assay-theme')}catch(e){}
r.dataset.theme=q==='dark'||q==='light'?q:matchMedia('(prefers-color-scheme: dark)').matches?'dark':'light';
addEventListener('DOMContentLoaded',function(){var b=document.getElementById('as-theme');if(b)b.onclick=function(){
r.dataset.theme=r.dataset.theme==='dark'?'light':'dark';
try{localStorage.setItem('assay-theme',r.dataset.theme)}catch(e){}
dispatchEvent(new CustomEvent('as-theme'))}})})();
"""

HEAD = """
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="{{ icon }}">
<style>{{ styles }}</style>
<script>{{ theme_script }}</script>
"""

BODY = """
<a class="as-skip" href="#as-main">Skip to content</a>
{{ bar }}
<main class="st" id="as-main">{{ main }}</main>
"""

FRAME = f"""
{{% extends base %}}
{{% block title %}}{{{{ heading }}}}{{% endblock %}}
{{% block head %}}
{{{{ super() }}}}
{HEAD}
{{% endblock %}}
{{% block contents %}}
{BODY}
<div class="as-wire">{{% for root in roots %}}{{{{ embed(root) }}}}{{% endfor %}}</div>
{{% endblock %}}
"""

PLAIN = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{{{{ heading }}}}</title>{HEAD}</head><body>{BODY}</body></html>
"""

PLACES = {"gallery": "Studies", "runs": "Runs"}
"""Where the bar leads, by address; a server that has further pages adds them."""


@functools.cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def styles() -> str:
    """Tokens, parts and the layout of pages, as one sheet."""
    sheets = (STATIC / "tokens.css", STATIC / "components.css", HERE / "pages.css", HERE / "runs.css")
    return "\n".join(map(text_of, sheets))


class Wire(pn.custom.JSComponent):
    """Carries messages between a page in the browser and what it shows; draws nothing in its own place."""

    heard: Callable[[dict[str, Any]], None]
    _esm: ClassVar[str | os.PathLike[str]] = ""

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
        self._lock = threading.Lock()
        self._waiting: list[str] = []

    def _server_event(self, doc: Any, event: Any) -> None:
        """Take a message as it comes: who hears it works on a thread, and needs no turn in Panel's own queue."""
        if isinstance(event, DataEvent) and isinstance(event.data, dict):
            self.heard(event.data)

    def send(self, message: dict[str, Any]) -> None:
        """Send a message to the page; from any thread. What waits for the same turn of the loop goes as one."""
        text = json.dumps(message, allow_nan=False, separators=(",", ":"))
        model = next((model for model, _ in list(self._models.values()) if model.document is not None), None)
        with self._lock:
            if model is None:  # the page is gone
                self._waiting.clear()
                return
            self._waiting.append(text)
            if len(self._waiting) == 1:
                model.document.add_next_tick_callback(functools.partial(self._flush, model))

    def _flush(self, model: Any) -> None:
        with self._lock:
            texts, self._waiting = self._waiting, []
        if texts and model.document is not None:
            model.document.callbacks.send_event(ESMEvent(model=model, data=f"[{','.join(texts)}]"))


class PageFace:
    """What a page is answered with: one message after another, on a thread of its own, by the method `_on_<kind>`.

    Args:
        wire: to the page.
        name: of the thread.
    """

    def __init__(self, wire: Wire, name: str) -> None:
        self.visitor = visitor()
        self.theme: Theme = "light"
        self.wire = wire
        self.wire.heard = self._heard
        self._worker = ThreadPoolExecutor(1, thread_name_prefix=name)

    def close(self) -> None:
        """The page is gone."""
        self._worker.shutdown(wait=False, cancel_futures=True)

    def _heard(self, message: dict[str, Any]) -> None:
        answer = getattr(self, f"_on_{message.get('kind')}", None)
        if answer is not None:
            self._worker.submit(self._answer, answer, message)

    def _answer(self, answer: Callable[[dict[str, Any]], None], message: dict[str, Any]) -> None:
        try:
            answer(message)
        except Exception as error:
            self._refused(message, error)

    def _refused(self, message: dict[str, Any], error: Exception) -> None:
        """Tell the page why a message could not be answered."""
        raise error


def theme_in(message: dict[str, Any]) -> Theme:
    """The theme that a page says it has."""
    return "dark" if message.get("theme") == "dark" else "light"


LOGO = (
    '<svg viewBox="0 0 64 64" aria-hidden="true"><rect width="64" height="64" rx="13" fill="var(--as-stone)"/>'
    '<path d="M13.5 52 28.4 11.5h7.2L50.5 52h-7.4L32 20.6 20.9 52z" fill="#f3f5f4"/>'
    '<path d="M6 35.200 58 37v2.600L6 42.400z" fill="#e0b23c"/></svg>'
)


def bar(here: str, search: str, who: Visitor) -> str:
    """The bar at the top: where one may go, the search, the theme, and who is signed in.

    Args:
        here: the page that is shown, one of `PLACES`; another page is in none of them.
        search: HTML of a search field.
        who: who looks at it.
    """
    up = "../" * here.count("/")
    links = "".join(
        f'<a href="{up}{path}"{" aria-current=page" if path == here else ""}>{name}</a>'
        for path, name in PLACES.items()
    )
    user = (
        f'<span class="as-user">{escape(who.name)} · {who.role}</span><form method="post" action="{up}logout">'
        '<button class="as-btn as-btn--quiet">Sign out</button></form>'
        if who.name
        else ""
    )
    return (
        f'<header class="as-top"><a class="as-brand" href="{up}gallery">{LOGO}Assay</a>'
        f'<nav class="as-nav" aria-label="Pages">{links}</nav><span class="as-fill"></span>{search}'
        '<button class="as-btn as-btn--quiet as-btn--icon" id="as-theme" aria-label="Switch light and dark" '
        f'title="Switch light and dark">{ICONS["theme"]}</button>{user}</header>'
    )


def words(title: str, main: str, top: str) -> dict[str, str]:
    """What the frames are filled with."""
    icon = "data:image/svg+xml," + text_of(STATIC / "favicon.svg").replace("#", "%23").replace('"', "'").replace(
        "\n", " "
    )
    return {
        "icon": icon, "heading": escape(title), "styles": styles(), "theme_script": THEME_SCRIPT, "bar": top,
        "main": main,
    }  # fmt: skip


def page(title: str, main: str, root: Any, *, here: str = "", search: str = "") -> pn.Template:
    """A page in the frame that all pages share, with what Panel keeps for it.

    Args:
        title: what the browser's tab says.
        main: HTML of the page, ours or escaped.
        root: what Panel keeps for the page: a wire, or an empty pane.
        here: which place of the bar this is.
        search: HTML of a search field in the bar.
    """
    found = pn.Template(FRAME, nb_template="{{ embed(roots[0]) }}")
    for name, value in words(title, main, bar(here, search, visitor())).items():
        found.add_variable(name, value)
    found.add_panel("root", root)
    return found


def plain_page(title: str, main: str, *, here: str = "", top: str | None = None) -> str:
    """The same frame as a document of its own, without Panel.

    Args:
        title: what the browser's tab says.
        main: HTML of the page, ours or escaped.
        here: which place of the bar this is.
        top: HTML in the place of the bar.
    """
    text = PLAIN
    for name, value in words(title, main, bar(here, "", visitor()) if top is None else top).items():
        text = text.replace(f"{{{{ {name} }}}}", value, 1)
    return text
