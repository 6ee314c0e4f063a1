"""Seals: SHA-256 over a report with 64 zeros in the place of the seal, in each of its four forms; and reading it back.

HTML and PDF are sealed byte by byte. Markdown is sealed after its line ends are made plain, and a notebook by the
sources and outputs of its cells, so that neither a checkout on another system nor saving in JupyterLab breaks a seal. A
seal proves that nothing was changed since, not who made it: anyone can seal again.

Nothing that stands in a report is executed, and no path or name of a module in it is followed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Never

from pydantic import ValidationError

from workbench.controls import ControlError
from workbench.report.manifest_schema import SCHEMA, UNSEALED, Manifest
from workbench.report.pdf_attachment import attached, manifest_in_pdf

__all__ = [
    "LARGEST", "ReportError", "manifest_text", "read_manifest", "seal_html", "seal_ipynb", "seal_markdown", "seal_pdf",
]  # fmt: skip

ELEMENT = "assay-manifest"
LARGEST = 512 * 2**20
"""Bytes above which a file is not looked at."""
COMMENT = re.compile(r"<!-- assay-manifest\n(.*?)\n-->", re.DOTALL)
SEALED = re.compile(rb'"seal": ?"([0-9a-f]{64})"')


class ReportError(ControlError):
    """A file that is no report, is not whole, or was changed: one sentence."""

    def __init__(self, sentence: str) -> None:
        super().__init__("report", sentence)


# sealing


def seal_html(page: bytes) -> bytes:
    """A page with its seal.

    Args:
        page: holds the manifest once, with 64 zeros as its seal.

    Raises:
        ValueError: the place of the seal is not there, or there are several.
    """
    return sealed(page)


def seal_markdown(text: str) -> str:
    """A Markdown report with its seal; the manifest stands in it as `manifest_text` makes it, in a comment."""
    return sealed(plain_ends(text)).decode()


def seal_ipynb(notebook: dict[str, Any]) -> dict[str, Any]:
    """A notebook with the seal in its metadata `assay`, which holds the manifest."""
    metadata = dict(notebook["metadata"])
    metadata["assay"] = {**metadata["assay"], "seal": hashlib.sha256(canonical(notebook)).hexdigest()}
    return {**notebook, "metadata": metadata}


def seal_pdf(pdf: bytes, manifest: Mapping[str, Any]) -> bytes:
    """A PDF with the manifest as an attachment, sealed.

    Raises:
        ValueError: a PDF that nothing can be attached to.
    """
    return sealed(attached(pdf, json.dumps(manifest, separators=(",", ":")).encode()))


def manifest_text(manifest: Mapping[str, Any]) -> str:
    """A manifest as the comment that a Markdown report ends with."""
    text = json.dumps(manifest, ensure_ascii=True, separators=(",", ":"))
    return f"<!-- {ELEMENT}\n{text.replace('<', chr(92) + 'u003c').replace('>', chr(92) + 'u003e')}\n-->\n"


def sealed(content: bytes) -> bytes:
    """Content with its hash in the place of the 64 zeros."""
    place = f'"seal":"{UNSEALED}"'.encode()
    if content.count(place) != 1:
        raise ValueError(f"seal: got {content.count(place)} places for it; expected one.")
    seal = hashlib.sha256(content).hexdigest()
    return content.replace(place, f'"seal":"{seal}"'.encode())


def plain_ends(text: str) -> bytes:
    return text.replace("\r\n", "\n").encode()


def canonical(notebook: dict[str, Any]) -> bytes:
    """What of a notebook is sealed: manifest, and each cell's kind, source and outputs; how often it ran is not."""
    cells = [
        {
            "kind": cell.get("cell_type"), "source": joined(cell.get("source")),
            "outputs": [canonical_output(output) for output in cell.get("outputs") or ()],
        }
        for cell in notebook["cells"]
    ]  # fmt: skip
    manifest = {**notebook["metadata"]["assay"], "seal": UNSEALED}
    return json.dumps([manifest, cells], sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def canonical_output(output: dict[str, Any]) -> dict[str, Any]:
    shown = {mime: joined(value) for mime, value in (output.get("data") or {}).items()}
    kept = {name: joined(output[name]) for name in ("output_type", "name", "text", "ename", "evalue") if name in output}
    return {**kept, "data": shown}


def joined(value: Any) -> Any:
    """A text that a notebook keeps as lines."""
    lines = isinstance(value, list) and all(isinstance(line, str) for line in value)
    return "".join(value) if lines else value


# reading


def read_manifest(path: Path) -> Manifest:
    """The manifest of a report whose seal is whole.

    Args:
        path: an HTML, PDF, Markdown or Jupyter file.

    Raises:
        ReportError: no such file, not a report, not whole, changed, or of a newer schema; one sentence.
    """
    try:
        size = path.stat().st_size
        content = path.read_bytes() if path.is_file() and size <= LARGEST else None
    except OSError as error:
        raise ReportError(f"got {str(path)!r}, which cannot be read ({error.strerror}); expected a report") from None
    if content is None:
        raise ReportError(f"got {path.name}, which is no file of at most {LARGEST // 2**20} MiB; expected a report")
    if content.startswith(b"%PDF-"):
        return checked(path.name, parsed(path.name, only(path.name, manifest_in_pdf(content))), content)
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise ReportError(f"got {path.name}, which is neither text nor PDF; expected a report") from None
    if text.lstrip().startswith("{"):
        return notebook_manifest(path.name, text)
    if comments := COMMENT.findall(text.replace("\r\n", "\n")):
        return checked(path.name, parsed(path.name, only(path.name, comments)), plain_ends(text))
    return checked(path.name, parsed(path.name, only(path.name, elements(text))), content)


def only(name: str, found: list[str]) -> str:
    """The one manifest that was found."""
    if len(found) != 1:
        many = "no manifest" if not found else f"{len(found)} manifests"
        raise ReportError(f"got {name}, which holds {many}; expected a whole file that assay report made")
    return found[0]


class Elements(HTMLParser):
    """Collects the text of script elements with the manifest's id and type."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.found: list[str] = []
        self._inside: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "script" and given.get("id") == ELEMENT and given.get("type") == "application/json":
            self._inside = []

    def handle_data(self, data: str) -> None:
        if self._inside is not None:
            self._inside.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "script" and self._inside is not None:
            self.found.append("".join(self._inside))
            self._inside = None


def elements(page: str) -> list[str]:
    """The texts of the manifest's elements in a page; an element that does not end is none."""
    parser = Elements()
    parser.feed(page)
    parser.close()
    return parser.found


def refuse_constant(name: str) -> Never:
    raise ValueError(f"{name} is no JSON")


def parsed(name: str, text: str) -> dict[str, Any]:
    """A manifest's JSON."""
    try:
        data = json.loads(text, parse_constant=refuse_constant)
    except (ValueError, RecursionError):
        raise ReportError(f"got {name}, whose manifest is no JSON; expected a whole file") from None
    if not isinstance(data, dict) or "schema" not in data:
        raise ReportError(f"got {name}, whose manifest names no schema; expected a file that assay report made")
    return data


def checked(name: str, data: dict[str, Any], content: bytes) -> Manifest:
    """The manifest of a file that is sealed byte by byte."""
    seal = known_schema(name, data).get("seal")
    places = SEALED.findall(content)
    if not isinstance(seal, str) or [place.decode() for place in places] != [seal]:
        raise ReportError(f"got {name}, whose seal stands in {len(places)} places; expected one")
    whole = content.replace(f'"seal":"{seal}"'.encode(), f'"seal":"{UNSEALED}"'.encode())
    return unbroken(name, data, hashlib.sha256(whole).hexdigest())


def notebook_manifest(name: str, text: str) -> Manifest:
    """The manifest of a Jupyter notebook."""
    try:
        notebook = json.loads(text, parse_constant=refuse_constant)
        data = notebook["metadata"]["assay"]
        digest = hashlib.sha256(canonical(notebook)).hexdigest()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ReportError(f"got {name}, which is no notebook with a manifest; expected a whole file") from None
    return unbroken(name, known_schema(name, data), digest)


def known_schema(name: str, data: dict[str, Any]) -> dict[str, Any]:
    """The data where their schema can be read here."""
    schema = data.get("schema")
    if not isinstance(schema, int) or isinstance(schema, bool) or schema < 1:
        raise ReportError(f"got {name}, whose manifest has the schema {str(schema)[:20]!r}; expected 1 to {SCHEMA}")
    if schema > SCHEMA:
        raise ReportError(
            f"got {name}, whose manifest has schema {schema}, made by a newer Assay; expected at most {SCHEMA}: "
            "update this one"
        )
    return data


def unbroken(name: str, data: dict[str, Any], digest: str) -> Manifest:
    """The manifest, where the seal is that of the content."""
    if data.get("seal") != digest:
        raise ReportError(
            f"got {name}, whose seal is broken: it was changed after it was made, or is not whole; expected it as it "
            "was written"
        )
    try:
        return Manifest.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise ReportError(f"got {name}, whose manifest has a fault at {where}: {first['msg'].lower()}") from None
