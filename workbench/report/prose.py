"""HTML and Markdown of notebooks, cleaned: what reads stays, what runs or fetches goes.

Formulas come out as `<span class="tex">` with the TeX as text, `data-display="1"` where they stand on their own line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from html import escape

from bs4 import BeautifulSoup
from bs4.element import AttributeValueList, Comment, NavigableString, PreformattedString, Tag
from markdown_it import MarkdownIt

from workbench.report.document import Block, Heading, Prose

__all__ = ["clean", "markdown_html", "plain_markdown", "prose_blocks", "tex_span"]

TAGS = {
    "a", "abbr", "b", "blockquote", "br", "caption", "cite", "code", "dd", "del", "details", "div", "dl", "dt", "em",
    "figcaption", "figure", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "img", "kbd", "li", "mark", "ol", "p", "pre",
    "q", "s", "samp", "small", "span", "strong", "sub", "summary", "sup", "table", "tbody", "td", "tfoot", "th",
    "thead", "time", "tr", "u", "ul", "var",
    "circle", "defs", "ellipse", "g", "line", "linearGradient", "path", "polygon", "polyline", "rect", "stop", "svg",
    "text", "title", "tspan",
}  # fmt: skip
GONE = {
    "script", "style", "link", "iframe", "object", "embed", "base", "meta", "form", "input", "button", "textarea",
    "select", "template", "noscript", "audio", "video", "canvas", "frame", "frameset", "head", "foreignObject",
}  # fmt: skip
ATTRIBUTES = {
    "alt", "aria-hidden", "aria-label", "class", "colspan", "cx", "cy", "d", "data-block", "data-display", "dy", "fill",
    "fill-opacity", "font-size", "gradientUnits", "height", "href", "offset", "open", "opacity", "points", "r",
    "role", "rowspan", "rx", "ry", "scope", "src", "start", "stroke", "stroke-dasharray", "stroke-opacity",
    "stroke-width", "text-anchor", "title", "transform", "viewbox", "viewBox", "width", "x", "x1", "x2", "y", "y1",
    "y2",
}  # fmt: skip
KNOWN = {name.lower() for name in ATTRIBUTES}
CLASS = re.compile(r"as-[\w-]+$|(?:assay|tex|paragraph|t)$")
LINK = re.compile(r"(?:https?:|mailto:|#)", re.I)
IMAGE = re.compile(r"data:image/(?:png|jpeg|gif|webp|svg\+xml);base64,[A-Za-z0-9+/=\s]+$", re.I)
CASED = {"viewbox": "viewBox", "lineargradient": "linearGradient", "gradientunits": "gradientUnits"}
"""Names of SVG, which a browser reads as HTML in lower case too."""

BLOCK_TEX = re.compile(r"\$\$(.+?)\$\$|\\\[(.+?)\\\]", re.S)
INLINE_TEX = re.compile(r"(?<![\\$\w])\$(?!\s)([^$\n]+?)(?<![\s\\])\$(?![\w$])|\\\((.+?)\\\)", re.S)
ENVIRONMENT = re.compile(r"\\begin\{(equation|align|gather|multline|eqnarray)(\*?)\}.+?\\end\{\1\2\}", re.S)
CODE = re.compile(r"(^|\n)(```|~~~).*?\n\2[^\n]*|`+[^`\n]+`+", re.S)


def tex_span(tex: str, *, display: bool) -> str:
    """A formula as prose holds it."""
    return f'<span class="tex"{" data-display=" + chr(34) + "1" + chr(34) if display else ""}>{escape(tex)}</span>'


def markdown_html(text: str) -> str:
    """Markdown with formulas between dollar signs as HTML, not yet cleaned."""
    kept: list[str] = []

    def keep(shown: str) -> str:
        kept.append(shown)
        return f"\x02{len(kept) - 1}\x03"

    def formulas(part: str) -> str:
        part = ENVIRONMENT.sub(lambda m: keep(tex_span(m[0], display=True)), part)
        part = BLOCK_TEX.sub(lambda m: keep(tex_span(m[1] or m[2], display=True)), part)
        return INLINE_TEX.sub(lambda m: keep(tex_span(m[1] or m[2], display=False)), part)

    pieces, end = [], 0
    for found in CODE.finditer(text):
        pieces += [formulas(text[end : found.start()]), found[0]]
        end = found.end()
    pieces.append(formulas(text[end:]))
    html = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render("".join(pieces))
    return re.sub(r"\x02(\d+)\x03", lambda m: kept[int(m[1])], html)


def clean(soup: BeautifulSoup | Tag) -> None:
    """Take out, in place, all that runs, fetches or restyles; what is left is text, tables, pictures and drawings."""
    for text in soup.find_all(string=lambda s: isinstance(s, (Comment, PreformattedString))):
        text.extract()
    gone, kept = {name.lower() for name in GONE}, {name.lower() for name in TAGS}
    for tag in list(soup.find_all(True)):
        if tag.decomposed:
            continue
        name = tag.name.lower()
        if name in gone:
            tag.decompose()
        elif name not in kept:
            tag.unwrap()
        else:
            tag.name = CASED.get(name, name)
            attributes(tag)


def attributes(tag: Tag) -> None:
    """Keep the attributes that say something; an image that is not in the page itself becomes its text."""
    for name in list(tag.attrs):
        value = tag.attrs[name]
        text = " ".join(value) if isinstance(value, (list, AttributeValueList)) else str(value)
        if name.lower() not in KNOWN or "url(" in text.lower() or (name == "href" and not LINK.match(text.strip())):
            del tag.attrs[name]
        elif name == "class":
            tag.attrs[name] = " ".join(word for word in text.split() if CLASS.match(word))
        elif name.lower() in CASED:
            tag.attrs[CASED[name.lower()]] = tag.attrs.pop(name)
    if tag.name == "a" and str(tag.get("href") or "").startswith("http"):
        tag.attrs["rel"] = "noreferrer"
    if tag.name == "img" and not IMAGE.match(str(tag.get("src") or "")):
        tag.replace_with(NavigableString(str(tag.get("alt") or "") or "(picture left out: it is not in the notebook)"))


def prose_blocks(html: str, *, placed: Callable[[str], Sequence[Block]] = lambda number: ()) -> list[Block]:
    """Cleaned HTML as blocks, headings apart.

    Args:
        html: as a notebook gives it.
        placed: what an element with `data-block` stands for.
    """
    soup = BeautifulSoup(html, "html.parser")
    clean(soup)
    found: list[Block] = []
    pending: list[str] = []

    def flush() -> None:
        text = "".join(pending).strip()
        pending.clear()
        if text:
            found.append(Prose(text))

    for node in flattened(soup):
        if isinstance(node, Tag) and re.fullmatch("h[1-6]", node.name):
            flush()
            found.append(Heading(int(node.name[1]), node.decode_contents().strip()))
        elif isinstance(node, Tag) and node.get("data-block"):
            flush()
            found += placed(str(node["data-block"]))
        else:
            pending.append(str(node) if isinstance(node, Tag) else escape(str(node), quote=False))
    flush()
    return found


def flattened(parent: Tag) -> list[Tag | NavigableString]:
    """The children, with those of wrappers that hold a heading or a block in their wrapper's place."""
    found: list[Tag | NavigableString] = []
    for child in parent.children:
        if isinstance(child, Tag) and child.name in WRAPPERS and child.find(stands_apart) is not None:
            found += flattened(child)
        elif isinstance(child, (Tag, NavigableString)):
            found.append(child)
    return found


WRAPPERS = ("div", "span", "p", "section", "center")


def stands_apart(tag: Tag) -> bool:
    return re.fullmatch("h[1-6]", tag.name) is not None or tag.get("data-block") is not None


def plain_markdown(html: str) -> str:
    """Cleaned HTML as Markdown with formulas between dollar signs."""
    return re.sub(r"\n(?: *\n)+", "\n\n", written(BeautifulSoup(html, "html.parser"))).strip()


MARKS = {"strong": "**", "b": "**", "em": "*", "i": "*", "del": "~~", "s": "~~", "code": "`"}


def written(node: Tag) -> str:
    return "".join(piece(child) for child in node.children if isinstance(child, (Tag, NavigableString)))


def piece(child: Tag | NavigableString) -> str:
    if isinstance(child, NavigableString):
        text = re.sub(r"\s+", " ", str(child))
        return re.sub(r"[*_`\\$<]|&(?=#?\w+;)", lambda mark: f"\\{mark[0]}", text) if text.strip() else " "
    name, classes = child.name, child.get("class") or []
    if "tex" in classes:
        tex = child.get_text().strip()
        return f"\n\n$$\n{tex}\n$$\n\n" if child.get("data-display") else f"${tex}$"
    if name == "code":
        return f"`{child.get_text()}`"
    if name in MARKS:
        return f"{MARKS[name]}{written(child).strip()}{MARKS[name]}"
    if name == "pre":
        return f"\n\n```\n{child.get_text().rstrip()}\n```\n\n"
    if name == "a" and child.get("href"):
        return f"[{written(child)}]({child['href']})"
    if name == "img":
        return f"![{child.get('alt') or ''}]({child['src']})"
    if name == "br":
        return "  \n"
    if name == "hr":
        return "\n\n---\n\n"
    if re.fullmatch("h[1-6]", name):
        return f"\n\n{'#' * int(name[1])} {written(child).strip()}\n\n"
    if name in ("ul", "ol"):
        lines = []
        for number, item in enumerate(child.find_all("li", recursive=False), int(str(child.get("start") or 1))):
            mark = f"{number}." if name == "ol" else "-"
            lines.append(f"{mark} " + written(item).strip().replace("\n", "\n   "))
        return "\n\n" + "\n".join(lines) + "\n\n"
    if name == "blockquote":
        return "\n\n" + "\n".join(f"> {line}" for line in written(child).strip().split("\n")) + "\n\n"
    if name in ("table", "svg", "dl"):
        return f"\n\n{child}\n\n"
    if name in ("sub", "sup"):
        return f"<{name}>{written(child)}</{name}>"
    body = written(child)
    paragraph = name in ("p", "div", "details", "figure") or "paragraph" in classes
    return f"\n\n{body.strip()}\n\n" if paragraph else body
